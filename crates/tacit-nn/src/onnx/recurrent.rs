//! GRU, LSTM and RNN, unrolled: the products with the inputs of all time steps are one layer, those
//! with the state one for each step, all with the same weights.

mod cell;
mod initial;
mod lengths;

use super::builder::Builder;
use super::call::{Call, Fault, Value, bad, unsupported};
use super::compose::{ANY, Composer};
use super::linear::transposed;
use crate::graph::{Function, Op, ValueId, Weights};
use lengths::Lengths;

/// The most time steps that are unrolled.
const MAX_STEPS: usize = 1024;

/// What happens at a time step. Gates stand in ONNX's order.
#[derive(Clone)]
enum CellKind {
    /// A GRU, with the gates update, reset and candidate.
    Gru {
        /// Whether the reset gate acts on the product with the state, not on the state.
        reset_after: bool,
    },
    /// An LSTM, with the gates input, output, forget and candidate.
    Lstm,
    /// A plain recurrent network, with one activation.
    Rnn(Op),
}

/// The sizes and weights of one direction.
struct Cell {
    kind: CellKind,
    hidden: usize,
    /// Inputs x gates.
    input: Weights,
    input_bias: Weights,
    /// State x gates, in the parts that are multiplied one after the other.
    state: Vec<Weights>,
    /// The bias of the state's first part.
    state_bias: Weights,
    /// What the gates of an LSTM see of its cell: those of input and forgetting, and that of the output; none if empty.
    peepholes: [Weights; 2],
}

/// What a step hands to the next.
#[derive(Clone, Copy)]
struct State {
    hidden: ValueId,
    /// The cell, of an LSTM.
    cell: Option<ValueId>,
}

/// The outputs `Y`, `Y_h` and, of an LSTM, `Y_c`.
pub(super) fn recurrent(call: &Call, builder: &mut Builder) -> Result<Vec<Value>, Fault> {
    if let Some(Value::Constant(steps)) = call.input(0) {
        let steps = initial::of_constants(call, builder, steps)?;
        let mut inputs = call.inputs.clone();
        inputs[0] = Some(&steps);
        let name = call.name.clone();
        return recurrent(
            &Call {
                name,
                inputs,
                ..*call
            },
            builder,
        );
    }
    let (x, shape, batch) = call.secret_at(0)?;
    let batch_first = call.int("layout", 0) != 0;
    let &[steps, width] = shape else {
        return bad(format!(
            "its input has the item shape {shape:?}, not steps and numbers"
        ));
    };
    if batch != usize::from(!batch_first) {
        return unsupported(format!(
            "its input has the batch as axis {batch}, which its 'layout' makes the time: transpose it before"
        ));
    }
    if steps > MAX_STEPS {
        return unsupported(format!(
            "it has {steps} time steps; at most {MAX_STEPS} are unrolled"
        ));
    }
    let backwards = directions(call)?;
    let lengths = Lengths::of(call, builder, steps)?;
    let mut all = Vec::new();
    for (d, &backward) in backwards.iter().enumerate() {
        check(call, backwards.len())?;
        let cell = Cell::read(call, builder, [d, backwards.len()], width)?;
        let mut compose = Composer::new(call, builder);
        let initial = cell.initial(call, &mut compose, [d, backwards.len()])?;
        all.push(cell.run(&mut compose, (x, steps), backward, initial, &lengths)?);
    }
    let mut compose = Composer::new(call, builder);
    outputs(call, &mut compose, &all, batch_first)
}

/// Whether each direction goes backwards.
fn directions(call: &Call) -> Result<Vec<bool>, Fault> {
    match call.text("direction", "forward").as_str() {
        "forward" => Ok(vec![false]),
        "reverse" => Ok(vec![true]),
        "bidirectional" => Ok(vec![false, true]),
        other => bad(format!("its 'direction' is '{other}'")),
    }
}

