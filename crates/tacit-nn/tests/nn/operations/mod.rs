//! Every operation of import and of the float32 reference by hand, and in fixed point.

mod attention;
mod choices;
mod constants;
mod inputs;
mod layers;
mod maps;
mod merged;
mod nested;
mod products;
mod rounding;
mod trigonometric;
mod turned;
mod whole;

use crate::common::*;
use crate::fixed::run_fixed;
use tacit_nn::onnx::proto::*;
use tacit_nn::plan::{Modulus, Order, PlanOptions, Precision, plan};
use tacit_nn::reference;

/// A model of items of a batch is held to what is expected of it.
fn check(
    item: &[i64],
    nodes: Vec<NodeProto>,
    tensors: Vec<TensorProto>,
    x: &[f32],
    expected: &[f32],
) {
    follows(&model(item, nodes, tensors), x, expected);
}

/// A model's float32 output must be `expected`; every kind of plan must follow it.
fn follows(model: &ModelProto, x: &[f32], expected: &[f32]) {
    let graph = imported(model).unwrap_or_else(|e| panic!("{e}"));
    let output = reference::predict(&graph, x).expect("a fitting input");
    assert_eq!(output.len(), expected.len(), "{output:?}");
    assert!(
        distance(&output, expected) < 1e-5,
        "{output:?} instead of {expected:?}"
    );
    let optimised = graph.optimise();
    let after = reference::predict(&optimised, x).expect("a fitting input");
    assert!(
        distance(&after, expected) < 1e-5,
        "{after:?} instead of {expected:?} after optimisation"
    );
    for (element_bits, order, public_model, bits, bound) in [
        (64, Order::MultiplyThenTruncate, false, None, 1e-3),
        (64, Order::MultiplyThenTruncate, true, None, 1e-3),
        (64, Order::TruncateThenMultiply, false, None, 1e-2),
        (32, Order::MultiplyThenTruncate, false, None, 0.1),
        (64, Order::MultiplyThenTruncate, false, Some(26), 1e-2),
        (64, Order::MultiplyThenTruncate, true, Some(26), 1e-2),
    ] {
        let options = PlanOptions {
            modulus: Modulus::of_bits(element_bits),
            order,
            public_model,
            precision: bits.map(Precision::Bits),
            samples: Some(x),
            ..PlanOptions::default()
        };
        let plan = plan(&optimised, &options).unwrap_or_else(|e| panic!("{e}"));
        let fixed = run_fixed(&plan, &optimised, x);
        assert!(
            distance(&fixed, expected) < bound,
            "{fixed:?} instead of {expected:?} under {options:?}"
        );
    }
}

#[test]
fn arithmetic_with_constants_and_values() {
    let c = tensor("c", &[2, 1], &[2., -4.]);
    let with = |op: &str, inputs: &[&str]| vec![node(op, inputs, "y", vec![])];
    let x = [1., 2., 3., 4.];
    check(
        &[2, 2],
        with("Add", &["x", "c"]),
        vec![c.clone()],
        &x,
        &[3., 4., -1., 0.],
    );
    check(
        &[2, 2],
        with("Sub", &["x", "c"]),
        vec![c.clone()],
        &x,
        &[-1., 0., 7., 8.],
    );
    check(
        &[2, 2],
        with("Sub", &["c", "x"]),
        vec![c.clone()],
        &x,
        &[1., 0., -7., -8.],
    );
    check(
        &[2, 2],
        with("Mul", &["c", "x"]),
        vec![c.clone()],
        &x,
        &[2., 4., -12., -16.],
    );
    check(
        &[2, 2],
        with("Div", &["x", "c"]),
        vec![c],
        &x,
        &[0.5, 1., -0.75, -1.],
    );
    check(
        &[2, 2],
        with("Mul", &["x", "x"]),
        vec![],
        &x,
        &[1., 4., 9., 16.],
    );
    check(&[2, 2], with("Sub", &["x", "x"]), vec![], &x, &[0.; 4]);
    let widened = tensor("c", &[1, 3], &[1., 2., 3.]);
    check(
        &[1],
        with("Add", &["x", "c"]),
        vec![widened],
        &[5.],
        &[6., 7., 8.],
    );
    let crossed = tensor("c", &[2, 1, 2], &[1., 2., 3., 4.]);
    check(
        &[2, 2, 2],
        with("Mul", &["x", "c"]),
        vec![crossed],
        &[1.; 8],
        &[1., 2., 1., 2., 3., 4., 3., 4.],
    );
    let residual = vec![
        node("Relu", &["x"], "r", vec![]),
        node("Add", &["r", "x"], "y", vec![]),
    ];
    check(&[3], residual, vec![], &[-1., 0., 2.], &[-1., 0., 4.]);
}

