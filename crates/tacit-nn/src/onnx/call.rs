//! One node of the file with its inputs resolved, and typed access to both.

use super::constant::{Constant, Data};
use super::kind::DataType;
use super::proto::{AttributeProto, NodeProto};
use super::texts::Text;
use crate::graph::{self, Classes, Tail, ValueId};

/// Why a node cannot be taken over.
#[derive(Debug)]
pub(super) enum Fault {
    /// The node is valid, but cannot be run privately; the text says why.
    Unsupported(String),
    /// The node breaks ONNX's rules.
    Bad(String),
}

/// What is more than import takes.
impl From<String> for Fault {
    fn from(why: String) -> Self {
        Fault::Unsupported(why)
    }
}

pub(super) fn unsupported<T>(why: impl Into<String>) -> Result<T, Fault> {
    Err(Fault::Unsupported(why.into()))
}

pub(super) fn bad<T>(why: impl Into<String>) -> Result<T, Fault> {
    Err(Fault::Bad(why.into()))
}

/// A value during import; shapes are those of one item.
#[derive(Clone, Debug)]
pub(super) enum Value {
    /// Known before any input; its shape has no batch axis.
    Constant(Constant),
    /// A value of the graph; in the file its batch axis stands before axis `batch` of the item.
    Secret {
        id: ValueId,
        shape: Vec<usize>,
        batch: usize,
    },
    /// A value that exists only in the clear, after the result is revealed.
    Clear {
        id: ValueId,
        revealed_shape: Vec<usize>,
        tail: Vec<Tail>,
        shape: Vec<usize>,
        /// What the classes are called whose numbers it gives.
        classes: Option<Classes>,
    },
    /// Texts. Those of inputs have a batch axis, which stands before axis `batch` of the item; those that the file
    /// gives have none.
    Texts {
        each: Vec<Text>,
        shape: Vec<usize>,
        batch: Option<usize>,
    },
    /// Several tensors, one after the other.
    Sequence(Vec<Value>),
    /// The output of a node that is not supported. Its own refusal is reported, so nodes that read it are not.
    Unknown,
    /// An output that its node does not have, and why.
    Refused(String),
}

impl Value {
    /// The places of largest numbers by these names.
    pub(super) fn called(mut self, names: Option<Classes>) -> Value {
        if let Value::Clear { classes, .. } = &mut self {
            *classes = names;
        }
        self
    }

    /// The item shape of a value of the graph, and where its batch stands.
    pub(super) fn place(&self) -> Option<(&[usize], usize)> {
        match self {
            Value::Secret { shape, batch, .. } => Some((shape, *batch)),
            _ => None,
        }
    }

    /// This value under another shape, of as many elements.
    pub(super) fn with_shape(&self, new: Vec<usize>) -> Value {
        let mut value = self.clone();
        match &mut value {
            Value::Constant(Constant { shape, .. })
            | Value::Secret { shape, .. }
            | Value::Clear { shape, .. }
            | Value::Texts { shape, .. } => *shape = new,
            Value::Sequence(_) | Value::Unknown | Value::Refused(_) => {}
        }
        value
    }
}

/// The shape and the values of weights.
pub(super) type Weights<'a> = (&'a [usize], graph::Weights);

/// A node with its inputs.
pub(super) struct Call<'a> {
    pub node: &'a NodeProto,
    pub name: String,
    /// The operator set of the node's domain.
    pub opset: i64,
    /// Whether only nodes follow that the receiver of the result can compute.
    pub last: bool,
    /// Whether nothing but softmaxes reads its output.
    pub masks: bool,
    /// Whether the input is one item, so that no value has a batch axis.
    pub whole: bool,
    /// Whether an input of the file holds doubles, which are rounded to the nearest floats when they are given.
    pub rounds: bool,
    /// Whether PyTorch wrote the file.
    pub torch: bool,
    /// The type of its first output, where that is known.
    pub kind: Option<DataType>,
    pub inputs: Vec<Option<&'a Value>>,
}