/// Refuses what is not computed here.
fn check(call: &Call, directions: usize) -> Result<(), Fault> {
    for name in ["clip", "input_forget"] {
        if call.attribute(name).is_some_and(|a| a.i != Some(0)) {
            return unsupported(format!("its attribute '{name}' is not supported"));
        }
    }
    let defaults: &[&str] = match call.node.op_type.as_str() {
        "GRU" => &["sigmoid", "tanh"],
        "LSTM" => &["sigmoid", "tanh", "tanh"],
        _ => return Ok(()),
    };
    let given = activations(call);
    match given.is_empty() || given == defaults.repeat(directions) {
        true => Ok(()),
        false => unsupported(format!(
            "its activations are {given:?}; {defaults:?} are supported"
        )),
    }
}

fn activations(call: &Call) -> Vec<String> {
    let given = call.attribute("activations").map(|a| a.strings.as_slice());
    let name = |name: &Vec<u8>| String::from_utf8_lossy(name).to_lowercase();
    given.unwrap_or_default().iter().map(name).collect()
}

fn kind(call: &Call, d: usize) -> Result<CellKind, Fault> {
    Ok(match call.node.op_type.as_str() {
        "GRU" => CellKind::Gru {
            reset_after: call.int("linear_before_reset", 0) != 0,
        },
        "LSTM" => CellKind::Lstm,
        _ => match activations(call).get(d).map_or("tanh", String::as_str) {
            "tanh" => CellKind::Rnn(Op::Function {
                function: Function::Tanh,
                domain: ANY,
            }),
            "relu" => CellKind::Rnn(Op::Relu),
            other => {
                return unsupported(format!(
                    "its activation is '{other}'; Tanh and Relu are supported"
                ));
            }
        },
    })
}

impl Cell {
    /// Reads the weights of direction `d` of so many, for inputs of `width` numbers.
    fn read(
        call: &Call,
        builder: &mut Builder,
        [d, directions]: [usize; 2],
        width: usize,
    ) -> Result<Cell, Fault> {
        let kind = kind(call, d)?;
        let gates = match kind {
            CellKind::Gru { .. } => 3,
            CellKind::Lstm => 4,
            CellKind::Rnn(_) => 1,
        };
        let (shape, recurrence) = call.weights(2)?;
        let hidden = shape.last().copied().unwrap_or_default();
        if call.int("hidden_size", hidden as i64) != hidden as i64 {
            return bad("its 'hidden_size' differs from its weights");
        }
        let rows = gates * hidden;
        fits(call, 1, &[directions, rows, width])?;
        fits(call, 2, &[directions, rows, hidden])?;
        let (_, weights) = call.weights(1)?;
        let turned = |of: &Weights, [first, rows, columns]: [usize; 3]| {
            let part = &of[(d * gates * hidden + first) * columns..][..rows * columns];
            transposed(part, [rows, columns])
        };
        let how = |part: &str| format!("{part} of direction {d} of {directions}");
        let input = builder.derive(&weights, how("inputs"), || {
            turned(&weights, [0, rows, width])
        });
        let parts = match kind {
            CellKind::Gru { reset_after: false } => vec![(0, 2 * hidden), (2 * hidden, hidden)],
            _ => vec![(0, rows)],
        };
        let mut state = |(first, rows): (usize, usize)| {
            let make = || turned(&recurrence, [first, rows, hidden]);
            builder.derive(&recurrence, how(&format!("state from {first}")), make)
        };
        let state = parts.into_iter().map(&mut state).collect();
        let mut cell = Cell {
            kind,
            hidden,
            input,
            input_bias: Weights::default(),
            state,
            state_bias: Weights::default(),
            peepholes: Default::default(),
        };
        if let Some((_, bias)) = call.optional_weights(3)? {
            fits(call, 3, &[directions, 2 * rows])?;
            cell.split_bias(builder, &bias, d * 2 * rows, rows, &how(""));
        }
        if let (CellKind::Lstm, Some((_, seen))) = (&cell.kind, call.optional_weights(7)?) {
            fits(call, 7, &[directions, 3 * hidden])?;
            cell.split_peepholes(builder, &seen, d * 3 * hidden, &how(""));
        }
        Ok(cell)
    }

