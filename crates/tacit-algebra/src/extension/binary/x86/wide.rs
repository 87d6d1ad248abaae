//! Kernels for registers of three lengths: what each computes is said at
//! [`super::Wide`].

use std::arch::x86_64::*;

use super::super::packed::{SIDE, at_places, common_by};
use super::super::{Binary, dot_by, reduce, words_of, words_of_mut};
use super::carryless;

/// The kernels of a module that names its register, its instructions and what they need.
macro_rules! kernels {
    ($features:literal) => {
        #[target_feature(enable = $features)]
        #[inline]
        fn load(a: &[u64; LANES]) -> Vector {
            // SAFETY: the array has a register's bytes; the load need not be aligned.
            unsafe { load_any(a.as_ptr().cast()) }
        }

        #[target_feature(enable = $features)]
        #[inline]
        fn store(a: &mut [u64; LANES], v: Vector) {
            // SAFETY: the array has a register's bytes; the store need not be aligned.
            unsafe { store_any(a.as_mut_ptr().cast(), v) }
        }

        /// `sum` and the products of even and of odd elements.
        #[target_feature(enable = $features)]
        #[inline]
        fn plus_products(sum: Vector, a: Vector, b: Vector) -> Vector {
            let even = carryless_products::<0x00>(a, b);
            let odd = carryless_products::<0x11>(a, b);
            xor(sum, xor(even, odd))
        }

        #[target_feature(enable = $features)]
        pub fn dot(a: &[u64], b: &[u64]) -> u128 {
            let ((a, a_rest), (b, b_rest)) = (a.as_chunks(), b.as_chunks());
            let mut sum = zero();
            for (a, b) in a.iter().zip(b) {
                sum = plus_products(sum, load(a), load(b));
            }
            pairs_summed(sum) ^ dot_by(a_rest, b_rest, |a, b| carryless(a, b))
        }

        #[target_feature(enable = $features)]
        pub fn multiply(acc: &mut [Binary], b: &[u64]) {
            let (chunks, rest) = words_of_mut(acc).as_chunks_mut();
            let (by, by_rest) = b.as_chunks();
            for (acc, b) in chunks.iter_mut().zip(by) {
                let (a, b) = (load(acc), load(b));
                let ends = [
                    carryless_products::<0x00>(a, b),
                    carryless_products::<0x11>(a, b),
                ];
                store(acc, reduced(ends));
            }
            for (acc, b) in rest.iter_mut().zip(by_rest) {
                *acc = reduce(carryless(*acc, *b));
            }
        }

        /// The remainders of two sums of products each, of even and odd elements. What a sum has above X^63 is taken times
        /// X^4 + X^3 + X + 1, with what this again has above first: shifts, which wait for one another less than products.
        #[target_feature(enable = $features)]
        #[inline]
        fn reduced([even, odd]: [Vector; 2]) -> Vector {
            let high = unpack_high(even, odd);
            let above = xor(right::<63>(high), xor(right::<61>(high), right::<60>(high)));
            let high = xor(high, above);
            let twice = xor(high, left::<1>(high));
            let folded = xor(twice, left::<3>(twice));
            xor(unpack_low(even, odd), folded)
        }

        /// Vectors of each side whose sums are kept in registers.
        const ROWS: usize = 2;
        const COLUMNS: usize = 4;

        /// A vector, a register's words at a time.
        type Part<'a> = &'a [[u64; LANES]];

        /// Adds to `sums` of every pair of vectors what `step` makes of the words at each place, `v` running fastest.
        #[target_feature(enable = $features)]
        #[inline]
        fn add_pairs(
            sums: &mut [u128],
            u: &[Part],
            v: &[Part],
            step: impl Fn(usize, Vector, Vector, Vector) -> Vector,
        ) {
            for (rows, sums) in u.chunks(ROWS).zip(sums.chunks_mut(ROWS * v.len())) {
                for (at, columns) in v.chunks(COLUMNS).enumerate() {
                    // Of the last vectors some are taken again, and what comes of them is left.
                    let u: [Part; ROWS] = std::array::from_fn(|i| rows[i.min(rows.len() - 1)]);
                    let v_parts: [Part; COLUMNS] =
                        std::array::from_fn(|i| columns[i.min(columns.len() - 1)]);
                    let mut tile = [[zero(); COLUMNS]; ROWS];
                    for at in 0..u[0].len() {
                        let v = v_parts.map(|v| load(&v[at]));
                        for (tile, u) in tile.iter_mut().zip(u) {
                            let u = load(&u[at]);
                            for (sum, v) in tile.iter_mut().zip(v) {
                                *sum = step(at, *sum, u, v);
                            }
                        }
                    }
                    for (row, tile) in tile.iter().enumerate().take(rows.len()) {
                        let sums = &mut sums[row * v.len() + COLUMNS * at..];
                        for (column, more) in tile.iter().enumerate().take(columns.len()) {
                            sums[column] ^= pairs_summed(*more);
                        }
                    }
                }
            }
        }

        #[target_feature(enable = $features)]
        pub fn common(sums: &mut [u128], coins: &[u64], u: &[&[u64]], v: &[&[u64]]) {
            let (coins, coins_rest) = coins.as_chunks();
            let ((u, u_rest), (v, v_rest)) = (wholes(u), wholes(v));
            add_pairs(sums, &u, &v, |at, sum, u, v| {
                plus_products(sum, and(u, v), load(&coins[at]))
            });
            common_by(sums, coins_rest, &u_rest, &v_rest, |a, b| carryless(a, b));
        }

        #[target_feature(enable = $features)]
        pub fn places(sums: &mut [u128], coins: &[u64], u: &[&[u64]], v: &[&[u64]]) {
            cube(sums, coins, u, v, coins.len(), |sum, coin, u, v| {
                plus_products(sum, and(u, v), coin)
            });
        }

        #[target_feature(enable = $features)]
        pub fn line(sums: &mut [u128], u: &[Binary], v: &[Binary], corners: usize, len: usize) {
            let part = |x, j: usize| {
                let x: &[u64] = words_of(x);
                &x[(j * len).min(x.len())..((j + 1) * len).min(x.len())]
            };
            let of_u: Vec<_> = (0..corners).map(|j| part(u, j)).collect();
            let of_v: Vec<_> = (0..corners).rev().map(|j| part(v, j)).collect();
            cube(sums, &[], &of_u, &of_v, len, |sum, _, u, v| {
                plus_products(sum, u, v)
            });
        }

        /// Words of every corner that are taken at a time.
        type Line = [Vector; LINE];

        /// Adds to `sums` of every place of a cube what `step` makes of the coins and the words that are met there, of vectors
        /// of so many words. A line of all corners at a time is copied to where it stays in the first-level cache.
        #[target_feature(enable = $features)]
        #[inline]
        fn cube(
            sums: &mut [u128],
            coins: &[u64],
            u: &[&[u64]],
            v: &[&[u64]],
            words: usize,
            step: impl Fn(Vector, Vector, Vector, Vector) -> Vector,
        ) {
            let (zero, corners) = (zero(), u.len().max(SIDE));
            let mut all = vec![zero; sums.len().max(LEAF)];
            let [mut of_u, mut of_v] = [
                vec![[zero; LINE]; 2 * corners],
                vec![[zero; LINE]; 2 * corners],
            ];
            for at in (0..words).step_by(LANES * LINE) {
                for (lines, x) in [(&mut of_u, u), (&mut of_v, v)] {
                    for (to, x) in lines.iter_mut().zip(x) {
                        *to = line_at(x, at);
                    }
                }
                let (u, v) = (of_u.split_at_mut(corners), of_v.split_at_mut(corners));
                add_places(&mut all, &line_at(coins, at), (u.0, u.1), (v.0, v.1), &step);
            }
            for (sum, more) in sums.iter_mut().zip(all) {
                *sum ^= pairs_summed(more);
            }
        }

        /// The words from the `at`-th on, and zeros where there are none.
        #[target_feature(enable = $features)]
        #[inline]
        fn line_at(x: &[u64], at: usize) -> Line {
            let mut line = [zero(); LINE];
            for (i, line) in line.iter_mut().enumerate() {
                *line = load_some(&x[(at + LANES * i).min(x.len())..]);
            }
            line
        }

        /// Places of the smallest cube whose sums are added at a time.
        const LEAF: usize = 9;

        /// Adds to `sums` of every place of a cube, variable by variable: at 0 and at 1 those of the corners, at the highest
        /// coefficient their sums, which are made in the room beside the corners.
        #[target_feature(enable = $features)]
        fn add_places(
            sums: &mut [Vector],
            coins: &Line,
            (u, room_u): (&[Line], &mut [Line]),
            (v, room_v): (&[Line], &mut [Line]),
            step: &impl Fn(Vector, Vector, Vector, Vector) -> Vector,
        ) {
            if let (Ok(sums), Ok(u), Ok(v)) = (sums.try_into(), u.try_into(), v.try_into()) {
                return add_leaf(sums, coins, u, v, step);
            }
            let half = u.len() / 2;
            let ((u0, u1), (v0, v1)) = (u.split_at(half), v.split_at(half));
            let (u, room_u) = room_u.split_at_mut(half);
            let (v, room_v) = room_v.split_at_mut(half);
            sums_to(u, u0, u1);
            sums_to(v, v0, v1);
            let (at_0, rest) = sums.split_at_mut(sums.len() / 3);
            let (at_1, leading) = rest.split_at_mut(at_0.len());
            if half == SIDE {
                // Most of all cubes are so small: without three calls.
                for (sums, u, v) in [(at_0, u0, v0), (at_1, u1, v1), (leading, &*u, &*v)] {
                    if let (Ok(sums), Ok(u), Ok(v)) = (sums.try_into(), u.try_into(), v.try_into())
                    {
                        add_leaf(sums, coins, u, v, step);
                    }
                }
                return;
            }
            add_places(at_0, coins, (u0, room_u), (v0, room_v), step);
            add_places(at_1, coins, (u1, room_u), (v1, room_v), step);
            add_places(leading, coins, (u, room_u), (v, room_v), step);
        }

        /// `to = a + b`.
        #[target_feature(enable = $features)]
        #[inline]
        fn sums_to(to: &mut [Line], a: &[Line], b: &[Line]) {
            for (to, (a, b)) in to.iter_mut().zip(a.iter().zip(b)) {
                for (to, (a, b)) in to.iter_mut().zip(a.iter().zip(b)) {
                    *to = xor(*a, *b);
                }
            }
        }

        /// [`add_places`] of four corners.
        #[target_feature(enable = $features)]
        #[inline]
        fn add_leaf(
            sums: &mut [Vector; LEAF],
            coins: &Line,
            u: &[Line; SIDE],
            v: &[Line; SIDE],
            step: &impl Fn(Vector, Vector, Vector, Vector) -> Vector,
        ) {
            for i in 0..LINE {
                let xor = |a, b| xor(a, b);
                let u = at_places([u[0][i], u[1][i], u[2][i], u[3][i]], xor);
                let v = at_places([v[0][i], v[1][i], v[2][i], v[3][i]], xor);
                for (sum, (u, v)) in sums.iter_mut().zip(u.into_iter().zip(v)) {
                    *sum = step(*sum, coins[i], u, v);
                }
            }
        }

        /// What is whole of every vector, and what is left of it.
        fn wholes<'a>(x: &[&'a [u64]]) -> (Vec<Part<'a>>, Vec<&'a [u64]>) {
            x.iter().map(|x| x.as_chunks()).unzip()
        }

        #[target_feature(enable = $features)]
        pub fn products(sums: &mut [u128], u: &[Binary], v: &[Binary], parts: usize, len: usize) {
            let mut room = [Vec::new(), Vec::new()];
            let [of_u, of_v] = &mut room;
            let (u, v) = (parts_of(u, len, parts, of_u), parts_of(v, len, parts, of_v));
            add_pairs(sums, &u, &v, |_, sum, u, v| plus_products(sum, u, v));
        }

        /// `x` as `parts` parts of `len` elements, each a register's words at a time: where it lies if all are whole, else in
        /// `room`, with zeros where `x` has no elements.
        fn parts_of<'a>(
            x: &'a [Binary],
            len: usize,
            parts: usize,
            room: &'a mut Vec<Vec<[u64; LANES]>>,
        ) -> Vec<Part<'a>> {
            if len.is_multiple_of(LANES) && x.len() == parts * len {
                let parts = words_of(x).chunks_exact(len);
                return parts.map(|part| part.as_chunks().0).collect();
            }
            *room = padded(x, len, parts);
            room.iter().map(|part| &part[..]).collect()
        }

        /// `x` as `parts` parts of `len` elements, with zeros.
        fn padded(x: &[Binary], len: usize, parts: usize) -> Vec<Vec<[u64; LANES]>> {
            let mut all = vec![vec![[0; LANES]; len.div_ceil(LANES)]; parts];
            for (to, part) in all.iter_mut().zip(words_of(x).chunks(len)) {
                to.as_flattened_mut()[..part.len()].copy_from_slice(part);
            }
            all
        }

        #[target_feature(enable = $features)]
        pub fn combine(out: &mut [Binary], c: &[Binary], x: &[&[Binary]]) {
            let (chunks, rest) = words_of_mut(out).as_chunks_mut();
            for (at, out) in chunks.iter_mut().enumerate() {
                let mut ends = [zero(); 2];
                for (c, x) in c.iter().zip(x) {
                    let (c, x) = (
                        all(c.0 as i64),
                        load_some(&words_of(x)[(LANES * at).min(x.len())..]),
                    );
                    let even = carryless_products::<0x00>(c, x);
                    let odd = carryless_products::<0x11>(c, x);
                    ends = [xor(ends[0], even), xor(ends[1], odd)];
                }
                store(out, reduced(ends));
            }
            let start = LANES * chunks.len();
            for (at, out) in rest.iter_mut().enumerate() {
                let values = x.iter().map(|x| x.get(start + at).map_or(0, |x| x.0));
                let products = c.iter().zip(values).map(|(c, x)| carryless(c.0, x));
                *out = reduce(products.fold(0, |sum, product| sum ^ product));
            }
        }

        /// The first words, and zeros where there are none.
        #[target_feature(enable = $features)]
        #[inline]
        fn load_some(x: &[u64]) -> Vector {
            match x.as_chunks().0.first() {
                Some(whole) => load(whole),
                None => {
                    let mut some = [0; LANES];
                    some[..x.len()].copy_from_slice(x);
                    load(&some)
                }
            }
        }
    };
}

