//! Uniform field elements from seeds.

use std::sync::{Mutex, PoisonError};

use super::Field;
use crate::isa::{self, simd};
use crate::prg::{BLOCK, keystream};
use crate::{Prg, par};

/// Elements that are expanded at once.
const STRIP: usize = 2048;

impl Prg {
    /// `n` field elements, exactly uniform.
    ///
    /// An element is the low `l` bits of its place's word. Places where these are `p` are drawn
    /// again, in order, from the blocks that follow.
    pub fn field<F: Field>(&mut self, n: usize) -> Vec<F> {
        let isa = isa::current();
        let first = self.take(n * F::BYTES);
        let cipher = &self.cipher;
        let refused = Mutex::new(Vec::new());
        let mut out = vec![F::ZERO; n];
        par::for_each(&mut out, |start, part| {
            for (strip, part) in part.chunks_mut(STRIP).enumerate() {
                let start = start + strip * STRIP;
                let block = first + (start * F::BYTES / BLOCK) as u128;
                keystream(isa, cipher, block, bytemuck::cast_slice_mut(part));
                if mask(isa, part) {
                    let places = part.iter().enumerate();
                    let places = places.filter(|(_, v)| v.to_u64() == F::P);
                    let mut refused = refused.lock().unwrap_or_else(PoisonError::into_inner);
                    refused.extend(places.map(|(i, _)| start + i));
                }
            }
        });
        let mut refused = refused.into_inner().unwrap_or_else(PoisonError::into_inner);
        refused.sort_unstable();
        while !refused.is_empty() {
            let mut draws = vec![F::ZERO; refused.len()];
            self.fill(bytemuck::cast_slice_mut(&mut draws));
            mask(isa, &mut draws);
            let mut still = Vec::new();
            for (place, draw) in refused.into_iter().zip(draws) {
                out[place] = draw;
                if draw.to_u64() == F::P {
                    still.push(place);
                }
            }
            refused = still;
        }
        out
    }
}

simd! {
    /// Keeps `l` bits of words that are not elements yet; tells whether one is then `p`.
    fn mask<F: Field>(words: &mut [F]) -> bool {
        let mut refused = 0;
        for word in words.iter_mut() {
            *word = word.low_bits();
            refused |= (word.to_u64() == F::P) as u8;
        }
        refused != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::same_everywhere;
    use crate::mersenne::on_every_field;

    /// Drawn one after the other as documented.
    fn definition<F: Field>() {
        for n in [0, 1, 63, 65, 2047, 2049, 100_003] {
            let mut prg = Prg::new([10; 16]);
            let (mut expected, mut places) = (vec![0; n], (0..n).collect::<Vec<_>>());
            while !places.is_empty() {
                let mut words = vec![0; places.len() * F::BYTES];
                prg.fill(&mut words);
                let mut again = Vec::new();
                for (place, word) in places.into_iter().zip(words.chunks(F::BYTES)) {
                    let mut wide = [0; 8];
                    wide[..F::BYTES].copy_from_slice(word);
                    expected[place] = u64::from_le_bytes(wide) & F::P;
                    if expected[place] == F::P {
                        again.push(place);
                    }
                }
                places = again;
            }
            let next = prg.ring::<u64>(1);
            let draw = || {
                let mut prg = Prg::new([10; 16]);
                (prg.field::<F>(n), prg.ring::<u64>(1))
            };
            let (out, after) = same_everywhere(draw);
            assert!(out.iter().map(|v| v.to_u64()).eq(expected), "n = {n}");
            assert_eq!(after, next, "positions differ after {n}");
            let one = rayon::ThreadPoolBuilder::new()
                .num_threads(1)
                .build()
                .unwrap();
            assert!(one.install(draw) == draw());
        }
    }

    #[test]
    fn places_are_drawn_as_documented() {
        on_every_field!(definition);
    }

    /// Chi-square of the frequencies of the upper bits; the bound is exceeded with probability
    /// below 1e-6 by a uniform source, and this one is fixed.
    fn uniform<F: Field>() {
        let (n, shift) = (1 << 20, F::BITS.saturating_sub(7));
        let out = Prg::new([9; 16]).field::<F>(n);
        let mut counts = [0f64; 128];
        out.iter()
            .for_each(|v| counts[(v.to_u64() >> shift) as usize] += 1.0);
        let kinds = 128.min(F::P) as f64;
        let expected = n as f64 / kinds;
        let used = &counts[..kinds as usize];
        assert_eq!(used.iter().sum::<f64>(), n as f64, "out of range");
        let chi: f64 = used.iter().map(|c| (c - expected).powi(2) / expected).sum();
        assert!(chi < kinds + 5.5 * (2.0 * kinds).sqrt() + 10.0, "{chi}");
    }

    #[test]
    fn elements_are_uniform() {
        on_every_field!(uniform);
    }
}
