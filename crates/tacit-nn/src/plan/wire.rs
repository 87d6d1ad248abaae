//! A plan as bytes. Those that come from another party are read as hostile.

mod inputs;
mod outputs;
mod sizes;

use std::collections::HashSet;

use tacit_protocols::signs::{SIGNS, Signs};

use self::sizes::{Check, check_sizes, ensure, product, shape};
use super::keys::sign_bits;
use super::mixed::RING;
use super::whole::MOST_STEPS;
use super::{Keys, Layer, LayerOp, MODULI, Order, Plan, Widths};
use crate::graph::{ConvGeometry, Matrices, Pool, ValueId};

/// The longest plan that is read.
const MAX_BYTES: usize = 64 << 20;
/// The most layers, each an operation of the graph.
pub(crate) const MAX_LAYERS: usize = 40_000;
/// The most bytes of a name in a plan.
const MAX_NAME: usize = 256;
/// The most memory that one item may take at a party, unless another limit is given.
pub const MAX_ITEM_BYTES: u64 = 16 << 30;

/// Bytes that are not a valid plan.
#[derive(Debug, thiserror::Error)]
#[error("the plan is not valid: {0}")]
pub struct WireError(String);

pub(super) fn name(name: &str) -> Check {
    let fits = name.len() <= MAX_NAME && !name.chars().any(char::is_control);
    ensure(fits, || {
        "a name is too long or holds control characters".into()
    })
}

/// A name cut and cleaned so that every party accepts it.
pub(super) fn short(name: &str) -> String {
    // Room is left for the number of a repeated name.
    let mut short: String = name
        .chars()
        .filter(|c| !c.is_control())
        .take(MAX_NAME)
        .collect();
    while short.len() > MAX_NAME - 16 {
        short.pop();
    }
    short
}

impl Plan {
    /// The plan for the other parties. Equal plans give equal bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Reads a plan from another party and checks every size and index in it; one item takes at most
    /// [`MAX_ITEM_BYTES`] of memory.
    pub fn from_bytes(bytes: &[u8]) -> Result<Plan, WireError> {
        Plan::from_bytes_within(bytes, MAX_ITEM_BYTES, SIGNS)
    }

    /// Reads a plan from another party as [`Plan::from_bytes`] does, with other limits: one item may
    /// take `most` bytes of memory, [`Plan::item_bytes`], and the plan's signs must agree with
    /// `signs`, which stand for [`PlanOptions::signs`](super::PlanOptions::signs).
    pub fn from_bytes_within(bytes: &[u8], most: u64, signs: &[Signs]) -> Result<Plan, WireError> {
        if bytes.len() > MAX_BYTES {
            return Err(WireError(format!(
                "it has {} bytes, at most {MAX_BYTES} are read",
                bytes.len()
            )));
        }
        let plan: Plan = serde_json::from_slice(bytes).map_err(|e| WireError(e.to_string()))?;
        plan.check(signs).map_err(WireError)?;
        plan.check_memory(most).map_err(WireError)?;
        Ok(plan)
    }

    fn check(&self, signs: &[Signs]) -> Check {
        ensure(MODULI.contains(&self.modulus), || {
            format!("it is for numbers of {} bits", self.modulus.bits())
        })?;
        let taken = sign_bits(signs, self.compare_bits, self.modulus);
        ensure(self.compare_bits == taken, || {
            format!("it compares {} bits", self.compare_bits)
        })?;
        let room = self.modulus.bits() - 2;
        ensure((1..room).contains(&self.fraction_bits), || {
            format!("it has {} fraction bits", self.fraction_bits)
        })?;
        if let Some(widths) = self.input_widths {
            let fits = widths.fits() && self.modulus == RING;
            ensure(fits && self.order == Order::MultiplyThenTruncate, || {
                format!("its input has the widths {widths:?}")
            })?;
        }
        ensure(self.layers.len() <= MAX_LAYERS, || {
            format!("it has {} layers", self.layers.len())
        })?;
        let mut lens = vec![inputs::check(self)?];
        let mut names = HashSet::new();
        for layer in &self.layers {
            // Whoever approves a plan is shown how its layers differ, by their names.
            ensure(names.insert(&layer.name), || {
                format!("two layers have the name '{}'", layer.name)
            })?;
            let n = self
                .check_layer(layer, &lens, signs)
                .map_err(|why| format!("layer '{}': {why}", layer.name))?;
            lens.push(n);
        }
        product(&[self.parameters().max(1)])?;
        let output = lens
            .get(self.output)
            .ok_or("its output is no value of it")?;
        outputs::check(self, *output, signs)
    }

