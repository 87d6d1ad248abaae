//! Fraction bits of their own on the way to an inverse root, and of small inverses: more where the ring has room
//! for them, and none where others read what is made there.

use crate::common::*;
use crate::fixed::run_fixed;
use tacit_nn::Plan;
use tacit_nn::onnx::proto::*;
use tacit_nn::plan::{LayerOp, PlanOptions, plan};

/// Elements that are normalised together: a power of two, and another number.
const SIZES: [usize; 2] = [4, 5];

/// What a model is planned with.
struct Given {
    fraction: u32,
    /// The largest input.
    range: f64,
    /// The largest number that is divided by a root, whose inverse is a few units off.
    divided: f64,
}

impl Given {
    fn of(fraction: u32, range: f64) -> Self {
        let divided = range;
        Given {
            fraction,
            range,
            divided,
        }
    }
}

/// Plans a model and holds it against `expected`.
fn holds(model: &ModelProto, given: Given, x: &[f32], expected: &[f32]) -> Plan {
    let graph = imported(model).unwrap_or_else(|e| panic!("{e}")).optimise();
    let options = PlanOptions {
        fraction_bits: Some(given.fraction),
        input_range: Some(given.range),
        ..PlanOptions::default()
    };
    let plan = plan(&graph, &options).unwrap_or_else(|e| panic!("{e}"));
    let again = Plan::from_bytes(&plan.to_bytes()).unwrap_or_else(|e| panic!("{e}"));
    let error = distance(&run_fixed(&again, &graph, x), expected);
    let bound = 0.01 + 3.0 * given.divided / f64::from(given.fraction).exp2();
    let own = own_fractions(&plan);
    assert!(f64::from(error) < bound, "{error}, {own:?}");
    plan
}

/// The fraction bits of their own that results have on the way to an inverse, and those of inverses.
fn fractions(plan: &Plan) -> [Vec<u32>; 2] {
    let mut found = [vec![], vec![]];
    let mut inverse = vec![false];
    for layer in &plan.layers {
        let moves = matches!(layer.op, LayerOp::Rearrange { .. });
        inverse.push(matches!(layer.op, LayerOp::Function(_)) || moves && inverse[layer.inputs[0]]);
        let of = usize::from(inverse[inverse.len() - 1]);
        found[of].extend(layer.own_fraction);
    }
    found
}

fn own_fractions(plan: &Plan) -> Vec<u32> {
    let [before, _] = fractions(plan);
    before
}

fn normalisation(size: usize, epsilon: f32) -> ModelProto {
    let nodes = vec![node(
        "LayerNormalization",
        &["x", "scale"],
        "y",
        vec![float("epsilon", epsilon)],
    )];
    let scale = tensor("scale", &[size as i64], &vec![1.0; size]);
    model(&[size as i64], nodes, vec![scale])
}

/// The layer normalisation of [`normalisation`] in its parts, the mean of squares as a sum times a number.
fn in_parts(size: usize, epsilon: f32) -> ModelProto {
    let nodes = vec![
        node("ReduceMean", &["x"], "m", vec![list("axes", &[-1])]),
        node("Sub", &["x", "m"], "c", vec![]),
        node("Mul", &["c", "c"], "s", vec![]),
        node("ReduceSum", &["s", "last"], "t", vec![]),
        node("Mul", &["t", "share"], "v", vec![]),
        node("Add", &["v", "eps"], "e", vec![]),
        node("Sqrt", &["e"], "r", vec![]),
        node("Div", &["c", "r"], "y", vec![]),
    ];
    let tensors = vec![
        ints("last", &[1], &[-1]),
        tensor("share", &[], &[1.0 / size as f32]),
        tensor("eps", &[], &[epsilon]),
    ];
    model(&[size as i64], nodes, tensors)
}

/// Rows of so many numbers around 1, `scales` apart.
fn rows(size: usize, scales: &[f32]) -> Vec<f32> {
    let row = |scale: &f32| {
        let scale = *scale;
        (0..size).map(move |i| 1.0 + scale * ((i * 7 % 5) as f32 - 1.75))
    };
    scales.iter().flat_map(row).collect()
}

