//! Field elements as bytes.

use std::sync::atomic::{AtomicBool, Ordering};

use super::Field;
use crate::fresh::build;
use crate::isa::{self, simd};

simd! {
    /// Whether all words are below `p`.
    fn canonical<F: Field>(words: &[F]) -> bool {
        let mut bad = 0;
        for word in words {
            bad |= (word.to_u64() >= F::P) as u8;
        }
        bad == 0
    }
}

/// Little-endian words of [`Field::BYTES`].
pub fn to_wire<F: Field>(v: &[F]) -> Vec<u8> {
    bytemuck::cast_slice(v).to_vec()
}

/// The inverse of [`to_wire`] for `n` elements; `None` if the length is wrong or a word is `p` or
/// more.
pub fn from_wire<F: Field>(bytes: &[u8], n: usize) -> Option<Vec<F>> {
    if n.checked_mul(F::BYTES)? != bytes.len() {
        return None;
    }
    let (isa, good) = (isa::current(), AtomicBool::new(true));
    let out = build(n, |s, out: &mut [F]| {
        let from = &bytes[s * F::BYTES..][..out.len() * F::BYTES];
        bytemuck::cast_slice_mut(out).copy_from_slice(from);
        if !canonical(isa, out) {
            good.store(false, Ordering::Relaxed);
        }
    });
    good.into_inner().then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::same_everywhere;
    use crate::mersenne::{on_every_field, sample};

    fn both_ways<F: Field>() {
        for n in [0, 1, 63, 64, 65, 70_001] {
            let v = sample::<F>(1, n);
            let bytes = to_wire(&v);
            assert_eq!(bytes.len(), n * F::BYTES);
            for (word, v) in bytes.chunks(F::BYTES).zip(&v) {
                assert_eq!(word, &v.to_u64().to_le_bytes()[..F::BYTES]);
            }
            assert!(same_everywhere(|| from_wire::<F>(&bytes, n)) == Some(v));
        }
    }

    fn hostile<F: Field>() {
        for n in [1, 7, 64, 65, 70_001] {
            let bytes = to_wire(&vec![F::from_u64(F::P - 1); n]);
            assert!(from_wire::<F>(&bytes, n).is_some());
            assert!(from_wire::<F>(&bytes, n + 1).is_none());
            assert!(from_wire::<F>(&bytes[1..], n).is_none());
            assert!(from_wire::<F>(&[&bytes[..], &[0]].concat(), n).is_none());
            for place in [0, n / 2, n - 1] {
                for bad in [F::P, F::P + 1, u64::MAX] {
                    let mut bytes = bytes.clone();
                    bytes[place * F::BYTES..][..F::BYTES]
                        .copy_from_slice(&bad.to_le_bytes()[..F::BYTES]);
                    let read = same_everywhere(|| from_wire::<F>(&bytes, n));
                    assert!(read.is_none(), "{bad} at {place} of {n}");
                }
            }
        }
        assert!(from_wire::<F>(&[], usize::MAX).is_none());
    }

    #[test]
    fn words_survive() {
        on_every_field!(both_ways);
    }

    #[test]
    fn what_is_no_element_is_refused() {
        on_every_field!(hostile);
    }
}
