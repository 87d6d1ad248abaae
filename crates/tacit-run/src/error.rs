//! What can go wrong in a run, and what to do about it.

mod fields;

use tacit_net::NetError;
use tacit_nn::encode::EncodeError;
use tacit_nn::onnx::ImportError;
use tacit_nn::plan::PlanError;
use tacit_nn::reference::ShapeError;

use crate::outputs::without_number;
use crate::record::Ledger;
pub use fields::Fields;

/// An error of a run. None of them carries a share, a seed or a key.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A link failed, a peer was lost, or the parties' settings differ.
    #[error(transparent)]
    Net(NetError),
    /// The protocol stopped: a peer broke it, a check failed, or a call was not planned.
    #[error(transparent)]
    Protocol(tacit_protocols::Error),
    /// The model's file cannot be used.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// The model cannot be planned.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The input or a weight cannot be encoded.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// The input of the clear-text model has the wrong size.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// A client's input cannot be shared, or answers do not fit together.
    #[error(transparent)]
    Client(#[from] tacit_client::Refusal),
    /// The model owner's plan is not valid.
    #[error("party {party}, the model's owner, sent a plan that cannot be used: {why}")]
    PeerPlan {
        /// The number of the model's owner.
        party: usize,
        /// What is wrong with it.
        why: String,
    },
    /// A peer's words are not those of this program.
    #[error("party {party} sent a malformed '{what}': it runs other software")]
    Malformed {
        /// The number of the party that sent the words.
        party: usize,
        /// The name of the message.
        what: &'static str,
    },
    /// A setting that cannot be used.
    #[error("{what}: {why}")]
    Setting {
        /// The setting that cannot be used, by its name.
        what: String,
        /// Why the setting cannot be used and what could.
        why: String,
    },
    /// Labels that do not belong to the items, or are no classes of the model.
    #[error("labels: {why}")]
    Labels {
        /// The number of the item whose label it is, of a single one.
        item: Option<usize>,
        /// What is wrong.
        why: String,
    },
    /// A file that cannot be read, written or understood.
    #[error("{path}: {why}")]
    File {
        /// The path of the file.
        path: String,
        /// What happened and what to do.
        why: String,
    },
    /// A party's data cannot be read, in the words of who reads it.
    #[error("{0}")]
    Data(String),
    /// A result is wrong, in the words of who knows the right one.
    #[error("{0}")]
    Wrong(String),
    /// A run ended early, after the parties had agreed.
    #[error("{cause}; {given}")]
    Early {
        /// The error that ended the run.
        cause: Box<Error>,
        /// What had been given out.
        given: String,
    },
    /// The caller asked to stop.
    #[error("the run was cancelled")]
    Cancelled,
    /// A party's thread panicked.
    #[error("party {party} stopped on a defect of this program: {what}; please report it")]
    Panic {
        /// The number of the party.
        party: usize,
        /// The words of the panic.
        what: String,
    },
    /// Several files could not be written.
    #[error("{}", each(.0))]
    Files(Vec<Error>),
    /// Processes of parties failed.
    #[error("{0}")]
    Processes(String),
}

/// One error a line.
fn each(errors: &[Error]) -> String {
    let lines: Vec<_> = errors.iter().map(Error::to_string).collect();
    lines.join("\n")
}

impl From<NetError> for Error {
    fn from(error: NetError) -> Self {
        Error::Net(error)
    }
}

impl From<tacit_train::Error> for Error {
    fn from(error: tacit_train::Error) -> Self {
        match error {
            tacit_train::Error::Protocol(error) => error.into(),
            tacit_train::Error::Network { what, why } => Error::setting(what, why),
            tacit_train::Error::Setting { what, why } => Error::setting(what, why),
        }
    }
}

impl From<tacit_protocols::Error> for Error {
    fn from(error: tacit_protocols::Error) -> Self {
        match error {
            tacit_protocols::Error::Net(error) => Error::Net(error),
            error => Error::Protocol(error),
        }
    }
}

impl Error {
    /// The error as its reader sees it: without the numbers that the system has for its own.
    pub fn words(&self) -> String {
        without_number(self)
    }

    /// The error of a setting.
    pub fn setting(what: impl Into<String>, why: impl Into<String>) -> Self {
        Error::Setting {
            what: what.into(),
            why: why.into(),
        }
    }

    pub(crate) fn file(path: &std::path::Path, why: impl std::fmt::Display) -> Self {
        Error::File {
            path: path.display().to_string(),
            why: without_number(why),
        }
    }

    /// The error of a run that had given out so much.
    pub(crate) fn after(self, ledger: &Ledger) -> Self {
        match self {
            Error::Cancelled => self,
            cause => Error::Early {
                cause: Box::new(cause),
                given: ledger.words(),
            },
        }
    }

    /// How far the error is from the first cause, when several parties fail at once: the loss of
    /// a peer is mostly the consequence of that peer's own error.
    pub(crate) fn distance(&self) -> u8 {
        match self {
            Error::Early { cause, .. } => cause.distance(),
            Error::Cancelled | Error::Net(NetError::Interrupted) => 0,
            Error::Net(
                NetError::PeerLost { .. }
                | NetError::RefusedByPeer { .. }
                | NetError::Accused { .. },
            ) => 2,
            Error::Net(NetError::Absent { .. }) => 3,
            _ => 1,
        }
    }
}
