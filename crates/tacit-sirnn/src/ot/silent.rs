//! Silent OT of Ferret's type (Yang, Weng, Lan, Zhang, Wang: "Ferret: Fast Extension for coRRElated
//! oT with small communication", CCS 2020), semi-honest.
//!
//! An iteration makes `n` OTs out of few, its seeds. A tree per block of `2^d` OTs gives the sender
//! leaves `v` and the receiver `w = v ^ e delta`, where `e` has a single one, at a place that the
//! sender does not know (SPCOT there; together, in regular places, MPCOT); a tree
//! takes `d` seeds. The other seeds `q`, `t = q ^ b delta` go through a public random `A` with ten
//! ones per row, a local linear code: `q A ^ v` and `t A ^ w` are OTs with choices `b A ^ e`, random
//! by the assumption of learning parity with noise (the COT extension there).
//!
//! Differences from the paper: no consistency check, which only a malicious party needs. The
//! receiver's path through a tree is made of the random choices of the tree's seeds, so nothing is
//! sent about it and an iteration is one message. Choices travel as the lowest bits of blocks,
//! since `delta` is odd. 1-of-2^m OTs are combined of `m`. `A` and the trees' permutations are new in every iteration. The parameters
//! are not the paper's of 2020 but newer ones, see [`SETS`]. The first seeds come from SoftSpoken;
//! every iteration keeps back those of the next.
//!
//! 1 hop, and 1 before it if seeds are missing; see [`Set::message_len`] for the bytes.

use tacit_algebra::Bits;
use tacit_algebra::ot::{Offsets, lpn, marks};
use tacit_net::Party;
use tacit_protocols::message::{Message, Packed};
use tacit_protocols::{Cost, Error};
use zeroize::Zeroizing;

use super::puncture::{self, Shape};
use super::random::random;
use super::{Block, Demand, Made, RandomOt, Received, SoftSpoken, peer_of, replace, shorten};

const ITERATION: Message<Packed> = Message::new("silent OT: trees and code");
const CONTEXT: &str = "tacit 2026 silent OT tree key";

/// The `k` of the SoftSpoken OTs that iterations start from.
const BOOTSTRAP: u32 = 4;

/// The parameters of an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Set {
    /// The length of the secret of learning parity with noise.
    secret: usize,
    /// The number of ones of the noise.
    trees: usize,
    /// Each one is in a block of `2^depth`.
    depth: u32,
}

/// From the least to the most: the trees of emp-ot 1.0 (2026), chosen for 128 bits of security against
/// the attacks known on codes without structure, on regular noise among them (Briaud and Øygarden,
/// EUROCRYPT 2023; Esser and Santini, CRYPTO 2024), and twice its secrets. Rows of ten ones are
/// sparse: with its secrets, of which a part is closed under part of the samples, a bound for guessing
/// that part is 2^90; with these it is 2^155. `scripts/lpn_estimate.py` reads them here and computes
/// what every attack costs.
const SETS: [Set; 3] = [
    Set {
        secret: 1 << 17,
        trees: 850,
        depth: 10,
    },
    Set {
        secret: 1 << 18,
        trees: 1170,
        depth: 11,
    },
    Set {
        secret: 1 << 19,
        trees: 1520,
        depth: 12,
    },
];

/// The bytes of a code's seed.
const SEED: usize = 16;

impl Set {
    fn shape(&self) -> Shape {
        Shape {
            trees: self.trees,
            depth: self.depth,
            delta: true,
        }
    }

    /// The OTs that an iteration takes.
    fn seeds(&self) -> usize {
        self.secret + self.shape().ots()
    }

    /// The OTs that an iteration makes.
    fn makes(&self) -> usize {
        self.shape().leaves()
    }

    /// Half of the OTs that an iteration makes: for fewer it is not worth its time.
    fn worth(&self) -> usize {
        self.makes() / 2
    }

    /// What the sender sends: a seed of the code, and trees.
    fn message_len(&self) -> usize {
        SEED + self.shape().bytes()
    }
}

