//! The primal learning-parity-with-noise step: a random local linear code over blocks.

use aes::Aes128;
use aes::cipher::KeyInit;

use crate::isa::{self, simd};
use crate::par;
use crate::prg::{BLOCK, keystream};

/// Entries of the secret that make one output.
pub const LOCALITY: usize = 10;

/// Outputs whose places are expanded at once.
const STRIP: usize = 256;

/// Bytes of the places of one output.
const PLACES: usize = LOCALITY * size_of::<u32>();

/// Outputs whose entries are fetched before they are added: as many as a core waits for at once.
const AHEAD: usize = 6;

simd! {
    fn add_places(out: &mut [u128], places: &[[u32; LOCALITY]], secret: &[u128]) {
        let mask = secret.len() - 1;
        for (i, (out, own)) in out.iter_mut().zip(places).enumerate() {
            for place in places.get(i + AHEAD).into_iter().flatten() {
                fetch(&secret[*place as usize & mask]);
            }
            let mut sum = *out;
            for place in own {
                sum ^= secret[*place as usize & mask];
            }
            *out = sum;
        }
    }
}

/// Asks for the memory of an entry without waiting for it.
#[inline(always)]
fn fetch(entry: &u128) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has this, and it changes nothing.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(entry).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = entry;
}

/// Adds to every entry of `out` ten entries of `secret`, at places that a public seed tells.
///
/// # Panics
/// If the secret's length is not a power of two, or above `2^32`.
pub fn add_code(seed: [u8; 16], secret: &[u128], out: &mut [u128]) {
    assert!(secret.len().is_power_of_two() && secret.len() <= 1 << 32);
    let (isa, cipher) = (isa::current(), Aes128::new(&seed.into()));
    par::for_each(out, |start, part| {
        let mut places = [[0; LOCALITY]; STRIP];
        for (strip, part) in part.chunks_mut(STRIP).enumerate() {
            let block = (start + strip * STRIP) * PLACES / BLOCK;
            let places = &mut places[..part.len()];
            let bytes = bytemuck::cast_slice_mut(places.as_flattened_mut());
            keystream(isa, &cipher, block as u128, bytes);
            add_places(isa, part, places, secret);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Prg;
    use crate::isa::same_everywhere;

    #[test]
    fn outputs_are_sums_of_ten_places() {
        let secret: Vec<u128> = (0..64).map(|i| 1 << i).collect();
        for n in [0, 1, 255, 257, 70_001] {
            let out = same_everywhere(|| {
                let mut out = vec![1 << 100; n];
                add_code([3; 16], &secret, &mut out);
                out
            });
            let places: Vec<u32> = Prg::new([3; 16]).ring(LOCALITY * n);
            for (out, places) in out.iter().zip(places.chunks(LOCALITY)) {
                let sum = places
                    .iter()
                    .fold(1 << 100, |sum, p| sum ^ secret[*p as usize % 64]);
                assert_eq!(*out, sum);
            }
        }
    }
}
