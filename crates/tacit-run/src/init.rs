//! Folders of parties, ready to run: keys, certificates and commented config files.

mod service;
mod setup;
mod training;

use std::path::{Path, PathBuf};

use serde::Deserialize;
use tacit_net::certs::{CERTIFICATE_FILE, KEY_FILE};
use tacit_nn::plan::Reveal;

use crate::instance::Instance;
use crate::protocol::Protocol;
use crate::{CompileOptions, Error, Settings, options};
pub(crate) use setup::Setup;

/// What is made. Deserialises from a map with these keys, all of them optional.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct InitOptions {
    /// The protocol; by default the first of [`protocols`](crate::protocols).
    pub protocol: &'static Protocol,
    /// The number of parties; the fewest that the protocol runs between if not given.
    pub parties: Option<usize>,
    /// Party `i` listens at this port + `i`; of a service at this port + `16 i`, for up to 16 models.
    pub port: u16,
    /// The model owner's ONNX file; `model.onnx` in its folder if not given.
    pub model: Option<PathBuf>,
    /// The data owner's inputs; `input.npy` in its folder if not given.
    pub input: Option<PathBuf>,
    /// What of the outputs is opened; what the model's file says if not given.
    pub reveal: Option<Reveal>,
    /// Config files for a training, instead of those for a prediction.
    pub training: bool,
    /// Config files for parties that serve, instead of those for one prediction.
    pub service: bool,
}

impl Default for InitOptions {
    fn default() -> Self {
        InitOptions {
            protocol: Settings::default().protocol,
            parties: None,
            port: 7100,
            model: None,
            input: None,
            reveal: None,
            training: false,
            service: false,
        }
    }
}

impl InitOptions {
    /// Reads JSON; see [`InitOptions`].
    pub fn from_json(text: &str) -> Result<Self, Error> {
        options::read("options", text)
    }
}

/// Makes the parties' folders (`party0`, `party1`, ..., or named by their roles) in `dir`, all on
/// this machine's loopback, and says what to do with them. Never overwrites any.
pub fn init(dir: &Path, options: &InitOptions) -> Result<Vec<String>, Error> {
    let settings = Settings {
        protocol: options.protocol,
        parties: options.parties,
        ..Settings::default()
    };
    let instance = Instance::new(&settings, None)?;
    let apart = if options.service { service::PORTS } else { 1 };
    let ports = (options.port..=u16::MAX).step_by(apart);
    let ports: Vec<u16> = ports.take(instance.parties).collect();
    if options.port == 0 || ports.len() < instance.parties {
        let why = format!(
            "{} leaves no ports for {} parties",
            options.port, instance.parties
        );
        return Err(Error::setting("port", why));
    }
    if options.training && options.reveal.is_some() {
        let why = "a training opens what its own options say; leave it out";
        return Err(Error::setting("reveal", why));
    }
    for (what, given) in [("model", &options.model), ("input", &options.input)] {
        if options.training && given.is_some() {
            let why = "a training's config says itself what is trained on; leave it out";
            return Err(Error::setting(what, why));
        }
    }
    if options.service && options.training {
        let why = "a service predicts; choose one of them";
        return Err(Error::setting("training", why));
    }
    if options.service && options.input.is_some() {
        let why = "clients own the data of a service; leave it out";
        return Err(Error::setting("input", why));
    }
    let plan = CompileOptions {
        reveal: options.reveal,
        ..CompileOptions::default()
    };
    let setup = Setup {
        settings: &settings,
        options: &plan,
        instance,
        roles: settings.roles(instance.parties)?,
        ports,
        connect_timeout: 120.0,
        model: options.model.clone().unwrap_or("model.onnx".into()),
        samples: None,
        input: options.input.clone().unwrap_or("input.npy".into()),
        output: "output.npy".into(),
    };
    let kind = match (options.training, options.service) {
        (true, _) => SessionKind::Training,
        (_, true) => SessionKind::Service,
        _ => SessionKind::Prediction,
    };
    match kind {
        SessionKind::Training => setup.write(dir, kind.file(), Setup::training_config)?,
        SessionKind::Service => setup.write(dir, kind.file(), Setup::service_config)?,
        SessionKind::Prediction => setup.write(dir, kind.file(), Setup::config)?,
    }
    Ok(instructions(dir, &setup, kind))
}

/// What parties come together for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SessionKind {
    Prediction,
    Training,
    Service,
}

impl SessionKind {
    /// The name of its config files.
    fn file(self) -> &'static str {
        match self {
            SessionKind::Prediction => "party.toml",
            SessionKind::Training => "train.toml",
            SessionKind::Service => "serve.toml",
        }
    }

    /// The command that a party is started by.
    fn command(self) -> &'static str {
        match self {
            SessionKind::Prediction => "party --config",
            SessionKind::Training => "train",
            SessionKind::Service => "serve --config",
        }
    }
}

fn instructions(dir: &Path, setup: &Setup, kind: SessionKind) -> Vec<String> {
    let (shown, protocol) = (dir.display(), setup.instance.protocol);
    let mut lines = vec![format!(
        "{shown} now holds the folders of {} parties.",
        setup.ports.len()
    )];
    for party in 0..setup.ports.len() {
        let name = protocol.party_name(party);
        let role = match kind {
            SessionKind::Prediction => setup.role(party),
            SessionKind::Training => setup.learns(party),
            SessionKind::Service => setup.serves(party),
        };
        lines.push(format!("  {name}  {role}"));
    }
    let place = |owner, file: &Path| Path::new(&protocol.party_name(owner)).join(file);
    let model = || place(setup.roles.model_owner, &setup.model);
    let absent = |what: &str, place: PathBuf| {
        let is_absent = !dir.join(&place).exists();
        is_absent.then(|| format!("{what} at {}", place.display()))
    };
    let inputs = || place(setup.roles.data_owner, &setup.input);
    let missing: Vec<_> = match kind {
        SessionKind::Training => vec![],
        SessionKind::Service => vec![absent("the model", model())],
        SessionKind::Prediction => {
            vec![absent("the model", model()), absent("the inputs", inputs())]
        }
    };
    let missing: Vec<String> = missing.into_iter().flatten().collect();
    let first = match (kind, &missing[..]) {
        (SessionKind::Training, _) => {
            "describe the network and each party's data in its train.toml, then ".into()
        }
        (_, []) => String::new(),
        (_, missing) => format!("put {}, then ", missing.join(" and ")),
    };
    lines.push(format!(
        "To try them on this machine: {first}run each in a terminal of its own:"
    ));
    let (file, command) = (kind.file(), kind.command());
    for party in 0..setup.ports.len() {
        let name = protocol.party_name(party);
        lines.push(format!("  tacit {command} {shown}/{name}/{file}"));
    }
    lines.push(format!(
        "Between organisations: each makes its own folder this way, keeps its {KEY_FILE} to itself, sends only its {CERTIFICATE_FILE} to the others, and puts theirs in place of the ones made here; they compare what `tacit cert show` says of each at both ends; then all set the same addresses."
    ));
    lines
}
