//! Dropout: which elements are dropped is public, drawn from a coin of all parties, so that it is a
//! local selection and a factor.

use tacit_protocols::machine::{Erased, Handle, Machine, PAD};

use super::smooth::scaled;
use crate::{Error, FixedPoint};

/// What the parties have drawn together: which elements a training drops.
pub type Coin = [u8; 32];

/// The kept elements of `n` in a step of a layer, and the padding where one is dropped, each with the
/// probability `p`.
pub(crate) fn kept(coin: &Coin, [step, layer]: [usize; 2], n: usize, p: f64) -> Vec<u32> {
    let mut hasher = blake3::Hasher::new_keyed(coin);
    hasher.update(&(step as u64).to_le_bytes());
    hasher.update(&(layer as u64).to_le_bytes());
    let mut bytes = vec![0; 4 * n];
    hasher.finalize_xof().fill(&mut bytes);
    let least = (p * 32f64.exp2()) as u64;
    let drawn = bytes
        .chunks_exact(4)
        .map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    let of = |(i, drawn): (usize, u32)| match u64::from(drawn) < least {
        true => PAD,
        false => i as u32,
    };
    drawn.enumerate().map(of).collect()
}

/// The kept elements over `1 - p`, and 0: of values and of gradients. 1 truncation where `1 / (1 - p)`
/// is no whole number.
pub(super) fn apply(
    machine: &mut Erased,
    fixed: FixedPoint,
    x: &Handle,
    kept: &[u32],
    p: f64,
) -> Result<Handle, Error> {
    let x = machine.gather(x, kept);
    scaled(machine, fixed, &x, (1.0 / (1.0 - p), 0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_are_dropped_as_asked_and_others_each_time() {
        for p in [0.1, 0.5, 0.75] {
            let first = kept(&[7; 32], [3, 2], 100_000, p);
            let dropped = first.iter().filter(|i| **i == PAD).count() as f64 / 1e5;
            assert!((dropped - p).abs() < 0.01, "{p}: {dropped}");
            assert_eq!(first, kept(&[7; 32], [3, 2], 100_000, p));
            for (coin, place) in [([7; 32], [4, 2]), ([7; 32], [3, 1]), ([8; 32], [3, 2])] {
                assert_ne!(first, kept(&coin, place, 100_000, p));
            }
        }
    }
}
