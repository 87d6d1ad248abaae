//! Counts what each call consumes, before any data arrives.

use super::deal::Demand;
use super::params::Params;
use super::small::MaskCounts;
use crate::cost::not_native;
use crate::machine::Call;
use crate::{batches, pool};

/// Material for one step of one call, for `n` elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Want {
    /// A multiplication of `n` elements.
    Product { n: usize },
    /// A truncation by `d` bits, of a product or of a sharing.
    Truncate { n: usize, d: u32, product: bool },
    /// A sign by the tree, or by the rotation; for a ReLU or by itself.
    Sign { n: usize, rot: bool, relu: bool },
}

impl Want {
    fn len(&self) -> usize {
        match *self {
            Want::Product { n } | Want::Truncate { n, .. } | Want::Sign { n, .. } => n,
        }
    }
}

impl std::fmt::Display for Want {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Want::Product { n } => write!(f, "a product of {n} elements"),
            Want::Truncate { n, d, .. } => write!(f, "a truncation of {n} elements by {d} bits"),
            Want::Sign { n, .. } => write!(f, "the sign of {n} elements"),
        }
    }
}

/// Elements of a batch, unless one step alone has more: hops are paid per batch, memory too.
const BATCH: usize = 1 << 16;

/// What making the material of a batch consumes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Needs {
    /// Numbers with their bits.
    pub solved: usize,
    /// Random bits beside those.
    pub bits: usize,
    /// Random numbers other than 0.
    pub nonzero: usize,
    /// Products of a bit with a bit.
    pub flips: usize,
    /// Masks that are known in both fields.
    pub masks: MaskCounts,
    /// Elements whose shift is unfolded.
    pub unfolded: usize,
    /// Doubles kept for the online phase.
    pub doubles: usize,
    /// Sharings of 0, used at once or kept.
    pub zeros: usize,
}

impl Needs {
    fn add(&mut self, other: Needs) {
        self.solved += other.solved;
        self.bits += other.bits;
        self.nonzero += other.nonzero;
        self.flips += other.flips;
        self.masks.signs += other.masks.signs;
        self.masks.truncations += other.masks.truncations;
        self.unfolded += other.unfolded;
        self.doubles += other.doubles;
        self.zeros += other.zeros;
    }
}

impl Params {
    /// The wants of one call, in the order in which it draws them.
    fn wants_of(&self, call: &Call) -> Vec<Want> {
        let sign = |n: usize, relu: bool| Want::Sign {
            n,
            rot: self.rot(n),
            relu,
        };
        match *call {
            Call::Input { .. }
            | Call::Reveal { .. }
            | Call::Reusable { .. }
            | Call::Verify { .. }
            | Call::Truncate { trunc: 0, .. } => vec![],
            Call::Select { n, .. } => vec![Want::Product { n }],
            Call::Product { map, trunc: 0, .. } => vec![Want::Product { n: map.outputs() }],
            Call::Product { map, trunc: d, .. } => vec![Want::Truncate {
                n: map.outputs(),
                d,
                product: true,
            }],
            Call::Truncate { n, trunc: d, .. } => vec![Want::Truncate {
                n,
                d,
                product: false,
            }],
            Call::Drelu { n, .. } => vec![sign(n, false)],
            Call::Relu { n, .. } => vec![sign(n, true)],
            Call::Maxpool { windows, size, .. } => pool::levels(size)
                .map(|(pairs, _)| sign(pairs * windows, true))
                .collect(),
            Call::Function { .. } => not_native(call),
        }
    }

    /// The wants of all calls in batches.
    pub fn batches(&self, calls: &[Call]) -> Vec<Vec<Want>> {
        let wants = calls.iter().flat_map(|call| self.wants_of(call));
        batches::group(wants, Want::len, BATCH)
    }

    /// What one want needs.
    fn needs_of(&self, want: &Want) -> Needs {
        let places = self.places();
        match *want {
            Want::Product { n } => Needs {
                doubles: n,
                ..Needs::default()
            },
            Want::Truncate { n, product, .. } => {
                let small = self.small_truncations();
                Needs {
                    solved: if small { 0 } else { n },
                    masks: MaskCounts {
                        truncations: if small { n } else { 0 },
                        ..MaskCounts::default()
                    },
                    zeros: if product { n } else { 0 },
                    ..Needs::default()
                }
            }
            Want::Sign {
                n,
                rot: false,
                relu,
            } if self.small_signs() => Needs {
                masks: MaskCounts {
                    signs: n,
                    ..MaskCounts::default()
                },
                doubles: if relu { n } else { 0 },
                ..Needs::default()
            },
            Want::Sign {
                n,
                rot: false,
                relu,
            } => Needs {
                solved: n,
                bits: n,
                nonzero: n,
                flips: n,
                doubles: (self.factors() - 2) * n + if relu { n } else { 0 },
                zeros: n,
                ..Needs::default()
            },
            Want::Sign { n, rot: true, relu } => Needs {
                solved: n,
                bits: places.ilog2() as usize * n,
                nonzero: places * n,
                unfolded: n,
                doubles: places * n + if relu { 2 * n } else { n },
                zeros: places * n,
                ..Needs::default()
            },
        }
    }

    /// Bytes of the material of a call as it lies in store.
    pub fn stored(&self, call: &Call) -> usize {
        let (l, places) = (self.bits, self.places());
        let of = |want: Want| match want {
            Want::Product { n } => 2 * n * self.word_bits(),
            Want::Truncate { n, .. } => 3 * n * self.word_bits(),
            Want::Sign {
                n,
                rot: false,
                relu,
            } if self.small_signs() => n * MaskCounts::stored_bits(self, relu),
            Want::Sign { n, rot: false, .. } => (3 * l + 7) * n * self.word_bits(),
            Want::Sign { n, rot: true, .. } => (l + 5 * places + 1) * n * self.word_bits(),
        };
        let bits: usize = self.wants_of(call).into_iter().map(of).sum();
        bits.div_ceil(8)
    }

    /// Bytes that are held while the material of a call is made: the random sharings, of what gives bits both
    /// factors of the squares, the squares and their roots, and what masks are made of.
    pub fn workspace(&self, call: &Call) -> usize {
        self.making(&self.wants_of(call)).max(self.stored(call))
    }

    /// Bytes that are held while the material of a batch is made.
    pub fn making(&self, wants: &[Want]) -> usize {
        let needs = self.needs(wants);
        let Demand {
            random,
            double,
            zero,
        } = self.demand(&needs);
        let squares = self.random_bits(&needs) + needs.nonzero;
        let elements = random + 2 * double + zero + 4 * squares;
        let bits = elements * self.word_bits() + needs.masks.held_bits(self);
        bits.div_ceil(8)
    }

    /// The random bits of the large field that a batch begins with.
    fn random_bits(&self, needs: &Needs) -> usize {
        self.bits * needs.solved + needs.bits + needs.masks.random_bits(self)
    }

    /// What a batch needs.
    pub fn needs(&self, wants: &[Want]) -> Needs {
        let mut needs = Needs::default();
        wants.iter().for_each(|want| needs.add(self.needs_of(want)));
        needs
    }

    /// The random sharings that a batch begins with.
    pub fn demand(&self, needs: &Needs) -> Demand {
        let bits = self.random_bits(needs);
        Demand {
            random: bits + 2 * needs.nonzero + needs.solved,
            double: needs.flips + (self.places() - 2) * needs.unfolded + needs.doubles,
            zero: bits + needs.nonzero + needs.solved + needs.zeros,
        }
    }
}
