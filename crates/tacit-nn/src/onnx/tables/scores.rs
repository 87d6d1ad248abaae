//! What classifiers and regressors make of their scores.

use super::attributes::{ints, texts};
use crate::graph::{Classes, Function, Op, TailFunction, ValueId};
use crate::onnx::builder::Builder;
use crate::onnx::call::{Call, Fault, Value, bad, unsupported};
use crate::onnx::compose::{ANY, Composer, value};
use crate::onnx::function::shares;
use crate::onnx::reduce::number_of_largest;
use crate::onnx::tail::ended;

/// What becomes of the scores of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Post {
    None,
    Logistic,
    Softmax,
}

impl Post {
    /// The post transform of a node's attribute, which is a text or, from operator set 5 on, a number.
    pub(super) fn of(call: &Call) -> Result<Post, Fault> {
        let name = match call.attribute("post_transform").and_then(|a| a.i) {
            None => call.text("post_transform", "NONE"),
            Some(number) => {
                let names = ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"];
                let name = usize::try_from(number).ok().and_then(|i| names.get(i));
                name.map_or(format!("number {number}"), |name| name.to_string())
            }
        };
        match name.as_str() {
            "NONE" => Ok(Post::None),
            "LOGISTIC" => Ok(Post::Logistic),
            "SOFTMAX" => Ok(Post::Softmax),
            "SOFTMAX_ZERO" => unsupported(
                "its post transform SOFTMAX_ZERO leaves out scores that are exactly 0, which rounding does not keep: export it with SOFTMAX",
            ),
            "PROBIT" => unsupported(
                "its post transform is PROBIT; NONE, LOGISTIC and SOFTMAX are supported",
            ),
            other => bad(format!("its post transform is {other}")),
        }
    }

    /// Refuses all but none: of one number the standard and onnxruntime do not agree on others.
    pub(super) fn none(call: &Call) -> Result<(), Fault> {
        match Post::of(call)? {
            Post::None => Ok(()),
            other => unsupported(format!(
                "its post transform is {other:?}; of a regressor only NONE is supported"
            )),
        }
    }
}

/// The classes of a node.
pub(super) struct Labels {
    pub count: usize,
    /// The names of the classes, unless those are their numbers from 0 on.
    names: Option<Classes>,
}

impl Labels {
    /// The classes that the attributes of these names list.
    pub(super) fn of(call: &Call, integers: &str, strings: &str) -> Result<Labels, Fault> {
        let (numbers, words) = (ints(call, integers), texts(call, strings));
        match [numbers.len(), words.len()] {
            [0, 0] => bad("it has no class labels"),
            [0, 1] | [1, 0] => unsupported("it has one class"),
            [count, 0] => Ok(Labels {
                count,
                names: numbered(numbers),
            }),
            [0, count] => Ok(Labels {
                count,
                names: Some(Classes::Strings(words)),
            }),
            _ => bad(format!("it has both '{integers}' and '{strings}'")),
        }
    }
}

/// The names of classes that are numbers; `None` where these are their numbers from 0 on.
pub(super) fn numbered(names: &[i64]) -> Option<Classes> {
    let own = names.iter().copied().eq(0..names.len() as i64);
    (!own).then(|| Classes::Integers(names.to_vec()))
}

/// The two columns that one score of two classes is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Second {
    /// `1 - s` and `s`.
    Rest,
    /// `-s` and `s`.
    Mirrored,
    /// `0` and `s`.
    Zero,
}

impl Second {
    /// The weights of both columns, made of those of one column.
    pub(super) fn factors(self, weights: &[f32]) -> Vec<f32> {
        let first = match self {
            Second::Rest | Second::Mirrored => -1.0,
            Second::Zero => 0.0,
        };
        weights.iter().flat_map(|w| [first * w, *w]).collect()
    }

    /// What both columns begin at, of what the score does.
    pub(super) fn terms(self, base: f32) -> Vec<f32> {
        let first = match self {
            Second::Rest => 1.0 - base,
            Second::Mirrored => -base,
            Second::Zero => 0.0,
        };
        vec![first, base]
    }
}

/// The scores of an item after their post transform: computed by the receiver of the result where nothing
/// but its functions follows.
pub(super) fn finished(
    call: &Call,
    builder: &mut Builder,
    scores: ValueId,
    post: Post,
) -> Result<Value, Fault> {
    let shape = builder.shape(scores);
    let n = builder.len(scores);
    let function = match post {
        Post::None => return Ok(value(scores, shape)),
        Post::Logistic => TailFunction::Sigmoid,
        Post::Softmax => TailFunction::Softmax,
    };
    if call.last {
        return Ok(ended(scores, &shape, function));
    }
    let c = &mut Composer::new(call, builder);
    let id = match post {
        Post::Softmax => shares(c, scores, [1, n, 1], None)?,
        _ => c.each(
            "probability",
            Op::Function {
                function: Function::Sigmoid,
                domain: ANY,
            },
            &[scores],
        )?,
    };
    Ok(value(id, shape))
}

/// The class of the largest of some scores: told by the receiver of the result where nothing but its functions
/// follows, else found on shares, as the number that it is called.
pub(super) fn label(
    call: &Call,
    builder: &mut Builder,
    scores: ValueId,
    labels: &Labels,
) -> Result<Value, Fault> {
    if call.last {
        let told = ended(scores, &builder.shape(scores), TailFunction::ArgMax);
        return Ok(told.called(labels.names.clone()));
    }
    let numbers = match &labels.names {
        None => (0..labels.count).map(|class| class as f32).collect(),
        Some(Classes::Integers(names)) if names.iter().all(|name| name.abs() < 1 << 24) => {
            names.iter().map(|&name| name as f32).collect()
        }
        Some(_) => {
            return Ok(Value::Refused(
                "its labels are words, or beyond 2^24, which are not found on shares: ask for one output alone"
                    .into(),
            ));
        }
    };
    let c = &mut Composer::new(call, builder);
    Ok(value(number_of_largest(c, scores, numbers)?, vec![]))
}

/// ZipMap: the values themselves, which stand in the order of the keys.
pub(super) fn by_name(call: &Call) -> Result<Value, Fault> {
    let value = call.required(0)?;
    let names = ints(call, "classlabels_int64s").len() + texts(call, "classlabels_strings").len();
    let columns = match value {
        Value::Secret { shape, .. } | Value::Clear { shape, .. } => shape.last().copied(),
        _ => return unsupported("its input is a constant"),
    };
    match columns.unwrap_or(1) {
        columns if columns == names => Ok(value.clone()),
        columns => bad(format!("it has {names} keys, its input {columns} columns")),
    }
}
