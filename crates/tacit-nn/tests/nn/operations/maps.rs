//! Linear maps with constant numbers, and products of elements of one value, against numbers by hand.

use super::whole::check_whole;
use super::*;

/// Nodes of operator set `opset` on items of a batch.
fn check_of(
    opset: i64,
    item: &[i64],
    node: NodeProto,
    tensors: Vec<TensorProto>,
    x: &[f32],
    expected: &[f32],
) {
    let mut model = model(item, vec![node], tensors);
    model.opset_import[0].version = opset;
    follows(&model, x, expected);
}

fn scalar(name: &str, value: i64) -> TensorProto {
    ints(name, &[], &[value])
}

#[test]
fn fourier_transforms() {
    let x = [1., 2., 0., -1.];
    let dft = |attributes: Vec<AttributeProto>, item: &[i64], expected: &[f32]| {
        let attributes = [attributes, vec![int("axis", 1)]].concat();
        let node = node("DFT", &["x"], "y", attributes);
        check_of(17, item, node, vec![], &x, expected);
    };
    dft(vec![], &[4, 1], &[2., 0., 1., -3., 0., 0., 1., 3.]);
    dft(
        vec![int("onesided", 1)],
        &[4, 1],
        &[2., 0., 1., -3., 0., 0.],
    );
    // Of 1 + 2i and -i the sum and the difference, by halves.
    dft(vec![int("inverse", 1)], &[2, 2], &[0.5, 0.5, 0.5, 1.5]);
    let both = vec![int("inverse", 1), int("onesided", 1)];
    dft(both, &[2, 2], &[0.5, 0.5]);
    // Of another length: what is left out, and what is added as 0.
    for (length, expected) in [(2, &[3., 0., -1., 0.][..]), (1, &[1., 0.])] {
        let node = node("DFT", &["x", "n"], "y", vec![]);
        check_of(20, &[4, 1], node, vec![scalar("n", length)], &x, expected);
    }
}

#[test]
fn transforms_of_frames() {
    let node = node("STFT", &["x", "step", "w"], "y", vec![int("onesided", 1)]);
    let tensors = vec![scalar("step", 2), tensor("w", &[2], &[1., 0.5])];
    let expected = [2., 0., 0., 0., -0.5, 0., 0.5, 0.];
    check_of(17, &[4, 1], node, tensors, &[1., 2., 0., -1.], &expected);
}

/// Points are read between places: in the middle of four, on one, and far outside.
#[test]
fn points_between_places() {
    let points = [0., 0., -0.5, -0.5, 9., 0.];
    for (mode, outside, expected) in [
        ("linear", "zeros", [2.5, 1., 0.]),
        ("linear", "border", [2.5, 1., 3.]),
        ("nearest", "reflection", [1., 1., 2.]),
    ] {
        let attributes = vec![text("mode", mode), text("padding_mode", outside)];
        let node = node("GridSample", &["x", "points"], "y", attributes);
        let points = tensor("points", &[1, 1, 3, 2], &points);
        let x = [1., 2., 3., 4.];
        check_of(20, &[1, 2, 2], node, vec![points], &x, &expected);
    }
}

/// Two blocks of two that overlap in the middle of three; and elements at places of their own.
#[test]
fn windows_are_put_back() {
    let node_of = |op, inputs: &[&str], attributes| node(op, inputs, "y", attributes);
    let sizes = vec![ints("image", &[2], &[1, 3]), ints("block", &[2], &[1, 2])];
    let node = node_of("Col2Im", &["x", "image", "block"], vec![]);
    check_of(18, &[2, 2], node, sizes, &[1., 2., 3., 4.], &[1., 5., 4.]);
    let attributes = vec![list("kernel_shape", &[2, 2]), list("strides", &[2, 2])];
    let unpool = node_of("MaxUnpool", &["x", "places"], attributes);
    let places = ints("places", &[1, 1, 1, 2], &[1, 6]);
    let expected = [0., 5., 0., 0., 0., 0., 7., 0.];
    check_whole(
        &[1, 1, 1, 2],
        vec![unpool],
        vec![places],
        &[5., 7.],
        &expected,
    );
}

