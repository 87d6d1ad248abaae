//! SoftSpoken OT extension (Roy: "SoftSpokenOT: Quieter OT Extension from Small-Field Silent VOLE
//! in the Minicrypt Model", CRYPTO 2022), semi-honest.
//!
//! Set-up, for each direction: trees of `2^k` leaves, of which the OTs' receiver grows all and their
//! sender all but the one at its `k` secret bits; a tree takes `k` base OTs in which the roles are
//! exchanged. Extension: small-field VOLEs out of the leaves' streams (section 3.1 there), brought to
//! one index by a linear code (subspace VOLE, section 3.2; [`Code`]), and transposed: see
//! [`tacit_algebra::ot::vole`]. Correlated OTs take the repetition code over the first `ceil(128 / k)`
//! trees; a 1-of-2^m OT takes fewer than twice as many trees, far fewer than the `m` correlated OTs
//! that would make one too. `k = 1` is IKNP, and for 1-of-2^m OTs Kolesnikov and Kumaresan's.
//!
//! What the sender cannot know: of every tree it lacks one stream, which the receiver's sum `u`
//! contains; so each correction `u ^ C(b)` is uniform to it, and so is `b`, the first trees' sums.
//! The receiver sees nothing but its own streams; the pad of an index that is not its own differs in
//! 128 bits of the sender's secrets.
//!
//! Differences from the paper: no consistency check, which only a malicious receiver needs. The
//! indices are random, so nothing is sent for the first `m` trees. If `k` does not divide 128 the
//! last tree is as deep as the others, and the rows above 128 are dropped. `delta`, what the first
//! trees' secrets are, is odd, with 127 random bits: so a choice can travel as a block's lowest bit
//! (silent OT does this). Where a code would take more than [`WIDEST`] rows, for the largest indices
//! under `k` above 4, correlated OTs are combined instead.
//!
//! Set-up: 3 hops; each party sends 32 (`n` + 1) bytes of base OTs, `n = k trees`, and
//! 16 + 32 `n` bytes of trees; under `k` = 4 there are 64. Extension: 1 hop; the receiver sends
//! [`Code::sent`] bits per OT, of which the number is rounded up to a multiple of 128.

use tacit_algebra::Bits;
use tacit_algebra::ot::{Code, Offsets, WIDEST, pprf, vole};
use tacit_net::Party;
use tacit_protocols::message::{Message, Packed};
use tacit_protocols::{Cost, Error};
use zeroize::Zeroizing;

use super::puncture::{self, Shape};
use super::random::random;
use super::{Block, Demand, Made, RandomOt, Received, base, peer_of};
use crate::PARTIES;

const TREES: Message<Packed> = Message::new("SoftSpoken: trees");
const CORRECTIONS: Message<Packed> = Message::new("SoftSpoken: corrections");

/// OTs whose corrections make one message, so that sending overlaps computing.
const CHUNK: usize = 1 << 17;

/// Both directions of SoftSpoken OT between two parties.
pub struct SoftSpoken {
    codes: Codes,
    /// The sender's secrets by tree, `k` bits each.
    secrets: Zeroizing<Vec<u64>>,
    sender: vole::Punctured,
    receiver: vole::Full,
}

/// The codes of the kinds of OTs, from correlated ones on.
struct Codes {
    k: u32,
    codes: Vec<Option<Code>>,
}

impl Codes {
    /// Codes for indices of at most `most` bits.
    fn new(k: u32, most: u32) -> Self {
        assert!((1..=8).contains(&k), "SoftSpoken's k is 1 to 8, not {k}");
        let code = |m| Code::new(m, Block::BITS.div_ceil(k) as usize);
        let fits = |code: &Code| code.len() * k as usize <= WIDEST;
        Codes {
            k,
            codes: (1..=most).map(code).map(|c| Some(c).filter(fits)).collect(),
        }
    }

    fn get(&self, index_bits: u32) -> Option<&Code> {
        self.codes.get(index_bits as usize - 1)?.as_ref()
    }

    /// The trees of one direction.
    fn shape(&self) -> Shape {
        Shape {
            trees: self
                .codes
                .iter()
                .flatten()
                .map(Code::len)
                .max()
                .unwrap_or(0),
            depth: self.k,
            delta: false,
        }
    }

    /// OTs that codes make, correlated ones that others are combined of among them, and those others.
    fn split(&self, demand: &Demand) -> (Demand, Demand) {
        let (mut coded, mut combined) = (Demand::default(), Demand::default());
        for (m, n) in demand.iter() {
            match self.get(m) {
                Some(_) => coded += Demand::of(m, n),
                None => combined += Demand::of(m, n),
            }
        }
        coded += Demand::cots(combined.index_bits());
        (coded, combined)
    }

    /// The bytes of the corrections of OTs that codes make.
    fn corrections_len(&self, demand: &Demand) -> usize {
        let len = |(m, n): (u32, usize)| self.get(m).map_or(0, |code| corrections_len(code, n));
        demand.iter().map(len).sum()
    }
}

/// The bytes of the corrections of `n` OTs.
fn corrections_len(code: &Code, n: usize) -> usize {
    vole::corrections_len(code, n.next_multiple_of(vole::UNIT))
}

