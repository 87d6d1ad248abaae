//! Chooses the fraction bits.

use std::ops::RangeInclusive;

use super::ranges::{Bound, Random};
use super::scales::{Limits, Scale};
use super::width::is_wide;
use super::{Order, PlanError};
use crate::graph::{Graph, Op, ValueId, Weights, len};
use crate::reference::run;

/// Multiply-adds that one trial of a number of fraction bits may cost.
pub(super) const TRIAL_WORK: usize = 1_000_000_000;
/// The fewest and the most items of a trial.
const TRIAL_ITEMS: RangeInclusive<usize> = 4..=64;

/// The number of fraction bits to plan with. Over 64 or 61 bits there is room to spare, so
/// the usual number or the next below that fits; over 32 or 31 bits the one whose rounding, tried
/// out in the clear, disturbs the output least.
pub(super) fn fraction_bits(
    graph: &Graph,
    bounds: &[Bound],
    trials: &[f32],
    limits: &Limits,
) -> Result<u32, PlanError> {
    let wide = is_wide(limits.ring_bits);
    let candidates = match (wide, limits.order) {
        (true, Order::MultiplyThenTruncate) => 8..=18,
        (true, Order::TruncateThenMultiply) => 16..=32,
        (false, Order::MultiplyThenTruncate) => 5..=16,
        (false, Order::TruncateThenMultiply) => 8..=26,
    };
    let fewest = *candidates.start();
    let mut fitting = candidates
        .rev()
        .filter_map(|f| limits.scales(graph, bounds, f).ok().map(|s| (f, s)));
    let best = if wide {
        fitting.next().map(|(f, _)| f)
    } else {
        least_disturbing(graph, trials, limits, fitting)?
    };
    // Nothing fits: say which layer stands in the way of the fewest bits.
    best.map_or_else(|| limits.scales(graph, bounds, fewest).map(|_| fewest), Ok)
}

/// The candidate that disturbs the output least; candidates come in falling order.
fn least_disturbing(
    graph: &Graph,
    trials: &[f32],
    limits: &Limits,
    candidates: impl Iterator<Item = (u32, Vec<Scale>)>,
) -> Result<Option<u32>, PlanError> {
    let items = affordable(graph, TRIAL_WORK, TRIAL_ITEMS);
    let x = &trials[..trials.len().min(items * len(&graph.input_shape))];
    let exact = run(graph, x, |_, _| {})?;
    let mut best: Option<(u32, f64)> = None;
    for (f, scales) in candidates {
        let found = disturbance(graph, &scales, limits.order, f, x, &exact)?;
        let least = best.map_or(f64::INFINITY, |b| b.1);
        if found < least {
            best = Some((f, found));
        } else if found > 8.0 * least {
            // Fewer bits only get worse from here.
            break;
        }
    }
    Ok(best.map(|b| b.0))
}

/// The items of a trial that costs `work` multiply-adds, within bounds.
pub(super) fn affordable(graph: &Graph, work: usize, bounds: RangeInclusive<usize>) -> usize {
    let of_op = |op: &Op| match op {
        Op::Conv(c) => c.geometry.out_len() * c.geometry.taps(),
        Op::Linear(l) => l.rows * l.k * l.n,
        _ => 0,
    };
    let per_item: usize = graph.nodes.iter().map(|n| of_op(&n.op)).sum();
    (work / per_item.max(1)).clamp(*bounds.start(), *bounds.end())
}

/// The mean squared change of the revealed values when everything is rounded as planned.
fn disturbance(
    graph: &Graph,
    scales: &[Scale],
    order: Order,
    f: u32,
    x: &[f32],
    exact: &[f32],
) -> Result<f64, PlanError> {
    let rounded = rounded_weights(graph, scales, f);
    let kept = kept_bits(graph, scales, order, f);
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let output = run(&rounded, x, |id, values| {
        let unit = f64::from(kept[id]).exp2();
        for v in values {
            // A truncation rounds up or down by chance.
            *v = ((f64::from(*v) * unit + random.uniform()).floor() / unit) as f32;
        }
    })?;
    let squares: f64 = output
        .iter()
        .zip(exact)
        .map(|(a, b)| f64::from(a - b).powi(2))
        .sum();
    Ok(squares / output.len() as f64)
}

/// The fraction bits of each value when it is used: fewer where a product truncates it first.
fn kept_bits(graph: &Graph, scales: &[Scale], order: Order, f: u32) -> Vec<u32> {
    let mut kept = vec![f; graph.nodes.len() + 1];
    if order == Order::TruncateThenMultiply {
        let readers = graph.nodes.iter().zip(scales);
        let mut lower = |id: ValueId, trunc: u32| kept[id] = kept[id].min(f - trunc);
        readers.for_each(|(node, scale)| {
            node.inputs
                .iter()
                .for_each(|&id| lower(id, scale.input_trunc))
        });
    }
    kept
}

fn rounded_weights(graph: &Graph, scales: &[Scale], f: u32) -> Graph {
    let mut graph = graph.clone();
    for (node, scale) in graph.nodes.iter_mut().zip(scales) {
        let unit = f64::from(scale.weight_bits).exp2();
        let round = |values: &mut Weights, unit: f64| {
            let rounded = |v: &f32| ((f64::from(*v) * unit).round() / unit) as f32;
            *values = values.iter().map(rounded).collect();
        };
        match &mut node.op {
            Op::Conv(c) => round(&mut c.weight, unit),
            Op::Linear(l) => round(&mut l.weight, unit),
            Op::Affine(a) => {
                round(&mut a.scale, unit);
                round(&mut a.shift, f64::from(f).exp2());
            }
            _ => {}
        }
    }
    graph
}
