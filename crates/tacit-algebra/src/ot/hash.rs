//! The hash that breaks the correlation of OTs.

use aes::Aes128;
use aes::cipher::{Array, BlockCipherEncrypt, KeyInit};

use rayon::prelude::*;

use super::Block;
use crate::Bits;
use crate::isa::{self, simd};

/// Blocks that are hashed at once: as many as the widest processors encrypt in parallel.
const STRIP: usize = 64;

/// `pi(pi(x) ^ i) ^ pi(x)` with AES under a session's key for `pi`: a tweakable circular
/// correlation-robust hash for a random permutation (Guo, Katz, Wang, Yu: "Efficient and Secure
/// Multiparty Computation from Fixed-Key Block Ciphers", S&P 2020, section 7.4).
pub struct Hash(Aes128);

impl Hash {
    /// The hash of a session, whose key need not be secret.
    pub fn new(key: [u8; 16]) -> Self {
        Hash(Aes128::new(&key.into()))
    }

    /// Replaces block `i` by its hash under `tweak(i)`.
    #[inline]
    pub(super) fn all(&self, blocks: &mut [Block], tweak: impl Fn(usize) -> Block) {
        let (strips, rest) = blocks.as_chunks_mut();
        let whole = strips.len() * STRIP;
        for (strip, s) in strips.iter_mut().zip((0..).step_by(STRIP)) {
            self.strip(strip, |i| tweak(s + i));
        }
        if !rest.is_empty() {
            let mut strip = [0; STRIP];
            strip[..rest.len()].copy_from_slice(rest);
            self.strip(&mut strip, |i| tweak(whole + i));
            rest.copy_from_slice(&strip[..rest.len()]);
        }
    }

    #[inline]
    fn strip(&self, strip: &mut [Block; STRIP], tweak: impl Fn(usize) -> Block) {
        self.permute(strip);
        let once = *strip;
        for (i, block) in strip.iter_mut().enumerate() {
            *block ^= tweak(i);
        }
        self.permute(strip);
        for (block, once) in strip.iter_mut().zip(once) {
            *block ^= once;
        }
    }

    fn permute(&self, blocks: &mut [Block; STRIP]) {
        let bytes: &mut [[u8; 16]] = bytemuck::cast_slice_mut(blocks);
        self.0
            .encrypt_blocks(Array::cast_slice_from_core_mut(bytes));
    }
}

simd! {
    /// The two lowest bits of up to 64 blocks, as two words.
    fn low_bits(blocks: &[Block]) -> [u64; 2] {
        let mut words = [0; 2];
        for (block, i) in blocks.iter().zip(0..) {
            words[0] |= (*block as u64 & 1) << i;
            words[1] |= (*block as u64 >> 1 & 1) << i;
        }
        words
    }
}

/// `k` vectors of bits: the low bits of the hash of every block under `delta`, whose numbers
/// count from `first`.
pub fn bit_pads(
    hash: &Hash,
    (first, blocks): (u64, &[Block]),
    delta: Block,
    k: usize,
) -> Vec<Bits> {
    let isa = isa::current();
    let strips: Vec<[u64; 2]> = blocks
        .par_chunks(STRIP)
        .with_min_len(16)
        .enumerate()
        .map(|(s, strip)| {
            let mut hashed = [0; STRIP];
            let hashed = &mut hashed[..strip.len()];
            for (hashed, block) in hashed.iter_mut().zip(strip) {
                *hashed = block ^ delta;
            }
            hash.all(hashed, |i| Block::from(first + (s * STRIP + i) as u64));
            low_bits(isa, hashed)
        })
        .collect();
    assert!(k <= 2);
    let words = |of: usize| strips.iter().map(|words| words[of]).collect();
    (0..k)
        .map(|of| Bits::from_words(blocks.len(), words(of)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_its_definition() {
        let hash = Hash::new([3; 16]);
        let pi = |x: u128| {
            let mut block = Array::from(x.to_le_bytes());
            hash.0.encrypt_block(&mut block);
            u128::from_le_bytes(block.into())
        };
        for n in [0usize, 1, 63, 64, 65, 300] {
            let mut blocks: Vec<u128> = (0..n as u128).map(|i| (i * i) << 70 | i).collect();
            let expected: Vec<u128> = blocks
                .iter()
                .enumerate()
                .map(|(i, x)| pi(pi(*x) ^ (i as u128 + 9)) ^ pi(*x))
                .collect();
            hash.all(&mut blocks, |i| i as u128 + 9);
            assert!(blocks == expected);
        }
    }
}
