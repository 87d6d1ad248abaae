//! The inputs of a plan, and numbers that are made up for them.

use serde::{Deserialize, Serialize};

use super::choice::Choice;
use super::ranks;
use super::wire;
use super::{DEFAULT_INPUT_RANGE, Plan, PlanError, PlanOptions};
use crate::graph::{Graph, Input, InputKind, given_shape};

/// An input with the numbers that are taken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedInput {
    /// The input's name, its shape and what its numbers are.
    #[serde(flatten)]
    pub input: Input,
    /// The largest magnitude of an encoded number.
    pub limit: i64,
    /// Whether the input's numbers are only compared, and shared as their ranks among all floats.
    pub ranked: bool,
}

impl Plan {
    /// Elements of value 0 of one item: of all inputs, as they are shared.
    pub fn input_len(&self) -> usize {
        let lens = self.inputs.iter().map(|planned| planned.input.shared_len());
        lens.fold(0, usize::saturating_add)
    }

    /// Numbers of one item that are given.
    pub fn given_len(&self) -> usize {
        let lens = self.inputs.iter().map(|planned| planned.input.given_len());
        lens.fold(0, usize::saturating_add)
    }

    /// The shape of one item of what is given: flat where there are several inputs.
    pub fn given_shape(&self) -> Vec<usize> {
        let inputs: Vec<Input> = self.inputs.iter().map(|p| p.input.clone()).collect();
        given_shape(&inputs)
    }

    /// The largest magnitude of a number of an input.
    pub fn input_range(&self, planned: &PlannedInput) -> f64 {
        match planned.ranked {
            true => ranks::largest(planned.limit, self.modulus.bits()),
            false => planned.limit as f64 / f64::from(self.number(0).fraction).exp2(),
        }
    }
}

/// The largest magnitude of the numbers of every input: what the options say, or a margin over what samples
/// show, or one that is assumed. Of tokens it is 1, of what is shared for them.
pub(super) fn ranges(
    graph: &Graph,
    options: &PlanOptions,
    samples: Option<&[f32]>,
) -> Result<Vec<f64>, PlanError> {
    let item = graph.row_len().max(1);
    let mut start = 0;
    let mut ranges = Vec::with_capacity(graph.inputs.len());
    for input in &graph.inputs {
        let part = start..start + input.given_len();
        start += input.row_len();
        if matches!(input.kind, InputKind::Truths | InputKind::Tokens { .. }) {
            ranges.push(1.0);
            continue;
        }
        let of_part = |x: &[f32]| {
            let rows = x.chunks(item).flat_map(|row| &row[part.clone()]);
            rows.fold(0.0, |most, v| f64::max(most, f64::from(v.abs())))
        };
        let seen = samples.map(of_part).filter(|&seen| seen > 0.0);
        let range = options.input_range.or(seen.map(|s| s * options.margin));
        let range = range
            .unwrap_or(DEFAULT_INPUT_RANGE)
            .max(f64::from(f32::MIN_POSITIVE))
            .max(input.categories());
        if let Some(seen) = seen.filter(|&s| s > range) {
            return Err(PlanError::Option(format!(
                "the samples reach {seen}, beyond the input range {range}"
            )));
        }
        ranges.push(range);
    }
    Ok(ranges)
}

/// How far each number of an item is from 0 at most, of inputs with such ranges.
pub(super) fn ends(graph: &Graph, ranges: &[f64]) -> Vec<f64> {
    let parts = graph.inputs.iter().zip(ranges);
    let of = |(input, &range): (&Input, &f64)| {
        let numbers = vec![range; input.given_len()];
        let mark = input
            .missing
            .as_ref()
            .map_or(0.0, |missing| missing.mark().into());
        [numbers, vec![mark; input.marks()]].concat()
    };
    parts.flat_map(of).collect()
}

/// The inputs of a plan at `fraction` bits after the point. Of ranks no range is assumed, since all fit.
pub(super) fn planned(choice: &Choice, fraction: u32) -> Vec<PlannedInput> {
    let (options, ranked) = (choice.options, choice.ranks.is_some());
    let planned = |(input, &range): (&Input, &f64)| {
        let mut input = input.clone();
        input.name = wire::short(&input.name);
        let limit = match ranked {
            // The largest floats are beyond what trees with marks tell apart.
            true if input.missing.is_some() => {
                let limit = ranks::limit(options.input_range, options.modulus.bits());
                limit.min(ranks::most_rank(options.modulus.bits()) - 1)
            }
            true => ranks::limit(options.input_range, options.modulus.bits()),
            // Up, so that the range itself is taken.
            false => (range * f64::from(fraction).exp2()).ceil() as i64,
        };
        PlannedInput {
            input,
            limit,
            ranked,
        }
    };
    choice
        .graph
        .inputs
        .iter()
        .zip(&choice.inputs)
        .map(planned)
        .collect()
}

