//! Sums of elements chosen by bits, by shuffles within registers (AVX2): four bits choose one of 16 sums, a
//! byte of it at a time. Nothing is looked up in memory by a bit, as the bits are shares.

use std::arch::x86_64::*;

use super::Binary;

/// Vectors whose bits of a column choose a sum.
const GROUP: usize = 4;
/// Groups whose choices are made at a time.
const GROUPS: usize = 16;
/// Bytes of an element, and those whose sums are kept in registers.
const BYTES: usize = 8;
const HALF: usize = BYTES / 2;
/// Bytes of a vector register.
const LANES: usize = 32;
/// Words of each vector of bits that are taken at a time.
const WORDS: usize = 4;
/// Elements that these make, four to a register.
const QUADS: usize = 16 * WORDS;

/// Of some elements and each byte of an element: the byte of all 16 sums, twice.
type Tables = [[u8; LANES]; BYTES];

/// The choices of a group: of the 32 lowest and the 32 highest columns of the first and third word, and of
/// the second and fourth.
type Choices = [__m256i; WORDS];

/// Sums, byte by byte of an element: those that low halves of bytes choose, then those of high ones.
type Sums = [[__m256i; BYTES]; 2];

/// Where choices and sums stand: what is cleared once, as all of it is written before it is read.
struct Room {
    choices: [Choices; GROUPS],
    sums: [Sums; WORDS],
}

/// `sum_j c_j x_j`, column by column, of packed vectors of so many columns.
pub fn combined(c: &[Binary], x: &[&[u64]], columns: usize) -> Vec<Binary> {
    // SAFETY: the caller has looked for the instructions.
    unsafe { combine(c, x, columns) }
}

/// The choices that each element of a group is in.
const CHOSEN: [[u8; LANES]; GROUP] = {
    let mut chosen = [[0; LANES]; GROUP];
    let mut at = 0;
    while at < GROUP * LANES {
        let (i, choice) = (at / LANES, at % LANES);
        chosen[i][choice] = if choice >> i & 1 == 1 { u8::MAX } else { 0 };
        at += 1;
    }
    chosen
};

/// The tables of at most four elements, missing ones zero.
#[target_feature(enable = "avx2")]
fn tables_of(c: &[Binary]) -> Tables {
    let mut tables = Tables::default();
    for (byte, table) in tables.iter_mut().enumerate() {
        let mut sums = _mm256_setzero_si256();
        for (c, chosen) in c.iter().zip(&CHOSEN) {
            let all = _mm256_set1_epi8(c.0.to_le_bytes()[byte] as i8);
            sums = _mm256_xor_si256(sums, _mm256_and_si256(all, load(chosen)));
        }
        let mut words = [0; WORDS];
        store(&mut words, sums);
        *table = bytemuck::cast(words);
    }
    tables
}

#[target_feature(enable = "avx2")]
fn combine(c: &[Binary], x: &[&[u64]], columns: usize) -> Vec<Binary> {
    let tables: Vec<Tables> = c.chunks(GROUP).map(|c| tables_of(c)).collect();
    let whole: Vec<&[[u64; WORDS]]> = x.iter().map(|x| x.as_chunks().0).collect();
    let mut out = Vec::with_capacity(columns);
    let mut made = [[0; WORDS]; QUADS];
    let mut room = Room {
        choices: [[_mm256_setzero_si256(); WORDS]; GROUPS],
        sums: [[[_mm256_setzero_si256(); BYTES]; 2]; WORDS],
    };
    let chunks = columns / (64 * WORDS);
    for at in 0..chunks {
        combine_words(&mut made, &mut room, &tables, |i| {
            whole.get(i).map(|x| &x[at])
        });
        out.extend(made.as_flattened().iter().map(|word| Binary(*word)));
    }
    let rest = columns - out.len();
    if rest > 0 {
        let padded = |x: &&[u64]| {
            let (mut words, rest) = ([0; WORDS], &x[chunks * WORDS..]);
            words[..rest.len()].copy_from_slice(rest);
            words
        };
        let last: Vec<_> = x.iter().map(padded).collect();
        combine_words(&mut made, &mut room, &tables, |i| last.get(i));
        let made = &made.as_flattened()[..rest];
        out.extend(made.iter().map(|word| Binary(*word)));
    }
    out
}

