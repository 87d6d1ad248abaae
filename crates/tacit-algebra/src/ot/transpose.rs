//! Columns of 128 rows of bits as blocks.

use crate::isa::simd;
use crate::rows::{LANES, Square, transpose};

/// Rows of a square.
pub(crate) const ROWS: usize = 128;

simd! {
    /// Bit `r` of `out[c]` is bit `c` of row `r`. Row `r` starts at word `r stride`.
    pub(crate) fn columns(out: &mut [u128], rows: &[u64], stride: usize) {
        let out: &mut [[u64; 2]] = bytemuck::cast_slice_mut(out);
        let mut square: Square = [0; 64 * LANES];
        for (out, first) in out.chunks_mut(64 * LANES).zip((0..).step_by(LANES)) {
            let lanes = out.len().div_ceil(64);
            for half in 0..2 {
                for i in 0..64 {
                    let row = &rows[(64 * half + i) * stride + first..][..lanes];
                    square[i * LANES..][..lanes].copy_from_slice(row);
                }
                transpose::<u64>(&mut square);
                for (lane, out) in out.chunks_mut(64).enumerate() {
                    for (i, out) in out.iter_mut().enumerate() {
                        out[half] = square[i * LANES + lane];
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Prg;
    use crate::isa::{self, same_everywhere};

    #[test]
    fn columns_are_blocks() {
        for (n, stride) in [
            (0, 1),
            (1, 1),
            (64, 1),
            (65, 3),
            (128, 2),
            (2048, 40),
            (5000, 80),
        ] {
            let rows: Vec<u64> = Prg::new([1; 16]).ring(ROWS * stride);
            let out = same_everywhere(|| {
                let mut out = vec![0; n];
                columns(isa::current(), &mut out, &rows, stride);
                out
            });
            for (c, block) in out.iter().enumerate() {
                for r in 0..ROWS {
                    let bit = rows[r * stride + c / 64] >> (c % 64) & 1;
                    assert_eq!((block >> r) as u64 & 1, bit, "row {r}, column {c} of {n}");
                }
            }
        }
    }
}