    /// The elements of the layer's output, given those of the values before.
    fn check_layer(&self, layer: &Layer, lens: &[usize], signs: &[Signs]) -> Result<usize, String> {
        name(&layer.name)?;
        let n = shape(&layer.shape)?;
        // First of all, since everything else is computed from its sizes.
        check_op(&layer.op, &inputs(layer, lens)?, n)?;
        inputs::check_lookup(self, layer)?;
        self.check_scales(layer, signs)?;
        self.check_reuse(layer, lens.len() - 1)?;
        self.check_widths(layer)?;
        self.check_function(layer)?;
        self.check_search(layer)?;
        Ok(n)
    }

    fn check_scales(&self, layer: &Layer, signs: &[Signs]) -> Check {
        let bits = [layer.input_trunc, layer.weight_bits, layer.trunc];
        ensure(bits.iter().all(|&b| b < self.modulus.bits() - 2), || {
            format!("it has the scales {bits:?}")
        })?;
        let keys = layer.keys;
        let chosen = layer.op.takes_signs() && !self.modulus.is_prime();
        ensure(
            keys == Keys::ALL || chosen && keys.hold(signs, self.modulus.bits()),
            || format!("it has the key bits {keys:?}"),
        )?;
        ensure(layer.input_trunc <= self.fraction_bits, || {
            "it drops more than the fraction".into()
        })?;
        let own = |own: u32| {
            let result = match layer.op {
                LayerOp::Function(of) => of.is_inverse(),
                _ => true,
            };
            let more = (self.fraction_bits + 1..self.modulus.bits() - 2).contains(&own);
            result && more && layer.widths.is_none() && self.order == Order::MultiplyThenTruncate
        };
        ensure(layer.own_fraction.is_none_or(own), || {
            format!("its results have {:?} fraction bits", layer.own_fraction)
        })?;
        ensure(
            layer.input_trunc == 0 || self.order == Order::TruncateThenMultiply,
            || "its order differs".into(),
        )
    }

    fn check_function(&self, layer: &Layer) -> Check {
        let LayerOp::Function(function) = layer.op else {
            return Ok(());
        };
        let possible = self.elementary(layer, function);
        possible.map_err(|e| e.to_string())?;
        let bits = layer.argument_bits;
        ensure((1..=64).contains(&bits), || {
            format!("its arguments have {bits} bits")
        })
    }

    /// Whether a search for whole numbers is short, and stays among the numbers.
    fn check_search(&self, layer: &Layer) -> Check {
        let LayerOp::Whole { low, steps, .. } = layer.op else {
            return Ok(());
        };
        let number = self.number(layer.inputs[0]);
        let most = i128::from(low.unsigned_abs()) + (1 << steps.min(MOST_STEPS));
        let room = number.bits.min(62).saturating_sub(number.fraction + 1);
        let same = self.number_of(layer).fraction == number.fraction;
        let fits = steps <= MOST_STEPS && most <= 1 << room && number.fraction > 0 && same;
        ensure(fits, || {
            format!("it searches 2^{steps} whole numbers from {low}")
        })
    }