/// A row of inputs as numbers that may be varied: each from one end of its range to the other.
pub(super) struct Row<'a> {
    graph: &'a Graph,
    /// How far each number of an item is from 0 at most.
    pub ends: Vec<f64>,
}

impl<'a> Row<'a> {
    pub(super) fn new(graph: &'a Graph, ends: &[f64]) -> Self {
        Row {
            graph,
            ends: ends.to_vec(),
        }
    }

    /// The numbers that stand for the items `x`.
    pub(super) fn free(&self, x: &[f32]) -> Vec<f32> {
        self.each(x, |kind, value, _| match kind {
            InputKind::Numbers | InputKind::Integers => value,
            InputKind::Truths => 2.0 * value - 1.0,
            InputKind::Marks { bits } => 2.0 * value / (bits as f32).exp2() - 1.0,
            InputKind::Tokens { classes } => (2.0 * value + 1.0) / classes as f32 - 1.0,
        })
    }

    /// The items that numbers stand for: the nearest that their inputs have.
    pub(super) fn given(&self, free: &[f32]) -> Vec<f32> {
        self.each(free, |kind, value, end| match kind {
            InputKind::Numbers => value,
            InputKind::Integers => value.round().clamp(-end.floor(), end.floor()),
            InputKind::Truths => f32::from(u8::from(value > 0.0)),
            InputKind::Marks { bits } if value > 0.0 => (bits as f32).exp2(),
            InputKind::Marks { .. } => 0.0,
            InputKind::Tokens { classes } => {
                let token = (f64::from(value) + 1.0) / 2.0 * classes as f64;
                token.floor().clamp(0.0, (classes - 1) as f64) as f32
            }
        })
    }

    fn each(&self, x: &[f32], of: impl Fn(InputKind, f32, f32) -> f32) -> Vec<f32> {
        let mut out = Vec::with_capacity(x.len());
        for item in x.chunks(self.ends.len().max(1)) {
            let mut start = 0;
            for input in &self.graph.inputs {
                let part = start..start + input.row_len();
                start = part.end;
                let first = part.start;
                let kind = |at: usize| input.kind_at(at - first);
                let each = part.map(|at| of(kind(at), item[at], self.ends[at] as f32));
                out.extend(each);
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::super::graphs::graph;
    use super::*;

    fn several() -> Graph {
        let mut graph = graph(&[2], vec![]);
        let input = |name: &str, len, kind| Input {
            kind,
            ..Input::numbers(name, &[len])
        };
        graph.inputs.extend([
            input("whole", 1, InputKind::Integers),
            input("mask", 2, InputKind::Truths),
            input("ids", 3, InputKind::Tokens { classes: 5 }),
        ]);
        graph
    }

    /// Items are numbers and back; numbers between stand for the nearest, none for a token that is not there.
    #[test]
    fn numbers_stand_for_items() {
        let graph = several();
        let ends = ends(&graph, &[4.0, 2.5, 1.0, 1.0]);
        assert_eq!(ends, [4.0, 4.0, 2.5, 1.0, 1.0, 1.0, 1.0, 1.0]);
        let row = Row::new(&graph, &ends);
        let items = [0.5, -3.0, 2.0, 0.0, 1.0, 0.0, 3.0, 4.0];
        assert_eq!(row.given(&row.free(&items)), items);
        let between = [9.0, -9.0, 2.4, -0.1, 0.1, -1.0, 0.0, 1.0];
        let given = [9.0, -9.0, 2.0, 0.0, 1.0, 0.0, 2.0, 4.0];
        assert_eq!(row.given(&between), given);
    }

    /// Every input has the range of its own samples; tokens and truths have 1 whatever they are.
    #[test]
    fn every_input_has_its_range() {
        let graph = several();
        let samples = [0.5, -3.0, 2.0, 0.0, 1.0, 0.0, 3.0, 4.0];
        let options = PlanOptions {
            margin: 2.0,
            ..PlanOptions::default()
        };
        let found = ranges(&graph, &options, Some(&samples)).unwrap();
        assert_eq!(found, [6.0, 4.0, 1.0, 1.0]);
        let options = PlanOptions {
            input_range: Some(2.5),
            ..options
        };
        let error = ranges(&graph, &options, Some(&samples)).unwrap_err();
        assert!(error.to_string().contains("reach 3"), "{error}");
        assert_eq!(
            ranges(&graph, &options, None).unwrap(),
            [2.5, 2.5, 1.0, 1.0]
        );
    }
}
