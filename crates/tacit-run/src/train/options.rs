//! How a training is carried out.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use tacit_protocols::signs::narrowest;
use tacit_train::{
    Adam, FixedPoint, Layer, Loss, Network, Optimiser, Order, Placed, Sgd, named, names,
};

use crate::job::MATERIAL_BYTES;
use crate::systems::SIGNS;
use crate::{Error, check_outputs, options};

/// The options of a training. Deserialises from a map with these keys, all of them optional;
/// unknown keys are errors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TrainOptions {
    /// How often every item is seen.
    pub epochs: usize,
    /// Items of a mini-batch.
    pub batch: usize,
    /// The loss that the training minimises: `cross-entropy` or `mean-squared-error`.
    pub loss: Loss,
    /// The optimiser, if it is stochastic gradient descent.
    pub sgd: Sgd,
    /// The optimiser, if it is Adam.
    pub adam: Option<Adam>,
    /// The public seed of the items' order and of the starting weights.
    pub seed: u64,
    /// Bits of the ring or field; the protocol's own if not given.
    pub ring: Option<u32>,
    /// Fraction bits of every number.
    pub fraction_bits: u32,
    /// Bits in which signs are taken: 32 costs half, and is right as long as every value whose sign is
    /// taken stays below `2^(31 - fraction_bits)`. All bits of the ring if not given.
    pub sign_bits: Option<u32>,
    /// Whether every party may learn how good the network is on the test data after every epoch.
    pub reveal_curve: bool,
    /// Where the state is kept.
    pub checkpoint: Option<CheckpointOptions>,
    /// About how many megabytes of correlated randomness all parties together hold at once. If a
    /// mini-batch needs more, the rest is made when the mini-batch has come so far. 1610 if not given.
    pub material_mb: Option<u64>,
    /// Stop after so many mini-batches, counted from the beginning of the training.
    pub stop_after: Option<usize>,
}

impl Default for TrainOptions {
    fn default() -> Self {
        TrainOptions {
            epochs: 1,
            batch: 128,
            loss: Loss::default(),
            sgd: Sgd::default(),
            adam: None,
            seed: 1,
            ring: None,
            fraction_bits: 20,
            sign_bits: None,
            reveal_curve: false,
            checkpoint: None,
            material_mb: None,
            stop_after: None,
        }
    }
}

impl TrainOptions {
    /// Reads JSON; see [`TrainOptions`].
    pub fn from_json(text: &str) -> Result<Self, Error> {
        options::read("training", text)
    }

    /// Makes the folders of the checkpoints, and refuses those that nothing can be written to.
    pub(super) fn check_folders(&self) -> Result<(), Error> {
        let Some(kept) = &self.checkpoint else {
            return Ok(());
        };
        for folder in std::iter::once(&kept.folder).chain(&kept.keys) {
            std::fs::create_dir_all(folder).map_err(|e| {
                Error::file(folder, format!("checkpoints cannot be kept there ({e})"))
            })?;
            check_outputs(&[&folder.join("writable.partial")], &[])?;
        }
        Ok(())
    }

    /// The order of so many items.
    pub(super) fn order(&self, items: usize) -> Order {
        Order {
            seed: self.seed,
            items,
            batch: self.batch,
        }
    }

    /// Refuses mini-batches that have one number of a channel that is normalised: it is its own mean, and has no
    /// variance.
    pub(super) fn check_batches(&self, network: &Network, order: &Order) -> Result<(), Error> {
        let alone = |layer: &Layer| matches!(layer, Layer::BatchNorm { plane: 1, .. });
        let rest = order.items % order.batch;
        let last = self.last(order) >= order.batches() && rest == 1;
        if (last || order.batch == 1) && network.layers.iter().any(alone) {
            let why = format!(
                "{} items in mini-batches of {} leave one item in a mini-batch, and batch normalisation needs more than one number of a channel: take another batch, or leave an item out",
                order.items, order.batch
            );
            return Err(Error::setting("batch", why));
        }
        Ok(())
    }

    /// The number of mini-batches after which a training ends.
    pub(super) fn last(&self, order: &Order) -> usize {
        let all = self.epochs.saturating_mul(order.batches());
        self.stop_after.map_or(all, |most| most.min(all))
    }

    /// The bytes of correlated randomness that one party holds.
    pub(super) fn material(&self, parties: usize) -> u64 {
        let bytes = |mb: u64| mb.saturating_mul(1_000_000);
        self.material_mb.map_or(MATERIAL_BYTES, bytes) / parties.max(1) as u64
    }
}

