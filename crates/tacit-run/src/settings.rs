//! How a run is carried out: read and checked once, then only used.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::time::Duration;

use serde::{Deserialize, Deserializer, de};
use serde_json::{Map, Value};
use tacit_net::LinkModel;
use tacit_nn::plan::{MODULI, Modulus, Roles};
use tacit_protocols::machine::Audience;

use crate::instance::Instance;
use crate::protocol::named;
use crate::systems::Values;
use crate::{Error, PartyName, Protocol, options, protocols};

/// Links of a latency and a rate that are emulated between the parties, with the name that they were chosen by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmulatedNetwork {
    /// `local`, `lan`, `wan`, or a round trip and a rate.
    pub name: String,
    /// The latency and the rate that are emulated.
    pub link: LinkModel,
}

impl EmulatedNetwork {
    /// Reads a name as [`LinkModel::parse`] does.
    pub fn parse(text: &str) -> Result<Self, Error> {
        Ok(EmulatedNetwork {
            name: text.trim().to_ascii_lowercase(),
            link: LinkModel::parse(text)?,
        })
    }

    /// The time that so many hops and bytes take at least: `rounds * rtt / 2 + bytes / rate`.
    pub(crate) fn seconds(&self, rounds: u32, bytes: u64) -> f64 {
        let transfer = self
            .link
            .rate
            .map_or(0.0, |rate| 8.0 * bytes as f64 / rate as f64);
        f64::from(rounds) * self.link.rtt.as_secs_f64() / 2.0 + transfer
    }
}

/// How a run is carried out. Deserialises from a map with these keys and those of the protocol's
/// options, all of them optional; unknown keys and values are errors that list the known ones.
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// The protocol; by default the first of [`protocols`].
    pub protocol: &'static Protocol,
    /// The number of parties; the fewest that the protocol runs between if not given.
    pub parties: Option<usize>,
    /// The network to emulate.
    #[serde(deserialize_with = "network")]
    pub network: EmulatedNetwork,
    /// Items predicted at a time; chosen from the model's size if not given.
    pub batch: Option<NonZeroUsize>,
    /// How long a peer may be silent, in seconds.
    #[serde(deserialize_with = "seconds")]
    pub timeout: Duration,
    /// The party that knows the weights; 0 if not given.
    pub model_owner: Option<PartyName>,
    /// The party that knows the inputs and learns the outputs; 1 (0 if alone) if not given.
    pub data_owner: Option<PartyName>,
    /// The options that are given, of whatever protocol: they are read when a run begins.
    #[serde(flatten, deserialize_with = "of_protocols")]
    pub options: Map<String, Value>,
}

/// The keys of [`Settings`] that are no protocol's.
const KEYS: [&str; 7] = [
    "protocol",
    "parties",
    "network",
    "batch",
    "timeout",
    "model_owner",
    "data_owner",
];

impl Default for Settings {
    fn default() -> Self {
        Settings {
            protocol: &protocols()[0],
            parties: None,
            network: EmulatedNetwork {
                name: "local".into(),
                link: LinkModel::LOCAL,
            },
            batch: None,
            timeout: Duration::from_secs(120),
            model_owner: None,
            data_owner: None,
            options: Map::new(),
        }
    }
}

impl Settings {
    /// Reads JSON; see [`Settings`].
    pub fn from_json(text: &str) -> Result<Self, Error> {
        options::read("settings", text)
    }

    /// Refuses what the protocol does not have: a number of parties, an option or a value of one.
    pub fn check(&self) -> Result<(), Error> {
        Instance::new(self, None).map(drop)
    }

    /// What is asked for of an option of the protocol, or its default.
    pub(crate) fn option<T>(&self, key: &str, values: &impl Values<T>) -> Result<T, Error> {
        match self.options.get(key) {
            Some(given) => values.read(self.protocol.name, key, given),
            None => Ok(values.default()),
        }
    }

    /// Refuses settings that only predictions have.
    pub fn check_no_prediction(&self, what: &str) -> Result<(), Error> {
        let why = |instead: &str| Err(Error::setting(what, format!("{instead}; leave it out")));
        match (self.batch, &self.data_owner) {
            (Some(_), _) => why("'batch' in the settings of the run is of predictions"),
            (_, Some(_)) => why("'data_owner' is of predictions"),
            _ => Ok(()),
        }
    }

    /// Who owns what among so many parties.
    pub fn roles(&self, parties: usize) -> Result<Roles, Error> {
        let number = |what: &str, name: &Option<PartyName>, default: usize| {
            let chosen = name.as_ref();
            chosen.map_or(Ok(default), |name| {
                name.number(what, self.protocol, parties)
            })
        };
        let last = parties.saturating_sub(1);
        let data_owner = number("data_owner", &self.data_owner, last.min(1))?;
        Ok(Roles {
            model_owner: number("model_owner", &self.model_owner, 0)?,
            data_owner,
            receiver: Audience::One(data_owner),
        })
    }
}

/// The width of numbers that a ring's or a field's number of bits asks for, if any does.
pub fn asked_width(ring: Option<u32>, field: Option<u32>) -> Result<Option<u32>, Error> {
    let (what, bits) = match (ring, field) {
        (None, None) => return Ok(None),
        (Some(bits), None) => ("ring", bits),
        (None, Some(bits)) => ("field", bits),
        (Some(_), Some(_)) => {
            let why = "a run computes in one of them; give one or none";
            return Err(Error::setting("ring and field", why));
        }
    };
    let of_kind = MODULI
        .into_iter()
        .filter(|modulus| modulus.kind() == what)
        .map(Modulus::bits);
    if of_kind.clone().any(|width| width == bits) {
        return Ok(Some(bits));
    }
    let known: Vec<_> = of_kind.map(|width| width.to_string()).collect();
    Err(Error::setting(
        format!("{what} of {bits} bits"),
        format!("{what}s have {} bits", known.join(" or ")),
    ))
}

