//! Models of a free batch that they merge with other axes, or turn to another place.
//!
//! Exporters write so what computes every item by itself all the same: attention whose heads stand beside
//! the items, networks over time that stands first. Such a model is read twice, for a batch of one item and
//! for one of several, each with all sizes given. It is taken as that of one item if no element of an item
//! of several is made of another item (`apart.rs`), and if each item of several gives what it gives alone. Ranges by
//! which a whole batch is quantised are left out of that: each item is quantised by its own, as in a batch of one.

use super::apart::reach;
use super::importer::{Form, Importer};
use super::proto::NodeProto;
use super::{ImportError, UnsupportedNode};
use crate::graph::{Graph, Input, InputKind, Output, len};
use crate::plan::{Random, TRIAL_WORK, affordable};
use crate::reference::outputs;
use crate::tail;

/// Items of the batch that is held against one item.
const SEVERAL: usize = 3;
/// Spans that the numbers of inputs lie in, of one comparison each.
const SPANS: [(f64, f64); 3] = [(-1.0, 1.0), (-4.0, 4.0), (0.1, 1.0)];
/// How far apart float32 may be, which adds in another order, of the largest output.
const NEAR: f32 = 1e-3;

impl Importer<'_> {
    /// The model of one item, of a file whose batch is free and that is refused as one of items; the refusal
    /// if its items cannot be told apart.
    pub(super) fn of_one_item(&self, refused: ImportError) -> Result<Graph, ImportError> {
        self.told_apart().map_err(|second| match second {
            Some(second) => plainer(refused, second),
            None => refused,
        })
    }

    /// The model of one item, if the items of several are apart and give what each gives alone; else why a batch of
    /// one or of several is refused, if it is.
    fn told_apart(&self) -> Result<Graph, Option<ImportError>> {
        let form = if self.is_quantised() {
            Form::Unquantised
        } else {
            Form::Batch
        };
        let [one, several] = [1, SEVERAL].map(|items| self.import(form(items)));
        let (one, several) = (one?, several?);
        let one = without_batch(one, &several).ok_or(None)?;
        if !are_apart(&several) || !are_alike(&one, &several) {
            return Err(None);
        }
        match self.is_quantised() {
            true => without_batch(self.import(Form::Batch(1))?, &several).ok_or(None),
            false => Ok(one),
        }
    }

    /// Whether a node quantises by the range of what it takes.
    fn is_quantised(&self) -> bool {
        let dynamic = |node: &NodeProto| node.op_type == "DynamicQuantizeLinear";
        self.graph.node.iter().any(dynamic)
    }
}

/// How reasons end, or go on, that only a free batch gives.
const OF_FREE_BATCH: [&str; 3] = [
    "of a fixed batch size it is run as one item",
    "computes with the batch size, which is free",
    "merges the batch with other axes",
];

/// Of two refusals of a model, as a batch of items and as one item, the one with fewer reasons; of as many the second,
/// where a free batch was all that the first is of.
pub(super) fn plainer(first: ImportError, second: ImportError) -> ImportError {
    let of_batch = |node: &UnsupportedNode| OF_FREE_BATCH.iter().any(|of| node.why.contains(of));
    match (&first, &second) {
        (ImportError::Unsupported(a), ImportError::Unsupported(b))
            if b.len() < a.len() || b.len() == a.len() && a.iter().all(of_batch) =>
        {
            second
        }
        (ImportError::Unsupported(_) | ImportError::Tensor { .. }, _) => first,
        (_, ImportError::Unsupported(_)) => second,
        _ => first,
    }
}

/// The model of a batch of one as that of an item; `None` if an output of several has no batch of them before
/// all axes that are longer than 1.
fn without_batch(mut graph: Graph, several: &Graph) -> Option<Graph> {
    for input in &mut graph.inputs {
        input.shape.remove(input.batch);
    }
    if graph.outputs.len() != several.outputs.len() {
        return None;
    }
    for (output, of_several) in graph.outputs.iter_mut().zip(&several.outputs) {
        // What is opened of it may still stand merged with other axes.
        if output.revealed_shape.first() == Some(&1) {
            output.revealed_shape.remove(0);
        }
        let at = of_several.shape.iter().position(|&size| size != 1)?;
        if of_several.shape[at] != SEVERAL || output.shape.get(at) != Some(&1) {
            return None;
        }
        output.shape.remove(at);
        output.batch = at;
    }
    Some(graph)
}