/// Checkpoints of a training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckpointOptions {
    /// The folder of this party's files; with all parties in one process each has one inside.
    pub folder: PathBuf,
    /// The folder of the key that they are encrypted with; made if it is not there. By default the
    /// folder of the checkpoints: then whoever can read that folder can read them.
    #[serde(default)]
    pub keys: Option<PathBuf>,
    /// Mini-batches between two checkpoints.
    #[serde(default = "every")]
    pub every: usize,
}

fn every() -> usize {
    50
}

/// A network as it is written in a config.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelOptions {
    /// The shape of an input item: `[elements]` or `[channels, height, width]`.
    pub input: Vec<usize>,
    /// The name of a network.
    #[serde(default)]
    pub network: Option<String>,
    /// The outputs of a network that has a name.
    #[serde(default)]
    pub outputs: Option<usize>,
    /// The layers of one that has none.
    #[serde(default)]
    pub layers: Vec<Placed>,
    /// A file of the weights to start from: the float32 numbers of all parameters, layer by layer, the
    /// least significant byte first. Only that of the network's owner is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights: Option<PathBuf>,
}

impl ModelOptions {
    /// Makes the network that the options name or list.
    pub fn build(&self) -> Result<Network, Error> {
        match (&self.network, self.layers.is_empty()) {
            (Some(name), true) => {
                let specs = named(name, self.outputs.unwrap_or(10)).ok_or_else(|| {
                    let why = format!("it is not known; choose one of {}", names().join(", "));
                    Error::setting(format!("network '{}'", name.escape_debug()), why)
                })?;
                Ok(Network::new(&self.input, &specs)?)
            }
            (None, false) => Ok(Network::placed(&self.input, &self.layers)?),
            _ => {
                let why = "give a network's name or a list of layers";
                Err(Error::setting("model", why))
            }
        }
    }

    /// The weights of its file, if it has one.
    pub(super) fn start(&self, network: &Network) -> Result<Option<Vec<Vec<f32>>>, Error> {
        let Some(path) = &self.weights else {
            return Ok(None);
        };
        let parameters = network.parameters();
        let numbers: usize = parameters.iter().map(|p| p.len).sum();
        let size = std::fs::metadata(path).map_err(|e| Error::file(path, e))?;
        if size.len() != 4 * numbers as u64 {
            let why = format!(
                "it has {} bytes; the network's {numbers} numbers take {}",
                size.len(),
                4 * numbers
            );
            return Err(Error::file(path, why));
        }
        let bytes = std::fs::read(path).map_err(|e| Error::file(path, e))?;
        let number = |b: &[u8]| f32::from_le_bytes([b[0], b[1], b[2], b[3]]);
        let mut numbers = bytes.chunks_exact(4).map(number);
        let start = parameters
            .iter()
            .map(|p| numbers.by_ref().take(p.len).collect());
        Ok(Some(start.collect()))
    }
}

impl TrainOptions {
    /// The width that is asked for.
    pub(crate) fn width(&self) -> Result<Option<u32>, Error> {
        for (what, n) in [("epochs", self.epochs), ("batch", self.batch)] {
            if n == 0 {
                return Err(Error::setting(what, "it must be at least 1"));
            }
        }
        if self.checkpoint.as_ref().is_some_and(|c| c.every == 0) {
            return Err(Error::setting("checkpoint.every", "it must be at least 1"));
        }
        Ok(self.ring)
    }

    /// The optimiser, checked for numbers that are written so.
    pub(super) fn check_optimiser(&self, fixed: FixedPoint) -> Result<(), Error> {
        if self.adam.is_some() && self.sgd != Sgd::default() {
            let why = "there is sgd too; a training has one optimiser";
            return Err(Error::setting("adam", why));
        }
        if self.adam.is_some() && self.sign_bits.is_some_and(|bits| bits != fixed.bits) {
            let why = "Adam takes signs of numbers with more fraction bits; leave it out";
            return Err(Error::setting("sign_bits", why));
        }
        Ok(self.optimiser().check(fixed, self.epochs, self.batch)?)
    }

    /// How gradients change weights.
    pub(super) fn optimiser(&self) -> Optimiser<'_> {
        match &self.adam {
            Some(adam) => adam.into(),
            None => (&self.sgd).into(),
        }
    }

    pub(crate) fn fixed(&self, width: u32) -> Result<FixedPoint, Error> {
        Ok(FixedPoint::new(width, self.fraction_bits)?)
    }

    /// Bits in which signs are taken over numbers of `width` bits.
    pub(crate) fn sign_bits(&self, width: u32) -> Result<u32, Error> {
        match self.sign_bits {
            None => Ok(width),
            Some(bits) if bits == narrowest(SIGNS, bits, width) => Ok(bits),
            Some(bits) => {
                let narrow = narrowest(SIGNS, 1, width);
                let why = format!("{bits} is neither {narrow} nor the {width} bits of the numbers");
                Err(Error::setting("sign_bits", why))
            }
        }
    }
}
