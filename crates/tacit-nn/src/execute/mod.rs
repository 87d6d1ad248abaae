//! Runs a plan on a secure tensor machine.
//!
//! Every party makes the same calls in the same order. [`Plan::weight_calls`] and [`Plan::calls`] list
//! them by running this.

mod batch;
mod clients;
mod opening;
mod step;

use tacit_protocols::Error;
use tacit_protocols::machine::{Audience, Erased, Handle, Machine, Operand, PAD};

use crate::encode::LayerWeights;
use crate::plan::{FUNCTION_COPIES, INPUT, Layer, LayerOp, Modulus, OUTPUT, Plan, Roles, WEIGHTS};
pub use batch::Batch;
use batch::{Parts, Range};
pub use clients::{begin_batch, hand_out, take_input, to_hand_out};
use opening::to_open;
use step::Step;

/// What the executor is about to do.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// The layer's name.
    pub layer: &'a str,
    /// The layer's number, from 0.
    pub index: usize,
    /// The number of layers.
    pub layers: usize,
}

/// The shared weights of one layer; none where it uses those of another.
#[derive(Clone)]
pub struct Operands {
    factors: Option<Operand<Handle>>,
    terms: Option<Operand<Handle>>,
}

/// Shares the weights; the owner passes them encoded, the others `None`. Where the model is
/// public they are opened to all.
pub fn share_weights(
    plan: &Plan,
    machine: &mut Erased,
    roles: &Roles,
    weights: Option<&[LayerWeights]>,
) -> Result<Vec<Operands>, Error> {
    machine.layer(WEIGHTS)?;
    if weights.is_some_and(|w| w.len() != plan.layers.len()) {
        return Err(Error::Invalid(
            "the weights are those of another plan".into(),
        ));
    }
    let one = |(i, layer): (usize, &Layer)| {
        share_layer(plan, machine, roles, layer, weights.map(|w| &w[i]))
    };
    plan.layers.iter().enumerate().map(one).collect()
}

fn share_layer(
    plan: &Plan,
    machine: &mut Erased,
    roles: &Roles,
    layer: &Layer,
    weights: Option<&LayerWeights>,
) -> Result<Operands, Error> {
    let (factors, terms) = layer.shared_lens();
    let n = factors + terms;
    if n == 0 {
        return Ok(Operands {
            factors: None,
            terms: None,
        });
    }
    let values = weights.map(|w| [w.factors.as_slice(), &w.terms].concat());
    let shared = machine.input(roles.model_owner, n, values.as_deref())?;
    let some = |given: bool, operand| if given { Some(operand) } else { None };
    if plan.public_model {
        let mut values = machine
            .reveal(&shared, Audience::All)?
            .ok_or_else(|| Error::Invalid("a public weight was not opened to all".into()))?;
        let rest = values.split_off(factors);
        return Ok(Operands {
            factors: some(factors > 0, Operand::Public(values.into())),
            terms: some(terms > 0, Operand::Public(rest.into())),
        });
    }
    let mut first = machine.slice(&shared, 0..factors);
    let rest = machine.slice(&shared, factors..n);
    if let Some(widths) = layer.widths.filter(|_| factors > 0) {
        first = machine.resize(&first, 0, widths.weights)?;
    }
    first = machine.known(first, roles.model_owner);
    if layer.reuses_weights() {
        first = machine.reusable(first)?;
    }
    Ok(Operands {
        factors: some(factors > 0, Operand::Secret(first)),
        terms: some(terms > 0, Operand::Secret(rest)),
    })
}

/// Shares a batch of inputs; their owner passes them encoded, the others `None`.
pub fn share_input(
    plan: &Plan,
    machine: &mut Erased,
    roles: &Roles,
    batch: usize,
    values: Option<&[i64]>,
) -> Result<Handle, Error> {
    check_batch(plan, batch)?;
    machine.layer(INPUT)?;
    let input = machine.input(roles.data_owner, batch * plan.input_len(), values)?;
    match plan.input_widths {
        Some(widths) => machine.resize(&input, 0, widths.bits),
        None => Ok(input),
    }
}

/// Opens to its receiver what the plan says of the output; `None` for the others. Where that is
/// classes, they are found first, and nothing else is opened.
pub fn reveal_output(
    plan: &Plan,
    machine: &mut Erased,
    roles: &Roles,
    output: &Handle,
) -> Result<Option<Vec<i64>>, Error> {
    let opened = to_open(plan, machine, output)?;
    machine.layer(OUTPUT)?;
    machine.reveal(&opened, roles.receiver)
}

