//! What is chosen by its name: truncations, comparisons, openings, sharings, transfers, kinds of security
//! and orders.

use serde::{Deserialize, Deserializer, de};
use tacit_nn::plan::Order;
use tacit_protocols::Truncation;
use tacit_protocols::falcon::Security;
use tacit_protocols::shamir::{Comparison, Opening};
use tacit_sirnn::ot::Kind;

use crate::Error;

/// One of a few things that are chosen by their names.
pub(crate) trait Named: Copy + Sized + 'static {
    /// What the names name.
    const WHAT: &'static str;

    /// All of them with their names.
    fn known() -> impl Iterator<Item = (&'static str, Self)>;

    /// The name of this one.
    fn name(self) -> &'static str;

    /// The one of this name, or an error that lists all names.
    fn parse(text: &str) -> Result<Self, Error> {
        match Self::known().find(|(name, _)| *name == text) {
            Some((_, value)) => Ok(value),
            None => {
                let names: Vec<_> = Self::known().map(|(name, _)| name).collect();
                Err(Error::setting(
                    format!("{} '{}'", Self::WHAT, text.escape_debug()),
                    format!("it is not known; choose one of {}", names.join(", ")),
                ))
            }
        }
    }
}

impl Named for Truncation {
    const WHAT: &'static str = "truncation";

    fn known() -> impl Iterator<Item = (&'static str, Self)> {
        [
            Truncation::Gap,
            Truncation::Exact,
            Truncation::Aby3,
            Truncation::SecureMl,
        ]
        .into_iter()
        .map(|kind| (kind.name(), kind))
    }

    fn name(self) -> &'static str {
        match self {
            Truncation::Gap => "gap",
            Truncation::Exact => "exact",
            Truncation::Aby3 => "aby3",
            Truncation::SecureMl => "secureml",
        }
    }
}

impl Named for Comparison {
    const WHAT: &'static str = "comparison";

    fn known() -> impl Iterator<Item = (&'static str, Self)> {
        [Comparison::Auto, Comparison::Tree, Comparison::Rot]
            .into_iter()
            .map(|kind| (kind.name(), kind))
    }

    fn name(self) -> &'static str {
        match self {
            Comparison::Auto => "auto",
            Comparison::Tree => "tree",
            Comparison::Rot => "rot",
        }
    }
}

impl Named for Opening {
    const WHAT: &'static str = "opening";

    fn known() -> impl Iterator<Item = (&'static str, Self)> {
        [Opening::Auto, Opening::King, Opening::Direct]
            .into_iter()
            .map(|kind| (kind.name(), kind))
    }

    fn name(self) -> &'static str {
        match self {
            Opening::Auto => "auto",
            Opening::King => "king",
            Opening::Direct => "direct",
        }
    }
}

/// How secrets are shared, where the protocol lets it be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// Between two parties; the third assists.
    Ubl,
    /// Replicated among three.
    Rss,
}

impl Named for Sharing {
    const WHAT: &'static str = "sharing";

    fn known() -> impl Iterator<Item = (&'static str, Self)> {
        [Sharing::Ubl, Sharing::Rss]
            .into_iter()
            .map(|kind| (kind.name(), kind))
    }

    fn name(self) -> &'static str {
        match self {
            Sharing::Ubl => "ubl",
            Sharing::Rss => "rss",
        }
    }
}

impl Named for Security {
    const WHAT: &'static str = "security";

    fn known() -> impl Iterator<Item = (&'static str, Self)> {
        [Security::SemiHonest, Security::Malicious]
            .into_iter()
            .map(|kind| (kind.name(), kind))
    }

    fn name(self) -> &'static str {
        match self {
            Security::SemiHonest => "semi-honest",
            Security::Malicious => "malicious",
        }
    }
}

/// The transfers that can be chosen; the first is the default.
pub(crate) const TRANSFERS: [(&str, Kind); 5] = [
    ("softspoken", Kind::SoftSpoken { k: 4 }),
    ("softspoken2", Kind::SoftSpoken { k: 2 }),
    ("softspoken8", Kind::SoftSpoken { k: 8 }),
    ("iknp", Kind::SoftSpoken { k: 1 }),
    ("silent", Kind::Silent),
];

impl Named for Kind {
    const WHAT: &'static str = "ot";

    fn known() -> impl Iterator<Item = (&'static str, Self)> {
        TRANSFERS.into_iter()
    }

    fn name(self) -> &'static str {
        let known = Self::known().find(|(_, kind)| *kind == self);
        known.map_or("softspoken", |(name, _)| name)
    }
}

impl Named for Order {
    const WHAT: &'static str = "order";

    fn known() -> impl Iterator<Item = (&'static str, Self)> {
        [Order::MultiplyThenTruncate, Order::TruncateThenMultiply]
            .into_iter()
            .map(|order| (order.name(), order))
    }

    fn name(self) -> &'static str {
        match self {
            Order::MultiplyThenTruncate => "multiply-then-truncate",
            Order::TruncateThenMultiply => "truncate-then-multiply",
        }
    }
}

pub(crate) fn named<'de, D: Deserializer<'de>, T: Named>(from: D) -> Result<T, D::Error> {
    T::parse(&String::deserialize(from)?).map_err(de::Error::custom)
}

pub(crate) fn named_or_none<'de, D: Deserializer<'de>, T: Named>(
    from: D,
) -> Result<Option<T>, D::Error> {
    let text = Option::<String>::deserialize(from)?;
    let parse = |text: String| T::parse(&text).map_err(de::Error::custom);
    text.map(parse).transpose()
}
