//! Config files of parties that serve.

use std::path::Path;

use super::setup::Setup;
use crate::Error;

/// The port at which party 0 hears clients.
const HTTP: usize = 8100;
/// Each party has so many ports for others: a model takes one.
pub(super) const PORTS: usize = 16;

impl Setup<'_> {
    /// The text of a party's config file for a service.
    pub(super) fn service_config(&self, party: usize) -> Result<String, Error> {
        let mut text = format!(
            "# This is {} of {}, which serve predictions: it {}.\n\
             # Start it with `tacit serve --config` and this file's path.\n\
             # Paths are relative to this file's folder.\n",
            self.instance.protocol.party_words(party),
            self.ports.len(),
            self.serves(party),
        );
        text += &self.member(party);
        text += &self.run_table(false);
        let file = match self.is_model_owner(party) {
            true => format!("file = {}  # ONNX; stays here\n", self.model_file()?),
            false => String::new(),
        };
        let reveal = self.options.reveal;
        let plan = reveal.map_or("# plan = { reveal = \"class\" }  # all that a client learns: logits, probabilities, top-3 or class\n".into(), |reveal| {
            format!("plan = {{ reveal = \"{reveal}\" }}\n")
        });
        text += &format!(
            "\n[[models]]  # the same models, in the same order, at every party\n\
             name = \"model\"\n\
             version = \"1\"\n\
             # sessions = 2  # side by side, each with a pool of its own; all parties have as many\n\
             # place = 0  # its ports are so many above the parties'; written down, it keeps them when a model before it goes\n\
             {file}\
             {plan}\
             # digest = \"...\"  # serve this plan only; the service says its digest when it is ready\n\
             # commitment = \"...\"  # and this file only\n\
             \n[service]\n\
             listen = \"127.0.0.1:{}\"  # HTTP for clients; another address than loopback needs a certificate\n\
             # certificate = \"https.pem\"\n\
             # key = \"https.key\"\n\
             # origins = [\"https://app.example.org\"]  # pages whose scripts may ask\n\
             queue = 256     # requests that may wait\n\
             batch = 32      # items predicted at a time\n\
             wait_ms = 2.0   # how long a batch waits for more\n\
             keep_s = 60.0   # how long an answer is kept for a client that asks again\n\
             request_s = 60.0  # how long a request may take\n\
             pool = 16       # how often material for pool_items items lies ready, made while nobody asks\n\
             pool_items = 1\n\
             pool_mb = 256.0 # the most memory that it takes\n\
             audit = \"audit.jsonl\"\n\
             # approved = \"approved.json\"  # serve what `tacit approve` has written there, and nothing else; needed at another address than loopback\n",
            HTTP + party,
        );
        text += "\n# [[clients]]  # who may ask; without any everyone may, from this machine alone\n\
                 # name = \"hospital-b\"\n\
                 # key_sha256 = \"...\"  # `tacit key` makes a key, and says this of it\n\
                 # queries = 1000\n\
                 # period_s = 86400.0\n\
                 # reveal = \"class\"  # the most that it may learn\n\
                 # hours = \"08:00-18:00\"  # in UTC; days = \"mon-fri\"\n\
                 # metrics = true  # it may see the metrics from another machine\n";
        text += &self.peers(party, Self::serves);
        Ok(text)
    }

    /// What a party does in a service.
    pub(super) fn serves(&self, party: usize) -> &'static str {
        match self.is_model_owner(party) {
            true => "owns the model and computes",
            false => "computes",
        }
    }

    fn model_file(&self) -> Result<String, Error> {
        super::setup::quoted(Path::new(&self.model))
    }
}