/// A quarter turn of every second row, in pairs side by side or apart.
#[test]
fn pairs_are_turned() {
    let x = [1., 2., 3., 4., 5., 6., 7., 8.];
    let tensors = || {
        vec![
            tensor("c", &[2, 1], &[1., 0.]),
            tensor("s", &[2, 1], &[0., 1.]),
            ints("places", &[1, 2], &[0, 1]),
        ]
    };
    // The last two numbers of each row are left as they are.
    for (interleaved, row) in [(0, [-6., 5.]), (1, [-6., 5.])] {
        let attributes = vec![
            int("num_heads", 1),
            int("rotary_embedding_dim", 2),
            int("interleaved", interleaved),
        ];
        let inputs = ["x", "c", "s", "places"];
        let node = node("RotaryEmbedding", &inputs, "y", attributes);
        let expected = [&x[..4], &row, &x[6..]].concat();
        check_of(23, &[2, 4], node, tensors(), &x, &expected);
    }
}

#[test]
fn rows_of_a_cache_are_replaced() {
    let update = || tensor("u", &[2, 1, 1], &[10., 20.]);
    let x = [1., 2., 3., 4., 5., 6.];
    let mut model = of_fixed_sizes(
        model(
            &[3, 1],
            vec![node("TensorScatter", &["x", "u", "at"], "y", vec![])],
            vec![update(), ints("at", &[2], &[0, 2])],
        ),
        2,
    );
    model.opset_import[0].version = 24;
    follows(&model, &x, &[10., 2., 3., 4., 5., 20.]);
}

#[test]
fn running_products_and_determinants() {
    let axis = || vec![scalar("axis", 1)];
    for (attributes, expected) in [
        (vec![], [2., 6., -6., -3.]),
        (vec![int("exclusive", 1)], [1., 2., 6., -6.]),
        (vec![int("reverse", 1)], [-3., -1.5, -0.5, 0.5]),
    ] {
        let node = node("CumProd", &["x", "axis"], "y", attributes);
        check_of(26, &[4], node, axis(), &[2., 3., -1., 0.5], &expected);
    }
    let of = |item: &[i64], x: &[f32], expected: &[f32]| {
        check_of(
            11,
            item,
            node("Det", &["x"], "y", vec![]),
            vec![],
            x,
            expected,
        );
    };
    of(&[1, 2, 2], &[1., 2., 3., 4.], &[-2.]);
    of(&[1, 3, 3], &[0., 1., 2., 1., 0., 3., 4., -3., 8.], &[-2.]);
    let four = [
        1., 0., 2., 0., 0., 1., 0., 1., 1., 0., 0., 0., 0., 2., 0., 3.,
    ];
    of(&[1, 4, 4], &four, &[-2.]);
}

#[test]
fn a_gate_and_what_it_lets_through() {
    let node = node("SwiGLU", &["x", "b"], "y", vec![float("alpha", 2.0)]);
    let expected = [1.0f32, -0.5].map(|v| 3.0 * v / (1.0 + (-2.0 * v).exp()));
    check_of(
        28,
        &[2],
        node,
        vec![tensor("b", &[1, 2], &[3., 3.])],
        &[1., -0.5],
        &expected,
    );
}

/// `1 / (1 + exp(-x))` is a logistic function, however large the exponential is.
#[test]
fn logistic_functions_that_are_written_out() {
    let one = || tensor("one", &[], &[1.0]);
    let before = || {
        vec![
            node("Neg", &["x"], "n", vec![]),
            node("Exp", &["n"], "e", vec![]),
            node("Add", &["one", "e"], "s", vec![]),
        ]
    };
    let x: Vec<f32> = vec![-60.0, -1.0, 0.0, 2.0, 60.0];
    let logistic: Vec<f32> = x.iter().map(|v| 1.0 / (1.0 + (-v).exp())).collect();
    for last in [
        node("Reciprocal", &["s"], "y", vec![]),
        node("Div", &["one", "s"], "y", vec![]),
    ] {
        let nodes = [before(), vec![last]].concat();
        super::check(&[5], nodes, vec![one()], &x, &logistic);
    }
    let nodes = [before(), vec![node("Div", &["x", "s"], "y", vec![])]].concat();
    let x: Vec<f32> = vec![-3.0, -1.0, 0.0, 2.0, 3.0];
    let swish: Vec<f32> = x.iter().map(|v| v / (1.0 + (-v).exp())).collect();
    super::check(&[5], nodes, vec![one()], &x, &swish);
}

