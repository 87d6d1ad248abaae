//! What the parties agree on before a prediction: the plan, the number of inputs, the batch.

use std::borrow::Cow;

use tacit_nn::Plan;
use tacit_nn::plan::gigabytes;
use tacit_protocols::material_portions::stored;

use super::{Contribution, Planned};
use crate::agreement::{Agreement, Insists};
use crate::digest::digest;
use crate::large_errors::check_truncation;
use crate::terms::Terms;
use crate::{Error, systems};

/// Items of a batch unless told otherwise.
const DEFAULT_BATCH: u64 = 128;
/// The correlated randomness of a batch, of all parties together, unless told otherwise.
pub(crate) const MATERIAL_BYTES: u64 = 3 << 29;
/// The longest plan, as it is read.
const MAX_PLAN_BYTES: usize = 64 << 20;

/// The item of the agreement that says how many inputs there are.
pub(crate) const INPUTS: &str = "number of inputs";
/// The one that says how many are predicted at a time.
const BATCH: &str = "items of a batch";

/// The public numbers of a run, the same at every party.
pub(crate) struct Agreed<'a> {
    pub plan: Cow<'a, Plan>,
    /// The digest of the plan, which every party compares.
    pub digest: String,
    /// Bytes of correlated randomness that an item takes.
    pub material: u64,
    pub asked: Asked,
}

/// What the parties agree on of one request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    pub inputs: usize,
    pub batch: usize,
}

impl Asked {
    pub fn batches(&self) -> usize {
        self.inputs.div_ceil(self.batch)
    }
}

/// Agrees with the others on the plan, the number of inputs and the batch: on those that are used.
pub(crate) fn agree<'a>(
    mut agreement: Agreement,
    terms: &Terms,
    brings: Contribution<'a>,
) -> Result<Agreed<'a>, Error> {
    agreement.compare(&terms.items())?;
    let plan = announce_plan(&mut agreement, terms, brings.model)?;
    let digest = digest("plan", &plan)?;
    let material = item_material(&plan, terms)?;
    let given = brings.input.map(|input| input.items(&plan)).transpose()?;
    let asked = announce_request(&mut agreement, terms, material, given)?;
    let insists = [
        Insists {
            item: "fraction bits",
            wish: terms.fraction_bits.map(u64::from),
            actual: plan.fraction_bits.into(),
        },
        insists_on(terms, &asked),
    ];
    let opened = format!(
        "{} to party {}",
        plan.opening.reveal, terms.roles.data_owner
    );
    let mut items = vec![("reveal", opened), ("plan", digest.clone())];
    items.extend(insists.iter().map(Insists::agreed));
    items.push((BATCH, asked.batch.to_string()));
    let agreed = agreement.conclude(&items);
    // One's own config is the nearer cause.
    insists.iter().try_for_each(Insists::check)?;
    check_reveal(terms, &plan)?;
    check_truncation(&terms.instance, &plan)?;
    agreed?;
    Ok(Agreed {
        plan,
        digest,
        material,
        asked,
    })
}

/// What parties agree on that serve clients, before there is a request.
pub(crate) struct Model<'a> {
    pub plan: Cow<'a, Plan>,
    /// The digest of the plan, which every party compares.
    pub digest: String,
    /// Bytes of correlated randomness that an item takes.
    pub material: u64,
}

/// Agrees with the others on the plan of a model that is served: `more` is the same at all, too.
pub(crate) fn agree_on_model<'a>(
    mut agreement: Agreement,
    terms: &Terms,
    model: Option<Planned<'a>>,
    more: &[(&str, String)],
) -> Result<Model<'a>, Error> {
    let items: Vec<_> = terms
        .items()
        .into_iter()
        .chain(more.iter().cloned())
        .collect();
    agreement.compare(&items)?;
    let plan = announce_plan(&mut agreement, terms, model)?;
    let digest = digest("plan", &plan)?;
    let material = item_material(&plan, terms)?;
    let fraction_bits = Insists {
        item: "fraction bits",
        wish: terms.fraction_bits.map(u64::from),
        actual: plan.fraction_bits.into(),
    };
    let items = [
        ("reveal", format!("{} to the client", plan.opening.reveal)),
        ("plan", digest.clone()),
        fraction_bits.agreed(),
    ];
    let agreed = agreement.conclude(&items);
    fraction_bits.check()?;
    check_reveal(terms, &plan)?;
    check_truncation(&terms.instance, &plan)?;
    agreed?;
    Ok(Model {
        plan,
        digest,
        material,
    })
}

/// Agrees with the others on a request by its number, once a model is shared whose items take so many
/// bytes of material.
pub(crate) fn agree_again(
    mut agreement: Agreement,
    terms: &Terms,
    material: u64,
    number: u64,
    input: Option<u64>,
) -> Result<Asked, Error> {
    let asked = announce_request(&mut agreement, terms, material, input)?;
    let insists = insists_on(terms, &asked);
    let items = [
        ("request", number.to_string()),
        insists.agreed(),
        (BATCH, asked.batch.to_string()),
    ];
    let agreed = agreement.conclude(&items);
    insists.check()?;
    agreed?;
    Ok(asked)
}

