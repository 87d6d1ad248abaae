//! A party's config file, `party.toml`: read and checked once, with every path made absolute by
//! the file's folder.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use tacit_nn::plan::{Functions, MAX_ITEM_BYTES};

use crate::instance::APART;
use crate::member::{Member, PeerConfig};
use crate::options::read_file;
use crate::terms::Terms;
use crate::{CompileOptions, Error, Settings};

/// One organisation's party.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartyConfig {
    /// The ONNX file; the model owner's.
    pub model: Option<PathBuf>,
    /// Typical inputs to plan with, an `.npy` file, or of several inputs an `.npz` file by their names;
    /// the model owner's.
    pub samples: Option<PathBuf>,
    /// The inputs, an `.npy` file, or of several an `.npz` file by their names; the data owner's.
    pub input: Option<PathBuf>,
    /// The true classes, an `.npy` file; the data owner's.
    pub labels: Option<PathBuf>,
    /// Where to write the outputs, as an `.npy` file; the data owner's.
    pub output: Option<PathBuf>,
    /// Where to write the report, as JSON.
    pub report: Option<PathBuf>,
    /// The gigabytes of memory that the plan may ask for one item, and of correlated randomness.
    #[serde(default = "item_memory")]
    pub item_memory_gb: f64,
    /// The number of inputs that this party insists on; whatever the data owner brings if not
    /// given.
    pub inputs: Option<usize>,
    /// Which of the parties this is.
    pub party: Member,
    /// How the run is carried out; the same at every party.
    #[serde(default)]
    pub run: Settings,
    /// How the model is planned: ring or field, order and secrecy are the same at every party, the
    /// fraction bits and what is revealed too where given; the rest is the model owner's.
    #[serde(default)]
    pub plan: CompileOptions,
    /// All parties by their numbers, this one included.
    pub parties: Vec<PeerConfig>,
}

fn item_memory() -> f64 {
    MAX_ITEM_BYTES as f64 / 1e9
}

impl PartyConfig {
    /// Reads and checks a file. Errors name the file and the key.
    pub fn load(path: &Path) -> Result<Self, Error> {
        let mut config: PartyConfig = read_file(path, "`tacit init` makes config files")?;
        let terms = config.terms().map_err(|e| Error::file(path, e))?;
        config
            .check_owners(&terms)
            .map_err(|why| Error::file(path, why))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        config.paths().for_each(|p| *p = folder.join(&*p));
        Ok(config)
    }

    /// This config, with what the outputs may reveal replaced by `reveal`, if that is given.
    pub fn insisting(mut self, reveal: Option<&str>) -> Result<Self, Error> {
        if let Some(text) = reveal {
            let read = text.parse();
            self.plan.reveal = Some(read.map_err(|why: String| Error::setting("--reveal", why))?);
        }
        Ok(self)
    }

    /// The terms that this party must agree on with the others.
    pub(crate) fn terms(&self) -> Result<Terms, Error> {
        let (parties, plan) = (self.parties.len(), &self.plan);
        if self.run.parties.is_some() {
            let why = "the parties are those listed as [[parties]]; remove it";
            return Err(Error::setting("run.parties", why));
        }
        let run = Settings {
            parties: Some(parties),
            ..self.run.clone()
        };
        let terms = Terms::new(&run, plan.width()?, plan.order, plan.public_model)?;
        run.protocol.check_key_bits(plan.key_bits()?)?;
        self.number()?;
        let item_bytes = self.item_memory_gb * 1e9;
        if item_bytes.is_nan() || item_bytes < 1.0 {
            let why = format!("{} is no memory; give 16 or so", self.item_memory_gb);
            return Err(Error::setting("item_memory_gb", why));
        }
        Ok(Terms {
            item_bytes: item_bytes as u64,
            portion_bytes: APART,
            fraction_bits: plan.fraction_bits,
            inputs: self.inputs,
            reveal: plan.reveal,
            ..terms
        })
    }

    /// The number of this party.
    fn number(&self) -> Result<usize, Error> {
        self.party.number(&self.parties, &self.run)
    }

    /// Every owner must name what it owns, and nobody else may: it would be ignored.
    fn check_owners(&self, terms: &Terms) -> Result<(), String> {
        let (id, roles) = (self.number().map_err(|e| e.to_string())?, &terms.roles);
        let called = |party| self.run.protocol.party_words(party);
        let (model, data) = (
            (roles.model_owner, "model_owner"),
            (roles.data_owner, "data_owner"),
        );
        for ((owner, role), key, given, needed) in [
            (model, "model", self.model.is_some(), true),
            (model, "samples", self.samples.is_some(), false),
            (
                model,
                "plan.input_range",
                self.plan.input_range.is_some(),
                false,
            ),
            (model, "plan.dims", !self.plan.dims.is_empty(), false),
            (model, "plan.fix", !self.plan.fix.is_empty(), false),
            (
                model,
                "plan.precision",
                self.plan.precision.is_some(),
                false,
            ),
            (
                model,
                "plan.functions",
                self.plan.functions != Functions::default(),
                false,
            ),
            (model, "plan.key_bits", self.plan.key_bits.is_some(), false),
            (
                model,
                "plan.key_bits_loss",
                self.plan.key_bits_loss.is_some(),
                false,
            ),
            (data, "input", self.input.is_some(), true),
            (data, "labels", self.labels.is_some(), false),
            (data, "output", self.output.is_some(), false),
        ] {
            if owner == id && needed && !given {
                let owner = called(owner);
                return Err(format!("'{key}' is missing: {owner} is the {role}"));
            }
            if owner != id && given {
                let (owner, here) = (called(owner), called(id));
                return Err(format!(
                    "'{key}' belongs to {owner}, the {role}; remove it here, at {here}"
                ));
            }
        }
        Ok(())
    }

    fn paths(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        let files = [
            &mut self.model,
            &mut self.samples,
            &mut self.input,
            &mut self.labels,
            &mut self.output,
            &mut self.report,
        ];
        let own = self.party.paths_mut();
        own.chain(files.into_iter().flatten())
            .chain(self.parties.iter_mut().map(|peer| &mut peer.certificate))
    }
}
