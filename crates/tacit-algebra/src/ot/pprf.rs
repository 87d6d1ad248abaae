//! Puncturable pseudorandom functions: trees of Goldreich, Goldwasser and Micali, many at once.
//!
//! A node's children are `P_0(x) ^ x` and `P_1(x) ^ x` under two permutations, AES-128 under
//! public keys. Every tree has keys of its own, so that a guess at one tree's nodes says nothing
//! about another's (Guo, Katz, Wang, Yu: "Efficient and secure multiparty computation from
//! fixed-key block ciphers", S&P 2020, on why the nodes of one key add up).
//!
//! [`grow`] makes all leaves and, of every level, the sums of the left and of the right children.
//! [`regrow`] makes all leaves but one out of one of the two sums of every level. That leaf's
//! place is secret: it steers neither a branch nor an address, only masks.

use aes::Aes128Enc;
use aes::cipher::{Array, BlockCipherEncrypt, KeyInit};
use zeroize::{Zeroize, Zeroizing};

use crate::isa::{self, Isa, simd};
use crate::par;

/// Nodes whose children are made at once.
const STRIP: usize = 64;

/// The permutations of every tree, from a public key.
struct Permutations(Aes128Enc);

impl Permutations {
    fn new(key: [u8; 16]) -> Self {
        Permutations(Aes128Enc::new(&key.into()))
    }

    fn of_tree(&self, tree: usize) -> [Aes128Enc; 2] {
        [0, 1].map(|side| {
            let mut key = Array::from((2 * tree as u128 + side).to_le_bytes());
            self.0.encrypt_block(&mut key);
            Aes128Enc::new(&key)
        })
    }
}

simd! {
    /// `left` and `right` images of the parents to children, less the bits that are not in `keep`;
    /// adds the children to the sums.
    fn children(
        out: &mut [u128],
        parents: &[u128],
        left: &[u128],
        right: &[u128],
        keep: u128,
        sums: &mut [u128; 2],
    ) {
        let images = parents.iter().zip(left.iter().zip(right));
        for (out, (parent, (left, right))) in out.chunks_exact_mut(2).zip(images) {
            out[0] = (left ^ parent) & keep;
            out[1] = (right ^ parent) & keep;
            sums[0] ^= out[0];
            sums[1] ^= out[1];
        }
    }

    /// Adds `with` to the pair number `place`, which is secret.
    fn add_to_pair(nodes: &mut [u128], place: u64, with: [u128; 2]) {
        let with: [u64; 4] = bytemuck::cast(with);
        let (pairs, _) = bytemuck::cast_slice_mut::<u128, u64>(nodes).as_chunks_mut::<4>();
        for (pair, i) in pairs.iter_mut().zip(0u64..) {
            let mask = ((i ^ place).wrapping_sub(1) >> 63).wrapping_neg();
            for (word, with) in pair.iter_mut().zip(with) {
                *word ^= with & mask;
            }
        }
    }

    /// Exchanges two runs if `mask` is all ones.
    fn exchange(a: &mut [u128], b: &mut [u128], mask: u128) {
        for (a, b) in a.iter_mut().zip(b) {
            let swap = (*a ^ *b) & mask;
            *a ^= swap;
            *b ^= swap;
        }
    }
}

/// What children are made in: parents and their images.
struct Scratch([[u128; STRIP]; 3]);

