//! What the owner of a model offers, and what this party has approved of it.
//!
//! What it has approved stands in a file that `tacit approve` writes; it is read at each life, so that a
//! service goes on with what was approved meanwhile.

use std::path::Path;

use serde::{Deserialize, Serialize};
use tacit_nn::Plan;

use super::Service;
use super::config::{ModelTable, ServeConfig};
use crate::Error;
use crate::digest::digest;
use crate::job::{check_reveal, item_material};
use crate::systems::SIGNS;
use crate::terms::Terms;

/// The longest file of approvals, whose plans have no weights.
const MOST: u64 = 256 << 20;

/// What would be served: all of it is public among the parties.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Offer {
    pub name: String,
    pub version: String,
    pub owner: usize,
    pub protocol: String,
    pub security: String,
    pub reveal: String,
    pub digest: String,
    /// The owner's commitment to its file.
    pub commitment: String,
    /// About how many bytes an item takes here, and of correlated randomness.
    pub item_bytes: u64,
    pub material_bytes: u64,
    /// The plan, without weights.
    pub plan: serde_json::Value,
}

impl Offer {
    pub fn new(
        table: &ModelTable,
        terms: &Terms,
        plan: &Plan,
        commitment: &str,
    ) -> Result<Self, Error> {
        let written = serde_json::to_value(plan);
        Ok(Offer {
            name: table.name.clone(),
            version: table.version.clone(),
            owner: terms.roles.model_owner,
            protocol: terms.instance.protocol.name.into(),
            security: terms.instance.security(),
            reveal: plan.opening.reveal.to_string(),
            digest: digest("plan", plan)?,
            commitment: commitment.into(),
            item_bytes: plan.item_bytes(),
            material_bytes: item_material(plan, terms)?,
            plan: written.map_err(|e| Error::setting("plan", e.to_string()))?,
        })
    }

    pub fn to_json(&self) -> Result<Vec<u8>, Error> {
        serde_json::to_vec(self).map_err(|e| Error::setting("plan", e.to_string()))
    }
}

/// The part of an approval that decides.
#[derive(Debug, Deserialize)]
struct Approval {
    name: String,
    version: String,
    digest: String,
    commitment: String,
}

#[derive(Debug, Deserialize)]
struct Approvals {
    models: Vec<Approval>,
}

/// Refuses an offer that is not what this party approves, as far as it names a digest and a commitment.
fn check_same(
    name: &str,
    approved: [Option<&str>; 2],
    [digest, commitment]: [&str; 2],
    hint: &str,
) -> Result<(), Error> {
    let offered = [("digest", digest), ("commitment", commitment)];
    for (own, (what, offered)) in approved.into_iter().zip(offered) {
        if let Some(own) = own.filter(|own| *own != offered) {
            let why = format!(
                "this party approves {own} of '{name}', and its owner offers {offered}; {hint}"
            );
            return Err(Error::setting(format!("models.{what}"), why));
        }
    }
    Ok(())
}

/// Refuses an offer that is not what this party's config names.
fn check_named(table: &ModelTable, offered: [&str; 2]) -> Result<(), Error> {
    let named = [table.digest.as_deref(), table.commitment.as_deref()];
    let hint = "look at what has changed; to approve it, change or remove that line first";
    check_same(&table.name, named, offered, hint)
}

/// Refuses what this party has not approved, in its config or in its file of approvals, of which the last
/// of a version counts.
pub(super) fn check_approved(
    config: &ServeConfig,
    table: &ModelTable,
    offered: [&str; 2],
) -> Result<(), Error> {
    check_named(table, offered)?;
    let Some(path) = config.approved() else {
        return Ok(());
    };
    let all = read(path)?.models;
    let of_table = |a: &&Approval| a.name == table.name && a.version == table.version;
    let Some(found) = all.iter().rfind(of_table) else {
        let why = format!(
            "this party has not approved version {} of '{}'; look at what its owner offers with `tacit approve`",
            table.version, table.name
        );
        return Err(Error::setting("models.approved", why));
    };
    let approved = [Some(&found.digest[..]), Some(&found.commitment[..])];
    let hint = "look at what has changed before you approve it";
    check_same(&table.name, approved, offered, hint)
}

