//! Sums of elements chosen by bits, by shuffles within registers (AVX2): four bits choose one of 16 sums, a
//! byte of it at a time. Nothing is looked up in memory by a bit, as the bits are shares.

use std::arch::x86_64::*;

use super::Binary;

/// Vectors whose bits of a column make a byte.
const GROUP: usize = 8;
/// Bytes of an element.
const BYTES: usize = 8;
/// Columns that are taken at a time, and those that a word of bits has.
const LANES: usize = 32;
const COLUMNS: usize = 2 * LANES;
/// Groups whose bytes are made at a time.
const GROUPS: usize = 8;

/// Of four elements and each byte of an element: the byte of all 16 sums, twice.
type Tables = [[u8; LANES]; BYTES];

/// `sum_j c_j x_j`, column by column, of packed vectors of so many columns.
pub fn combined(c: &[Binary], x: &[&[u64]], columns: usize) -> Vec<Binary> {
    let tables: Vec<[Tables; 2]> = c
        .chunks(GROUP)
        .map(|c| [0, 4].map(|half| tables_of(c.get(half..).unwrap_or_default())))
        .collect();
    // SAFETY: the caller has looked for the instructions.
    unsafe { combine(&tables, x, columns) }
}

/// The tables of the first four of some elements, missing ones zero.
fn tables_of(c: &[Binary]) -> Tables {
    let mut sums = [0; LANES / 2];
    for (i, c) in c.iter().take(4).enumerate() {
        let (without, with) = sums.split_at_mut(1 << i);
        let pairs = with.iter_mut().zip(without);
        pairs.for_each(|(with, without)| *with = *without ^ c.0);
    }
    let mut tables = Tables::default();
    for (choice, sum) in sums.iter().enumerate() {
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

/// Of one word of some vectors the byte of each column, bit `i` being that of vector `i`.
#[target_feature(enable = "avx2")]
#[inline]
fn bytes_of(x: &[&[u64]], at: usize) -> [__m256i; 2] {
    let word = |i: usize| x.get(i).map_or(0, |x| x[at]) as i64;
    // Byte by byte of the words, those of all vectors side by side.
    let two = |i| _mm_unpacklo_epi8(_mm_cvtsi64_si128(word(i)), _mm_cvtsi64_si128(word(i + 1)));
    let (a, b, c, d) = (two(0), two(2), two(4), two(6));
    let (low, high) = (_mm_unpacklo_epi16(a, b), _mm_unpacklo_epi16(c, d));
    let first = _mm256_set_m128i(_mm_unpackhi_epi32(low, high), _mm_unpacklo_epi32(low, high));
    let (low, high) = (_mm_unpackhi_epi16(a, b), _mm_unpackhi_epi16(c, d));
    let second = _mm256_set_m128i(_mm_unpackhi_epi32(low, high), _mm_unpacklo_epi32(low, high));
    [transposed(first), transposed(second)]
}

/// Bits and bytes of each word exchanged, by ever larger off-diagonal blocks.
#[target_feature(enable = "avx2")]
#[inline]
fn transposed(bytes: __m256i) -> __m256i {
    let bytes = exchanged::<7>(bytes, 0x00aa_00aa_00aa_00aa);
    let bytes = exchanged::<14>(bytes, 0x0000_cccc_0000_cccc);
    exchanged::<28>(bytes, 0x0000_0000_f0f0_f0f0)
}

/// Exchanges the bits of the mask with those that lie so much higher.
#[target_feature(enable = "avx2")]
#[inline]
fn exchanged<const APART: i32>(x: __m256i, mask: i64) -> __m256i {
    let differ = _mm256_xor_si256(x, _mm256_srli_epi64::<APART>(x));
    let differ = _mm256_and_si256(differ, _mm256_set1_epi64x(mask));
    let both = _mm256_xor_si256(differ, _mm256_slli_epi64::<APART>(differ));
    _mm256_xor_si256(x, both)
}

#[target_feature(enable = "avx2")]
fn combine(tables: &[[Tables; 2]], x: &[&[u64]], columns: usize) -> Vec<Binary> {
    let mut out = Vec::with_capacity(columns.next_multiple_of(COLUMNS));
    for at in 0..columns.div_ceil(COLUMNS) {
        let mut sums = [[_mm256_setzero_si256(); BYTES]; 2];
        for (tables, x) in tables.chunks(GROUPS).zip(x.chunks(GROUPS * GROUP)) {
            let mut chosen = [[_mm256_setzero_si256(); GROUPS]; 2];
            for (group, x) in x.chunks(GROUP).enumerate() {
                let [first, second] = bytes_of(x, at);
                (chosen[0][group], chosen[1][group]) = (first, second);
            }
            for (sums, chosen) in sums.iter_mut().zip(&chosen) {
                *sums = plus_chosen(*sums, tables, chosen);
            }
        }
        for sums in &sums {
            let mut words = [[0; 2]; LANES / 2];
            words_of_bytes(&mut words, sums);
            out.extend(words.as_flattened().iter().map(|word| Binary(*word)));
        }
    }
    out.truncate(columns);
    out
}

/// `sums`, byte by byte of an element, and what the bits of each group choose from its tables.
#[target_feature(enable = "avx2")]
#[inline]
fn plus_chosen(
    mut sums: [__m256i; BYTES],
    tables: &[[Tables; 2]],
    chosen: &[__m256i; GROUPS],
) -> [__m256i; BYTES] {
    let low = _mm256_set1_epi8(15);
    for (tables, chosen) in tables.iter().zip(chosen) {
        let nibble = _mm256_and_si256(*chosen, low);
        for (sum, table) in sums.iter_mut().zip(&tables[0]) {
            *sum = _mm256_xor_si256(*sum, _mm256_shuffle_epi8(load(table), nibble));
        }
        let nibble = _mm256_and_si256(_mm256_srli_epi16::<4>(*chosen), low);
        for (sum, table) in sums.iter_mut().zip(&tables[1]) {
            *sum = _mm256_xor_si256(*sum, _mm256_shuffle_epi8(load(table), nibble));
        }
    }
    sums
}

#[target_feature(enable = "avx2")]
#[inline]
fn store(a: &mut [u64; 2], v: __m128i) {
    // SAFETY: the array has 16 bytes; the store need not be aligned.
    unsafe { _mm_storeu_si128(a.as_mut_ptr().cast(), v) }
}

/// Words, two by two, from byte `i` of each of them in vector `i`.
#[target_feature(enable = "avx2")]
#[inline]
fn words_of_bytes(words: &mut [[u64; 2]; LANES / 2], x: &[__m256i; BYTES]) {
    for half in 0..2 {
        let pair = |i: usize| match half {
            0 => _mm256_unpacklo_epi8(x[i], x[i + 1]),
            _ => _mm256_unpackhi_epi8(x[i], x[i + 1]),
        };
        let (a, b, c, d) = (pair(0), pair(2), pair(4), pair(6));
        for quarter in 0..2 {
            let (ab, cd) = match quarter {
                0 => (_mm256_unpacklo_epi16(a, b), _mm256_unpacklo_epi16(c, d)),
                _ => (_mm256_unpackhi_epi16(a, b), _mm256_unpackhi_epi16(c, d)),
            };
            let (first, second) = (_mm256_unpacklo_epi32(ab, cd), _mm256_unpackhi_epi32(ab, cd));
            // Each half of a vector has two words that follow one another.
            let at = 4 * half + 2 * quarter;
            let (low, high) = words.split_at_mut(LANES / 4);
            store(&mut low[at], _mm256_castsi256_si128(first));
            store(&mut high[at], _mm256_extracti128_si256::<1>(first));
            store(&mut low[at + 1], _mm256_castsi256_si128(second));
            store(&mut high[at + 1], _mm256_extracti128_si256::<1>(second));
        }
    }
}
