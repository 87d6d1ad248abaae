//! The config file of `tacit train`: read and checked once, with every path made absolute by the
//! file's folder.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ModelOptions, TrainOptions};
use crate::member::{Member, PeerConfig};
use crate::options::{plain, read_file};
use crate::{Error, Settings};

/// A training: with all parties on this machine, or one organisation's part of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainConfig {
    /// The network that is trained.
    pub model: ModelTable,
    /// Who brings which data; of one organisation's, what it brings.
    #[serde(default)]
    pub data: Vec<DataTable>,
    /// How the network is trained: epochs, mini-batches, optimiser and the like.
    #[serde(default)]
    pub training: TrainOptions,
    /// The protocol that the training runs on, as in a party's config.
    #[serde(default)]
    pub run: Value,
    /// What is written at the end.
    #[serde(default)]
    pub output: OutputTable,
    /// Which of the parties this is; all of them if not given.
    #[serde(default, skip_serializing)]
    pub party: Option<Member>,
    /// All parties by their numbers, where they are apart.
    #[serde(default)]
    pub parties: Vec<PeerConfig>,
}

/// A network: an ONNX file, or what [`ModelOptions`] say.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged, try_from = "Value")]
pub enum ModelTable {
    /// An ONNX file; its weights are where the training starts.
    File {
        /// The path of the ONNX file.
        file: PathBuf,
    },
    /// Layers, or the name of a network.
    Layers(ModelOptions),
}

impl TryFrom<Value> for ModelTable {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        let why = |e: serde_json::Error| plain(&e.to_string());
        match value.as_object() {
            Some(table) if table.contains_key("file") => match (table.len(), &table["file"]) {
                (1, Value::String(file)) => Ok(ModelTable::File { file: file.into() }),
                (1, _) => Err("'file' is not the path of an ONNX file".into()),
                _ => Err("an ONNX file has the layers; give nothing but 'file'".into()),
            },
            Some(table) if !table.contains_key("input") => {
                Err("give an ONNX file, or an input shape with layers or a network's name".into())
            }
            _ => Ok(ModelTable::Layers(
                serde_json::from_value(value).map_err(why)?,
            )),
        }
    }
}

impl ModelTable {
    /// Reads JSON; see [`ModelTable`].
    pub fn from_json(text: &str) -> Result<Self, Error> {
        serde_json::from_str(text).map_err(|e| Error::setting("model", plain(&e.to_string())))
    }
}

/// The data of one owner.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataTable {
    /// The party that owns it; one organisation's own if not given.
    #[serde(default)]
    pub owner: Option<usize>,
    /// What is trained on, such as `mnist:FOLDER`.
    #[serde(default)]
    pub train: Option<String>,
    /// What the network is tried on.
    #[serde(default)]
    pub test: Option<String>,
    /// The first of the items that are used.
    #[serde(default)]
    pub first: usize,
    /// How many are used; all that there are if not given.
    #[serde(default)]
    pub items: Option<usize>,
}

/// What a training writes at its end.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OutputTable {
    /// The trained network as an ONNX file, of the model's owner.
    pub model: Option<PathBuf>,
    /// The report as JSON.
    pub report: Option<PathBuf>,
    /// The report as a page with the curve as a picture.
    pub page: Option<PathBuf>,
}

impl TrainConfig {
    /// Reads and checks a file. Errors name the file and the key.
    pub fn load(path: &Path) -> Result<Self, Error> {
        let mut config: TrainConfig = read_file(path, "docs/training.md says what a config has")?;
        config.check().map_err(|e| Error::file(path, e))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        config.paths().for_each(|p| *p = folder.join(&*p));
        Ok(config)
    }

    /// The settings of the protocol, with its number of parties.
    pub(super) fn settings(&self) -> Result<Settings, Error> {
        Settings::from_json(&self.run.to_string())
    }

    fn check(&mut self) -> Result<(), Error> {
        if self.run.is_null() {
            self.run = Value::Object(Default::default());
        }
        if let ModelTable::Layers(options) = &self.model {
            options.build()?;
        }
        match self.party.clone() {
            Some(member) => self.check_apart(&member),
            None => self.check_together(),
        }
    }

