//! The functions that end a model, which whoever has the answer computes in the clear. They are those of
//! `tacit_nn`'s `tail.rs`.

use serde::Deserialize;

/// One function. An item is `outer` x `size` x `inner`, and it runs along `size`.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Tail {
    function: Function,
    outer: usize,
    size: usize,
    inner: usize,
}

/// A function that is not one of these is refused where the description is read.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
enum Function {
    Softmax,
    LogSoftmax,
    ArgMax,
    ArgMaxLast,
    Sigmoid,
    UnitSum,
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
        match self.function {
            Function::ArgMax | Function::ArgMaxLast => 1,
            _ => self.size,
        }
    }

    /// One item's numbers afterwards.
    fn run(&self, values: &[f32]) -> Vec<f32> {
        let out_size = self.out_size();
        let mut out = vec![0.0; self.outer * out_size * self.inner];
        for line in 0..self.outer * self.inner {
            let (block, offset) = (line / self.inner, line % self.inner);
            let lane: Vec<f32> = (0..self.size)
                .map(|i| values[(block * self.size + i) * self.inner + offset])
                .collect();
            for (i, v) in self.function.along(&lane).into_iter().enumerate() {
                out[(block * out_size + i) * self.inner + offset] = v;
            }
        }
        out
    }
}

impl Function {
    fn along(self, lane: &[f32]) -> Vec<f32> {
        let max = lane.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let sum = || lane.iter().map(|v| (v - max).exp()).sum::<f32>();
        match self {
            Function::ArgMax => vec![lane.iter().position(|&v| v == max).unwrap_or(0) as f32],
            Function::ArgMaxLast => vec![lane.iter().rposition(|&v| v == max).unwrap_or(0) as f32],
            Function::LogSoftmax => {
                let log = sum().ln();
                lane.iter().map(|v| v - max - log).collect()
            }
            Function::Sigmoid => lane.iter().map(|v| 1.0 / (1.0 + (-v).exp())).collect(),
            Function::UnitSum => {
                let sum = lane.iter().map(|v| v.abs()).sum::<f32>();
                let divisor = if sum == 0.0 { 1.0 } else { sum };
                lane.iter().map(|v| v / divisor).collect()
            }
            Function::Softmax => {
                let sum = sum();
                lane.iter().map(|v| (v - max).exp() / sum).collect()
            }
        }
    }
}

/// Runs the functions one after the other over an item that they fit.
pub fn apply(tail: &[Tail], item: Vec<f32>) -> Vec<f32> {
    tail.iter().fold(item, |values, step| step.run(&values))
}
