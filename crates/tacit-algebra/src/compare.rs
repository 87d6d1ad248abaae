//! The linear part of a comparison of shared bits with public numbers (Falcon's private compare:
//! Algorithm 1, section 3.3; docs/spec/falcon.md, section 3).

use crate::isa::{self, simd};
use crate::prime::reduce_once;
use crate::{Ring, par};

/// Columns that the comparison works on at once.
const TILE: usize = 256;

/// The lanes of one tile, a column each.
struct Tile {
    /// Byte `b` of r and of r + 1.
    y: [[u8; TILE]; 8],
    z: [[u8; TILE]; 8],
    /// What beta and the constants add to u where z = 1, for y = 0 and y = 1.
    at_01: [u8; TILE],
    at_11: [u8; TILE],
    /// The constant and the sum of w over the rows above.
    sum: [u8; TILE],
}

impl Tile {
    #[inline(always)]
    fn new<R: Ring>(r: &[R], beta: &[u8], one: u8) -> Self {
        let rows = [[0; TILE]; 8];
        let (at_01, at_11, sum) = ([0; TILE], [0; TILE], [one; TILE]);
        let mut tile = Tile {
            y: rows,
            z: rows,
            at_01,
            at_11,
            sum,
        };
        for b in 0..R::BITS / 8 {
            let (y, z) = (&mut tile.y[b as usize], &mut tile.z[b as usize]);
            for ((y, z), r) in y.iter_mut().zip(z).zip(r) {
                *y = r.shr(8 * b).to_u64() as u8;
                *z = r.add(R::ONE).shr(8 * b).to_u64() as u8;
            }
        }
        for ((at_01, at_11), beta) in tile.at_01.iter_mut().zip(&mut tile.at_11).zip(beta) {
            *at_01 = reduce_once(R::PRIME, beta + (R::PRIME - one));
            *at_11 = reduce_once(R::PRIME, *at_01 + beta);
        }
        tile
    }

    /// Row `i` of the leaves, from the top row down.
    #[inline(always)]
    fn row<R: Ring>(&mut self, one: u8, i: usize, x: &[u8], g: &[u8], beta: &[u8], out: &mut [u8]) {
        let p = R::PRIME;
        let n = out.len();
        let (x, g, beta) = (&x[..n], &g[..n], &beta[..n]);
        let (y, z) = (&self.y[i / 8][..n], &self.z[i / 8][..n]);
        let (at_01, at_11) = (&self.at_01[..n], &self.at_11[..n]);
        let sum = &mut self.sum[..n];
        let bit = 1u8 << (i % 8);
        for j in 0..n {
            let (y, z) = (mask(y[j] & bit), mask(z[j] & bit));
            let a = reduce_once(p, x[j] + (p - reduce_once(p, 2 * g[j])));
            let of_beta = select(z, select(y, at_11[j], at_01[j]), y & beta[j]);
            let u = reduce_once(p, a + of_beta);
            let v = select(y ^ z, reduce_once(p, a + beta[j]), x[j]);
            let w = select(z, reduce_once(p, p + one - v), v);
            out[j] = reduce_once(p, u + sum[j]);
            sum[j] = reduce_once(p, sum[j] + w);
        }
    }
}

/// All ones where `bit` is not zero. Masks, not branches, keep the loops in vector registers.
#[inline(always)]
fn mask(bit: u8) -> u8 {
    u8::from(bit != 0).wrapping_neg()
}

/// `a` where `mask` is all ones, `b` where it is zero.
#[inline(always)]
fn select(mask: u8, a: u8, b: u8) -> u8 {
    a & mask | b & !mask
}

simd! {
    fn leaves_into<R: Ring>(
        out: &mut [&mut [u8]],
        x: &[u8],
        g: &[u8],
        stride: usize,
        beta: &[u8],
        r: &[R],
        constant: bool,
    ) {
        let one = constant as u8;
        let last = R::ONE.shl(out.len() as u32).sub(R::ONE);
        for s in (0..r.len()).step_by(TILE) {
            let e = r.len().min(s + TILE);
            let (r, beta) = (&r[s..e], &beta[s..e]);
            let mut tile = Tile::new(r, beta, one);
            for (i, out) in out.iter_mut().enumerate().rev() {
                let row = i * stride + s;
                tile.row::<R>(one, i, &x[row..], &g[row..], beta, &mut out[s..e]);
            }
            for ((c, r), beta) in out[0][s..e].iter_mut().zip(r).zip(beta) {
                *c = if *r == last { *beta } else { *c };
            }
        }
    }
}

