//! Sums over packed bits by products of matrices of 8 x 8 bits (GFNI).
//!
//! A word holds a byte of each of 8 blocks: 8 columns of every block. A matrix takes those 8 columns to
//! 8 of the 64 coefficients of an element, at once for all 8 blocks of a word and for 8 words.

use std::arch::x86_64::*;

use super::Binary;
use super::x86::{load, store};
use crate::isa::Isa;

/// Words of a vector.
const LANES: usize = 8;
/// Words that are taken at a time: two vectors.
pub type Step = [[u64; LANES]; 2];
/// Coefficients of an element by bytes.
const BYTES: usize = 8;

pub fn available(isa: Isa) -> bool {
    isa == Isa::Avx512 && is_x86_feature_detected!("gfni")
}

/// The words, and zeros to the end of a step.
pub fn steps(x: &[u64]) -> Vec<Step> {
    let mut steps = vec![[[0; LANES]; 2]; x.len().div_ceil(2 * LANES)];
    steps.as_flattened_mut().as_flattened_mut()[..x.len()].copy_from_slice(x);
    steps
}

/// Matrices that take 8 columns each to their sum times points: for every step those of each byte of the
/// coefficients.
pub fn matrices(points: &[u64]) -> Vec<[Step; BYTES]> {
    let mut all = vec![[Step::default(); BYTES]; points.len().div_ceil(16 * LANES)];
    for (at, columns) in points.chunks(8).enumerate() {
        let mut rows = [0u64; 8];
        rows[..columns.len()].copy_from_slice(columns);
        let step = &mut all[at / (2 * LANES)];
        for (matrices, row) in step.iter_mut().zip(transposed_bytes(rows)) {
            // Row `i` of a matrix is its byte `7 - i`.
            matrices.as_flattened_mut()[at % (2 * LANES)] = transposed_bits(row).swap_bytes();
        }
    }
    all
}

/// Byte `i` of word `j` becomes byte `j` of word `i`.
fn transposed_bytes(words: [u64; 8]) -> [u64; 8] {
    let bytes = words.map(u64::to_le_bytes);
    std::array::from_fn(|i| u64::from_le_bytes(std::array::from_fn(|j| bytes[j][i])))
}

/// Bit `i` of byte `j` becomes bit `j` of byte `i`.
fn transposed_bits(x: u64) -> u64 {
    let swap = |x: u64, mask: u64, shift: u32| {
        let moved = (x ^ x >> shift) & mask;
        x ^ moved ^ moved << shift
    };
    let x = swap(x, 0x00aa_00aa_00aa_00aa, 7);
    let x = swap(x, 0x0000_cccc_0000_cccc, 14);
    swap(x, 0x0000_0000_f0f0_f0f0, 28)
}

/// The sum of the words.
#[target_feature(enable = "avx512f")]
#[inline]
fn folded(x: __m512i) -> u64 {
    let mut words = [0; LANES];
    store(&mut words, x);
    words.into_iter().fold(0, |sum, word| sum ^ word)
}

/// The elements of 8 blocks from their sums by coefficients' bytes.
#[target_feature(enable = "avx512f")]
#[inline]
fn elements(sums: &[__m512i; BYTES]) -> [Binary; 8] {
    let mut words = [0; BYTES];
    for (word, sum) in words.iter_mut().zip(sums) {
        *word = folded(*sum);
    }
    transposed_bytes(words).map(Binary)
}

/// `sum_c w_c x_q[c]` of the 8 blocks.
#[target_feature(enable = "avx512f,gfni")]
pub fn sums(w: &[[Step; BYTES]], x: &[Step]) -> [Binary; 8] {
    let mut sums = [_mm512_setzero_si512(); BYTES];
    for (x, w) in x.iter().zip(w) {
        let x = [load(&x[0]), load(&x[1])];
        for (sum, w) in sums.iter_mut().zip(w) {
            *sum = plus_product(*sum, w, x);
        }
    }
    elements(&sums)
}

/// `sum + w x` for both vectors of a step.
#[target_feature(enable = "avx512f,gfni")]
#[inline]
fn plus_product(sum: __m512i, w: &Step, x: [__m512i; 2]) -> __m512i {
    let a = _mm512_gf2p8affine_epi64_epi8::<0>(x[0], load(&w[0]));
    let b = _mm512_gf2p8affine_epi64_epi8::<0>(x[1], load(&w[1]));
    // The sum of three.
    _mm512_ternarylogic_epi64::<0x96>(sum, a, b)
}

