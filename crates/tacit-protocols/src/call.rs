//! The calls of the machine with their sizes: what a program is, to those who count.

use crate::bilinear::Bilinear;
use crate::math::Elementary;

/// Who learns an opened value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Audience {
    /// Every party.
    All,
    /// One party only.
    One(usize),
}

/// The bits of a value that its sign is taken from (Bicoptor 2.0, section 5): the caller's promise
/// that `-2^{dropped + kept} + 2^dropped <= x < 2^{dropped + kept}`.
///
/// A protocol may take the sign at less cost for it. With `dropped` = 0 signs stay exact; else a
/// protocol that uses them may take an `x` in `-2^dropped < x < 0` for non-negative, and then a
/// ReLU lets it through. Values beyond the promise may get any sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyBits {
    /// Low bits that the sign does not depend on, up to what is said above.
    pub dropped: u32,
    /// The bits above them that tell the sign.
    pub kept: u32,
    /// Bits that hold the value, its sign included, whatever the inputs are: a promise of its own,
    /// `-2^(width - 1) <= x < 2^(width - 1)`, by which an exact sign costs less. The ring's or more: none.
    pub width: u32,
}

impl KeyBits {
    /// No promise: the sign is exact for every element of the machine's ring or field, by its
    /// representative nearest to 0 (`-2^(l-1)` over a ring of `l` bits).
    ///
    /// So it is of `drelu`, `relu` and the `maxpool` of windows whose differences the ring holds, on
    /// every protocol: clear text, Falcon, Shamir sharing, SiRnn and both settings of Bicoptor, where
    /// it costs more than key bits do. The one exception is asked for where a machine is made, by
    /// whoever knows that all values fit: narrow signs (Falcon's `with_narrow_signs`, SiRnn's
    /// `sign_bits`), which take them modulo `2^32` or what is named.
    pub const ALL: KeyBits = KeyBits {
        dropped: 0,
        kept: u32::MAX,
        width: u32::MAX,
    };

    /// A promise of these key bits, and none for exact signs.
    pub const fn of(dropped: u32, kept: u32) -> KeyBits {
        KeyBits {
            dropped,
            kept,
            ..KeyBits::ALL
        }
    }

    /// All bits of numbers that `width` bits hold, the sign included.
    pub const fn within(width: u32) -> KeyBits {
        KeyBits {
            width,
            ..KeyBits::ALL
        }
    }

    /// Whether nothing is promised of the bits above those dropped.
    pub fn is_all(self) -> bool {
        self.kept == KeyBits::ALL.kept
    }

    /// The key bits of a difference of two such values.
    pub fn of_difference(self) -> KeyBits {
        KeyBits {
            kept: self.kept.saturating_add(1),
            width: self.width.saturating_add(1),
            ..self
        }
    }
}

/// One call of the machine with its size: what a plan counts before any data arrives.
///
/// `n` counts elements, the batch included; `trunc` is the number of low bits dropped from the
/// result (0: none). Where tensors have widths of their own, `bits` are those of every number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Call {
    /// `input` of `n` elements by party `owner`.
    Input {
        /// The party that knows the values.
        owner: usize,
        /// Elements of the input.
        n: usize,
    },
    /// `reveal` of `n` elements.
    Reveal {
        /// Elements that are opened.
        n: usize,
        /// Who learns the opened values.
        to: Audience,
    },
    /// `reusable` of `n` elements.
    Reusable {
        /// Elements of the operand.
        n: usize,
    },
    /// `linear` of two secrets.
    Product {
        /// The bilinear map, with its sizes.
        map: Bilinear,
        /// The right operand's number among the reusable operands so far, if it is one of them.
        reused: Option<usize>,
        /// Who knows the right operand, if `known` was told.
        known_to: Option<usize>,
        /// Bits that the truncation of the product drops.
        trunc: u32,
        /// Bits of the left operand, of the right one, of the product and of the result.
        bits: Option<[u32; 4]>,
    },
    /// `truncate`, or a `resize` that is not local; also a linear layer with a public operand, which
    /// is local but for this.
    Truncate {
        /// Elements that are truncated.
        n: usize,
        /// Bits that the truncation drops.
        trunc: u32,
        /// Bits of a number before and after.
        bits: Option<[u32; 2]>,
    },
    /// `drelu`.
    Drelu {
        /// Elements whose signs are taken.
        n: usize,
        /// Where the sign is.
        keys: KeyBits,
        /// Bits of every number.
        bits: Option<u32>,
    },
    /// `relu`.
    Relu {
        /// Elements of the input.
        n: usize,
        /// Where the sign is.
        keys: KeyBits,
        /// Bits of every number.
        bits: Option<u32>,
    },
    /// `select`.
    Select {
        /// Elements that are chosen among.
        n: usize,
        /// Bits of every number.
        bits: Option<u32>,
    },
    /// `maxpool` over `windows` windows of `size` elements each.
    Maxpool {
        /// Windows, that is output elements.
        windows: usize,
        /// Elements of a window.
        size: usize,
        /// Where the signs of differences within a window are.
        keys: KeyBits,
        /// Bits of every number.
        bits: Option<u32>,
    },
    /// `function`; only a cost model to which it is native sees it, see [`lowered`](crate::lowered).
    Function {
        /// Elements of the argument.
        n: usize,
        /// The function that is computed of every element.
        function: Elementary,
    },
    /// A verification of all that waits for one: `verify`, or one that the machine makes by itself and
    /// [`CostModel::checked`](crate::cost::CostModel::checked) adds to the calls; it also fills in what
    /// waits.
    Verify(Unverified),
}

