//! The parties' folders and what is written into them.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tacit_net::certs::{self, CERTIFICATE_FILE, DEFAULT_VALIDITY, KEY_FILE};
use tacit_nn::onnx::Fixed;
use tacit_nn::plan::{Functions, Modulus, Precision, Roles};

use crate::instance::Instance;
use crate::{CompileOptions, Error, OptionSpec, Settings};

/// The parties of one run and what their config files say.
pub(crate) struct Setup<'a> {
    pub settings: &'a Settings,
    pub options: &'a CompileOptions,
    pub instance: Instance,
    /// Which party owns the model and which the data.
    pub roles: Roles,
    /// Where each party listens on the loopback.
    pub ports: Vec<u16>,
    pub connect_timeout: f64,
    pub model: PathBuf,
    pub samples: Option<PathBuf>,
    pub input: PathBuf,
    pub output: PathBuf,
}

impl Setup<'_> {
    /// The folders of the parties within `dir`.
    pub(crate) fn folders(dir: &Path, instance: &Instance) -> Vec<PathBuf> {
        let name = |party| instance.protocol.party_name(party);
        (0..instance.parties).map(|p| dir.join(name(p))).collect()
    }

    /// Makes all folders, each with a config file of this name and the text that `config` gives for
    /// a party.
    pub(crate) fn write(
        &self,
        dir: &Path,
        name: &str,
        config: impl Fn(&Self, usize) -> Result<String, Error>,
    ) -> Result<(), Error> {
        let folders = Self::folders(dir, &self.instance);
        if let Some(found) = folders.iter().find(|folder| folder.exists()) {
            let why =
                "it exists already and is not overwritten; choose another folder or remove it";
            return Err(Error::file(found, why));
        }
        for (party, folder) in folders.iter().enumerate() {
            let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
            made.map_err(|e| Error::file(folder, e))?;
            certs::generate(folder, self.name(party), DEFAULT_VALIDITY)?;
        }
        for (party, folder) in folders.iter().enumerate() {
            for (peer, from) in folders
                .iter()
                .enumerate()
                .filter(|(peer, _)| *peer != party)
            {
                let to = folder.join(self.certificate_of(peer));
                fs::copy(from.join(CERTIFICATE_FILE), &to).map_err(|e| Error::file(&to, e))?;
            }
            let path = folder.join(name);
            fs::write(&path, config(self, party)?).map_err(|e| Error::file(&path, e))?;
        }
        Ok(())
    }

    pub(super) fn is_model_owner(&self, party: usize) -> bool {
        self.roles.model_owner == party
    }

    fn is_data_owner(&self, party: usize) -> bool {
        self.roles.data_owner == party
    }

    /// A party as a config file names it: its number, or its role in quotes.
    fn party_named(&self, party: usize) -> String {
        match self.instance.protocol.roles.get(party) {
            Some(role) => escaped(role),
            None => party.to_string(),
        }
    }

    /// The file of a peer's certificate.
    fn certificate_of(&self, party: usize) -> String {
        format!("{}.pem", self.instance.protocol.party_name(party))
    }

    pub(super) fn role(&self, party: usize) -> &'static str {
        match (self.is_model_owner(party), self.is_data_owner(party)) {
            (true, true) => "owns the model and the data",
            (true, false) => "owns the model",
            (false, true) => "owns the data and learns the outputs",
            (false, false) => "computes",
        }
    }

    fn name(&self, party: usize) -> &'static str {
        if let Some(role) = self.instance.protocol.roles.get(party) {
            return role;
        }
        match (self.is_model_owner(party), self.is_data_owner(party)) {
            (true, true) => "owner",
            (true, false) => "model-owner",
            (false, true) => "data-owner",
            (false, false) => "computing-party",
        }
    }

    /// The text of a party's config file.
    pub(crate) fn config(&self, party: usize) -> Result<String, Error> {
        let mut text = format!(
            "# This is {} of {}: it {}. Start it with `tacit party --config` and this file's path.\n\
             # Paths are relative to this file's folder.\n\n",
            self.instance.protocol.party_words(party),
            self.ports.len(),
            self.role(party),
        );
        text += &self.files(party)?;
        text += &self.member(party);
        text += &self.run_table(true);
        text += &self.plan_table(party);
        text += &self.peers(party, Self::role);
        Ok(text)
    }

    /// Who a party is.
    pub(super) fn member(&self, party: usize) -> String {
        format!(
            "\n[party]\n\
             id = {}\n\
             key = \"{KEY_FILE}\"           # never leaves this folder\n\
             certificate = \"{CERTIFICATE_FILE}\"  # for the others to have\n\
             # listen = \"0.0.0.0:{}\"  # where to listen, if not at this party's address below\n\
             connect_timeout = {:?}    # seconds to wait for the others at the start\n",
            self.party_named(party),
            self.ports[party],
            self.connect_timeout,
        )
    }

    /// All parties, as one of them knows them.
    pub(super) fn peers(&self, party: usize, role: fn(&Self, usize) -> &'static str) -> String {
        let mut text = String::new();
        for (peer, port) in self.ports.iter().enumerate() {
            text += &format!(
                "\n[[parties]]  # {peer}: {}\nname = \"{}\"\naddress = \"127.0.0.1:{port}\"\ncertificate = \"{}\"\n",
                role(self, peer),
                self.name(peer),
                if peer == party {
                    CERTIFICATE_FILE.into()
                } else {
                    self.certificate_of(peer)
                },
            );
        }
        text
    }

    fn files(&self, party: usize) -> Result<String, Error> {
        let mut text = String::new();
        if self.is_model_owner(party) {
            text += &format!("model = {}  # ONNX; stays here\n", quoted(&self.model)?);
            text += &match &self.samples {
                Some(samples) => format!("samples = {}\n", quoted(samples)?),
                None => "# samples = \"samples.npy\"  # typical inputs, not secret, to plan with\n"
                    .into(),
            };
        }
        if self.is_data_owner(party) {
            text += &format!(
                "input = {}  # items along the first axis; stays here\n\
                 output = {}\n\
                 # labels = \"labels.npy\"  # true classes, for the accuracy\n",
                quoted(&self.input)?,
                quoted(&self.output)?
            );
        }
        Ok(text
            + "report = \"report.json\"\n\
               # inputs = 100  # insist on this number of inputs\n")
    }

    /// The protocol; of a prediction also its data's owner and its batches.
    pub(super) fn run_table(&self, prediction: bool) -> String {
        let run = self.settings;
        let batch = run
            .batch
            .map_or("# batch = 128  # items at a time".into(), |b| {
                format!("batch = {b}")
            });
        let data_owner = self.party_named(self.roles.data_owner);
        let data = match prediction {
            true => format!("data_owner = {data_owner}\n{batch}\n"),
            false => String::new(),
        };
        format!(
            "\n[run]  # the same at every party\n\
             protocol = \"{}\"\n\
             {}\
             model_owner = {}\n\
             {data}\
             network = \"{}\"       # emulates a network: local (none), lan, wan or RTTms,Mbps\n\
             timeout = {:?}         # seconds that a peer may be silent\n",
            run.protocol.name,
            self.protocol_lines(),
            self.party_named(self.roles.model_owner),
            run.network.name,
            run.timeout.as_secs_f64(),
        )
    }

    /// What can be chosen of the protocol.
    fn protocol_lines(&self) -> String {
        let (specs, values) = (
            (self.instance.protocol.options)(),
            self.instance.options.values(),
        );
        let line = |(spec, (key, value)): (OptionSpec, (&str, Value))| {
            let words = match spec.choices.is_empty() {
                true => spec.help,
                false => spec.choices.join(", "),
            };
            // Numbers and strings of JSON are among TOML's.
            format!("{key} = {value}  # {words}\n")
        };
        specs.into_iter().zip(values).map(line).collect()
    }

    fn plan_table(&self, party: usize) -> String {
        let plan = self.options;
        let (width, protocol) = (self.instance.width, self.instance.protocol);
        let kind = Modulus::of_bits(width).kind();
        let widths: Vec<_> = protocol.widths.iter().map(u32::to_string).collect();
        let precision = plan.precision_for(protocol);
        // A ring that is insisted on has all tensors of one width.
        let open = if precision == Some(Precision::Auto) {
            "# "
        } else {
            ""
        };
        let mut text = format!(
            "\n[plan]  # the same at every party\n\
             {open}{kind} = {width}             # {} bits\n\
             order = \"{}\"\n\
             public_model = {}  # whether every party may know the weights\n",
            widths.join(" or "),
            plan.order.name(),
            plan.public_model,
        );
        text += &match plan.fraction_bits {
            Some(bits) => format!("fraction_bits = {bits}\n"),
            None if precision.is_some() => String::new(),
            None => "# fraction_bits = 18  # the planner's choice if not given\n".into(),
        };
        text += &match plan.reveal {
            Some(reveal) => format!("reveal = \"{reveal}\"\n"),
            None => "# reveal = \"class\"  # all that the data owner learns: logits, probabilities, top-3 or class; the model's file decides if not given\n".into(),
        };
        if self.is_model_owner(party) {
            text += &match precision {
                Some(Precision::Bits(bits)) => format!("precision = {bits}\n"),
                Some(Precision::Auto) => {
                    "# precision = 16  # bits of values; each tensor has a width of its own\n"
                        .into()
                }
                None => String::new(),
            };
            if plan.functions != Functions::default() {
                text += &format!("functions = \"{}\"\n", plan.functions.name());
            }
            if let Some(range) = plan.input_range {
                text += &format!("input_range = {range:?}\n");
            }
            if let Some(key_bits) = &plan.key_bits {
                text += &format!("key_bits = {}\n", escaped(key_bits));
            } else if protocol.signs.key_bits.is_some() {
                text += "# key_bits = \"5.2\"  # what signs are taken from: full, auto, or bits before and after the point\n";
            }
            if let Some(loss) = plan.key_bits_loss {
                text += &format!("key_bits_loss = {loss:?}\n");
            }
            if !plan.outputs.is_empty() {
                text += &format!("outputs = {}\n", Value::from(plan.outputs.clone()));
            }
            for (name, value) in &plan.dims {
                text += &format!("dims.{} = {value}\n", escaped(name));
            }
            for (name, value) in &plan.fix {
                let value = match value {
                    Fixed::Everywhere(number) => format!("{number:?}"),
                    Fixed::Each(numbers) => format!("{numbers:?}"),
                };
                text += &format!("fix.{} = {value}\n", escaped(name));
            }
        }
        text
    }
}

