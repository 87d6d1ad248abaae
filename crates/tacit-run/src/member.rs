//! A party among the others: who it is, and how it finds them.

use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, de};
use tacit_net::certs::{CERTIFICATE_FILE, Certificate, Identity, KEY_FILE};
use tacit_net::tcp::{self, Ended, Notice, Peer, Refusal, TcpConfig};
use tacit_net::{NetError, Party};

use crate::local::guarded;
use crate::record::Record;
use crate::secret::Secret;
use crate::settings::seconds;
use crate::{Error, PartyName, Settings};

/// A party, as the others know it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PeerConfig {
    /// A name for messages, such as an organisation's.
    pub name: String,
    /// The peer's address, where it listens, as `host:port`; not used of the last party.
    #[serde(deserialize_with = "address")]
    pub address: String,
    /// File of the peer's certificate; several in one file are all accepted.
    pub certificate: PathBuf,
}

/// A party, as it knows itself: the `[party]` table of every config.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Member {
    /// This party.
    pub id: PartyName,
    /// This party's private key.
    #[serde(default = "key")]
    pub key: Secret,
    /// File of this party's certificate.
    #[serde(default = "certificate")]
    pub certificate: PathBuf,
    /// Where to listen, if not at this party's address.
    #[serde(default, deserialize_with = "listen")]
    pub listen: Option<String>,
    /// How long the others are waited for at the start, in seconds.
    #[serde(default = "patience", deserialize_with = "seconds")]
    pub connect_timeout: Duration,
    /// The file that gets a line for every run.
    #[serde(default = "record")]
    pub record: PathBuf,
    /// Raised when it is to wait no longer for the others.
    #[serde(skip)]
    pub(crate) leave: Arc<AtomicBool>,
}

fn key() -> Secret {
    KEY_FILE.into()
}

fn certificate() -> PathBuf {
    CERTIFICATE_FILE.into()
}

fn record() -> PathBuf {
    "runs.jsonl".into()
}

fn patience() -> Duration {
    Duration::from_secs(120)
}

