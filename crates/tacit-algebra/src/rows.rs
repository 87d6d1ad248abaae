//! Matrices of bits: the bits of a vector of ring elements, transposed.

use std::fmt;
use std::ops::Range;

use crate::buffer::Sizes;
use crate::fresh::build;
use crate::isa::{self, simd};
use crate::words::{clean_tail, push_bits, words_for};
use crate::{Bits, Ring, par};
use zeroize::Zeroize;

/// `rows` vectors of `cols` bits; row `i` holds bit `i` of every element.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct BitRows {
    rows: usize,
    cols: usize,
    words_per_row: usize,
    data: Vec<u64>,
}

impl Zeroize for BitRows {
    /// Wipes the words and leaves no bits.
    fn zeroize(&mut self) {
        std::mem::take(self).data.zeroize();
    }
}

impl fmt::Debug for BitRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BitRows({} x {})", self.rows, self.cols)
    }
}

impl Sizes for BitRows {
    fn is_counted(&self) -> bool {
        self.data.len() < self.rows * self.words_per_row
    }
}

impl BitRows {
    /// Rows of a size alone, without bits, for parties that count.
    pub fn counted(rows: usize, cols: usize) -> Self {
        BitRows {
            rows,
            cols,
            words_per_row: words_for(cols),
            data: Vec::new(),
        }
    }

    /// Whether the rows or one of `others` have a size alone; if so, the rows have a size alone from now on.
    pub(crate) fn counts_with(&mut self, others: &[&BitRows]) -> bool {
        let counted = self.is_counted() || others.iter().any(|other| other.is_counted());
        if counted {
            *self = BitRows::counted(self.rows, self.cols);
        }
        counted
    }

    /// Rows of bits that are all zero.
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
        if rows.iter().any(|row| row.is_counted()) {
            return BitRows::counted(rows.len(), cols);
        }
        let words_per_row = words_for(cols);
        let mut data = Vec::with_capacity(rows.len() * words_per_row);
        rows.iter()
            .for_each(|row| data.extend_from_slice(row.words()));
        BitRows {
            rows: rows.len(),
            cols,
            words_per_row,
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

    /// All words, row after row; the caller keeps unused bits of a row's last one zero.
    pub fn words_mut(&mut self) -> &mut [u64] {
        &mut self.data
    }

    /// The rows of these numbers, in their order.
    pub fn pick(&self, rows: impl Iterator<Item = usize>) -> BitRows {
        if self.is_counted() {
            return BitRows::counted(rows.count(), self.cols);
        }
        let mut data = Vec::with_capacity(rows.size_hint().0 * self.words_per_row);
        let mut count = 0;
        for i in rows {
            data.extend_from_slice(self.row(i));
            count += 1;
        }
        BitRows {
            rows: count,
            data,
            ..*self
        }
    }

    /// Some neighbouring rows, and behind them some of another matrix with rows as long.
    pub(crate) fn join_rows(&self, own: Range<usize>, more: &BitRows, of: Range<usize>) -> BitRows {
        assert!(self.cols == more.cols);
        let rows = own.len() + of.len();
        if self.is_counted() || more.is_counted() {
            return BitRows::counted(rows, self.cols);
        }
        let words =
            |rows: Range<usize>| rows.start * self.words_per_row..rows.end * self.words_per_row;
        BitRows {
            rows,
            data: [&self.data[words(own)], &more.data[words(of)]].concat(),
            ..*self
        }
    }

    /// The rows of all parts, which have equal lengths, one part after the other.
    pub fn stack(parts: &[&BitRows]) -> BitRows {
        let cols = parts.first().map_or(0, |part| part.cols);
        assert!(parts.iter().all(|part| part.cols == cols));
        if parts.iter().any(|part| part.is_counted()) {
            return BitRows::counted(parts.iter().map(|part| part.rows).sum(), cols);
        }
        let data: Vec<&[u64]> = parts.iter().map(|part| part.words()).collect();
        BitRows {
            rows: parts.iter().map(|part| part.rows).sum(),
            cols,
            words_per_row: words_for(cols),
            data: data.concat(),
        }
    }

    /// A range of columns of every row; fastest where it begins at a multiple of 64.
    pub fn columns(&self, range: Range<usize>) -> BitRows {
        assert!(range.start <= range.end && range.end <= self.cols);
        let cols = range.len();
        if self.is_counted() {
            return BitRows::counted(self.rows, cols);
        }
        if !range.start.is_multiple_of(64) {
            let mut data = Vec::with_capacity(self.rows * words_for(cols));
            (0..self.rows).for_each(|i| push_bits(&mut data, 0, self.row(i), range.clone()));
            return BitRows::from_words(self.rows, cols, data);
        }
        let (first, words) = (range.start / 64, words_for(cols));
        let mut data = Vec::with_capacity(self.rows * words);
        (0..self.rows).for_each(|i| data.extend_from_slice(&self.row(i)[first..first + words]));
        BitRows::from_words(self.rows, cols, data)
    }

    /// The columns of all parts, which have as many rows, side by side; fastest where all but the last have
    /// a multiple of 64.
    pub fn beside(parts: &[&BitRows]) -> BitRows {
        let rows = parts.first().map_or(0, |part| part.rows);
        assert!(parts.iter().all(|part| part.rows == rows));
        let cols = parts.iter().map(|part| part.cols).sum();
        if parts.iter().any(|part| part.is_counted()) {
            return BitRows::counted(rows, cols);
        }
        let mut data = Vec::with_capacity(rows * words_for(cols));
        for i in 0..rows {
            let mut at = 0;
            for part in parts {
                push_bits(&mut data, at, part.row(i), 0..part.cols);
                at += part.cols;
            }
        }
        BitRows::from_words(rows, cols, data)
    }

    /// Adds rows of zeros, of which all words are returned; `all` rows there will be in the end.
    pub(crate) fn grow(&mut self, rows: usize, all: usize) -> &mut [u64] {
        let from = self.data.len();
        if from == 0 {
            self.data.reserve_exact(all * self.words_per_row);
        }
        self.rows += rows;
        self.data.resize(self.rows * self.words_per_row, 0);
        &mut self.data[from..]
    }

    /// Keeps the first rows.
    pub fn truncate(&mut self, rows: usize) {
        self.rows = self.rows.min(rows);
        self.data.truncate(self.rows * self.words_per_row);
    }

    /// `rows cols / 8` bytes, rounded up: the rows' bits one after the other.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.part_to_bytes(0..self.rows)
    }

