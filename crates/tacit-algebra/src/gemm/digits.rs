//! Matrix products by bytes, for processors that multiply tiles of bytes (AMX).
//!
//! With `x = sum_i x_i 2^(8 i)`, the `x_i` unsigned bytes, a product modulo `2^(8 D)` is
//! `sum_s 2^(8 s) sum_(i + j = s) x_i y_j` for `s < D`: ten products of bytes for 32 bits, 36 for 64.
//! Operands are packed digit by digit into tiles; a tile of results has a sum of 32 bits for every `s`.

use std::marker::PhantomData;
use std::ops::Range;

use bytemuck::{Pod, Zeroable};

use super::{Block, Columns, Output, Packed, Panels};
use crate::Ring;
use crate::isa::{Isa, simd};
use crate::kernel::Kernels;

/// Rows and columns of a tile of results.
pub const SIDE: usize = 16;
/// Steps of the inner dimension in a tile of an operand.
pub const STEP: usize = 64;
/// Sums that are kept in registers at once.
pub const SUMS: usize = 4;
/// Tiles of the left operand that are kept in registers at once.
pub const SLOTS: usize = 3;
/// Digits of the widest elements.
const MOST_DIGITS: usize = 8;
/// Steps of the inner dimension between two visits of a tile of results.
const DEPTH: usize = 256;
/// The largest sum of products of bytes fits 32 bits; of narrower elements sums may wrap.
const _: () = assert!(MOST_DIGITS * 255 * 255 * DEPTH <= u32::MAX as usize);

/// One digit of an operand: of the left `SIDE` rows of `STEP` bytes, of the right for every four steps the
/// four bytes of each of `SIDE` columns.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub struct Tile(pub [u8; SIDE * STEP]);

// SAFETY: an array of bytes, of which every content is valid; 64 divides its size, so nothing is padded.
unsafe impl Zeroable for Tile {}
// SAFETY: as above.
unsafe impl Pod for Tile {}

/// Results of a tile, row by row.
pub type Sums = [u32; SIDE * SIDE];

/// Registers that hold tiles: `SUMS` of results, `SLOTS` of the left operand and one of the right.
pub trait Tiles {
    /// Transposes squares of bytes, lane by lane: of as many rows one after the other as an element has bytes,
    /// byte `i` of row `j` becomes byte `j` of row `i`. A row has a multiple of 64 bytes if an element has four
    /// or eight.
    #[inline(always)]
    fn transpose<R: Ring>(rows: &mut [R]) {
        transpose(rows);
    }

    /// Registers for tiles of `SIDE` rows.
    fn new() -> Self;
    /// Sets how many rows the left operand and the results have from here on. The content of all registers is lost.
    fn set_rows(&mut self, rows: usize);
    /// Makes the results in register `sum` zero.
    fn clear(&mut self, sum: usize);
    /// Loads a tile of the left operand.
    fn left<const SLOT: usize>(&mut self, tile: &Tile);
    /// Loads the tile of the right operand.
    fn right(&mut self, tile: &Tile);
    /// Adds to results the product of a left tile and the right one, modulo `2^32`.
    fn multiply<const SUM: usize, const SLOT: usize>(&mut self);
    /// Writes the rows of results.
    fn store(&mut self, sum: usize, out: &mut Sums);
}

/// Blocks of products over a ring by tiles of bytes.
pub struct Digits<R, T>(PhantomData<(R, T)>);

impl<R: Ring, T: Tiles> Block<R> for Digits<R, T> {
    fn run<B: Columns<R>>(
        isa: Isa,
        out: &Output<'_, R>,
        a: &[R],
        b: &B,
        k: usize,
        (rows, cols): (Range<usize>, Range<usize>),
    ) {
        if rows.len() < LEAST_ROWS || k < LEAST_DEPTH {
            return Packed::<<R as Kernels>::Avx512>::run(isa, out, a, b, k, (rows, cols));
        }
        block::<R, T, B>(isa, out, a, b, k, rows, cols);
    }
}

/// Rows of the left operand below which words are faster: the right one is packed for few products.
const LEAST_ROWS: usize = 16;
/// Inner dimensions below which words are faster: most of a step is zeros.
const LEAST_DEPTH: usize = 32;