/// What this party insists on of a request.
fn insists_on(terms: &Terms, asked: &Asked) -> Insists {
    Insists {
        item: INPUTS,
        wish: terms.inputs.map(|n| n as u64),
        actual: asked.inputs as u64,
    }
}

/// The model owner tells the others the plan, which holds no weights.
fn announce_plan<'a>(
    agreement: &mut Agreement,
    terms: &Terms,
    model: Option<Planned<'a>>,
) -> Result<Cow<'a, Plan>, Error> {
    let owner = terms.roles.model_owner;
    let model = own(agreement.us(), owner, "model", model)?;
    let told = model.map(|model| model.plan.to_bytes());
    let bytes = agreement.announced(owner, "plan", told, MAX_PLAN_BYTES)?;
    let refused = |why: String| Error::PeerPlan { party: owner, why };
    let plan = match model {
        Some(model) => Cow::Borrowed(model.plan),
        None => {
            let plan = Plan::from_bytes_within(&bytes, terms.item_bytes, systems::SIGNS);
            Cow::Owned(plan.map_err(|e| refused(e.to_string()))?)
        }
    };
    let (bits, order, public) = (plan.modulus.bits(), plan.order, plan.public_model);
    if (bits, order, public) != (terms.instance.width, terms.order, terms.public_model) {
        return Err(refused(
            "its ring, order or secrecy is not the one agreed on".into(),
        ));
    }
    Ok(plan)
}

/// Holds what this party insists on against what the plan opens, whatever the others insist on.
pub(crate) fn check_reveal(terms: &Terms, plan: &Plan) -> Result<(), Error> {
    let actual = plan.opening.reveal;
    match terms.reveal {
        Some(wanted) if wanted != actual => {
            let (owner, receiver) = (terms.roles.model_owner, terms.roles.data_owner);
            let why = format!(
                "this party's config says {wanted}, the plan of party {owner} opens {actual} to party \
                 {receiver}; nothing was shared: set the same reveal in [plan] at both owners, or leave it \
                 out here to take the plan's"
            );
            Err(Error::setting("reveal", why))
        }
        _ => Ok(()),
    }
}

/// The data owner tells the others how many inputs there are; how many are predicted at a time.
fn announce_request(
    agreement: &mut Agreement,
    terms: &Terms,
    material: u64,
    input: Option<u64>,
) -> Result<Asked, Error> {
    let inputs = announce_inputs(agreement, terms, input)?;
    let batch = match terms.batch {
        Some(batch) => batch.get().min(inputs),
        None => default_batch(material, terms, inputs),
    };
    Ok(Asked { inputs, batch })
}

/// The data owner tells the others how many inputs there are.
fn announce_inputs(
    agreement: &mut Agreement,
    terms: &Terms,
    input: Option<u64>,
) -> Result<usize, Error> {
    let owner = terms.roles.data_owner;
    let input = own(agreement.us(), owner, "input", input)?;
    let told = input.map(|items| items.to_le_bytes().to_vec());
    let bytes = agreement.announced(owner, INPUTS, told, size_of::<u64>())?;
    let count = bytes.try_into().map(u64::from_le_bytes).unwrap_or(0);
    match usize::try_from(count) {
        Ok(count) if count > 0 => Ok(count),
        _ => Err(Error::setting(
            INPUTS,
            format!("there are {count}; at least 1 is needed"),
        )),
    }
}

/// What this party brings, if it is its owner.
fn own<T>(us: usize, owner: usize, what: &str, brings: Option<T>) -> Result<Option<T>, Error> {
    if us != owner {
        return Ok(None);
    }
    let why = format!("party {owner} owns it and must bring it");
    brings.map(Some).ok_or_else(|| Error::setting(what, why))
}

/// The bytes of correlated randomness that one item takes at a party, which may be as many as one item
/// may take of memory; or the layer with which it takes more.
pub(crate) fn item_material(plan: &Plan, terms: &Terms) -> Result<u64, Error> {
    let cost = terms.instance.comparing(plan.compare_bits).cost()?;
    let (mut calls, mut sum) = (Vec::new(), 0u64);
    for layer in plan.calls(1, &terms.roles)? {
        sum = sum.saturating_add(stored(&layer.calls, &*cost)?);
        if sum > terms.item_bytes {
            return Err(Error::PeerPlan {
                party: terms.roles.model_owner,
                why: format!(
                    "layer '{}': with it one item takes {} of correlated randomness at a party, and at most {} are allowed (item_memory_gb)",
                    layer.name,
                    gigabytes(sum),
                    gigabytes(terms.item_bytes)
                ),
            });
        }
        calls.extend(layer.calls);
    }
    Ok(stored(&calls, &*cost)?)
}

/// All inputs at once, as far as the material of all parties fits a usual memory.
fn default_batch(per_party: u64, terms: &Terms, inputs: usize) -> usize {
    let per_item = per_party.saturating_mul(terms.instance.parties as u64);
    let most = (MATERIAL_BYTES / per_item.max(1)).clamp(1, DEFAULT_BATCH) as usize;
    // Even batches, so that the last is not much smaller than the others.
    inputs.div_ceil(inputs.div_ceil(most))
}