    /// Checks the config of one organisation's part in a training, and adds its parties' number.
    fn check_apart(&mut self, member: &Member) -> Result<(), Error> {
        if let Some(run) = self.run.as_object_mut() {
            let parties = self.parties.len().into();
            if run.insert("parties".into(), parties).is_some() {
                let why = "the parties are those listed as [[parties]]; remove it";
                return Err(Error::setting("run.parties", why));
            }
        }
        let settings = self.settings()?;
        let (terms, _) = self.training.terms(&settings)?;
        let id = member.number(&self.parties, &settings)?;
        for data in &mut self.data {
            let owner = *data.owner.get_or_insert(id);
            if owner != id {
                let why =
                    format!("party {owner} brings some itself; remove it here, at party {id}");
                return Err(Error::setting("data", why));
            }
        }
        let owner = terms.roles.model_owner;
        if self.output.model.is_some() && owner != id {
            let why = format!("party {owner} owns the network and alone learns it; remove it here");
            return Err(Error::setting("output.model", why));
        }
        Ok(())
    }

    /// All parties on this machine.
    fn check_together(&self) -> Result<(), Error> {
        let settings = self.settings()?;
        self.training.terms(&settings)?;
        let parties = settings
            .parties
            .unwrap_or(*settings.protocol.parties.start());
        if !self.parties.is_empty() {
            let why = "there are [[parties]], but no [party] says which of them this is";
            return Err(Error::setting("party", why));
        }
        if self.data.iter().all(|data| data.train.is_none()) {
            let why = "no [[data]] has 'train': somebody must bring what is trained on";
            return Err(Error::setting("data", why));
        }
        for data in &self.data {
            let why = match data.owner {
                Some(owner) if owner < parties => continue,
                Some(owner) => format!("party {owner} owns some; there are {parties} parties"),
                None => "one has no 'owner', the number of the party that brings it".into(),
            };
            return Err(Error::setting("data", why));
        }
        Ok(())
    }

    fn paths(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        let model = match &mut self.model {
            ModelTable::File { file } => Some(file),
            ModelTable::Layers(options) => options.weights.as_mut(),
        };
        let checkpoint = self.training.checkpoint.as_mut();
        let folders = checkpoint.map(|c| [Some(&mut c.folder), c.keys.as_mut()]);
        let output = &mut self.output;
        let files = [&mut output.model, &mut output.report, &mut output.page];
        let own = self.party.as_mut().map(Member::paths_mut);
        let certificates = self.parties.iter_mut().map(|peer| &mut peer.certificate);
        model
            .into_iter()
            .chain(own.into_iter().flatten())
            .chain(certificates)
            .chain(folders.into_iter().flatten().flatten())
            .chain(files.into_iter().flatten())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(text: &str) -> Result<TrainConfig, Error> {
        let name = format!("tacit-train-{}-{}.toml", std::process::id(), text.len());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, text).expect("writes");
        let config = TrainConfig::load(&path);
        std::fs::remove_file(&path).expect("there");
        config
    }

    const MODEL: &str = "[model]\ninput = [4]\nlayers = [{type = 'linear', outputs = 2}]\n";
    const DATA: &str = "[[data]]\nowner = 1\ntrain = 'csv:a.csv'\n";

    #[test]
    fn paths_are_those_of_the_files_folder() {
        let rest = "[training]\ncheckpoint = {folder = 'state'}\n[output]\nmodel = 'out.onnx'\n";
        let config = load(&format!("{MODEL}{DATA}{rest}")).expect("valid");
        let folder = std::env::temp_dir();
        let checkpoint = config.training.checkpoint.expect("given");
        assert_eq!(checkpoint.folder, folder.join("state"));
        assert_eq!(checkpoint.every, 50);
        assert_eq!(config.output.model, Some(folder.join("out.onnx")));
        assert!(load(&format!("[model]\nfile = 'm.onnx'\n{DATA}")).is_ok());
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, why) in [
            (MODEL.to_owned(), "no [[data]] has 'train'"),
            (
                format!("{MODEL}[[data]]\ntrain = 'a'\n"),
                "one has no 'owner'",
            ),
            (
                format!(
                    "{MODEL}{DATA}[[parties]]\nname = 'a'\naddress = 'b:1'\ncertificate = 'c'\n"
                ),
                "no [party] says which",
            ),
            (
                format!("{MODEL}[[data]]\nowner = 1\n"),
                "no [[data]] has 'train'",
            ),
            (
                format!("{MODEL}[[data]]\nowner = 3\ntrain = 'a'\n"),
                "party 3 owns some",
            ),
            (
                format!("{MODEL}{DATA}[training]\nepoch = 2\n"),
                "unknown field `epoch`",
            ),
            (
                format!("{MODEL}{DATA}[run]\nprotocol = 'no'\n"),
                "choose one of falcon",
            ),
            (
                format!("[model]\ninput = [4]\nnetwork = 'lenet'\n{DATA}"),
                "channels, height and width",
            ),
        ] {
            let error = load(&text).expect_err("refused").to_string();
            assert!(error.contains(why) && error.contains(".toml"), "{error}");
        }
    }
}
