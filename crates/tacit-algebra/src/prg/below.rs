//! Residues drawn exactly uniformly.

use std::sync::{Mutex, PoisonError};

use bytemuck::{Pod, Zeroable};

use super::{BLOCK, Prg, keystream};
use crate::fresh::build;
use crate::isa::{Isa, simd};

/// A word that holds residues, and how one is drawn.
///
/// A draw `r` of `w` bits gives `floor(r bound / 2^w)` unless `r bound mod 2^w` is below
/// `2^w mod bound`: what is left has equally many draws for each value (Lemire 2019).
pub(crate) trait Residue: Pod + Send + Sync {
    /// What a residue is made of.
    type Draw: Pod + Send + Sync;

    /// The value of a draw, plus `offset`.
    fn scaled(draw: Self::Draw, bound: Self, offset: Self) -> Self;
    /// `2^w mod bound`.
    fn spare(bound: Self) -> Self::Draw;
    /// Whether a draw would make its value more likely than others.
    fn refuses(draw: Self::Draw, bound: Self, spare: Self::Draw) -> bool;
}

macro_rules! residue {
    ($word:ty, $draw:ty, $high:expr) => {
        impl Residue for $word {
            type Draw = $draw;

            #[inline(always)]
            fn scaled(draw: $draw, bound: $word, offset: $word) -> $word {
                let high: fn($draw, $word) -> $draw = $high;
                offset + high(draw, bound) as $word
            }
            #[inline(always)]
            fn spare(bound: $word) -> $draw {
                (bound as $draw).wrapping_neg() % bound as $draw
            }
            #[inline(always)]
            fn refuses(draw: $draw, bound: $word, spare: $draw) -> bool {
                draw.wrapping_mul(bound as $draw) < spare
            }
        }
    };
}

// Within words of 16 bits, of which a register holds twice as many.
residue!(u8, u16, |draw, bound| {
    let (high, low, bound) = (draw >> 8, draw & 255, bound as u16);
    (high * bound + ((low * bound) >> 8)) >> 8
});
residue!(u16, u16, |r, bound| ((r as u32 * bound as u32) >> 16)
    as u16);
residue!(u32, u32, |r, bound| ((r as u64 * bound as u64) >> 32)
    as u32);
residue!(u64, u64, |r, bound| ((r as u128 * bound as u128) >> 64)
    as u64);

/// Draws that are expanded at once.
const STRIP: usize = 2048;

/// Draws that are scaled before it is asked whether one was refused.
const GROUP: usize = 64;

impl Prg {
    /// `n` values `offset + v`, `v` exactly uniform in `0..bound`. Refused places are drawn again,
    /// in order, from the blocks that follow.
    pub(crate) fn below<T: Residue>(&mut self, isa: Isa, bound: T, offset: T, n: usize) -> Vec<T> {
        let size = size_of::<T::Draw>();
        let first = self.take(size * n);
        let cipher = &self.cipher;
        let spare = T::spare(bound);
        let refused = Mutex::new(Vec::new());
        let mut out = build(n, |start, part| {
            let mut draws = [T::Draw::zeroed(); STRIP];
            let mut marks = [false; STRIP / GROUP];
            for (strip, part) in part.chunks_mut(STRIP).enumerate() {
                let start = start + strip * STRIP;
                let block = first + (size * start / BLOCK) as u128;
                let bytes = bytemuck::cast_slice_mut(&mut draws[..part.len()]);
                keystream(isa, cipher, block, bytes);
                if !scale_draws(isa, part, &draws, bound, offset, spare, &mut marks) {
                    continue;
                }
                let mut refused = refused.lock().unwrap_or_else(PoisonError::into_inner);
                for i in (0..part.len()).step_by(GROUP).filter(|i| marks[i / GROUP]) {
                    let places = i..part.len().min(i + GROUP);
                    let places = places.filter(|&place| T::refuses(draws[place], bound, spare));
                    refused.extend(places.map(|place| start + place));
                }
            }
        });
        let mut refused = refused.into_inner().unwrap_or_else(PoisonError::into_inner);
        refused.sort_unstable();
        while !refused.is_empty() {
            let mut draws = vec![T::Draw::zeroed(); refused.len()];
            self.fill(bytemuck::cast_slice_mut(&mut draws));
            let mut still = Vec::new();
            for (place, draw) in refused.into_iter().zip(draws) {
                out[place] = T::scaled(draw, bound, offset);
                if T::refuses(draw, bound, spare) {
                    still.push(place);
                }
            }
            refused = still;
        }
        out
    }
}