/// What one extension of OTs does in one direction: which iterations run, and what they begin with.
#[derive(Debug, PartialEq, Eq)]
struct ExtensionSchedule {
    /// OTs that SoftSpoken makes first.
    bootstrap: usize,
    /// The iterations, in order.
    sets: Vec<&'static Set>,
    /// OTs that are kept back from then on.
    kept: usize,
}

impl ExtensionSchedule {
    /// The schedule for a demand at which `have` OTs are in stock and `kept` of them are kept back.
    ///
    /// The largest set that is worth it runs again and again; a demand too small for the smallest,
    /// below [`Set::worth`] or 435 200 OTs, is met by SoftSpoken.
    fn new(mut have: usize, kept: usize, demand: usize) -> ExtensionSchedule {
        let mut schedule = ExtensionSchedule {
            bootstrap: 0,
            sets: Vec::new(),
            kept,
        };
        while let Some(short @ 1..) = (demand + schedule.kept).checked_sub(have) {
            let Some(set) = SETS.iter().rfind(|set| short >= set.worth()) else {
                schedule.bootstrap += short;
                break;
            };
            schedule.run(set, &mut have);
            schedule.kept = schedule.kept.max(set.seeds());
        }
        schedule
    }

    /// Runs an iteration, and the smallest one before it if that is where its seeds come from.
    fn run(&mut self, set: &'static Set, have: &mut usize) {
        if *have < set.seeds() && *set != SETS[0] {
            self.run(&SETS[0], have);
        }
        let missing = set.seeds().saturating_sub(*have);
        self.bootstrap += missing;
        *have += missing + set.makes() - set.seeds();
        self.sets.push(set);
    }

    /// The bytes of the iterations, which the sender sends.
    fn bytes(&self) -> u64 {
        self.sets.iter().map(|set| set.message_len() as u64).sum()
    }

    fn rounds(&self) -> u32 {
        (self.bootstrap > 0) as u32 + !self.sets.is_empty() as u32
    }
}

/// OTs of one direction that were made and not yet handed out: `q` with a lowest bit of 0 at the
/// sender, `t` with the choice as its lowest bit at the receiver.
#[derive(Default)]
struct Stock {
    blocks: Zeroizing<Vec<Block>>,
    kept: usize,
    /// How many iterations were made so far.
    iterations: u64,
}

impl Stock {
    fn schedule(&self, demand: usize) -> ExtensionSchedule {
        ExtensionSchedule::new(self.blocks.len(), self.kept, demand)
    }

    /// The seeds of an iteration.
    fn take(&mut self, n: usize) -> Zeroizing<Vec<Block>> {
        let rest = self.blocks.len() - n;
        Zeroizing::new(self.blocks.split_off(rest))
    }

    /// Makes room for a schedule's OTs at once: what grows leaves copies behind.
    fn reserve(&mut self, schedule: &ExtensionSchedule) {
        let made = schedule.sets.iter().map(|set| set.makes());
        let all = self.blocks.len() + schedule.bootstrap + made.sum::<usize>();
        if all > self.blocks.capacity() {
            let mut blocks = Vec::with_capacity(all);
            blocks.extend_from_slice(&self.blocks);
            replace(&mut *self.blocks, blocks);
        }
    }

    /// Room for the leaves of an iteration.
    fn leaves(&mut self, n: usize) -> &mut [Block] {
        let start = self.blocks.len();
        self.blocks.resize(start + n, 0);
        &mut self.blocks[start..]
    }

    /// Hands out `n` OTs; what is fewer moves, those or the rest.
    fn hand_out(&mut self, n: usize) -> Vec<Block> {
        let rest = self.blocks.len() - n;
        if n < rest {
            return std::mem::take(&mut *self.take(n));
        }
        let left = self.blocks[n..].to_vec();
        shorten(&mut self.blocks, n);
        std::mem::replace(&mut *self.blocks, left)
    }

