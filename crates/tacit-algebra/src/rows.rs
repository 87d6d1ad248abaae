//! Matrices of bits: the bits of a vector of ring elements, transposed.

use std::fmt;

use crate::bits::{clean_tail, words_for};
use crate::{Bits, Ring};

/// `rows` vectors of `cols` bits; row `i` holds bit `i` of every element.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct BitRows {
    rows: usize,
    cols: usize,
    words_per_row: usize,
    data: Vec<u64>,
}

impl fmt::Debug for BitRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BitRows({} x {})", self.rows, self.cols)
    }
}

impl BitRows {
    /// All zero.
    pub fn zeros(rows: usize, cols: usize) -> Self {
        let words_per_row = words_for(cols);
        BitRows {
            rows,
            cols,
            words_per_row,
            data: vec![0; rows * words_per_row],
        }
    }

    /// Row after row, each in as many words as `cols` bits need; unused bits are cleared.
    ///
    /// # Panics
    /// If the number of words is not that of the shape.
    pub fn from_words(rows: usize, cols: usize, mut data: Vec<u64>) -> Self {
        let words_per_row = words_for(cols);
        assert_eq!(data.len(), rows * words_per_row);
        if words_per_row > 0 {
            data.chunks_exact_mut(words_per_row)
                .for_each(|row| clean_tail(cols, row));
        }
        BitRows {
            rows,
            cols,
            words_per_row,
            data,
        }
    }

    /// One row for each of `rows`, which have equal lengths.
    pub fn from_rows(rows: &[Bits]) -> Self {
        let cols = rows.first().map_or(0, Bits::len);
        assert!(rows.iter().all(|row| row.len() == cols));
        let data = rows.iter().flat_map(|row| row.words()).copied().collect();
        BitRows {
            rows: rows.len(),
            cols,
            words_per_row: words_for(cols),
            data,
        }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The bits of a row.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// The words of a row.
    pub fn words_per_row(&self) -> usize {
        self.words_per_row
    }

    /// All words, row after row.
    pub fn words(&self) -> &[u64] {
        &self.data
    }

    /// The words of row `i`.
    pub fn row(&self, i: usize) -> &[u64] {
        assert!(i < self.rows);
        &self.data[i * self.words_per_row..][..self.words_per_row]
    }

    /// The words of row `i`; the caller keeps unused bits of the last one zero.
    pub fn row_mut(&mut self, i: usize) -> &mut [u64] {
        assert!(i < self.rows);
        &mut self.data[i * self.words_per_row..][..self.words_per_row]
    }

    /// Row `i` by itself.
    pub fn row_bits(&self, i: usize) -> Bits {
        Bits::from_words(self.cols, self.row(i).to_vec())
    }

    /// The low `rows` bits of every element.
    pub fn from_ring<R: Ring>(a: &[R], rows: u32) -> Self {
        assert!(rows <= R::BITS);
        let mut out = BitRows::zeros(rows as usize, a.len());
        for (j, a) in a.iter().enumerate() {
            for i in 0..rows as usize {
                out.data[i * out.words_per_row + j / 64] |= (a.to_u64() >> i & 1) << (j % 64);
            }
        }
        out
    }

    /// The inverse of [`BitRows::from_ring`]: elements from their bits, missing ones zero.
    pub fn to_ring<R: Ring>(&self) -> Vec<R> {
        assert!(self.rows <= R::BITS as usize);
        (0..self.cols)
            .map(|j| {
                let bit = |i: usize| (self.row(i)[j / 64] >> (j % 64) & 1) << i;
                R::from_u64((0..self.rows).map(bit).sum())
            })
            .collect()
    }
}