/// The rows and columns of one task, from panels of tiles.
fn block<R: Ring, T: Tiles, B: Columns<R>>(
    isa: Isa,
    out: &Output<'_, R>,
    a: &[R],
    b: &B,
    k: usize,
    rows: Range<usize>,
    cols: Range<usize>,
) {
    let digits = size_of::<R>();
    let panel = k.min(DEPTH).div_ceil(STEP) * digits;
    let (lefts, rights) = (rows.len().div_ceil(SIDE), cols.len().div_ceil(SIDE));
    let mut panels = Panels::take();
    let (left, right) = panels
        .words::<Tile>((lefts + rights) * panel)
        .split_at_mut(lefts * panel);
    let mut tiles = T::new();
    let mut sums = [[0; SIDE * SIDE]; MOST_DIGITS];
    for from in (0..k).step_by(DEPTH) {
        let depth = from..k.min(from + DEPTH);
        let panel = depth.len().div_ceil(STEP) * digits;
        for (i, left) in rows.clone().step_by(SIDE).zip(left.chunks_mut(panel)) {
            let rows = SIDE.min(rows.end - i);
            pack_left::<R, T>(isa, &a[i * k..], k, rows, depth.clone(), left);
        }
        for (j, right) in cols.clone().step_by(SIDE).zip(right.chunks_mut(panel)) {
            let cols = j..cols.end.min(j + SIDE);
            pack_right::<R, T, B>(isa, b, cols, depth.clone(), right);
        }
        for (j, right) in cols.clone().step_by(SIDE).zip(right.chunks(panel)) {
            for (i, left) in rows.clone().step_by(SIDE).zip(left.chunks(panel)) {
                let size = (SIDE.min(rows.end - i), SIDE.min(cols.end - j));
                tiles.set_rows(size.0);
                multiply(&mut tiles, left, right, &mut sums[..digits]);
                add_sums(isa, out, (i, j), size, &sums);
            }
        }
    }
}

/// The sums of the products of two panels, by the weight of their digits.
fn multiply<T: Tiles>(tiles: &mut T, left: &[Tile], right: &[Tile], sums: &mut [Sums]) {
    match sums.len() {
        1 => multiply_digits::<T, 1>(tiles, left, right, sums),
        2 => multiply_digits::<T, 2>(tiles, left, right, sums),
        4 => multiply_digits::<T, 4>(tiles, left, right, sums),
        digits => {
            assert_eq!(digits, MOST_DIGITS);
            multiply_digits::<T, MOST_DIGITS>(tiles, left, right, sums);
        }
    }
}

/// Adds to the sums `$from` to `$from + 3` the products of a step's digits. The right tile `j` meets the left
/// tiles `s - j`: from one `j` to the next they move on by one, so that three slots keep all but one of them.
macro_rules! add_step {
    ($from:literal, $tiles:ident, $left:ident, $right:ident) => {
        add_step!(@rights $from, $tiles, $left, $right, 0 1 2 3 4 5 6 7)
    };
    (@rights $from:literal, $tiles:ident, $left:ident, $right:ident, $($j:literal)+) => {$(
        if $j < D && $j < $from + SUMS {
            $tiles.right(&$right[$j]);
        }
        add_step!(@product $from, $tiles, $left, $j, 3);
        add_step!(@product $from, $tiles, $left, $j, 2);
        add_step!(@product $from, $tiles, $left, $j, 1);
        add_step!(@product $from, $tiles, $left, $j, 0);
    )+};
    (@product $from:literal, $tiles:ident, $left:ident, $j:literal, $sum:literal) => {
        if $from + $sum < D && $j <= $from + $sum {
            const I: usize = ($from + $sum as usize).saturating_sub($j);
            if $j == 0 || $sum == 0 {
                $tiles.left::<{ I % SLOTS }>(&$left[I]);
            }
            $tiles.multiply::<$sum, { I % SLOTS }>();
        }
    };
}

/// [`multiply`] for elements of `D` digits.
fn multiply_digits<T: Tiles, const D: usize>(
    tiles: &mut T,
    left: &[Tile],
    right: &[Tile],
    sums: &mut [Sums],
) {
    let (left, right) = (left.as_chunks::<D>().0, right.as_chunks::<D>().0);
    for (from, sums) in (0..D).step_by(SUMS).zip(sums.chunks_mut(SUMS)) {
        (0..sums.len()).for_each(|sum| tiles.clear(sum));
        for (left, right) in left.iter().zip(right) {
            if from == 0 {
                add_step!(0, tiles, left, right);
            } else {
                add_step!(4, tiles, left, right);
            }
        }
        for (sum, out) in sums.iter_mut().enumerate() {
            tiles.store(sum, out);
        }
    }
}

