//! Sums of elements chosen by bits, by affine maps of bytes (GFNI and AVX-512): of eight vectors the bits of a column
//! are a byte, of which eight matrices make what the eight elements add to the bytes of a sum. Nothing is looked up in
//! memory by a bit, as the bits are shares.

use std::arch::x86_64::*;

use super::{Binary, words_of_mut};
use crate::isa::Isa;

/// Vectors whose bits of a column are a byte.
const GROUP: usize = 8;
/// Groups whose bytes are made at a time.
const GROUPS: usize = 16;
/// Bytes of an element.
const BYTES: usize = 8;
/// Words of a register, and those of each vector that are taken at a time.
const WORDS: usize = 8;
/// Columns that these have.
const COLUMNS: usize = 64 * WORDS;

/// Of a group the matrix for each byte of a sum.
type Matrices = [u64; BYTES];

/// The bytes of a group: those of the columns of each word.
type Chosen = [__m512i; WORDS];

/// Whether the processor has the instructions, of an instruction set that it has ([`crate::isa::current`]).
pub fn available(isa: Isa) -> bool {
    let bytes = is_x86_feature_detected!("gfni") && is_x86_feature_detected!("avx512vbmi");
    isa >= Isa::Avx512 && bytes
}

/// `sum_j c_j x_j`, column by column, of packed vectors of so many columns, where [`available`].
pub fn combined(c: &[Binary], x: &[&[u64]], columns: usize) -> Vec<Binary> {
    // SAFETY: the caller has asked whether the processor has the instructions.
    unsafe { combine(c, x, columns) }
}

#[target_feature(enable = "gfni,avx512f,avx512bw,avx512vbmi")]
fn combine(c: &[Binary], x: &[&[u64]], columns: usize) -> Vec<Binary> {
    let matrices: Vec<Matrices> = c.chunks(GROUP).map(|c| matrices_of(c)).collect();
    let whole: Vec<&[[u64; WORDS]]> = x.iter().map(|x| x.as_chunks().0).collect();
    let mut out = vec![Binary(0); columns];
    let mut room = [[_mm512_setzero_si512(); WORDS]; GROUPS];
    let (chunks, rest) = words_of_mut(&mut out).as_chunks_mut();
    for (at, out) in chunks.iter_mut().enumerate() {
        combine_words(out, &mut room, &matrices, |i| whole.get(i).map(|x| &x[at]));
    }
    if !rest.is_empty() {
        let padded = |x: &&[u64]| {
            let (mut words, rest) = ([0; WORDS], &x[chunks.len() * WORDS..]);
            words[..rest.len()].copy_from_slice(rest);
            words
        };
        let (last, mut made): (Vec<_>, _) = (x.iter().map(padded).collect(), [0; COLUMNS]);
        combine_words(&mut made, &mut room, &matrices, |i| last.get(i));
        rest.copy_from_slice(&made[..rest.len()]);
    }
    out
}

/// The matrices of at most eight elements, missing ones zero: row `7 - i` of the `k`-th has their bits `8 k + i`.
#[target_feature(enable = "gfni,avx512f,avx512vbmi")]
fn matrices_of(c: &[Binary]) -> Matrices {
    let mut words = [0; WORDS];
    words.iter_mut().zip(c).for_each(|(word, c)| *word = c.0);
    let mut matrices = [0; BYTES];
    store(&mut matrices, bits_of(load(&words)));
    matrices.map(u64::swap_bytes)
}

/// The sums of some words of all vectors, of which `words` gives the `i`-th one's, missing ones zero.
#[target_feature(enable = "gfni,avx512f,avx512bw,avx512vbmi")]
#[inline]
fn combine_words<'a>(
    out: &mut [u64; COLUMNS],
    room: &mut [Chosen; GROUPS],
    matrices: &[Matrices],
    words: impl Fn(usize) -> Option<&'a [u64; WORDS]>,
) {
    let mut sums = [[_mm512_setzero_si512(); BYTES]; WORDS];
    for (number, matrices) in matrices.chunks(GROUPS).enumerate() {
        for (group, chosen) in room.iter_mut().enumerate().take(matrices.len()) {
            let mut of_group = [_mm512_setzero_si512(); GROUP];
            for (i, of_vector) in of_group.iter_mut().enumerate() {
                if let Some(words) = words(GROUP * (GROUPS * number + group) + i) {
                    *of_vector = load(words);
                }
            }
            for (chosen, words) in chosen.iter_mut().zip(exchanged(of_group)) {
                *chosen = bits_of(words);
            }
        }
        for (word, sums) in sums.iter_mut().enumerate() {
            add_chosen(sums, matrices, room, word);
        }
    }
    for (sums, out) in sums.into_iter().zip(out.as_chunks_mut().0) {
        words_of_bytes(out, sums);
    }
}

