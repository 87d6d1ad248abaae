//! What the receiver of the result computes in the clear.

use crate::graph::{Tail, TailFunction};

/// Runs the functions one after the other over a batch of items.
pub(crate) fn apply(tail: &[Tail], values: &mut Vec<f32>) {
    for step in tail {
        *values = run(step, values);
    }
}

fn run(step: &Tail, values: &[f32]) -> Vec<f32> {
    let arg_max = matches!(
        step.function,
        TailFunction::ArgMax | TailFunction::ArgMaxLast
    );
    let out_size = if arg_max { 1 } else { step.size };
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

fn along(function: TailFunction, lane: &[f32]) -> Vec<f32> {
    let max = lane.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum = || lane.iter().map(|v| (v - max).exp()).sum::<f32>();
    match function {
        TailFunction::ArgMax => vec![lane.iter().position(|&v| v == max).unwrap_or(0) as f32],
        TailFunction::ArgMaxLast => vec![lane.iter().rposition(|&v| v == max).unwrap_or(0) as f32],
        TailFunction::LogSoftmax => {
            let log = sum().ln();
            lane.iter().map(|v| v - max - log).collect()
        }
        TailFunction::Sigmoid => lane.iter().map(|v| 1.0 / (1.0 + (-v).exp())).collect(),
        TailFunction::Softmax => {
            let sum = sum();
            lane.iter().map(|v| (v - max).exp() / sum).collect()
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
        let mut values = vec![1000.0, 1000.0 + 3f32.ln()];
        apply(&[tail(TailFunction::Softmax, 1, 2, 1)], &mut values);
        assert!((values[1] - 0.75).abs() < 1e-4, "{values:?}");
    }
}