    /// Whether the widths are those of a plan that has them, and hold what is made in them.
    fn check_widths(&self, layer: &Layer) -> Check {
        ensure(
            layer.widths.is_some() == self.input_widths.is_some(),
            || "it alone has widths of its own, or none".into(),
        )?;
        let Some(widths) = layer.widths else {
            return Ok(());
        };
        let weighted = layer.op.weight_lens().0 > 0;
        let fits = widths.fits()
            && widths.product.checked_sub(layer.trunc) == Some(widths.bits)
            && (widths.product == widths.bits || layer.trunc > 0)
            && (!weighted || (2..=RING.bits()).contains(&widths.weights))
            && layer.input_trunc == 0;
        ensure(fits, || format!("it has the widths {widths:?}"))?;
        let narrow = |&id: &ValueId| self.number(id).bits < widths.bits;
        let sums = !matches!(
            layer.op,
            LayerOp::Conv { .. }
                | LayerOp::Linear { .. }
                | LayerOp::Lookup { .. }
                | LayerOp::Affine { scale: true, .. }
                | LayerOp::Mul
                | LayerOp::MatMul(_)
                | LayerOp::NonNegative
                | LayerOp::Function(_)
                | LayerOp::AveragePool(_)
        );
        ensure(!(sums && layer.inputs.iter().any(narrow)), || {
            "it adds numbers narrower than their sum".into()
        })
    }

    /// Whether layer `i` may use the weights that it says it does.
    fn check_reuse(&self, layer: &Layer, i: usize) -> Check {
        let Some(first) = layer.weights_of else {
            return Ok(());
        };
        let scales = |layer: &Layer| {
            let weights = layer.widths.map(|widths| widths.weights);
            (layer.input_trunc, layer.weight_bits, weights)
        };
        let fits = |first: &Layer| {
            let kinds = first.op.kind() == layer.op.kind() && first.weights_of.is_none();
            let (factors, terms) = layer.op.weight_lens();
            kinds
                && factors + terms > 0
                && first.op.weight_lens() == (factors, terms)
                && scales(first) == scales(layer)
        };
        ensure(first < i && fits(&self.layers[first]), || {
            format!("it cannot use the weights of layer {first}")
        })
    }
}

impl Widths {
    /// Whether there are such numbers.
    fn fits(self) -> bool {
        (2..=RING.bits()).contains(&self.bits)
            && (1..RING.bits() / 2 - 2).contains(&self.fraction_bits)
            && (self.bits..=RING.bits()).contains(&self.product)
    }
}

/// The elements of the values that a layer reads, which are as many as its operation needs.
fn inputs(layer: &Layer, lens: &[usize]) -> Result<Vec<usize>, String> {
    ensure(layer.inputs.len() <= MAX_LAYERS, || {
        "it has too many inputs".into()
    })?;
    let found = layer.inputs.iter().map(|&id| lens.get(id).copied());
    let found: Option<Vec<usize>> = found.collect();
    let found = found.ok_or("it reads a value that no earlier layer makes")?;
    let want = match layer.op {
        LayerOp::Add | LayerOp::Sub | LayerOp::Mul | LayerOp::MatMul(_) => 2,
        LayerOp::Concat { .. } => found.len().max(1),
        _ => 1,
    };
    ensure(found.len() == want, || {
        format!("it has {} inputs instead of {want}", found.len())
    })?;
    Ok(found)
}

