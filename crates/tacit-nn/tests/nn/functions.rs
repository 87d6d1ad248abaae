//! Elementary functions inside a model, and what is made of them: against `f64`, in fixed point
//! against the reference, and what the planner says of their arguments.

use crate::common::*;
use crate::fixed::run_fixed;
use tacit_nn::Graph;
use tacit_nn::onnx::proto::*;
use tacit_nn::plan::{Functions, LayerOp, Modulus, PlanOptions, PlannedFunction, Precision, plan};
use tacit_nn::reference;

/// Numbers from -4 to 4.
fn numbers() -> Vec<f32> {
    (-32..32).map(|i| i as f32 / 8.0 + 0.03).collect()
}

/// Sums with `x` follow, so that nothing stays for the receiver of the result.
fn inside(op: &str, inputs: &[&str], attributes: Vec<AttributeProto>) -> Vec<NodeProto> {
    vec![
        node(op, inputs, "f", attributes),
        node("Add", &["f", "x"], "y", vec![]),
    ]
}

/// Holds `graph` against `expected` in float32 and in fixed point over both rings.
fn holds(graph: Graph, x: &[f32], expected: &[f32], bounds: [f32; 2]) {
    let graph = graph.optimise();
    let float = reference::predict(&graph, x).expect("a fitting input");
    assert!(
        distance(&float, expected) < 1e-5,
        "{float:?} instead of {expected:?}"
    );
    for (element_bits, bound) in [(64, bounds[0]), (32, bounds[1])] {
        let options = PlanOptions {
            modulus: Modulus::of_bits(element_bits),
            samples: Some(x),
            ..PlanOptions::default()
        };
        let plan = plan(&graph, &options).unwrap_or_else(|e| panic!("{element_bits}: {e}"));
        let again = tacit_nn::Plan::from_bytes(&plan.to_bytes()).unwrap_or_else(|e| panic!("{e}"));
        let error = distance(&run_fixed(&again, &graph, x), expected);
        assert!(
            error < bound,
            "{element_bits} bits, f {}: {error}",
            plan.fraction_bits
        );
    }
}

/// Fast functions err by more than accurate ones and by no more than about 2^-10, which the plan's error says.
#[test]
fn fast_functions_are_as_near_as_they_say() {
    let x = numbers();
    let model = model(&[1], inside("Tanh", &["x"], vec![]), vec![]);
    let graph = imported(&model).expect("a model").optimise();
    let expected = with_x(&x, f64::tanh);
    let [accurate, fast] = [Functions::Accurate, Functions::Fast].map(|functions| {
        let options = PlanOptions {
            functions,
            samples: Some(&x),
            ..PlanOptions::default()
        };
        let plan = plan(&graph, &options).expect("fits");
        let again = tacit_nn::Plan::from_bytes(&plan.to_bytes()).unwrap_or_else(|e| panic!("{e}"));
        let error = distance(&run_fixed(&again, &graph, &x), &expected);
        assert!(error <= plan.error as f32, "{error} > {}", plan.error);
        error
    });
    assert!(
        accurate < 1e-4 && accurate < fast && fast < 1e-3,
        "{accurate} {fast}"
    );
}

fn with_x(x: &[f32], f: impl Fn(f64) -> f64) -> Vec<f32> {
    x.iter()
        .map(|&v| (f(v.into()) + f64::from(v)) as f32)
        .collect()
}

#[test]
fn functions_of_every_element() {
    let x = numbers();
    let positive: Vec<f32> = x.iter().map(|v| v.abs() + 0.25).collect();
    let erf = tacit_protocols::math::error_function;
    let gelu = |v: f64| v * (1.0 + erf(v / 2f64.sqrt())) / 2.0;
    let bent = |v: f64| (0.797_884_56 * (v + 0.044_715 * v.powi(3))).tanh();
    type Case<'a> = (
        &'a str,
        Vec<AttributeProto>,
        &'a [f32],
        &'a dyn Fn(f64) -> f64,
    );
    let cases: [Case; 8] = [
        ("Sigmoid", vec![], &x, &|v| 1.0 / (1.0 + (-v).exp())),
        ("Tanh", vec![], &x, &f64::tanh),
        ("Erf", vec![], &x, &erf),
        ("Exp", vec![], &x[24..40], &f64::exp),
        ("Reciprocal", vec![], &positive, &f64::recip),
        ("Sqrt", vec![], &positive, &f64::sqrt),
        ("Gelu", vec![], &x, &gelu),
        ("Gelu", vec![text("approximate", "tanh")], &x, &|v| {
            v * (1.0 + bent(v)) / 2.0
        }),
    ];
    for (op, attributes, x, exact) in cases {
        println!("{op} {attributes:?}");
        let mut model = model(&[1], inside(op, &["x"], attributes), vec![]);
        model.opset_import[0].version = 20;
        let graph = imported(&model).unwrap_or_else(|e| panic!("{e}"));
        holds(graph, x, &with_x(x, exact), [2e-4, 0.02]);
    }
}

