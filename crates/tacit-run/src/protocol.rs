//! A protocol, as users choose it.

use std::ops::RangeInclusive;

use serde::{Deserialize, Deserializer, de};
use serde_json::Value;
use tacit_nn::plan::{KeyBitsChoice, Modulus};
use tacit_protocols::signs::Signs;

use crate::{Error, OptionSpec, Settings, protocols};

/// A protocol, as users choose it.
#[derive(Debug)]
pub struct Protocol {
    /// The protocol's name.
    pub name: &'static str,
    /// How many parties may run it; the fewest are the default.
    pub parties: RangeInclusive<usize>,
    /// The names of the protocol's parties, by their numbers; empty where they have numbers only.
    pub roles: &'static [&'static str],
    /// The rings of 32 and 64 bits and the prime fields of 31 and 61 that it computes in; the last
    /// is the default.
    pub widths: &'static [u32],
    /// The options that users can choose.
    pub options: fn() -> Vec<OptionSpec>,
    /// The fixed values that it has for options of other protocols: keys and values.
    pub own: &'static [(&'static str, &'static str)],
    /// What the protocol answers planners about signs that cost less.
    pub signs: Signs,
    /// Whether tensors cost less by having widths of their own.
    pub mixed: bool,
    /// Whether the protocol's comparison can be measured as its paper prints it.
    pub printed_form: bool,
    /// Whether functions can be measured that open what they do in its paper.
    pub paper_leakage: bool,
}

impl Protocol {
    /// A protocol over rings without anything of its own.
    pub(crate) const PLAIN: Protocol = Protocol {
        name: "",
        parties: 0..=0,
        roles: &[],
        widths: &[32, 64],
        options: Vec::new,
        own: &[],
        signs: Signs {
            key_bits: None,
            narrow: None,
        },
        mixed: false,
        printed_form: false,
        paper_leakage: false,
    };

