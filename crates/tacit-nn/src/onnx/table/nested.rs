//! Operations that hold graphs.

use super::Holds::{Graph, Int, Ints};
use super::{MANY, NOW, Operation, from, op};

const TURNS: &str = "up to 1024 turns, as many as constants say";

pub(super) const OPERATIONS: &[Operation] = &[
    op(
        "If",
        MANY,
        &[
            ("else_branch", Graph, 0, NOW),
            ("then_branch", Graph, 0, NOW),
        ],
        "of a constant condition; of a computed one both graphs are computed, and must give values of the same shapes",
    ),
    op("Loop", MANY, &[("body", Graph, 0, NOW)], TURNS),
    from(
        9,
        op(
            "Scan",
            MANY,
            &[
                ("body", Graph, 9, NOW),
                ("num_scan_inputs", Int, 9, NOW),
                ("scan_input_axes", Ints, 9, NOW),
                ("scan_input_directions", Ints, 9, NOW),
                ("scan_output_axes", Ints, 9, NOW),
                ("scan_output_directions", Ints, 9, NOW),
            ],
            "up to 1024 turns, as many as constants say; over constant rows, as distances from these, any number",
        ),
    ),
];