impl Scratch {
    fn new() -> Self {
        Scratch([[0; STRIP]; 3])
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

/// Replaces the first `nodes` nodes by their children, less the bits that are not in `keep`, and
/// returns the children's two sums.
fn double(
    (isa, Scratch(scratch)): (Isa, &mut Scratch),
    permutations: &[Aes128Enc; 2],
    keep: u128,
    tree: &mut [u128],
    nodes: usize,
) -> [u128; 2] {
    let mut sums = [0; 2];
    // From the end, so that no node is overwritten before it has children.
    for first in (0..nodes).step_by(STRIP).rev() {
        let len = STRIP.min(nodes - first);
        let [parents, images @ ..] = scratch;
        parents[..len].copy_from_slice(&tree[first..first + len]);
        for (permutation, images) in permutations.iter().zip(&mut *images) {
            images[..len].copy_from_slice(&parents[..len]);
            let blocks: &mut [[u8; 16]] = bytemuck::cast_slice_mut(&mut images[..len]);
            permutation.encrypt_blocks(Array::cast_slice_from_core_mut(blocks));
        }
        let out = &mut tree[2 * first..2 * (first + len)];
        let [left, right] = &*images;
        children(isa, out, parents, left, right, keep, &mut sums);
    }
    sums
}

/// The bits that the nodes of a level keep: `even` leaves lose the lowest one.
fn kept(even: bool, is_last: bool) -> u128 {
    if even && is_last { !1 } else { !0 }
}

/// One tree's leaves and what belongs to its levels.
struct Tree<'a, T> {
    leaves: &'a mut [u128],
    levels: &'a mut [T],
}

/// Calls `f` with each tree's number and parts; trees are split over threads.
fn for_each_tree<T: Send>(
    leaves: &mut [u128],
    levels: &mut [T],
    depth: u32,
    f: impl Fn(usize, &mut Tree<T>) + Sync,
) {
    assert!(depth > 0 && leaves.len() >> depth == levels.len() / depth as usize);
    let parts = leaves
        .chunks_exact_mut(1 << depth)
        .zip(levels.chunks_exact_mut(depth as usize));
    let mut trees: Vec<_> = parts
        .map(|(leaves, levels)| Tree { leaves, levels })
        .collect();
    par::for_each_strip(&mut trees, 1, 1 << depth, |i, tree| f(i, &mut tree[0]));
}

/// Grows a tree of `depth` out of each first entry of `2^depth` leaves; `even` leaves have their
/// lowest bits cleared. Returns the sums of the left and of the right children of every level, tree
/// after tree, the root's children first.
pub fn grow(key: [u8; 16], depth: u32, even: bool, leaves: &mut [u128]) -> Vec<[u128; 2]> {
    let (isa, permutations) = (isa::current(), Permutations::new(key));
    let mut sums = vec![[0; 2]; (leaves.len() >> depth) * depth as usize];
    for_each_tree(leaves, &mut sums, depth, |i, tree| {
        let (permutations, mut scratch) = (permutations.of_tree(i), Scratch::new());
        for (sums, level) in tree.levels.iter_mut().zip(0..) {
            let keep = kept(even, level + 1 == depth);
            *sums = double(
                (isa, &mut scratch),
                &permutations,
                keep,
                tree.leaves,
                1 << level,
            );
        }
    });
    sums
}

/// What is known of trees that lack one leaf.
pub struct Punctured<'a> {
    /// The place of every tree's missing leaf; secret.
    pub paths: &'a [u64],
    /// For every level the sum of the children on the side that does not lead to that leaf, tree
    /// after tree.
    pub sums: &'a [u128],
    /// The sum of all leaves, with what the missing one is to be; the leaves are then even. Without
    /// it the missing one is to be 0.
    pub totals: Option<&'a [u128]>,
}

/// Grows the leaves of trees that lack one.
pub fn regrow(key: [u8; 16], depth: u32, known: &Punctured, leaves: &mut [u128]) {
    let (isa, permutations) = (isa::current(), Permutations::new(key));
    let mut sums = Zeroizing::new(known.sums.to_vec());
    leaves.chunks_exact_mut(1 << depth).for_each(|t| t[0] = 0);
    for_each_tree(leaves, &mut sums, depth, |i, tree| {
        let (permutations, mut scratch) = (permutations.of_tree(i), Scratch::new());
        let path = known.paths[i];
        for (&mut sum, level) in tree.levels.iter_mut().zip(0..) {
            let below = depth - 1 - level;
            let total = known.totals.filter(|_| below == 0).map(|totals| totals[i]);
            let keep = kept(total.is_some(), below == 0);
            // The missing node is 0; its children are then known to all, and are replaced.
            let sums = double(
                (isa, &mut scratch),
                &permutations,
                keep,
                tree.leaves,
                1 << level,
            );
            let of_zero = double((isa, &mut scratch), &permutations, keep, &mut [0; 2], 1);
            let side = ((path >> below & 1) as u128).wrapping_neg();
            let select = |zero, one| (zero & !side) ^ (one & side);
            let sibling = sum ^ select(sums[1], sums[0]);
            let missing = match total {
                Some(total) => total ^ sums[0] ^ sums[1] ^ sibling,
                None => select(of_zero[0], of_zero[1]),
            };
            let with = [select(missing, sibling), select(sibling, missing)];
            let children = &mut tree.leaves[..2 << level];
            add_to_pair(isa, children, path >> below >> 1, with);
        }
    });
}