#[test]
fn quotients_and_powers() {
    let x: Vec<f32> = numbers().iter().map(|v| v.abs() + 0.5).collect();
    let half = || vec![tensor("c", &[], &[1.5])];
    let quotient = |inputs: &[&str]| {
        let nodes = inside("Div", inputs, vec![]);
        imported(&model(&[1], nodes, half())).unwrap_or_else(|e| panic!("{e}"))
    };
    holds(
        quotient(&["c", "x"]),
        &x,
        &with_x(&x, |v| 1.5 / v),
        [2e-4, 0.03],
    );
    let shifted = vec![
        node("Add", &["x", "c"], "d", vec![]),
        node("Div", &["x", "d"], "y", vec![]),
    ];
    let graph = imported(&model(&[1], shifted, half())).unwrap_or_else(|e| panic!("{e}"));
    let expected: Vec<f32> = x.iter().map(|v| v / (v + 1.5)).collect();
    holds(graph, &x, &expected, [2e-4, 0.02]);
    for (exponent, power) in [(2.0, 2.0), (3.0, 3.0), (0.5, 0.5)] {
        let nodes = inside("Pow", &["x", "e"], vec![]);
        let graph = imported(&model(&[1], nodes, vec![tensor("e", &[], &[exponent])]));
        let graph = graph.unwrap_or_else(|e| panic!("{e}"));
        holds(graph, &x, &with_x(&x, |v| v.powf(power)), [1e-3, 1.5]);
    }
    // A number by its own root is its root; of others a quotient takes the inverse root (test_spectra.py).
    let normal = vec![
        node("Sqrt", &["x"], "r", vec![]),
        node("Div", &["x", "r"], "y", vec![]),
    ];
    let graph = imported(&model(&[1], normal, vec![])).unwrap_or_else(|e| panic!("{e}"));
    let kinds: Vec<_> = graph
        .clone()
        .optimise()
        .nodes
        .iter()
        .map(|n| n.op.kind())
        .collect();
    assert_eq!(kinds, ["SquareRoot"]);
    let expected: Vec<f32> = x.iter().map(|v| v.sqrt()).collect();
    holds(graph, &x, &expected, [2e-4, 0.02]);
}

#[test]
fn softmax_inside_a_model_follows_every_axis() {
    let x: Vec<f32> = (0..24).map(|i| (i * 7 % 24) as f32 / 4.0 - 3.0).collect();
    for (axis, shape) in [(1, [2usize, 3, 4]), (2, [2, 3, 4]), (-1, [2, 3, 4])] {
        let along = if axis < 0 { 2 } else { axis as usize - 1 };
        let (size, inner) = (shape[along], shape[along + 1..].iter().product::<usize>());
        let line = |e: usize| {
            (0..size).map(move |i| e / (size * inner) * size * inner + i * inner + e % inner)
        };
        let expected: Vec<f32> = (0..24)
            .map(|e| x[e].exp() / line(e).map(|i| x[i].exp()).sum::<f32>() + x[e])
            .collect();
        let nodes = inside("Softmax", &["x"], vec![int("axis", axis)]);
        let graph = imported(&model(&[2, 3, 4], nodes, vec![])).unwrap_or_else(|e| panic!("{e}"));
        holds(graph.clone(), &x, &expected, [2e-4, 0.02]);
        // By construction the largest argument of exp is 0 and the sum at least 1.
        let plan = plan(&graph, &PlanOptions::default()).unwrap_or_else(|e| panic!("{e}"));
        let functions: Vec<_> = plan
            .layers
            .iter()
            .filter_map(|l| match l.op {
                LayerOp::Function(function) => Some(function),
                _ => None,
            })
            .collect();
        let exp = PlannedFunction::Exp {
            high: 0,
            bounded: true,
        };
        let exact = exp.elementary(plan.functions, 64, plan.fraction_bits, plan.fraction_bits);
        assert!(exact.expect("a function that fits").bounded);
        let high = if size == 4 { 3 } else { 2 };
        assert_eq!(
            functions,
            [exp, PlannedFunction::Reciprocal { low: -1, high }]
        );
    }
}