/// Whether of a batch of several no item of an output depends on another.
fn are_apart(several: &Graph) -> bool {
    let marks = several.inputs.iter().flat_map(|input| {
        let inner = len(&input.shape[input.batch + 1..]);
        (0..input.given_len()).map(move |e| 1 << (e / inner % SEVERAL))
    });
    let reached = reach(several, marks.collect());
    several.outputs.iter().all(|output| {
        let part = &reached[output.start..][..output.part_len()];
        let of_item = part.len() / SEVERAL;
        part.len().is_multiple_of(SEVERAL)
            && (part.iter().enumerate()).all(|(e, mark)| mark & !(1 << (e / of_item)) == 0)
    })
}

/// Whether items give in a batch of several what each gives alone.
fn are_alike(one: &Graph, several: &Graph) -> bool {
    let of = |graph: &Graph| -> Vec<(String, InputKind, usize)> {
        let inputs = graph.inputs.iter();
        let told = inputs.map(|input| (input.name.clone(), input.kind, input.batch));
        told.collect()
    };
    if of(one) != of(several) || one.outputs.len() != several.outputs.len() {
        return false;
    }
    let mut random = Random(0x8329_63f5_70d2_4a1b);
    // A large model takes seconds for each: no more of them than it needs for a finite answer.
    let enough = affordable(one, TRIAL_WORK, 1..=SPANS.len());
    let mut finite = false;
    for (tried, span) in SPANS.into_iter().enumerate() {
        if finite && tried >= enough {
            break;
        }
        let items: Vec<f32> = (0..SEVERAL)
            .flat_map(|_| made_up(&one.inputs, span, &mut random))
            .collect();
        let together = joined(&one.inputs, &items);
        let (Ok(alone), Ok(beside)) = (outputs(one, &items), outputs(several, &together)) else {
            return false;
        };
        let outputs = one.outputs.iter().zip(&several.outputs);
        for (a, b) in outputs {
            let parts = [seen(a, &alone, SEVERAL), seen(b, &beside, 1)];
            if !are_near(&parts[0], &parts[1]) {
                return false;
            }
        }
        finite |= alone.iter().all(|v| v.is_finite());
    }
    finite
}

/// Numbers of an input item, as their kinds are.
fn made_up(inputs: &[Input], (low, high): (f64, f64), random: &mut Random) -> Vec<f32> {
    let mut row = Vec::new();
    for input in inputs {
        let number = |at| match input.kind_at(at) {
            InputKind::Numbers => (low + (high - low) * random.uniform()) as f32,
            InputKind::Integers => (4.0 * random.uniform()).floor() as f32,
            InputKind::Truths => (2.0 * random.uniform()).floor() as f32,
            InputKind::Tokens { classes } => (classes as f64 * random.uniform()).floor() as f32,
            InputKind::Marks { .. } => 0.0,
        };
        row.extend((0..input.given_len()).map(number));
    }
    row
}

/// Items one behind the other as one batch, the axis of which stands where it does in each input.
fn joined(inputs: &[Input], items: &[f32]) -> Vec<f32> {
    let row = items.len() / SEVERAL;
    let (mut all, mut start) = (Vec::new(), 0);
    for input in inputs {
        let (n, inner) = (input.given_len(), len(&input.shape[input.batch..]));
        for outer in (start..start + n).step_by(inner) {
            let of_item = |item: usize| &items[item * row + outer..][..inner];
            all.extend((0..SEVERAL).flat_map(of_item));
        }
        start += n;
    }
    all
}

/// What is opened of an output, and what the receiver makes of it.
fn seen(output: &Output, values: &[f32], items: usize) -> Vec<f32> {
    let opened = tail::part(output, values.len() / items, values);
    let mut made = opened.clone();
    tail::apply(&output.tail, &mut made);
    [opened, made].concat()
}

fn are_near(a: &[f32], b: &[f32]) -> bool {
    let finite = a.iter().filter(|v| v.is_finite());
    let largest = finite.fold(0.0, |most: f32, v| most.max(v.abs()));
    let near = |(a, b): (&f32, &f32)| match a.is_finite() && b.is_finite() {
        true => (a - b).abs() <= NEAR * largest,
        false => a.is_nan() && b.is_nan() || a == b,
    };
    a.len() == b.len() && a.iter().zip(b).all(near)
}