fn check_op(op: &LayerOp, inputs: &[usize], n: usize) -> Check {
    let fits = |input: usize, output: usize| {
        ensure(inputs[0] == input && n == output, || {
            format!(
                "it takes {input} elements to {output}, but stands between {} and {n}",
                inputs[0]
            )
        })
    };
    match op {
        LayerOp::Conv { geometry, .. } => {
            check_conv(geometry)?;
            fits(geometry.in_len(), geometry.out_len())
        }
        &LayerOp::Linear { rows, k, n, .. } => {
            product(&[k, n])?;
            fits(product(&[rows, k])?, product(&[rows, n])?)
        }
        &LayerOp::Lookup {
            start,
            tokens,
            k,
            n: columns,
        } => {
            product(&[k, columns])?;
            let read = start.checked_add(product(&[tokens, k])?);
            ensure(
                read.is_some_and(|end| end <= inputs[0]) && n == product(&[tokens, columns])?,
                || "its tokens do not fit".into(),
            )
        }
        &LayerOp::Affine {
            inner,
            channels,
            scale,
            shift,
        } => {
            let line = product(&[inner, channels])?;
            ensure(n.is_multiple_of(line), || {
                format!("its {channels} channels of {inner} elements do not divide {n}")
            })?;
            ensure(scale || shift, || "it neither scales nor shifts".into())?;
            fits(n, n)
        }
        LayerOp::Add | LayerOp::Sub | LayerOp::Mul => {
            ensure(inputs.iter().all(|&i| i == n), || {
                "its inputs differ in size".into()
            })
        }
        &LayerOp::MatMul(Matrices {
            batch,
            m,
            k,
            n: cols,
        }) => {
            let sizes = [[batch, m, k], [batch, k, cols], [batch, m, cols]];
            let [left, right, out] = sizes.map(|sizes| product(&sizes));
            ensure(inputs == [left?, right?] && out? == n, || {
                "its matrices do not fit".into()
            })
        }
        LayerOp::Relu | LayerOp::NonNegative | LayerOp::Function(_) | LayerOp::Whole { .. } => {
            fits(n, n)
        }
        LayerOp::Clip { low, high } => {
            let ordered = low.zip(*high).is_none_or(|(low, high)| low <= high);
            ensure(ordered, || "its bounds are the wrong way round".into())?;
            fits(n, n)
        }
        LayerOp::MaxPool(pool) | LayerOp::AveragePool(pool) | LayerOp::SumPool(pool) => {
            check_pool(pool)?;
            fits(pool.in_len(), pool.out_len())
        }
        LayerOp::Rearrange { index, .. } => {
            ensure(index.fit(inputs[0]) && index.len() == n as u64, || {
                "its index does not fit".into()
            })
        }
        &LayerOp::Concat { outer } => {
            ensure(outer > 0 && inputs.iter().all(|i| i % outer == 0), || {
                "its parts do not divide".into()
            })?;
            let sum = inputs.iter().try_fold(0usize, |sum, &i| sum.checked_add(i));
            ensure(sum == Some(n), || "its parts do not add up".into())
        }
    }
}

fn check_conv(g: &ConvGeometry) -> Check {
    check_sizes(&[g.channels, g.height, g.width, g.filters, g.groups], 1)?;
    check_sizes(&[g.kernel, g.stride, g.dilation].concat(), 1)?;
    check_sizes(&g.pad, 0)?;
    ensure(
        g.channels.is_multiple_of(g.groups) && g.filters.is_multiple_of(g.groups),
        || "its groups do not divide".into(),
    )?;
    for (d, size) in [g.height, g.width].into_iter().enumerate() {
        let span = (g.kernel[d] - 1).checked_mul(g.dilation[d]).map(|s| s + 1);
        ensure(
            span.is_some_and(|s| s <= size + g.pad[d] + g.pad[d + 2]),
            || "its kernel is larger than its input".into(),
        )?;
    }
    product(&[g.channels, g.height, g.width])?;
    product(&[g.filters, g.channels / g.groups, g.kernel[0], g.kernel[1]])?;
    product(&[g.filters, g.out()[0], g.out()[1]]).map(|_| ())
}

fn check_pool(pool: &Pool) -> Check {
    check_sizes(&[pool.channels, pool.height, pool.width], 1)?;
    check_sizes(
        &[pool.kernel, pool.stride, pool.dilation, pool.out].concat(),
        1,
    )?;
    check_sizes(&pool.pad, 0)?;
    product(&[pool.channels, pool.height, pool.width])?;
    product(&[
        pool.channels,
        pool.out[0],
        pool.out[1],
        pool.kernel[0],
        pool.kernel[1],
    ])?;
    let sizes = [pool.height, pool.width];
    let full = |d: usize| pool.has_empty_window(d, sizes[d]) == Some(false);
    ensure(full(0) && full(1), || {
        "one of its windows is empty, or they are too many with taps further apart than its input is long".into()
    })
}
