//! The inputs of a plan, and numbers that are made up for them.

use serde::{Deserialize, Serialize};

use super::choice::Choice;
use super::layers::encode;
use super::ranks;
use super::wire;
use super::{DEFAULT_INPUT_RANGE, Plan, PlanError, PlanOptions};
use crate::graph::{Graph, Input, InputKind, row_shape};

/// An input with the numbers that are taken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedInput {
    /// Its name, its shape and what its numbers are.
    #[serde(flatten)]
    pub input: Input,
    /// The largest magnitude of an encoded number.
    pub limit: i64,
    /// The same for every number of an item, where columns of a table differ; else none.
    pub columns: Vec<i64>,
    /// Whether its numbers are only compared, and shared as their ranks among all floats.
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
        row_shape(&inputs)
    }

    /// The largest magnitude of a number of an input.
    pub fn input_range(&self, planned: &PlannedInput) -> f64 {
        self.input_limit(planned, planned.limit)
    }

    /// The largest magnitude of the number at place `at` of an item of an input.
    pub(crate) fn range_at(&self, planned: &PlannedInput, at: usize) -> f64 {
        let limit = planned.columns.get(at).unwrap_or(&planned.limit);
        self.input_limit(planned, *limit)
    }

    fn input_limit(&self, planned: &PlannedInput, limit: i64) -> f64 {
        match planned.ranked {
            true => ranks::largest(limit, self.ring_bits),
            false => limit as f64 / f64::from(self.number(0).fraction).exp2(),
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
    let item = graph.given_len().max(1);
    let mut start = 0;
    let mut ranges = Vec::with_capacity(graph.inputs.len());
    for input in &graph.inputs {
        let part = start..start + input.given_len();
        start = part.end;
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
            .max(f64::from(f32::MIN_POSITIVE));
        if let Some(seen) = seen.filter(|&s| s > range) {
            return Err(PlanError::Option(format!(
                "the samples reach {seen}, beyond the input range {range}"
            )));
        }
        ranges.push(range);
    }
    Ok(ranges)
}

/// How many times farther from 0 than its samples a column may be: of one that is seldom set they show little.
const COLUMN_ROOM: f64 = 1024.0;

/// How far each number of an item is from 0 at most, of inputs with such ranges: of a column of a table by its
/// own samples, in powers of two, since a plan tells it to all parties.
pub(super) fn ends(
    graph: &Graph,
    options: &PlanOptions,
    samples: Option<&[f32]>,
    ranges: &[f64],
) -> Vec<f64> {
    let item = graph.given_len().max(1);
    let mut ends = Vec::with_capacity(item);
    for (input, &range) in graph.inputs.iter().zip(ranges) {
        let is_table = input.shape.len() == 1
            && options.input_range.is_none()
            && matches!(input.kind, InputKind::Numbers | InputKind::Integers);
        let column = |at: usize| {
            let rows = samples.filter(|_| is_table)?.chunks(item);
            let seen = rows.fold(0.0, |most, row| f64::max(most, f64::from(row[at].abs())));
            let room = (COLUMN_ROOM * options.margin * seen).log2().ceil().exp2();
            (seen > 0.0).then_some(room.min(range))
        };
        let start = ends.len();
        ends.extend((start..start + input.given_len()).map(|at| column(at).unwrap_or(range)));
    }
    ends
}

/// The inputs of a plan at `fraction` bits after the point. Of ranks no range is assumed, since all fit.
pub(super) fn planned(choice: &Choice, fraction: u32) -> Vec<PlannedInput> {
    let (options, ranked) = (choice.options, choice.ranks.is_some());
    let mut start = 0;
    let planned = |(input, &range): (&Input, &f64)| {
        let mut input = input.clone();
        input.name = wire::short(&input.name);
        let part = start..start + input.given_len();
        start = part.end;
        let ends = choice.ends[part].iter();
        let (limit, columns) = match ranked {
            true => (ranks::limit(options.input_range, options.ring_bits), vec![]),
            false if ends.clone().all(|&end| end == range) => (encode(range, fraction), vec![]),
            false => {
                let columns = ends.map(|&end| encode(end, fraction).max(1)).collect();
                (encode(range, fraction), columns)
            }
        };
        PlannedInput {
            input,
            limit,
            columns,
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
            InputKind::Tokens { classes } => (2.0 * value + 1.0) / classes as f32 - 1.0,
        })
    }

    /// The items that numbers stand for: the nearest that their inputs have.
    pub(super) fn given(&self, free: &[f32]) -> Vec<f32> {
        self.each(free, |kind, value, end| match kind {
            InputKind::Numbers => value,
            InputKind::Integers => value.round().clamp(-end.floor(), end.floor()),
            InputKind::Truths => f32::from(u8::from(value > 0.0)),
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
                let part = start..start + input.given_len();
                start = part.end;
                let each = part.map(|at| of(input.kind, item[at], self.ends[at] as f32));
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
        let row = Row::new(&graph, &[4.0, 4.0, 2.5, 1.0, 1.0, 1.0, 1.0, 1.0]);
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

    /// A column has room beyond its samples, one that shows nothing the range of all; of a declared range and of
    /// pictures every number has the same.
    #[test]
    fn columns_of_a_table_have_ranges_of_their_own() {
        let samples = [1e5, 0.5, 0.0, -5e4, 0.25, 0.0];
        let of = |shape: &[usize], input_range| {
            let graph = graph(shape, vec![]);
            let options = PlanOptions {
                margin: 2.0,
                input_range,
                ..PlanOptions::default()
            };
            let ranges = ranges(&graph, &options, Some(&samples)).unwrap();
            ends(&graph, &options, Some(&samples), &ranges)
        };
        assert_eq!(of(&[3], None), [2e5, 1024.0, 2e5]);
        assert_eq!(of(&[3], Some(2e5)), [2e5; 3]);
        assert_eq!(of(&[1, 3], None), [2e5; 3]);
    }
}