/// No argument above 0 is no promise of it but in a softmax: what is made by a product is rounded.
#[test]
fn only_a_softmax_promises_the_bound_of_its_exponentials() {
    let nodes = vec![
        node("Relu", &["x"], "r", vec![]),
        node("Mul", &["r", "down"], "d", vec![]),
        node("Exp", &["d"], "e", vec![]),
        node("Add", &["e", "x"], "y", vec![]),
    ];
    let tensors = vec![tensor("down", &[], &[-0.7])];
    let graph = imported(&model(&[1], nodes, tensors)).unwrap_or_else(|e| panic!("{e}"));
    let widths = [None, Some(Precision::Bits(16))];
    for precision in widths {
        let options = PlanOptions {
            precision,
            ..PlanOptions::default()
        };
        let plan = plan(&graph, &options).unwrap_or_else(|e| panic!("{e}"));
        let promised = plan.layers.iter().find_map(|layer| match layer.op {
            LayerOp::Function(PlannedFunction::Exp { high, bounded }) => Some((high, bounded)),
            _ => None,
        });
        assert_eq!(promised, Some((0, false)), "{precision:?}");
    }
}

#[test]
fn layer_normalisation() {
    let x: Vec<f32> = (0..24).map(|i| (i * 5 % 24) as f32 / 6.0 - 2.0).collect();
    let tensors = || {
        vec![
            tensor("scale", &[4], &[1.0, 0.5, -1.0, 2.0]),
            tensor("bias", &[4], &[0.0, 1.0, 0.5, -0.5]),
            tensor("eps", &[], &[1e-3]),
            tensor("two", &[], &[2.0]),
        ]
    };
    let expected: Vec<f32> = x
        .chunks(4)
        .flat_map(|row| {
            let mean = row.iter().sum::<f32>() / 4.0;
            let variance = row.iter().map(|v| (v - mean).powi(2)).sum::<f32>() / 4.0;
            let [scale, bias] = [[1.0, 0.5, -1.0, 2.0], [0.0, 1.0, 0.5, -0.5]];
            (0..4)
                .map(move |i| (row[i] - mean) / (variance + 1e-3).sqrt() * scale[i] + bias[i])
                .collect::<Vec<_>>()
        })
        .collect();
    let one = vec![node(
        "LayerNormalization",
        &["x", "scale", "bias"],
        "y",
        vec![float("epsilon", 1e-3)],
    )];
    let mean = |from: &str, to: &str| node("ReduceMean", &[from], to, vec![list("axes", &[-1])]);
    let several = vec![
        mean("x", "m"),
        node("Sub", &["x", "m"], "c", vec![]),
        node("Pow", &["c", "two"], "s", vec![]),
        mean("s", "v"),
        node("Add", &["v", "eps"], "e", vec![]),
        node("Sqrt", &["e"], "r", vec![]),
        node("Div", &["c", "r"], "n", vec![]),
        node("Mul", &["n", "scale"], "t", vec![]),
        node("Add", &["t", "bias"], "y", vec![]),
    ];
    for nodes in [one, several] {
        let graph = imported(&model(&[3, 4], nodes, tensors())).unwrap_or_else(|e| panic!("{e}"));
        holds(graph, &x, &expected, [1e-3, 0.05]);
    }
}

#[test]
fn the_last_functions_stay_with_the_receiver() {
    let tail = |nodes: Vec<NodeProto>| {
        let graph = imported(&model(&[3], nodes, vec![ints("to", &[2], &[0, 3])]));
        let graph = graph.unwrap_or_else(|e| panic!("{e}"));
        (graph.nodes.len(), graph.outputs[0].tail.len())
    };
    assert_eq!(tail(vec![node("Sigmoid", &["x"], "y", vec![])]), (0, 1));
    let shaped = vec![
        node("Sigmoid", &["x"], "s", vec![]),
        node("Reshape", &["s", "to"], "y", vec![]),
    ];
    assert_eq!(tail(shaped), (0, 1));
    let softmax = vec![
        node("Sigmoid", &["x"], "s", vec![]),
        node("Softmax", &["s"], "p", vec![]),
        node("ArgMax", &["p"], "y", vec![int("axis", 1)]),
    ];
    assert_eq!(tail(softmax), (0, 3));
    let twice = vec![
        node("Sigmoid", &["x"], "s", vec![]),
        node("Mul", &["s", "x"], "m", vec![]),
        node("Sigmoid", &["m"], "y", vec![]),
    ];
    assert_eq!(tail(twice), (2, 1));
}

