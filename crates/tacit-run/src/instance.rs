//! One choice of a protocol, with everything chosen.

use serde_json::Value;
use tacit_net::LinkModel;

use crate::protocol::text;
use crate::systems::Chosen;
use crate::{Error, Protocol, Settings};

/// How far a measured result may be from the floor.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tolerance {
    /// Units in the last place.
    pub rounding: u64,
    /// Whether a rare large error is in the truncation's nature.
    pub large_errors: bool,
    /// Whether signs may be wrong.
    pub wrong_signs: bool,
}

/// Options that every protocol has or says something about, so that reports and agreements have them
/// of all.
const OF_ALL: [&str; 2] = ["security", TRUNCATION];

const TRUNCATION: &str = "truncation";

/// The bytes in which parties that are threads of one process make correlated randomness at a time, all
/// together. The process takes several times as much: what is made meets what is computed with it.
const TOGETHER: u64 = 32 << 20;
/// The bytes of a portion of material at a party in a process of its own, where each portion more is rounds on a
/// network.
pub(crate) const APART: u64 = 256 << 20;

/// A protocol between so many parties over one ring or field, with its options.
#[derive(Clone, Copy, Debug)]
pub struct Instance {
    /// The protocol.
    pub protocol: &'static Protocol,
    /// Bits of the ring or field.
    pub width: u32,
    /// Bits in which signs are taken, as the plan allows: fewer, or all of them.
    pub(crate) compare_bits: u32,
    /// How many parties there are.
    pub parties: usize,
    /// The protocol's options.
    pub(crate) options: Chosen,
    /// Whether the comparison is as its paper prints it, which leaks.
    pub as_printed: bool,
    /// The network, for a protocol that chooses by its latency.
    pub link: LinkModel,
}

impl Instance {
    /// Settles what the settings leave open and refuses what the protocol does not have.
    pub fn new(settings: &Settings, asked_width: Option<u32>) -> Result<Self, Error> {
        let protocol = settings.protocol;
        let width = protocol.width(asked_width)?;
        let parties = protocol.party_count(settings.parties)?;
        protocol.check_options(settings)?;
        Ok(Instance {
            protocol,
            width,
            compare_bits: width,
            parties,
            options: Chosen::new(settings, parties)?,
            as_printed: false,
            link: settings.network.link,
        })
    }

    /// How many bytes of correlated randomness a party that is a thread makes at a time. Where a
    /// network is emulated it makes as many as a party apart, so that it takes as long.
    pub(crate) fn portion_bytes(&self) -> u64 {
        match self.link == LinkModel::LOCAL {
            true => TOGETHER / self.parties.max(1) as u64,
            false => APART,
        }
    }

    /// This instance with signs taken in `compare_bits` bits.
    pub(crate) fn comparing(self, compare_bits: u32) -> Self {
        Instance {
            compare_bits,
            ..self
        }
    }

    /// This instance with the comparison as its paper prints it, which leaks. Refused for a protocol
    /// without such a form.
    pub fn as_printed_insecure(self) -> Result<Self, Error> {
        match self.protocol.printed_form {
            true => Ok(Instance {
                as_printed: true,
                ..self
            }),
            false => Err(self.protocol.without("printed form")),
        }
    }

    /// The security of the protocol, in words.
    pub(crate) fn security(&self) -> String {
        self.options.security(self.parties)
    }

    /// The name of its truncation.
    pub(crate) fn truncation(&self) -> String {
        let values = self.options.values();
        let chosen = values.iter().find(|(key, _)| *key == TRUNCATION);
        let own = || self.protocol.own(TRUNCATION).unwrap_or_default().into();
        chosen.map_or_else(own, |(_, value)| text(value))
    }

    /// The protocol's options and their values, but for the truncation and the security, which every
    /// protocol has.
    pub(crate) fn choices(&self) -> Vec<(&'static str, Value)> {
        let mut values = self.options.values();
        values.retain(|(key, _)| !OF_ALL.contains(key));
        values
    }