simd! {
/// Adds the elements of sums, `sum_s 2^(8 s) sums[s]`, to a tile of results.
fn add_sums<R: Ring>(
    out: &Output<'_, R>,
    at: (usize, usize),
    size: (usize, usize),
    sums: &[Sums; MOST_DIGITS],
) {
    let digits = size_of::<R>();
    let mut tile = [R::ZERO; SIDE * SIDE];
    for (at, out) in tile.iter_mut().enumerate() {
        for (s, sums) in sums[..digits.min(SUMS)].iter().enumerate() {
            *out = out.add(R::from_u64(u64::from(sums[at])).shl(8 * s as u32));
        }
        if digits > SUMS {
            // Of these the low 32 bits alone count.
            let high = |s: usize| sums[SUMS + s][at] << (8 * s);
            let high = (0..SUMS).map(high).fold(0, u32::wrapping_add);
            *out = out.add(R::from_u64(u64::from(high)).shl(8 * SUMS as u32));
        }
    }
    // SAFETY: tasks have disjoint rows and columns.
    unsafe { out.add(at, size, &tile, SIDE) };
}

/// Packs up to `SIDE` rows of `a`, whose rows have `k` elements, as tiles: for every `STEP` elements a tile
/// for each digit. What is missing in the last step is zero.
///
/// Elements `l, l + L, l + 2 L, ...` of a step, with `L = STEP / digits`, lie beside one another in a tile;
/// [`pack_right`] orders the rows likewise.
fn pack_left<R: Ring, T: Tiles>(a: &[R], k: usize, rows: usize, depth: Range<usize>, out: &mut [Tile]) {
    let digits = size_of::<R>();
    for row in 0..rows {
        let elements = a[row * k..][depth.clone()].chunks(STEP);
        for (elements, out) in elements.zip(out.chunks_exact_mut(digits)) {
            let mut step = [R::ZERO; STEP];
            match elements.first_chunk() {
                // A length that the compiler knows.
                Some(all) => step = *all,
                None => step[..elements.len()].copy_from_slice(elements),
            }
            T::transpose(&mut step);
            let bytes = bytemuck::cast_slice::<R, u8>(&step);
            for (tile, bytes) in out.iter_mut().zip(bytes.chunks_exact(STEP)) {
                tile.0[row * STEP..][..STEP].copy_from_slice(bytes);
            }
        }
    }
}

/// Packs up to `SIDE` columns of `b` as tiles: for every `STEP` rows a tile for each digit. What is missing
/// is zero.
fn pack_right<R: Ring, T: Tiles, B: Columns<R>>(
    b: &B,
    cols: Range<usize>,
    depth: Range<usize>,
    out: &mut [Tile],
) {
    let digits = size_of::<R>();
    let (len, cursor, lanes) = (cols.len(), b.cursor(cols), STEP / digits);
    let steps = depth.clone().step_by(STEP);
    for (from, out) in steps.zip(out.chunks_exact_mut(digits)) {
        for lane in 0..lanes {
            let mut rows = [R::ZERO; MOST_DIGITS * SIDE];
            let rows = &mut rows[..digits * SIDE];
            let of_lane = (from + lane..depth.end).step_by(lanes);
            for (k, row) in of_lane.zip(rows.chunks_exact_mut(SIDE)).take(digits) {
                match len {
                    // As above.
                    SIDE => b.read(&cursor, k, &mut row[..SIDE]),
                    len => b.read(&cursor, k, &mut row[..len]),
                }
            }
            T::transpose(rows);
            for (tile, row) in out.iter_mut().zip(rows.chunks_exact(SIDE)) {
                spread(row, lane, tile);
            }
        }
    }
}
}

/// Writes one digit of a lane's rows, of each of `SIDE` columns, where a right tile has it.
#[inline(always)]
fn spread<R: Ring>(row: &[R], lane: usize, tile: &mut Tile) {
    let digits = size_of::<R>();
    if digits < 4 {
        let bytes = bytemuck::cast_slice::<R, u8>(row).chunks_exact(digits);
        for (col, bytes) in bytes.enumerate() {
            let at = lane * digits;
            tile.0[(at / 4 * SIDE + col) * 4 + at % 4..][..digits].copy_from_slice(bytes);
        }
        return;
    }
    let words = bytemuck::cast_slice_mut::<u8, u32>(&mut tile.0).chunks_exact_mut(SIDE);
    for (four, words) in words.skip(lane * digits / 4).take(digits / 4).enumerate() {
        for (word, element) in words.iter_mut().zip(row) {
            *word = element.shr(32 * four as u32).to_u64() as u32;
        }
    }
}

/// [`Tiles::transpose`] on every processor.
#[inline(always)]
fn transpose<R: Ring>(rows: &mut [R]) {
    let (lanes, mut half) = (rows.len() / size_of::<R>(), size_of::<R>() / 2);
    while half > 0 {
        // Of every `2 half` bytes the lower ones.
        let low = R::from_u64(match half {
            4 => 0x0000_0000_ffff_ffff,
            2 => 0x0000_ffff_0000_ffff,
            _ => 0x00ff_00ff_00ff_00ff,
        });
        let (high, shift) = (low.shl(8 * half as u32), 8 * half as u32);
        for pair in rows.chunks_exact_mut(2 * half * lanes) {
            let (upper, lower) = pair.split_at_mut(half * lanes);
            for (x, y) in upper.iter_mut().zip(lower) {
                let (a, b) = (*x, *y);
                *x = a.and(low).or(b.and(low).shl(shift));
                *y = a.and(high).shr(shift).or(b.and(high));
            }
        }
        half /= 2;
    }
}

#[cfg(test)]
mod tests;
