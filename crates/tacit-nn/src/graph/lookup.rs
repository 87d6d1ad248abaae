//! Rows of a table by secret numbers.

use super::Weights;

/// The row of a table for each of several tokens, which stand one behind the other in an item's row
/// of inputs.
#[derive(Clone, PartialEq)]
pub struct Lookup {
    /// Which input has the tokens.
    pub input: usize,
    /// Where the tokens begin among the numbers that are given.
    pub start: usize,
    /// How many tokens an item has.
    pub tokens: usize,
    /// Rows of the table.
    pub classes: usize,
    /// Columns of the table.
    pub n: usize,
    /// `classes` x `n`, row-major.
    pub table: Weights,
}

impl Lookup {
    /// The row of the table that a number of value 0 means; `None` if it has no such row.
    pub(crate) fn row(&self, token: f32) -> Option<&[f32]> {
        let row = token.round();
        let known = row >= 0.0 && row < self.classes as f32;
        known.then(|| &self.table[row as usize * self.n..][..self.n])
    }
}
