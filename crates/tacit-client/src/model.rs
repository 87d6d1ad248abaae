//! What a client of a model does before it shares numbers and after it has put them together: floats to
//! integers of the plan, and back.
//!
//! `tacit_nn::Plan` does so for every plan. This does it for plans whose inputs are shared as the numbers
//! that they are, by what the parties describe and nothing else, so that a browser needs no more.

use serde::Deserialize;

use crate::tail::{Tail, apply};
use crate::{Refusal, Scheme};

/// Numbers of all items of a request at most; a description that leads to more is refused.
const MOST: usize = 1 << 26;

/// What the parties describe of a model, as far as a client uses it; all else is passed over.
#[derive(Clone, Debug, Deserialize)]
pub struct Described {
    parties: usize,
    scheme: Scheme,
    max_items: usize,
    input_fraction: u32,
    output_fraction: Option<u32>,
    plan: PlanDescription,
}

/// The part of a plan that a client uses.
#[derive(Clone, Debug, Deserialize)]
struct PlanDescription {
    /// Bits of a number, in a ring or a field.
    #[serde(rename = "modulus")]
    element_bits: u32,
    inputs: Vec<Input>,
    outputs: Vec<Output>,
    opening: Opening,
}

#[derive(Clone, Debug, Deserialize)]
struct Input {
    name: String,
    shape: Vec<usize>,
    kind: InputKind,
    limit: i64,
    ranked: bool,
    /// How many values each number has that is a category, and 0 for every other number; empty where none is one.
    #[serde(default)]
    limits: Vec<usize>,
    /// Which numbers may be missing, if any may.
    #[serde(default)]
    missing: Option<Missing>,
}

/// Which numbers of an input may be missing, which is given as NaN: each has a mark behind the input's numbers.
#[derive(Clone, Debug, Deserialize)]
struct Missing {
    places: Vec<usize>,
    /// The bits of the power of two that the mark of a missing number is.
    bits: u32,
}

/// What the numbers of an input are.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum InputKind {
    Numbers,
    Integers,
    Truths,
    Tokens {
        #[serde(rename = "classes")]
        _classes: usize,
    },
}

#[derive(Clone, Debug, Deserialize)]
struct Output {
    name: String,
    start: usize,
    revealed_shape: Vec<usize>,
    tail: Vec<Tail>,
    shape: Vec<usize>,
}

#[derive(Clone, Debug, Deserialize)]
struct Opening {
    reveal: String,
    scores: Vec<Scores>,
}

#[derive(Clone, Debug, Deserialize)]
struct Scores {
    size: usize,
}

/// A model that is served, as its client sees it.
#[derive(Clone, Debug)]
pub struct Model {
    told: Described,
    /// Numbers of one item: given, opened, and of the answer.
    given: usize,
    opened: usize,
    answered: usize,
    /// The classes, where they are opened and not numbers.
    classes: Option<usize>,
}

impl Model {
    /// Reads what the parties describe. They may lie: what makes no sense is refused.
    pub fn new(told: Described) -> Result<Self, Refusal> {
        let refused = |why: &str| Refusal::Model(why.into());
        told.scheme.check()?;
        let plan = &told.plan;
        if told.scheme.bits() != plan.element_bits || told.scheme.parties() != told.parties {
            return Err(refused("its plan and its sharing are of different rings"));
        }
        if told.input_fraction > 62 || told.output_fraction.is_some_and(|bits| bits > 62) {
            return Err(refused("its fraction bits are more than numbers have"));
        }
        let mut given = 0;
        for input in &plan.inputs {
            input.check(told.input_fraction)?;
            given = sum(given, size(&input.shape)?)?;
        }
        let (mut opened, mut answered) = (0, 0);
        for output in &plan.outputs {
            let part = size(&output.revealed_shape)?;
            opened = opened.max(sum(output.start, part)?);
            answered = sum(answered, size(&output.shape)?)?;
        }
        let classes = match plan.opening.reveal.as_str() {
            "logits" | "probabilities" => None,
            reveal if reveal == "class" || reveal.starts_with("top-") => {
                let scores = plan.opening.scores.first();
                Some(
                    scores
                        .ok_or_else(|| refused("it opens classes of nothing"))?
                        .size,
                )
            }
            _ => return Err(refused("it opens what this client does not know")),
        };
        match (classes, told.output_fraction) {
            (None, None) => return Err(refused("it does not say where the answer's point is")),
            (Some(_), _) => answered = opened,
            (None, Some(_)) => plan.outputs.iter().try_for_each(Output::check)?,
        }
        if [given, opened, answered, told.max_items].contains(&0) {
            return Err(refused("it takes or gives nothing"));
        }
        Ok(Model {
            told,
            given,
            opened,
            answered,
            classes,
        })
    }