    /// The bias of the state joins that of the inputs, but for what a reset gate acts on.
    fn split_bias(
        &mut self,
        builder: &mut Builder,
        bias: &Weights,
        start: usize,
        rows: usize,
        how: &str,
    ) {
        let apart = match self.kind {
            CellKind::Gru { reset_after: true } => 2 * self.hidden..rows,
            _ => rows..rows,
        };
        let [own, states] = [start, start + rows].map(|at| &bias[at..at + rows]);
        let joined = |i: usize| own[i] + if apart.contains(&i) { 0.0 } else { states[i] };
        let inputs = || (0..rows).map(joined).collect();
        let kept = format!("bias but {apart:?}{how}");
        self.input_bias = builder.derive(bias, kept, inputs);
        if !apart.is_empty() {
            let alone = |i: usize| if apart.contains(&i) { states[i] } else { 0.0 };
            let states = || (0..rows).map(alone).collect();
            self.state_bias = builder.derive(bias, format!("bias {apart:?}{how}"), states);
        }
    }

    /// The peepholes of the gates input, output and forget, unless all are 0.
    fn split_peepholes(&mut self, builder: &mut Builder, all: &Weights, start: usize, how: &str) {
        let h = self.hidden;
        let [input, output, forget] = [0, 1, 2].map(|gate| &all[start + gate * h..][..h]);
        if [input, output, forget].concat().iter().all(|&v| v == 0.0) {
            return;
        }
        let first = || [input, forget].concat();
        let named = |part: &str| format!("peepholes of {part}{how}");
        self.peepholes = [
            builder.derive(all, named("input and forget"), first),
            builder.derive(all, named("output"), || output.to_vec()),
        ];
    }
}

/// Whether input `i` has the shape that the others ask for.
fn fits(call: &Call, i: usize, wanted: &[usize]) -> Result<(), Fault> {
    let (shape, _) = call.weights(i)?;
    match shape == wanted {
        true => Ok(()),
        false => bad(format!(
            "its input {i} has the shape {shape:?}, {wanted:?} is needed"
        )),
    }
}

/// `Y`, `Y_h` and `Y_c` of all directions.
fn outputs(
    call: &Call,
    compose: &mut Composer,
    all: &[(Vec<ValueId>, State)],
    batch_first: bool,
) -> Result<Vec<Value>, Fault> {
    let steps = all[0].0.len();
    let ends = all.iter().map(|(_, last)| *last).collect::<Vec<_>>();
    let sequence = (0..steps).flat_map(|t| all.iter().map(move |(shown, _)| shown[t]));
    let hidden = ends.iter().map(|state| state.hidden).collect();
    let cells = ends.iter().filter_map(|state| state.cell).collect();
    let wanted: [(&str, Vec<ValueId>, Vec<usize>); 3] = [
        ("sequence", sequence.collect(), vec![steps, all.len()]),
        ("last", hidden, vec![all.len()]),
        ("last cell", cells, vec![all.len()]),
    ];
    let mut outputs = Vec::new();
    for ((part, values, mut shape), name) in wanted.into_iter().zip(&call.node.output) {
        if name.is_empty() || values.is_empty() {
            outputs.push(Value::Unknown);
            continue;
        }
        let batch = if batch_first { 0 } else { shape.len() };
        shape.push(compose.builder.len(values[0]));
        let id = match values[..] {
            [one] => one,
            _ => compose.node(part, Op::Concat { outer: 1 }, &values, shape.clone())?,
        };
        outputs.push(Value::Secret { id, shape, batch });
    }
    Ok(outputs)
}
