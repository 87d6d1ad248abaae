//! The tables of `serve.toml`.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use tacit_nn::plan::MAX_ITEM_BYTES;

use crate::{CompileOptions, Error, PartyName, Secret};

/// The longest time that a client's budget is for, in seconds.
const LONGEST_PERIOD: f64 = 3.1536e9;
/// Sessions of a model.
const MOST_SESSIONS: usize = 16;

/// A party, and where its clients come in.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Served {
    pub name: String,
    pub address: String,
    pub certificate: PathBuf,
    #[serde(default)]
    pub http: Option<String>,
}

/// A model that is served; the same names, versions and places at every party.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ModelTable {
    pub name: String,
    #[serde(default = "first")]
    pub version: String,
    /// The number by which the model's port is higher than that of `[[parties]]`; one more than the model's before it
    /// if not given.
    #[serde(default)]
    pub place: Option<usize>,
    /// Sessions at once: each has links, keys and material of its own, and computes a batch at a time.
    #[serde(default = "one")]
    pub sessions: usize,
    /// Who knows the weights; `run.model_owner` if not given.
    #[serde(default)]
    pub owner: Option<PartyName>,
    /// The ONNX file; the owner's.
    #[serde(default)]
    pub file: Option<PathBuf>,
    #[serde(default)]
    pub samples: Option<PathBuf>,
    #[serde(default)]
    pub plan: CompileOptions,
    /// The digest of the only plan that this party serves.
    #[serde(default)]
    pub digest: Option<String>,
    /// The owner's only commitment to the file under which this party serves.
    #[serde(default)]
    pub commitment: Option<String>,
}

fn one() -> usize {
    1
}

fn first() -> String {
    "1".into()
}

/// How this party serves.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ServiceTable {
    /// Where clients come in by HTTP, as `host:port`.
    pub listen: String,
    /// The certificate and key of HTTPS; without them only loopback is allowed.
    pub certificate: Option<PathBuf>,
    pub key: Option<Secret>,
    /// What clients' keys are hashed with.
    pub key_salt: Option<Secret>,
    /// What this party has approved; without it, what its config names.
    pub approved: Option<PathBuf>,
    /// The hours at which requests are taken, in UTC, as `08:00-18:00`, and in `days` the days, as `mon-fri`.
    pub hours: Option<String>,
    pub days: Option<String>,
    /// Where traces go, by OTLP.
    pub traces: Option<String>,
    /// The pages whose scripts may ask, exactly.
    pub origins: Vec<String>,
    /// Requests that may wait.
    pub queue: usize,
    /// Items that are predicted at a time, and of a request.
    pub batch: usize,
    /// How long a batch waits for more requests.
    pub wait_ms: f64,
    /// How long an answer is kept for a client that asks again.
    pub keep_s: f64,
    /// How much of answers is kept so, together.
    pub keep_mb: f64,
    /// The largest body of a request, in megabytes.
    pub body_mb: f64,
    /// How long a request may take, in seconds.
    pub request_s: f64,
    /// How often material for `pool_items` items lies ready, within `pool_mb`.
    pub pool: usize,
    pub pool_items: usize,
    pub pool_mb: f64,
    /// The log of requests.
    pub audit: PathBuf,
    /// The form of the log's lines: `text` or `json`.
    pub log: String,
    /// The memory that a plan may ask for one item, in gigabytes.
    pub item_memory_gb: f64,
}

impl Default for ServiceTable {
    fn default() -> Self {
        ServiceTable {
            listen: "127.0.0.1:8100".into(),
            certificate: None,
            key: None,
            key_salt: None,
            approved: None,
            hours: None,
            days: None,
            traces: None,
            origins: Vec::new(),
            queue: 256,
            batch: 32,
            wait_ms: 2.0,
            keep_s: 60.0,
            keep_mb: 256.0,
            body_mb: 64.0,
            request_s: 60.0,
            pool: 16,
            pool_items: 1,
            pool_mb: 256.0,
            audit: "audit.jsonl".into(),
            log: "text".into(),
            item_memory_gb: MAX_ITEM_BYTES as f64 / 1e9,
        }
    }
}

