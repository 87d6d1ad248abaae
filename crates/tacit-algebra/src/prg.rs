//! Expansion of seeds: AES-128 in counter mode.

mod below;

use std::fmt;

use aes::Aes128;
use aes::cipher::{Array, BlockCipherEncrypt, KeyInit};
use zeroize::Zeroize;

pub(crate) use below::Residue;
#[cfg(test)]
pub(crate) use below::assert_uniform;

use crate::buffer::Sizes;
use crate::fresh::build;
use crate::isa::{self, Isa, simd};
use crate::{BitRows, Bits, Buffer, Ring, par, wipe};

pub(crate) const BLOCK: usize = 16;

/// A pseudorandom stream. Two streams of one seed give the same values to the same calls.
///
/// Every call starts at a block that no call has used: there is no way to go back, and no copy
/// can be made, so no part of the stream is ever handed out twice. Its key is on the heap, so that
/// moves leave no copies, and is wiped when it is dropped.
///
/// That of a party that counts draws sizes alone.
pub struct Prg {
    pub(crate) cipher: Box<Aes128>,
    pub(crate) counter: u128,
    counts: bool,
}

impl fmt::Debug for Prg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Prg")
    }
}

simd! {
    /// Writes the numbers of the blocks from `first` on.
    pub(crate) fn number(blocks: &mut [[u8; BLOCK]], first: u128) {
        let (high, low) = ((first >> 64) as u64, first as u64);
        for (block, i) in blocks.iter_mut().zip(0..) {
            let (low, carry) = low.overflowing_add(i);
            let words = [high.wrapping_add(carry as u64), low].map(u64::to_be);
            block.copy_from_slice(bytemuck::bytes_of(&words));
        }
    }
}

/// Writes the blocks of the stream from `counter` on.
pub(crate) fn keystream(isa: Isa, cipher: &Aes128, counter: u128, out: &mut [u8]) {
    let (blocks, tail) = out.as_chunks_mut();
    // The counters stay in the first-level cache until they are encrypted.
    for (blocks, i) in blocks.chunks_mut(256).zip(0..) {
        number(isa, blocks, counter.wrapping_add(256 * i));
        cipher.encrypt_blocks(Array::cast_slice_from_core_mut(blocks));
    }
    if !tail.is_empty() {
        let last = counter.wrapping_add(blocks.len() as u128);
        let mut last = Array::from(last.to_be_bytes());
        cipher.encrypt_block(&mut last);
        tail.copy_from_slice(&last[..tail.len()]);
    }
}

impl Prg {
    /// The stream of `seed`, from its start.
    pub fn new(mut seed: [u8; 16]) -> Self {
        let cipher = wipe::after(|| Box::new(Aes128::new((&seed).into())));
        seed.zeroize();
        Prg {
            cipher,
            counter: 0,
            counts: false,
        }
    }

    /// The stream of a seed that was drawn or heard; without values if the seed has none.
    ///
    /// # Panics
    /// If the seed has not 16 bytes.
    pub fn of_seed(seed: &Buffer<u8>) -> Self {
        assert_eq!(seed.len(), 16);
        match seed.is_counted() {
            true => Prg::counting(),
            false => Prg::new(std::array::from_fn(|i| seed[i])),
        }
    }

    /// A stream without values, of which only sizes can be drawn.
    pub fn counting() -> Self {
        Prg {
            counts: true,
            ..Prg::new([0; 16])
        }
    }

    /// Whether this stream has no values, so that only sizes are counted.
    pub fn counts(&self) -> bool {
        self.counts
    }

    /// Reserves the blocks for `bytes` bytes and returns the first one's number.
    ///
    /// # Panics
    /// If the stream has no values.
    pub(crate) fn take(&mut self, bytes: usize) -> u128 {
        assert!(!self.counts, "only sizes can be drawn of this stream");
        let first = self.counter;
        self.counter += bytes.div_ceil(BLOCK) as u128;
        first
    }

    /// Generators for the parts of a call that each make draws of their own, whatever the thread.
    pub(crate) fn parts(&mut self) -> Parts {
        let mut seed = [0; 16];
        self.fill(&mut seed);
        let cipher = wipe::after(|| Box::new(Aes128::new((&seed).into())));
        seed.zeroize();
        Parts(cipher)
    }

    /// Fills `out`.
    pub fn fill(&mut self, out: &mut [u8]) {
        let isa = isa::current();
        let first = self.take(out.len());
        let cipher = &self.cipher;
        par::for_each(out, |s, part| {
            keystream(isa, cipher, first + (s / BLOCK) as u128, part)
        });
    }

    /// `n` uniform ring elements.
    pub fn ring<R: Ring>(&mut self, n: usize) -> Vec<R> {
        let isa = isa::current();
        let first = self.take(n * size_of::<R>());
        let cipher = &self.cipher;
        build(n, |s, part| {
            let block = first + (s * size_of::<R>() / BLOCK) as u128;
            keystream(isa, cipher, block, bytemuck::cast_slice_mut(part));
        })
    }