/// Moves entry `x` of a tree's leaves to place `x ^ path`, for a secret `path`.
pub fn relabel(leaves: &mut [u128], path: u64) {
    let isa = isa::current();
    assert!(leaves.len().is_power_of_two());
    for bit in 0..leaves.len().trailing_zeros() {
        let mask = ((path >> bit & 1) as u128).wrapping_neg();
        for pair in leaves.chunks_exact_mut(2 << bit) {
            let (a, b) = pair.split_at_mut(1 << bit);
            exchange(isa, a, b, mask);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Prg;
    use crate::isa::same_everywhere;

    const KEY: [u8; 16] = [7; 16];

    fn grown(trees: usize, depth: u32, even: bool) -> (Vec<u128>, Vec<[u128; 2]>) {
        let roots: Vec<u128> =
            bytemuck::cast_slice(&Prg::new([8; 16]).ring::<u64>(2 * trees)).to_vec();
        let mut leaves = vec![0; trees << depth];
        for (tree, root) in leaves.chunks_mut(1 << depth).zip(roots) {
            tree[0] = root;
        }
        let sums = grow(KEY, depth, even, &mut leaves);
        (leaves, sums)
    }

    /// The children of a node, as documented.
    fn pair(tree: usize, node: u128) -> [u128; 2] {
        Permutations::new(KEY).of_tree(tree).map(|permutation| {
            let mut block = Array::from(node.to_le_bytes());
            permutation.encrypt_block(&mut block);
            u128::from_le_bytes(block.into()) ^ node
        })
    }

    #[test]
    fn trees_are_their_definition() {
        let (trees, depth) = (3, 8);
        let (leaves, sums) = same_everywhere(|| grown(trees, depth, false));
        let (roots, _) = grown(trees, 1, false);
        for i in 0..trees {
            // Depth 1 and depth 8 agree on the first level's sums, which are its nodes.
            let mut nodes = roots[2 * i..2 * i + 2].to_vec();
            for level in 0..depth as usize {
                let at = i * depth as usize + level;
                let sum = |side| nodes.iter().skip(side).step_by(2).fold(0, |a, b| a ^ b);
                assert_eq!(sums[at], [0, 1].map(sum));
                if level + 1 < depth as usize {
                    nodes = nodes.iter().flat_map(|node| pair(i, *node)).collect();
                }
            }
            assert!(leaves[i << depth..(i + 1) << depth] == nodes);
        }
        assert!(leaves[..256] != leaves[256..512]);
    }

    #[test]
    fn every_leaf_but_one_is_regrown() {
        for depth in [1, 2, 5] {
            let trees = 1 << depth;
            for even in [false, true] {
                regrown(trees, depth, even);
            }
        }
    }

    fn regrown(trees: usize, depth: u32, even: bool) {
        let (leaves, sums) = grown(trees, depth, even);
        assert!(!even || leaves.iter().all(|leaf| leaf & 1 == 0));
        let paths: Vec<u64> = (0..trees as u64).collect();
        let sides = sums.iter().enumerate().map(|(at, sums)| {
            let (tree, level) = (at / depth as usize, at % depth as usize);
            let side = paths[tree] >> (depth as usize - 1 - level) & 1;
            sums[1 - side as usize]
        });
        let sides: Vec<u128> = sides.collect();
        let totals = leaves.chunks(1 << depth);
        let totals: Vec<u128> = totals.map(|t| t.iter().fold(77, |a, b| a ^ b)).collect();
        let known = Punctured {
            paths: &paths,
            sums: &sides,
            totals: even.then_some(&totals),
        };
        let out = same_everywhere(|| {
            let mut out = vec![1; leaves.len()];
            regrow(KEY, depth, &known, &mut out);
            out
        });
        for (i, (out, leaf)) in out.iter().zip(&leaves).enumerate() {
            let hole = i % trees == paths[i / trees] as usize;
            let replaced = if even { leaf ^ 77 } else { 0 };
            assert_eq!(*out, if hole { replaced } else { *leaf }, "{depth}: {i}");
        }
    }

    #[test]
    fn relabelling_moves_by_the_path() {
        let leaves: Vec<u128> = (0..32).collect();
        for path in 0..32 {
            let moved = same_everywhere(|| {
                let mut moved = leaves.clone();
                relabel(&mut moved, path);
                moved
            });
            assert!(moved.iter().zip(0..).all(|(x, at)| *x == at ^ path as u128));
        }
    }
}