#[test]
fn activations_and_bounds() {
    let x = [-3., -0.5, 0.0, 2.5, 7.0];
    let scalar = |name: &str, v: f32| tensor(name, &[], &[v]);
    let clip = |inputs: &[&str]| vec![node("Clip", inputs, "y", vec![])];
    check(
        &[5],
        vec![node("Relu", &["x"], "y", vec![])],
        vec![],
        &x,
        &[0., 0., 0., 2.5, 7.],
    );
    let bounds = vec![scalar("low", -1.), scalar("high", 6.)];
    check(
        &[5],
        clip(&["x", "low", "high"]),
        bounds.clone(),
        &x,
        &[-1., -0.5, 0., 2.5, 6.],
    );
    check(
        &[5],
        clip(&["x", "", "high"]),
        bounds.clone(),
        &x,
        &[-3., -0.5, 0., 2.5, 6.],
    );
    check(
        &[5],
        clip(&["x", "low"]),
        bounds,
        &x,
        &[-1., -0.5, 0., 2.5, 7.],
    );
    let relu6 = vec![scalar("low", 0.), scalar("high", 6.)];
    check(
        &[5],
        clip(&["x", "low", "high"]),
        relu6,
        &x,
        &[0., 0., 0., 2.5, 6.],
    );
    let open = vec![scalar("low", 0.), scalar("high", f32::MAX)];
    let graph = imported(&model(&[5], clip(&["x", "low", "high"]), open)).unwrap();
    assert_eq!(graph.nodes[0].op.kind(), "Relu");
}

#[test]
fn batch_normalisation_alone_and_folded() {
    let tensors = vec![
        tensor("scale", &[2], &[2., 1.]),
        tensor("shift", &[2], &[1., 0.]),
        tensor("mean", &[2], &[1., -1.]),
        tensor("var", &[2], &[4., 0.25]),
        tensor("w", &[2, 1, 1, 1], &[1., 2.]),
    ];
    let norm = |x: &str| {
        node(
            "BatchNormalization",
            &[x, "scale", "shift", "mean", "var"],
            "y",
            vec![float("epsilon", 0.0)],
        )
    };
    check(
        &[2, 1, 2],
        vec![norm("x")],
        tensors.clone(),
        &[1., 3., -1., 0.],
        &[1., 3., 0., 2.],
    );
    let nodes = vec![node("Conv", &["x", "w"], "h", vec![]), norm("h")];
    let graph = imported(&model(&[1, 1, 2], nodes.clone(), tensors.clone()))
        .unwrap()
        .optimise();
    assert_eq!(graph.nodes.len(), 1);
    check(&[1, 1, 2], nodes, tensors, &[1., 3.], &[1., 3., 6., 14.]);
}

#[test]
fn scale_and_shift_fold_into_the_next_layer() {
    let tensors = vec![
        tensor("mean", &[2, 1, 1], &[1., 2.]),
        tensor("std", &[2, 1, 1], &[2., 4.]),
        tensor("w", &[1, 2, 1, 2], &[1., 2., 3., 4.]),
    ];
    let nodes = |pads: &[i64]| {
        vec![
            node("Sub", &["x", "mean"], "a", vec![]),
            node("Div", &["a", "std"], "b", vec![]),
            node("Conv", &["b", "w"], "y", vec![list("pads", pads)]),
        ]
    };
    let layers = |pads| {
        imported(&model(&[2, 1, 2], nodes(pads), tensors.clone()))
            .unwrap()
            .optimise()
            .nodes
            .len()
    };
    assert_eq!((layers(&[0, 0, 0, 0]), layers(&[0, 1, 0, 1])), (1, 2));
    check(
        &[2, 1, 2],
        nodes(&[0, 0, 0, 0]),
        tensors.clone(),
        &[3., 5., 6., -2.],
        &[4. + 1. + 3. - 4.],
    );
    check(
        &[2, 1, 2],
        nodes(&[0, 1, 0, 1]),
        tensors.clone(),
        &[3., 5., 6., -2.],
        &[2. + 4., 4., 2. - 3.],
    );
}

#[test]
fn maximum_is_taken_before_the_comparison() {
    let nodes = vec![
        node("Relu", &["x"], "a", vec![]),
        node("MaxPool", &["a"], "b", vec![list("kernel_shape", &[1, 2])]),
        node("MaxPool", &["b"], "y", vec![list("kernel_shape", &[1, 2])]),
    ];
    let graph = imported(&model(&[1, 1, 4], nodes.clone(), vec![]))
        .unwrap()
        .optimise();
    let kinds: Vec<_> = graph
        .nodes
        .iter()
        .map(|n| (n.op.kind(), n.shape[2]))
        .collect();
    assert_eq!(kinds, [("MaxPool", 3), ("MaxPool", 2), ("Relu", 2)]);
    check(
        &[1, 1, 4],
        nodes.clone(),
        vec![],
        &[-1., -2., -3., 5.],
        &[0., 5.],
    );
    // Not where the value before the maximum is used elsewhere.
    let shared = [
        &nodes[..2],
        &[
            node("Slice", &["a", "from", "to", "axis"], "c", vec![]),
            node("Add", &["b", "c"], "y", vec![]),
        ],
    ]
    .concat();
    let tensors = vec![
        ints("from", &[1], &[0]),
        ints("to", &[1], &[-1]),
        ints("axis", &[1], &[3]),
    ];
    check(
        &[1, 1, 4],
        shared,
        tensors,
        &[-1., 2., -3., 5.],
        &[2., 4., 5.],
    );
}

