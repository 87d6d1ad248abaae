//! Why a model cannot be planned.

use super::told::Told;
use super::{Modulus, Reveal};
use crate::reference::ShapeError;

/// Fewer fraction bits than these leave little of most models.
const FEW: u32 = 8;

/// What may help where a value with so many fraction bits leaves the ring.
fn advice(modulus: Modulus, fraction_bits: u32) -> String {
    let widest = modulus.widest();
    if modulus != widest {
        format!("use fewer fraction bits, the {widest}, or smaller inputs")
    } else if fraction_bits > FEW {
        "use fewer fraction bits, or smaller inputs".into()
    } else {
        "scale the inputs before the model, or give samples or an input range that show that they are smaller".into()
    }
}

/// Why no plan was made.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// A value would leave the ring.
    #[error(
        "{layer}: values up to {} need {integer_bits} integer + {fraction_bits} fraction + {weight_bits} weight bits, \
         but the {} holds {room}: {}",
        Told(*.value), .modulus, advice(*.modulus, *.fraction_bits)
    )]
    Range {
        /// The layer, or the input.
        layer: String,
        /// The largest magnitude that is planned for.
        value: f64,
        /// Bits before the point.
        integer_bits: i32,
        /// Fraction bits of the value.
        fraction_bits: u32,
        /// Fraction bits of the weights it is multiplied with.
        weight_bits: u32,
        /// What is computed modulo.
        modulus: Modulus,
        /// Bits of magnitude that it holds.
        room: i32,
    },
    /// An elementary function that its layer's values do not allow.
    #[error("{layer}: {why}")]
    Function {
        /// The layer's name.
        layer: String,
        /// What stands in the way.
        why: String,
    },
    /// What is to be opened of the output does not fit the model.
    #[error("{layer}: '{reveal}' cannot be revealed of it: {why}")]
    Reveal {
        /// The layer that makes the output.
        layer: String,
        /// What was asked for, or what the file's last operation says.
        reveal: Reveal,
        /// What stands in the way and what to do.
        why: String,
    },
    /// An option that makes no sense.
    #[error("{0}")]
    Option(String),
    /// The samples do not have the shape of the model's input.
    #[error("the samples do not fit the model: {0}")]
    Samples(#[from] ShapeError),
}