simd! {
    /// Values from draws; tells whether one may have to be drawn again, and marks every group with
    /// such a one.
    fn scale_draws<T: Residue>(
        out: &mut [T],
        draws: &[T::Draw; STRIP],
        bound: T,
        offset: T,
        spare: T::Draw,
        marks: &mut [bool],
    ) -> bool {
        let scale = |values: &mut [T; GROUP], draws: &[T::Draw; GROUP]| {
            let mut refused = 0;
            for (value, &draw) in values.iter_mut().zip(draws) {
                *value = T::scaled(draw, bound, offset);
                refused |= T::refuses(draw, bound, spare) as u16;
            }
            refused != 0
        };
        let draws = draws.as_chunks().0;
        let (groups, rest) = out.as_chunks_mut();
        for ((values, draws), mark) in groups.iter_mut().zip(draws).zip(&mut *marks) {
            *mark = scale(values, draws);
        }
        if !rest.is_empty() {
            let mut values = [T::zeroed(); GROUP];
            marks[groups.len()] = scale(&mut values, &draws[groups.len()]);
            rest.copy_from_slice(&values[..rest.len()]);
        }
        marks[..out.len().div_ceil(GROUP)].contains(&true)
    }
}

/// Asserts by the chi-square of the frequencies that values are uniform in a range; the bound is
/// exceeded with probability below 1e-6 by a uniform source.
#[cfg(test)]
pub(crate) fn assert_uniform(values: impl Iterator<Item = u64>, range: std::ops::Range<u64>) {
    let (mut counts, mut n) = (vec![0f64; range.end as usize], 0f64);
    for v in values {
        assert!(range.contains(&v), "{v} is out of range");
        counts[v as usize] += 1.0;
        n += 1.0;
    }
    let kinds = (range.end - range.start) as f64;
    let expected = n / kinds;
    let used = &counts[range.start as usize..];
    let chi: f64 = used.iter().map(|c| (c - expected).powi(2) / expected).sum();
    let bound = kinds + 5.5 * (2.0 * kinds).sqrt() + 10.0;
    assert!(chi < bound, "{kinds} values: {chi}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::{self, same_everywhere};

    fn spread_evenly<T: Residue<Draw = u16> + Into<u64> + TryFrom<u64>>(bounds: &[u64]) {
        for &bound in bounds {
            let Ok(word) = T::try_from(bound) else {
                panic!("{bound} does not fit")
            };
            let (spare, mut counts) = (T::spare(word), vec![0; bound as usize]);
            (0..=u16::MAX)
                .filter(|r| !T::refuses(*r, word, spare))
                .for_each(|r| counts[T::scaled(r, word, T::zeroed()).into() as usize] += 1);
            assert_eq!(counts, vec![65536 / bound; bound as usize]);
        }
    }

    /// Every accepted draw counted: exactly as many for each value.
    #[test]
    fn accepted_draws_are_spread_evenly() {
        spread_evenly::<u8>(&[10, 11, 18, 19, 36, 37, 66, 67]);
        spread_evenly::<u16>(&[3, 9, 67, 520, 521, 4099, 32_771, 65_521]);
    }

    /// Drawn one after the other as documented.
    fn definition<T: Residue + PartialEq>(bound: T, offset: T, n: usize, least: usize) {
        let mut prg = Prg::new([10; 16]);
        let (mut expected, mut places) = (vec![T::zeroed(); n], (0..n).collect::<Vec<_>>());
        let (spare, mut rounds) = (T::spare(bound), 0);
        while !places.is_empty() {
            let mut draws = vec![T::Draw::zeroed(); places.len()];
            prg.fill(bytemuck::cast_slice_mut(&mut draws));
            let drawn = places.into_iter().zip(draws);
            let (again, done): (Vec<_>, Vec<_>) =
                drawn.partition(|(_, r)| T::refuses(*r, bound, spare));
            done.iter()
                .for_each(|&(place, r)| expected[place] = T::scaled(r, bound, offset));
            places = again.into_iter().map(|(place, _)| place).collect();
            rounds += 1;
        }
        assert!(rounds >= least, "{rounds}");
        let drawn = same_everywhere(|| {
            let mut other = Prg::new([10; 16]);
            (other.below(isa::current(), bound, offset, n), other.counter)
        });
        assert!(drawn == (expected, prg.counter));
    }

    /// Some places here are refused twice.
    #[test]
    fn refused_places_are_drawn_again() {
        definition(66u8, 1, 1 << 21, 3);
        definition(521u16, 0, 70_001, 3);
        definition(u32::MAX / 2 + 2, 7, 70_001, 3);
        definition((1u64 << 63) + 1, 0, 70_001, 3);
        definition(8_589_934_609u64, 0, 1001, 1);
    }

    #[test]
    fn residues_are_uniform() {
        let (n, isa) = (1 << 20, isa::current());
        let mut prg = Prg::new([9; 16]);
        for p in [11, 19, 37, 67] {
            let (any, nonzero) = (prg.prime(p, n), prg.prime_nonzero(p, n));
            assert_uniform(any.into_iter().map(u64::from), 0..p as u64);
            assert_uniform(nonzero.into_iter().map(u64::from), 1..p as u64);
        }
        let (narrow, wide) = (prg.below(isa, 520u16, 1, n), prg.below(isa, 1031u32, 0, n));
        assert_uniform(narrow.into_iter().map(u64::from), 1..521);
        assert_uniform(wide.into_iter().map(u64::from), 0..1031);
        assert_uniform(prg.below(isa, 131u64, 0, n).into_iter(), 0..131);
    }
}
