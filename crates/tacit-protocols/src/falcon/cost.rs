//! What Falcon declares of its own cost; tests hold it against the meters.
//!
//! Per element and party at l = 32 (64): a ReLU is online 33 (73) bytes and 7 (8) hops, offline
//! about 58 (137); a product with a truncation online 8 (16) bytes and 1 hop, offline at most 25
//! (49).

use tacit_algebra::Ring;
use tacit_algebra::prime::packed_len;

use super::demand::{self, Want};
use super::{PARTIES, Truncation};
use crate::Cost;
use crate::machine::{Call, CostModel, not_native};
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
        }
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
        (levels.len() as u32 + 1, bytes + 2 * residues(prime, n))
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
        if let Some(cost) = sharing_cost(call, self.words(1)) {
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
                self.truncation(n, trunc, 2 * self.words(n))
            }
            Call::Truncate { n, trunc } => self.truncation(n, trunc, self.words(n)),
            Call::Drelu { n, .. } => self.sign(n),
            Call::Relu { n, .. } => self.relu(n),
            Call::Select { n } => (2, bit_bytes(n) + self.words(n)),
            Call::Maxpool { windows, size, .. } => pool::levels(size)
                .map(|(pairs, _)| self.relu(pairs * windows))
                .fold((0, 0), |(rounds, bytes), (r, b)| (rounds + r, bytes + b)),
            Call::Function { .. } | Call::Mixed(_) => not_native(call),
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
        demand::wants_of(call).into_iter().map(of).sum()
    }

    fn offline(&self, calls: &[Call]) -> Cost {
        let mut path = Path::default();
        for batch in demand::batches(calls) {
            self.batch(&batch, &mut path);
        }
        Cost {
            rounds: path.depth.into_iter().max().unwrap_or(0),
            bytes: path.bytes.to_vec(),
        }
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
        let (mut signs, mut selects, mut truncations) = (0, 0, Vec::new());
        for want in wants {
            match *want {
                Want::Sign(n) => signs += n,
                Want::Select(n) => selects += n,
                Want::Truncate(n, d) => truncations.push((n, d as usize)),
            }
        }
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
