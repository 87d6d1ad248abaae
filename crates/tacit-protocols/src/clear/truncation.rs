//! Truncations whose error is that of the protocols, in the clear.
//!
//! ABY3's truncation (Bicoptor 2.0, Alg. 2) is a function of the value and of its mask alone:
//! `((x + r) >> k) - (r >> k)`, wrong by `2^{l-k}` where `x + r` leaves the ring. That error, the
//! paper's `e1`, has probability `|x| / 2^l` over uniform masks, and SecureML's (Alg. 1) has the
//! same. Public programs that fix the mask never see it; here both can be compared.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use tacit_algebra::{Prg, Ring, truncate, vec};

use crate::Error;

/// How the clear-text machine truncates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Truncating {
    /// Rounds down.
    #[default]
    Floor,
    /// ABY3's truncation with a fresh uniform mask for every element, as security needs it.
    RandomMasks,
    /// ABY3's truncation with one mask for all elements, known to everybody. It protects nothing,
    /// and it hides the large error. It shows what programs measure that fix the mask.
    FixedMaskInsecure,
}

/// How many truncations of a machine had the large error `e1` so far.
#[derive(Clone, Debug, Default)]
pub struct LargeErrors(Arc<AtomicU64>);

impl LargeErrors {
    /// The number of truncations with the large error so far.
    pub fn count(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// The truncation of one machine, and how often it failed.
#[derive(Default)]
pub(super) struct Truncator {
    kind: Truncating,
    /// The generator of random masks, if there are any.
    masks: Option<Prg>,
    large_errors: LargeErrors,
}

impl Truncator {
    pub(super) fn new(kind: Truncating) -> Result<Self, Error> {
        let masks = match kind {
            Truncating::RandomMasks => Some(seeded()?),
            _ => None,
        };
        Ok(Truncator {
            kind,
            masks,
            large_errors: LargeErrors::default(),
        })
    }

    pub(super) fn large_errors(&self) -> LargeErrors {
        self.large_errors.clone()
    }

    /// `x / 2^trunc` with the error of this kind.
    pub(super) fn truncate<R: Ring>(&mut self, x: Vec<R>, trunc: u32) -> Vec<R> {
        if trunc == 0 {
            return x;
        }
        let masks = match (self.kind, &mut self.masks) {
            (Truncating::Floor, _) => return vec::sar(&x, trunc),
            (_, Some(masks)) => masks.ring(x.len()),
            (_, None) => vec![insecure_mask(); x.len()],
        };
        let quotient = masked(&x, &masks, trunc);
        let large = truncate::large_errors(&x, &quotient, trunc);
        self.large_errors.0.fetch_add(large as u64, Relaxed);
        quotient
    }
}

/// ABY3's truncation under the masks `r`, by the kernel that Falcon's parties run on their shares.
fn masked<R: Ring>(x: &[R], r: &[R], trunc: u32) -> Vec<R> {
    let low_shifted = vec::shr(&vec::low_bits(r, R::BITS - 1), trunc);
    let msb = vec::shr(r, R::BITS - 1);
    truncate::signed(&vec::add(x, r), &low_shifted, &msb, trunc, true)
}

/// The mask of the programs that the paper examined, `2^26` of 64 bits, and its like of fewer.
/// It hides the error of either sign, since their shifts are signed as those of the kernel.
fn insecure_mask<R: Ring>() -> R {
    R::ONE.shl(R::BITS * 26 / 64)
}

fn seeded() -> Result<Prg, Error> {
    let mut seed = [0; 16];
    getrandom::fill(&mut seed).map_err(|e| Error::Randomness(e.to_string()))?;
    Ok(Prg::new(seed))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of `times` truncations of `x` of the 8-bit ring failed.
    fn failures(kind: Truncating, x: i8, trunc: u32, times: usize) -> u64 {
        let mut truncator = Truncator::new(kind).expect("randomness");
        let quotients = truncator.truncate(vec![x as u8; times], trunc);
        let far = |q: &u8| ![0, 1].contains(&(*q as i8).wrapping_sub(x >> trunc));
        let large = quotients.iter().filter(|q| far(q)).count();
        assert_eq!(
            truncator.large_errors().count(),
            large as u64,
            "{x} >> {trunc}"
        );
        large as u64
    }

    /// Every mask once gives the large error for exactly `|x|` of the 256.
    #[test]
    fn masks_fail_as_often_as_the_value_is_large() {
        let masks: Vec<u8> = (0..=255).collect();
        for (x, trunc) in (-64i8..64).flat_map(|x| (1..=6).map(move |trunc| (x, trunc))) {
            let x = [x as u8; 256];
            let large = truncate::large_errors(&x, &masked(&x, &masks, trunc), trunc);
            assert_eq!(large, usize::from((x[0] as i8).unsigned_abs()), "{}", x[0]);
        }
    }

    /// Random masks fail at the rate `|x| / 2^l`, within six standard errors.
    #[test]
    fn random_masks_fail_at_that_rate() {
        let times = 1 << 16;
        for x in [-64i8, -33, -1, 0, 1, 20, 63] {
            let rate = f64::from(x.unsigned_abs()) / 256.0;
            let expected = rate * times as f64;
            let found = failures(Truncating::RandomMasks, x, 3, times) as f64;
            let allowed = 6.0 * (expected * (1.0 - rate)).sqrt();
            assert!((found - expected).abs() <= allowed, "{x}: {found}");
        }
    }

    #[test]
    fn the_fixed_mask_hides_the_error() {
        for (x, trunc) in (-64i8..64).flat_map(|x| (1..=6).map(move |trunc| (x, trunc))) {
            assert_eq!(failures(Truncating::FixedMaskInsecure, x, trunc, 1), 0);
        }
    }

    #[test]
    fn the_floor_is_the_default() {
        let mut truncator = Truncator::default();
        assert_eq!(truncator.truncate(vec![-5i8 as u8, 5], 1), [-3i8 as u8, 2]);
        assert_eq!(truncator.truncate(vec![200u8], 0), [200]);
    }
}
