//! Operations that move or repeat elements, and those that add them up by constant numbers.

use super::Holds::{Float, Floats, Int, Ints, Text};
use super::{AXIS, NOW, Operation, from, op};

const FOLDED: &str = "of constants";
const SIZES: &str = "constant sizes; not along the batch";

pub(super) const OPERATIONS: &[Operation] = &[
    from(
        20,
        op(
            "AffineGrid",
            2,
            &[("align_corners", Int, 20, NOW)],
            "a constant size",
        ),
    ),
    from(
        18,
        op("CenterCropPad", 2, &[("axes", Ints, 18, NOW)], SIZES),
    ),
    from(
        9,
        op(
            "Compress",
            2,
            &[("axis", Int, 9, NOW)],
            "a constant condition",
        ),
    ),
    op(
        "ConvTranspose",
        3,
        &[
            ("auto_pad", Text, 0, NOW),
            ("dilations", Ints, 0, NOW),
            ("group", Int, 0, NOW),
            ("kernel_shape", Ints, 0, NOW),
            ("output_padding", Ints, 0, NOW),
            ("output_shape", Ints, 0, NOW),
            ("pads", Ints, 0, NOW),
            ("strides", Ints, 0, NOW),
        ],
        "constant weights",
    ),
    from(
        11,
        op(
            "CumSum",
            2,
            &[("exclusive", Int, 11, NOW), ("reverse", Int, 11, NOW)],
            "along an axis of an item",
        ),
    ),
    op(
        "DepthToSpace",
        1,
        &[("blocksize", Int, 0, NOW), ("mode", Text, 11, NOW)],
        "",
    ),
    from(
        9,
        op(
            "EyeLike",
            1,
            &[("dtype", Int, 9, NOW), ("k", Int, 9, NOW)],
            FOLDED,
        ),
    ),
    from(
        11,
        op(
            "GatherElements",
            2,
            &[("axis", Int, 11, NOW)],
            "constant indices; or of computed values by computed places, along an axis of an item",
        ),
    ),
    from(
        11,
        op(
            "GatherND",
            2,
            &[("batch_dims", Int, 12, NOW)],
            "constant indices; or of constant rows by computed ones; or of every item a row by a place that is found or counted in it, or that an input of whole numbers gives",
        ),
    ),
    from(
        9,
        op(
            "NonZero",
            1,
            &[],
            "of constants; or of a mask by which GatherND leaves rows, of which the last or the first of every item is taken: zeros, where it marks none",
        ),
    ),
    from(
        9,
        op(
            "OneHot",
            3,
            AXIS,
            "constants, or an input of whole numbers, whose new axis stands last",
        ),
    ),
    from(11, op("Range", 3, &[("stash_type", Int, 27, NOW)], FOLDED)),
    from(
        10,
        op(
            "Resize",
            4,
            &[
                ("antialias", Int, 18, NOW),
                ("axes", Ints, 18, NOW),
                ("coordinate_transformation_mode", Text, 11, NOW),
                ("cubic_coeff_a", Float, 11, NOW),
                ("exclude_outside", Int, 11, NOW),
                ("extrapolation_value", Float, 11, NOW),
                ("keep_aspect_ratio_policy", Text, 18, NOW),
                ("mode", Text, 10, NOW),
                ("nearest_mode", Text, 11, NOW),
            ],
            SIZES,
        ),
    ),
    from(
        10,
        op(
            "ReverseSequence",
            2,
            &[("batch_axis", Int, 10, NOW), ("time_axis", Int, 10, NOW)],
            "constant lengths",
        ),
    ),
    from(
        9,
        op(
            "Scatter",
            3,
            &[("axis", Int, 9, 10)],
            "as ScatterElements, up to operator set 10",
        ),
    ),
    from(
        11,
        op(
            "ScatterElements",
            3,
            &[("axis", Int, 11, NOW), ("reduction", Text, 16, NOW)],
            "constant indices, each once unless updates are joined with what stands there; computed updates add, or the largest or smallest counts; or, along the last axis and where the file declares shapes, places that TopK or ArgMax found; or tokens of an input, into rows that are one number everywhere",
        ),
    ),
    from(
        11,
        op(
            "ScatterND",
            3,
            &[("reduction", Text, 16, NOW)],
            "constant indices, each once unless updates are joined with what stands there; computed updates add, or the largest or smallest counts",
        ),
    ),
    op("Size", 1, &[], ""),
    op(
        "SpaceToDepth",
        1,
        &[("blocksize", Int, 0, NOW), ("mode", Text, 28, NOW)],
        "",
    ),
    op("Tile", 2, &[], "by constants, not along the batch"),
    op(
        "TopK",
        2,
        &[
            ("axis", Int, 0, NOW),
            ("k", Int, 0, 9),
            ("largest", Int, 11, NOW),
            ("sorted", Int, 11, NOW),
        ],
        "a constant number of elements, along an axis of an item; more than 128 of up to 1024 places",
    ),
    from(14, op("Trilu", 2, &[("upper", Int, 14, NOW)], "")),
    op(
        "Upsample",
        2,
        &[("mode", Text, 0, 9), ("scales", Floats, 0, 8)],
        SIZES,
    ),
];