fn normalised(x: &[f32], size: usize, epsilon: f32) -> Vec<f32> {
    let row = |row: &[f32]| {
        let row: Vec<f64> = row.iter().map(|v| f64::from(*v)).collect();
        let mean = row.iter().sum::<f64>() / size as f64;
        let variance = row.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / size as f64;
        let deviation = (variance + f64::from(epsilon)).sqrt();
        let normal = row
            .into_iter()
            .map(move |v| ((v - mean) / deviation) as f32);
        normal.collect::<Vec<_>>()
    };
    x.chunks(size).flat_map(row).collect()
}

/// Deviations of some hundredths beside an epsilon that is not 3 units of the usual fraction. Seen to
/// fail without fraction bits of their own.
#[test]
fn small_deviations_are_normalised_with_their_epsilon() {
    const EPSILON: f32 = 1e-5;
    for size in SIZES {
        let x = rows(size, &[0.001, 0.002, 0.01, 0.1, 0.5]);
        let expected = normalised(&x, size, EPSILON);
        let of_mean = if size == 4 { 36 } else { 35 };
        for (model, own) in [
            (normalisation(size, EPSILON), of_mean),
            (in_parts(size, EPSILON), 36),
        ] {
            let plan = holds(&model, Given::of(18, 4.0), &x, &expected);
            assert_eq!(own_fractions(&plan), [own; 3]);
        }
    }
}

/// A variance up to `2^26`: of the room of 62 bits it leaves the fraction 35, and a division by four takes 2 of them;
/// more than twice the usual it never has. The factor of another mean has 20 beyond those that divide, so that of a
/// variance above 1 no more than the usual are left. Seen to fail where either was forgotten.
#[test]
fn large_squares_have_as_many_fraction_bits_as_the_ring_has_room_for() {
    const RANGE: f64 = 8192.0;
    for size in SIZES {
        let x = rows(size, &[10.0, 300.0, 2500.0]);
        let expected = normalised(&x, size, 1.0);
        let plan = holds(
            &normalisation(size, 1.0),
            Given::of(16, RANGE),
            &x,
            &expected,
        );
        let own = own_fractions(&plan);
        assert_eq!(own, if size == 4 { vec![2 * 16; 3] } else { vec![] });
        let plan = holds(&in_parts(size, 1.0), Given::of(16, RANGE), &x, &expected);
        let own = own_fractions(&plan);
        assert!(own.iter().all(|&own| 16 < own && own < 24), "{own:?}");
    }
}

/// Deviations up to 8192, whose inverse is a few units of 16 fraction bits: with 28 the result is as near as of
/// deviations about 1. Seen to fail without them.
#[test]
fn inverses_of_large_deviations_have_more_bits() {
    for size in SIZES {
        let x = rows(size, &[300.0, 2000.0, 3000.0]);
        let expected = normalised(&x, size, 1.0);
        let given = Given {
            divided: 0.0,
            ..Given::of(16, 8192.0)
        };
        let model = normalisation(size, 1.0);
        let plan = holds(&model, given, &x, &expected);
        let [_, inverses] = fractions(&plan);
        assert_eq!(inverses, [28; 2]);
        let error = distance(
            &run_fixed(&plan, &imported(&model).unwrap().optimise(), &x),
            &expected,
        );
        assert!(error < 1e-3, "{error}");
    }
}

/// A small inverse that is added to another value has the scale of all, and so has one of a number that may be
/// near 1. Seen to fail where sums were passed.
#[test]
fn inverses_that_others_read_have_their_scale() {
    let x: Vec<f32> = (1..40).map(|i| 100.0 * i as f32).collect();
    let inverse = |more: Vec<NodeProto>| {
        let nodes = vec![
            node("Relu", &["x"], "p", vec![]),
            node("Add", &["p", "c"], "s", vec![]),
            node("Reciprocal", &["s"], "r", vec![]),
        ];
        [nodes, more].concat()
    };
    let product = inverse(vec![node("Mul", &["x", "r"], "y", vec![])]);
    let sum = inverse(vec![
        node("Mul", &["x", "r"], "m", vec![]),
        node("Add", &["m", "r"], "y", vec![]),
    ]);
    let c = || vec![tensor("c", &[], &[1.0])];
    let of = |x: &f32, more: f32| (x + more) / (x + 1.0);
    for (nodes, more, bits) in [(product, 0.0, &[29][..]), (sum, 1.0, &[])] {
        let expected: Vec<f32> = x.iter().map(|x| of(x, more)).collect();
        let given = Given::of(18, 4096.0);
        let plan = holds(&model(&[1], nodes, c()), given, &x, &expected);
        let [_, inverses] = fractions(&plan);
        assert_eq!(inverses, bits);
    }
}