    /// The keys of the seeds of the next iteration's trees, in which `H` is told the iteration.
    fn keys(&mut self, sender: usize) -> TreeKeys {
        let mut hasher = blake3::Hasher::new_derive_key(CONTEXT);
        hasher.update(&(sender as u64).to_le_bytes());
        hasher.update(&self.iterations.to_le_bytes());
        self.iterations += 1;
        TreeKeys(hasher)
    }
}

/// Keys out of the seeds of trees.
struct TreeKeys(blake3::Hasher);

impl TreeKeys {
    fn key(&self, index: u64, block: Block) -> Block {
        let mut hasher = Zeroizing::new(self.0.clone());
        hasher.update(&index.to_le_bytes());
        hasher.update(&*Zeroizing::new(block.to_le_bytes()));
        let mut key = Zeroizing::new([0; 16]);
        Zeroizing::new(hasher.finalize_xof()).fill(&mut *key);
        Block::from_le_bytes(*key)
    }
}

/// Both directions of silent OT between two parties.
pub struct Silent {
    id: usize,
    delta: Zeroizing<Block>,
    bootstrap: SoftSpoken,
    sent: Stock,
    received: Stock,
}

impl Silent {
    /// Runs the set-up, which is that of the SoftSpoken OTs it starts from.
    pub fn setup(party: &mut Party) -> Result<Self, Error> {
        let bootstrap = SoftSpoken::setup(party, BOOTSTRAP, 1)?;
        Ok(Silent {
            id: party.id(),
            delta: Zeroizing::new(bootstrap.offsets(1).delta()),
            bootstrap,
            sent: Stock::default(),
            received: Stock::default(),
        })
    }

    /// The cost of the set-up.
    pub fn setup_cost() -> Cost {
        SoftSpoken::setup_cost(BOOTSTRAP, 1)
    }

    /// The cost of the first extension, after which party `i` has sent `ots[i]`.
    pub fn first_cost(ots: [Demand; 2]) -> Cost {
        Silent::cost_of(ots.map(|ots| ExtensionSchedule::new(0, 0, ots.index_bits())))
    }

    /// The cost of an extension by these schedules, one for each sender.
    fn cost_of(schedules: [ExtensionSchedule; 2]) -> Cost {
        let first = [0, 1].map(|i| Demand::cots(schedules[i].bootstrap));
        let mut cost = SoftSpoken::cost_of(BOOTSTRAP, first);
        cost.rounds = schedules[0].rounds().max(schedules[1].rounds());
        for (bytes, schedule) in cost.bytes.iter_mut().zip(&schedules) {
            *bytes += schedule.bytes();
        }
        cost
    }

    /// An iteration as the sender.
    fn deal(&mut self, party: &mut Party, set: &Set) -> Result<(), Error> {
        let (delta, shape) = (*self.delta, set.shape());
        let hash = self.sent.keys(self.id);
        let seeds = self.sent.take(set.seeds());
        let (secret, seeds) = seeds.split_at(set.secret);
        let keys = (0..).zip(seeds);
        let keys = keys.map(|(i, q)| [*q, q ^ delta].map(|block| hash.key(i, block)));
        let keys: Zeroizing<Vec<_>> = Zeroizing::new(keys.collect());
        let leaves = self.sent.leaves(shape.leaves());
        let mut message = puncture::deal(shape, &keys, delta, leaves)?;
        let seed = random::<[u8; SEED]>(1)?[0];
        message.extend_from_slice(&seed);
        ITERATION.send_made(party, peer_of(party), set.message_len(), || message)?;
        lpn::add_code(seed, secret, leaves);
        Ok(())
    }

