//! The operations that import takes over: the one list, from which messages and
//! `docs/operations.md` are made.

mod domain;
mod elements;
mod maps;
mod moves;
mod nested;
mod page;
mod quantised;
mod reductions;
mod runtime;
mod sequences;
mod tables;
mod written;

use super::call::{Fault, bad, unsupported};
use super::proto::{AttributeProto, NodeProto};
pub(super) use domain::{MADE, Opsets, is_of_runtime, is_standard, is_table};
use domain::{STANDARD, TABLES};
pub(super) use page::names;
pub use page::operations_page;
pub(super) use runtime::RUNTIME;

/// What an attribute holds.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Holds {
    Int,
    Float,
    Text,
    Tensor,
    Graph,
    Ints,
    Floats,
    Texts,
}
use Holds::{Float, Floats, Graph, Int, Ints, Tensor, Text, Texts};

/// An attribute: its name, what it holds, and the first and last operator set that have it.
type Attribute = (&'static str, Holds, i64, i64);

/// The operator set after all that are known.
const NOW: i64 = 99;

/// An operation of ONNX.
pub struct Operation {
    /// The operation's name, as the file gives it.
    pub name: &'static str,
    /// The first operator set that has it.
    since: i64,
    /// The most inputs that the operation takes.
    inputs: usize,
    attributes: &'static [Attribute],
    /// What of it is supported, where that is not all.
    remark: &'static str,
}

/// An operation of operator sets from 7 on.
const fn op(
    name: &'static str,
    inputs: usize,
    attributes: &'static [Attribute],
    remark: &'static str,
) -> Operation {
    Operation {
        name,
        since: 0,
        inputs,
        attributes,
        remark,
    }
}

/// An operation of operator sets from `since` on.
const fn from(since: i64, operation: Operation) -> Operation {
    Operation { since, ..operation }
}

const MANY: usize = usize::MAX;
const GATHERED: &str = "constant indices, not along the batch; or of a constant rows, along the first axis, by an input of whole numbers, or by computed ones; or of every item a row by a place that is found in it or that an input of whole numbers gives; of rows that only softmaxes see, numbers up to -10000 hide scores";
const AXIS: &[Attribute] = &[("axis", Int, 0, NOW)];
const REDUCE: &[Attribute] = &[
    ("axes", Ints, 0, 17),
    ("keepdims", Int, 0, NOW),
    ("noop_with_empty_axes", Int, 18, NOW),
];
const ELEMENTS: &str = "values with values or with constants, stretched to each other's shape";
const FACTORS: &str = "values with values or with constants, stretched to each other's shape; every party sees a constant that is a single 1";
const END: &str =
    "at the end of a model the receiver of the result computes it, before it the parties do";

const NORMALISES: &[Attribute] = &[
    ("axis", Int, 0, NOW),
    ("epsilon", Float, 0, NOW),
    ("stash_type", Int, 0, NOW),
];
const ATTENTION: &[Attribute] = &[
    ("is_causal", Int, 23, NOW),
    ("kv_num_heads", Int, 23, NOW),
    ("left_window_size", Int, 25, NOW),
    ("q_num_heads", Int, 23, NOW),
    ("qk_matmul_output_mode", Int, 23, NOW),
    ("right_window_size", Int, 25, NOW),
    ("scale", Float, 23, NOW),
    ("softcap", Float, 23, NOW),
    ("softmax_precision", Int, 23, NOW),
];
const MASKS: &str = "as Sigmoid; a constant added before it, and read by nothing else, masks: where it is -10000 or less, shares are 0 and in no sum, and every party knows the places; of a row that it hides whole shares are 0 or those of its scores, where float32 may give all the same";

/// All that are supported, each group by name.
const GROUPS: [&[Operation]; 9] = [
    LAYERS,
    elements::OPERATIONS,
    maps::OPERATIONS,
    moves::OPERATIONS,
    nested::OPERATIONS,
    quantised::OPERATIONS,
    reductions::OPERATIONS,
    sequences::OPERATIONS,
    written::OPERATIONS,
];

/// All that are supported, by name.
fn operations() -> Vec<&'static Operation> {
    let mut all: Vec<_> = GROUPS.into_iter().flatten().collect();
    all.sort_by_key(|op| op.name);
    all
}

