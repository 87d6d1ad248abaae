//! A model computed in float32 with everything rounded as a plan has it.

use super::ranges::Random;
use super::rounding::{Manner, Rounding, Signs};
use crate::graph::{Function, Graph, Node, Op, Weights};
use crate::reference::{ShapeError, run};

/// How a trial is repeated, of small models in all of these ways.
pub(super) const MANNERS: [Manner; 5] = [
    Manner::ByChance,
    Manner::Down(Signs::Negative),
    Manner::Down(Signs::Positive),
    Manner::Down(Signs::Mixed),
    Manner::Down(Signs::ByChance),
];

/// Runs inputs `x` as rounded, in several manners, and gives away the outputs of each.
pub(super) fn rounded_runs(
    graph: &Graph,
    rounding: &Rounding,
    x: &[f32],
    repeats: usize,
    mut see: impl FnMut(&[f32]),
) -> Result<(), ShapeError> {
    let rounded = rounded_weights(graph, rounding);
    let means = rounded_means(graph, rounding);
    let inverted = inverted(graph);
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    // Of a large model one has to do.
    let first = usize::from(rounding.exact);
    for manner in MANNERS.iter().cycle().skip(first).take(repeats) {
        let output = run(&rounded, x, |id, values| {
            if let Some(ranks) = rounding.ranks_of(id) {
                return ranks.round(id, values);
            }
            let unit = f64::from(rounding.fractions[id]).exp2();
            let mean = id.checked_sub(1).map_or(&[][..], |layer| &means[layer]);
            for (i, v) in values.iter_mut().enumerate() {
                let factor = mean.get(i % mean.len().max(1)).unwrap_or(&1.0);
                let exact = f64::from(*v) * factor * unit;
                let units = rounding.round(id, exact, unit, *manner, &mut random);
                let units = if inverted[id] { units.max(1.0) } else { units };
                *v = (units / unit) as f32;
            }
        })?;
        see(&output);
    }
    Ok(())
}

/// The values of which a function takes the inverse: of less than their last place it is bounded.
pub(super) fn inverted(graph: &Graph) -> Vec<bool> {
    let mut inverted = vec![false; graph.nodes.len() + 1];
    for node in &graph.nodes {
        if let Op::Function {
            function: Function::Reciprocal | Function::InverseSqrt | Function::Log,
            ..
        } = node.op
        {
            inverted[node.inputs[0]] = true;
        }
    }
    inverted
}

/// By what each element of a mean is off, for its public factor is rounded; nothing of other layers.
fn rounded_means(graph: &Graph, rounding: &Rounding) -> Vec<Vec<f64>> {
    let of = |(node, &bits): (&Node, &u32)| match &node.op {
        Op::AveragePool(pool) => {
            let unit = f64::from(bits).exp2();
            let off = |size: f64| (unit / size).round() / unit * size;
            (0..pool.out_len())
                .map(|e| off(pool.divisor(e) as f64))
                .collect()
        }
        _ => Vec::new(),
    };
    graph.nodes.iter().zip(&rounding.weights).map(of).collect()
}

fn rounded_weights(graph: &Graph, rounding: &Rounding) -> Graph {
    let mut graph = graph.clone();
    for (i, node) in graph.nodes.iter_mut().enumerate() {
        let unit = f64::from(rounding.weights[i]).exp2();
        let round = |values: &mut Weights, unit: f64| {
            let rounded = |v: &f32| ((f64::from(*v) * unit).round() / unit) as f32;
            *values = values.iter().map(rounded).collect();
        };
        match &mut node.op {
            Op::Conv(c) => round(&mut c.weight, unit),
            Op::Linear(l) => round(&mut l.weight, unit),
            Op::Lookup(l) => round(&mut l.table, unit),
            Op::Affine(a) => match rounding.ranks_of(i + 1) {
                Some(ranks) => a.shift = a.shift.iter().map(|&v| ranks.term(v)).collect(),
                None => {
                    round(&mut a.scale, unit);
                    round(&mut a.shift, f64::from(rounding.fractions[i + 1]).exp2());
                }
            },
            _ => {}
        }
    }
    graph
}

#[cfg(test)]
mod tests {
    use super::super::graphs::{graph, node, pool};
    use super::super::rounding::Step;
    use super::*;

    /// A third in 4 bits is 5/16, so a mean of three is 15/16 of what it should be; of four it is exact.
    #[test]
    fn the_factors_of_means_are_rounded() {
        let mean = |size| {
            let pool = pool(1, [1, size], [1, size]);
            node(Op::AveragePool(pool), &[0], &[1])
        };
        let graph = graph(&[3], vec![mean(3), mean(4)]);
        let rounding = Rounding {
            fractions: vec![4; 3],
            weights: vec![4; 2],
            steps: vec![Step::Truncated; 3],
            field: false,
            exact: false,
            ranks: None,
        };
        assert_eq!(
            rounded_means(&graph, &rounding),
            [vec![15.0 / 16.0], vec![1.0]]
        );
    }
}