/// `sum_c w_c u_j[c] v_k[c]` of a block `j` of `u` and the 8 blocks of each of `N` vectors.
#[target_feature(enable = "avx512f,avx512bw,gfni")]
pub fn products<const N: usize>(
    w: &[[Step; BYTES]],
    (u, j): (&[Step], usize),
    v: [&[Step]; N],
) -> [[Binary; 8]; N] {
    // The byte of block `j` in each word of a lane.
    let (low, high) = (0x0101_0101_0101_0101 * j as i64, 0x0808_0808_0808_0808);
    let pick = _mm512_broadcast_i32x4(_mm_set_epi64x(low + high, low));
    let mut sums = [[_mm512_setzero_si512(); BYTES]; N];
    let v = v.map(|v| &v[..u.len()]);
    for (at, (u, w)) in u.iter().zip(w).enumerate() {
        let u = [0, 1].map(|i| _mm512_shuffle_epi8(load(&u[i]), pick));
        let ands = v.map(|v| [0, 1].map(|i| _mm512_and_si512(u[i], load(&v[at][i]))));
        for (byte, w) in w.iter().enumerate() {
            for (sums, ands) in sums.iter_mut().zip(&ands) {
                sums[byte] = plus_product(sums[byte], w, *ands);
            }
        }
    }
    sums.map(|sums| elements(&sums))
}

/// `sum_j c_j x_j`, column by column, of the 8 blocks of each of `N` vectors.
#[target_feature(enable = "avx512f,avx512bw,gfni")]
pub fn combine<const N: usize>(out: &mut [Binary], c: [[u64; 8]; N], x: [&[Step]; N]) {
    // Every byte of a coefficient's matrix takes the bits of 8 blocks, the last one first.
    let matrices = c.map(|mut c| {
        c.reverse();
        transposed_bytes(c).map(|rows| {
            let rows = transposed_bits(rows).swap_bytes();
            _mm512_set1_epi64(rows as i64)
        })
    });
    let units = _mm512_set1_epi64(0x8040_2010_0804_0201u64 as i64);
    let x = x.map(|x| x.as_flattened());
    for (at, out) in out.chunks_mut(8 * LANES).enumerate() {
        // Byte `i` of a word: its blocks' bits in column `i`.
        let columns = x.map(|x| _mm512_gf2p8affine_epi64_epi8::<0>(units, load(&x[at])));
        let bytes = std::array::from_fn(|byte| {
            let zero = _mm512_setzero_si512();
            columns.iter().zip(&matrices).fold(zero, |sum, (x, m)| {
                _mm512_xor_si512(sum, _mm512_gf2p8affine_epi64_epi8::<0>(*x, m[byte]))
            })
        });
        let words = words_of_bytes(bytes);
        let mut all = [[0; LANES]; 8];
        for (to, words) in all.iter_mut().zip(words) {
            store(to, words);
        }
        let all = all.as_flattened();
        for (out, word) in out.iter_mut().zip(all) {
            out.0 = *word;
        }
    }
}

/// 64 words in order from byte `i` of each of them in vector `i`.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn words_of_bytes(x: [__m512i; BYTES]) -> [__m512i; 8] {
    let pairs: [_; 4] = std::array::from_fn(|i| {
        let (a, b) = (x[2 * i], x[2 * i + 1]);
        [_mm512_unpacklo_epi8(a, b), _mm512_unpackhi_epi8(a, b)]
    });
    let fours: [[_; 4]; 2] = std::array::from_fn(|i| {
        let half = |k: usize| {
            let (a, b) = (pairs[2 * i][k], pairs[2 * i + 1][k]);
            [_mm512_unpacklo_epi16(a, b), _mm512_unpackhi_epi16(a, b)]
        };
        let [low, high] = [half(0), half(1)];
        [low[0], low[1], high[0], high[1]]
    });
    // Lane `l` of pair `i`: words `16 l + 2 i` and the next.
    let eights: [[_; 2]; 4] = std::array::from_fn(|i| {
        let (a, b) = (fours[0][i], fours[1][i]);
        [_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b)]
    });
    let mut out = [_mm512_setzero_si512(); 8];
    for half in 0..2 {
        let [[a, b], [c, d]] = [eights[2 * half], eights[2 * half + 1]];
        let ab = [
            _mm512_shuffle_i64x2::<0x44>(a, b),
            _mm512_shuffle_i64x2::<0xee>(a, b),
        ];
        let cd = [
            _mm512_shuffle_i64x2::<0x44>(c, d),
            _mm512_shuffle_i64x2::<0xee>(c, d),
        ];
        for l in 0..2 {
            out[4 * l + half] = _mm512_shuffle_i64x2::<0x88>(ab[l], cd[l]);
            out[4 * l + 2 + half] = _mm512_shuffle_i64x2::<0xdd>(ab[l], cd[l]);
        }
    }
    out
}