impl SoftSpoken {
    /// Runs the set-up for streams of `k` secret bits each, 1 to 8, and for indices of at most `most`
    /// bits.
    pub fn setup(party: &mut Party, k: u32, most: u32) -> Result<Self, Error> {
        let (peer, codes) = (peer_of(party), Codes::new(k, most));
        let shape = codes.shape();
        let mut choices = random::<u8>(shape.ots())?;
        choices.iter_mut().for_each(|choice| *choice &= 1);
        // The lowest bit of `delta`.
        choices[k as usize - 1] = 0;
        let base = base::exchange(party, &choices)?;

        let mut full = Zeroizing::new(vec![0; shape.leaves()]);
        let message = puncture::deal(shape, &base.sent, 0, &mut full)?;
        TREES.send_made(party, peer, shape.bytes(), || message)?;
        let message = TREES.recv_made(party, peer, shape.bytes())?;
        let mut punctured = Zeroizing::new(vec![0; shape.leaves()]);
        puncture::take(shape, &message, &choices, &base.received, &mut punctured);

        let secrets = shape.paths(&choices);
        let trees = punctured.chunks_exact_mut(1 << k);
        for (tree, path) in trees.zip(secrets.iter()) {
            pprf::relabel(tree, *path);
        }
        let punctured = std::mem::take(&mut *punctured);
        Ok(SoftSpoken {
            codes,
            sender: vole::Punctured::new(k, punctured, secrets.to_vec()),
            secrets,
            receiver: vole::Full::new(k, std::mem::take(&mut *full)),
        })
    }

    /// The cost of the set-up.
    pub fn setup_cost(k: u32, most: u32) -> Cost {
        let shape = Codes::new(k, most).shape();
        base::cost(shape.ots()) + &Cost::each(PARTIES, 1, shape.bytes() as u64)
    }

    /// The cost of an extension after which party `i` has sent `ots[i]`.
    pub fn cost_of(k: u32, ots: [Demand; 2]) -> Cost {
        let codes = Codes::new(k, super::KINDS as u32);
        let received = [ots[1], ots[0]];
        let bytes = received.map(|ots| codes.corrections_len(&codes.split(&ots).0) as u64);
        Cost {
            rounds: received.iter().any(|ots| !ots.is_empty()) as u32,
            bytes: bytes.to_vec(),
        }
    }

    fn receive(&mut self, party: &mut Party, m: u32, n: usize) -> Result<Received, Error> {
        let Some(code) = self.codes.get(m) else {
            return Ok(Received::default());
        };
        let (m, mut blocks) = (m as usize, vec![0; n.next_multiple_of(vole::UNIT)]);
        let mut choices = vec![0; blocks.len() / 64 * m];
        let chunks = (blocks.chunks_mut(CHUNK)).zip(choices.chunks_mut(CHUNK / 64 * m));
        for (blocks, choices) in chunks {
            let len = corrections_len(code, blocks.len());
            let mut corrections = vec![0; len];
            self.receiver
                .extend(code, blocks, choices, &mut corrections);
            CORRECTIONS.send_made(party, peer_of(party), len, || corrections)?;
        }
        blocks.truncate(n);
        choices.truncate((n * m).div_ceil(64));
        let choices = Bits::from_words(n * m, choices);
        Ok(Received { choices, blocks })
    }

    fn send(&mut self, party: &mut Party, m: u32, n: usize) -> Result<Vec<Block>, Error> {
        let Some(code) = self.codes.get(m) else {
            return Ok(Vec::new());
        };
        let mut blocks = Zeroizing::new(vec![0; n.next_multiple_of(vole::UNIT)]);
        for blocks in blocks.chunks_mut(CHUNK) {
            let len = corrections_len(code, blocks.len());
            let corrections = CORRECTIONS.recv_made(party, peer_of(party), len)?;
            self.sender.extend(code, &corrections, blocks);
        }
        blocks.truncate(n);
        Ok(std::mem::take(&mut *blocks))
    }
}

impl RandomOt for SoftSpoken {
    fn offsets(&self, index_bits: u32) -> Offsets {
        let k = self.codes.k;
        match self.codes.get(index_bits) {
            Some(code) => Offsets::of_code(code, k, &self.secrets),
            None => Offsets::combined(self.offsets(1).delta(), index_bits),
        }
    }

    fn extend(&mut self, party: &mut Party, send: &Demand, recv: &Demand) -> Result<Made, Error> {
        let [(send, combined_send), (recv, combined_recv)] =
            [send, recv].map(|demand| self.codes.split(demand));
        let mut made = Made::new();
        // All corrections are on their way before the first is waited for: 1 hop.
        for ((m, n), received) in recv.iter().zip(&mut made.received) {
            *received = self.receive(party, m, n)?;
        }
        for ((m, n), sent) in send.iter().zip(&mut made.sent) {
            *sent = self.send(party, m, n)?;
        }
        let spare = combined_send.index_bits();
        let rest = made.sent[0].len() - spare;
        let q = made.sent[0].split_off(rest);
        let cots = made.received[0].split_off(combined_recv.index_bits());
        made.combine(&combined_send, &combined_recv, q, cots);
        Ok(made)
    }

    fn cost(&self, ots: [Demand; 2]) -> Cost {
        SoftSpoken::cost_of(self.codes.k, ots)
    }
}
