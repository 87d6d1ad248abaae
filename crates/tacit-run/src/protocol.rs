//! A protocol as users choose it, and one choice of it with everything settled.

use std::ops::RangeInclusive;

use tacit_net::LinkModel;
use tacit_nn::plan::{KeyBitsChoice, is_field, numbers};
use tacit_protocols::Truncation;
use tacit_protocols::bicoptor::Form;
use tacit_protocols::falcon::Security;
use tacit_protocols::shamir::{Comparison, Opening};
use tacit_sirnn::ot::Kind;

use crate::named::{Named, Sharing, TRANSFERS};
use crate::{Error, Settings, protocols};

/// A protocol, as users choose it.
#[derive(Debug)]
pub struct Protocol {
    /// Its name.
    pub name: &'static str,
    /// How many parties may run it; the fewest are the default.
    pub parties: RangeInclusive<usize>,
    /// What its parties are called, by their numbers; empty where they have numbers only.
    pub roles: &'static [&'static str],
    /// What it protects against, in words, between so many parties of which at most a threshold
    /// is corrupt.
    pub security: fn(parties: usize, threshold: usize) -> String,
    /// What it protects against when it is secure against parties that deviate, where it can be.
    pub malicious: Option<&'static str>,
    /// The rings of 32 and 64 bits and the prime fields of 31 and 61 that it computes in; the last
    /// is the default.
    pub widths: &'static [u32],
    /// The truncations that it has, where they are chosen.
    pub truncations: &'static [Truncation],
    /// Its only truncation, where it has one of its own and the setting does not matter.
    pub own_truncation: Option<OwnTruncation>,
    /// Whether the number of parties that may be corrupt is chosen.
    pub threshold: bool,
    /// Whether the comparison and the opening are chosen.
    pub variants: bool,
    /// Whether the sharing is chosen.
    pub sharings: bool,
    /// Whether it is made of oblivious transfers, whose making is chosen.
    pub transfers: bool,
    /// Whether signs cost less where they are taken from fewer bits.
    pub key_bits: bool,
    /// Whether tensors cost less by having widths of their own.
    pub mixed: bool,
    /// Whether signs of 64-bit numbers can be taken in 32 bits, at half the cost.
    pub narrow_signs: bool,
}

/// A truncation that only one protocol has.
#[derive(Clone, Copy, Debug)]
pub struct OwnTruncation {
    /// Its name.
    pub name: &'static str,
    /// How far a result may be from the floor.
    pub error: u64,
}

/// How far a measured result may be from the floor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tolerance {
    /// Units in the last place.
    pub rounding: u64,
    /// Whether a rare large error is in the truncation's nature.
    pub large_errors: bool,
    /// Whether signs may be wrong.
    pub wrong_signs: bool,
}

impl Protocol {
    /// The protocol of this name, or an error that lists all names.
    pub fn of_name(name: &str) -> Result<&'static Self, Error> {
        Named::parse(name)
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

