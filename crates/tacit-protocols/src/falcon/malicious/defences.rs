//! The defences of malicious security by name, so that a test can leave one out and show that its
//! attack then succeeds: an attack that never succeeds may be blind.

/// A single defence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Defence {
    /// The products' claim joins a proof under a coin that the prover learns after the first fold.
    Join,
    /// Every segment of a proof has coins of its own in theta.
    SegmentCoins,
    /// Every variable of a cube has a coin of its own.
    CubeCoins,
    /// Every output of a linear layer has coins of its own.
    OutputCoins,
    /// Coin 0 leaves only when the other verifier has said that it holds its operands.
    Acknowledgement,
    /// A later coin leaves only when the message has come that it is about.
    CoinAfterMessage,
    /// A prover holds each coin against the hash that the other verifier has sent.
    CoinHashes,
    /// Random entries hide the last elements of a proof.
    Hiding,
    /// The last elements of a proof are compared.
    Proofs,
    /// The hashes of openings are compared.
    Openings,
    /// A verification comes before the root of a comparison is opened.
    CheckedRoot,
    /// A result is held against the copy of its other holder.
    SecondCopy,
}

/// Which defences stand: all, but in tests.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Defences {
    #[cfg(test)]
    pub without: Option<Defence>,
}

impl Defences {
    /// Whether `defence` stands.
    #[cfg(not(test))]
    pub const fn stand(self, _defence: Defence) -> bool {
        true
    }

    /// Whether `defence` stands.
    #[cfg(test)]
    pub fn stand(self, defence: Defence) -> bool {
        self.without != Some(defence)
    }
}
