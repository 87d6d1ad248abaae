//! Operations that join elements along axes or within windows, and normalisations by what they join.

use super::Holds::{Float, Int, Ints, Text};
use super::{Attribute, END, NORMALISES, NOW, Operation, REDUCE, from, op};

const LOSS: &[Attribute] = &[("ignore_index", Int, 12, NOW), ("reduction", Text, 12, NOW)];
const ITEM: &str = "over axes of an item";

pub(super) const OPERATIONS: &[Operation] = &[
    op(
        "ArgMin",
        1,
        &[
            ("axis", Int, 0, NOW),
            ("keepdims", Int, 0, NOW),
            ("select_last_index", Int, 12, NOW),
        ],
        END,
    ),
    op("GlobalLpPool", 1, &[("p", Int, 0, NOW)], ""),
    from(
        21,
        op(
            "GroupNormalization",
            3,
            &[
                ("epsilon", Float, 21, NOW),
                ("num_groups", Int, 21, NOW),
                ("stash_type", Int, 21, NOW),
            ],
            "constant scale and bias",
        ),
    ),
    op(
        "Hardmax",
        1,
        &[("axis", Int, 0, NOW)],
        "along axes of an item",
    ),
    op(
        "InstanceNormalization",
        3,
        &[("epsilon", Float, 0, NOW)],
        "constant scale and bias",
    ),
    op(
        "LRN",
        1,
        &[
            ("alpha", Float, 0, NOW),
            ("beta", Float, 0, NOW),
            ("bias", Float, 0, NOW),
            ("size", Int, 0, NOW),
        ],
        "",
    ),
    op(
        "LpNormalization",
        1,
        &[("axis", Int, 0, NOW), ("p", Int, 0, NOW)],
        "along an axis of an item that is not all 0",
    ),
    op(
        "LpPool",
        1,
        &[
            ("auto_pad", Text, 0, NOW),
            ("ceil_mode", Int, 18, NOW),
            ("dilations", Ints, 18, NOW),
            ("kernel_shape", Ints, 0, NOW),
            ("p", Int, 0, NOW),
            ("pads", Ints, 0, NOW),
            ("strides", Ints, 0, NOW),
        ],
        "",
    ),
    from(
        9,
        op(
            "MeanVarianceNormalization",
            1,
            &[("axes", Ints, 9, NOW)],
            ITEM,
        ),
    ),
    from(
        12,
        op(
            "NegativeLogLikelihoodLoss",
            3,
            LOSS,
            "constant targets, of an input that is one item",
        ),
    ),
    from(
        23,
        op("RMSNormalization", 2, NORMALISES, "a constant scale"),
    ),
    op("ReduceL1", 2, REDUCE, ITEM),
    op("ReduceL2", 2, REDUCE, ITEM),
    op(
        "ReduceLogSum",
        2,
        REDUCE,
        "of positive sums, over axes of an item",
    ),
    op("ReduceLogSumExp", 2, REDUCE, ITEM),
    op("ReduceMax", 2, REDUCE, ITEM),
    op("ReduceMin", 2, REDUCE, ITEM),
    op("ReduceProd", 2, REDUCE, ITEM),
    op("ReduceSumSquare", 2, REDUCE, ITEM),
    op(
        "SimplifiedLayerNormalization",
        2,
        NORMALISES,
        "ONNX Runtime's name of RMSNormalization",
    ),
    from(
        12,
        op(
            "SoftmaxCrossEntropyLoss",
            3,
            LOSS,
            "constant targets, of an input that is one item",
        ),
    ),
];