    /// [`BitRows::to_bytes`] of some rows.
    pub fn part_to_bytes(&self, rows: Range<usize>) -> Vec<u8> {
        let words = rows.start * self.words_per_row..rows.end * self.words_per_row;
        if self.cols.is_multiple_of(64) {
            return bytemuck::cast_slice(&self.data[words]).to_vec();
        }
        let bits = self.packed(rows);
        let mut bytes = bytemuck::cast_slice(bits.words()).to_vec();
        bytes.truncate(bits.len().div_ceil(8));
        bytes
    }

    /// The bits of the rows of these numbers, one after the other.
    pub fn packed(&self, rows: impl ExactSizeIterator<Item = usize>) -> Bits {
        BitRows::packed_of(rows.map(|i| (self, i)), self.cols)
    }

    /// The bits of some rows of several matrices, whose rows are as long, one after the other.
    pub(crate) fn packed_of<'a>(
        rows: impl ExactSizeIterator<Item = (&'a BitRows, usize)>,
        cols: usize,
    ) -> Bits {
        let len = rows.len() * cols;
        let mut words = Vec::with_capacity(words_for(len));
        for (at, (of, i)) in rows.enumerate() {
            assert_eq!(of.cols, cols);
            if of.is_counted() {
                return Bits::counted(len);
            }
            push_bits(&mut words, at * cols, of.row(i), 0..cols);
        }
        Bits::from_words(len, words)
    }

    /// The inverse of [`BitRows::to_bytes`]; `None` if there are too many or too few bytes, or an
    /// unused bit is set.
    pub fn from_bytes(rows: usize, cols: usize, bytes: &[u8]) -> Option<BitRows> {
        let bits = Bits::from_bytes(rows * cols, bytes)?;
        Some(BitRows::of_bits(rows, cols, bits))
    }

    /// Row `i` by itself.
    pub fn row_bits(&self, i: usize) -> Bits {
        if self.is_counted() {
            return Bits::counted(self.cols);
        }
        Bits::from_words(self.cols, self.row(i).to_vec())
    }

    /// The rows' bits one after the other.
    pub fn to_bits(&self) -> Bits {
        let len = self.rows * self.cols;
        match (self.is_counted(), self.cols.is_multiple_of(64)) {
            (true, _) => Bits::counted(len),
            (_, true) => Bits::from_words(len, self.data.clone()),
            _ => self.packed(0..self.rows),
        }
    }

    /// [`BitRows::to_bits`], without a copy where rows have whole words.
    pub fn into_bits(self) -> Bits {
        match !self.is_counted() && self.cols.is_multiple_of(64) {
            true => Bits::from_words(self.rows * self.cols, self.data),
            false => self.to_bits(),
        }
    }

    /// The inverse of [`BitRows::into_bits`].
    ///
    /// # Panics
    /// If there are not as many bits.
    pub fn of_bits(rows: usize, cols: usize, bits: Bits) -> BitRows {
        assert_eq!(bits.len(), rows * cols);
        match (bits.is_counted(), cols.is_multiple_of(64)) {
            (true, _) => BitRows::counted(rows, cols),
            (_, true) => BitRows::from_words(rows, cols, bits.into_words()),
            _ => {
                let mut data = Vec::with_capacity(rows * words_for(cols));
                for i in 0..rows {
                    push_bits(&mut data, 0, bits.words(), i * cols..(i + 1) * cols);
                }
                BitRows::from_words(rows, cols, data)
            }
        }
    }

