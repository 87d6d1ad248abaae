//! `serve.toml`: what one organisation's party serves, to whom, and with whom.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use super::queue::Limits;
pub(super) use super::tables::ModelTable;
use super::tables::{ClientTable, IssuerTable, Served, ServiceTable};
use crate::instance::APART;
use crate::member::{Member, PeerConfig};
use crate::options::read_file;
use crate::terms::Terms;
use crate::{Error, Secret, Settings};

/// How long the parties wait for each other in further sessions, once they are in the first.
const TOGETHER: Duration = Duration::from_secs(10);

/// A party that serves.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServeConfig {
    pub(super) party: Member,
    #[serde(default)]
    pub(super) run: Settings,
    parties: Vec<Served>,
    models: Vec<ModelTable>,
    #[serde(default)]
    pub(super) service: ServiceTable,
    #[serde(default)]
    clients: Vec<ClientTable>,
    #[serde(default)]
    issuers: Vec<IssuerTable>,
    /// The folder that the config file lies in.
    #[serde(skip)]
    folder: PathBuf,
}

impl ServeConfig {
    /// Reads and checks a file. Errors name the file and the key.
    pub fn load(path: &Path) -> Result<Self, Error> {
        let mut config: ServeConfig = read_file(path, "`tacit init` makes config files")?;
        config.check().map_err(|e| Error::file(path, e))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        config.paths().for_each(|p| *p = folder.join(&*p));
        config.folder = folder.into();
        Ok(config)
    }

    /// All that stands in it and what holds where it says nothing, as JSON.
    pub fn to_json(&self) -> Result<String, Error> {
        let of_model = |(at, table): (usize, &ModelTable)| {
            // All that stands there but the place, so that a table which was changed is told from one that was not.
            let whole = ModelTable {
                place: None,
                ..table.clone()
            };
            let whole = blake3::hash(format!("{whole:?}").as_bytes());
            json!({"name": table.name, "version": table.version, "digest": table.digest,
                   "commitment": table.commitment, "file": table.file, "place": self.place(at),
                   "sessions": table.sessions,
                   "whole": whole.to_hex().as_str()})
        };
        let models: Vec<Value> = self.models.iter().enumerate().map(of_model).collect();
        let whole = json!({
            "party": {"id": self.number()?, "key": self.party.key, "certificate": self.party.certificate,
                      "record": self.party.record, "listen": self.party.listen},
            "protocol": self.run.protocol.name,
            "parties": self.parties,
            "models": models,
            "service": self.service,
            "clients": self.clients,
            "issuers": self.issuers,
        });
        Ok(whole.to_string())
    }

    /// The number of this party.
    pub(super) fn number(&self) -> Result<usize, Error> {
        (self.party.id).number("party.id", self.run.protocol, self.parties.len())
    }

    /// Where the owner of a model keeps the salt of its commitment.
    pub(super) fn salt(&self, table: &ModelTable) -> PathBuf {
        self.folder.join(format!("{}.salt", table.name))
    }

    /// The file of what this party approves, if there is to be one.
    pub(super) fn approved(&self) -> Option<&Path> {
        self.service.approved.as_deref()
    }

    /// Where a model stands among all; its version may be left out if there is one alone.
    pub(super) fn find(&self, name: &str, version: Option<&str>) -> Result<usize, Error> {
        let meant = |m: &ModelTable| m.name == name && version.is_none_or(|v| m.version == v);
        let found: Vec<usize> = (0..self.models.len())
            .filter(|&at| meant(&self.models[at]))
            .collect();
        let why = match found[..] {
            [at] => return Ok(at),
            [] => "is not served; those are",
            _ => "is served in several versions; name one of",
        };
        let names: Vec<String> = (self.models.iter())
            .map(|m| format!("{} version {}", m.name, m.version))
            .collect();
        let why = format!("'{name}' {why} {}", names.join(", "));
        Err(Error::setting("model", why))
    }

    /// The table of the model that stands there.
    pub(super) fn table(&self, at: usize) -> &ModelTable {
        &self.models[at]
    }

    /// The number by which the port of a model's first session is higher than that of the parties. Its further sessions
    /// have the ports behind.
    fn place(&self, at: usize) -> usize {
        let end =
            |next, table: &ModelTable| table.place.unwrap_or(next).saturating_add(table.sessions);
        let next = self.models[..at].iter().fold(0, end);
        self.models[at].place.unwrap_or(next)
    }

    /// The parties as they meet for a session of the model that stands there, which has ports of its own.
    pub(super) fn peers(&self, at: usize, session: usize) -> Result<Vec<PeerConfig>, Error> {
        let place = self.place(at).saturating_add(session);
        let peer = |peer: &Served| {
            Ok(PeerConfig {
                name: peer.name.clone(),
                address: moved(&peer.address, place)?,
                certificate: peer.certificate.clone(),
            })
        };
        self.parties.iter().map(peer).collect()
    }

    /// The parties' names in the order of their numbers.
    pub(super) fn names(&self) -> Vec<String> {
        self.parties.iter().map(|peer| peer.name.clone()).collect()
    }

    /// This party as it meets the others for a session of a model.
    pub(super) fn member(&self, at: usize, session: usize) -> Result<Member, Error> {
        let place = self.place(at).saturating_add(session);
        let listen = self.party.listen.as_ref();
        let patience = self.party.connect_timeout;
        Ok(Member {
            listen: listen.map(|address| moved(address, place)).transpose()?,
            // For further sessions all parties come at once.
            connect_timeout: if session == 0 {
                patience
            } else {
                patience.min(TOGETHER)
            },
            ..self.party.clone()
        })
    }