    /// The name of the truncation that a run with the setting `chosen` uses.
    pub(crate) fn truncation(&self, chosen: Truncation) -> &'static str {
        self.own_truncation.map_or(chosen.name(), |own| own.name)
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
                let names: Vec<_> = self.widths.iter().map(|&w| numbers(w)).collect();
                let bits: Vec<_> = self.widths.iter().map(u32::to_string).collect();
                let kind = match is_field(self.default_width()) {
                    true => "field",
                    false => "ring",
                };
                let why = format!(
                    "{} computes in the {}; ask for one by --{kind} {} or {kind}=, or for none",
                    self.name,
                    names.join(" or the "),
                    bits.join("|")
                );
                Err(Error::setting(numbers(width), why))
            }
        }
    }

    /// The number of parties that is asked for, or the fewest.
    fn party_count(&self, asked: Option<usize>) -> Result<usize, Error> {
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

    /// How many of the parties may be corrupt: as asked for, or as many as there may be.
    fn threshold(&self, parties: usize, asked: Option<usize>) -> Result<usize, Error> {
        let most = parties.saturating_sub(1) / 2;
        match asked {
            Some(asked) if !(1..=most).contains(&asked) => {
                let why = format!(
                    "{asked} of {parties} parties cannot be corrupt; choose 1 to {most}, always fewer than half"
                );
                Err(Error::setting("threshold", why))
            }
            Some(asked) => Ok(asked),
            None if self.threshold => Ok(most),
            None => Ok(0),
        }
    }

    /// Refuses the options that this protocol does not have: they would change nothing.
    fn check_choices(&self, settings: &Settings) -> Result<(), Error> {
        for choice in settings
            .choices()
            .into_iter()
            .filter(|choice| !choice.offered)
        {
            let Some(value) = choice.given else { continue };
            let what = format!("{} '{value}'", choice.name);
            return Err(match (choice.name, self.own_truncation) {
                ("security", _) => Error::setting(
                    what,
                    format!(
                        "{} protects against parties that follow the protocol only; choose falcon, or semi-honest",
                        self.name
                    ),
                ),
                ("truncation", Some(own)) => Error::setting(
                    what,
                    format!(
                        "{} has one of its own, '{}', and none to choose; leave it out",
                        self.name, own.name
                    ),
                ),
                _ => self.without(choice.name),
            });
        }
        Ok(())
    }

    fn check_truncation(&self, chosen: Truncation) -> Result<(), Error> {
        if self.own_truncation.is_some() || self.truncations.contains(&chosen) {
            return Ok(());
        }
        let names: Vec<_> = self.truncations.iter().map(|kind| kind.name()).collect();
        let why = format!("{} has {}; choose one of them", self.name, names.join(", "));
        Err(Error::setting(
            format!("truncation '{}'", chosen.name()),
            why,
        ))
    }

    /// Refuses key bits where they would change nothing.
    pub(crate) fn check_key_bits(&self, chosen: KeyBitsChoice) -> Result<(), Error> {
        if self.key_bits || chosen == KeyBitsChoice::Full {
            return Ok(());
        }
        let why = format!(
            "{} takes every sign exactly and has no key bits; leave it out",
            self.name
        );
        Err(Error::setting("key bits", why))
    }

    /// Refuses what Falcon's paper opens where the protocol is another.
    pub(crate) fn check_paper_leakage(&self) -> Result<(), Error> {
        match self.malicious {
            Some(_) => Ok(()),
            None => Err(self.without("paper's leakage")),
        }
    }

    /// Refuses a choice that this protocol does not offer.
    fn without(&self, what: &str) -> Error {
        let why = format!("{} has none to choose; leave it out", self.name);
        Error::setting(what, why)
    }
}

impl Named for &'static Protocol {
    const WHAT: &'static str = "protocol";

    fn known() -> impl Iterator<Item = (&'static str, Self)> {
        protocols().iter().map(|protocol| (protocol.name, protocol))
    }

    fn name(self) -> &'static str {
        self.name
    }
}

/// A protocol between so many parties over one ring or field, with its options.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Instance {
    pub protocol: &'static Protocol,
    /// Bits of the ring or field.
    pub width: u32,
    pub truncation: Truncation,
    /// Bits in which signs are taken, as the plan allows: 32, or all of them.
    pub compare_bits: u32,
    pub parties: usize,
    /// How many parties may be corrupt, for a protocol that lets it be chosen; else 0.
    pub threshold: usize,
    pub comparison: Comparison,
    pub opening: Opening,
    pub sharing: Sharing,
    pub ot: Kind,
    /// Of a comparison that was printed in a form that leaks: which form.
    pub form: Form,
    /// What corrupt parties may do.
    pub security: Security,
    /// The network, for a protocol that chooses by its latency.
    pub link: LinkModel,
}

impl Instance {
    /// Settles what the settings leave open and refuses what the protocol does not have.
    pub(crate) fn new(settings: &Settings, asked_width: Option<u32>) -> Result<Self, Error> {
        let protocol = settings.protocol;
        let width = protocol.width(asked_width)?;
        let parties = protocol.party_count(settings.parties)?;
        protocol.check_choices(settings)?;
        let truncation = settings.truncation.unwrap_or(Truncation::Gap);
        protocol.check_truncation(truncation)?;
        Ok(Instance {
            protocol,
            width,
            truncation,
            compare_bits: width,
            parties,
            threshold: protocol.threshold(parties, settings.threshold)?,
            comparison: settings.comparison.unwrap_or(Comparison::Auto),
            opening: settings.opening.unwrap_or(Opening::Auto),
            sharing: settings.sharing.unwrap_or(Sharing::Ubl),
            ot: settings.ot.unwrap_or(TRANSFERS[0].1),
            form: Form::Mended,
            security: settings.security.unwrap_or(Security::SemiHonest),
            link: settings.network.link,
        })
    }

    /// The same with signs taken in so many bits.
    pub(crate) fn comparing(self, compare_bits: u32) -> Self {
        Instance {
            compare_bits,
            ..self
        }
    }

    /// The same with the comparison as it was printed, for a protocol of which that is measured.
    pub(crate) fn as_printed_insecure(self) -> Result<Self, Error> {
        if !self.protocol.sharings {
            return Err(self.protocol.without("printed form"));
        }
        let form = Form::Printed;
        Ok(Instance { form, ..self })
    }