    /// The low `rows` bits of every element.
    pub fn from_ring<R: Ring>(a: &[R], rows: u32) -> Self {
        assert!(rows <= R::BITS);
        let isa = isa::current();
        let mut out = BitRows::zeros(rows as usize, a.len());
        par::for_each_columns(&mut out.data, out.words_per_row, 64, |w, part| {
            let a = &a[64 * w..];
            // As elements of a ring that holds no more than those bits.
            match rows {
                0..=8 => from_ring_into::<R, u8>(isa, part, a),
                9..=16 => from_ring_into::<R, u16>(isa, part, a),
                17..=32 => from_ring_into::<R, u32>(isa, part, a),
                _ => from_ring_into::<R, R>(isa, part, a),
            }
        });
        out
    }

    /// The inverse of [`BitRows::from_ring`]: elements from their bits, missing ones zero.
    pub fn to_ring<R: Ring>(&self) -> Vec<R> {
        assert!(self.rows <= R::BITS as usize);
        let isa = isa::current();
        build(self.cols, |s, out| to_ring_into(isa, out, self, s / 64))
    }
}

/// Words of a row that are transposed together, a lane each.
pub(crate) const LANES: usize = 32;

/// `R::BITS` words of `LANES` lanes. Word `i` of a lane holds elements `i`, `i + BITS`, ... of
/// its 64, side by side; transposed, it holds bit `i` of all of them.
pub(crate) type Square = [u64; 64 * LANES];

/// Swaps words and bits of every lane: exchanges ever smaller off-diagonal blocks. The words
/// are the vectors' lanes, so nothing is shuffled within a vector.
#[inline(always)]
pub(crate) fn transpose<R: Ring>(square: &mut Square) {
    let mut block = R::BITS as usize / 2;
    let mut mask = u64::MAX / ((1 << block) + 1);
    while block > 0 {
        let words = &mut square[..R::BITS as usize * LANES];
        for words in words.chunks_exact_mut(2 * block * LANES) {
            let (upper, lower) = words.split_at_mut(block * LANES);
            for (upper, lower) in upper.iter_mut().zip(lower) {
                let swap = ((*upper >> block) ^ *lower) & mask;
                *lower ^= swap;
                *upper ^= swap << block;
            }
        }
        block /= 2;
        mask ^= mask << block;
    }
}

simd! {
    /// The low bits of elements, no more than those of `S`.
    fn from_ring_into<R: Ring, S: Ring>(rows: &mut [&mut [u64]], a: &[R]) {
        let bits = S::BITS as usize;
        let words = rows.first().map_or(0, |row| row.len());
        let mut square: Square = [0; 64 * LANES];
        for w in (0..words).step_by(LANES) {
            let lanes = LANES.min(words - w);
            for lane in 0..lanes {
                let from = 64 * (w + lane);
                let mut elements = [0; 64];
                let both = elements.iter_mut().zip(&a[from..]);
                both.for_each(|(to, a)| *to = S::from_u64(a.to_u64()).to_u64());
                let mut side_by_side = [0; 64];
                for (q, elements) in elements.chunks_exact(bits).enumerate() {
                    let both = side_by_side.iter_mut().zip(elements);
                    both.for_each(|(to, element)| *to |= element << (q * bits));
                }
                for (i, word) in side_by_side[..bits].iter().enumerate() {
                    square[i * LANES + lane] = *word;
                }
            }
            transpose::<S>(&mut square);
            for (i, row) in rows.iter_mut().enumerate() {
                row[w..w + lanes].copy_from_slice(&square[i * LANES..][..lanes]);
            }
        }
    }

    fn to_ring_into<R: Ring>(out: &mut [R], rows: &BitRows, first: usize) {
        let bits = R::BITS as usize;
        for (group, out) in out.chunks_mut(64 * LANES).enumerate() {
            let w = first + group * LANES;
            let lanes = LANES.min(rows.words_per_row - w);
            let mut square: Square = [0; 64 * LANES];
            for i in 0..rows.rows {
                square[i * LANES..][..lanes].copy_from_slice(&rows.row(i)[w..w + lanes]);
            }
            transpose::<R>(&mut square);
            for (lane, out) in out.chunks_mut(64).enumerate() {
                let mut elements = [R::ZERO; 64];
                for i in 0..bits {
                    for q in (0..64).step_by(bits) {
                        elements[i + q] = R::from_u64(square[i * LANES + lane] >> q);
                    }
                }
                out.copy_from_slice(&elements[..out.len()]);
            }
        }
    }
}

#[cfg(test)]
mod tests;
