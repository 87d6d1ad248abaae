//! Operations that are written as others.

use super::Holds::{Float, Graph, Int, Text};
use super::{Attribute, MANY, NOW, Operation, from, op};

/// The operations of the standard's own domain.
pub(super) const OPERATIONS: &[Operation] = &[
    from(
        27,
        op(
            "CausalConvWithState",
            4,
            &[("activation", Text, 27, NOW)],
            "a constant weight, a tensor of the file; a computed or constant state",
        ),
    ),
    from(
        27,
        op(
            "LinearAttention",
            6,
            &[
                ("chunk_size", Int, 27, NOW),
                ("kv_num_heads", Int, 27, NOW),
                ("q_num_heads", Int, 27, NOW),
                ("scale", Float, 27, NOW),
                ("update_rule", Text, 27, NOW),
            ],
            "computed or constant inputs and states, step by step: up to 1024",
        ),
    ),
];

/// The domains whose names begin so, of which a file may name any operator set.
pub(super) const PREVIEW: &str = "ai.onnx.preview";

/// The operations of domains that are in preview.
pub(super) const PREVIEWED: &[Operation] = &[
    op(
        "Adagrad",
        MANY,
        &[
            ("decay_factor", Float, 0, NOW),
            ("epsilon", Float, 0, NOW),
            ("norm_coefficient", Float, 0, NOW),
        ],
        STEPS,
    ),
    op(
        "Adam",
        MANY,
        &[
            ("alpha", Float, 0, NOW),
            ("beta", Float, 0, NOW),
            ("epsilon", Float, 0, NOW),
            ("norm_coefficient", Float, 0, NOW),
            ("norm_coefficient_post", Float, 0, NOW),
        ],
        STEPS,
    ),
    op(
        "FlexAttention",
        3,
        FLEXIBLE,
        "computed or constant queries, keys and values; graphs of operations on this page",
    ),
    op(
        "Momentum",
        MANY,
        &[
            ("alpha", Float, 0, NOW),
            ("beta", Float, 0, NOW),
            ("mode", Text, 0, NOW),
            ("norm_coefficient", Float, 0, NOW),
        ],
        STEPS,
    ),
];

/// Operations that stand in definitions alone.
pub(super) const MADE_ALONE: &[Operation] = &[
    op("ByHeads", 2, &[("num_heads", Int, 0, NOW)], ""),
    op(
        "DequantizeBlocks",
        4,
        &[
            ("axis", Int, 0, NOW),
            ("bits", Int, 0, NOW),
            ("block_size", Int, 0, NOW),
            ("columns", Int, 0, NOW),
        ],
        "",
    ),
    op("Places", 2, &[], ""),
    op("Unpadded", 3, &[], ""),
    op("WindowCache", 2, &[], ""),
];

const FLEXIBLE: &[Attribute] = &[
    ("prob_mod", Graph, 0, NOW),
    ("scale", Float, 0, NOW),
    ("score_mod", Graph, 0, NOW),
    ("softmax_precision", Int, 0, NOW),
];

const STEPS: &str = "one step, whose number is constant";
