//! SoftSpoken OT extension (Roy: "SoftSpokenOT: Quieter OT Extension from Small-Field Silent VOLE
//! in the Minicrypt Model", CRYPTO 2022), semi-honest.
//!
//! Set-up, for each direction: `ceil(128 / k)` trees of `2^k` leaves, of
//! which the OTs' receiver grows all and their sender all but the one at its `k` secret bits of
//! `delta`; a tree takes `k` base OTs in which the roles are exchanged. Extension: small-field
//! VOLEs out of the leaves' streams (section 3.1 there), brought to one vector of choices by the repetition
//! code (subspace VOLE, section 3.2), and transposed: see [`tacit_algebra::ot::vole`]. `k = 1` is IKNP.
//!
//! What the sender cannot know: of every tree it lacks one stream, which the receiver's sum `u`
//! contains; so each correction `u ^ b` is uniform to it, and so is `b`, the first tree's sum. The
//! receiver sees nothing but its own streams; a block `q` of a choice that it did not make differs
//! from its own by `delta`.
//!
//! Differences from the paper: no consistency check, which only a malicious receiver needs. The
//! choices are random, so nothing is sent for the first tree. If `k` does not divide 128 the last
//! tree is as deep as the others, and the rows above 128 are dropped. `delta` is odd, with 127
//! random bits: so a choice can travel as a block's lowest bit (silent OT does this).
//!
//! Set-up: 3 hops; each party sends 32 (`n` + 1) bytes of base OTs, `n = k ceil(128 / k)`, and
//! 16 + 32 `n` bytes of trees. Extension: 1 hop; the receiver sends `ceil(128 / k) - 1` bits per
//! OT, of which the number is rounded up to a multiple of 128.

use tacit_algebra::Bits;
use tacit_algebra::ot::{pprf, vole};
use tacit_net::Party;
use tacit_protocols::{Cost, Error};
use zeroize::{Zeroize, Zeroizing};

use super::puncture::{self, Shape};
use super::random::random;
use super::{Block, RandomCot, Received, base, peer_of};
use crate::PARTIES;

const TREES: &str = "SoftSpoken: trees";
const CORRECTIONS: &str = "SoftSpoken: corrections";

/// OTs whose corrections make one message, so that sending overlaps computing.
const CHUNK: usize = 1 << 17;

/// Both directions of SoftSpoken OT between two parties.
pub struct SoftSpoken {
    shape: Shape,
    delta: Block,
    sender: vole::Punctured,
    receiver: vole::Full,
}

impl Drop for SoftSpoken {
    fn drop(&mut self) {
        self.delta.zeroize();
    }
}

/// The trees of one direction.
fn shape(k: u32) -> Shape {
    assert!((1..=8).contains(&k), "SoftSpoken's k is 1 to 8, not {k}");
    Shape {
        trees: (Block::BITS.div_ceil(k)) as usize,
        depth: k,
        delta: false,
    }
}

/// The bytes of the corrections of `n` OTs.
fn corrections_len(shape: Shape, n: usize) -> usize {
    vole::corrections_len(shape.trees, n.next_multiple_of(vole::UNIT))
}

impl SoftSpoken {
    /// Runs the set-up for streams of `k` bits of `delta` each, 1 to 8.
    pub fn setup(party: &mut Party, k: u32) -> Result<Self, Error> {
        let (peer, shape) = (peer_of(party), shape(k));
        let mut choices = random::<u8>(shape.ots())?;
        choices.iter_mut().for_each(|choice| *choice &= 1);
        // The lowest bit of `delta`.
        choices[k as usize - 1] = 0;
        let base = base::exchange(party, &choices)?;

        let mut full = Zeroizing::new(vec![0; shape.leaves()]);
        let message = puncture::deal(shape, &base.sent, 0, &mut full)?;
        party.send(peer, TREES, message)?;
        let message = party.recv(peer, TREES, shape.bytes())?;
        let mut punctured = Zeroizing::new(vec![0; shape.leaves()]);
        puncture::take(shape, &message, &choices, &base.received, &mut punctured);

        let mut delta = 0;
        let trees = punctured.chunks_exact_mut(1 << k);
        for ((tree, path), i) in trees.zip(shape.paths(&choices).iter()).zip(0..) {
            pprf::relabel(tree, *path);
            delta |= (*path as Block) << (i * k);
        }
        Ok(SoftSpoken {
            shape,
            delta,
            sender: vole::Punctured::new(k, std::mem::take(&mut *punctured), delta),
            receiver: vole::Full::new(k, std::mem::take(&mut *full)),
        })
    }

    /// The cost of the set-up.
    pub fn setup_cost(k: u32) -> Cost {
        let shape = shape(k);
        base::cost(shape.ots()) + &Cost::each(PARTIES, 1, shape.bytes() as u64)
    }

    /// The cost of an extension after which party `i` has sent `cots[i]`.
    pub fn cost_of(k: u32, cots: [usize; 2]) -> Cost {
        let received = [cots[1], cots[0]];
        Cost {
            rounds: received.iter().any(|n| *n > 0) as u32,
            bytes: received
                .map(|n| corrections_len(shape(k), n) as u64)
                .to_vec(),
        }
    }

    fn receive(&mut self, party: &mut Party, n: usize) -> Result<Received, Error> {
        let mut blocks = vec![0; n.next_multiple_of(vole::UNIT)];
        let mut choices = vec![0; blocks.len() / 64];
        let chunks = blocks.chunks_mut(CHUNK).zip(choices.chunks_mut(CHUNK / 64));
        for (blocks, choices) in chunks {
            let mut corrections = vec![0; corrections_len(self.shape, blocks.len())];
            self.receiver.extend(blocks, choices, &mut corrections);
            party.send(peer_of(party), CORRECTIONS, corrections)?;
        }
        blocks.truncate(n);
        choices.truncate(n.div_ceil(64));
        let choices = Bits::from_words(n, choices);
        Ok(Received { choices, blocks })
    }

    fn send(&mut self, party: &mut Party, n: usize) -> Result<Vec<Block>, Error> {
        let mut blocks = vec![0; n.next_multiple_of(vole::UNIT)];
        for blocks in blocks.chunks_mut(CHUNK) {
            let len = corrections_len(self.shape, blocks.len());
            let corrections = party.recv(peer_of(party), CORRECTIONS, len)?;
            self.sender.extend(&corrections, blocks);
        }
        blocks.truncate(n);
        Ok(blocks)
    }
}

impl RandomCot for SoftSpoken {
    fn delta(&self) -> Block {
        self.delta
    }

    fn extend(
        &mut self,
        party: &mut Party,
        send: usize,
        recv: usize,
    ) -> Result<(Vec<Block>, Received), Error> {
        // All corrections are on their way before the first is waited for: 1 hop.
        let received = self.receive(party, recv)?;
        Ok((self.send(party, send)?, received))
    }

    fn cost(&self, cots: [usize; 2]) -> Cost {
        SoftSpoken::cost_of(self.shape.depth, cots)
    }
}