    /// What it protects against, in words.
    pub(crate) fn security(&self) -> String {
        match (self.security, self.protocol.malicious) {
            (Security::Malicious, Some(words)) => words.into(),
            _ => (self.protocol.security)(self.parties, self.threshold),
        }
    }

    /// The name of its truncation.
    pub(crate) fn truncation_name(&self) -> &'static str {
        self.protocol.truncation(self.truncation)
    }

    /// How far a result of its truncation may be from the floor.
    pub(crate) fn tolerance(&self) -> Tolerance {
        match self.protocol.own_truncation {
            Some(own) => Tolerance {
                rounding: own.error,
                large_errors: false,
                wrong_signs: false,
            },
            None => Tolerance {
                rounding: u64::from(self.truncation != Truncation::Exact),
                large_errors: matches!(self.truncation, Truncation::Aby3 | Truncation::SecureMl),
                wrong_signs: self.form == Form::Printed,
            },
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    static CHOOSY: Protocol = Protocol {
        name: "choosy",
        parties: 3..=63,
        roles: &[],
        security: |parties, threshold| format!("up to {threshold} of {parties}"),
        malicious: None,
        widths: &[31, 61],
        truncations: &[],
        own_truncation: Some(OwnTruncation {
            name: "own",
            error: 2,
        }),
        threshold: true,
        variants: true,
        sharings: false,
        transfers: false,
        key_bits: true,
        mixed: false,
        narrow_signs: false,
    };

    /// Settings of a protocol with everything to choose.
    pub(crate) fn choosy(json: &str) -> Settings {
        Settings {
            protocol: &CHOOSY,
            ..Settings::from_json(json).unwrap_or_else(|e| panic!("{e}"))
        }
    }

    #[test]
    fn what_is_left_open_is_settled() {
        let instance = Instance::new(&choosy("{}"), None).expect("valid");
        assert_eq!((instance.width, instance.compare_bits), (61, 61));
        assert_eq!((instance.parties, instance.threshold), (3, 1));
        for (parties, threshold) in [(4, 1), (7, 3), (62, 30), (63, 31)] {
            let settings = choosy(&format!(r#"{{"parties": {parties}}}"#));
            let instance = Instance::new(&settings, Some(31)).expect("valid");
            assert_eq!((instance.width, instance.threshold), (31, threshold));
            assert_eq!(
                instance.security(),
                format!("up to {threshold} of {parties}")
            );
        }
        let chosen = r#"{"parties": 7, "threshold": 2, "comparison": "rot", "opening": "king"}"#;
        let instance = Instance::new(&choosy(chosen), None).expect("valid");
        assert_eq!(instance.threshold, 2);
        assert_eq!(instance.comparison, Comparison::Rot);
        assert_eq!(instance.opening, Opening::King);
        assert_eq!(instance.tolerance().rounding, 2);
    }

    #[test]
    fn what_a_protocol_does_not_have_is_refused() {
        let refused = |settings: Settings, width| {
            let error = Instance::new(&settings, width).expect_err("refused");
            error.to_string()
        };
        for (json, why) in [
            (
                r#"{"parties": 2}"#,
                "choosy runs between 3 to 63 parties, not 2",
            ),
            (r#"{"parties": 64}"#, "3 to 63"),
            (r#"{"parties": 7, "threshold": 4}"#, "choose 1 to 3"),
            (r#"{"threshold": 0}"#, "0 of 3 parties"),
        ] {
            let error = refused(choosy(json), None);
            assert!(error.contains(why), "{error}");
        }
        let error = refused(choosy("{}"), Some(64));
        assert!(error.starts_with("64-bit ring: choosy computes in the 31-bit field"));
        assert!(error.contains("--field 31|61"), "{error}");
        for (json, why) in [
            (r#"{"parties": 5}"#, "falcon runs between 3 parties, not 5"),
            (r#"{"threshold": 1}"#, "threshold: falcon has none"),
            (r#"{"comparison": "tree"}"#, "comparison: falcon has none"),
            (r#"{"opening": "direct"}"#, "opening: falcon has none"),
        ] {
            let settings = Settings::from_json(json).expect("valid by itself");
            let error = refused(settings, None);
            assert!(error.contains(why), "{error}");
        }
        let error = refused(Settings::default(), Some(61));
        assert!(error.contains("--ring 32|64"), "{error}");
        let auto = KeyBitsChoice::Auto { loss: 0.1 };
        let error = Settings::default().protocol.check_key_bits(auto);
        let error = error.expect_err("refused").to_string();
        assert_eq!(
            error,
            "key bits: falcon takes every sign exactly and has no key bits; leave it out"
        );
        assert!(CHOOSY.check_key_bits(auto).is_ok());
    }
}