/// The text of the refusal to plan for these samples.
fn refusal(nodes: Vec<NodeProto>, options: PlanOptions) -> String {
    let graph = imported(&model(&[1], nodes, vec![])).unwrap_or_else(|e| panic!("{e}"));
    let refused = plan(&graph.optimise(), &options).err();
    refused.expect("the plan must be refused").to_string()
}

#[test]
fn arguments_that_do_not_fit_are_refused_by_name() {
    let options = |samples| PlanOptions {
        samples: Some(samples),
        ..PlanOptions::default()
    };
    let text = refusal(inside("Reciprocal", &["x"], vec![]), options(&[-1.0, 2.0]));
    assert!(
        text.contains("'the Reciprocal.reciprocal'") && text.contains("positive numbers only"),
        "{text}"
    );
    let text = refusal(inside("Exp", &["x"], vec![]), options(&[40.0]));
    assert!(
        text.contains("'the Exp'") && text.contains("its arguments are planned up to"),
        "{text}"
    );
    let narrow = PlanOptions {
        modulus: Modulus::PowerOfTwo(32),
        fraction_bits: Some(14),
        ..options(&[0.5])
    };
    let text = refusal(inside("Tanh", &["x"], vec![]), narrow);
    assert!(
        text.contains("layer 'the Tanh'") && text.contains("1 to 13 fraction bits, not 14"),
        "{text}"
    );
    // Left to choose, the planner takes as many bits as the function allows.
    let graph = imported(&model(&[1], inside("Tanh", &["x"], vec![]), vec![])).expect("imported");
    let free = PlanOptions {
        modulus: Modulus::PowerOfTwo(32),
        ..options(&[0.5])
    };
    let plan = plan(&graph, &free).unwrap_or_else(|e| panic!("{e}"));
    assert!(
        (10..=13).contains(&plan.fraction_bits),
        "{}",
        plan.fraction_bits
    );
}

/// Arguments are below a quarter of what their bits hold in the worst case, and signs as wide as the
/// differences to the borders of pieces, which lie up to 20 away from 0.
#[test]
fn promised_bits_hold_arguments_and_what_they_are_compared_with() {
    let planned = |op: &str, range: f64, f: u32| {
        let graph = imported(&model(&[1], inside(op, &["x"], vec![]), vec![]));
        let options = PlanOptions {
            fraction_bits: Some(f),
            input_range: Some(range),
            ..PlanOptions::default()
        };
        let graph = graph.unwrap_or_else(|e| panic!("{e}"));
        plan(&graph, &options).unwrap_or_else(|e| panic!("{e}"))
    };
    for (range, f) in [(0.5, 16), (1.0, 26), (3.99, 16), (4.0, 10), (1000.0, 12)] {
        let plan = planned("Tanh", range, f);
        let bits = plan.layers.iter().map(|layer| layer.argument_bits).max();
        let quarter = f64::from(bits.unwrap_or(0) as i32 - 2 - f as i32).exp2();
        let needed = f64::max(range, 1.0);
        assert!(
            needed <= quarter && quarter < 3.0 * needed,
            "{range}, {f}: {bits:?}"
        );
    }
    for (range, f, bits) in [
        // 20 away at 24 fraction bits is half of 32 bits, at 26 twice as much.
        (1.0, 24, 32),
        (1.0, 26, 64),
        // The borders of powers of two lie as far out as arguments do.
        (900.0, 20, 32),
        (1100.0, 20, 64),
        (1500.0, 20, 64),
    ] {
        let plan = planned("Sigmoid", range, f);
        assert_eq!(plan.compare_bits, bits, "{range}, {f}");
    }
}

#[test]
fn arguments_beyond_the_samples_are_warned_of() {
    let warnings = |op: &str| {
        let nodes = vec![
            node("Mul", &["x", "c"], "m", vec![]),
            node(op, &["m"], "f", vec![]),
            node("Add", &["f", "x"], "y", vec![]),
        ];
        let graph = imported(&model(&[1], nodes, vec![tensor("c", &[], &[1.5])]));
        let options = PlanOptions {
            samples: Some(&[1.0]),
            input_range: Some(40.0),
            ..PlanOptions::default()
        };
        let plan = plan(&graph.unwrap_or_else(|e| panic!("{e}")), &options);
        plan.unwrap_or_else(|e| panic!("{e}")).warnings
    };
    let exp = warnings("Exp");
    assert!(exp.iter().any(|w| w.contains("layer 'the Exp'")), "{exp:?}");
    assert_eq!(warnings("Tanh"), [""; 0]);
}
