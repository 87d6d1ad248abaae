use super::super::graphs::{graph, node};
use super::super::mixed;
use super::*;
use crate::graph::{Function, Op};

/// All that value 0, an exact `v`, becomes, in units of one fraction bit.
fn becomes(step: Step, field: bool, v: f32, manner: Manner) -> Vec<i64> {
    let rounding = Rounding {
        fractions: vec![1],
        weights: vec![],
        steps: vec![step],
        field: field.then_some(SELDOM),
        exact: false,
        ranks: None,
    };
    let mut values = vec![v; 1000];
    rounding.round(0, &mut values, 7, manner);
    let mut all: Vec<i64> = values.iter().map(|v| (2.0 * v) as i64).collect();
    all.sort_unstable();
    all.dedup();
    all
}

const DOWN: Manner = Manner::Down(Signs::Negative);

/// An inverse root of 20 fraction bits is right to a few of its last places however large it is, one of 8 to a
/// 4096th: the iteration has no fewer than 12.
#[test]
fn large_results_by_tables_err_by_so_many_units() {
    let options = PlanOptions {
        precision: Some(mixed::Precision::Auto),
        ..PlanOptions::default()
    };
    let root = PlannedFunction::InverseSqrt { low: -4, high: 4 };
    let share = |f| errors(root, &options, f, f).expect("it has errors")[1];
    assert_eq!([20, 12, 8].map(share), [1.0, 1.0, 1.0 / 16.0]);
    assert_eq!(
        errors(PlannedFunction::Erf, &options, 20, 20).expect("it has errors"),
        [1.0, 0.0]
    );
}

#[test]
fn truncations_lose_or_toss() {
    assert_eq!(becomes(Step::Truncated(2), false, 1.25, DOWN), [2]);
    assert_eq!(
        becomes(Step::Truncated(2), false, 1.25, Manner::ByChance),
        [2, 3]
    );
    assert_eq!(becomes(Step::Truncated(2), false, 1.5, DOWN), [3]);
    // What float32 makes of 3 units.
    assert_eq!(becomes(Step::Truncated(2), false, 1.5 - 1e-7, DOWN), [3]);
}

#[test]
fn sums_and_choices_are_exact() {
    for manner in [DOWN, Manner::ByChance] {
        assert_eq!(becomes(Step::Exact, true, 1.5 - 1e-7, manner), [3]);
    }
}

#[test]
fn a_field_rounds_up_an_exact_number_at_times() {
    assert_eq!(
        becomes(Step::Truncated(2), false, 1.5, Manner::ByChance),
        [3]
    );
    assert_eq!(
        becomes(Step::Truncated(2), true, 1.5, Manner::ByChance),
        [3, 4]
    );
    assert_eq!(
        becomes(Step::Truncated(15), true, 1.5, Manner::ByChance),
        [3, 4]
    );
    assert_eq!(
        becomes(Step::Truncated(17), true, 1.5, Manner::ByChance),
        [3]
    );
}

#[test]
fn functions_err_by_what_they_state() {
    let function = Step::Function(1.0, 2.0);
    // 3 units, less 1 + 2 * 1.5.
    assert_eq!(becomes(function, false, 1.5, DOWN), [-1]);
    let above = Manner::Down(Signs::Positive);
    assert_eq!(becomes(function, false, 1.5, above), [7]);
    assert_eq!(
        becomes(function, false, 1.5, Manner::ByChance),
        [-1, 0, 1, 2, 3, 4, 5, 6, 7]
    );
}

#[test]
fn what_is_beyond_all_numbers_stays_there() {
    let rounding = Rounding {
        fractions: vec![1],
        weights: vec![],
        steps: vec![Step::Function(1.0, 0.0)],
        field: None,
        exact: false,
        ranks: None,
    };
    let ends = [f32::INFINITY, f32::NEG_INFINITY];
    let mut values = ends;
    rounding.round(0, &mut values, 0, DOWN);
    assert_eq!(values, ends);
}

/// A sigmoid and its product with the input: with factors truncated before the product, the input
/// is truncated, and the sigmoid's error is one of fewer bits.
#[test]
fn steps_follow_the_order_of_truncation() {
    let domain = (f32::NEG_INFINITY, f32::INFINITY);
    let function = Function::Sigmoid;
    let graph = graph(
        &[1],
        vec![
            node(Op::Function { function, domain }, &[0], &[1]),
            node(Op::Mul, &[0, 1], &[1]),
            node(Op::Relu, &[2], &[1]),
        ],
    );
    let options = PlanOptions::default();
    let scales = [
        Scale {
            function: Some(PlannedFunction::Sigmoid),
            ..Scale::default()
        },
        Scale {
            trunc: 8,
            ..Scale::default()
        },
        Scale::default(),
    ];
    let steps = |kept: [u32; 4]| {
        let rounding = Rounding::new(&graph, &options, &scales, |_| 16, kept.to_vec());
        rounding.unwrap_or_else(|e| panic!("{e}")).steps
    };
    let after = steps([16; 4]);
    assert_eq!(
        [after[0], after[2], after[3]],
        [Step::Encoded, Step::Truncated(8), Step::Exact]
    );
    let before = steps([8, 8, 16, 16]);
    assert_eq!(before[0], Step::Truncated(8));
    match (after[1], before[1]) {
        (Step::Function(after, _), Step::Function(before, _)) => {
            assert!(after > 0.0 && before == after / 256.0, "{after}, {before}");
        }
        other => panic!("{other:?}"),
    }
}