#[test]
fn rearrangements() {
    let x: Vec<f32> = (0..6).map(|v| v as f32).collect();
    let with = |op: &str, inputs: &[&str], attributes| vec![node(op, inputs, "y", attributes)];
    let order = vec![list("perm", &[0, 2, 1])];
    check(
        &[2, 3],
        with("Transpose", &["x"], order),
        vec![],
        &x,
        &[0., 3., 1., 4., 2., 5.],
    );
    let pads = vec![
        ints("p", &[6], &[0, 1, 0, 0, -1, 1]),
        tensor("v", &[], &[9.]),
    ];
    check(
        &[2, 3],
        with("Pad", &["x", "p", "v"], vec![]),
        pads.clone(),
        &x,
        &[9., 9., 9., 9., 0., 1., 2., 9.],
    );
    let some = vec![ints("p", &[2], &[1, 0]), ints("axes", &[1], &[-1])];
    check(
        &[2, 3],
        with("Pad", &["x", "p", "", "axes"], vec![]),
        some,
        &x,
        &[0., 0., 1., 2., 0., 3., 4., 5.],
    );
    let slice = vec![
        ints("s", &[1], &[-1]),
        ints("e", &[1], &[i64::MIN]),
        ints("a", &[1], &[2]),
        ints("t", &[1], &[-2]),
    ];
    check(
        &[2, 3],
        with("Slice", &["x", "s", "e", "a", "t"], vec![]),
        slice,
        &x,
        &[2., 0., 5., 3.],
    );
    let pick = vec![ints("i", &[2], &[2, -3])];
    check(
        &[2, 3],
        with("Gather", &["x", "i"], vec![int("axis", 2)]),
        pick,
        &x,
        &[2., 0., 5., 3.],
    );
    let joined = vec![
        node("Relu", &["x"], "r", vec![]),
        node("Concat", &["x", "r", "x"], "y", vec![int("axis", 2)]),
    ];
    let x = [-1., 2., 3., -4., 1., 1., -2., -2.];
    let expected = [
        -1., 2., 0., 2., -1., 2., 3., -4., 3., 0., 3., -4., 1., 1., 1., 1., 1., 1., -2., -2., 0.,
        0., -2., -2.,
    ];
    check(&[2, 2], joined, vec![], &x, &expected);
}

#[test]
fn shapes_are_free() {
    let nodes = vec![
        node("Unsqueeze", &["x", "one"], "a", vec![]),
        node("Squeeze", &["a", "one"], "b", vec![]),
        node("Shape", &["b"], "s", vec![]),
        node("Gather", &["s", "zero"], "n", vec![]),
        node("Unsqueeze", &["n", "zero"], "n1", vec![]),
        node("Concat", &["n1", "minus"], "target", vec![int("axis", 0)]),
        node("Reshape", &["b", "target"], "c", vec![]),
        node("Flatten", &["c"], "d", vec![]),
        node("Identity", &["d"], "e", vec![]),
        node("Dropout", &["e"], "f", vec![]),
        node("Cast", &["f"], "g", vec![int("to", 1)]),
        node("Reshape", &["g", "copy"], "h", vec![]),
        node("MatMul", &["h", "w"], "y", vec![]),
    ];
    let tensors = vec![
        ints("one", &[1], &[1]),
        ints("zero", &[], &[0]),
        ints("minus", &[1], &[-1]),
        ints("copy", &[2], &[0, -1]),
        tensor("w", &[4, 1], &[1., 10., 100., 1000.]),
    ];
    let graph = imported(&model(&[2, 2], nodes.clone(), tensors.clone()));
    // An axis of Unsqueeze is a list, and its scalar form is read like one.
    assert_eq!(graph.unwrap().nodes.len(), 1);
    check(&[2, 2], nodes, tensors, &[1., 2., 3., 4.], &[4321.]);
}

#[test]
fn tails_are_computed_in_the_clear() {
    let x = [1., 3., 2., 0., -1., -2.];
    let one =
        |op: &str, attributes| predict(&[3], vec![node(op, &["x"], "y", attributes)], vec![], &x);
    assert_eq!(one("ArgMax", vec![int("axis", 1)]), [1., 0.]);
    let soft = one("Softmax", vec![]);
    assert!(
        (soft[..3].iter().sum::<f32>() - 1.0).abs() < 1e-6 && (soft[1] - 0.665_240_9).abs() < 1e-5,
        "{soft:?}"
    );
    assert!((one("LogSoftmax", vec![])[1] - 0.665_240_9f32.ln()).abs() < 1e-5);
    assert!((one("Sigmoid", vec![])[4] - 0.268_941_4).abs() < 1e-6);
    let chain = vec![
        node("Softmax", &["x"], "p", vec![]),
        node("ArgMax", &["p"], "y", vec![int("axis", -1)]),
    ];
    assert_eq!(predict(&[3], chain.clone(), vec![], &x), [1., 0.]);
    let graph = imported(&model(&[3], chain, vec![])).unwrap();
    let plan = plan(&graph, &PlanOptions::default()).unwrap();
    assert_eq!(run_fixed(&plan, &graph, &x), [1., 0.]);
}
