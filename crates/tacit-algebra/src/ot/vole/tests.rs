//! Strips of every length against their definition, on every instruction set.

use super::*;
use crate::Prg;
use crate::isa::same_everywhere;
use crate::ot::code::WIDEST;
use crate::ot::pack::unpack;
use crate::ot::pprf::relabel;

const SECRET: u64 = 0x0123_4567_89ab_cdef;

/// The secret of tree `i`.
fn secrets(depth: u32) -> Vec<u64> {
    let of = |i: u32| SECRET.rotate_left(7 * i) & ((1 << depth) - 1);
    (0..WIDEST as u32 / depth).map(of).collect()
}

/// Both ends, of which the sender's lacks the leaves of `secrets`.
fn ends(depth: u32) -> (Full, Punctured) {
    let secrets = secrets(depth);
    let seeds: Vec<u64> = Prg::new([4; 16]).ring((2 * secrets.len()) << depth);
    let leaves: Vec<u128> = bytemuck::cast_slice(&seeds).to_vec();
    let mut moved = leaves.clone();
    for (tree, secret) in moved.chunks_mut(1 << depth).zip(&secrets) {
        relabel(tree, *secret);
        tree[0] = 0;
    }
    (
        Full::new(depth, leaves),
        Punctured::new(depth, moved, secrets),
    )
}

fn code(depth: u32, index_bits: u32) -> Code {
    Code::new(index_bits, ROWS.div_ceil(depth as usize))
}

/// The stream of a seed in a tree, as documented.
fn stream(seed: &[u8], tree: usize) -> Prg {
    let mut prg = Prg::new(seed.try_into().unwrap());
    prg.counter = (tree as u128) << 64;
    prg
}

type Ots = (Vec<u128>, Vec<u64>, Vec<u128>);

fn ots(full: &mut Full, punctured: &mut Punctured, code: &Code, n: usize) -> Ots {
    let m = code.index_bits() as usize;
    let (mut t, mut b, mut q) = (vec![0; n], vec![0; n * m / 64], vec![0; n]);
    let mut corrections = vec![0; corrections_len(code, n)];
    full.extend(code, &mut t, &mut b, &mut corrections);
    punctured.extend(code, &corrections, &mut q);
    (t, b, q)
}

#[test]
fn blocks_differ_by_the_offset_of_the_index() {
    for depth in 1..=8 {
        for index_bits in 1..=8 {
            let code = code(depth, index_bits);
            if code.len() * depth as usize > WIDEST {
                continue;
            }
            let offsets = code.offsets(depth, &secrets(depth));
            for n in [128, 4096 + 640] {
                let (t, b, q) = same_everywhere(|| {
                    let (mut full, mut punctured) = ends(depth);
                    ots(&mut full, &mut punctured, &code, 256);
                    ots(&mut full, &mut punctured, &code, n)
                });
                let indices = unpack(bytemuck::cast_slice(&b), index_bits, n);
                for i in 0..n {
                    let expected = q[i] ^ offsets[indices[i] as usize];
                    assert!(t[i] == expected, "depth {depth}: OT {i} of {n}");
                }
            }
        }
    }
}

/// `u` and `v` as documented, bit by bit.
#[test]
fn the_receivers_ends_are_their_definition() {
    let (depth, n) = (6, 256);
    let (mut full, _) = ends(depth);
    let code = code(depth, 1);
    let streams: Vec<Vec<u64>> = Prg::new([4; 16])
        .ring::<u64>((2 * code.len()) << depth)
        .chunks(2)
        .enumerate()
        .map(|(leaf, seed)| stream(bytemuck::cast_slice(seed), leaf >> depth).ring(n / 64))
        .collect();
    let (mut t, mut b, mut sent) = (vec![0; n], vec![0; n / 64], vec![0; 21 * n / 8]);
    full.extend(&code, &mut t, &mut b, &mut sent);
    let sent: Vec<u64> = bytemuck::pod_collect_to_vec(&sent);
    for i in 0..n {
        let bit = |words: &[u64]| words[i / 64] >> (i % 64) & 1;
        for (tree, leaves) in streams.chunks(1 << depth).enumerate() {
            let (mut u, mut v) = (0, 0);
            for (x, leaf) in leaves.iter().enumerate() {
                u ^= bit(leaf);
                v ^= x as u128 * bit(leaf) as u128;
            }
            let at = tree as u32 * depth;
            let width = depth.min(128 - at);
            assert_eq!(t[i] >> at & ((1 << width) - 1), v & ((1 << width) - 1));
            let correction = if tree > 0 {
                bit(&sent[(tree - 1) * n / 64..])
            } else {
                0
            };
            assert_eq!(correction, if tree > 0 { u ^ bit(&b) } else { 0 });
            assert!(tree > 0 || u == bit(&b));
        }
    }
}

