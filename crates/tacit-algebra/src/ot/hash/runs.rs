//! Many keys, few blocks of each: schedules of several keys at once.

use aes::Aes128Enc;
use aes::cipher::{Array, BlockCipherEncrypt, KeyInit};

use super::Block;
use crate::isa::Isa;

/// Keys whose schedules are made at once: they do not wait for each other.
const KEYS: usize = 8;

/// `(l ^ r, l)` of the halves of a block.
#[inline(always)]
fn orthomorphism(x: Block) -> Block {
    x.rotate_left(64) ^ (x >> 64 << 64)
}

/// Replaces blocks `x` by `E_k(s(x)) ^ s(x)`: the first `first` of them under key number 0, `each` of
/// the others under the ones that follow. Keys beyond the last block are asked for, too.
#[inline]
pub(super) fn hash_runs(
    isa: Isa,
    key: impl Fn(u64) -> Block,
    (mut first, each): (usize, usize),
    blocks: &mut [Block],
) {
    let (mut rest, mut run) = (blocks, 0);
    while !rest.is_empty() {
        let keys: [Block; KEYS] = std::array::from_fn(|i| key(run + i as u64));
        let len = (first + (KEYS - 1) * each).min(rest.len());
        let (now, later) = rest.split_at_mut(len);
        hash_some(isa, &keys, (first, each), now);
        (rest, run, first) = (later, run + KEYS as u64, each);
    }
}

/// The runs of blocks.
fn runs((first, each): (usize, usize), blocks: &mut [Block]) -> impl Iterator<Item = &mut [Block]> {
    let (head, tail) = blocks.split_at_mut(first.min(blocks.len()));
    std::iter::once(head).chain(tail.chunks_mut(each))
}

fn hash_some(isa: Isa, keys: &[Block; KEYS], lens: (usize, usize), blocks: &mut [Block]) {
    #[cfg(target_arch = "x86_64")]
    if isa > Isa::Portable && is_x86_feature_detected!("aes") {
        // SAFETY: the processor has AES instructions, and what comes with AVX2.
        return unsafe { x86::hash_some(keys, lens, blocks) };
    }
    let _ = isa;
    for (key, run) in keys.iter().zip(runs(lens, blocks)) {
        let cipher = Aes128Enc::new(&key.to_le_bytes().into());
        run.iter_mut().for_each(|x| *x = orthomorphism(*x));
        for run in run.chunks_mut(super::PADS) {
            let mut images = [0; super::PADS];
            let images = &mut images[..run.len()];
            images.copy_from_slice(run);
            let bytes: &mut [[u8; 16]] = bytemuck::cast_slice_mut(images);
            cipher.encrypt_blocks(Array::cast_slice_from_core_mut(bytes));
            run.iter_mut()
                .zip(images)
                .for_each(|(x, image)| *x ^= *image);
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{Block, KEYS, runs};

    /// Rounds after the first key.
    const ROUNDS: usize = 10;

    type Keys = [__m128i; KEYS];

    #[inline]
    #[target_feature(enable = "sse2")]
    fn load(x: Block) -> __m128i {
        _mm_set_epi64x((x >> 64) as i64, x as i64)
    }

    #[inline]
    #[target_feature(enable = "sse4.1")]
    fn store(v: __m128i) -> Block {
        let halves = [_mm_cvtsi128_si64(v), _mm_extract_epi64(v, 1)];
        Block::from(halves[1] as u64) << 64 | Block::from(halves[0] as u64)
    }

    /// The next round's keys. The substituted word comes of a last round over four equal columns,
    /// which `ShiftRows` leaves alone (Gueron, Lindell, Nof, Pinkas: "Fast Garbling of Circuits Under
    /// Standard Assumptions", CCS 2015).
    #[inline]
    #[target_feature(enable = "aes,ssse3")]
    fn next<const RCON: i32>(keys: &mut Keys) {
        let rotated = _mm_set1_epi32(0x0c0f_0e0d);
        for key in keys {
            let word = _mm_shuffle_epi8(*key, rotated);
            let word = _mm_aesenclast_si128(word, _mm_set1_epi32(RCON));
            let sums = _mm_xor_si128(*key, _mm_slli_si128(*key, 4));
            let sums = _mm_xor_si128(sums, _mm_slli_si128(sums, 8));
            *key = _mm_xor_si128(sums, word);
        }
    }

    /// The round keys of all keys, by round.
    #[inline]
    #[target_feature(enable = "aes,sse4.1")]
    fn schedules(keys: &[Block; KEYS]) -> [Keys; ROUNDS + 1] {
        let mut now = keys.map(|key| load(key));
        let mut all = [now; ROUNDS + 1];
        macro_rules! rounds {
            ($($round:literal: $rcon:literal),*) => {$(
                next::<$rcon>(&mut now);
                all[$round] = now;
            )*};
        }
        rounds!(1: 1, 2: 2, 3: 4, 4: 8, 5: 16, 6: 32, 7: 64, 8: 128, 9: 0x1b, 10: 0x36);
        all
    }

    /// `N` blocks under a key.
    #[inline]
    #[target_feature(enable = "aes,sse4.1")]
    fn hash<const N: usize>(keys: &[__m128i; ROUNDS + 1], blocks: &mut [Block; N]) {
        let inputs = blocks.map(|x| load(super::orthomorphism(x)));
        let mut states = inputs;
        for state in &mut states {
            *state = _mm_xor_si128(*state, keys[0]);
        }
        for key in &keys[1..ROUNDS] {
            for state in &mut states {
                *state = _mm_aesenc_si128(*state, *key);
            }
        }
        for ((block, state), input) in blocks.iter_mut().zip(states).zip(inputs) {
            let last = _mm_xor_si128(keys[ROUNDS], input);
            *block = store(_mm_aesenclast_si128(state, last));
        }
    }

    /// See [`hash_some`](super::hash_some).
    #[target_feature(enable = "aes,avx2")]
    pub fn hash_some(keys: &[Block; KEYS], lens: (usize, usize), blocks: &mut [Block]) {
        let all = schedules(keys);
        for (i, run) in (0..KEYS).zip(runs(lens, blocks)) {
            let keys = all.map(|round| round[i]);
            let (eights, rest) = run.as_chunks_mut::<8>();
            eights.iter_mut().for_each(|eight| hash(&keys, eight));
            let (twos, rest) = rest.as_chunks_mut::<2>();
            twos.iter_mut().for_each(|two| hash(&keys, two));
            let (ones, _) = rest.as_chunks_mut::<1>();
            ones.iter_mut().for_each(|one| hash(&keys, one));
        }
    }
}
