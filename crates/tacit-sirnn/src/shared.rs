//! A party's share of a tensor: one summand for each element.

use tacit_algebra::vec;

/// One party's summand of a tensor modulo `2^bits`, `1 <= bits <= 64`. Never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Shared {
    /// Bits of every number.
    pub bits: u32,
    /// One summand per element, each below `2^bits`.
    pub values: Vec<u64>,
}

impl Shared {
    /// The summands modulo `2^bits`.
    pub fn new(bits: u32, values: &[u64]) -> Self {
        Shared {
            bits,
            values: vec::low_bits(values, bits),
        }
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The value modulo `2^bits` of fewer bits. Local.
    pub fn reduce(&self, bits: u32) -> Self {
        assert!(bits <= self.bits);
        Shared::new(bits, &self.values)
    }

    /// `x + y`, of equal widths. Local.
    pub fn add(&self, other: &Self) -> Self {
        assert_eq!(self.bits, other.bits);
        Shared::new(self.bits, &vec::add(&self.values, &other.values))
    }

    /// `x - y`, of equal widths. Local.
    pub fn sub(&self, other: &Self) -> Self {
        assert_eq!(self.bits, other.bits);
        Shared::new(self.bits, &vec::sub(&self.values, &other.values))
    }

    /// `k x` for a public `k`. Local.
    pub fn scale(&self, k: u64) -> Self {
        Shared::new(self.bits, &vec::scale(&self.values, k))
    }
}
