//! What can go wrong inside a protocol.

use tacit_net::{NetError, Party};

/// An error of a protocol run. None of them carries a share, a seed or a secret.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A link failed, or a peer was lost.
    #[error(transparent)]
    Net(#[from] NetError),
    /// The operating system gave no randomness; nothing secret can be made without it.
    #[error(
        "the operating system's random generator failed ({0}); no secret can be protected without it, so this party stops"
    )]
    Randomness(String),
    /// A peer sent something outside the protocol.
    #[error("party {party} broke the protocol at '{step}': {what}")]
    Peer {
        /// The peer that sent it.
        party: usize,
        /// The step of the protocol.
        step: &'static str,
        /// What was wrong with the message.
        what: String,
    },
    /// A check against cheating failed.
    #[error(
        "the check '{step}' failed: what party {checked} sent does not fit the word of party {vouched}, so one of the two broke the protocol; this run cannot go on: before another one hold the errors of all parties beside each other, for honest parties name the same one"
    )]
    Cheating {
        /// The party whose messages were checked.
        checked: usize,
        /// The party against whose word they were held.
        vouched: usize,
        /// The step of the check.
        step: &'static str,
    },
    /// An online call consumes correlated randomness that the plan did not demand.
    #[error(
        "'{call}' needs correlated randomness that was not prepared; the calls of the online phase must be those of the plan"
    )]
    NotPrepared {
        /// The call that lacks randomness.
        call: String,
    },
    /// A call outside the machine's range.
    #[error("{0}")]
    Invalid(String),
}

impl Error {
    /// Tells the others why the set-up of a machine ends, with which the party goes, too. Of links that
    /// fail the party tells them itself.
    pub fn end_set_up(&self, party: &mut Party) {
        if !matches!(self, Error::Net(_)) {
            party.give_up(&self.to_string());
        }
    }
}