/// A client that may ask, and how much.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ClientTable {
    pub name: String,
    #[serde(default)]
    pub key_sha256: Option<String>,
    /// File of the client's certificate of TLS.
    #[serde(default)]
    pub certificate: Option<PathBuf>,
    /// Whom its tokens are of, and which of the issuers signs them.
    #[serde(default)]
    pub subject: Option<String>,
    #[serde(default)]
    pub issuer: Option<String>,
    /// The most that it may learn, such as `class`.
    #[serde(default)]
    pub reveal: Option<String>,
    #[serde(default)]
    pub hours: Option<String>,
    #[serde(default)]
    pub days: Option<String>,
    #[serde(default)]
    pub models: Option<Vec<String>>,
    #[serde(default)]
    pub queries: Option<u64>,
    #[serde(default = "day")]
    pub period_s: f64,
    /// The last day on which its key holds, such as `2026-12-31`.
    #[serde(default)]
    pub until: Option<String>,
    /// Whether the client may see the service's metrics from another machine.
    #[serde(default)]
    pub metrics: bool,
}

/// Whose tokens say who a client is.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct IssuerTable {
    pub issuer: String,
    pub audience: String,
    /// The issuer's public keys, as a JSON Web Key Set: a file, or where they are fetched by HTTPS.
    pub keys: PathBuf,
    #[serde(default)]
    pub algorithms: Option<Vec<String>>,
}

impl IssuerTable {
    /// The file of its keys, to be changed, if they are in one.
    pub fn path_mut(&mut self) -> Option<&mut PathBuf> {
        let text = self.keys.to_string_lossy();
        let fetched = text.starts_with("https://") || text.starts_with("http://");
        (!fetched).then_some(&mut self.keys)
    }
}

fn day() -> f64 {
    86400.0
}

impl ModelTable {
    /// Checks that the model's name can stand in addresses of requests, and that it has a sensible number of sessions.
    pub fn check(&self) -> Result<(), Error> {
        if !(1..=MOST_SESSIONS).contains(&self.sessions) {
            let why = format!(
                "'{}' has 1 to {MOST_SESSIONS} of them",
                self.name.escape_debug()
            );
            return Err(Error::setting("models.sessions", why));
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let fits = |text: &str| (1..=64).contains(&text.len()) && text.chars().all(plain);
        match fits(&self.name) && fits(&self.version) {
            true => Ok(()),
            false => {
                let why = "a model's name and version have 1 to 64 letters, digits, and - _ .";
                Err(Error::setting("models", why))
            }
        }
    }
}

impl ClientTable {
    /// Checks that a budget is for a time: what is written without an end is none, and a day's would stand for it.
    pub fn check(&self) -> Result<(), Error> {
        if self.period_s > 0.0 && self.period_s <= LONGEST_PERIOD {
            return Ok(());
        }
        let why = format!(
            "{} of '{}' is no such time; give seconds up to {LONGEST_PERIOD}, 100 years",
            self.period_s,
            self.name.escape_debug()
        );
        Err(Error::setting("clients.period_s", why))
    }
}

impl ServiceTable {
    pub fn check(&self) -> Result<(), Error> {
        let positive = [
            ("service.keep_s", self.keep_s),
            ("service.keep_mb", self.keep_mb),
            ("service.body_mb", self.body_mb),
            ("service.request_s", self.request_s),
            ("service.item_memory_gb", self.item_memory_gb),
        ];
        for (key, value) in positive {
            if !(value > 0.0 && value <= 1e6) {
                let why = format!("{value} is out of range; give a number above 0");
                return Err(Error::setting(key, why));
            }
        }
        if !(0.0..=60_000.0).contains(&self.wait_ms) {
            let why = format!("{} ms is no such time; give 0 to 60000", self.wait_ms);
            return Err(Error::setting("service.wait_ms", why));
        }
        if !(0.0..=1e6).contains(&self.pool_mb) || self.pool > 65_536 {
            let why = "give pool_mb of 0 to 1000000 and pool of 0 to 65536";
            return Err(Error::setting("service.pool", why));
        }
        for (key, value) in [
            ("service.queue", self.queue),
            ("service.batch", self.batch),
            ("service.pool_items", self.pool_items),
        ] {
            if !(1..=65_536).contains(&value) {
                return Err(Error::setting(key, "give 1 to 65536"));
            }
        }
        Ok(())
    }
}
