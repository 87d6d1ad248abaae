//! A party among the others: who it is, and how it finds them.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tacit_net::Party;
use tacit_net::certs::{CERTIFICATE_FILE, Certificate, Identity, KEY_FILE};
use tacit_net::tcp::{self, Peer, TcpConfig};

use crate::settings::seconds;
use crate::{Error, Seat, Settings};

/// A party, as the others know it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PeerConfig {
    /// A name for messages, such as an organisation's.
    pub name: String,
    /// Where it listens, as `host:port`; not used of the last party.
    pub address: String,
    /// Its certificate.
    pub certificate: PathBuf,
}

/// A party, as it knows itself.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Member {
    /// This party.
    pub id: Seat,
    /// Its private key.
    #[serde(default = "key")]
    pub key: PathBuf,
    /// Its certificate.
    #[serde(default = "certificate")]
    pub certificate: PathBuf,
    /// Where to listen, if not at this party's address.
    pub listen: Option<String>,
    /// How long the others are waited for at the start, in seconds.
    #[serde(default = "patience", deserialize_with = "seconds")]
    pub connect_timeout: Duration,
    /// The file that gets a line for every run.
    #[serde(default = "record")]
    pub record: PathBuf,
}

pub(crate) fn key() -> PathBuf {
    KEY_FILE.into()
}

pub(crate) fn certificate() -> PathBuf {
    CERTIFICATE_FILE.into()
}

pub(crate) fn record() -> PathBuf {
    "runs.jsonl".into()
}

pub(crate) fn patience() -> Duration {
    Duration::from_secs(120)
}

impl Member {
    /// Joins the parties, this one among them, in order of their numbers.
    pub(crate) fn connect(
        &self,
        parties: &[PeerConfig],
        settings: &Settings,
        on_notice: &mut dyn FnMut(&str),
    ) -> Result<Party, Error> {
        let identity = Identity::load_files(&self.certificate, &self.key)?;
        let id = self.id.number("id", settings.protocol, parties.len())?;
        let listener = if id + 1 < parties.len() {
            let address = self.listen.as_ref().unwrap_or(&parties[id].address);
            Some(tcp::listen(address)?)
        } else {
            None
        };
        let peer = |peer: &PeerConfig| {
            Ok(Peer {
                name: peer.name.clone(),
                address: peer.address.clone(),
                certificate: Certificate::load(&peer.certificate)?,
            })
        };
        let config = TcpConfig {
            id,
            parties: parties.iter().map(peer).collect::<Result<_, Error>>()?,
            identity,
            listener,
            model: settings.network.link,
            timeout: settings.timeout,
            connect_timeout: self.connect_timeout,
        };
        Ok(tcp::connect(config, &mut |notice| {
            on_notice(&notice.to_string())
        })?)
    }
}
