//! What Falcon declares of its own cost; tests hold it against the meters.
//!
//! Per element and party at l = 32 (64): a ReLU is online 33 (73) bytes and 7 (8) hops, offline
//! about 58 (137); a product with a truncation online 8 (16) bytes and 1 hop, offline at most 25
//! (49).

use tacit_algebra::Ring;
use tacit_algebra::prime::packed_len;

use super::demand::{self, Want};
use super::malicious::cost::{COPY, Checkpoint, Waits, checked};
use super::{PARTIES, Security, Truncation};
use crate::Cost;
use crate::cost::not_native;
use crate::machine::{Audience, Call, CostModel};
use crate::replicated::sharing_cost;
use crate::{pool, tree};

/// Falcon's declared cost over a ring of `bits` bits.
#[derive(Clone, Copy, Debug)]
pub struct FalconCost {
    bits: u32,
    prime: u8,
    truncation: Truncation,
    compare_bits: u32,
    compare_prime: u8,
    security: Security,
}

impl FalconCost {
    /// The cost over the ring of `bits` bits, whose comparison prime is `prime`.
    pub fn new(bits: u32, prime: u8, truncation: Truncation) -> Self {
        FalconCost {
            bits,
            prime,
            truncation,
            compare_bits: bits,
            compare_prime: prime,
            security: Security::SemiHonest,
        }
    }

    /// The cost with the security of choice.
    pub fn with_security(self, security: Security) -> Self {
        FalconCost { security, ..self }
    }

    fn malicious(&self) -> bool {
        self.security == Security::Malicious
    }

    /// The cost of [`super::Falcon::with_narrow_signs`].
    pub fn with_narrow_signs(self) -> Self {
        if self.bits <= u32::BITS {
            return self;
        }
        FalconCost {
            compare_bits: u32::BITS,
            compare_prime: u32::PRIME,
            ..self
        }
    }

    fn words(&self, n: usize) -> u64 {
        n as u64 * u64::from(self.bits / 8)
    }

    /// Private compare of `rows` bits in the field of `prime`.
    fn compare(&self, prime: u8, rows: usize, n: usize) -> (u32, u64) {
        let levels: Vec<usize> = tree::levels(rows + 1).collect();
        let bytes = levels
            .iter()
            .map(|pairs| residues(prime, pairs * n))
            .sum::<u64>();
        let (rounds, bytes) = (levels.len() as u32 + 1, bytes + 2 * residues(prime, n));
        if !self.malicious() {
            return (rounds, bytes);
        }
        let gates = Waits::of_both(rows * n);
        let (hops, more) = Checkpoint::default().residues(prime, gates).cost();
        (rounds + hops + 1, bytes + more)
    }

    fn sign(&self, n: usize) -> (u32, u64) {
        let (rounds, bytes) = self.compare(self.compare_prime, self.compare_bits as usize - 1, n);
        (
            1 + rounds,
            n as u64 * u64::from(self.compare_bits / 8) + bytes,
        )
    }

    fn relu(&self, n: usize) -> (u32, u64) {
        let (rounds, bytes) = self.sign(n);
        (rounds + 1, bytes + bit_bytes(n) + self.words(n))
    }

    /// What `exact` adds to the opening.
    fn truncation(&self, n: usize, trunc: u32, opened: u64) -> (u32, u64) {
        match self.truncation {
            Truncation::Exact => {
                let (rounds, bytes) = self.compare(self.prime, trunc as usize, n);
                (1 + rounds, opened + bytes)
            }
            _ => (1, opened),
        }
    }
}

fn residues(prime: u8, n: usize) -> u64 {
    packed_len(prime, n) as u64
}

fn bit_bytes(n: usize) -> u64 {
    n.div_ceil(8) as u64
}

impl CostModel for FalconCost {
    fn online(&self, call: &Call) -> Cost {
        if let Some(mut cost) = sharing_cost(call, self.words(1)) {
            if let (true, Call::Reveal { to, .. }) = (self.malicious(), call) {
                vouch(&mut cost, *to);
            }
            return cost;
        }
        let (rounds, bytes) = match *call {
            Call::Input { .. }
            | Call::Reveal { .. }
            | Call::Fix { .. }
            | Call::Truncate { trunc: 0, .. } => (0, 0),
            Call::Product { map, trunc: 0, .. } => (1, self.words(map.outputs())),
            Call::Product { map, trunc, .. } => {
                let n = map.outputs();
                let (rounds, bytes) = self.truncation(n, trunc, 2 * self.words(n));
                // A sum that is opened at once could not be verified.
                (rounds + u32::from(self.malicious()), bytes)
            }
            Call::Truncate { n, trunc, .. } => self.truncation(n, trunc, self.words(n)),
            Call::Drelu { n, .. } => self.sign(n),
            Call::Relu { n, .. } => self.relu(n),
            Call::Select { n, .. } => (2, bit_bytes(n) + self.words(n)),
            Call::Maxpool { windows, size, .. } => pool::levels(size)
                .map(|(pairs, _)| self.relu(pairs * windows))
                .fold((0, 0), |(rounds, bytes), (r, b)| (rounds + r, bytes + b)),
            Call::Verify { .. } if !self.malicious() => (0, 0),
            Call::Verify { gates, entries } => {
                let checkpoint = Checkpoint::default();
                checkpoint
                    .words(self.bits, Waits::of_both(gates), entries)
                    .cost()
            }
            Call::Function { .. } => not_native(call),
        };
        Cost::each(PARTIES, rounds, bytes)
    }

