//! The config file of a party in a training.

use super::Setup;
use crate::Error;

impl Setup<'_> {
    /// What a party of a training is there for.
    pub(super) fn learns(&self, party: usize) -> &'static str {
        match self.is_model_owner(party) {
            true => "owns the network and learns it; it may bring data",
            false => "may bring data",
        }
    }

    /// The text of a party's config file.
    pub(super) fn training_config(&self, party: usize) -> Result<String, Error> {
        let mut text = format!(
            "# This is {} of {}: it {}. Start it with `tacit train` and this file's path.\n\
             # Paths are relative to this file's folder. Everything is described in docs/training.md.\n",
            self.instance.protocol.party_words(party),
            self.ports.len(),
            self.learns(party),
        );
        text += &self.member(party);
        text += NETWORK;
        text += DATA;
        text += TRAINING;
        text += &self.run_table(false);
        text += "\n[output]\n";
        if self.is_model_owner(party) {
            text += "model = \"trained.onnx\"  # stays here\n";
        }
        text += "report = \"report.json\"\npage = \"report.html\"\n";
        text += &self.peers(party, Self::learns);
        Ok(text)
    }
}

const NETWORK: &str = r#"
[model]  # the same layers at every party
input = [1, 28, 28]      # channels, height, width; or [elements]
network = "network-b"    # or layers = [...]
outputs = 10
# file = "start.onnx"    # instead of all these: layers and weights; only the owner's weights are used
"#;

const DATA: &str = r#"
# [[data]]               # what this party brings, if it does
# train = "mnist:mnist"  # formats: docs/data.md
# test = "mnist:mnist"   # what the network is tried on, where the curve is revealed
"#;

const TRAINING: &str = r#"
[training]  # the same at every party, but for the folders of the checkpoint
epochs = 1
batch = 128
sgd = { learning_rate = 0.05, momentum = 0.9 }
reveal_curve = false     # whether all parties learn after every epoch how good the network is
checkpoint = { folder = "state", keys = "keys", every = 50 }
"#;