/// Two products to two registers.
pub mod by_128 {
    use std::arch::x86_64::{
        __m128i as Vector, _mm_and_si128 as and, _mm_clmulepi64_si128 as carryless_products,
        _mm_loadu_si128 as load_any, _mm_set1_epi64x as all, _mm_setzero_si128 as zero,
        _mm_slli_epi64 as left, _mm_srli_epi64 as right, _mm_storeu_si128 as store_any,
        _mm_unpackhi_epi64 as unpack_high, _mm_unpacklo_epi64 as unpack_low, _mm_xor_si128 as xor,
    };

    use super::{pairs_of_128 as pairs_summed, *};

    /// Elements that a vector holds.
    const LANES: usize = 2;
    /// Vectors of a line of the cache.
    const LINE: usize = 4;

    kernels!("pclmulqdq,avx2");
}

/// Four products to two registers.
pub mod by_256 {
    use std::arch::x86_64::{
        __m256i as Vector, _mm256_and_si256 as and, _mm256_clmulepi64_epi128 as carryless_products,
        _mm256_loadu_si256 as load_any, _mm256_set1_epi64x as all, _mm256_setzero_si256 as zero,
        _mm256_slli_epi64 as left, _mm256_srli_epi64 as right, _mm256_storeu_si256 as store_any,
        _mm256_unpackhi_epi64 as unpack_high, _mm256_unpacklo_epi64 as unpack_low,
        _mm256_xor_si256 as xor,
    };

