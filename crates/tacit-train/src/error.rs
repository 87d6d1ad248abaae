use tacit_protocols::Error as ProtocolError;

/// Why a network cannot be trained, or a training went wrong.
#[derive(Debug)]
pub enum Error {
    /// Something in the network's description; says where and what to do.
    Network {
        /// The part of the network's description.
        what: String,
        /// What is wrong with it.
        why: String,
    },
    /// A setting of the training.
    Setting {
        /// The setting's name.
        what: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// The protocol stopped under the training.
    Protocol(ProtocolError),
}

impl Error {
    pub(crate) fn network(what: impl Into<String>, why: impl Into<String>) -> Self {
        let (what, why) = (what.into(), why.into());
        Error::Network { what, why }
    }

    pub(crate) fn setting(what: &'static str, why: impl Into<String>) -> Self {
        let why = why.into();
        Error::Setting { what, why }
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Error::Network { what, why } => write!(f, "{what}: {why}"),
            Error::Setting { what, why } => write!(f, "{what}: {why}"),
            Error::Protocol(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

impl From<ProtocolError> for Error {
    fn from(error: ProtocolError) -> Self {
        Error::Protocol(error)
    }
}
