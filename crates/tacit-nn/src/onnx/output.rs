//! The outputs of a model's file: which ones, and how they are revealed together.

use std::collections::{HashMap, HashSet};

use super::builder::Builder;
use super::call::{Fault, Value, unsupported};
use super::constant::Constant;
use super::importer::Importer;
use super::proto::NodeProto;
use super::{ImportError, unusable};
use crate::graph::{Affine, FILL, Op, Output, ValueId, Weights};

/// The name of the step that puts the outputs one behind the other.
const JOINED: &str = "outputs";

impl<'a> Importer<'a> {
    /// The names of the outputs to compute: those that are asked for, or all of the file; of a list of tensors those
    /// of its parts.
    pub(super) fn outputs(&self) -> Result<Vec<&'a str>, ImportError> {
        let known: Vec<&str> = self.graph.output.iter().map(|o| &o.name[..]).collect();
        let found = match self.options.outputs.as_slice() {
            [] => known,
            asked => {
                let find = |name: &String| {
                    let found = known.iter().copied().find(|known| known == name);
                    found.ok_or_else(|| {
                        let why = format!("the model has '{}'", known.join("', '"));
                        refused(name, why)
                    })
                };
                asked.iter().map(find).collect::<Result<Vec<_>, _>>()?
            }
        };
        if found.is_empty() {
            return Err(unusable("it has no output"));
        }
        let found: Vec<&str> = found
            .into_iter()
            .flat_map(|name| self.parts(name))
            .collect();
        let mut names = HashSet::new();
        match found.iter().find(|&&name| !names.insert(name)) {
            Some(twice) => Err(refused(twice, "it is named twice".into())),
            None => Ok(found),
        }
    }

    /// The tensors of a list that is an output, or the output itself.
    fn parts(&self, name: &'a str) -> Vec<&'a str> {
        let makes = |node: &&'a NodeProto| node.output.iter().any(|output| output == name);
        match self.graph.node.iter().find(makes) {
            Some(node) if node.op_type == "SequenceConstruct" => {
                node.input.iter().map(String::as_str).collect()
            }
            _ => vec![name],
        }
    }
}

fn refused(output: &str, why: String) -> ImportError {
    ImportError::Output {
        output: output.into(),
        why,
    }
}

/// An output and the value that it is a part of.
pub(super) struct End {
    id: ValueId,
    output: Output,
}

/// The end of a file at the output `name`, whose value is this.
pub(super) fn end(
    name: &str,
    value: Option<&Value>,
    builder: &mut Builder,
) -> Result<End, ImportError> {
    let fail = |why: String| Err(refused(name, why));
    match value {
        Some(Value::Secret { id, shape, batch }) => Ok(End {
            id: *id,
            output: Output {
                batch: *batch,
                ..Output::whole(name, shape)
            },
        }),
        Some(Value::Clear {
            id,
            revealed_shape,
            tail,
            shape,
            classes,
        }) => Ok(End {
            id: *id,
            output: Output {
                name: name.into(),
                start: 0,
                revealed_shape: revealed_shape.clone(),
                tail: tail.clone(),
                shape: shape.clone(),
                batch: 0,
                classes: classes.clone(),
            },
        }),
        Some(Value::Constant(constant)) => match fixed(name, constant, builder) {
            Ok(end) => Ok(end),
            Err(Fault::Bad(why) | Fault::Unsupported(why)) => fail(why),
        },
        Some(Value::Texts { .. }) => fail("it is texts, which no party computes on".into()),
        Some(Value::Sequence(_)) => fail(
            "it is a sequence of tensors: stack them, or make each an output of its own".into(),
        ),
        _ => fail("no node computes it".into()),
    }
}

/// An output that does not depend on the input, of a model whose input is one item: its numbers are weights.
fn fixed(name: &str, constant: &Constant, builder: &mut Builder) -> Result<End, Fault> {
    let numbers = constant.data.floats();
    let far = numbers.iter().any(|v| !v.is_finite());
    if far || numbers.is_empty() {
        return unsupported(
            "it does not depend on the model's input, and its numbers are none or not finite",
        );
    }
    if !builder.whole {
        return unsupported("it does not depend on the model's input, and is none of a batch's");
    }
    let shape = constant.shape.clone();
    let nothing = Op::Rearrange {
        index: vec![FILL; numbers.len()],
        fill: 0.0,
    };
    let name_of = |part: &str| format!("{name}.{part}");
    let nothing = builder.add(name_of("nothing"), nothing, vec![0], shape.clone())?;
    let op = Op::Affine(Affine {
        inner: 1,
        scale: Weights::default(),
        shift: numbers,
    });
    let id = builder.add(name_of("numbers"), op, vec![nothing], shape.clone())?;
    Ok(End {
        id,
        output: Output::whole(name, &shape),
    })
}

/// The value that has the values of all outputs one behind the other, each once, and the outputs with
/// their parts of it.
pub(super) fn joined(
    ends: Vec<End>,
    builder: &mut Builder,
) -> Result<(ValueId, Vec<Output>), ImportError> {
    let (mut ids, mut starts, mut row) = (Vec::new(), HashMap::new(), 0);
    let mut outputs = Vec::new();
    for End { id, mut output } in ends {
        output.start = *starts.entry(id).or_insert_with(|| {
            ids.push(id);
            row += builder.len(id);
            row - builder.len(id)
        });
        outputs.push(output);
    }
    let added = match ids[..] {
        [id] => Ok(id),
        _ => builder.add(JOINED.into(), Op::Concat { outer: 1 }, ids, vec![row]),
    };
    match added {
        Ok(id) => Ok((id, outputs)),
        Err(Fault::Bad(why) | Fault::Unsupported(why)) => Err(unusable(why)),
    }
}

/// The first output that is the places of the largest of what no other output opens, if there is one.
pub(super) fn alone(outputs: &[Output]) -> Option<usize> {
    let siblings = |output: &Output| {
        let start = output.start;
        outputs.iter().filter(move |other| other.start == start)
    };
    let is_alone = |output: &Output| siblings(output).all(Output::is_places);
    outputs.iter().position(is_alone)
}