/// Layers with weights and windows, sums and products, shapes, and functions that tables or
/// polynomials compute.
const LAYERS: &[Operation] = &[
    op("Add", 2, &[], ELEMENTS),
    op(
        "ArgMax",
        1,
        &[
            ("axis", Int, 0, NOW),
            ("keepdims", Int, 0, NOW),
            ("select_last_index", Int, 12, NOW),
        ],
        END,
    ),
    from(
        23,
        op(
            "Attention",
            7,
            ATTENTION,
            "computed or constant queries, keys, values and caches; constant masks and lengths, of which every party knows the places that they leave out",
        ),
    ),
    op(
        "AveragePool",
        1,
        &[
            ("auto_pad", Text, 0, NOW),
            ("ceil_mode", Int, 10, NOW),
            ("count_include_pad", Int, 0, NOW),
            ("dilations", Ints, 19, NOW),
            ("kernel_shape", Ints, 0, NOW),
            ("pads", Ints, 0, NOW),
            ("strides", Ints, 0, NOW),
        ],
        "",
    ),
    op(
        "BatchNormalization",
        5,
        &[
            ("epsilon", Float, 0, NOW),
            ("momentum", Float, 0, NOW),
            ("spatial", Int, 0, 8),
            ("training_mode", Int, 14, NOW),
        ],
        "with constant numbers; in training mode of an input that is one item",
    ),
    op(
        "Cast",
        1,
        &[
            ("round_mode", Text, 24, NOW),
            ("saturate", Int, 19, NOW),
            ("to", Int, 0, NOW),
        ],
        "constants as onnxruntime casts them; computed values to a float type, which changes nothing, or to whole numbers, which drops what stands after the point; results of comparisons to any type, and what ArgMax gives to any type that holds it",
    ),
    op(
        "Clip",
        3,
        &[("max", Float, 0, 10), ("min", Float, 0, 10)],
        "constant bounds, of which infinite ones and the largest floats are none; computed ones",
    ),
    op("Concat", MANY, AXIS, "computed values and constants"),
    op(
        "Constant",
        0,
        &[
            ("value", Tensor, 0, NOW),
            ("value_float", Float, 12, NOW),
            ("value_floats", Floats, 12, NOW),
            ("value_int", Int, 12, NOW),
            ("value_ints", Ints, 12, NOW),
        ],
        "",
    ),
    op("ConstantOfShape", 1, &[("value", Tensor, 0, NOW)], ""),
    op(
        "Conv",
        3,
        &[
            ("auto_pad", Text, 0, NOW),
            ("dilations", Ints, 0, NOW),
            ("group", Int, 0, NOW),
            ("kernel_shape", Ints, 0, NOW),
            ("pads", Ints, 0, NOW),
            ("strides", Ints, 0, NOW),
        ],
        "constant weights",
    ),
    op(
        "Dropout",
        3,
        &[("ratio", Float, 0, 11), ("seed", Int, 12, NOW)],
        "for inference, where it changes nothing",
    ),
    from(
        12,
        op(
            "Einsum",
            MANY,
            &[("equation", Text, 12, NOW)],
            "of computed values and constants; the batch stays an axis",
        ),
    ),
    op("Erf", 1, &[], ""),
    op("Exp", 1, &[], ""),
    op("Expand", 2, &[], "to a constant shape"),
    op("Flatten", 1, AXIS, "where the batch stays an axis"),
    op("GRU", 6, &RECURRENT_GRU, STEPS),
    op("Gather", 2, AXIS, GATHERED),
    from(20, op("Gelu", 1, &[("approximate", Text, 20, NOW)], "")),
    op(
        "Gemm",
        3,
        &[
            ("alpha", Float, 0, NOW),
            ("beta", Float, 0, NOW),
            ("transA", Int, 0, NOW),
            ("transB", Int, 0, NOW),
        ],
        "constant weights, not with transA; of an input that is one item all of it",
    ),
    op("GlobalAveragePool", 1, &[], ""),
    op("GlobalMaxPool", 1, &[], ""),
    op("Identity", 1, &[], ""),
    op("LSTM", 8, &RECURRENT_LSTM, STEPS),
    op(
        "LayerNormalization",
        3,
        NORMALISES,
        "constant scale and bias; before 17 as ONNX Runtime writes it",
    ),
    op("LeakyRelu", 1, &[("alpha", Float, 0, NOW)], ""),
    op("LogSoftmax", 1, AXIS, END),
    op("MatMul", 2, &[], "values with values or with constants"),
    op(
        "MaxPool",
        1,
        &[
            ("auto_pad", Text, 0, NOW),
            ("ceil_mode", Int, 10, NOW),
            ("dilations", Ints, 10, NOW),
            ("kernel_shape", Ints, 0, NOW),
            ("pads", Ints, 0, NOW),
            ("storage_order", Int, 0, NOW),
            ("strides", Ints, 0, NOW),
        ],
        "the indices of a batch of 1",
    ),
    op("Mul", 2, &[], FACTORS),
    op("Neg", 1, &[], ""),
    op(
        "Pad",
        4,
        &[
            ("mode", Text, 0, NOW),
            ("pads", Ints, 0, 10),
            ("value", Float, 0, 10),
        ],
        "not along the batch",
    ),
    op(
        "Pow",
        2,
        &[],
        "a constant exponent or base, or both computed; of exponents that are not whole, negative or computed the base must be positive; an integer only of whole exponents from 0 on",
    ),
    op("RNN", 6, &RECURRENT, STEPS),
    op(
        "Reciprocal",
        1,
        &[],
        "of values that are not 0; of weights of which only shares are read, 2^-12 stands for smaller ones",
    ),
    op("ReduceMean", 2, REDUCE, "over axes of an item"),
    op(
        "ReduceSum",
        2,
        &[
            ("axes", Ints, 0, 12),
            ("keepdims", Int, 0, NOW),
            ("noop_with_empty_axes", Int, 13, NOW),
        ],
        "over axes of an item",
    ),
    op("Relu", 1, &[], ""),
    op(
        "Reshape",
        2,
        &[("allowzero", Int, 14, NOW)],
        "to a constant shape in which the batch stays an axis",
    ),
    op(
        "Shape",
        1,
        &[("end", Int, 15, NOW), ("start", Int, 15, NOW)],
        "",
    ),
    op("Sigmoid", 1, &[], END),
    op(
        "Slice",
        5,
        &[
            ("axes", Ints, 0, 9),
            ("ends", Ints, 0, 9),
            ("starts", Ints, 0, 9),
        ],
        "by constants, not along the batch",
    ),
    op("Softmax", 1, AXIS, MASKS),
    op(
        "Split",
        2,
        &[
            ("axis", Int, 0, NOW),
            ("num_outputs", Int, 18, NOW),
            ("split", Ints, 0, 12),
        ],
        "not along the batch",
    ),
    op("Sqrt", 1, &[], "of values from 0 on"),
    op(
        "Squeeze",
        2,
        &[("axes", Ints, 0, 12)],
        "where the batch stays an axis",
    ),
    op("Sub", 2, &[], ELEMENTS),
    op("Sum", MANY, &[], ELEMENTS),
    op("Tanh", 1, &[], ""),
    op("Transpose", 1, &[("perm", Ints, 0, NOW)], ""),
    op("Unsqueeze", 2, &[("axes", Ints, 0, 12)], ""),
];

