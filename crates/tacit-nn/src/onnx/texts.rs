//! Texts: columns of categories as people have them.
//!
//! No party computes on a text. The owner of an item gives the place of each text among those that the model knows,
//! which all parties know, and shares it as a token. What a model makes of one text alone is so a row of a table.
//! Here texts are symbols: one that the file gives, or one of an input, as it is or with others put in its place.

mod made;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::ImportError;
use super::builder::Builder;
use super::call::{Call, Fault, Value, unsupported};
use super::constant::{Constant, Data, Reader, bounded_len};
use super::fold;
use super::kind::DataType;
use super::lower;
use super::proto::{TensorProto, data_type};
use crate::graph::{Graph, Input, Op, len, row_shape};
use crate::reference;

/// The most texts of a value, and that a model may know of an input.
const MAX_TEXTS: usize = 1 << 16;

/// The most pairs of a text of a value and one that a node knows.
const MAX_PAIRS: usize = 1 << 22;

/// The most bytes of a text that a model knows.
const MAX_BYTES: usize = 256;

/// A text that is known, or one of an input.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Text {
    Known(Rc<str>),
    Given(Given),
}

/// A text of an input, with others in place of some.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Given {
    input: usize,
    /// Place of the text among those of an item of the input.
    place: usize,
    change: Rc<Change>,
}

/// What is put in place of texts.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Change {
    of: BTreeMap<String, String>,
    /// The text that takes the place of all others; without it they stay.
    others: Option<String>,
}

impl Change {
    /// What stands in place of `text`, or of one that nothing knows; `None` if that is such a one again.
    fn apply<'a>(&'a self, text: Option<&'a str>) -> Option<&'a str> {
        let changed = text.and_then(|text| self.of.get(text));
        changed.or(self.others.as_ref()).map(|s| &s[..]).or(text)
    }

    /// The texts that must be told apart, if `keys` of what stands in their place must be.
    fn sources<'a>(&'a self, keys: impl Iterator<Item = &'a String>) -> BTreeSet<String> {
        let kept = keys.filter(|key| self.others.is_none() && !self.of.contains_key(*key));
        self.of.keys().chain(kept).cloned().collect()
    }

    /// This, and then `next`.
    fn then(&self, next: &Change) -> Change {
        let mut of = BTreeMap::new();
        for text in self.sources(next.of.keys()) {
            let last = self.apply(Some(&text)).and_then(|t| next.apply(Some(t)));
            of.extend(last.map(|last| (text.clone(), last.to_string())));
        }
        let others = next.apply(self.apply(None)).map(str::to_string);
        Change { of, others }
    }
}

/// Input `at`; refused where it has more texts than a value may.
pub(super) fn given(at: usize, shape: Vec<usize>, batch: usize) -> Result<Value, String> {
    if len(&shape) > MAX_TEXTS {
        return Err(format!("it holds more than {MAX_TEXTS} texts"));
    }
    let same: Rc<Change> = Rc::default();
    let text = |place| {
        Text::Given(Given {
            input: at,
            place,
            change: same.clone(),
        })
    };
    Ok(Value::Texts {
        each: (0..len(&shape)).map(text).collect(),
        shape,
        batch: Some(batch),
    })
}

/// Refuses to hold so many texts of a value against so many that a node knows.
fn check_pairs(texts: usize, known: usize) -> Result<(), Fault> {
    match texts.saturating_mul(known) {
        ..=MAX_PAIRS => Ok(()),
        _ => unsupported(format!(
            "it holds {texts} texts against {known}, more than {MAX_PAIRS} pairs"
        )),
    }
}

/// A tensor of the file, if it holds texts.
pub(super) fn of_tensor(tensor: &TensorProto) -> Result<Option<Value>, ImportError> {
    if tensor.data_type != data_type::STRING {
        return Ok(None);
    }
    let fail = |why: &str| ImportError::Tensor {
        tensor: tensor.name.clone(),
        why: why.into(),
    };
    let shape = tensor.dims.iter().map(|&d| usize::try_from(d).ok());
    let shape = shape.collect::<Option<Vec<_>>>();
    let shape = shape.ok_or_else(|| fail("it has a negative dimension"))?;
    let n = bounded_len(&shape).map_err(|why| fail(&why))?;
    if tensor.string_data.len() != n || n > MAX_TEXTS {
        return Err(fail(
            "its texts are not as many as its shape says, or too many",
        ));
    }
    let each = tensor.string_data.iter().map(|bytes| known(bytes));
    let each = each.collect::<Result<Vec<_>, _>>();
    Ok(Some(Value::Texts {
        each: each.map_err(|why| fail(&why))?,
        shape,
        batch: None,
    }))
}

