//! The functions that end a model, which whoever has the answer computes in the clear.

use serde::{Deserialize, Serialize};

/// What the receiver of the result computes in the clear. An item is `outer` x `size` x `inner`
/// and the operation runs along `size`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tail {
    /// The function that the receiver computes along `size`.
    pub function: TailFunction,
    /// The product of the axes before the one that the operation runs along.
    pub outer: usize,
    /// The length of the axis that the operation runs along.
    pub size: usize,
    /// The product of the axes after the one that the operation runs along.
    pub inner: usize,
}

/// The functions of a [`Tail`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TailFunction {
    /// Softmax along the axis.
    Softmax,
    /// The logarithm of softmax along the axis.
    LogSoftmax,
    /// The index of the largest element (the first of equals).
    ArgMax,
    /// The index of the largest element (the last of equals).
    ArgMaxLast,
    /// `1 / (1 + exp(-x))` of every element.
    Sigmoid,
    /// Every element over the sum of magnitudes along the axis, where that is not 0.
    UnitSum,
}

impl TailFunction {
    /// Whether this function gives the places of largest elements.
    pub fn is_arg_max(self) -> bool {
        matches!(self, TailFunction::ArgMax | TailFunction::ArgMaxLast)
    }
}

impl Tail {
    /// Numbers of an item after this, if it fits an item of `len` before.
    pub fn after(&self, len: usize) -> Option<usize> {
        let lines = self.outer.checked_mul(self.inner)?;
        let fits = lines.checked_mul(self.size)? == len && self.size > 0;
        fits.then_some(lines * self.out_size())
    }

    /// Elements along the axis afterwards.
    fn out_size(&self) -> usize {
        match self.function.is_arg_max() {
            true => 1,
            false => self.size,
        }
    }
}

/// Runs the functions one after the other over a batch of items.
pub fn apply(tail: &[Tail], values: &mut Vec<f32>) {
    for step in tail {
        *values = run(step, values);
    }
}

fn run(step: &Tail, values: &[f32]) -> Vec<f32> {
    let out_size = step.out_size();
    let mut out = vec![0.0; values.len() / step.size * out_size];
    for line in 0..values.len() / step.size {
        let (block, offset) = (line / step.inner, line % step.inner);
        let lane: Vec<f32> = (0..step.size)
            .map(|i| values[(block * step.size + i) * step.inner + offset])
            .collect();
        for (i, v) in along(step.function, &lane).into_iter().enumerate() {
            out[(block * out_size + i) * step.inner + offset] = v;
        }
    }
    out
}

/// A function along a line, in float64: the last of 20,000 float32 numbers that are added up one by one may lose its
/// last 14 bits.
fn along(function: TailFunction, lane: &[f32]) -> Vec<f32> {
    let max = lane.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let wide = || lane.iter().map(|&v| f64::from(v));
    let exp = |v: f64| (v - f64::from(max)).exp();
    let sum = || wide().map(exp).sum::<f64>();
    let each = |of: &dyn Fn(f64) -> f64| wide().map(|v| of(v) as f32).collect();
    match function {
        TailFunction::ArgMax => vec![lane.iter().position(|&v| v == max).unwrap_or(0) as f32],
        TailFunction::ArgMaxLast => vec![lane.iter().rposition(|&v| v == max).unwrap_or(0) as f32],
        TailFunction::LogSoftmax => {
            let log = sum().ln();
            each(&|v| v - f64::from(max) - log)
        }
        TailFunction::Sigmoid => each(&|v| 1.0 / (1.0 + (-v).exp())),
        TailFunction::UnitSum => {
            let sum = wide().map(f64::abs).sum::<f64>();
            let divisor = if sum == 0.0 { 1.0 } else { sum };
            each(&|v| v / divisor)
        }
        TailFunction::Softmax => {
            let sum = sum();
            each(&|v| exp(v) / sum)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tail(function: TailFunction, outer: usize, size: usize, inner: usize) -> Tail {
        Tail {
            function,
            outer,
            size,
            inner,
        }
    }

    #[test]
    fn by_hand() {
        let mut values = vec![1.0, 4.0, 3.0, 4.0, 0.0, 0.0];
        apply(&[tail(TailFunction::ArgMax, 1, 3, 1)], &mut values);
        assert_eq!(values, [1.0, 0.0]);
        let mut values = vec![1.0, 4.0, 1.0, 4.0];
        apply(&[tail(TailFunction::ArgMaxLast, 1, 2, 2)], &mut values);
        assert_eq!(values, [1.0, 1.0]);
        let mut values = vec![1.0, -3.0, 0.0, 0.0];
        apply(&[tail(TailFunction::UnitSum, 2, 2, 1)], &mut values);
        assert_eq!(values, [0.25, -0.75, 0.0, 0.0]);
        let mut values = vec![1000.0, 1000.0 + 3f32.ln()];
        apply(&[tail(TailFunction::Softmax, 1, 2, 1)], &mut values);
        assert!((values[1] - 0.75).abs() < 1e-4, "{values:?}");
    }

    /// The probabilities of 20,000 classes add up to 1, as those of float32 sums do not, and each has its logarithm.
    #[test]
    fn probabilities_of_many_classes_add_up() {
        let classes = 20_000;
        let mut scores = vec![2.7; classes];
        scores[0] = 10.0;
        let mut values = scores.clone();
        apply(&[tail(TailFunction::Softmax, 1, classes, 1)], &mut values);
        let sum: f64 = values.iter().map(|&v| f64::from(v)).sum();
        assert!((sum - 1.0).abs() < 1e-6, "{sum}");
        apply(
            &[tail(TailFunction::LogSoftmax, 1, classes, 1)],
            &mut scores,
        );
        let apart = f64::from(scores[7]) - f64::from(values[7]).ln();
        assert!(apart.abs() < 1e-6, "{apart}");
    }
}