impl<'a> Call<'a> {
    pub(super) fn input(&self, i: usize) -> Option<&'a Value> {
        self.inputs.get(i).copied().flatten()
    }

    /// Whether the node's first output holds integers, as far as the types of the file say.
    pub(super) fn makes_integers(&self) -> bool {
        self.kind
            .is_some_and(|kind| !kind.is_float() && !kind.is_bool())
    }

    /// The name of input `i` in the file; empty of what stands in for one.
    fn input_name(&self, i: usize) -> &'a str {
        self.node.input.get(i).map_or("", String::as_str)
    }

    pub(super) fn required(&self, i: usize) -> Result<&'a Value, Fault> {
        self.input(i)
            .ok_or_else(|| Fault::Bad(format!("its input {i} is missing")))
    }

    /// Input `i` as a value of the graph, with its item shape. Refused unless its batch axis stands first.
    pub(super) fn secret(&self, i: usize) -> Result<(ValueId, &'a [usize]), Fault> {
        match self.secret_at(i)? {
            (id, shape, 0) => Ok((id, shape)),
            (.., batch) => unsupported(format!(
                "its input {i} has the batch as axis {batch}; here it must stand first: transpose it before"
            )),
        }
    }

    /// Input `i` as a value of the graph, with its item shape and the place of its batch axis.
    pub(super) fn secret_at(&self, i: usize) -> Result<(ValueId, &'a [usize], usize), Fault> {
        match self.required(i)? {
            Value::Secret { id, shape, batch } => Ok((*id, shape, *batch)),
            Value::Constant(_) => unsupported(format!("its input {i} is a constant")),
            _ => unsupported(
                "it needs a value that exists only in the clear, at the end of the model",
            ),
        }
    }

    /// `given` as an axis of an item of `rank` axes, whose batch stands before axis `batch`; the file
    /// counts the batch axis, where there is one.
    pub(super) fn item_axis(&self, given: i64, rank: usize, batch: usize) -> Result<usize, Fault> {
        match self.whole {
            true => axis(given, rank),
            false => item_axis(given, rank, batch),
        }
    }

    /// Input `i` as a constant, if it is given.
    pub(super) fn optional_constant(&self, i: usize) -> Result<Option<&'a Constant>, Fault> {
        match self.input(i) {
            None => Ok(None),
            Some(Value::Constant(constant)) => Ok(Some(constant)),
            Some(_) => unsupported(format!(
                "its input {i} ('{}') is computed, not a constant",
                self.input_name(i)
            )),
        }
    }

    pub(super) fn constant(&self, i: usize) -> Result<&'a Constant, Fault> {
        self.required(i)?;
        self.optional_constant(i)?
            .ok_or_else(|| Fault::Bad(format!("its input {i} is missing")))
    }

    /// Input `i` as finite floats, if it is given.
    pub(super) fn optional_weights(&self, i: usize) -> Result<Option<Weights<'a>>, Fault> {
        let Some(constant) = self.optional_constant(i)? else {
            return Ok(None);
        };
        let values = constant.data.floats();
        self.are_finite(i, &values)?;
        Ok(Some((&constant.shape, values)))
    }

    /// Refuses a constant in the place of input `i` that is not finite.
    pub(super) fn finite(&self, i: usize, value: &Value) -> Result<(), Fault> {
        match value {
            Value::Constant(constant) => self.are_finite(i, &constant.data.floats()),
            _ => Ok(()),
        }
    }

    fn are_finite(&self, i: usize, values: &[f32]) -> Result<(), Fault> {
        match values.iter().position(|v| !v.is_finite()) {
            Some(at) => unsupported(format!(
                "the tensor '{}' holds {} at element {at}; weights must be finite",
                self.input_name(i),
                values[at]
            )),
            None => Ok(()),
        }
    }

    /// Refuses an integer among the constants that float32 does not hold. The largest of a type is none: it stands for
    /// more than any other.
    pub(super) fn integers_are_held(&self) -> Result<(), Fault> {
        for (i, value) in self.inputs.iter().enumerate() {
            let Some(Value::Constant(Constant { kind, data, .. })) = value else {
                continue;
            };
            let Data::Int(all) = data else {
                continue;
            };
            let is_held = |&&v: &&i64| {
                let nearest = i128::from(v) == v as f32 as i128;
                nearest || kind.is_most(v) || v == i64::from(i32::MAX)
            };
            if let Some((at, v)) = all.iter().enumerate().find(|(_, v)| !is_held(v)) {
                return unsupported(format!(
                    "the tensor '{}' holds {v} at element {at}, which float32 does not hold: take a whole number away \
                     from it and from what it stands beside, before the model",
                    self.input_name(i)
                ));
            }
        }
        Ok(())
    }

    pub(super) fn weights(&self, i: usize) -> Result<Weights<'a>, Fault> {
        self.constant(i)?;
        self.optional_weights(i)?
            .ok_or_else(|| Fault::Bad(format!("its input {i} is missing")))
    }

    /// The type that a Cast makes.
    pub(super) fn cast_to(&self) -> Result<DataType, Fault> {
        match DataType::of(self.int("to", 0) as i32) {
            Ok(kind) => Ok(kind),
            Err(what) => unsupported(format!("it casts to {what}")),
        }
    }

    /// Input `i` as integers, if it is given.
    pub(super) fn optional_ints(&self, i: usize) -> Result<Option<&'a [i64]>, Fault> {
        match self.optional_constant(i)? {
            None => Ok(None),
            Some(Constant {
                data: Data::Int(v), ..
            }) => Ok(Some(v)),
            Some(_) => bad(format!(
                "its input {i} ('{}') must hold integers",
                self.input_name(i)
            )),
        }
    }

    pub(super) fn ints(&self, i: usize) -> Result<&'a [i64], Fault> {
        self.optional_ints(i)?
            .ok_or_else(|| Fault::Bad(format!("its input {i} is missing")))
    }

    /// The integers that stand in attribute `name` before the operator set `since` and from then on
    /// in input `i`, if they are given.
    pub(super) fn list(
        &self,
        i: usize,
        name: &str,
        since: i64,
    ) -> Result<Option<&'a [i64]>, Fault> {
        match self.opset < since {
            true => Ok(self.attribute(name).map(|a| a.ints.as_slice())),
            false => self.optional_ints(i),
        }
    }

    pub(super) fn attribute(&self, name: &str) -> Option<&'a AttributeProto> {
        self.node.attribute.iter().find(|a| a.name == name)
    }

    /// An attribute of one integer; some writers leave out a 0.
    pub(super) fn int(&self, name: &str, default: i64) -> i64 {
        self.attribute(name).map_or(default, |a| a.i.unwrap_or(0))
    }

    /// An attribute of one float.
    pub(super) fn float(&self, name: &str, default: f32) -> f32 {
        self.attribute(name).map_or(default, |a| a.f.unwrap_or(0.0))
    }

    pub(super) fn text(&self, name: &str, default: &str) -> String {
        let bytes = self.attribute(name).and_then(|a| a.s.as_deref());
        bytes.map_or(default.into(), |b| String::from_utf8_lossy(b).into_owned())
    }

    /// The integers of attribute `name`: exactly `count` of them, or `default` for each.
    pub(super) fn sizes(
        &self,
        name: &str,
        count: usize,
        default: usize,
    ) -> Result<Vec<usize>, Fault> {
        /// Far beyond any real model, and small enough that no sum of a few overflows.
        const LIMIT: i64 = 1 << 20;
        match self.attribute(name) {
            Some(a) if !a.ints.is_empty() => {
                if a.ints.len() != count {
                    return bad(format!(
                        "its '{name}' has {} numbers, {count} are needed",
                        a.ints.len()
                    ));
                }
                match a.ints.iter().find(|&&v| !(0..=LIMIT).contains(&v)) {
                    Some(v) => bad(format!("its '{name}' holds {v}, outside 0..{LIMIT}")),
                    None => Ok(a.ints.iter().map(|&v| v as usize).collect()),
                }
            }
            _ => Ok(vec![default; count]),
        }
    }
}

/// `axis` of a tensor of `rank` axes, counted from the end where negative.
pub(super) fn axis(axis: i64, rank: usize) -> Result<usize, Fault> {
    let from_start = if axis < 0 {
        axis.saturating_add(rank as i64)
    } else {
        axis
    };
    usize::try_from(from_start)
        .ok()
        .filter(|&a| a < rank)
        .ok_or_else(|| Fault::Bad(format!("axis {axis} is outside a tensor of {rank} axes")))
}

/// The axis of an item of `rank` axes without the batch, which stands before axis `batch` of it;
/// the batch axis itself is refused.
fn item_axis(given: i64, rank: usize, batch: usize) -> Result<usize, Fault> {
    match axis(given, rank + 1)? {
        a if a == batch => unsupported(
            "it works across the batch axis; items of a batch are predicted independently",
        ),
        a => Ok(a - usize::from(a > batch)),
    }
}
