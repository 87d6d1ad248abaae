//! Sums of elements chosen by bits, by shuffles within registers (AVX2): four bits choose one of 16 sums, a
//! byte of it at a time. Nothing is looked up in memory by a bit, as the bits are shares.

use std::arch::x86_64::*;

use super::Binary;
use crate::{BitRows, Bits};

/// Vectors whose bits of a column make a byte.
const GROUP: usize = 8;
/// Bytes of an element.
const BYTES: usize = 8;
/// Columns that are taken at a time.
const LANES: usize = 32;

/// Of four elements and each byte of an element: the byte of all 16 sums, twice.
type Tables = [[u8; LANES]; BYTES];

/// `sum_j c_j x_j`, column by column.
pub fn combined(c: &[Binary], x: &[Bits], columns: usize) -> Vec<Binary> {
    let tables: Vec<[Tables; 2]> = c
        .chunks(GROUP)
        .map(|c| [0, 4].map(|half| tables_of(c.get(half..).unwrap_or_default())))
        .collect();
    let bytes = |group: &[Bits]| {
        let mut bytes: Vec<u8> = BitRows::from_rows(group).to_ring();
        bytes.resize(columns.next_multiple_of(LANES), 0);
        bytes
    };
    let chosen: Vec<Vec<u8>> = x.chunks(GROUP).map(bytes).collect();
    let chosen: Vec<&[[u8; LANES]]> = chosen.iter().map(|c| c.as_chunks().0).collect();
    let mut out = vec![Binary(0); columns];
    // SAFETY: the caller has looked for the instructions.
    unsafe { combine(&mut out, &tables, &chosen) };
    out
}

/// The tables of the first four of some elements, missing ones zero.
fn tables_of(c: &[Binary]) -> Tables {
    let mut tables = Tables::default();
    for choice in 0..16 {
        let chosen = c.iter().take(4).enumerate();
        let chosen = chosen.filter(|(i, _)| choice >> i & 1 == 1);
        let sum = chosen.fold(0, |sum, (_, c)| sum ^ c.0);
        for (table, byte) in tables.iter_mut().zip(sum.to_le_bytes()) {
            (table[choice], table[choice + LANES / 2]) = (byte, byte);
        }
    }
    tables
}

#[target_feature(enable = "avx2")]
#[inline]
fn load(a: &[u8; LANES]) -> __m256i {
    // SAFETY: the array has 32 bytes; the load need not be aligned.
    unsafe { _mm256_loadu_si256(a.as_ptr().cast()) }
}

#[target_feature(enable = "avx2")]
fn combine(out: &mut [Binary], tables: &[[Tables; 2]], chosen: &[&[[u8; LANES]]]) {
    let low = _mm256_set1_epi8(15);
    for (at, out) in out.chunks_mut(LANES).enumerate() {
        let mut sums = [_mm256_setzero_si256(); BYTES];
        for (tables, chosen) in tables.iter().zip(chosen) {
            let chosen = load(&chosen[at]);
            let halves = [chosen, _mm256_srli_epi16::<4>(chosen)];
            for (tables, half) in tables.iter().zip(halves) {
                let half = _mm256_and_si256(half, low);
                for (sum, table) in sums.iter_mut().zip(tables) {
                    *sum = _mm256_xor_si256(*sum, _mm256_shuffle_epi8(load(table), half));
                }
            }
        }
        for (out, word) in out.iter_mut().zip(words_of_bytes(sums)) {
            out.0 = word;
        }
    }
}

/// Words from byte `i` of each of them in vector `i`.
#[target_feature(enable = "avx2")]
#[inline]
fn words_of_bytes(x: [__m256i; BYTES]) -> [u64; LANES] {
    let pairs = |a, b| [_mm256_unpacklo_epi8(a, b), _mm256_unpackhi_epi8(a, b)];
    let twos = [0, 2, 4, 6].map(|i| pairs(x[i], x[i + 1]));
    let mut words = [0; LANES];
    for half in 0..2 {
        let [a, b, c, d] = twos.map(|pair| pair[half]);
        for (quarter, [ab, cd]) in [
            [_mm256_unpacklo_epi16(a, b), _mm256_unpacklo_epi16(c, d)],
            [_mm256_unpackhi_epi16(a, b), _mm256_unpackhi_epi16(c, d)],
        ]
        .into_iter()
        .enumerate()
        {
            let ends = [_mm256_unpacklo_epi32(ab, cd), _mm256_unpackhi_epi32(ab, cd)];
            for (i, end) in ends.into_iter().enumerate() {
                // Each half of the vector has two words that follow one another.
                let [lower, upper] = [
                    _mm256_castsi256_si128(end),
                    _mm256_extracti128_si256::<1>(end),
                ];
                let first = 8 * half + 4 * quarter + 2 * i;
                for (lane, part) in [lower, upper].into_iter().enumerate() {
                    words[16 * lane + first] = _mm_cvtsi128_si64(part) as u64;
                    words[16 * lane + first + 1] = _mm_extract_epi64::<1>(part) as u64;
                }
            }
        }
    }
    words
}