/// The elements of some words of all vectors, of which `words` gives the `i`-th one's, missing ones zero.
#[target_feature(enable = "avx2")]
#[inline]
fn combine_words<'a>(
    out: &mut [[u64; WORDS]; QUADS],
    Room { choices, sums }: &mut Room,
    tables: &[Tables],
    words: impl Fn(usize) -> Option<&'a [u64; WORDS]>,
) {
    for (number, tables) in tables.chunks(GROUPS).enumerate() {
        for (group, choices) in choices.iter_mut().enumerate().take(tables.len()) {
            let mut of_group = [_mm256_setzero_si256(); GROUP];
            for (i, of_vector) in of_group.iter_mut().enumerate() {
                if let Some(words) = words(GROUP * (GROUPS * number + group) + i) {
                    *of_vector = load(bytemuck::cast_ref(words));
                }
            }
            *choices = choices_of(of_group);
        }
        for (run, sums) in sums.iter_mut().enumerate() {
            if number == 0 {
                *sums = [[_mm256_setzero_si256(); BYTES]; 2];
            }
            add_chosen::<0>(sums, tables, choices, run);
            add_chosen::<HALF>(sums, tables, choices, run);
        }
    }
    // Columns of a run: 32 of a word, and as many two words on.
    for (run, sums) in sums.iter().enumerate() {
        let (low, high) = out.split_at_mut(QUADS / 2);
        let (low, high) = (&mut low[8 * run..][..8], &mut high[8 * run..][..8]);
        for (half, sums) in sums.iter().enumerate() {
            words_of_bytes([&mut *low, &mut *high], half, sums);
        }
    }
}

#[target_feature(enable = "avx2")]
#[inline]
fn load(a: &[u8; LANES]) -> __m256i {
    // SAFETY: the array has 32 bytes; the load need not be aligned.
    unsafe { _mm256_loadu_si256(a.as_ptr().cast()) }
}

#[target_feature(enable = "avx2")]
#[inline]
fn store(a: &mut [u64; WORDS], v: __m256i) {
    // SAFETY: the array has 32 bytes; the store need not be aligned.
    unsafe { _mm256_storeu_si256(a.as_mut_ptr().cast(), v) }
}

/// The bits of four vectors side by side: of each eight columns byte `k` has column `k` in its low half and
/// column `4 + k` in its high half, bit `i` of either being that of vector `i`.
#[target_feature(enable = "avx2")]
#[inline]
fn choices_of([a, b, c, d]: [__m256i; GROUP]) -> Choices {
    // Byte by byte of the words, those of all vectors side by side.
    let (ab, cd) = (_mm256_unpacklo_epi8(a, b), _mm256_unpacklo_epi8(c, d));
    let even = [_mm256_unpacklo_epi16(ab, cd), _mm256_unpackhi_epi16(ab, cd)];
    let (ab, cd) = (_mm256_unpackhi_epi8(a, b), _mm256_unpackhi_epi8(c, d));
    let odd = [_mm256_unpacklo_epi16(ab, cd), _mm256_unpackhi_epi16(ab, cd)];
    let mut choices = [even[0], even[1], odd[0], odd[1]];
    for bytes in &mut choices {
        *bytes = exchanged::<7>(*bytes, 0x00aa_00aa_00aa_00aa);
        *bytes = exchanged::<14>(*bytes, 0x0000_cccc_0000_cccc);
    }
    choices
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

/// Adds what the choices of a run take from the tables of their groups, of the bytes from `FIRST` on.
#[target_feature(enable = "avx2")]
#[inline]
fn add_chosen<const FIRST: usize>(
    sums: &mut Sums,
    tables: &[Tables],
    choices: &[Choices; GROUPS],
    run: usize,
) {
    let mask = _mm256_set1_epi8(15);
    let [low_sums, high_sums] = sums;
    let mut low = [_mm256_setzero_si256(); HALF];
    let mut high = low;
    low.copy_from_slice(&low_sums[FIRST..][..HALF]);
    high.copy_from_slice(&high_sums[FIRST..][..HALF]);
    for (tables, choices) in tables.iter().zip(choices) {
        let both = choices[run];
        let of_low = _mm256_and_si256(both, mask);
        let of_high = _mm256_and_si256(_mm256_srli_epi16::<4>(both), mask);
        for i in 0..HALF {
            let table = load(&tables[FIRST + i]);
            low[i] = _mm256_xor_si256(low[i], _mm256_shuffle_epi8(table, of_low));
            high[i] = _mm256_xor_si256(high[i], _mm256_shuffle_epi8(table, of_high));
        }
    }
    low_sums[FIRST..][..HALF].copy_from_slice(&low);
    high_sums[FIRST..][..HALF].copy_from_slice(&high);
}

/// Words, four by four, from byte `i` of each of them in vector `i`: those of its lower half go to the first
/// part, those of its upper half to the second, every other four, from the `start`-th on.
#[target_feature(enable = "avx2")]
#[inline]
fn words_of_bytes([low, high]: [&mut [[u64; WORDS]]; 2], start: usize, x: &[__m256i; BYTES]) {
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
            let at = 2 * (2 * half + quarter) + start;
            store(
                &mut low[at],
                _mm256_permute2x128_si256::<0x20>(first, second),
            );
            store(
                &mut high[at],
                _mm256_permute2x128_si256::<0x31>(first, second),
            );
        }
    }
}