/// Adds what the bytes of a word's columns choose of every group.
#[target_feature(enable = "gfni,avx512f")]
#[inline]
fn add_chosen(
    sums: &mut [__m512i; BYTES],
    matrices: &[Matrices],
    room: &[Chosen; GROUPS],
    word: usize,
) {
    let mut all = *sums;
    for (matrices, chosen) in matrices.iter().zip(room) {
        for (sum, matrix) in all.iter_mut().zip(matrices) {
            let matrix = _mm512_set1_epi64(*matrix as i64);
            let more = _mm512_gf2p8affine_epi64_epi8::<0>(chosen[word], matrix);
            *sum = _mm512_xor_si512(*sum, more);
        }
    }
    *sums = all;
}

/// Byte `k` of each word of eight, the last word first; then the same of the next byte.
const BYTE_BY_BYTE: [u64; WORDS] = {
    let (mut places, mut at) = ([0; WORDS], 0);
    while at < BYTES * WORDS {
        let (byte, word) = (at / WORDS, WORDS - 1 - at % WORDS);
        places[byte] |= ((BYTES * word + byte) as u64) << (8 * (at % WORDS));
        at += 1;
    }
    places
};

/// Bytes with one bit, by which a matrix gives its columns.
const EACH_BIT: u64 = 0x8040_2010_0804_0201;

/// The bits of eight words side by side: byte `k` has bit `k` of all of them.
#[target_feature(enable = "gfni,avx512f,avx512vbmi")]
#[inline]
fn bits_of(words: __m512i) -> __m512i {
    let bytes = _mm512_permutexvar_epi8(load(&BYTE_BY_BYTE), words);
    _mm512_gf2p8affine_epi64_epi8::<0>(_mm512_set1_epi64(EACH_BIT as i64), bytes)
}

/// The first words of eight registers, their second ones and so on.
#[target_feature(enable = "avx512f")]
#[inline]
fn exchanged(x: [__m512i; WORDS]) -> [__m512i; WORDS] {
    let mut out = x;
    for second in [0, 1] {
        let pair = |i: usize| match second {
            0 => _mm512_unpacklo_epi64(x[i], x[i + 1]),
            _ => _mm512_unpackhi_epi64(x[i], x[i + 1]),
        };
        let of_four = lanes([pair(0), pair(2), pair(4), pair(6)]);
        for (at, words) in of_four.into_iter().enumerate() {
            out[2 * at + second] = words;
        }
    }
    out
}

/// The first quarters of four registers, their second ones and so on.
#[target_feature(enable = "avx512f")]
#[inline]
fn lanes([a, b, c, d]: [__m512i; 4]) -> [__m512i; 4] {
    const LOW: i32 = 0x44;
    const HIGH: i32 = 0xee;
    const EVEN: i32 = 0x88;
    const ODD: i32 = 0xdd;
    let low = [
        _mm512_shuffle_i64x2::<LOW>(a, b),
        _mm512_shuffle_i64x2::<LOW>(c, d),
    ];
    let high = [
        _mm512_shuffle_i64x2::<HIGH>(a, b),
        _mm512_shuffle_i64x2::<HIGH>(c, d),
    ];
    [
        _mm512_shuffle_i64x2::<EVEN>(low[0], low[1]),
        _mm512_shuffle_i64x2::<ODD>(low[0], low[1]),
        _mm512_shuffle_i64x2::<EVEN>(high[0], high[1]),
        _mm512_shuffle_i64x2::<ODD>(high[0], high[1]),
    ]
}

/// Words from byte `i` of each of them in register `i`.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn words_of_bytes(out: &mut [u64; 64], x: [__m512i; BYTES]) {
    // Of 16 words every quarter of a register has, half of them are made at a time.
    for half in [0, 1] {
        let pair = |i: usize| match half {
            0 => _mm512_unpacklo_epi8(x[i], x[i + 1]),
            _ => _mm512_unpackhi_epi8(x[i], x[i + 1]),
        };
        let [a, b, c, d] = [pair(0), pair(2), pair(4), pair(6)];
        let low = [_mm512_unpacklo_epi16(a, b), _mm512_unpacklo_epi16(c, d)];
        let high = [_mm512_unpackhi_epi16(a, b), _mm512_unpackhi_epi16(c, d)];
        let words = lanes([
            _mm512_unpacklo_epi32(low[0], low[1]),
            _mm512_unpackhi_epi32(low[0], low[1]),
            _mm512_unpacklo_epi32(high[0], high[1]),
            _mm512_unpackhi_epi32(high[0], high[1]),
        ]);
        for (quarter, words) in words.into_iter().enumerate() {
            store(&mut out.as_chunks_mut().0[2 * quarter + half], words);
        }
    }
}

#[target_feature(enable = "avx512f")]
#[inline]
fn load(a: &[u64; WORDS]) -> __m512i {
    // SAFETY: the array has 64 bytes; the load need not be aligned.
    unsafe { _mm512_loadu_si512(a.as_ptr().cast()) }
}

#[target_feature(enable = "avx512f")]
#[inline]
fn store(a: &mut [u64; WORDS], v: __m512i) {
    // SAFETY: the array has 64 bytes; the store need not be aligned.
    unsafe { _mm512_storeu_si512(a.as_mut_ptr().cast(), v) }
}