    /// An iteration as the receiver.
    fn take(&mut self, party: &mut Party, set: &Set) -> Result<(), Error> {
        let (peer, shape) = (peer_of(party), set.shape());
        let hash = self.received.keys(peer);
        let seeds = self.received.take(set.seeds());
        let (secret, seeds) = seeds.split_at(set.secret);
        let keys = (0..).zip(seeds).map(|(i, t)| hash.key(i, *t));
        let keys: Zeroizing<Vec<_>> = Zeroizing::new(keys.collect());
        let choices: Zeroizing<Vec<u8>> = Zeroizing::new(marks::get(seeds).expand());
        let message = ITERATION.recv_made(party, peer, set.message_len())?;
        let (trees, seed) = message.split_last_chunk().expect("its length was checked");
        let leaves = self.received.leaves(shape.leaves());
        puncture::take(shape, trees, &choices, &keys, leaves);
        lpn::add_code(*seed, secret, leaves);
        Ok(())
    }

    /// Makes the schedules' first OTs by SoftSpoken.
    fn start(
        &mut self,
        party: &mut Party,
        sent: &ExtensionSchedule,
        received: &ExtensionSchedule,
    ) -> Result<(), Error> {
        let [send, recv] = [sent, received].map(|schedule| Demand::cots(schedule.bootstrap));
        let mut made = self.bootstrap.extend(party, &send, &recv)?;
        let (q, r) = (&mut made.sent[0], &mut made.received[0]);
        marks::set(q, &Bits::zeros(sent.bootstrap));
        marks::set(&mut r.blocks, &r.choices);
        self.sent.blocks.extend_from_slice(q);
        self.received.blocks.extend_from_slice(&r.blocks);
        Ok(())
    }
}

impl RandomOt for Silent {
    fn offsets(&self, index_bits: u32) -> Offsets {
        Offsets::combined(*self.delta, index_bits)
    }

    fn extend(&mut self, party: &mut Party, send: &Demand, recv: &Demand) -> Result<Made, Error> {
        let [cots_sent, cots_received] = [send, recv].map(Demand::index_bits);
        let (sent, received) = (
            self.sent.schedule(cots_sent),
            self.received.schedule(cots_received),
        );
        self.sent.reserve(&sent);
        self.received.reserve(&received);
        self.start(party, &sent, &received)?;
        // All messages are on their way before the first is waited for: 1 hop.
        for set in &sent.sets {
            self.deal(party, set)?;
        }
        for set in &received.sets {
            self.take(party, set)?;
        }
        self.sent.kept = sent.kept;
        self.received.kept = received.kept;
        let blocks = self.received.hand_out(cots_received);
        let choices = marks::get(&blocks);
        let q = self.sent.hand_out(cots_sent);
        let mut made = Made::new();
        made.combine(send, recv, q, Received { choices, blocks });
        Ok(made)
    }

    fn cost(&self, ots: [Demand; 2]) -> Cost {
        let stocks = match self.id {
            0 => [&self.sent, &self.received],
            _ => [&self.received, &self.sent],
        };
        Silent::cost_of([0, 1].map(|i| stocks[i].schedule(ots[i].index_bits())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_demands_are_softspokens() {
        let schedule = ExtensionSchedule::new(5, 0, SETS[0].worth() + 4);
        assert_eq!(
            (schedule.bootstrap, schedule.rounds()),
            (SETS[0].worth() - 1, 1)
        );
        assert!(schedule.sets.is_empty());
        assert_eq!(ExtensionSchedule::new(500, 400, 100).rounds(), 0);
    }

    /// After an iteration the next one of the same set needs no bootstrap.
    #[test]
    fn seeds_of_the_next_iteration_are_kept_back() {
        for set in &SETS {
            let first = ExtensionSchedule::new(0, 0, set.worth());
            assert_eq!(first.sets.last(), Some(&set));
            assert_eq!((first.kept, first.rounds()), (set.seeds(), 2));
            let have = first.sets.iter().fold(first.bootstrap, |have, set| {
                assert!(have >= set.seeds());
                have - set.seeds() + set.makes()
            });
            assert!(have >= set.worth() + first.kept);
            // All but what is kept back is handed out.
            let next = ExtensionSchedule::new(first.kept, first.kept, set.worth());
            assert_eq!((next.bootstrap, next.rounds()), (0, 1));
            assert_eq!(next.sets, [set]);
        }
    }
}
