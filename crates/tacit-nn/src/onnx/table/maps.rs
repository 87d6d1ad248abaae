//! Linear maps with constant numbers, and products of elements of one value.

use super::Holds::{Float, Int, Ints, Text};
use super::{NOW, Operation, from, op};

const LINES: &str = "along an axis of an item";

pub(super) const OPERATIONS: &[Operation] = &[
    from(
        18,
        op(
            "Col2Im",
            3,
            &[
                ("dilations", Ints, 18, NOW),
                ("pads", Ints, 18, NOW),
                ("strides", Ints, 18, NOW),
            ],
            "constant sizes",
        ),
    ),
    from(
        26,
        op(
            "CumProd",
            2,
            &[("exclusive", Int, 26, NOW), ("reverse", Int, 26, NOW)],
            LINES,
        ),
    ),
    from(
        17,
        op(
            "DFT",
            3,
            &[
                ("axis", Int, 17, 19),
                ("inverse", Int, 17, NOW),
                ("onesided", Int, 17, NOW),
            ],
            "along an axis of an item, of a constant length up to 4096",
        ),
    ),
    from(
        19,
        op(
            "DeformConv",
            5,
            &[
                ("dilations", Ints, 19, NOW),
                ("group", Int, 19, NOW),
                ("kernel_shape", Ints, 19, NOW),
                ("offset_group", Int, 19, NOW),
                ("pads", Ints, 19, NOW),
                ("strides", Ints, 19, NOW),
            ],
            "constant weights, offsets and masks, of two axes of places",
        ),
    ),
    from(11, op("Det", 1, &[], "of matrices of up to 4 x 4")),
    from(
        16,
        op(
            "GridSample",
            2,
            &[
                ("align_corners", Int, 16, NOW),
                ("mode", Text, 16, NOW),
                ("padding_mode", Text, 16, NOW),
            ],
            "a constant grid",
        ),
    ),
    from(
        9,
        op(
            "MaxUnpool",
            3,
            &[
                ("kernel_shape", Ints, 9, NOW),
                ("pads", Ints, 9, NOW),
                ("strides", Ints, 9, NOW),
            ],
            "constant indices, to the shape that its windows make or a larger one",
        ),
    ),
    from(
        10,
        op(
            "RoiAlign",
            3,
            &[
                ("coordinate_transformation_mode", Text, 16, NOW),
                ("mode", Text, 10, NOW),
                ("output_height", Int, 10, NOW),
                ("output_width", Int, 10, NOW),
                ("sampling_ratio", Int, 10, NOW),
                ("spatial_scale", Float, 10, NOW),
            ],
            "means over constant regions, of an input that is one item",
        ),
    ),
    from(
        23,
        op(
            "RotaryEmbedding",
            4,
            &[
                ("interleaved", Int, 23, NOW),
                ("num_heads", Int, 23, NOW),
                ("rotary_embedding_dim", Int, 23, NOW),
            ],
            "constant angles and places",
        ),
    ),
    from(
        17,
        op(
            "STFT",
            4,
            &[("onesided", Int, 17, NOW)],
            "a constant window, or none, in frames of up to 4096",
        ),
    ),
    from(
        24,
        op(
            "TensorScatter",
            3,
            &[("axis", Int, 24, NOW), ("mode", Text, 24, NOW)],
            "constant indices",
        ),
    ),
];
