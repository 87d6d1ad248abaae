//! Operations on numbers that stand for integers of a few bits.

use super::Holds::{Int, Ints, Text};
use super::{Attribute, NOW, Operation, from, op};

const CONV: [Attribute; 6] = [
    ("auto_pad", Text, 10, NOW),
    ("dilations", Ints, 10, NOW),
    ("group", Int, 10, NOW),
    ("kernel_shape", Ints, 10, NOW),
    ("pads", Ints, 10, NOW),
    ("strides", Ints, 10, NOW),
];

const SCALES: &str = "constant zero points, of types of 8 and 16 bits; constant weights";

pub(super) const OPERATIONS: &[Operation] = &[
    from(
        10,
        op(
            "ConvInteger",
            4,
            &CONV,
            "constant weights and their zero points; of the input also a single computed one",
        ),
    ),
    from(
        10,
        op(
            "DequantizeLinear",
            3,
            &[
                ("axis", Int, 13, NOW),
                ("block_size", Int, 21, NOW),
                ("output_dtype", Int, 23, NOW),
            ],
            "constant zero points, of types of 8 bits and more",
        ),
    ),
    from(
        11,
        op(
            "DynamicQuantizeLinear",
            1,
            &[],
            "of every item by itself, as of a batch of one, where the batch is free",
        ),
    ),
    from(
        10,
        op(
            "MatMulInteger",
            4,
            &[],
            "zero points, constant or a single computed one",
        ),
    ),
    from(10, op("QLinearConv", 9, &CONV, SCALES)),
    from(
        10,
        op(
            "QLinearMatMul",
            8,
            &[],
            "constant zero points, of types of 8 and 16 bits",
        ),
    ),
    from(
        10,
        op(
            "QuantizeLinear",
            3,
            &[
                ("axis", Int, 13, NOW),
                ("block_size", Int, 21, NOW),
                ("output_dtype", Int, 23, NOW),
                ("precision", Int, 23, NOW),
                ("saturate", Int, 19, NOW),
            ],
            "constant zero points, of types of 8 and 16 bits; what is a rounding error away from the middle of \
             two integers may become either",
        ),
    ),
];