    /// How a model is run.
    pub(super) fn settings(&self, table: &ModelTable) -> Settings {
        Settings {
            parties: Some(self.parties.len()),
            model_owner: table.owner.clone().or(self.run.model_owner.clone()),
            ..self.run.clone()
        }
    }

    /// What the parties must agree on of a model.
    pub(super) fn terms(&self, table: &ModelTable) -> Result<Terms, Error> {
        let (run, plan) = (self.settings(table), &table.plan);
        let terms = Terms::new(&run, plan.width()?, plan.order, plan.public_model)?;
        run.protocol.check_key_bits(plan.key_bits()?)?;
        Ok(Terms {
            item_bytes: (self.service.item_memory_gb * 1e9) as u64,
            portion_bytes: APART,
            fraction_bits: plan.fraction_bits,
            reveal: plan.reveal,
            stays: Some(run.timeout),
            ..terms
        })
    }

    /// How often material lies ready at most, for how many items, where an item takes so many bytes of it.
    pub(super) fn pool(&self, material: u64) -> (usize, usize) {
        let items = self.service.pool_items;
        let each = material.saturating_mul(items as u64);
        let most = (self.service.pool_mb * 1e6) as u64;
        let fits = most.checked_div(each).unwrap_or(0);
        let times = usize::try_from(fits).unwrap_or(usize::MAX);
        (times.min(self.service.pool), items)
    }

    /// How material lies ready, as the parties agree on it.
    pub(super) fn pool_words(&self) -> String {
        let service = &self.service;
        let (times, items, most) = (service.pool, service.pool_items, service.pool_mb);
        format!("{times} times for {items} items, within {most} MB")
    }

    /// How much is kept of clients' requests.
    pub(super) fn limits(&self) -> Limits {
        let service = &self.service;
        Limits {
            waiting: service.queue,
            batch: service.batch,
            wait: Duration::from_secs_f64(service.wait_ms / 1e3),
            keep: Duration::from_secs_f64(service.keep_s),
            keep_bytes: (service.keep_mb * 1e6) as usize,
            patience: Duration::from_secs_f64(service.request_s),
        }
    }

    pub(super) fn check(&self) -> Result<(), Error> {
        if self.run.data_owner.is_some() {
            let why = "clients own the data of a service; leave it out";
            return Err(Error::setting("run.data_owner", why));
        }
        if self.run.batch.is_some() {
            return Err(Error::setting("run.batch", "it stands in [service]"));
        }
        if self.models.is_empty() {
            return Err(Error::setting(
                "models",
                "there is none; name one in [[models]]",
            ));
        }
        self.service.check()?;
        self.clients.iter().try_for_each(ClientTable::check)?;
        let (wait, timeout) = (self.limits().wait, self.run.timeout);
        if wait > timeout / 4 {
            let why = format!(
                "the others hear nothing while a batch waits for more, and give up after run.timeout, {} s: give a quarter of it at most",
                timeout.as_secs_f64()
            );
            return Err(Error::setting("service.wait_ms", why));
        }
        let number = self.number()?;
        for (at, table) in self.models.iter().enumerate() {
            table.check()?;
            self.check_alone(at)?;
            let terms = self.terms(table)?;
            terms.instance.scheme()?;
            self.peers(at, table.sessions - 1)?;
            let owns = terms.roles.model_owner == number;
            if owns != table.file.is_some() {
                let why = match owns {
                    true => format!(
                        "'{}': its owner, this party, must name its file",
                        table.name
                    ),
                    false => format!(
                        "'{}': another party owns it; leave its file out",
                        table.name
                    ),
                };
                return Err(Error::setting("models", why));
            }
        }
        Ok(())
    }

    /// Refuses a model that has the name and version, or the place, of one before it.
    fn check_alone(&self, at: usize) -> Result<(), Error> {
        let table = &self.models[at];
        for (before, other) in self.models[..at].iter().enumerate() {
            if (&other.name, &other.version) == (&table.name, &table.version) {
                let why = format!(
                    "version {} of '{}' stands there twice",
                    table.version, table.name
                );
                return Err(Error::setting("models", why));
            }
            let [one, two] = [(before, other), (at, table)].map(|(at, table)| {
                let place = self.place(at);
                place..place.saturating_add(table.sessions)
            });
            if one.start < two.end && two.start < one.end {
                let why = format!(
                    "'{}' and '{}' have one place, {}; give one of them another",
                    other.name,
                    table.name,
                    one.start.max(two.start)
                );
                return Err(Error::setting("models.place", why));
            }
        }
        Ok(())
    }

    fn paths(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        let service = &mut self.service;
        let secrets = [&mut service.key, &mut service.key_salt];
        let secrets = secrets.into_iter().flatten().filter_map(Secret::path_mut);
        let files = [&mut service.certificate, &mut service.approved];
        let models = self.models.iter_mut();
        let models = models.flat_map(|m| [&mut m.file, &mut m.samples]);
        let clients = self.clients.iter_mut().map(|c| &mut c.certificate);
        self.party
            .paths_mut()
            .chain([&mut service.audit])
            .chain(files.into_iter().chain(models).chain(clients).flatten())
            .chain(secrets)
            .chain(self.issuers.iter_mut().filter_map(IssuerTable::path_mut))
            .chain(self.parties.iter_mut().map(|peer| &mut peer.certificate))
    }
}

/// An address whose port is so many further.
fn moved(address: &str, by: usize) -> Result<String, Error> {
    let none = || {
        Error::setting(
            "address",
            format!("'{}' has no port left", address.escape_debug()),
        )
    };
    let (host, port) = address.rsplit_once(':').ok_or_else(none)?;
    let port: usize = port.parse().map_err(|_| none())?;
    match port.saturating_add(by) {
        port @ 1..=65_535 => Ok(format!("{host}:{port}")),
        _ => Err(none()),
    }
}