    fn stored(&self, call: &Call) -> u64 {
        let (word, sign_word) = (u64::from(self.bits / 8), u64::from(self.compare_bits / 8));
        // Both components of bits and products of bits, a residue each, and of a few words.
        let compare = |rows: u64| 4 * rows + 5;
        let of = |want: Want| match want {
            Want::Sign(n) => n as u64 * (compare(8 * sign_word) + 2 * sign_word),
            Want::Select(n) => n as u64 * (2 * word + 1),
            Want::Truncate(n, d) => match self.truncation {
                Truncation::Exact => n as u64 * (8 * word + compare(d.into())),
                _ => n as u64 * 6 * word,
            },
        };
        let made: u64 = demand::wants_of(call).into_iter().map(of).sum();
        // What waits to be verified while it is made.
        made * if self.malicious() { 8 } else { 1 }
    }

    fn offline(&self, calls: &[Call]) -> Cost {
        let mut path = Path::default();
        for batch in demand::batches(calls, self.security) {
            match self.security {
                Security::SemiHonest => self.batch(&batch, &mut path),
                Security::Malicious => self.checked_batch(&batch, &mut path),
            }
        }
        Cost {
            rounds: path.depth.into_iter().max().unwrap_or(0),
            bytes: path.bytes.to_vec(),
        }
    }

    fn checked(&self, calls: Vec<Call>) -> Vec<Call> {
        if self.malicious() {
            checked(calls)
        } else {
            calls
        }
    }
}

/// What the other holder of a revealed component sends.
fn vouch(cost: &mut Cost, to: Audience) {
    let hears = |party: &usize| to == Audience::All || to == Audience::One(*party);
    for receiver in (0..PARTIES).filter(hears) {
        cost.bytes[(receiver + 1) % PARTIES] += COPY;
    }
}

/// Hops and bytes of each party along a sequence of steps in which the parties differ.
#[derive(Default)]
struct Path {
    depth: [u32; PARTIES],
    bytes: [u64; PARTIES],
}

impl Path {
    /// Party 0 sends to party 1.
    fn input(&mut self, bytes: u64) {
        self.bytes[0] += bytes;
        self.depth[1] = self.depth[1].max(self.depth[0] + 1);
    }

    /// Every party sends to the one before it, `times` in a row.
    fn reshare(&mut self, bytes: u64, times: usize) {
        for _ in 0..times {
            let [a, b, c] = self.depth;
            self.depth = [a.max(b + 1), b.max(c + 1), c.max(a + 1)];
            self.bytes.iter_mut().for_each(|sent| *sent += bytes);
        }
    }

    /// What is made of a product of each party's own: party 0 sends to party 2, then both others to
    /// the one before.
    fn pairs(&mut self, bytes: u64) {
        let [a, b, c] = self.depth;
        let c = c.max(a + 1);
        self.depth = [a.max(b + 1), b.max(c + 1), c];
        self.bytes.iter_mut().for_each(|sent| *sent += bytes);
    }

    /// An injection: party 0 to party 1, then parties 1 and 2 to each other.
    fn inject(&mut self, bytes: u64) {
        self.input(bytes);
        let [_, b, c] = self.depth;
        (self.depth[1], self.depth[2]) = (b.max(c + 1), c.max(b + 1));
        self.bytes[1] += bytes;
        self.bytes[2] += bytes;
    }
}

