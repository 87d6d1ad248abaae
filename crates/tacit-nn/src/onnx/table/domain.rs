//! The domains of operations and their operator sets.

use std::ops::RangeInclusive;

use super::runtime::RUNTIME;
use super::written::PREVIEW;
use crate::onnx::proto::{NodeProto, OperatorSetIdProto};

/// A domain, whose operator sets import knows.
pub(in crate::onnx) struct Domain {
    /// What files call it.
    pub names: &'static [&'static str],
    /// The first and the last operator set.
    pub known: RangeInclusive<i64>,
}

/// What every model is made of.
pub(super) const STANDARD: Domain = Domain {
    names: &["", "ai.onnx"],
    known: 7..=28,
};

/// Operations on the rows of a table.
pub(super) const TABLES: Domain = Domain {
    names: &["ai.onnx.ml"],
    known: 1..=5,
};

/// The domain of operations in definitions of others, which are those of the newest operator set whatever the file's,
/// and some that no file has.
pub(in crate::onnx) const MADE: &str = "tacit.made";

/// The operator sets that a file names; of a domain that it does not name there is none.
#[derive(Clone, Copy)]
pub(in crate::onnx) struct Opsets {
    /// The operator set of the standard's own operations.
    pub(in crate::onnx) standard: Option<i64>,
    /// The operator set of operations on tables.
    tables: Option<i64>,
}

impl Opsets {
    /// The sets of a file, or why one of them is not read.
    pub(in crate::onnx) fn new(named: &[OperatorSetIdProto]) -> Result<Self, String> {
        let of = |domain: &Domain| {
            let mut own = named.iter().filter(|set| domain.is_named(&set.domain));
            own.next().map(|set| domain.check(set.version)).transpose()
        };
        let sets = Opsets {
            standard: of(&STANDARD)?,
            tables: of(&TABLES)?,
        };
        let preview = named.iter().any(|set| set.domain.starts_with(PREVIEW));
        match (sets.standard, sets.tables) {
            // Its operations are written as the newest of the standard's own.
            (None, None) if preview => Ok(Opsets {
                standard: Some(*STANDARD.known.end()),
                ..sets
            }),
            (None, None) => Err("it names no operator set".into()),
            _ => Ok(sets),
        }
    }

    /// The operator set of a node's domain.
    pub(in crate::onnx) fn of(&self, node: &NodeProto) -> Result<i64, String> {
        let version = match is_table(node) {
            _ if node.domain == MADE => Some(*STANDARD.known.end()),
            true => self.tables,
            false => self.standard,
        };
        version.ok_or_else(|| {
            let domain = if is_table(node) { TABLES } else { STANDARD };
            format!("the file names no operator set of {}", domain.name())
        })
    }
}

impl Domain {
    /// What messages call it.
    pub(super) fn name(&self) -> &'static str {
        self.names[self.names.len() - 1]
    }

    fn is_named(&self, name: &str) -> bool {
        self.names.contains(&name)
    }

    fn check(&self, version: i64) -> Result<i64, String> {
        let of = match self.is_named("") {
            true => String::new(),
            false => format!(" of {}", self.name()),
        };
        let (first, last) = (self.known.start(), self.known.end());
        match self.known.contains(&version) {
            true => Ok(version),
            false => Err(format!(
                "it uses operator set {version}{of}; {first} to {last} are supported: export it again or convert it with onnx.version_converter"
            )),
        }
    }
}

/// Whether a node is an operation on the rows of a table.
pub(in crate::onnx) fn is_table(node: &NodeProto) -> bool {
    TABLES.is_named(&node.domain)
}

/// Whether a node is of the standard's own domain, or of definitions in its terms.
pub(in crate::onnx) fn is_standard(node: &NodeProto) -> bool {
    STANDARD.is_named(&node.domain) || node.domain == MADE
}

/// Whether a node is an operation of ONNX Runtime's own.
pub(in crate::onnx) fn is_of_runtime(node: &NodeProto) -> bool {
    node.domain == RUNTIME
}