/// One component of the leaves of a comparison, of which some is zero or none.
///
/// `x` and `g` hold `rows` = `m` rows of residues, row `i` at `i * stride .. i * stride + n`, for
/// `n = r.len()` comparisons: the component of bit `i` of x and of its product with `beta`.
/// `r` holds public values below `2^m`. With `y_i` bit `i` of `r`, `z_i` bit `i` of
/// `r + 1 mod 2^m` and `one` = 1 if this component carries the public constants, else 0, the
/// result has `m` rows of `n` residues,
///
/// ```text
/// u_i = x_i - 2 g_i - one z_i + beta (y_i + z_i)
/// w_i = x_i + beta (y_i - z_i) + one z_i - 2 (x_i z_i + g_i (y_i - z_i))
/// c_i = u_i + one + sum_{k > i} w_k                                        (mod p)
/// ```
///
/// but where `r = 2^m - 1`, which no x exceeds, `c_0` is `beta`.
pub fn leaves<R: Ring>(
    x: &[u8],
    g: &[u8],
    stride: usize,
    rows: usize,
    beta: &[u8],
    r: &[R],
    constant: bool,
) -> Vec<u8> {
    let (m, n) = (rows, r.len());
    assert!(0 < m && m < R::BITS as usize);
    let needed = if n == 0 { 0 } else { (m - 1) * stride + n };
    assert!(n <= stride && beta.len() == n && x.len() >= needed && g.len() >= needed);
    let isa = isa::current();
    // Room for one more row: the factor that the caller adds.
    let mut out = Vec::with_capacity((m + 1) * n);
    out.resize(m * n, 0);
    par::for_each_columns(&mut out, n, m, |s, out| {
        let e = s + out[0].len();
        leaves_into(
            isa,
            out,
            &x[s..],
            &g[s..],
            stride,
            &beta[s..e],
            &r[s..e],
            constant,
        );
    });
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::same_everywhere;
    use crate::{BitRows, Prg, vec};

    /// All x and r of 7 bits: some leaf is zero exactly where x > r (beta = 1) or x <= r
    /// (beta = 0), at r = 127 too.
    #[test]
    fn comparison_is_exhaustively_right() {
        let n = 128 * 128;
        let x: Vec<u8> = (0..n).map(|i| (i / 128) as u8).collect();
        let r: Vec<u8> = (0..n).map(|i| (i % 128) as u8).collect();
        let bits = BitRows::from_ring(&x, 7);
        let bits: Vec<u8> = (0..7).flat_map(|i| bits.row_bits(i).expand()).collect();
        for beta in [0, 1] {
            let g: Vec<u8> = bits.iter().map(|b| b * beta).collect();
            let betas = vec![beta; n];
            let leaves = same_everywhere(|| leaves(&bits, &g, n, 7, &betas, &r, true));
            for i in 0..n {
                let zero = (0..7).any(|row| leaves[row * n + i] == 0);
                assert_eq!(
                    zero,
                    (x[i] > r[i]) == (beta == 1),
                    "{} {} {beta}",
                    x[i],
                    r[i]
                );
                assert!((0..7).all(|row| leaves[row * n + i] < 11));
            }
        }
    }

    /// The formulas of the documentation, literally.
    fn definition<R: Ring>(
        [x, g]: [&[u8]; 2],
        (stride, rows): (usize, usize),
        beta: &[u8],
        r: &[R],
        one: i32,
    ) -> Vec<u8> {
        let n = r.len();
        let mut out = vec![0; rows * n];
        for j in 0..n {
            let (beta, r) = (beta[j] as i32, r[j].to_u64());
            let last = r == (1 << rows) - 1;
            let next = if last { 0 } else { r + 1 };
            let mut sum = 0;
            for i in (0..rows).rev() {
                let (x, g) = (x[i * stride + j] as i32, g[i * stride + j] as i32);
                let (y, z) = ((r >> i & 1) as i32, (next >> i & 1) as i32);
                let u = x - 2 * g - one * z + beta * (y + z);
                let w = x + beta * (y - z) + one * z - 2 * (x * z + g * (y - z));
                let c = if last && i == 0 { beta } else { u + one + sum };
                out[i * n + j] = c.rem_euclid(R::PRIME as i32) as u8;
                sum += w;
            }
        }
        out
    }

    fn formulas<R: Ring>(rows: usize) {
        for n in [0, 1, 63, 64, 65, 255, 256, 257, 1300] {
            let (mut prg, stride) = (Prg::new([3; 16]), n + 5);
            let (x, g) = (
                prg.prime(R::PRIME, stride * rows),
                prg.prime(R::PRIME, stride * rows),
            );
            let (beta, mut r) = (prg.prime(R::PRIME, n), prg.ring::<R>(n));
            r = vec::shr(&r, R::BITS - rows as u32);
            for (i, r) in r.iter_mut().enumerate().step_by(3) {
                *r = vec::low_bits(&[R::from_i64(-1 - (i % 4) as i64)], rows as u32)[0];
            }
            for constant in [false, true] {
                let leaves = same_everywhere(|| leaves(&x, &g, stride, rows, &beta, &r, constant));
                let expected = definition([&x, &g], (stride, rows), &beta, &r, constant as i32);
                assert!(leaves == expected, "{n} elements of {} bits", R::BITS);
            }
        }
    }

    #[test]
    fn leaves_are_the_formulas() {
        formulas::<u8>(7);
        formulas::<u16>(15);
        formulas::<u32>(31);
        formulas::<u64>(63);
        formulas::<u32>(12);
        formulas::<u64>(1);
    }
}