/// What waits to be verified, by sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Unverified {
    /// Products of bits that one party knows both factors of.
    pub carries: usize,
    /// Products of shared bits.
    pub ands: usize,
    /// Elements times a shared bit.
    pub choices: usize,
    /// Elements truncated without a mask.
    pub quotients: usize,
    /// Element-wise products of the ring.
    pub products: usize,
    /// Entries that matrix products and convolutions come down to: those whose inner dimension a proof cuts into `2^i`
    /// blocks at the place `i`.
    pub entries: [usize; RADICES],
}

/// How many powers of two a proof may cut a product's inner dimension into: 1 to 32 blocks.
pub const RADICES: usize = 6;

impl Call {
    /// A product of two secrets.
    pub const fn product(map: Bilinear, trunc: u32) -> Call {
        Call::Product {
            map,
            reused: None,
            known_to: None,
            trunc,
            bits: None,
        }
    }

    /// An element-wise product of two secrets.
    pub const fn elementwise(n: usize, trunc: u32) -> Call {
        Call::product(Bilinear::Elementwise(n), trunc)
    }

    /// `truncate`.
    pub const fn truncate(n: usize, trunc: u32) -> Call {
        let bits = None;
        Call::Truncate { n, trunc, bits }
    }

    /// `resize` of numbers of `from` bits that is not local.
    pub const fn resize(n: usize, from: u32, trunc: u32, bits: u32) -> Call {
        let bits = Some([from, bits]);
        Call::Truncate { n, trunc, bits }
    }

    /// `drelu` of values of any size.
    pub const fn drelu(n: usize) -> Call {
        let (keys, bits) = (KeyBits::ALL, None);
        Call::Drelu { n, keys, bits }
    }

    /// `relu` of values of any size.
    pub const fn relu(n: usize) -> Call {
        let (keys, bits) = (KeyBits::ALL, None);
        Call::Relu { n, keys, bits }
    }

    /// `select`.
    pub const fn select(n: usize) -> Call {
        let bits = None;
        Call::Select { n, bits }
    }

    /// `maxpool` of values of any size.
    pub const fn maxpool(windows: usize, size: usize) -> Call {
        Call::Maxpool {
            windows,
            size,
            keys: KeyBits::ALL,
            bits: None,
        }
    }

    /// Sets the key bits of a `Drelu`, `Relu` or `Maxpool`; other calls stay as they are.
    pub const fn by(mut self, by: KeyBits) -> Call {
        match &mut self {
            Call::Drelu { keys, .. } | Call::Relu { keys, .. } | Call::Maxpool { keys, .. } => {
                *keys = by;
            }
            _ => {}
        }
        self
    }

    /// Sets the bits of every number of a comparison or a `Select`; other calls stay as they are.
    pub const fn of_bits(mut self, of: u32) -> Call {
        match &mut self {
            Call::Drelu { bits, .. }
            | Call::Relu { bits, .. }
            | Call::Select { bits, .. }
            | Call::Maxpool { bits, .. } => *bits = Some(of),
            _ => {}
        }
        self
    }

    /// The number of equal parts of this call, to be changed; `None` if it does not consist of any.
    pub fn elements(&mut self) -> Option<&mut usize> {
        match self {
            Call::Reveal { n, .. }
            | Call::Product {
                map: Bilinear::Elementwise(n),
                ..
            }
            | Call::Truncate { n, .. }
            | Call::Drelu { n, .. }
            | Call::Relu { n, .. }
            | Call::Select { n, .. }
            | Call::Maxpool { windows: n, .. }
            | Call::Function { n, .. } => Some(n),
            Call::Product { .. }
            | Call::Input { .. }
            | Call::Reusable { .. }
            | Call::Verify { .. } => None,
        }
    }
}
