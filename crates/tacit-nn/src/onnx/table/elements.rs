//! Operations on every element by itself, comparisons and logic.

use super::Holds::{Float, Int, Text};
use super::{ELEMENTS, MANY, NOW, Operation, from, op};

const POSITIVE: &str = "of positive values";
const FINITE: &str = "of inputs and what is finite by the way it is made of them, none of which is; of quotients and powers below 0, where what is divided by is 0";
const TRUTHS: &str = "of results of comparisons";
const SIGNS: &str =
    "of values with values or with constants; 0 or 1, exactly so of what is told apart by rounding";
const WHOLE: &str = "of values in a range of up to 2^20 whole numbers; a value nearer to a step than its rounding may take either side";

const TURNS: &str = "to 1e-6 and some 20 units of the last fraction bit, and for every 500 turns of the angle one more; up to 2^19 turns";
const ARC: &str =
    "of values from -1 to 1; near these ends, where it is steepest, as a square root is near 0";

pub(super) const OPERATIONS: &[Operation] = &[
    op("Abs", 1, &[], ""),
    op("Acos", 1, &[], ARC),
    from(9, op("Acosh", 1, &[], "of values above 1")),
    op("And", 2, &[], TRUTHS),
    op("Asin", 1, &[], ARC),
    from(9, op("Asinh", 1, &[], "")),
    op(
        "Atan",
        1,
        &[],
        "to 1e-6 and some 10 units of the last fraction bit",
    ),
    from(9, op("Atanh", 1, &[], "of values between -1 and 1")),
    from(
        15,
        op(
            "CastLike",
            2,
            &[("round_mode", Text, 24, NOW), ("saturate", Int, 19, NOW)],
            "as Cast, to the type of a constant",
        ),
    ),
    op("Ceil", 1, &[], WHOLE),
    from(12, op("Celu", 1, &[("alpha", Float, 12, NOW)], "")),
    op("Cos", 1, &[], TURNS),
    from(9, op("Cosh", 1, &[], "")),
    op(
        "Div",
        2,
        &[],
        "as Mul; a computed divisor must not be 0 where a choice takes the quotient, and where samples show both signs of it a comparison more is computed; of integers what stands before the point",
    ),
    op("Elu", 1, &[("alpha", Float, 0, NOW)], ""),
    op("Equal", 2, &[], SIGNS),
    op("Floor", 1, &[], WHOLE),
    op("Greater", 2, &[], SIGNS),
    from(12, op("GreaterOrEqual", 2, &[], SIGNS)),
    op(
        "HardSigmoid",
        1,
        &[("alpha", Float, 0, NOW), ("beta", Float, 0, NOW)],
        "",
    ),
    from(14, op("HardSwish", 1, &[], "")),
    from(
        10,
        op(
            "IsInf",
            1,
            &[
                ("detect_negative", Int, 10, NOW),
                ("detect_positive", Int, 10, NOW),
            ],
            FINITE,
        ),
    ),
    from(
        9,
        op(
            "IsNaN",
            1,
            &[],
            "of numbers of inputs, which may be missing then; of what is finite by the way it is made of them, none of which is; of quotients, where the divisor is 0; of a softmax's shares, where nothing is left of a line",
        ),
    ),
    op("Less", 2, &[], SIGNS),
    from(12, op("LessOrEqual", 2, &[], SIGNS)),
    op("Log", 1, &[], POSITIVE),
    op("Max", MANY, &[], ELEMENTS),
    op("Mean", MANY, &[], ELEMENTS),
    op("Min", MANY, &[], ELEMENTS),
    from(18, op("Mish", 1, &[], "")),
    from(
        10,
        op(
            "Mod",
            2,
            &[("fmod", Int, 10, NOW)],
            "by constants, or by what is positive; as Floor of the quotient",
        ),
    ),
    op("Not", 1, &[], TRUTHS),
    from(
        15,
        op("OptionalGetElement", 1, &[], "of a tensor, which it is"),
    ),
    op("Or", 2, &[], TRUTHS),
    op("PRelu", 2, &[], "a slope of constants or of values"),
    from(11, op("Round", 1, &[], WHOLE)),
    op(
        "Selu",
        1,
        &[("alpha", Float, 0, NOW), ("gamma", Float, 0, NOW)],
        "",
    ),
    from(
        9,
        op(
            "Shrink",
            1,
            &[("bias", Float, 9, NOW), ("lambd", Float, 9, NOW)],
            "a lambd from 0 on",
        ),
    ),
    from(9, op("Sign", 1, &[], "")),
    op("Sin", 1, &[], TURNS),
    from(9, op("Sinh", 1, &[], "")),
    op("Softplus", 1, &[], ""),
    op("Softsign", 1, &[], ""),
    from(
        28,
        op("SwiGLU", 2, &[("alpha", Float, 28, NOW)], "a computed gate"),
    ),
    from(24, op("Swish", 1, &[("alpha", Float, 24, NOW)], "")),
    op(
        "Tan",
        1,
        &[],
        "as Sin; near a pole by so much of its size as the last fraction bits are of the distance to the pole",
    ),
    from(
        10,
        op("ThresholdedRelu", 1, &[("alpha", Float, 10, NOW)], ""),
    ),
    from(
        9,
        op(
            "Where",
            3,
            &[],
            "a condition of constants or of comparisons; values or constants",
        ),
    ),
    op("Xor", 2, &[], TRUTHS),
];