    /// How numbers are shared.
    pub fn scheme(&self) -> Scheme {
        self.told.scheme
    }

    /// Numbers of one item that are given.
    pub fn given_len(&self) -> usize {
        self.given
    }

    /// Numbers of one item of the answer.
    pub fn answer_len(&self) -> usize {
        self.answered
    }

    /// The integers that are shared of `x`, item after item, in each the numbers of every input in their
    /// order. What does not fit is refused, never clamped.
    pub fn encode(&self, x: &[f32]) -> Result<(usize, Vec<i64>), Refusal> {
        let (items, most) = (x.len() / self.given, self.told.max_items);
        if x.is_empty() || !x.len().is_multiple_of(self.given) {
            return Err(Refusal::Input(format!(
                "the input has {} numbers, and an item of this model has {}",
                x.len(),
                self.given
            )));
        }
        if items > most || x.len() > MOST {
            return Err(Refusal::Input(format!(
                "the input has {items} items, and a request here at most {most}"
            )));
        }
        let mut shared = Vec::with_capacity(x.len());
        for (item, row) in x.chunks(self.given).enumerate() {
            let mut rest = row;
            for input in &self.told.plan.inputs {
                let part;
                (part, rest) = rest.split_at(size(&input.shape)?);
                for (at, &value) in part.iter().enumerate() {
                    let encoded = input.encode(at, value, self.told.input_fraction);
                    let why = |why| {
                        let name = &input.name;
                        Refusal::Input(format!("number {at} of '{name}' in item {item} {why}"))
                    };
                    shared.push(encoded.map_err(why)?);
                }
                shared.extend(input.marks(part, self.told.input_fraction));
            }
        }
        Ok((items, shared))
    }

    /// The answer's numbers, item after item, of the integers that were opened: classes, or numbers of
    /// which the functions are computed that end the model.
    pub fn finish(&self, opened: &[i64]) -> Result<Vec<f32>, Refusal> {
        if let Some(classes) = self.classes {
            let beyond = |class: &&i64| !(0..classes as i64).contains(*class);
            return match opened.iter().find(beyond) {
                Some(&class) => Err(Refusal::Class { class, classes }),
                None => Ok(opened.iter().map(|&class| class as f32).collect()),
            };
        }
        let unit = f64::from(self.told.output_fraction.unwrap_or(0)).exp2();
        let values: Vec<f32> = opened.iter().map(|&v| (v as f64 / unit) as f32).collect();
        let of_item = |item: &[f32]| -> Vec<f32> {
            let outputs = self.told.plan.outputs.iter();
            let finished = outputs.flat_map(|output| {
                let end = output.start + output.revealed_shape.iter().product::<usize>();
                let mut part = item[output.start..end].to_vec();
                apply(&output.tail, &mut part);
                part
            });
            finished.collect()
        };
        Ok(values.chunks_exact(self.opened).flat_map(of_item).collect())
    }

    /// How many items `x` has, and a body for each party.
    pub fn split(&self, x: &[f32]) -> Result<(usize, Vec<Vec<u8>>), Refusal> {
        let (items, shared) = self.encode(x)?;
        Ok((items, self.told.scheme.split(&shared)?))
    }

    /// The answer of so many items, of one answer of every party.
    pub fn join(&self, items: usize, answers: &[&[u8]]) -> Result<Vec<f32>, Refusal> {
        let n = items.saturating_mul(self.opened);
        if !(1..=self.told.max_items).contains(&items) || n > MOST {
            return Err(Refusal::Input(format!("an answer has no {items} items")));
        }
        self.finish(&self.told.scheme.join(n, answers)?)
    }
}

