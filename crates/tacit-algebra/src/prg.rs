//! Expansion of seeds: AES-128 in counter mode.

use std::fmt;

use aes::Aes128;
use aes::cipher::{Array, BlockCipherEncrypt, KeyInit};
use zeroize::Zeroize;

use crate::{BitRows, Bits, Ring, par};

const BLOCK: usize = 16;

/// A pseudorandom stream. Two holders of one seed that make the same calls get the same values.
///
/// Every call starts at a block that no call has used: there is no way to go back, and no copy
/// can be made, so no part of the stream is ever handed out twice.
pub struct Prg {
    cipher: Aes128,
    counter: u128,
}

impl fmt::Debug for Prg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Prg")
    }
}

/// Writes the blocks of the stream from `counter` on.
fn keystream(cipher: &Aes128, counter: u128, out: &mut [u8]) {
    let mut counter = counter;
    let mut next = || {
        let block = Array::from(counter.to_be_bytes());
        counter = counter.wrapping_add(1);
        block
    };
    let (blocks, tail) = Array::slice_as_chunks_mut(out);
    // The counters stay in the first-level cache until they are encrypted.
    for blocks in blocks.chunks_mut(256) {
        blocks.iter_mut().for_each(|block| *block = next());
        cipher.encrypt_blocks(blocks);
    }
    if !tail.is_empty() {
        let mut last = next();
        cipher.encrypt_block(&mut last);
        tail.copy_from_slice(&last[..tail.len()]);
    }
}

impl Prg {
    /// The stream of `seed`, from its start.
    pub fn new(mut seed: [u8; 16]) -> Self {
        let cipher = Aes128::new(&seed.into());
        seed.zeroize();
        Prg { cipher, counter: 0 }
    }

    /// Reserves the blocks for `bytes` bytes and returns the first one's number.
    fn take(&mut self, bytes: usize) -> u128 {
        let first = self.counter;
        self.counter += bytes.div_ceil(BLOCK) as u128;
        first
    }

    /// Fills `out`.
    pub fn fill(&mut self, out: &mut [u8]) {
        let first = self.take(out.len());
        let cipher = &self.cipher;
        par::for_each(out, |s, part| {
            keystream(cipher, first + (s / BLOCK) as u128, part)
        });
    }

    /// `n` uniform ring elements.
    pub fn ring<R: Ring>(&mut self, n: usize) -> Vec<R> {
        let mut out = vec![R::ZERO; n];
        self.fill(bytemuck::cast_slice_mut(&mut out));
        out
    }

    /// `n` uniform bits.
    pub fn bits(&mut self, n: usize) -> Bits {
        Bits::from_words(n, self.ring(n.div_ceil(64)))
    }

    /// A matrix of uniform bits.
    pub fn bit_rows(&mut self, rows: usize, cols: usize) -> BitRows {
        BitRows::from_words(rows, cols, self.ring(rows * cols.div_ceil(64)))
    }

    /// `n` residues, exactly uniform in `0..p`.
    pub fn prime(&mut self, p: u8, n: usize) -> Vec<u8> {
        self.below(p, 0, n)
    }

    /// `n` residues, exactly uniform in `1..p`.
    pub fn prime_nonzero(&mut self, p: u8, n: usize) -> Vec<u8> {
        self.below(p - 1, 1, n)
    }

    /// `n` values `offset + v`, `v` exactly uniform in `0..bound`.
    ///
    /// A 16-bit draw `r` gives `floor(r bound / 2^16)` unless `r bound mod 2^16` is below
    /// `2^16 mod bound`: what is left has equally many draws for each value (Lemire 2019).
    /// Refused places are drawn again, in order, from the blocks that follow.
    fn below(&mut self, bound: u8, offset: u8, n: usize) -> Vec<u8> {
        let mut out = vec![0; n];
        let mut todo: Vec<usize> = (0..n).collect();
        while !todo.is_empty() {
            let draws = self.ring::<u16>(todo.len());
            let mut refused = Vec::new();
            for (&i, r) in todo.iter().zip(draws) {
                let product = r as u32 * bound as u32;
                if (product & 0xffff) < 65536 % bound as u32 {
                    refused.push(i);
                } else {
                    out[i] = offset + (product >> 16) as u8;
                }
            }
            todo = refused;
        }
        out
    }
}
