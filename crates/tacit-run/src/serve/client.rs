//! The client's side: what a service says of a model, and what is made of it.

use serde::{Deserialize, Serialize};
use tacit_client::Scheme;
use tacit_nn::Plan;

use crate::digest::digest;
use crate::given::{Array, Given};
use crate::systems::SIGNS;
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
    pub session: String,
    pub scheme: Scheme,
    pub reveal: String,
    pub max_items: usize,
    /// Each with name, datatype, shape.
    pub inputs: serde_json::Value,
    /// Each with name, datatype, shape and names of classes.
    pub outputs: serde_json::Value,
    /// The plan, without weights.
    pub plan: serde_json::Value,
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
        if scheme.bits() != plan.ring_bits {
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
        Ok((items as usize, bodies.map_err(refused)?))
    }

    /// The outputs of so many items, of one answer of every party, with their shape.
    pub fn join(&self, items: usize, answers: &[&[u8]]) -> Result<Array, Error> {
        let n = items.saturating_mul(self.plan.revealed_len());
        let values = self.scheme.join(n, answers).map_err(refused)?;
        let outputs = self.plan.finish(&values)?;
        let each = outputs.len() / items.max(1);
        Ok((outputs, vec![items, each]))
    }
}

fn refused(error: tacit_client::Refusal) -> Error {
    Error::Data(error.to_string())
}

/// The finite numbers of what a client gives.
pub fn check_given(x: Tensor) -> Result<(), Error> {
    match x.beyond() {
        None => Ok(()),
        Some(why) => Err(Error::setting("input", why)),
    }
}
