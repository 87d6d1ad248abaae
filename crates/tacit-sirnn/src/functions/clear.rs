//! The building blocks on numbers in the clear, so that a function's clear-text twin reads like
//! its secure program and has the same widths.
//!
//! What a secure program takes for granted (a top bit that is 0, since then a wrap costs one small
//! OT) is asserted here: a twin that has run over all inputs has shown it.

/// A number modulo `2^bits`, `1 <= bits <= 64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Number {
    /// Bits of the number.
    pub bits: u32,
    /// The number's value, below `2^bits`.
    pub value: u64,
}

/// The low `bits` bits of `value`.
pub(super) fn low(value: u64, bits: u32) -> u64 {
    value & (u64::MAX >> (64 - bits))
}

impl Number {
    /// `value` modulo `2^bits`.
    pub fn new(bits: u32, value: u64) -> Self {
        let value = low(value, bits);
        Number { bits, value }
    }

    /// The value modulo `2^bits` of fewer bits.
    pub fn reduce(self, bits: u32) -> Self {
        assert!(bits <= self.bits);
        Number::new(bits, self.value)
    }

    /// The value in `bits` bits, no fewer than before, read as unsigned.
    pub fn zero_extend(self, bits: u32) -> Self {
        assert!(bits >= self.bits);
        Number::new(bits, self.value)
    }

    /// The value in `bits` bits, no fewer than before, where its top bit is known to be 0.
    pub fn extend_positive(self, bits: u32) -> Self {
        self.positive().zero_extend(bits)
    }

    /// The value modulo `2^bits`; where these are more, the top bit is known to be 0.
    pub fn resize_positive(self, bits: u32) -> Self {
        match bits <= self.bits {
            true => self.reduce(bits),
            false => self.extend_positive(bits),
        }
    }

    /// The value in `bits` bits, no fewer than before, read as signed.
    pub fn sign_extend(self, bits: u32) -> Self {
        assert!(bits >= self.bits);
        Number::new(bits, self.signed() as u64)
    }

    /// `x 2^k` in `k` bits more.
    pub fn shift_up(self, k: u32) -> Self {
        Number::new(self.bits + k, self.value << k)
    }

    /// `x + y`, of equal widths.
    pub fn add(self, other: Self) -> Self {
        assert_eq!(self.bits, other.bits);
        Number::new(self.bits, self.value.wrapping_add(other.value))
    }

    /// `x - y`, of equal widths.
    pub fn sub(self, other: Self) -> Self {
        assert_eq!(self.bits, other.bits);
        Number::new(self.bits, self.value.wrapping_sub(other.value))
    }

    /// `x + k`.
    pub fn add_public(self, k: u64) -> Self {
        Number::new(self.bits, self.value.wrapping_add(k))
    }

    /// `k x`.
    pub fn scale(self, k: u64) -> Self {
        Number::new(self.bits, self.value.wrapping_mul(k))
    }

    /// The top bit.
    pub fn msb(self) -> bool {
        self.value >> (self.bits - 1) == 1
    }

    /// `2 centre - x` if `bit`, else `x`.
    pub fn reflect(self, bit: bool, centre: u64) -> Self {
        let way = self.scale(u64::MAX).add_public(centre).select(bit);
        self.add(way.scale(2))
    }

    /// `x` if `bit`, else 0.
    pub fn select(self, bit: bool) -> Self {
        self.scale(bit.into())
    }

    /// `floor(x / 2^shift)`, in `shift` bits less.
    pub fn truncate_reduce(self, shift: u32) -> Self {
        Number::new(self.bits - shift, self.value >> shift)
    }

    /// The product modulo `2^bits`.
    pub fn multiply(self, other: Self, bits: u32) -> Self {
        assert!(bits <= self.bits + other.bits);
        Number::new(bits, self.value.wrapping_mul(other.value))
    }

    /// `floor(x y / 2^shift)` in `bits` bits, where the top bits of both are known to be 0.
    pub fn multiply_shift(self, other: Self, shift: u32, bits: u32) -> Self {
        let product = self.positive().multiply(other.positive(), bits + shift);
        product.truncate_reduce(shift)
    }

    /// The product of signed numbers modulo `2^bits`.
    pub fn multiply_signed(self, other: Self, bits: u32) -> Self {
        Number::new(bits, self.signed().wrapping_mul(other.signed()) as u64)
    }

    /// The digits of `digit` bits, the least significant one first; the last may be shorter.
    pub fn digits(self, digit: u32) -> Vec<Self> {
        (0..self.bits)
            .step_by(digit as usize)
            .map(|at| Number::new(digit.min(self.bits - at), self.value >> at))
            .collect()
    }

    /// `table[x]`, in `bits` bits.
    pub fn lookup(self, table: &[u64], bits: u32) -> Self {
        assert_eq!(table.len(), 1 << self.bits);
        Number::new(bits, table[self.value as usize])
    }

    /// The position of the highest bit that is 1, or 0; in `bits` bits.
    pub fn highest_bit(self, bits: u32) -> Self {
        Number::new(bits, self.value.checked_ilog2().unwrap_or(0).into())
    }

    /// The value of two's complement.
    pub fn signed(self) -> i64 {
        let unused = 64 - self.bits;
        ((self.value << unused) as i64) >> unused
    }

    fn positive(self) -> Self {
        assert!(!self.msb(), "the top bit of {self:?} was taken to be 0");
        self
    }
}