impl Member {
    /// The files that it names.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        let own = [&self.certificate, &self.record];
        own.into_iter().chain(self.key.path())
    }

    /// The files that it names, to be changed.
    pub(crate) fn paths_mut(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        let own = [&mut self.certificate, &mut self.record];
        own.into_iter().chain(self.key.path_mut())
    }

    /// This party's certificate, with its key.
    fn identity(&self) -> Result<Identity, Error> {
        Ok(match &self.key {
            Secret::File(key) => Identity::load_files(&self.certificate, key)?,
            key => Identity::of(&self.certificate, &key.place(), &key.read("party.key")?)?,
        })
    }

    /// Joins the parties, this one among them, in order of their numbers.
    pub(crate) fn connect(
        &self,
        parties: &[PeerConfig],
        settings: &Settings,
        on_notice: &mut dyn FnMut(&str),
    ) -> Result<Party, Error> {
        let nothing = || Ok(());
        let (party, ()) = self.connect_while(parties, settings, on_notice, nothing)?;
        Ok(party)
    }

    /// Joins the parties while `prepare` runs on another thread; if that fails the others are told why.
    pub(crate) fn connect_while<T: Send + 'static>(
        &self,
        parties: &[PeerConfig],
        settings: &Settings,
        on_notice: &mut dyn FnMut(&str),
        prepare: impl FnOnce() -> Result<T, Error> + Send + 'static,
    ) -> Result<(Party, T), Error> {
        for peer in parties {
            if let Err(error) = Certificate::load_all(&peer.certificate) {
                let error = error.into();
                self.refuse(parties, settings, &error, on_notice);
                return Err(error);
            }
        }
        let mut config = self.tcp(parties, settings)?;
        config.listener = match self.listener(config.id, parties) {
            Ok(listener) => listener,
            Err(error) => {
                // Those above this party cannot come in; those below hear it, and tell them.
                tcp::refuse(config, &error, &error.to_string(), &mut shown(on_notice));
                return Err(error.into());
            }
        };
        let id = config.id;
        let prepare = move || {
            guarded(id, prepare).map_err(|error| Refusal {
                told: error.told(),
                error: Box::new(error),
            })
        };
        tcp::connect_while(config, &mut shown(on_notice), prepare).map_err(|ended| match ended {
            Ended::Net(error) => error.into(),
            Ended::Own(error) => *error,
        })
    }

    /// Tells the others why this party cannot run: those that can be reached and known.
    pub(crate) fn refuse(
        &self,
        parties: &[PeerConfig],
        settings: &Settings,
        error: &Error,
        on_notice: &mut dyn FnMut(&str),
    ) {
        self.refuse_in_words(parties, settings, (error, &error.told()), on_notice);
    }

    /// Tells the others in the words `told` why this party cannot run.
    pub(crate) fn refuse_in_words(
        &self,
        parties: &[PeerConfig],
        settings: &Settings,
        (error, told): (&Error, &str),
        on_notice: &mut dyn FnMut(&str),
    ) {
        // Who has no key cannot be believed by anybody.
        let Ok(mut config) = self.tcp(parties, settings) else {
            return;
        };
        // Without one, those below this party still hear it.
        config.listener = self.listener(config.id, parties).unwrap_or(None);
        tcp::refuse(config, error, told, &mut shown(on_notice));
    }

    /// Opens this party's record of its runs; if that fails the others are told.
    pub(crate) fn record(
        &self,
        parties: &[PeerConfig],
        settings: &Settings,
        on_notice: &mut dyn FnMut(&str),
    ) -> Result<Record, Error> {
        let opened = Record::open(&self.record);
        opened.inspect_err(|error| self.refuse(parties, settings, error, on_notice))
    }

    /// This party's number among the others.
    pub(crate) fn number(
        &self,
        parties: &[PeerConfig],
        settings: &Settings,
    ) -> Result<usize, Error> {
        (self.id).number("party.id", settings.protocol, parties.len())
    }

    /// Where the parties above this one come in, if there are any.
    fn listener(&self, id: usize, parties: &[PeerConfig]) -> Result<Option<TcpListener>, NetError> {
        let address = self.listen.as_ref().unwrap_or(&parties[id].address);
        (id + 1 < parties.len())
            .then(|| tcp::listen(address))
            .transpose()
    }

    /// All parties, with the certificates that can be read.
    fn tcp(&self, parties: &[PeerConfig], settings: &Settings) -> Result<TcpConfig, Error> {
        let identity = self.identity()?;
        let peer = |peer: &PeerConfig| {
            let mut all = Certificate::load_all(&peer.certificate).unwrap_or_default();
            Peer {
                name: peer.name.clone(),
                address: peer.address.clone(),
                certificate: (!all.is_empty()).then(|| all.remove(0)),
                also: all,
            }
        };
        Ok(TcpConfig {
            id: self.number(parties, settings)?,
            parties: parties.iter().map(peer).collect(),
            identity,
            listener: None,
            model: settings.network.link,
            timeout: settings.timeout,
            connect_timeout: self.connect_timeout,
            leave: self.leave.clone(),
        })
    }
}

fn shown(on_notice: &mut dyn FnMut(&str)) -> impl FnMut(&Notice) {
    |notice| on_notice(&notice.to_string())
}

/// `host:port`, the port from 1 on.
fn address<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let text = String::deserialize(from)?;
    let fits = text.rsplit_once(':').is_some_and(|(host, port)| {
        let bare_v6 = host.contains(':') && !(host.starts_with('[') && host.ends_with(']'));
        !host.is_empty() && !bare_v6 && port.parse::<u16>().is_ok_and(|port| port > 0)
    });
    match fits {
        true => Ok(text),
        false => Err(de::Error::custom(format!(
            "'{}' is no address: give a host and a port from 1 to 65535, such as party1.example.org:7101, 192.0.2.1:7101 or [2001:db8::1]:7101",
            text.escape_debug()
        ))),
    }
}

fn listen<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    address(from).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_host_and_a_port() {
        let read = |address: &str| {
            let json = serde_json::json!({"name": "a", "address": address, "certificate": "c"});
            serde_json::from_value::<PeerConfig>(json).map(drop)
        };
        for good in [
            "localhost:1",
            "10.0.0.1:65535",
            "[::1]:7100",
            "a.example:7100",
        ] {
            assert!(read(good).is_ok(), "{good}");
        }
        for bad in [
            "localhost",
            "",
            ":7100",
            "a:0",
            "a:65536",
            "a:b",
            "::1",
            "::1:7100",
            "a:",
        ] {
            let error = read(bad).expect_err(bad).to_string();
            assert!(
                error.contains("no address") && error.contains("7101"),
                "{error}"
            );
        }
        let json = serde_json::json!({"id": 0, "listen": "0.0.0.0"});
        let error = serde_json::from_value::<Member>(json).expect_err("no port");
        assert!(
            error.to_string().contains("'0.0.0.0' is no address"),
            "{error}"
        );
    }
}