    /// How far a result may be from the floor.
    pub fn tolerance(&self) -> Tolerance {
        Tolerance {
            wrong_signs: self.as_printed,
            ..self.options.tolerance()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocols;
    use serde_json::json;
    use tacit_nn::plan::KeyBitsChoice;

    fn settings(json: &str) -> Settings {
        Settings::from_json(json).unwrap_or_else(|e| panic!("{e}"))
    }

    fn shamir(options: &str) -> Settings {
        settings(&format!(r#"{{"protocol": "shamir"{options}}}"#))
    }

    #[test]
    fn what_is_left_open_is_chosen() {
        let instance = Instance::new(&shamir(""), None).expect("valid");
        assert_eq!((instance.width, instance.compare_bits), (61, 61));
        assert_eq!(instance.tolerance().rounding, 2);
        for (parties, threshold) in [(3, 1), (4, 1), (7, 3), (62, 30), (63, 31)] {
            let settings = shamir(&format!(r#", "parties": {parties}"#));
            let instance = Instance::new(&settings, Some(31)).expect("valid");
            assert_eq!((instance.width, instance.parties), (31, parties));
            let (key, value) = instance.choices().swap_remove(0);
            assert_eq!((key, value), ("threshold", threshold.into()));
            assert!(
                instance
                    .security()
                    .contains(&format!("up to {threshold} of {parties}"))
            );
        }
        let chosen = r#", "parties": 7, "threshold": 2, "comparison": "rot", "opening": "king""#;
        let instance = Instance::new(&shamir(chosen), None).expect("valid");
        let values = [json!(2), json!("rot"), json!("king")];
        assert!(instance.choices().into_iter().map(|(_, v)| v).eq(values));
    }

    #[test]
    fn what_a_protocol_does_not_have_is_refused() {
        let refused = |settings: &Settings, width| {
            let error = Instance::new(settings, width).expect_err("refused");
            error.to_string()
        };
        for (options, why) in [
            (
                r#", "parties": 2"#,
                "shamir runs between 3 to 63 parties, not 2",
            ),
            (r#", "parties": 64"#, "3 to 63"),
            (r#", "parties": 7, "threshold": 4"#, "choose 1 to 3"),
            (r#", "threshold": 0"#, "0 of 3 parties"),
            (
                r#", "threshold": "two""#,
                "threshold: invalid type: string \"two\", expected a whole number",
            ),
            (
                r#", "truncation": "gap""#,
                "truncation 'gap': shamir has one of its own, 'unbiased', and none to choose; leave it out",
            ),
            (
                r#", "security": "malicious""#,
                "security 'malicious': shamir has 'semi-honest' only; choose falcon, or semi-honest",
            ),
        ] {
            let error = refused(&shamir(options), None);
            assert!(error.contains(why), "{error}");
        }
        let error = refused(&shamir(""), Some(64));
        assert!(error.starts_with("64-bit ring: shamir computes in the 31-bit field"));
        assert!(error.contains("--field 31|61"), "{error}");
        for (json, why) in [
            (r#"{"parties": 5}"#, "falcon runs between 3 parties, not 5"),
            (r#"{"threshold": 1}"#, "threshold: falcon has none"),
            (
                r#"{"comparison": "tree"}"#,
                "comparison 'tree': falcon has auto, adder, falcon; choose one of them",
            ),
            (
                r#"{"protocol": "bicoptor", "comparison": "tree"}"#,
                "comparison 'tree': bicoptor has auto, adder, bicoptor; choose one of them",
            ),
            (r#"{"opening": "direct"}"#, "opening: falcon has none"),
            (r#"{"sharing": 5}"#, "sharing: falcon has none"),
            (
                r#"{"truncation": "secureml"}"#,
                "truncation 'secureml': falcon has gap, exact, aby3; choose one of them",
            ),
        ] {
            let error = refused(&settings(json), None);
            assert!(error.contains(why), "{error}");
        }
        let error = refused(&Settings::default(), Some(61));
        assert!(error.contains("--ring 32|64"), "{error}");
        let auto = KeyBitsChoice::Auto { loss: 0.1 };
        let error = Settings::default().protocol.check_key_bits(auto);
        let error = error.expect_err("refused").to_string();
        assert_eq!(
            error,
            "key bits: falcon takes every sign exactly and has no key bits; leave it out"
        );
        let bicoptor = Protocol::of_name("bicoptor").expect("known");
        assert!(bicoptor.check_key_bits(auto).is_ok());
    }

    #[test]
    fn what_every_protocol_does_may_be_asked_of_it() {
        for protocol in protocols() {
            let name = protocol.name;
            let options = r#""comparison": "auto", "opening": "auto", "security": "semi-honest""#;
            let asked = settings(&format!(r#"{{"protocol": "{name}", {options}}}"#));
            assert!(Instance::new(&asked, None).is_ok(), "{name}");
        }
    }
}
