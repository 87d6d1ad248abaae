//! Trees of which the one party grows all leaves and the other all but one.
//!
//! Goldreich-Goldwasser-Micali trees punctured by OTs, one per level (Schoppmann, Gascón, Reichert,
//! Raykova: "Distributed vector-OLE", CCS 2019; SPCOT of Ferret). Of every
//! level the dealer sends the sum of the left and that of the right children, each under a key of
//! the level's OT; the taker's choice is the side that its path does *not* take. So the choice bits
//! of random OTs, complemented, are the path, and nothing has to be sent about them.
//!
//! 1 hop. The dealer sends a public key of 16 bytes for the permutations, 32 bytes per tree and
//! level, and with a `delta` 16 bytes per tree: `delta` plus the sum of all leaves, by which the
//! missing leaf becomes the dealer's leaf plus `delta`. The lowest bits of such leaves are 0, and
//! `delta` is odd: so the lowest bits of the taker's leaves tell where they differ.

use tacit_algebra::ot::pprf;
use tacit_protocols::Error;
use zeroize::Zeroizing;

use super::Block;
use super::random::random;

/// The bytes of a block.
pub(super) const BLOCK: usize = size_of::<Block>();

/// How many trees, how deep, and whether the missing leaves are to differ by `delta`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub trees: usize,
    pub depth: u32,
    pub delta: bool,
}

impl Shape {
    /// The OTs that the trees take.
    pub fn ots(&self) -> usize {
        self.trees * self.depth as usize
    }

    /// The leaves of all trees.
    pub fn leaves(&self) -> usize {
        self.trees << self.depth
    }

    /// The bytes that the dealer sends.
    pub fn bytes(&self) -> usize {
        let totals = if self.delta { self.trees } else { 0 };
        BLOCK * (1 + 2 * self.ots() + totals)
    }

    /// The places of the missing leaves that complemented choice bits, 0 or 1, stand for.
    pub fn paths(&self, choices: &[u8]) -> Zeroizing<Vec<u64>> {
        let trees = choices.chunks_exact(self.depth as usize);
        let path = |bits: &[u8]| bits.iter().fold(0, |path, bit| 2 * path + (bit ^ 1) as u64);
        Zeroizing::new(trees.map(path).collect())
    }
}

/// Grows the leaves into `leaves` and returns the message, for OTs with these two keys each.
pub(super) fn deal(
    shape: Shape,
    keys: &[[Block; 2]],
    delta: Block,
    leaves: &mut [Block],
) -> Result<Vec<u8>, Error> {
    assert_eq!((keys.len(), leaves.len()), (shape.ots(), shape.leaves()));
    let public = random::<[u8; BLOCK]>(1)?[0];
    let roots = random::<Block>(shape.trees)?;
    for (tree, root) in leaves.chunks_exact_mut(1 << shape.depth).zip(roots.iter()) {
        tree[0] = *root;
    }
    let mut sums = Zeroizing::new(pprf::grow(public, shape.depth, shape.delta, leaves));
    let mut message = public.to_vec();
    message.reserve_exact(shape.bytes() - BLOCK);
    if shape.delta {
        for levels in sums.chunks_exact(shape.depth as usize) {
            // The last level's children are the leaves.
            let total = levels[levels.len() - 1]
                .iter()
                .fold(delta, |sum, side| sum ^ side);
            message.extend_from_slice(&total.to_le_bytes());
        }
    }
    for (sums, keys) in sums.iter_mut().zip(keys) {
        sums[0] ^= keys[0];
        sums[1] ^= keys[1];
    }
    message.extend_from_slice(bytemuck::cast_slice(sums.as_flattened()));
    Ok(message)
}

/// Grows all leaves but those at `paths` from the dealer's message, for OTs with these choices, 0
/// or 1, and their keys.
pub(super) fn take(
    shape: Shape,
    message: &[u8],
    choices: &[u8],
    keys: &[Block],
    leaves: &mut [Block],
) {
    assert_eq!((message.len(), choices.len()), (shape.bytes(), shape.ots()));
    assert_eq!((keys.len(), leaves.len()), (shape.ots(), shape.leaves()));
    let mut blocks = message.as_chunks::<BLOCK>().0.iter();
    let public = *blocks.next().expect("a message begins with a key");
    let mut blocks = blocks.map(|block| Block::from_le_bytes(*block));
    let totals: Option<Vec<Block>> =
        (shape.delta).then(|| blocks.by_ref().take(shape.trees).collect());
    let mut sums = Zeroizing::new(Vec::with_capacity(shape.ots()));
    for (choice, key) in choices.iter().zip(keys) {
        let [left, right] =
            [blocks.next(), blocks.next()].map(|sum| sum.expect("its length was checked"));
        let mask = (*choice as Block).wrapping_neg();
        sums.push(key ^ left ^ ((left ^ right) & mask));
    }
    let known = pprf::Punctured {
        paths: &shape.paths(choices),
        sums: &sums,
        totals: totals.as_deref(),
    };
    pprf::regrow(public, shape.depth, &known, leaves);
}
