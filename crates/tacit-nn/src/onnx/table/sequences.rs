//! Operations that make and read sequences of tensors.

use super::Holds::Int;
use super::{MANY, NOW, Operation, from, op};

const KNOWN: &str = "of a length that is known";

pub(super) const OPERATIONS: &[Operation] = &[
    from(
        11,
        op(
            "ConcatFromSequence",
            1,
            &[("axis", Int, 11, NOW), ("new_axis", Int, 11, NOW)],
            KNOWN,
        ),
    ),
    from(11, op("SequenceAt", 2, &[], KNOWN)),
    from(11, op("SequenceConstruct", MANY, &[], "")),
    from(11, op("SequenceEmpty", 0, &[("dtype", Int, 11, NOW)], "")),
    from(11, op("SequenceErase", 2, &[], KNOWN)),
    from(11, op("SequenceInsert", 3, &[], KNOWN)),
    from(11, op("SequenceLength", 1, &[], KNOWN)),
    from(
        11,
        op(
            "SplitToSequence",
            2,
            &[("axis", Int, 11, NOW), ("keepdims", Int, 11, NOW)],
            "not along the batch",
        ),
    ),
];
