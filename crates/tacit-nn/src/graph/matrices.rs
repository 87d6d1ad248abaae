//! Shapes of products of computed matrices.

use serde::{Deserialize, Serialize};

/// Products of two computed values, each of `batch` matrices one after the other: of `m` x `k` by `k` x `n`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Matrices {
    /// Products of one item.
    pub batch: usize,
    /// Rows of the left matrices.
    pub m: usize,
    /// Columns of the left, rows of the right matrices.
    pub k: usize,
    /// Columns of the right matrices.
    pub n: usize,
}

impl Matrices {
    /// Elements of the left value.
    pub fn left(&self) -> usize {
        self.batch * self.m * self.k
    }

    /// Elements of the right value.
    pub fn right(&self) -> usize {
        self.batch * self.k * self.n
    }

    /// Elements of the result.
    pub fn outputs(&self) -> usize {
        self.batch * self.m * self.n
    }
}