    /// The protocol of this name, or an error that lists all names.
    pub fn of_name(name: &str) -> Result<&'static Self, Error> {
        let all = protocols().iter().map(|protocol| (protocol.name, protocol));
        named("protocol", all, name)
    }

    /// A name for a party, also of its folder: its role, or `party3`.
    pub(crate) fn party_name(&self, party: usize) -> String {
        match self.roles.get(party) {
            Some(role) => (*role).into(),
            None => format!("party{party}"),
        }
    }

    /// A party in a sentence: `party 1`, or `party 1 (client)`.
    pub(crate) fn party_words(&self, party: usize) -> String {
        match self.roles.get(party) {
            Some(role) => format!("party {party} ({role})"),
            None => format!("party {party}"),
        }
    }

    /// The width that it computes in unless another is asked for.
    pub fn default_width(&self) -> u32 {
        self.widths.last().copied().unwrap_or_default()
    }

    /// The width that is asked for, or the default; one that it does not have is refused.
    pub(crate) fn width(&self, asked: Option<u32>) -> Result<u32, Error> {
        match asked {
            None => Ok(self.default_width()),
            Some(width) if self.widths.contains(&width) => Ok(width),
            Some(width) => {
                let names: Vec<_> = self
                    .widths
                    .iter()
                    .map(|&w| Modulus::of_bits(w).to_string())
                    .collect();
                let bits: Vec<_> = self.widths.iter().map(u32::to_string).collect();
                let kind = Modulus::of_bits(self.default_width()).kind();
                let why = format!(
                    "{} computes in the {}; ask for one by --{kind} {} or {kind}=, or for none",
                    self.name,
                    names.join(" or the "),
                    bits.join("|")
                );
                Err(Error::setting(Modulus::of_bits(width).to_string(), why))
            }
        }
    }

    /// The number of parties that is asked for, or the fewest.
    pub(crate) fn party_count(&self, asked: Option<usize>) -> Result<usize, Error> {
        let (fewest, most) = (*self.parties.start(), *self.parties.end());
        let parties = asked.unwrap_or(fewest);
        if self.parties.contains(&parties) {
            return Ok(parties);
        }
        let range = match fewest == most {
            true => fewest.to_string(),
            false => format!("{fewest} to {most}"),
        };
        let why = format!("{} runs between {range} parties, not {parties}", self.name);
        Err(Error::setting("parties", why))
    }

    /// The fixed value that it has for an option of other protocols.
    pub(crate) fn own(&self, key: &str) -> Option<&'static str> {
        let found = self.own.iter().find(|(known, _)| *known == key);
        found.map(|(_, value)| *value)
    }

    /// Refuses the options that this protocol does not have: they would change nothing.
    pub(crate) fn check_options(&self, settings: &Settings) -> Result<(), Error> {
        let known = (self.options)();
        let given = settings.options.iter();
        let mut others = given.filter(|(key, _)| known.iter().all(|option| option.key != *key));
        others.try_for_each(|(key, value)| match (value.as_str(), self.own(key)) {
            // It leaves the choice to the protocol, which has none to make.
            (Some("auto"), _) => Ok(()),
            (given, own) if own.is_some() && given == own => Ok(()),
            (_, own) => Err(self.has_no(key, value, own)),
        })
    }

    /// The error of an option of other protocols.
    fn has_no(&self, key: &str, value: &Value, own: Option<&str>) -> Error {
        let Some(own) = own else {
            return self.without(key);
        };
        let has = |protocol: &&Protocol| {
            let options = (protocol.options)();
            let mut same = options.iter().filter(|option| option.key == key);
            same.any(|option| option.choices.contains(&own))
        };
        let having: Vec<_> = protocols().iter().filter(has).map(|p| p.name).collect();
        let why = match having.is_empty() {
            true => format!("one of its own, '{own}', and none to choose; leave it out"),
            false => format!("'{own}' only; choose {}, or {own}", having.join(" or ")),
        };
        let what = format!("{key} '{}'", text(value).escape_debug());
        Error::setting(what, format!("{} has {why}", self.name))
    }

    /// Refuses key bits where they would change nothing.
    pub fn check_key_bits(&self, chosen: KeyBitsChoice) -> Result<(), Error> {
        if self.signs.key_bits.is_some() || chosen == KeyBitsChoice::Full {
            return Ok(());
        }
        let why = format!(
            "{} takes every sign exactly and has no key bits; leave it out",
            self.name
        );
        Err(Error::setting("key bits", why))
    }

    /// Refuses to open what Falcon's paper opens, on a protocol that does not do so.
    pub fn check_paper_leakage(&self) -> Result<(), Error> {
        match self.paper_leakage {
            true => Ok(()),
            false => Err(self.without("paper's leakage")),
        }
    }

    /// Refuses a choice that this protocol does not offer.
    pub(crate) fn without(&self, what: &str) -> Error {
        let why = format!("{} has none to choose; leave it out", self.name);
        Error::setting(what, why)
    }
}

/// Reads a protocol by its name.
impl<'de> Deserialize<'de> for &'static Protocol {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Protocol::of_name(&String::deserialize(from)?).map_err(de::Error::custom)
    }
}

/// The element of `all` with this name, or an error that lists all names; `what` says what they name.
pub fn named<'a, T>(
    what: &str,
    known: impl Iterator<Item = (&'a str, T)>,
    name: &str,
) -> Result<T, Error> {
    let mut names = Vec::new();
    for (known, thing) in known {
        if known == name {
            return Ok(thing);
        }
        names.push(known);
    }
    Err(Error::setting(
        format!("{what} '{}'", name.escape_debug()),
        format!("it is not known; choose one of {}", names.join(", ")),
    ))
}

/// An option's value in words.
pub(crate) fn text(value: &Value) -> String {
    value.as_str().map_or(value.to_string(), str::to_owned)
}
