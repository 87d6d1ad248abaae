//! Integers of few bits: in a file they wrap where they grow too large, as uint8 200 + 100 is 44, and shares do not.

use super::builder::Builder;
use super::call::{Call, Fault, Value, unsupported};
use super::kind::DataType;
use super::{token, which};

/// Operations whose results may be larger than what they are made of.
const GROWS: &[&str] = &[
    "Abs",
    "Add",
    "CumSum",
    "Gemm",
    "MatMul",
    "Mul",
    "Neg",
    "Pow",
    "ReduceL1",
    "ReduceProd",
    "ReduceSum",
    "ReduceSumSquare",
    "Sub",
    "Sum",
];

impl DataType {
    /// Whether integers of the type are so short that they wrap in use.
    pub(super) fn is_short(self) -> bool {
        matches!(self, DataType::Signed(..=16) | DataType::Unsigned(..=16))
    }
}

/// Refuses a result of short integers that may be beyond its type.
pub(super) fn refuse(call: &Call, builder: &mut Builder, made: &[Value]) -> Result<(), Fault> {
    let Some(kind) = call.kind.filter(|kind| kind.is_short()) else {
        return Ok(());
    };
    let grows = GROWS.contains(&&call.node.op_type[..]);
    let Some(Value::Secret { id, .. }) = made.first().filter(|_| grows) else {
        return Ok(());
    };
    let (least, most) = kind.holds_within();
    let known = which::ends(builder, *id);
    let by_types = which::of_inputs(builder, *id, &builder.reach);
    let (low, high) = (known.0.max(by_types.0), known.1.min(by_types.1));
    if low >= f64::from(least) && high <= f64::from(most) {
        return Ok(());
    }
    // What is taken from 1 is a mask.
    if let ("Sub", Some(Value::Constant(one)), Some(Value::Secret { id, .. })) =
        (&call.node.op_type[..], call.input(0), call.input(1))
        && one.is_one()
    {
        token::ask_for_truths(builder, *id)?;
    }
    unsupported(format!(
        "its results are {name} and may be below {least} or above {most}, where a file's numbers wrap: cast to int32 or float before it",
        name = kind.name()
    ))
}