    use super::{pairs_of_256 as pairs_summed, *};

    /// Elements that a vector holds.
    const LANES: usize = 4;
    /// Vectors of a line of the cache.
    const LINE: usize = 2;

    kernels!("vpclmulqdq,pclmulqdq,avx2");
}

/// Eight products to two registers.
pub mod by_512 {
    use std::arch::x86_64::{
        __m512i as Vector, _mm512_and_si512 as and, _mm512_clmulepi64_epi128 as carryless_products,
        _mm512_loadu_si512 as load_any, _mm512_set1_epi64 as all, _mm512_setzero_si512 as zero,
        _mm512_slli_epi64 as left, _mm512_srli_epi64 as right, _mm512_storeu_si512 as store_any,
        _mm512_unpackhi_epi64 as unpack_high, _mm512_unpacklo_epi64 as unpack_low,
        _mm512_xor_si512 as xor,
    };

    use super::{pairs_of_512 as pairs_summed, *};

    /// Elements that a vector holds.
    const LANES: usize = 8;
    /// Vectors of a line of the cache.
    const LINE: usize = 1;

    kernels!("vpclmulqdq,pclmulqdq,avx2,avx512f");
}

/// The pair of words.
#[target_feature(enable = "sse2")]
#[inline]
fn pairs_of_128(pair: __m128i) -> u128 {
    let high = _mm_cvtsi128_si64(_mm_unpackhi_epi64(pair, pair)) as u64;
    u128::from(high) << 64 | u128::from(_mm_cvtsi128_si64(pair) as u64)
}

/// The sum of the pairs of words.
#[target_feature(enable = "avx2")]
#[inline]
fn pairs_of_256(sum: __m256i) -> u128 {
    let halves = [
        _mm256_castsi256_si128(sum),
        _mm256_extracti128_si256::<1>(sum),
    ];
    pairs_of_128(_mm_xor_si128(halves[0], halves[1]))
}

/// The sum of the pairs of words.
#[target_feature(enable = "avx512f,avx2")]
#[inline]
fn pairs_of_512(sum: __m512i) -> u128 {
    let halves = [
        _mm512_castsi512_si256(sum),
        _mm512_extracti64x4_epi64::<1>(sum),
    ];
    pairs_of_256(_mm256_xor_si256(halves[0], halves[1]))
}