    /// What is drawn by `draw`, unless only its size can be.
    fn buffer<T>(&mut self, n: usize, draw: impl FnOnce(&mut Self) -> Vec<T>) -> Buffer<T> {
        match self.counts {
            true => Buffer::counted(n),
            false => draw(self).into(),
        }
    }

    /// [`Prg::ring`] as a buffer.
    pub fn words<R: Ring>(&mut self, n: usize) -> Buffer<R> {
        self.buffer(n, |prg| prg.ring(n))
    }

    /// [`Prg::prime`] as a buffer.
    pub fn residues(&mut self, p: u8, n: usize) -> Buffer<u8> {
        self.buffer(n, |prg| prg.prime(p, n))
    }

    /// [`Prg::prime_nonzero`] as a buffer.
    pub fn residues_nonzero(&mut self, p: u8, n: usize) -> Buffer<u8> {
        self.buffer(n, |prg| prg.prime_nonzero(p, n))
    }

    /// `n` uniform bits.
    pub fn bits(&mut self, n: usize) -> Bits {
        if self.counts {
            return Bits::counted(n);
        }
        Bits::from_words(n, self.ring(n.div_ceil(64)))
    }

    /// A matrix of uniform bits.
    pub fn bit_rows(&mut self, rows: usize, cols: usize) -> BitRows {
        if self.counts {
            return BitRows::counted(rows, cols);
        }
        BitRows::from_words(rows, cols, self.ring(rows * cols.div_ceil(64)))
    }

    /// `n` residues, exactly uniform in `0..p`.
    pub fn prime(&mut self, p: u8, n: usize) -> Vec<u8> {
        self.below(isa::current(), p, 0, n)
    }

    /// `n` residues, exactly uniform in `1..p`.
    pub fn prime_nonzero(&mut self, p: u8, n: usize) -> Vec<u8> {
        self.below(isa::current(), p - 1, 1, n)
    }
}

/// Generators under a common key: part `i` starts at block `i 2^64`.
pub(crate) struct Parts(Box<Aes128>);

impl Parts {
    /// The generator of part `i`, from its start: to be taken once.
    pub(crate) fn part(&self, i: usize) -> Prg {
        Prg {
            cipher: self.0.clone(),
            counter: (i as u128) << 64,
            counts: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::same_everywhere;

    fn hex(text: &str) -> Vec<u8> {
        let digits = text
            .as_bytes()
            .chunks(2)
            .map(|pair| std::str::from_utf8(pair).unwrap());
        digits
            .map(|pair| u8::from_str_radix(pair, 16).unwrap())
            .collect()
    }

    /// NIST SP 800-38A, F.5.1: CTR-AES128, from its initial counter.
    #[test]
    fn counter_mode_is_the_standards() {
        let key: [u8; 16] = hex("2b7e151628aed2a6abf7158809cf4f3c").try_into().unwrap();
        let plain = hex(concat!(
            "6bc1bee22e409f96e93d7e117393172a",
            "ae2d8a571e03ac9c9eb76fac45af8e51",
            "30c81c46a35ce411e5fbc1191a0a52ef",
            "f69f2445df4f9b17ad2b417be66c3710"
        ));
        let cipher = hex(concat!(
            "874d6191b620e3261bef6864990db6ce",
            "9806f66b7970fdff8617187bb9fffdff",
            "5ae4df3edbd5d35e5b4f09020db03eab",
            "1e031dda2fbe03d1792170a0f3009cee"
        ));
        let mut prg = Prg::new(key);
        prg.counter = 0xf0f1f2f3_f4f5f6f7_f8f9fafb_fcfdfeff;
        let mut stream = vec![0; 64];
        prg.fill(&mut stream);
        let out: Vec<u8> = stream.iter().zip(plain).map(|(s, p)| s ^ p).collect();
        assert_eq!(out, cipher);
    }

    /// One thread or many, short fills or long: block `i` is the encryption of `i`.
    #[test]
    fn no_block_is_used_twice_or_skipped() {
        let mut long = vec![0; 1 << 20];
        Prg::new([5; 16]).fill(&mut long);
        let (mut prg, mut at) = (Prg::new([5; 16]), 0);
        for len in [0, 1, 15, 16, 17, 4095, 4096, 4097, 100_001] {
            let mut part = vec![0; len];
            prg.fill(&mut part);
            assert_eq!(part, long[at..at + len]);
            at += len.next_multiple_of(16);
        }
        assert_eq!(prg.counter, at as u128 / 16);
    }

    #[test]
    fn holders_of_one_seed_agree_on_every_processor() {
        for n in [0, 1, 63, 64, 65, 2047, 2049, 100_003] {
            let draw = || {
                let mut prg = Prg::new([6; 16]);
                let prime = (prg.prime(37, n), prg.prime_nonzero(67, n));
                let bits = (prg.bits(n), prg.bit_rows(3, n));
                (prime, bits, prg.ring::<u32>(n), prg.counter)
            };
            same_everywhere(draw);
            let one = rayon::ThreadPoolBuilder::new()
                .num_threads(1)
                .build()
                .unwrap();
            assert!(one.install(draw) == draw());
        }
    }

    #[test]
    fn nothing_secret_is_shown() {
        assert_eq!(format!("{:?}", Prg::new([1; 16])), "Prg");
    }
}