/// Columns to powers of their own: of fractions one logarithm and one exponential for all.
#[test]
fn columns_to_powers_of_their_own() {
    let exponents = [0.3, -1.7, 2.0, 1.5];
    let x: Vec<f32> = vec![2.0, 3.0, 1.5, 4.0, 0.5, 0.7, 3.0, 2.25];
    let powers = |exponents: &[f32]| -> Vec<f32> {
        let each = x.iter().zip(exponents.iter().cycle());
        each.map(|(v, e)| v.powf(*e)).collect()
    };
    let pow = |exponents: &[f32]| {
        let node = node("Pow", &["x", "e"], "y", vec![]);
        model(&[4], vec![node], vec![tensor("e", &[4], exponents)])
    };
    super::check(
        &[4],
        vec![node("Pow", &["x", "e"], "y", vec![])],
        vec![tensor("e", &[4], &exponents)],
        &x,
        &powers(&exponents),
    );
    let of_fractions = [0.3, -1.7, 0.9, 1.1];
    let graph = imported(&pow(&of_fractions)).unwrap_or_else(|e| panic!("{e}"));
    let kinds: Vec<_> = graph.nodes.iter().map(|node| node.op.kind()).collect();
    assert_eq!(kinds, ["Log", "Affine", "Exp"]);
}

/// `x / x` and `x - x` are how converters write ones and zeros of a batch's shape.
#[test]
fn values_with_themselves() {
    let x: Vec<f32> = vec![2.0, -3.0, 1.5, 4.0];
    let nodes = |op: &str| {
        vec![
            node(op, &["x", "x"], "same", vec![]),
            node("Add", &["x", "same"], "y", vec![]),
        ]
    };
    for (op, more) in [("Div", 1.0), ("Sub", 0.0)] {
        let expected: Vec<f32> = x.iter().map(|v| v + more).collect();
        super::check(&[2], nodes(op), vec![], &x, &expected);
        let graph = imported(&model(&[2], nodes(op), vec![])).unwrap_or_else(|e| panic!("{e}"));
        assert!(graph.nodes.len() <= 1, "no division, no difference");
    }
}

/// Logarithms and powers of which a mask keeps one half, as Yeo-Johnson's transformation is written: of the other
/// half no argument is negative, unless something else sees it.
#[test]
fn halves_that_a_mask_keeps() {
    let nodes = |seen: bool| {
        let mut nodes = vec![
            node("Div", &["x", "x"], "one", vec![]),
            node("Sub", &["x", "x"], "zero", vec![]),
            node("Less", &["x", "zero"], "below", vec![]),
            node("Not", &["below"], "above", vec![]),
            node("Cast", &["below"], "negative", vec![int("to", 1)]),
            node("Cast", &["above"], "positive", vec![int("to", 1)]),
            node("Add", &["x", "one"], "more", vec![]),
            node("Sub", &["one", "x"], "less", vec![]),
            node("Pow", &["more", "e"], "power", vec![]),
            node("Log", &["less"], "log", vec![]),
            node("Neg", &["log"], "minus", vec![]),
            node("Mul", &["power", "positive"], "a", vec![]),
            node("Mul", &["minus", "negative"], "b", vec![]),
            node("Add", &["a", "b"], "sum", vec![]),
        ];
        let last = if seen { "log" } else { "zero" };
        nodes.push(node("Add", &["sum", last], "y", vec![]));
        nodes
    };
    let e = || vec![tensor("e", &[2], &[0.3, 1.7])];
    let x: Vec<f32> = vec![2.0, 3.0, -1.5, -4.0, 0.5, -0.25];
    let expected: Vec<f32> = (x.iter().zip([0.3f32, 1.7].iter().cycle()))
        .map(|(&v, &e)| match v < 0.0 {
            true => -(1.0 - v).ln(),
            false => (v + 1.0).powf(e),
        })
        .collect();
    super::check(&[2], nodes(false), e(), &x, &expected);
    let clamps = |seen: bool| {
        let graph = imported(&model(&[2], nodes(seen), e())).unwrap_or_else(|e| panic!("{e}"));
        let relus = graph.nodes.iter().filter(|node| node.op.kind() == "Relu");
        relus.count()
    };
    assert_eq!((clamps(false), clamps(true)), (2, 1));
}
