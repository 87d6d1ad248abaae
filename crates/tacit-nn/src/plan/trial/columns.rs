//! Columns of an output that differ far less than others do: an error that is little beside the whole may be all of
//! one, as a rate of unemployment beside a national product.

use super::super::spread::Spread;
use crate::graph::{Output, len};

/// How much less than the whole output a column deviates that is looked at by itself.
const LESS: f64 = 64.0;
/// The most columns of an output that are looked at by themselves: those that deviate least.
const MOST: usize = 32;

/// The elements of an item whose place along one of its axes is this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Column {
    size: usize,
    inner: usize,
    at: usize,
}

impl Column {
    /// The column's elements of all items, from `values` of an output, item after item.
    pub(super) fn of(self, values: &[f32]) -> Vec<f32> {
        let Column { size, inner, at } = self;
        let runs = values.chunks(inner).skip(at).step_by(size);
        runs.flatten().copied().collect()
    }
}

/// The columns of an output, whose values of samples these are, that are looked at by themselves: along the axis whose
/// columns differ most in how much they deviate. Of what the receiver computes more from, none.
pub(super) fn small(output: &Output, values: &[f32]) -> Vec<Column> {
    let shape = &output.revealed_shape;
    let Some(whole) = Spread::of_samples(values).deviation else {
        return vec![];
    };
    if !output.tail.is_empty() {
        return vec![];
    }
    let along = |axis: usize| -> Vec<(f64, Column)> {
        let (size, inner) = (shape[axis], len(&shape[axis + 1..]));
        let columns = (0..size).map(|at| Column { size, inner, at });
        let deviation = |column: Column| {
            let deviation = Spread::of_samples(&column.of(values)).beyond_noise()?;
            (deviation * LESS < whole).then_some((deviation, column))
        };
        columns.filter_map(deviation).collect()
    };
    let least = |columns: &Vec<(f64, Column)>| {
        let deviations = columns.iter().map(|(deviation, _)| *deviation);
        deviations.fold(f64::INFINITY, f64::min)
    };
    let axes = (0..shape.len()).map(along);
    let chosen = axes.min_by(|a, b| least(a).total_cmp(&least(b)));
    let mut chosen = chosen.unwrap_or_default();
    chosen.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let chosen = chosen.into_iter().take(MOST);
    chosen.map(|(_, column)| column).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Items of three rows of two columns, of which the second deviates by a thousandth, and one by nothing.
    #[test]
    fn the_axis_of_small_columns_is_found() {
        let output = Output::whole("y", &[3, 2]);
        let of = |i: u32, small: f32| {
            let wave = (i as f32).sin();
            if i.is_multiple_of(2) {
                wave
            } else {
                5.0 + small * wave
            }
        };
        let values = |small| (0..24).map(|i| of(i, small)).collect::<Vec<f32>>();
        let second = Column {
            size: 2,
            inner: 1,
            at: 1,
        };
        assert_eq!(small(&output, &values(0.001)), [second]);
        assert_eq!(small(&output, &values(1.0)), []);
        assert_eq!(small(&output, &values(0.0)), []);
        assert_eq!(second.of(&values(1.0))[1], of(3, 1.0));
        let rows = Output::whole("y", &[2, 3]);
        let first = Column {
            size: 2,
            inner: 3,
            at: 0,
        };
        let values: Vec<f32> = (0..24)
            .map(|i: u32| {
                (i as f32).sin()
                    * if (i / 3).is_multiple_of(2) {
                        1.0
                    } else {
                        1000.0
                    }
            })
            .collect();
        assert_eq!(small(&rows, &values), [first]);
        assert_eq!(
            first.of(&values),
            [
                &values[..3],
                &values[6..9],
                &values[12..15],
                &values[18..21]
            ]
            .concat()
        );
    }
}
