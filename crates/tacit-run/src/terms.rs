//! What all parties must agree on before they start.

use std::num::NonZeroUsize;
use std::time::Duration;

use tacit_nn::plan::{MAX_ITEM_BYTES, Modulus, Order, Reveal, Roles};

use crate::instance::Instance;
use crate::protocol::text;
use crate::settings::EmulatedNetwork;
use crate::{Error, Settings};

/// The terms of a run, as far as they are known before there is a plan.
#[derive(Clone, Debug)]
pub(crate) struct Terms {
    pub instance: Instance,
    pub order: Order,
    pub public_model: bool,
    pub network: EmulatedNetwork,
    pub roles: Roles,
    pub batch: Option<NonZeroUsize>,
    /// The fraction bits that this party insists on, if it does.
    pub fraction_bits: Option<u32>,
    /// The number of inputs that this party insists on, if it does.
    pub inputs: Option<usize>,
    /// The most memory that this party spends on one item.
    pub item_bytes: u64,
    /// The bytes of a portion of material, that is of correlated randomness: what a party makes at a time.
    pub portion_bytes: u64,
    /// What the plan may open, if this party insists on it.
    pub reveal: Option<Reveal>,
    /// How long a party may be silent, if the parties stay up for more than one prediction.
    pub stays: Option<Duration>,
}

impl Terms {
    /// The terms of a run with these settings, over the width that is asked for or the protocol's
    /// own. Nobody insists on fraction bits, inputs or what is revealed.
    pub(crate) fn new(
        settings: &Settings,
        asked_width: Option<u32>,
        order: Order,
        public_model: bool,
    ) -> Result<Self, Error> {
        let instance = Instance::new(settings, asked_width)?;
        Ok(Terms {
            instance,
            order,
            public_model,
            network: settings.network.clone(),
            roles: settings.roles(instance.parties)?,
            batch: settings.batch,
            fraction_bits: None,
            inputs: None,
            item_bytes: MAX_ITEM_BYTES,
            portion_bytes: instance.portion_bytes(),
            reveal: None,
            stays: None,
        })
    }

    /// How many predictions a run makes, in words. The parties wait for one another between them, and so must agree for
    /// how long.
    fn predictions(&self) -> String {
        match self.stays {
            None => "one".into(),
            Some(timeout) => format!(
                "as many as the data owner asks for (--stay), with a timeout of {} s",
                timeout.as_secs_f64()
            ),
        }
    }

    /// What must be the same at every party, by name.
    pub(crate) fn items(&self) -> Vec<(&'static str, String)> {
        let instance = &self.instance;
        let numbers = Modulus::of_bits(instance.width).kind();
        let mut items = vec![
            ("version", env!("CARGO_PKG_VERSION").into()),
            ("protocol", instance.protocol.name.into()),
            ("parties", instance.parties.to_string()),
            (numbers, instance.width.to_string()),
            ("truncation", instance.truncation()),
            ("order", self.order.name().into()),
            ("public_model", self.public_model.to_string()),
            ("network", self.network.name.clone()),
            (
                "batch",
                self.batch.map_or("default".into(), |b| b.to_string()),
            ),
            ("predictions", self.predictions()),
            ("model_owner", self.roles.model_owner.to_string()),
            ("data_owner", self.roles.data_owner.to_string()),
        ];
        let choices = instance.choices().into_iter();
        items.extend(choices.map(|(key, value)| (key, text(&value))));
        // The words for all of these: a difference is better named by its cause, so they come last.
        items.push(("security", instance.security()));
        items
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(settings: &Settings, name: &str) -> Option<String> {
        let terms = Terms::new(settings, None, Order::default(), false).expect("valid");
        let mut items = terms.items().into_iter();
        items
            .find(|(item, _)| *item == name)
            .map(|(_, value)| value)
    }

    #[test]
    fn what_a_protocol_lets_choose_is_agreed_on() {
        let json =
            r#"{"protocol": "shamir", "parties": 7, "comparison": "tree", "opening": "direct"}"#;
        let chosen = Settings::from_json(json).expect("valid");
        for (name, expected) in [
            ("parties", "7"),
            ("field", "61"),
            ("threshold", "3"),
            ("comparison", "tree"),
            ("opening", "direct"),
            ("truncation", "unbiased"),
            ("security", "semi-honest, up to 3 of 7 corrupt"),
        ] {
            assert_eq!(value(&chosen, name).as_deref(), Some(expected), "{name}");
        }
        for name in ["field", "threshold", "opening"] {
            assert_eq!(value(&Settings::default(), name), None, "{name}");
        }
        assert_eq!(value(&Settings::default(), "ring").as_deref(), Some("64"));
    }
}
