//! ONNX Runtime's own operations.

use super::Holds::{Float, Floats, Int, Ints, Text};
use super::{Attribute, MANY, NOW, Operation, op};

/// The domain of ONNX Runtime's own operations.
pub(in crate::onnx) const RUNTIME: &str = "com.microsoft";

const EPSILON: &[Attribute] = &[("epsilon", Float, 0, NOW)];
const HEADS: &str = "without caches; a mask of 1 and 0 for every key of an item";
const POOL: &[Attribute] = &[
    ("auto_pad", Text, 0, NOW),
    ("ceil_mode", Int, 0, NOW),
    ("channels_last", Int, 0, NOW),
    ("count_include_pad", Int, 0, NOW),
    ("kernel_shape", Ints, 0, NOW),
    ("pads", Ints, 0, NOW),
    ("strides", Ints, 0, NOW),
];
const SCALED: &str = "constant zero points";

pub(super) const OPERATIONS: &[Operation] = &[
    op(
        "Attention",
        7,
        &[
            ("do_rotary", Int, 0, NOW),
            ("mask_filter_value", Float, 0, NOW),
            ("num_heads", Int, 0, NOW),
            ("past_present_share_buffer", Int, 0, NOW),
            ("qkv_hidden_sizes", Ints, 0, NOW),
            ("rotary_embedding_dim", Int, 0, NOW),
            ("scale", Float, 0, NOW),
            ("unidirectional", Int, 0, NOW),
        ],
        HEADS,
    ),
    op("BiasGelu", 2, &[], ""),
    op(
        "CDist",
        2,
        &[("metric", Text, 0, NOW)],
        "of items from constants",
    ),
    op("DequantizeLinear", 3, &[("axis", Int, 0, NOW)], SCALED),
    op("DynamicQuantizeMatMul", 5, &[], "as DynamicQuantizeLinear"),
    op(
        "EmbedLayerNormalization",
        9,
        &[("epsilon", Float, 0, NOW), ("mask_index_type", Int, 0, NOW)],
        "its output and its sum",
    ),
    op("FastGelu", 2, &[], ""),
    op(
        "FusedConv",
        4,
        &[
            ("activation", Text, 0, NOW),
            ("activation_params", Floats, 0, NOW),
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
        "FusedGemm",
        3,
        &[
            ("activation", Text, 0, NOW),
            ("activation_alpha", Float, 0, NOW),
            ("activation_beta", Float, 0, NOW),
            ("activation_gamma", Float, 0, NOW),
            ("alpha", Float, 0, NOW),
            ("beta", Float, 0, NOW),
            ("transA", Int, 0, NOW),
            ("transB", Int, 0, NOW),
        ],
        "as Gemm",
    ),
    op(
        "FusedMatMul",
        2,
        &[
            ("alpha", Float, 0, NOW),
            ("transA", Int, 0, NOW),
            ("transB", Int, 0, NOW),
            ("transBatchA", Int, 0, NOW),
            ("transBatchB", Int, 0, NOW),
        ],
        "as MatMul; batches are not turned",
    ),
    op("Gelu", 1, &[], ""),
    op("MatMulIntegerToFloat", 7, &[], "as MatMulInteger"),
    op(
        "MultiHeadAttention",
        10,
        &[
            ("mask_filter_value", Float, 0, NOW),
            ("num_heads", Int, 0, NOW),
            ("scale", Float, 0, NOW),
            ("unidirectional", Int, 0, NOW),
        ],
        HEADS,
    ),
    op(
        "QGemm",
        9,
        &[
            ("alpha", Float, 0, NOW),
            ("transA", Int, 0, NOW),
            ("transB", Int, 0, NOW),
        ],
        "constant weights and zero points",
    ),
    op("QLinearAdd", 8, &[], SCALED),
    op("QLinearAveragePool", 5, POOL, SCALED),
    op("QLinearConcat", MANY, &[("axis", Int, 0, NOW)], SCALED),
    op(
        "QLinearGlobalAveragePool",
        5,
        &[("channels_last", Int, 0, NOW)],
        SCALED,
    ),
    op("QLinearLeakyRelu", 5, &[("alpha", Float, 0, NOW)], SCALED),
    op("QLinearMul", 8, &[], SCALED),
    op("QLinearSigmoid", 5, &[], SCALED),
    op(
        "QLinearSoftmax",
        5,
        &[("axis", Int, 0, NOW), ("opset", Int, 0, NOW)],
        SCALED,
    ),
    op(
        "QuantizeLinear",
        3,
        &[("axis", Int, 0, NOW)],
        "as that of the standard",
    ),
    op("QuickGelu", 1, &[("alpha", Float, 0, NOW)], ""),
    op(
        "SkipLayerNormalization",
        5,
        EPSILON,
        "constant scale and biases",
    ),
    op(
        "SkipSimplifiedLayerNormalization",
        4,
        EPSILON,
        "constant scale and bias",
    ),
];