const STEPS: &str = "constant weights, the default activations (RNN: Tanh or Relu), up to 1024 time steps, states to begin with that are computed or the same for every item; lengths of sequences that are constant or an input of whole numbers";

const RECURRENT: [Attribute; 7] = [
    ("activation_alpha", Floats, 0, NOW),
    ("activation_beta", Floats, 0, NOW),
    ("activations", Texts, 0, NOW),
    ("clip", Float, 0, NOW),
    ("direction", Text, 0, NOW),
    ("hidden_size", Int, 0, NOW),
    ("layout", Int, 14, NOW),
];

const RECURRENT_GRU: [Attribute; 8] = and_one(("linear_before_reset", Int, 0, NOW));
const RECURRENT_LSTM: [Attribute; 8] = and_one(("input_forget", Int, 0, NOW));

/// The attributes of all recurrent nodes, and one more.
const fn and_one(more: Attribute) -> [Attribute; 8] {
    let [a, b, c, d, e, f, g] = RECURRENT;
    [a, b, c, d, e, f, g, more]
}

/// The entry of a node's operation, if that is supported.
pub(super) fn operation(node: &NodeProto) -> Option<&'static Operation> {
    let named = |op: &&Operation| op.name == node.op_type;
    match is_table(node) {
        true => tables::OPERATIONS.iter().find(named),
        false if is_of_runtime(node) => runtime::OPERATIONS.iter().find(named),
        false if node.domain.starts_with(written::PREVIEW) => written::PREVIEWED.iter().find(named),
        false => {
            let mut all = GROUPS.into_iter().flatten();
            let made = written::MADE_ALONE.iter().find(named);
            let made = made.filter(|_| node.domain == MADE);
            made.or_else(|| all.find(|op| is_standard(node) && named(op)))
        }
    }
}

impl Operation {
    /// Refuses a node that this operation of ONNX does not allow.
    pub(super) fn check(&self, node: &NodeProto, opset: i64) -> Result<(), Fault> {
        if opset < self.since {
            return bad(format!(
                "operator set {opset} does not have it: it came with {}",
                self.since
            ));
        }
        if node.input.len() > self.inputs {
            return bad(format!(
                "it has {} inputs, it takes at most {}",
                node.input.len(),
                self.inputs
            ));
        }
        node.attribute.iter().try_for_each(|a| {
            let known = |&&(name, _, first, last): &&Attribute| {
                name == a.name && (first..=last).contains(&opset)
            };
            match self.attributes.iter().find(known) {
                Some(&(.., holds, _, _)) if holds.fits(a) => Ok(()),
                Some(_) => bad(format!("its attribute '{}' has another type", a.name)),
                None => unsupported(format!(
                    "it has the attribute '{}', which is not read in operator set {opset}",
                    a.name
                )),
            }
        })
    }
}

impl Holds {
    /// Whether the attribute says so; one that says nothing is judged by what it holds.
    fn fits(self, a: &AttributeProto) -> bool {
        let (code, other) = match self {
            Float => (1, a.i.is_some() || a.s.is_some()),
            Int => (2, a.f.is_some() || a.s.is_some()),
            Text => (3, a.f.is_some() || a.i.is_some()),
            Tensor => (4, a.t.is_none()),
            Graph => (5, a.g.is_none()),
            Floats => (6, !a.ints.is_empty()),
            Ints => (7, !a.floats.is_empty()),
            Texts => (8, !a.ints.is_empty()),
        };
        (a.r#type == code || a.r#type == 0) && !other
    }
}