pub(super) fn quoted(path: &Path) -> Result<String, Error> {
    let text = path.to_str().map(escaped);
    text.ok_or_else(|| Error::file(path, "its name is not UTF-8, which a config file must be"))
}

/// A string as TOML writes it; JSON's escapes are among TOML's.
fn escaped(text: &str) -> String {
    Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_config_file_has_all_choices_of_the_protocol() {
        let settings =
            Settings::from_json(r#"{"protocol": "shamir", "parties": 5, "opening": "king"}"#)
                .expect("valid");
        let setup = Setup {
            settings: &settings,
            options: &CompileOptions::default(),
            instance: Instance::new(&settings, Some(31)).expect("valid"),
            roles: settings.roles(5).expect("valid"),
            ports: (7100..7105).collect(),
            connect_timeout: 1.0,
            model: "m.onnx".into(),
            samples: None,
            input: "x.npy".into(),
            output: "output.npy".into(),
        };
        let text = setup.config(4).expect("a config file");
        let table: toml::Table = text.parse().expect("TOML");
        let run = &table["run"];
        assert_eq!(run["threshold"].as_integer(), Some(2));
        assert_eq!(run["comparison"].as_str(), Some("auto"));
        assert_eq!(run["opening"].as_str(), Some("king"));
        assert!(run.get("truncation").is_none(), "it has only its own");
        assert_eq!(table["plan"]["field"].as_integer(), Some(31));
        assert!(table["plan"].get("ring").is_none());
        assert!(table["plan"].get("key_bits").is_none());
        assert_eq!(table["parties"].as_array().map(Vec::len), Some(5));
    }

    #[test]
    fn what_the_model_owner_plans_is_in_its_file() {
        let settings = Settings::from_json(r#"{"protocol": "bicoptor"}"#).expect("valid");
        let options = r#"{"key_bits": "auto", "key_bits_loss": 0.01, "functions": "fast"}"#;
        let setup = Setup {
            settings: &settings,
            options: &CompileOptions::from_json(options).expect("valid"),
            instance: Instance::new(&settings, None).expect("valid"),
            roles: settings.roles(3).expect("valid"),
            ports: (7100..7103).collect(),
            connect_timeout: 1.0,
            model: "m.onnx".into(),
            samples: None,
            input: "x.npy".into(),
            output: "output.npy".into(),
        };
        let plan = |party| -> toml::Table {
            let text = setup.config(party).expect("a config file");
            let table: toml::Table = text.parse().expect("TOML");
            table["plan"].as_table().expect("a table").clone()
        };
        assert_eq!(plan(0)["key_bits"].as_str(), Some("auto"));
        assert_eq!(plan(0)["key_bits_loss"].as_float(), Some(0.01));
        assert_eq!(plan(0)["functions"].as_str(), Some("fast"));
        let own = ["key_bits", "key_bits_loss", "functions"];
        assert!(plan(1).keys().all(|key| !own.contains(&key.as_str())));
    }
}
