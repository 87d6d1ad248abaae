//! ONNX Runtime's own operations (its page ContribOperators.md, domain `com.microsoft`): what its optimiser joins
//! operations of the standard to, and what its quantiser writes. Each is written as what it was joined from.

mod attention;
mod blocks;
mod elements;
mod grouped;
mod products;
mod quantised;

use std::collections::HashSet;

use super::super::call::{Fault, unsupported};
use super::super::lower::UNKNOWN;
use super::super::proto::{AttributeProto, NodeProto};
use super::super::table::is_of_runtime;
use super::{Definition, Written, float, int, ints, text};

/// The definition of a node's operation.
pub(super) fn of(written: &Written) -> Result<Definition, Fault> {
    match written.node.op_type.as_str() {
        "Attention" => attention::packed(written),
        "GatherBlockQuantized" => blocks::gather(written),
        "GroupQueryAttention" => grouped::attention(written),
        "MatMulNBits" => blocks::matmul(written),
        "RotaryEmbedding" => grouped::rotary(written),
        "MultiHeadAttention" => attention::apart(written),
        "Gelu" | "BiasGelu" => Ok(elements::gelu(written)),
        "FastGelu" => Ok(elements::fast_gelu(written)),
        "QuickGelu" => Ok(elements::quick_gelu(written)),
        "EmbedLayerNormalization" => Ok(elements::embedded(written)),
        "SkipLayerNormalization" => Ok(elements::skipped(written, "LayerNormalization")),
        "SkipSimplifiedLayerNormalization" => {
            Ok(elements::skipped(written, "SimplifiedLayerNormalization"))
        }
        "CDist" => products::distances(written),
        "FusedConv" => products::conv(written),
        "FusedGemm" => products::gemm(written),
        "FusedMatMul" | "TransposeMatMul" => products::matmul(written),
        "DequantizeLinear" | "QuantizeLinear" => Ok(quantised::of_standard(written)),
        "DynamicQuantizeMatMul" => Ok(quantised::dynamic_matmul(written)),
        "MatMulIntegerToFloat" => Ok(quantised::matmul_to_float(written)),
        "CausalConvWithState" => convolved(written),
        "LinearAttention" => linear(written),
        "DynamicQuantizeLSTM" => Ok(quantised::lstm(written)),
        "QAttention" => attention::quantised(written),
        "QEmbedLayerNormalization" => Ok(elements::embedded_integers(written)),
        "QGemm" => quantised::gemm(written),
        "QLinearConcat" => quantised::concat(written),
        _ if written.node.op_type.starts_with("QLinear") => quantised::of_floats(written),
        _ => unsupported(UNKNOWN),
    }
}

/// CausalConvWithState, of one axis and every channel, as the standard has it since.
fn convolved(written: &Written) -> Result<Definition, Fault> {
    let read = [("ndim", 1), ("dilation", 1)];
    let rest = [
        "channels_last",
        "input_channel_offset",
        "input_channels",
        "state_channels_last",
        "state_length",
        "state_update_capacity",
        "state_window",
    ];
    let all = read.into_iter().chain(rest.map(|name| (name, 0)));
    plain(written, all)?;
    super::causal_conv(written)
}

/// LinearAttention, as the standard has it since.
fn linear(written: &Written) -> Result<Definition, Fault> {
    plain(written, [("state_window", 0)])?;
    super::attention::linear(written)
}

/// Refuses attributes that are not what they are where a file leaves them out; -1 says that of one that is 0 then.
fn plain<'a>(
    written: &Written,
    all: impl IntoIterator<Item = (&'a str, i64)>,
) -> Result<(), Fault> {
    for (name, read) in all {
        let given = written.int(name, read);
        if given != read && !(read == 0 && given == -1) {
            return unsupported(format!("its '{name}' is {given}"));
        }
    }
    Ok(())
}

/// The outputs of nodes that are counts of the keys of every item: those of embeddings.
pub(super) fn lengths(nodes: &[NodeProto]) -> HashSet<String> {
    let counts = |node: &&NodeProto| node.op_type.ends_with("EmbedLayerNormalization");
    let all = nodes
        .iter()
        .filter(|node| is_of_runtime(node))
        .filter(counts);
    all.filter_map(|node| node.output.get(1).cloned()).collect()
}

/// The sum over an axis, which is left out then.
fn sum_over(d: &mut Definition, written: &Written, axis: i64, [from, to]: [&str; 2]) {
    let gone = int("keepdims", 0);
    if written.opset < 13 {
        d.op("ReduceSum", &[from], to, vec![ints("axes", &[axis]), gone]);
    } else {
        d.integers("along", &[axis]);
        d.op("ReduceSum", &[from, "along"], to, vec![gone]);
    }
}

/// The attributes of the node but for those of these names.
fn others(written: &Written, but: &[&str]) -> Vec<AttributeProto> {
    let all = written.node.attribute.iter();
    let others = all.filter(|a| !but.contains(&a.name.as_str()));
    others.cloned().collect()
}

/// The activation that follows a product, by its name and its numbers.
fn activated(
    d: &mut Definition,
    written: &Written,
    numbers: &[f32],
    [from, to]: [&str; 2],
) -> Result<(), Fault> {
    let op = written.text("activation", "");
    let named = |names: &[&str]| -> Vec<AttributeProto> {
        let pairs = names.iter().zip(numbers);
        pairs.map(|(name, &value)| float(name, value)).collect()
    };
    match op.as_str() {
        "" => d.op("Identity", &[from], to, vec![]),
        "Relu" | "Sigmoid" | "Softplus" | "Softsign" | "Tanh" => d.op(&op, &[from], to, vec![]),
        "Elu" | "LeakyRelu" | "ThresholdedRelu" => d.op(&op, &[from], to, named(&["alpha"])),
        "HardSigmoid" => d.op(&op, &[from], to, named(&["alpha", "beta"])),
        "Clip" if written.opset < 11 => d.op(&op, &[from], to, named(&["min", "max"])),
        "Clip" => {
            let &[low, high] = numbers else {
                return unsupported("its 'activation' Clip has not two ends");
            };
            d.number("low", low);
            d.number("high", high);
            d.op(&op, &[from, "low", "high"], to, vec![]);
        }
        other => return unsupported(format!("its 'activation' is '{other}'")),
    }
    Ok(())
}