/// A variance that is added to the result, and one that is added to another value: what all others
/// have is their scale, too. Seen to fail where readers were not counted, and where sums were passed.
#[test]
fn what_others_read_has_their_scale() {
    let x: Vec<f32> = (-20..20).map(|i| i as f32 / 8.0 + 0.03).collect();
    let c = || vec![tensor("c", &[], &[0.5])];
    let twice = vec![
        node("Mul", &["x", "x"], "s", vec![]),
        node("Add", &["s", "c"], "e", vec![]),
        node("Sqrt", &["e"], "r", vec![]),
        node("Div", &["x", "r"], "n", vec![]),
        node("Add", &["n", "s"], "y", vec![]),
    ];
    let sum = vec![
        node("Mul", &["x", "x"], "s", vec![]),
        node("Relu", &["x"], "p", vec![]),
        node("Add", &["s", "p"], "q", vec![]),
        node("Add", &["q", "c"], "e", vec![]),
        node("Sqrt", &["e"], "r", vec![]),
        node("Div", &["x", "r"], "y", vec![]),
    ];
    let normal = |x: f32, more: f32| x / (x * x + more + 0.5).sqrt();
    let twice_of: Vec<f32> = x.iter().map(|x| normal(*x, 0.0) + x * x).collect();
    let sum_of: Vec<f32> = x.iter().map(|x| normal(*x, x.max(0.0))).collect();
    for (nodes, expected) in [(twice, twice_of), (sum, sum_of)] {
        let plan = holds(&model(&[1], nodes, c()), Given::of(16, 4.0), &x, &expected);
        assert_eq!(own_fractions(&plan), [0; 0]);
    }
}

/// One epsilon for two means of squares, of which one leaves less room: it is encoded once, with the
/// scale of all values. Seen to fail where each mean had a scale of its own.
#[test]
fn an_epsilon_of_two_means_has_one_scale() {
    const LARGE: f32 = 2048.0;
    let x: Vec<f32> = (-20..20).map(|i| i as f32 / 8.0 + 0.03).collect();
    let normal = |x: &'static str, y: &'static str| {
        let [s, v, e, r] = ["s", "v", "e", "r"].map(|name| format!("{name} of {y}"));
        vec![
            node("Mul", &[x, x], &s, vec![]),
            node("ReduceMean", &[&s], &v, vec![list("axes", &[-1])]),
            node("Add", &[&v, "eps"], &e, vec![]),
            node("Sqrt", &[&e], &r, vec![]),
            node("Div", &[x, &r], y, vec![]),
        ]
    };
    let large = vec![node("Mul", &["x", "large"], "l", vec![])];
    let sum = vec![node("Add", &["a", "b"], "y", vec![])];
    let nodes = [large, normal("x", "a"), normal("l", "b"), sum].concat();
    let tensors = vec![tensor("large", &[], &[LARGE]), tensor("eps", &[], &[0.25])];
    let one = |row: &[f32]| -> Vec<f32> {
        let mean = row.iter().map(|x| x * x).sum::<f32>() / row.len() as f32;
        row.iter().map(|x| x / (mean + 0.25).sqrt()).collect()
    };
    let both = |row: &[f32]| -> Vec<f32> {
        let large: Vec<f32> = row.iter().map(|x| LARGE * x).collect();
        let sums = one(row).into_iter().zip(one(&large));
        sums.map(|(a, b)| a + b).collect()
    };
    let expected: Vec<f32> = x.chunks(5).flat_map(both).collect();
    let given = Given {
        divided: 4.0 * f64::from(LARGE),
        ..Given::of(16, 4.0)
    };
    let plan = holds(&model(&[5], nodes, tensors), given, &x, &expected);
    assert_eq!(own_fractions(&plan), [0; 0]);
}
