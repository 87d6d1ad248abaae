//! A tensor of the machine.

use tacit_algebra::vec;

use crate::Shared;

/// One party's summand of a tensor over the machine's ring. Never shown.
#[derive(Clone)]
pub struct Tensor {
    /// Below `2^bits`.
    pub(super) summand: Vec<u64>,
    /// Of weights: the party that knows them; the other's summand is 0.
    pub(super) owner: Option<usize>,
}

impl Tensor {
    /// What nobody is said to know.
    pub(super) fn new(summand: Vec<u64>) -> Self {
        Tensor {
            summand,
            owner: None,
        }
    }

    /// Elements of this one, known to whom this one is.
    pub(super) fn pick(&self, summand: Vec<u64>) -> Self {
        Tensor {
            summand,
            owner: self.owner,
        }
    }

    /// A local linear map of two tensors, modulo `2^bits`.
    pub(super) fn zip(
        &self,
        other: &Self,
        bits: u32,
        f: impl FnOnce(&[u64], &[u64]) -> Vec<u64>,
    ) -> Self {
        Tensor::new(vec::low_bits(&f(&self.summand, &other.summand), bits))
    }

    /// The parts one after the other.
    pub(super) fn concat(parts: &[&Self]) -> Self {
        let summands: Vec<_> = parts.iter().map(|part| part.summand.as_slice()).collect();
        Tensor::new(summands.concat())
    }
}

impl From<Shared> for Tensor {
    fn from(shared: Shared) -> Self {
        Tensor::new(shared.values)
    }
}
