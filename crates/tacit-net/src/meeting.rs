//! Who met whom, and under which name all of them know that they did.

use crate::frame::Session;

/// A session between parties that are apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meeting {
    /// The name of the session in hexadecimal digits: the same at all parties, and another in every session
    /// that one honest party takes part in.
    pub name: String,
    /// The fingerprints of the certificates by their parties' numbers: this party's own, and the ones that the
    /// others have shown in the handshake.
    pub certificates: Vec<String>,
}

impl Meeting {
    /// The meeting of a session. Its name is a hash, so that nothing that is written down is what frames carry.
    pub(crate) fn new(session: &Session, certificates: Vec<String>) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("tacit-net name of a session");
        let hash = hasher.update(session).finalize();
        Meeting {
            name: hash.to_hex()[..32].to_string(),
            certificates,
        }
    }
}