fn known(bytes: &[u8]) -> Result<Text, String> {
    Ok(Text::Known(checked(bytes)?.into()))
}

/// A text of the file that all parties will know.
fn checked(bytes: &[u8]) -> Result<String, String> {
    match std::str::from_utf8(bytes) {
        Ok(text) if bytes.len() <= MAX_BYTES && !text.chars().any(char::is_control) => {
            Ok(text.into())
        }
        _ => Err(format!(
            "a text of it is no UTF-8, has more than {MAX_BYTES} bytes, or holds control characters"
        )),
    }
}

/// Whether a node reads texts that it computes with, or the texts of an attribute.
pub(super) fn are_read(call: &Call) -> bool {
    let mut inputs = call.inputs.iter().flatten();
    inputs.any(|value| matches!(value, Value::Texts { .. })) || makes_texts(call)
}

/// Whether a LabelEncoder gives texts for numbers that the file gives: how converters write a text.
fn makes_texts(call: &Call) -> bool {
    let of_numbers = matches!(call.input(0), Some(Value::Constant(_)));
    let gives = call.attribute("values_strings").is_some();
    call.node.op_type == "LabelEncoder" && of_numbers && gives
}

/// The outputs of a node that reads texts.
pub(super) fn lower(
    call: &Call,
    reader: &Reader,
    builder: &mut Builder,
) -> Result<Vec<Value>, Fault> {
    let one = |value: Result<Value, Fault>| value.map(|value| vec![value]);
    match call.node.op_type.as_str() {
        "OneHotEncoder" => one(made::one_hot(call, builder)),
        "LabelEncoder" if makes_texts(call) => one(made::written(call)),
        "LabelEncoder" => one(made::encoded(call, builder)),
        "CategoryMapper" => one(made::mapped(call, builder)),
        "Equal" => one(made::equal(call, builder)),
        "Where" => one(made::chosen(call, builder)),
        "Cast" if call.int("to", 0) == i64::from(data_type::STRING) => {
            Ok(vec![call.required(0)?.clone()])
        }
        "ArrayFeatureExtractor"
        | "Concat"
        | "Expand"
        | "Flatten"
        | "Gather"
        | "Identity"
        | "Reshape"
        | "Slice"
        | "Split"
        | "Squeeze"
        | "Tile"
        | "Transpose"
        | "Unsqueeze" => moved(call, reader, builder),
        "Shape" | "Size" => match fold::fold(call, reader, builder.batch)? {
            Some(constant) => Ok(vec![Value::Constant(constant)]),
            None => unsupported("it reads texts"),
        },
        _ => unsupported(
            "it reads texts; of these only categories are numbered (CategoryMapper, OneHotEncoder, LabelEncoder, Equal): \
             let the owner of the data do this step, and export the model behind it",
        ),
    }
}

/// Texts that a node moves: as it moves their numbers.
fn moved(call: &Call, reader: &Reader, builder: &Builder) -> Result<Vec<Value>, Fault> {
    if let Some(named) = made::named(call) {
        return named.map(|value| vec![value]);
    }
    let mut numbered = Numbered::new(call, builder)?;
    let inner = Call {
        name: call.name.clone(),
        inputs: numbered.inputs.iter().map(Option::as_ref).collect(),
        ..*call
    };
    let outputs = match fold::fold(&inner, reader, builder.batch)? {
        Some(constant) => vec![Value::Constant(constant)],
        None => match fold::computed(&inner) {
            Some(constants) => constants,
            None => lower::lower(&inner, &mut numbered.scratch)?,
        },
    };
    let back = |value| numbered.back(value);
    outputs.into_iter().map(back).collect()
}