#[test]
fn streams_do_not_restart() {
    let (mut full, mut punctured) = ends(4);
    let (first, ..) = ots(&mut full, &mut punctured, &code(4, 1), 4096);
    let (second, ..) = ots(&mut full, &mut punctured, &code(4, 4), 4096);
    let (third, ..) = ots(&mut full, &mut punctured, &code(4, 1), 4096);
    let all: std::collections::HashSet<_> = first.iter().chain(&second).chain(&third).collect();
    assert_eq!(all.len(), 3 * 4096);
}

/// Bits of a key that the search for keys goes through.
const SEARCHED: u32 = 12;

/// The streams of the leaves that the sender lacks, as one who knows all indices sees them, in
/// trees of two leaves whose keys have few unknown bits; and those keys.
fn missing(session: u128) -> (Vec<u128>, Vec<u128>) {
    let code = code(1, 1);
    let keys: Vec<u64> = Prg::new(session.to_le_bytes()).ring(2 * code.len());
    let keys = keys.into_iter().map(|key| key & ((1 << SEARCHED) - 1));
    let leaves: Vec<u128> = keys.map(u128::from).collect();
    let (mut t, mut b) = (vec![0; UNIT], vec![0; UNIT / 64]);
    let mut corrections = vec![0; corrections_len(&code, UNIT)];
    Full::new(1, leaves.clone()).extend(&code, &mut t, &mut b, &mut corrections);
    let corrections = corrections.as_chunks::<BLOCK>().0.iter();
    let b: u128 = bytemuck::pod_read_unaligned(bytemuck::cast_slice(&b));
    let sums = std::iter::once(b).chain(corrections.map(|c| u128::from_le_bytes(*c) ^ b));
    // The sender's secrets are all 1: it has leaf 1 of every tree, and lacks leaf 0.
    let streams = sums
        .zip(leaves.chunks(2))
        .enumerate()
        .map(|(tree, (sum, leaves))| {
            let mut own = [0; BLOCK];
            stream(&leaves[1].to_le_bytes(), tree).fill(&mut own);
            sum ^ u128::from_le_bytes(own)
        });
    (streams.collect(), leaves.into_iter().step_by(2).collect())
}

/// Calls of AES until a search has found the first of the keys, from the first block of each
/// stream: `position` says where a tree's are. A call serves all trees that have one position.
fn search(streams: &[u128], keys: &[u128], position: impl Fn(usize) -> u128) -> u32 {
    let mut places = std::collections::HashMap::<u128, Vec<usize>>::new();
    (0..streams.len()).for_each(|tree| places.entry(position(tree)).or_default().push(tree));
    let mut calls = 0;
    for guess in 0..1u128 << SEARCHED {
        for (place, trees) in &places {
            let mut block = [0; BLOCK];
            let mut prg = Prg::new(guess.to_le_bytes());
            prg.counter = *place;
            prg.fill(&mut block);
            calls += 1;
            let hit = |tree: &&usize| streams[**tree] == u128::from_le_bytes(block);
            if let Some(tree) = trees.iter().find(hit) {
                assert_eq!(keys[*tree], guess);
                return calls;
            }
        }
    }
    panic!("no key was found");
}

/// Of 128 trees that share positions a key is found in about 2^12 / 128 calls, as it was; of
/// those of the library in about 2^12.
#[test]
fn a_guess_at_a_key_is_tested_against_one_tree_only() {
    const SESSIONS: u32 = 16;
    let (mut shared, mut own) = (0, 0);
    for session in 0..SESSIONS {
        let (streams, keys) = missing(session.into());
        own += search(&streams, &keys, |tree| Streams::position(tree, 0));
        let at_zero = keys.iter().map(|key| {
            let mut block = [0; BLOCK];
            Prg::new(key.to_le_bytes()).fill(&mut block);
            u128::from_le_bytes(block)
        });
        shared += search(&at_zero.collect::<Vec<_>>(), &keys, |_| 0);
    }
    println!(
        "{} calls for shared positions, {} for own",
        shared / SESSIONS,
        own / SESSIONS
    );
    assert!(shared / SESSIONS < (1 << SEARCHED) / 32);
    assert!(own / SESSIONS > (1 << SEARCHED) / 4);
}
