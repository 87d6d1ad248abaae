//! The client's side: what a service says of a model, and what is made of it.

use serde::{Deserialize, Serialize};
use serde_json::json;
use tacit_client::Scheme;
use tacit_nn::Plan;

use super::config::ModelTable;
use crate::digest::digest;
use crate::given::{Array, Given};
use crate::systems::SIGNS;
use crate::terms::Terms;
use crate::{Error, Tensor};

/// What a party says of a model to clients, as JSON: all of it is public.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Described {
    pub name: String,
    pub version: String,
    pub protocol: String,
    pub security: String,
    pub parties: usize,
    pub party: usize,
    pub digest: String,
    /// The owner's commitment to its file.
    pub commitment: String,
    pub session: String,
    pub scheme: Scheme,
    pub reveal: String,
    pub max_items: usize,
    /// The most bytes of a body at this party.
    pub max_body: usize,
    /// Each with name, datatype, shape.
    pub inputs: serde_json::Value,
    /// Each with name, datatype, shape and names of classes.
    pub outputs: serde_json::Value,
    /// Fraction bits of numbers of the input, as they are shared.
    pub input_fraction: u32,
    /// Fraction bits of numbers of the answer; none where answers are classes.
    pub output_fraction: Option<u32>,
    /// The plan, without weights.
    pub plan: serde_json::Value,
}

/// What party `us` tells clients of a model of which a request has at most `max` items, as JSON; the plan's
/// digest, the owner's commitment, and the name of the life in which it is served.
pub(super) fn described(
    table: &ModelTable,
    max: usize,
    (plan, terms): (&Plan, &Terms),
    us: usize,
    [digest, commitment, session]: [&str; 3],
) -> Result<Vec<u8>, Error> {
    let unwritten = |e: serde_json::Error| Error::setting("plan", e.to_string());
    let inputs = plan.inputs.iter().map(|planned| {
            let input = &planned.input;
            json!({"name": input.name, "datatype": "FP32", "shape": with_batch(&input.shape, input.batch),
                   "texts": input.texts, "missing": input.missing})
        });
    let outputs = plan.outputs.iter().map(|output| {
            json!({"name": output.name, "datatype": "FP32", "shape": with_batch(&output.shape, output.batch),
                   "item_shape": output.shape, "classes": output.classes})
        });
    let scheme = terms.instance.scheme()?;
    let described = Described {
        name: table.name.clone(),
        version: table.version.clone(),
        protocol: terms.instance.protocol.name.into(),
        security: terms.instance.security(),
        parties: terms.instance.parties,
        party: us,
        digest: digest.into(),
        commitment: commitment.into(),
        session: session.into(),
        scheme,
        max_body: scheme.body_len(us, max.saturating_mul(plan.input_len())),
        reveal: plan.opening.reveal.to_string(),
        max_items: max,
        inputs: inputs.collect(),
        outputs: outputs.collect(),
        input_fraction: plan.number(0).fraction,
        output_fraction: (plan.opening.reveal.places().is_none())
            .then(|| plan.number(plan.output).fraction),
        plan: serde_json::to_value(plan).map_err(unwritten)?,
    };
    serde_json::to_vec(&described).map_err(unwritten)
}

/// A shape with the free axis of the batch in its place.
fn with_batch(item: &[usize], batch: usize) -> Vec<i64> {
    let mut shape: Vec<i64> = item.iter().map(|&size| size as i64).collect();
    shape.insert(batch.min(shape.len()), -1);
    shape
}

/// A client of one model.
#[derive(Debug)]
pub struct Sharing {
    scheme: Scheme,
    plan: Plan,
}

impl Sharing {
    /// Reads what a party says of a model. It may lie: a plan that is not valid is refused.
    pub fn new(described: &[u8]) -> Result<Self, Error> {
        let refused = |why: String| Error::setting("description of the model", why);
        let read: Described =
            serde_json::from_slice(described).map_err(|e| refused(e.to_string()))?;
        read.scheme.check().map_err(|e| refused(e.to_string()))?;
        let bytes = serde_json::to_vec(&read.plan).map_err(|e| refused(e.to_string()))?;
        let most = tacit_nn::plan::MAX_ITEM_BYTES;
        let plan =
            Plan::from_bytes_within(&bytes, most, SIGNS).map_err(|e| refused(e.to_string()))?;
        if digest("plan", &plan)? != read.digest {
            return Err(refused("its digest is not that of its plan".into()));
        }
        let scheme = read.scheme;
        if scheme.bits() != plan.modulus.bits() {
            return Err(refused(
                "its plan and its sharing are of different rings".into(),
            ));
        }
        Ok(Sharing { scheme, plan })
    }

    /// How many items there are, and a body for each party.
    pub fn split(&self, given: Given) -> Result<(usize, Vec<Vec<u8>>), Error> {
        let items = given.items(&self.plan)?;
        let values = given.encoded(&self.plan)?;
        let bodies = self.scheme.split(&values);
        Ok((items as usize, bodies?))
    }

    /// The outputs of so many items, of one answer of every party, with their shape.
    pub fn join(&self, items: usize, answers: &[&[u8]]) -> Result<Array, Error> {
        let n = items.saturating_mul(self.plan.revealed_len());
        let values = self.scheme.join(n, answers)?;
        let outputs = self.plan.finish(&values)?;
        let each = outputs.len() / items.max(1);
        Ok((outputs, vec![items, each]))
    }
}

/// The finite numbers of what a client gives.
pub fn check_given(x: Tensor) -> Result<(), Error> {
    match x.beyond() {
        None => Ok(()),
        Some(why) => Err(Error::setting("input", why)),
    }
}