/// Inputs of a node with numbers in place of texts, in a graph of their own.
struct Numbered<'a> {
    texts: Vec<&'a Text>,
    /// How many of the inputs give numbers; they come first.
    given: usize,
    inputs: Vec<Option<Value>>,
    scratch: Builder,
}

impl<'a> Numbered<'a> {
    fn new(call: &Call<'a>, builder: &Builder) -> Result<Self, Fault> {
        let mut scratch = Builder::default();
        (scratch.whole, scratch.items) = (builder.whole, builder.items);
        scratch.batch = builder.batch;
        let mut texts: Vec<&Text> = Vec::new();
        for (each, shape, batch) in call.inputs.iter().filter_map(|value| of_input(*value)) {
            texts.extend(each);
            scratch.inputs.push(Input {
                batch,
                ..Input::numbers("texts", shape)
            });
        }
        let given = texts.len();
        if given > 0 {
            scratch.count(&row_shape(&scratch.inputs))?;
        }
        let mut numbered = Numbered {
            texts,
            given,
            inputs: vec![],
            scratch,
        };
        let mut start = 0;
        for value in &call.inputs {
            let value = numbered.input(*value, &mut start)?;
            numbered.inputs.push(value);
        }
        match numbered.texts.len() {
            ..=MAX_TEXTS => Ok(numbered),
            _ => unsupported(format!("it moves more than {MAX_TEXTS} texts")),
        }
    }

    /// What stands in place of an input; `start` counts the texts of those that give some.
    fn input(
        &mut self,
        value: Option<&'a Value>,
        start: &mut usize,
    ) -> Result<Option<Value>, Fault> {
        if let Some((each, shape, batch)) = of_input(value) {
            let index = (*start..*start + each.len()).map(|e| e as u32).collect();
            *start += each.len();
            let op = Op::Rearrange { index, fill: 0.0 };
            let (name, shape) = ("texts".into(), shape.to_vec());
            let id = self.scratch.add(name, op, vec![0], shape.clone())?;
            return Ok(Some(Value::Secret { id, shape, batch }));
        }
        Ok(match value {
            Some(Value::Texts { each, shape, .. }) => {
                let first = self.texts.len() as i64;
                self.texts.extend(each);
                Some(Value::Constant(Constant {
                    shape: shape.clone(),
                    kind: DataType::Signed(64),
                    data: Data::Int((first..self.texts.len() as i64).collect()),
                }))
            }
            Some(Value::Secret { .. } | Value::Clear { .. }) => {
                return unsupported("it moves texts by what is computed");
            }
            other => other.cloned(),
        })
    }

    /// The texts whose numbers a value of the graph holds.
    fn back(&self, value: Value) -> Result<Value, Fault> {
        let (ids, shape, batch) = match value {
            Value::Constant(constant) => (constant.data.floats(), constant.shape, None),
            Value::Secret { id, shape, batch } => {
                let graph = Graph {
                    inputs: self.scratch.inputs.clone(),
                    nodes: self.scratch.nodes[..id].to_vec(),
                    output: id,
                    outputs: vec![],
                    remarks: vec![],
                };
                let numbers: Vec<f32> = (0..self.given).map(|id| id as f32).collect();
                match reference::outputs(&graph, &numbers) {
                    Ok(ids) => (ids.into(), shape, Some(batch)),
                    Err(_) => return unsupported("it moves no texts"),
                }
            }
            other => return Ok(other),
        };
        if ids.len() > MAX_TEXTS {
            return unsupported(format!("it makes more than {MAX_TEXTS} texts"));
        }
        let text = |&id: &f32| self.texts.get(id as usize).copied().cloned();
        let Some(each) = ids.iter().map(text).collect() else {
            return unsupported("it puts numbers beside texts");
        };
        Ok(Value::Texts { each, shape, batch })
    }
}

/// The texts of a value that inputs give, its item shape and the place of its batch axis.
fn of_input(value: Option<&Value>) -> Option<(&[Text], &[usize], usize)> {
    match value {
        Some(Value::Texts {
            each,
            shape,
            batch: Some(batch),
        }) => Some((each, shape, *batch)),
        _ => None,
    }
}
