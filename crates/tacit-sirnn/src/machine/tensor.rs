//! A tensor of the machine.

use tacit_algebra::vec;

use crate::Shared;

/// One party's summand of a tensor. Never shown.
#[derive(Clone)]
pub struct Tensor {
    /// The width of every number.
    pub(super) bits: u32,
    /// This party's summand of every number, below `2^bits`.
    pub(super) summand: Vec<u64>,
    /// The party that knows the values, if they are weights; the other's summand is 0.
    pub(super) owner: Option<usize>,
}

impl Tensor {
    /// A tensor of which no party is said to know the values.
    pub(super) fn new(bits: u32, summand: Vec<u64>) -> Self {
        Tensor {
            bits,
            summand,
            owner: None,
        }
    }

    /// The summand as the building blocks take it.
    pub(super) fn shared(&self) -> Shared {
        Shared {
            bits: self.bits,
            values: self.summand.clone(),
        }
    }

    /// The values modulo `2^bits`; unchanged if they have so many bits or fewer. Local.
    pub(super) fn narrowed(&self, bits: u32) -> Self {
        let bits = bits.min(self.bits);
        self.pick(vec::low_bits(&self.summand, bits)).of(bits)
    }

    fn of(self, bits: u32) -> Self {
        Tensor { bits, ..self }
    }

    /// A tensor of the given summands, with this one's width and known to the party that knows this
    /// one.
    pub(super) fn pick(&self, summand: Vec<u64>) -> Self {
        Tensor {
            bits: self.bits,
            summand,
            owner: self.owner,
        }
    }

    /// A local linear map of two tensors, modulo the smaller of their sizes.
    pub(super) fn zip(&self, other: &Self, f: impl FnOnce(&[u64], &[u64]) -> Vec<u64>) -> Self {
        let bits = self.bits.min(other.bits);
        Tensor::new(bits, vec::low_bits(&f(&self.summand, &other.summand), bits))
    }

    /// The parts one after the other, of as many bits as the narrowest.
    pub(super) fn concat(parts: &[&Self]) -> Self {
        let bits = parts.iter().map(|part| part.bits).min().unwrap_or(1);
        let summands: Vec<_> = parts.iter().map(|part| part.summand.as_slice()).collect();
        Tensor::new(bits, vec::low_bits(&summands.concat(), bits))
    }
}

impl From<Shared> for Tensor {
    fn from(shared: Shared) -> Self {
        Tensor::new(shared.bits, shared.values)
    }
}