/// The options that any protocol has, as far as they are given. Who has which of their values is
/// another matter.
fn of_protocols<'de, D: Deserializer<'de>>(from: D) -> Result<Map<String, Value>, D::Error> {
    let all = protocols().iter().flat_map(|protocol| (protocol.options)());
    let mut known: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for option in all {
        known.entry(option.key).or_default().extend(option.choices);
    }
    let mut given = Map::<String, Value>::deserialize(from)?;
    given.retain(|_, value| !value.is_null());
    for (key, value) in &given {
        let Some(names) = known.get_mut(key.as_str()) else {
            let keys = KEYS.into_iter().chain(known.into_keys());
            let keys: Vec<_> = keys.map(|key| format!("`{key}`")).collect();
            return Err(de::Error::custom(format!(
                "unknown field `{}`, expected one of {}",
                key.escape_debug(),
                keys.join(", ")
            )));
        };
        if let (Some(text), false) = (value.as_str(), names.is_empty()) {
            let mut seen = BTreeSet::new();
            names.retain(|name| seen.insert(*name));
            let each = names.iter().map(|name| (*name, ()));
            named(key, each, text).map_err(de::Error::custom)?;
        }
    }
    Ok(given)
}

fn network<'de, D: Deserializer<'de>>(from: D) -> Result<EmulatedNetwork, D::Error> {
    EmulatedNetwork::parse(&String::deserialize(from)?).map_err(de::Error::custom)
}

/// A positive number of seconds, up to a year.
pub(crate) fn seconds<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    let seconds = f64::deserialize(from)?;
    if (0.001..=366.0 * 86400.0).contains(&seconds) {
        return Ok(Duration::from_secs_f64(seconds));
    }
    Err(de::Error::custom(format!(
        "{seconds} is no time limit; give seconds from 0.001 to 31622400"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(json: &str) -> String {
        Settings::from_json(json).expect_err("refused").to_string()
    }

    #[test]
    fn defaults_and_values() {
        let settings = Settings::from_json("{}").expect("all optional");
        assert_eq!(settings.protocol.name, "falcon");
        let settings = Settings::from_json(
            r#"{"protocol": "clear", "sharing": null, "truncation": "aby3", "network": "0.6ms,1000Mbps", "batch": 3}"#,
        )
        .expect("valid");
        assert_eq!(settings.protocol.name, "clear");
        assert!(settings.options.keys().eq(["truncation"]), "null is none");
        assert_eq!(settings.network.link.rate, Some(1_000_000_000));
        assert!((settings.network.seconds(10, 125_000_000) - 1.003).abs() < 1e-9);
    }

    #[test]
    fn unknown_things_are_refused_with_the_known() {
        assert!(
            refused(r#"{"protocol": "falkon"}"#).contains("falcon, bicoptor, shamir, sirnn, clear")
        );
        assert!(refused(r#"{"truncation": "no"}"#).contains("gap, exact, aby3, secureml"));
        assert!(
            refused(r#"{"comparison": "bush"}"#)
                .contains("auto, adder, falcon, bicoptor, tree, rot")
        );
        assert!(refused(r#"{"opening": "queen"}"#).contains("auto, king, direct"));
        assert!(refused(r#"{"network": "moon"}"#).contains("local, lan, wan"));
        assert!(refused(r#"{"batch": 0}"#).contains("of at least 1"));
        assert!(refused(r#"{"timeout": -1}"#).contains("no time limit"));
        let error = refused(r#"{"bach": 1}"#);
        for key in KEYS.into_iter().chain(["threshold", "ot"]) {
            assert!(error.contains(&format!("`{key}`")), "{error}");
        }
    }

    #[test]
    fn what_is_listed_as_known_is() {
        for key in KEYS {
            let ended = Settings::from_json(&format!(r#"{{"{key}": []}}"#)).map(drop);
            let error = ended.expect_err("no list").to_string();
            assert!(!error.contains("unknown field"), "{error}");
        }
    }

    #[test]
    fn rings_and_fields_are_told_apart() {
        assert_eq!(asked_width(None, None).expect("none"), None);
        assert_eq!(asked_width(Some(32), None).expect("a ring"), Some(32));
        assert_eq!(asked_width(None, Some(61)).expect("a field"), Some(61));
        for (ring, field, why) in [
            (Some(31), None, "ring of 31 bits: rings have 32 or 64 bits"),
            (
                None,
                Some(64),
                "field of 64 bits: fields have 31 or 61 bits",
            ),
            (Some(64), Some(61), "give one or none"),
        ] {
            let error = asked_width(ring, field).expect_err("refused").to_string();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn roles_are_parties() {
        let roles = Settings::default().roles(3).expect("three parties");
        assert_eq!((roles.model_owner, roles.data_owner), (0, 1));
        let roles = Settings::default().roles(1).expect("one party");
        assert_eq!((roles.model_owner, roles.data_owner), (0, 0));
        let settings = Settings {
            data_owner: Some(PartyName::Number(3)),
            ..Settings::default()
        };
        let error = settings.roles(3).expect_err("there is no party 3");
        assert!(error.to_string().contains("data_owner: 3"), "{error}");
    }
}