impl FalconCost {
    /// One batch, in the order of `preprocess.rs`.
    fn batch(&self, wants: &[Want], path: &mut Path) {
        let Totals {
            signs,
            selects,
            truncations,
        } = Totals::of(wants);
        let truncated: usize = truncations.iter().map(|(n, _)| n).sum();
        let narrow = if self.compare_bits < self.bits {
            signs
        } else {
            0
        };
        let wide = signs - narrow;
        if narrow > 0 {
            add_components(self.compare_bits, narrow, path);
            self.prepare_signs(narrow, path);
        }
        if wide + truncated > 0 {
            add_components(self.bits, wide + truncated, path);
        }
        if wide > 0 {
            self.prepare_signs(wide, path);
        }
        if truncated > 0 {
            path.inject(self.words(3 * truncated));
            path.input(self.words(truncated));
            if self.truncation == Truncation::Exact {
                for (n, d) in truncations {
                    prepare_compare(self.prime, d, n, path);
                    path.inject(self.words(n));
                }
            }
        }
        if selects > 0 {
            path.inject(self.words(selects));
        }
    }

    fn prepare_signs(&self, n: usize, path: &mut Path) {
        prepare_compare(self.compare_prime, self.compare_bits as usize - 1, n, path);
    }

    /// The same batch under malicious security, with its checkpoint.
    fn checked_batch(&self, wants: &[Want], path: &mut Path) {
        let Totals {
            signs,
            selects,
            truncations,
        } = Totals::of(wants);
        let truncated: usize = truncations.iter().map(|(n, _)| n).sum();
        let narrow = self.compare_bits < self.bits;
        let mut made = Made::default();
        if narrow && signs > 0 {
            made.add_components(self.compare_bits, signs, path);
            self.prepare_checked_signs(signs, &mut made.narrow, path);
        }
        let wide = if narrow { 0 } else { signs };
        if wide + truncated > 0 {
            made.add_components(self.bits, wide + truncated, path);
        }
        if wide > 0 {
            self.prepare_checked_signs(wide, &mut made.residues, path);
        }
        if truncated > 0 {
            self.inject_words(5 * truncated, &mut made, path);
        }
        if self.truncation == Truncation::Exact {
            for (n, d) in truncations {
                prepare_checked_compare(self.prime, d, n, &mut made.residues, path);
                self.inject_words(n, &mut made, path);
            }
        }
        if selects > 0 {
            self.inject_words(selects, &mut made, path);
        }
        let checkpoint = Checkpoint::default()
            .bits(made.bits)
            .residues(self.prime, made.residues)
            .residues(self.compare_prime, made.narrow)
            .words(self.bits, made.words, 0);
        let (_, bytes) = checkpoint.cost();
        path.depth = checkpoint.from(path.depth);
        path.bytes.iter_mut().for_each(|sent| *sent += bytes);
    }

    fn prepare_checked_signs(&self, n: usize, gates: &mut Waits, path: &mut Path) {
        let rows = self.compare_bits as usize - 1;
        prepare_checked_compare(self.compare_prime, rows, n, gates, path);
    }

    fn inject_words(&self, n: usize, made: &mut Made, path: &mut Path) {
        path.pairs(self.words(n));
        made.words.one += n;
    }
}

/// What a batch is to hold.
#[derive(Default)]
struct Totals {
    signs: usize,
    selects: usize,
    /// Elements and bits of each.
    truncations: Vec<(usize, usize)>,
}

impl Totals {
    fn of(wants: &[Want]) -> Self {
        let mut totals = Totals::default();
        for want in wants {
            match *want {
                Want::Sign(n) => totals.signs += n,
                Want::Select(n) => totals.selects += n,
                Want::Truncate(n, d) => totals.truncations.push((n, d as usize)),
            }
        }
        totals
    }
}

/// Products of a batch that wait for its checkpoint.
#[derive(Default)]
struct Made {
    bits: Waits,
    residues: Waits,
    narrow: Waits,
    words: Waits,
}

impl Made {
    /// Carries saved, then rippled.
    fn add_components(&mut self, bits: u32, n: usize, path: &mut Path) {
        let rows = bits as usize - 1;
        path.reshare(bit_bytes(rows * n), 1);
        path.reshare(bit_bytes(n), rows);
        self.bits.one += rows * n;
        self.bits.both += rows * n;
    }
}

/// Bits and `beta` injected, their products, and a factor that is not zero.
fn prepare_checked_compare(prime: u8, rows: usize, n: usize, gates: &mut Waits, path: &mut Path) {
    path.pairs(residues(prime, (rows + 1) * n));
    path.reshare(residues(prime, rows * n), 1);
    path.pairs(residues(prime, n));
    gates.both += rows * n;
    gates.one += (rows + 2) * n;
}

fn add_components(bits: u32, n: usize, path: &mut Path) {
    path.input(bit_bytes(bits as usize * n));
    path.reshare(bit_bytes(n), bits as usize - 1);
}

fn prepare_compare(prime: u8, rows: usize, n: usize, path: &mut Path) {
    path.inject(residues(prime, (rows + 1) * n));
    path.reshare(rows as u64 * residues(prime, n), 1);
    path.inject(residues(prime, n));
}
