//! A proof at a party that counts: its messages' lengths, and no elements.

use tacit_algebra::Prg;
use tacit_algebra::extension::Extension;

use super::fold::Fold;
use super::proof::Run;

/// One party's end of such a proof.
pub(super) struct Counted {
    /// What is left to fold, the next one last.
    folds: Vec<Fold>,
    wire_len: fn(usize) -> usize,
}

impl Counted {
    /// A proof over `K` with these folds, the last one first.
    pub fn new<K: Extension>(folds: Vec<Fold>) -> Self {
        Counted {
            folds,
            wire_len: K::wire_len,
        }
    }
}

impl Run for Counted {
    fn begin(&mut self, _seed: [u8; 16]) {}

    fn folds(&self) -> usize {
        self.folds.len()
    }

    fn deal(&mut self) -> Vec<u8> {
        Vec::new()
    }

    fn dealt_len(&self) -> usize {
        self.folds
            .last()
            .map_or(0, |fold| (self.wire_len)(fold.dealt()))
    }

    fn take(&mut self, _message: Option<&[u8]>) -> Option<()> {
        Some(())
    }

    fn fold(&mut self, _coins: &mut Prg) {
        self.folds.pop();
    }

    fn last(&self) -> Vec<u8> {
        Vec::new()
    }

    fn last_len(&self) -> usize {
        (self.wire_len)(2)
    }

    fn check(&self, _message: &[u8]) -> Option<bool> {
        Some(true)
    }

    #[cfg(test)]
    fn any(&mut self) -> &mut dyn std::any::Any {
        self
    }

    #[cfg(test)]
    fn dealt(&self) -> Vec<usize> {
        self.folds.iter().rev().map(|fold| fold.dealt()).collect()
    }
}