/// The file of approvals; nothing is approved while there is none.
fn read(path: &Path) -> Result<Approvals, Error> {
    let strange = |why: String| {
        let why = format!("it is no file of approvals ({why}); move it away, and approve anew");
        Error::file(path, why)
    };
    match std::fs::metadata(path) {
        Ok(found) if found.len() > MOST => return Err(strange("it is too long".into())),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            return Ok(Approvals { models: Vec::new() });
        }
        _ => {}
    }
    let text = std::fs::read(path);
    let text = text.map_err(|e| Error::file(path, format!("it cannot be read ({e})")))?;
    serde_json::from_slice(&text).map_err(|e| strange(e.to_string()))
}

impl Service {
    /// What the owner offers to serve, as JSON: what it offered last, or at the owner what its file makes.
    pub fn offered(&self) -> Result<Option<Vec<u8>>, Error> {
        if let (Some(model), Some(commitment)) = (&self.model, &self.commitment) {
            let table = self.config.table(self.at);
            let terms = self.config.terms(table)?;
            let plan = model.planned_for(terms.instance.protocol)?.plan;
            return Offer::new(table, &terms, plan, commitment)?
                .to_json()
                .map(Some);
        }
        Ok(self.offered.lock().ok().and_then(|offered| offered.clone()))
    }

    /// Keeps what the owner offers, and refuses what this party has not approved.
    pub(super) fn judge(&self, offer: Offer) -> Result<(), Error> {
        if let Ok(mut offered) = self.offered.lock() {
            *offered = Some(offer.to_json()?);
        }
        let table = self.config.table(self.at);
        check_approved(&self.config, table, [&offer.digest, &offer.commitment])
    }
}

impl ServeConfig {
    /// Refuses an offer, as it was kept in a file, that is not what this party would serve: its plan has
    /// another digest, or this config says something else of the model.
    pub fn check_offer(
        &self,
        model: &str,
        version: Option<&str>,
        offer: &[u8],
    ) -> Result<(), Error> {
        let table = self.table(self.find(model, version)?);
        let terms = self.terms(table)?;
        let strange = |why: String| Error::setting("offer", why);
        let told: Offer = serde_json::from_slice(offer)
            .map_err(|e| strange(format!("it cannot be read: {e}")))?;
        let bytes = serde_json::to_vec(&told.plan).map_err(|e| strange(e.to_string()))?;
        let plan = Plan::from_bytes_within(&bytes, terms.item_bytes, SIGNS);
        let plan = plan.map_err(|e| strange(e.to_string()))?;
        let (bits, order, public) = (plan.modulus.bits(), plan.order, plan.public_model);
        if (bits, order, public) != (terms.instance.width, terms.order, terms.public_model) {
            let why = "its ring, order or secrecy is not that of this party's config";
            return Err(strange(why.into()));
        }
        check_reveal(&terms, &plan)?;
        check_named(table, [&told.digest, &told.commitment])?;
        let ours = Offer::new(table, &terms, &plan, &told.commitment)?;
        let [ours_json, theirs] = [&ours, &told].map(serde_json::to_value);
        let (Ok(ours_json), Ok(theirs)) = (ours_json, theirs) else {
            return Err(strange("it cannot be written down".into()));
        };
        let differs = |key: &&str| ours_json.get(*key) != theirs.get(*key);
        let keys = [
            "name", "version", "owner", "protocol", "security", "reveal", "digest",
        ];
        match keys.iter().find(|key| differs(key)) {
            None => Ok(()),
            Some(key) => Err(strange(format!(
                "its {key} is not what this party would serve; start the service, which writes down anew \
                 what the owner offers"
            ))),
        }
    }
}