/// Runs all layers on a batch of shared inputs, each on as many items at a time as the batch says;
/// `observe` hears of each layer before it starts, and ends the run by an error.
pub fn execute(
    plan: &Plan,
    machine: &mut Erased,
    weights: &[Operands],
    input: Handle,
    batch: &Batch,
    observe: &mut dyn FnMut(Progress) -> Result<(), Error>,
) -> Result<Handle, Error> {
    check_batch(plan, batch.items)?;
    if machine.element_bits() != plan.modulus.bits() {
        return Err(Error::Invalid(format!(
            "the plan is for the {}, the machine has the {}",
            plan.modulus,
            Modulus::of_bits(machine.element_bits())
        )));
    }
    if weights.len() != plan.layers.len() || machine.len(&input) != batch.items * plan.input_len() {
        return Err(Error::Invalid(
            "the weights or the input are those of another plan".into(),
        ));
    }
    let last_use = plan.last_uses();
    let slacks = plan.slacks(machine.off_exact());
    let mut values = vec![Some(Parts::whole(batch.items, input))];
    for (i, layer) in plan.layers.iter().enumerate() {
        observe(Progress {
            layer: &layer.name,
            index: i,
            layers: plan.layers.len(),
        })?;
        let weights = &weights[layer.weights_of.unwrap_or(i)];
        let ends = |id: usize| last_use[id] == Some(i);
        let ranges = batch.of_layer(i);
        let with = (weights, slacks[i]);
        let output = in_parts(plan, machine, layer, with, ranges, &mut values, ends)?;
        for &id in layer.inputs.iter().filter(|&&id| ends(id)) {
            values[id] = None;
        }
        values.push(Some(output));
    }
    let output = values[plan.output].take();
    let output = output.map(|value| value.arranged(machine, &[(0, batch.items)]));
    let output = output.and_then(Parts::into_one);
    output.ok_or_else(|| Error::Invalid("the plan's output is no value of it".into()))
}

/// Runs a layer on some items after the others: on those of every range, or as the first input comes. Parts
/// of inputs that end with this layer are freed on the way.
fn in_parts(
    plan: &Plan,
    machine: &mut Erased,
    layer: &Layer,
    (weights, slack): (&Operands, i64),
    ranges: Option<Vec<Range>>,
    values: &mut [Option<Parts>],
    ends: impl Fn(usize) -> bool,
) -> Result<Parts, Error> {
    let early = || {
        let why = format!("layer '{}' reads a value before it is made", layer.name);
        Error::Invalid(why)
    };
    let come = || Some(values.get(*layer.inputs.first()?)?.as_ref()?.ranges.clone());
    let ranges = ranges.or_else(come).ok_or_else(early)?;
    for &id in &layer.inputs {
        let value = values
            .get_mut(id)
            .and_then(Option::take)
            .ok_or_else(early)?;
        values[id] = Some(value.arranged(machine, &ranges));
    }
    let mut outputs = Vec::with_capacity(ranges.len());
    for (part, &(_, batch)) in ranges.iter().enumerate() {
        machine.layer(&layer.name)?;
        let of = |&id: &usize| values[id].as_ref().and_then(|value| value.part(part));
        let inputs: Option<Vec<_>> = layer.inputs.iter().map(of).collect();
        let step = Step {
            plan,
            layer,
            weights,
            batch,
            slack,
        };
        outputs.push(step.run(machine, &inputs.ok_or_else(early)?)?);
        for &id in layer.inputs.iter().filter(|&&id| ends(id)) {
            values[id].as_mut().ok_or_else(early)?.leave(part);
        }
    }
    Ok(Parts::new(ranges, outputs))
}

/// Indices of a batch must fit in the machine's 32 bits.
fn check_batch(plan: &Plan, batch: usize) -> Result<(), Error> {
    let windows = |l: &Layer| match &l.op {
        LayerOp::MaxPool(p) => p.window() * l.out_len(),
        LayerOp::Function(_) => FUNCTION_COPIES * l.out_len(),
        _ => 2 * l.out_len(),
    };
    let top = plan.top(1);
    let ranked = top.map(|top| top.copies() * top.windows * top.size);
    let largest = (plan.layers.iter().map(windows))
        .chain(ranked)
        .max()
        .unwrap_or(0)
        .max(plan.input_len());
    match batch.checked_mul(largest) {
        Some(n) if batch > 0 && n < PAD as usize => Ok(()),
        _ => Err(Error::Invalid(format!(
            "a batch of {batch} is out of range; at most {} items of this model fit",
            (PAD as usize - 1) / largest.max(1)
        ))),
    }
}

impl Plan {
    /// The last layer that reads each value; `None` for those to be kept.
    fn last_uses(&self) -> Vec<Option<usize>> {
        let mut last = vec![None; self.layers.len() + 1];
        for (i, layer) in self.layers.iter().enumerate() {
            layer.inputs.iter().for_each(|&id| last[id] = Some(i));
        }
        last[self.output] = None;
        last
    }
}
