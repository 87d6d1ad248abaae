//! What the parties of a training agree on before anything is shared: how it is carried out, the
//! network's layers, and who brings how many items.

use serde_json::Value;
use tacit_train::Network;

use super::{Dataset, Task, TrainOptions};
use crate::Error;
use crate::agreement::Agreement;
use crate::digest::digest;
use crate::terms::Terms;

/// Data of one owner, of which the others know how much there is.
#[derive(Clone, Copy)]
pub(super) struct Part<'a> {
    pub owner: usize,
    pub items: usize,
    /// The data themselves, at their owner alone.
    pub own: Option<Dataset<'a>>,
}

/// What is trained on and what the network is tried on, in the order of the owners.
pub(super) struct Parts<'a> {
    pub train: Vec<Part<'a>>,
    pub test: Vec<Part<'a>>,
    /// A hash of the options, the layers and the numbers of items.
    pub digest: String,
}

impl<'a> Parts<'a> {
    /// Agrees with the others, to whom each party tells how many items it brings: on these too, or a
    /// party could tell each of the others another number.
    pub fn agree(
        mut agreement: Agreement,
        terms: &Terms,
        options: &TrainOptions,
        task: &Task<'a>,
    ) -> Result<Self, Error> {
        agreement.compare(&terms.items())?;
        let settings = items(options, task.network)?;
        agreement.compare(&borrowed(&settings))?;
        let mut parts = Parts {
            train: announce(&mut agreement, TRAIN, task.network, task.train)?,
            test: announce(&mut agreement, TEST, task.network, task.test)?,
            digest: String::new(),
        };
        let items = parts.items();
        parts.digest = digest("training", &(&settings, &items))?;
        agreement.conclude(&borrowed(&items))?;
        match parts.train.is_empty() {
            true => Err(Error::setting("training data", "nobody brings any")),
            false => Ok(parts),
        }
    }

    /// How many items each owner brings, for the parties to agree on.
    fn items(&self) -> Vec<(String, String)> {
        let of = |(step, parts): (&'static str, &[Part])| -> Vec<_> {
            let set = |(i, part): (usize, &Part)| {
                let item = format!("{step}, set {i}, of party {}", part.owner);
                (item, part.items.to_string())
            };
            parts.iter().enumerate().map(set).collect()
        };
        let sets = [(TRAIN, self.train.as_slice()), (TEST, &self.test)];
        sets.into_iter().flat_map(of).collect()
    }
}

/// What each party says of its data.
const TRAIN: &str = "items to train on";
const TEST: &str = "items to try on";

fn borrowed(items: &[(String, String)]) -> Vec<(&str, String)> {
    items.iter().map(|(k, v)| (k.as_str(), v.clone())).collect()
}

/// What must be the same at every party, by the names that a config has for them.
fn items(options: &TrainOptions, network: &Network) -> Result<Vec<(String, String)>, Error> {
    // Where a party keeps its files is its own affair, when it does is not.
    let every = options.checkpoint.as_ref().map(|kept| kept.every);
    let shared = TrainOptions {
        checkpoint: None,
        ..options.clone()
    };
    let named = |(key, value): (String, Value)| (format!("training.{key}"), value.to_string());
    let unwritten = |e| Error::setting("training", format!("it cannot be written down: {e}"));
    let mut items: Vec<_> = match serde_json::to_value(shared).map_err(unwritten)? {
        Value::Object(all) => all.into_iter().map(named).collect(),
        _ => Vec::new(),
    };
    let every = every.map_or("(no checkpoints)".into(), |n: usize| n.to_string());
    items.push(("training.checkpoint.every".into(), every));
    let layers = digest("network", network)?;
    items.push(("the network's layers".into(), layers));
    Ok(items)
}

/// Tells the others the sizes of this party's sets; those of all.
fn announce<'a>(
    agreement: &mut Agreement,
    step: &'static str,
    network: &Network,
    own: &[Dataset<'a>],
) -> Result<Vec<Part<'a>>, Error> {
    let us = agreement.us();
    let own: Vec<_> = own.iter().filter(|set| set.owner == us).collect();
    let sizes: Vec<usize> = own
        .iter()
        .map(|set| set.x.len() / network.inputs())
        .collect();
    let all = agreement.exchanged(step, &sizes)?;
    let mut parts = Vec::new();
    // Items are numbered by 32 bits.
    let mut left = u32::MAX as usize;
    for (owner, sizes) in all.into_iter().enumerate() {
        let mut own = own.iter();
        for items in sizes {
            left = left
                .checked_sub(items)
                .filter(|_| items > 0)
                .ok_or_else(|| {
                    let why = format!(
                        "party {owner} announces a set of {items}; a training has 1 to {}",
                        u32::MAX
                    );
                    Error::setting("number of items", why)
                })?;
            parts.push(Part {
                owner,
                items,
                own: own.next().filter(|_| owner == us).map(|set| **set),
            });
        }
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tacit_net::{LinkModel, memory};
    use tacit_train::LayerSpec;

    /// What party 0 hears when party 1 announces sets of these sizes.
    fn heard(sizes: Vec<usize>) -> Result<Vec<usize>, String> {
        let outputs = LayerSpec::Linear {
            outputs: 2,
            bias: true,
        };
        let network = Network::new(&[3], &[outputs]).expect("fits");
        let patience = std::time::Duration::from_secs(10);
        let mut mesh = memory::mesh(2, &LinkModel::LOCAL, patience).into_iter();
        let (mut us, mut them) = (mesh.next().expect("one"), mesh.next().expect("two"));
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let said = Agreement::new(&mut them).exchanged(TRAIN, &sizes);
                said.map(drop)
            });
            let parts = announce(&mut Agreement::new(&mut us), TRAIN, &network, &[]);
            let items = |parts: Vec<Part>| parts.iter().map(|part| part.items).collect();
            parts.map(items).map_err(|e| e.to_string())
        })
    }

    #[test]
    fn sizes_that_cannot_be_are_refused() {
        assert_eq!(heard(vec![3, 4]), Ok(vec![3, 4]));
        assert_eq!(heard(Vec::new()), Ok(Vec::new()));
        for sizes in [vec![0], vec![usize::MAX], vec![1 << 31, 1 << 31]] {
            let error = heard(sizes).expect_err("refused");
            assert!(error.contains("party 1 announces"), "{error}");
        }
    }
}