impl Input {
    /// Refuses what is not shared as the numbers that are given.
    fn check(&self, fraction: u32) -> Result<(), Refusal> {
        let name = &self.name;
        if let Some(missing) = &self.missing {
            let in_order = missing.places.windows(2).all(|pair| pair[0] < pair[1]);
            let last = missing.places.last();
            let inside = last.is_some_and(|&last| size(&self.shape).is_ok_and(|n| last < n));
            let fits = missing.bits.saturating_add(fraction) < 62;
            if !in_order || !inside || !fits || self.kind != InputKind::Numbers {
                return Err(Refusal::Model(format!(
                    "what may be missing of its input '{name}' does not fit its numbers"
                )));
            }
        }
        match (self.kind, self.ranked) {
            (InputKind::Tokens { .. }, _) => Err(Refusal::Model(format!(
                "its input '{name}' takes tokens; ask with the Python package"
            ))),
            (_, true) => Err(Refusal::Model(format!(
                "its input '{name}' is shared as ranks; ask with the Python package"
            ))),
            _ => Ok(()),
        }
    }

    /// The marks of an item's numbers.
    fn marks(&self, part: &[f32], fraction: u32) -> impl Iterator<Item = i64> {
        let missing = self.missing.iter();
        missing.flat_map(move |missing| {
            let mark = f64::from(missing.bits + fraction).exp2() as i64;
            let of = move |&place: &usize| if part[place].is_nan() { mark } else { 0 };
            missing.places.iter().map(of)
        })
    }

    /// The integer of number `at`, or why there is none; the number is not told, which is secret.
    fn encode(&self, at: usize, value: f32, fraction: u32) -> Result<i64, String> {
        let category = self.limits.get(at).filter(|&&limit| limit > 0);
        if let Some(&limit) = category
            && !(value.fract() == 0.0 && value >= 0.0 && value < limit as f32)
        {
            return Err(format!("is not a whole number from 0 to {}", limit - 1));
        }
        let (holds, takes) = match self.kind {
            InputKind::Integers => (value.fract() == 0.0, "a whole number"),
            InputKind::Truths => (value == 0.0 || value == 1.0, "0 or 1"),
            _ => (true, "a number"),
        };
        if !holds {
            return Err(format!("is not {takes}"));
        }
        let places = self.missing.as_ref().map(|missing| &missing.places);
        if value.is_nan() && places.is_some_and(|places| places.binary_search(&at).is_ok()) {
            return Ok(0);
        }
        let unit = f64::from(fraction).exp2();
        let limit = self.limit as f64 / unit;
        // Written so that NaN is refused, too.
        match f64::from(value.abs()) <= limit {
            true => Ok((f64::from(value) * unit).round() as i64),
            false => Err(format!(
                "is not finite, or beyond the {limit} that the plan takes"
            )),
        }
    }
}

impl Output {
    /// Refuses functions that do not fit the part that they are computed of.
    fn check(&self) -> Result<(), Refusal> {
        let ended = (self.tail.iter()).try_fold(size(&self.revealed_shape)?, |len, step| {
            step.after(len).ok_or(())
        });
        match ended == Ok(size(&self.shape)?) {
            true => Ok(()),
            false => Err(Refusal::Model(format!(
                "its output '{}' has another shape than what is opened of it",
                self.name
            ))),
        }
    }
}

/// The numbers of a shape.
fn size(shape: &[usize]) -> Result<usize, Refusal> {
    let product = (shape.iter()).try_fold(1usize, |all, &axis| all.checked_mul(axis));
    sum(product.unwrap_or(usize::MAX), 0)
}

fn sum(a: usize, b: usize) -> Result<usize, Refusal> {
    match a.checked_add(b) {
        Some(all) if all <= MOST => Ok(all),
        _ => Err(Refusal::Model("its shapes are too large".into())),
    }
}

#[cfg(test)]
mod tests;
