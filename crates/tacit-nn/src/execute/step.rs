//! One layer on one batch.

use std::ops::Range;

use tacit_protocols::Error;
use tacit_protocols::machine::{Bilinear, Erased, Handle, Machine, Operand, PAD};

use super::Operands;
use crate::graph::{FILL, Pool, Whole};
use crate::plan::{Layer, LayerOp, Places, Plan, Widths, encode};

/// One layer on one batch.
pub(super) struct Step<'a> {
    pub plan: &'a Plan,
    pub layer: &'a Layer,
    pub weights: &'a Operands,
    pub batch: usize,
    /// How many last places below an exact number the first input may be where it is that number.
    pub slack: i64,
}

impl Step<'_> {
    pub(super) fn run(&self, machine: &mut Erased, inputs: &[&Handle]) -> Result<Handle, Error> {
        let y = self.compute(machine, inputs)?;
        match self.layer.widths {
            // Local: what is made of sums may have fewer bits than they.
            Some(widths) => machine.resize(&y, 0, widths.bits),
            None => Ok(y),
        }
    }

    fn compute(&self, machine: &mut Erased, inputs: &[&Handle]) -> Result<Handle, Error> {
        let x = inputs[0];
        match &self.layer.op {
            LayerOp::Conv { .. } | LayerOp::Linear { .. } => self.linear(machine, x),
            &LayerOp::Lookup {
                start, tokens, k, ..
            } => {
                let tokens = self.tokens(machine, x, start..start + tokens * k);
                self.linear(machine, &tokens)
            }
            LayerOp::Affine {
                inner, channels, ..
            } => self.affine(machine, x, *inner, *channels),
            LayerOp::Add => Ok(machine.add(x, inputs[1])),
            LayerOp::Sub => Ok(machine.sub(x, inputs[1])),
            LayerOp::Mul | LayerOp::MatMul(_) => self.of_two(machine, x, inputs[1]),
            LayerOp::Function(function) => {
                let function = self.plan.elementary(self.layer, *function)?;
                machine.function(&function, x)
            }
            LayerOp::Relu => machine.relu(x, self.layer.keys.into()),
            LayerOp::NonNegative => self.non_negative(machine, x),
            &LayerOp::Whole { whole, low, steps } => self.whole(machine, x, whole, (low, steps)),
            LayerOp::Clip { low, high } => self.clip(machine, x, *low, *high),
            LayerOp::MaxPool(pool) => self.max_pool(machine, x, pool),
            LayerOp::AveragePool(pool) => self.average_pool(machine, x, pool),
            LayerOp::SumPool(pool) => self.sum_pool(machine, x, pool),
            LayerOp::Rearrange { index, fill } => Ok(self.rearrange(machine, x, index, *fill)),
            LayerOp::Concat { outer } => Ok(self.concat(machine, inputs, *outer)),
        }
    }

    /// The shared numbers of some tokens, for every item of the row of inputs.
    fn tokens(&self, machine: &mut Erased, x: &Handle, part: Range<usize>) -> Handle {
        let row = self.plan.input_len();
        if part == (0..row) {
            return x.clone();
        }
        let of_item = |b: usize| part.clone().map(move |e| (b * row + e) as u32);
        let index = || (0..self.batch).flat_map(of_item).collect();
        machine.gather_by(x, self.batch * part.len(), index)
    }

    /// Elements of the output of the whole batch.
    fn out_len(&self) -> usize {
        self.batch * self.layer.out_len()
    }

    /// The per-item index map `item` from items of `len` elements, for the whole batch.
    fn batched(&self, len: usize, item: impl Iterator<Item = Option<usize>>) -> Vec<u32> {
        let item: Vec<u32> = item.map(|i| i.map_or(PAD, |i| i as u32)).collect();
        let mut all = Vec::with_capacity(self.batch * item.len());
        for first in (0..self.batch).map(|b| (b * len) as u32) {
            let of_item = |&i: &u32| if i == PAD { PAD } else { first + i };
            all.extend(item.iter().map(of_item));
        }
        all
    }

    /// One number of `operand` per output element, by an index into it.
    fn spread(
        &self,
        machine: &mut Erased,
        operand: &Operand<Handle>,
        index: impl Fn(usize) -> usize,
    ) -> Operand<Handle> {
        let item = || (0..self.layer.out_len()).map(&index);
        match operand {
            Operand::Secret(share) => {
                let index = || item().map(|i| i as u32).collect::<Vec<_>>();
                let all = || index().repeat(self.batch);
                Operand::Secret(machine.gather_by(share, self.out_len(), all))
            }
            Operand::Public(values) => {
                let item = || item().map(|i| values[i]).collect::<Vec<_>>();
                machine.public_by(|| item().repeat(self.batch))
            }
        }
    }

    /// The product of two computed values.
    fn of_two(&self, machine: &mut Erased, x: &Handle, y: &Handle) -> Result<Handle, Error> {
        let [first, second] = self.plan.factor_truncs(self.layer);
        let x = machine.truncate(x, first)?;
        let y = machine.truncate(y, second)?;
        let map = self.map()?;
        self.product(machine, &x, &Operand::Secret(y), None, &map)
    }

    fn map(&self) -> Result<Bilinear, Error> {
        let none = || Error::Invalid(format!("layer '{}' is no product", self.layer.name));
        self.layer.bilinear(self.batch).ok_or_else(none)
    }

    fn linear(&self, machine: &mut Erased, x: &Handle) -> Result<Handle, Error> {
        let missing = || Error::Invalid(format!("layer '{}' has no weights", self.layer.name));
        let w = self.weights.factors.as_ref().ok_or_else(missing)?;
        let map = self.map()?;
        let x = machine.truncate(x, self.layer.input_trunc)?;
        self.product(machine, &x, w, self.weights.terms.as_ref(), &map)
    }

    /// `(x w + bias) >> trunc`, in the layer's widths if it has any.
    fn product(
        &self,
        machine: &mut Erased,
        x: &Handle,
        w: &Operand<Handle>,
        bias: Option<&Operand<Handle>>,
        map: &Bilinear,
    ) -> Result<Handle, Error> {
        let bits = self.layer.widths.map(|w| [w.product, w.bits]);
        machine.linear(x, w, bias, map, self.layer.trunc, bits)
    }

    fn affine(
        &self,
        machine: &mut Erased,
        x: &Handle,
        inner: usize,
        channels: usize,
    ) -> Result<Handle, Error> {
        let channel = |e: usize| (e / inner) % channels;
        let n = self.out_len();
        let mut y = x.clone();
        if let Some(factors) = &self.weights.factors {
            let x = machine.truncate(x, self.layer.input_trunc)?;
            let factors = self.spread(machine, factors, channel);
            let map = self.map()?;
            y = self.product(machine, &x, &factors, None, &map)?;
        }
        if let Some(terms) = &self.weights.terms {
            let terms = match self.spread(machine, terms, channel) {
                Operand::Secret(share) => share,
                Operand::Public(values) => machine.constant_by(n, || values.to_vec()),
            };
            y = machine.add(&y, &terms);
        }
        Ok(y)
    }

    /// 0 or 1, chosen by the signs.
    fn non_negative(&self, machine: &mut Erased, x: &Handle) -> Result<Handle, Error> {
        let n = self.out_len();
        let own = self.layer.own_fraction.unwrap_or(self.plan.fraction_bits);
        let number = self.layer.widths.map(Widths::number);
        let one = 1i64 << number.map_or(own, |number| number.fraction);
        let bits = number.map_or(self.plan.modulus.bits(), |number| number.bits);
        let [zeros, ones] = [0, one].map(|v| machine.constant_by(n, || vec![v; n]));
        let zeros = machine.resize(&zeros, 0, bits)?;
        let ones = machine.resize(&ones, 0, bits)?;
        let x = self.raised(machine, x);
        let positive = machine.drelu(&x, self.layer.keys.into())?;
        machine.select(&positive, &zeros, &ones)
    }

    /// The input, raised by what it may be below an exact number, which it then reaches. Local.
    fn raised(&self, machine: &mut Erased, x: &Handle) -> Handle {
        match self.slack {
            0 => x.clone(),
            slack => {
                let n = machine.len(x);
                let slack = machine.constant_by(n, || vec![slack; n]);
                machine.add(x, &slack)
            }
        }
    }

    /// The largest of the whole numbers that `x` reaches, or, of the nearest, that `x + 1/2` does: found from
    /// `low` on in steps of powers of two. The last step is to an odd number from an even one, and that is
    /// nearest only to what is beyond the middle.
    fn whole(
        &self,
        machine: &mut Erased,
        x: &Handle,
        whole: Whole,
        (low, steps): (i64, u32),
    ) -> Result<Handle, Error> {
        let n = self.out_len();
        let number = self.plan.number(self.layer.inputs[0]);
        let one = 1i64 << number.fraction;
        let all = |machine: &mut Erased, v: i64| {
            let all = machine.constant_by(n, || vec![v; n]);
            machine.resize(&all, 0, number.bits)
        };
        let raised = match whole {
            Whole::Down => self.raised(machine, x),
            Whole::Nearest => x.clone(),
        };
        let zeros = all(machine, 0)?;
        let mut found = all(machine, low * one)?;
        for step in (0..steps).rev() {
            let size = one << step;
            let reach = match whole {
                Whole::Down => size,
                Whole::Nearest => size - one / 2 + i64::from(step == 0),
            };
            let [size, reach] = [all(machine, size)?, all(machine, reach)?];
            let over = machine.sub(&raised, &found);
            let over = machine.sub(&over, &reach);
            let reached = machine.drelu(&over, self.layer.keys.into())?;
            let step = machine.select(&reached, &zeros, &size)?;
            found = machine.add(&found, &step);
        }
        Ok(found)
    }

    /// Computes `min(max(x, low), high)` by the positive parts of `x - low` and `x - high`, compared in one go; without
    /// bounds, `x`.
    fn clip(
        &self,
        machine: &mut Erased,
        x: &Handle,
        low: Option<i64>,
        high: Option<i64>,
    ) -> Result<Handle, Error> {
        if !self.layer.op.takes_signs() {
            return Ok(x.clone());
        }
        let n = self.out_len();
        let bounds: Vec<Handle> = [low, high]
            .into_iter()
            .flatten()
            .map(|v| machine.constant_by(n, || vec![v; n]))
            .collect();
        let above: Vec<Handle> = bounds.iter().map(|bound| machine.sub(x, bound)).collect();
        let above = machine.concat(&above.iter().collect::<Vec<_>>());
        let positive = machine.relu(&above, self.layer.keys.into())?;
        match (low, high) {
            (Some(_), None) => Ok(machine.add(&positive, &bounds[0])),
            // x - (x - high)+
            (None, _) => Ok(machine.sub(x, &positive)),
            (Some(_), Some(_)) => {
                let over_low = machine.slice(&positive, 0..n);
                let over_high = machine.slice(&positive, n..2 * n);
                let raised = machine.add(&bounds[0], &over_low);
                Ok(machine.sub(&raised, &over_high))
            }
        }
    }

    fn max_pool(&self, machine: &mut Erased, x: &Handle, pool: &Pool) -> Result<Handle, Error> {
        // In place of padding, which must never be the maximum, a window repeats its first element.
        let index = || {
            let taps = |e: usize| (0..pool.window()).map(move |tap| pool.tap(e, tap));
            let first: Vec<Option<usize>> = (0..pool.out_len())
                .map(|e| taps(e).flatten().next())
                .collect();
            let mut index = Vec::with_capacity(self.out_len() * pool.window());
            for tap in 0..pool.window() {
                let element = (0..pool.out_len()).map(|e| pool.tap(e, tap).or(first[e]));
                index.extend(self.batched(pool.in_len(), element));
            }
            index
        };
        let elements = machine.gather_by(x, self.out_len() * pool.window(), index);
        if pool.window() == 1 {
            Ok(elements)
        } else {
            let keys = self.layer.keys.into();
            machine.maxpool(&elements, self.out_len(), pool.window(), keys)
        }
    }

    fn sum_pool(&self, machine: &mut Erased, x: &Handle, pool: &Pool) -> Result<Handle, Error> {
        let mut sum: Option<Handle> = None;
        for tap in 0..pool.window() {
            let taps = (0..pool.out_len()).map(|e| pool.tap(e, tap));
            let index = || self.batched(pool.in_len(), taps);
            let elements = machine.gather_by(x, self.batch * pool.out_len(), index);
            sum = Some(match sum {
                None => elements,
                Some(sum) => machine.add(&sum, &elements),
            });
        }
        sum.ok_or_else(|| Error::Invalid(format!("layer '{}' has empty windows", self.layer.name)))
    }

    fn average_pool(&self, machine: &mut Erased, x: &Handle, pool: &Pool) -> Result<Handle, Error> {
        let sum = match self.layer.widths {
            Some(widths) => {
                let x = machine.resize(x, 0, widths.product)?;
                self.sum_pool(machine, &x, pool)?
            }
            None => self.sum_pool(machine, x, pool)?,
        };
        let factor = |e: usize| encode(1.0 / pool.divisor(e) as f64, self.layer.weight_bits);
        let factors: Vec<i64> = (0..pool.out_len()).map(factor).collect();
        let same = (factors.first()).filter(|first| factors.iter().all(|v| v == *first));
        let scaled = match same {
            Some(factor) => machine.scale(&sum, *factor),
            None => {
                let factors = machine.public_by(|| factors.repeat(self.batch));
                machine.mul(&sum, &factors, 0)?
            }
        };
        match self.layer.widths {
            Some(widths) => machine.resize(&scaled, self.layer.trunc, widths.bits),
            None => machine.truncate(&scaled, self.layer.trunc),
        }
    }

    fn rearrange(&self, machine: &mut Erased, x: &Handle, index: &Places, fill: i64) -> Handle {
        let len = self.plan.value_len(self.layer.inputs[0]);
        let places = index.iter().map(|i| (i != FILL).then_some(i as usize));
        let n = self.out_len();
        let y = machine.gather_by(x, n, || self.batched(len, places));
        if fill == 0 || !index.pads() {
            return y;
        }
        let padding = index.iter().map(|i| if i == FILL { fill } else { 0 });
        let padding = || padding.collect::<Vec<_>>().repeat(self.batch);
        let padding = machine.constant_by(n, padding);
        machine.add(&y, &padding)
    }

    /// Joins the parts end to end, then puts the chunks of each item in order.
    fn concat(&self, machine: &mut Erased, inputs: &[&Handle], outer: usize) -> Handle {
        let joined = machine.concat(inputs);
        let outer = self.batch * outer;
        let mut parts = Vec::new();
        let mut start = 0;
        for &id in &self.layer.inputs {
            let n = self.batch * self.plan.value_len(id);
            parts.push((start, n / outer));
            start += n;
        }
        let chunk = |o: usize, (start, size): (usize, usize)| {
            (start + o * size..start + (o + 1) * size).map(|i| i as u32)
        };
        let of_item = |o| parts.iter().flat_map(move |&part| chunk(o, part));
        machine.gather_by(&joined, start, || (0..outer).flat_map(of_item).collect())
    }
}
