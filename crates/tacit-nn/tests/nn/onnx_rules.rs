//! What ONNX says of a node's attributes, its operator set and its types, and the refusals of what it
//! allows but a prediction item by item cannot have.

use crate::common::*;
use tacit_nn::Graph;
use tacit_nn::onnx::ImportError;
use tacit_nn::onnx::proto::*;
use tacit_nn::reference;

/// A model of these nodes in an operator set, with a batch size that the file fixes if one is given.
fn file(
    item: &[i64],
    nodes: Vec<NodeProto>,
    tensors: Vec<TensorProto>,
    opset: i64,
    items: Option<i64>,
) -> ModelProto {
    let mut model = model(item, nodes, tensors);
    model.opset_import[0].version = opset;
    match items {
        Some(items) => of_fixed_sizes(model, items),
        None => model,
    }
}

fn fine(model: &ModelProto) -> Graph {
    imported(model).unwrap_or_else(|e| panic!("{e}"))
}

/// The model is valid and refused: `part` stands in the reason.
fn unsupported(model: &ModelProto, part: &str) {
    match imported(model) {
        Err(error @ ImportError::Unsupported(_)) => {
            let text = error.to_string();
            assert!(text.contains(part), "'{text}' does not say '{part}'");
        }
        other => panic!("{other:?} instead of a refusal that says '{part}'"),
    }
}

fn invalid(model: &ModelProto, part: &str) {
    let error = imported(model).expect_err("not valid").to_string();
    assert!(
        error.contains("is not valid") && error.contains(part),
        "'{error}' does not say '{part}'"
    );
}

#[test]
fn flatten_keeps_the_batch_or_is_refused() {
    let with = |item: &[i64], axis: i64, opset, items| {
        let nodes = vec![node("Flatten", &["x"], "y", vec![int("axis", axis)])];
        file(item, nodes, vec![], opset, items)
    };
    // Of three axes -2 is axis 1.
    for (item, axis) in [
        (&[2, 3][..], 1),
        (&[2, 3], -2),
        (&[3], -1),
        (&[1, 1, 4], 2),
        (&[1, 1, 4], 3),
        (&[1, 1, 4], -1),
        (&[1], 0),
        (&[1], 2),
    ] {
        let whole: i64 = item.iter().product();
        let graph = imported(&with(item, axis, 13, None));
        match (axis, item) {
            // One number for each item: [1, N] has the batch last.
            (0, _) => assert_eq!(graph.expect("a batch").outputs[0].batch, 1),
            _ => assert_eq!(
                graph.expect("a batch").outputs[0].shape,
                [whole as usize],
                "{item:?} {axis}"
            ),
        }
    }
    for axis in [0, 2, 3, -1, -3] {
        unsupported(&with(&[2, 3], axis, 13, None), "merges the batch");
    }
    // With a batch of one item [1, 6] is the item.
    assert_eq!(fine(&with(&[2, 3], 0, 13, Some(1))).outputs[0].shape, [6]);
    assert_eq!(fine(&with(&[2, 3], -3, 13, Some(1))).outputs[0].shape, [6]);
    // Where the file has four, all together are one item.
    let whole = fine(&with(&[2, 3], 0, 13, Some(4)));
    assert_eq!(
        (&whole.input_shape()[..], &whole.outputs[0].shape[..]),
        (&[4, 2, 3][..], &[1, 24][..])
    );
    invalid(&with(&[2, 3], -2, 10, None), "before operator set 11");
    invalid(&with(&[2, 3], 4, 13, None), "axis 4");
    invalid(&with(&[2, 3], -4, 13, None), "axis -4");
}

#[test]
fn reshape_keeps_the_batch_or_is_refused() {
    let with = |target: &[i64], items| {
        let nodes = vec![node("Reshape", &["x", "s"], "y", vec![])];
        let target = ints("s", &[target.len() as i64], target);
        file(&[2, 3], nodes, vec![target], 17, items)
    };
    for target in [&[0, 6][..], &[0, -1], &[-1, 6], &[-1, 3, 2], &[0, 0, 3]] {
        assert_eq!(
            fine(&with(target, None)).outputs[0]
                .shape
                .iter()
                .product::<usize>(),
            6,
            "{target:?}"
        );
    }
    for target in [&[1, -1][..], &[-1], &[-1, 3], &[6, -1], &[2, 3], &[-1, 12]] {
        unsupported(&with(target, None), "merges the batch");
    }
    // [1, -1] is one item where the file has one, and all four together where it has four.
    assert_eq!(fine(&with(&[1, -1], Some(1))).outputs[0].shape, [6]);
    assert_eq!(fine(&with(&[4, -1], Some(4))).outputs[0].shape, [6]);
    assert_eq!(fine(&with(&[-1, 6], Some(4))).outputs[0].shape, [6]);
    // What the file's four items are merged into has all of them as one item.
    for (target, shape) in [(&[1, -1][..], [1, 24]), (&[8, 3], [8, 3])] {
        let whole = fine(&with(target, Some(4)));
        assert_eq!(
            (&whole.input_shape()[..], &whole.outputs[0].shape[..]),
            (&[4, 2, 3][..], &shape[..])
        );
    }
    for (target, items) in [(&[0, 5][..], None), (&[4, 5], Some(4)), (&[-1, 5], Some(1))] {
        invalid(&with(target, items), "do not fit its target shape");
    }
}

#[test]
fn sizes_are_computed_with() {
    // Flattening as a product of sizes: of the item's axes, and of all.
    let with = |first: &str, items| {
        let nodes = vec![
            node("Shape", &["x"], "s", vec![]),
            node("Gather", &["s", first], "a", vec![]),
            node("Gather", &["s", "two"], "b", vec![]),
            node("Mul", &["a", "b"], "n", vec![]),
            node("Concat", &["open", "n"], "t", vec![int("axis", 0)]),
            node("Reshape", &["x", "t"], "y", vec![]),
        ];
        let one = |name: &str, value| ints(name, &[1], &[value]);
        let tensors = vec![
            one("zero", 0),
            one("one", 1),
            one("two", 2),
            one("open", -1),
        ];
        file(&[2, 3], nodes, tensors, 17, items)
    };
    assert_eq!(fine(&with("one", None)).outputs[0].shape, [6]);
    unsupported(&with("zero", None), "the batch size, which is free");
    // [-1, 1 * 3] of one item of [2, 3] has its elements along the first axis.
    let whole = fine(&with("zero", Some(1)));
    assert_eq!(
        (&whole.input_shape()[..], &whole.outputs[0].shape[..]),
        (&[1, 2, 3][..], &[2, 3][..])
    );
}

#[test]
fn casts_are_done_or_refused() {
    let cast = |to: i64| node("Cast", &["x"], "y", vec![int("to", to)]);
    for float in [1, 10, 11, 16] {
        fine(&model(&[3], vec![cast(float)], vec![]));
    }
    // Whether it is another number than 0.
    let output = predict(&[3], vec![cast(9)], vec![], &[0.5, 0.0, -2.0]);
    assert_eq!(output, [1.0, 0.0, 1.0]);
    for other in [2, 3, 12, 13] {
        unsupported(
            &model(&[3], vec![cast(other)], vec![]),
            "it casts a computed value to",
        );
    }
    unsupported(&model(&[3], vec![cast(8)], vec![]), "data type 8");
    let after = |op: &str, to: i64, size: i64| {
        let nodes = vec![
            node(op, &["x"], "p", vec![int("axis", 1)]),
            node("Cast", &["p"], "y", vec![int("to", to)]),
        ];
        model(&[size], nodes, vec![])
    };
    for to in [1, 3, 6, 7, 10] {
        fine(&after("ArgMax", to, 3));
    }
    unsupported(
        &after("Softmax", 6, 3),
        "it casts a computed value to int32",
    );
    unsupported(
        &after("ArgMax", 9, 3),
        "casts the places of 3 elements to bool",
    );
    unsupported(
        &after("ArgMax", 3, 200),
        "to int8, which does not hold them",
    );
    // -2.9 is cut to -2, 300 wraps to 44 in int8.
    let nodes = vec![
        node("Cast", &["f"], "i", vec![int("to", 7)]),
        node("Cast", &["i"], "b", vec![int("to", 3)]),
        node("Cast", &["b"], "w", vec![int("to", 1)]),
        node("Add", &["x", "w"], "y", vec![]),
    ];
    let numbers = tensor("f", &[3], &[-2.9, 0.9, 300.5]);
    let output = predict(&[3], nodes.clone(), vec![numbers], &[0., 0., 0.]);
    assert_eq!(output, [-2., 0., 44.]);
    let huge = tensor("f", &[1], &[1e30]);
    unsupported(
        &model(&[3], nodes, vec![huge]),
        ", which int64 does not hold",
    );
}

#[test]
fn constants_are_stretched_by_all_rules() {
    let with = |item: &[i64], shape: &[i64], values: &[f32], items| {
        let nodes = vec![node("Add", &["x", "c"], "y", vec![])];
        file(item, nodes, vec![tensor("c", shape, values)], 17, items)
    };
    let sum = |model: &ModelProto, x: &[f32]| {
        reference::predict(&fine(model), x).expect("a fitting input")
    };
    assert_eq!(
        sum(&with(&[2], &[1, 2], &[1., 2.], None), &[0., 0.]),
        [1., 2.]
    );
    // Where the file has a batch of 2, two equal items are one.
    let equal = with(&[2], &[2, 2], &[1., 2., 1., 2.], Some(2));
    assert_eq!(sum(&equal, &[0., 0.]), [1., 2.]);
    let different = with(&[2], &[2, 2], &[1., 2., 3., 4.], Some(2));
    // Two different ones are added to one item of both.
    assert_eq!(fine(&different).input_shape(), [2, 2]);
    assert_eq!(sum(&different, &[0.; 4]), [1., 2., 3., 4.]);
    let free = with(&[2], &[2, 2], &[1., 2., 3., 4.], None);
    unsupported(&free, "2 different items along the batch axis");
    // An axis more moves the batch, which a Transpose brings back.
    let nodes = vec![
        node("Add", &["x", "c"], "a", vec![]),
        node("Transpose", &["a"], "y", vec![list("perm", &[1, 0, 2])]),
    ];
    let c = tensor("c", &[3, 1, 2], &[0., 1., 2., 3., 4., 5.]);
    let output = predict(&[2], nodes, vec![c], &[10., 20.]);
    assert_eq!(output, [10., 21., 12., 23., 14., 25.]);
    invalid(
        &with(&[2], &[3], &[1., 2., 3.], None),
        "does not fit the item shape [2]",
    );
    let nodes = vec![
        node("Unsqueeze", &["x", "one"], "a", vec![]),
        node("Add", &["x", "a"], "y", vec![]),
    ];
    let one = ints("one", &[1], &[1]);
    unsupported(
        &model(&[2], nodes, vec![one]),
        "the batch axes of its inputs",
    );
}

#[test]
fn older_operator_sets_have_attributes() {
    let run = |item: &[i64], nodes: Vec<NodeProto>, tensors, opset, x: &[f32]| {
        reference::predict(&fine(&file(item, nodes, tensors, opset, None)), x).expect("an input")
    };
    let one = |op: &str, attributes| vec![node(op, &["x"], "y", attributes)];
    let x = [1., -2., 3., -4.];
    let clip = || one("Clip", vec![float("max", 2.0), float("min", -1.0)]);
    assert_eq!(run(&[4], clip(), vec![], 10, &x), [1., -1., 2., -1.]);
    unsupported(&file(&[4], clip(), vec![], 11, None), "the attribute 'max'");
    let pads = || vec![list("pads", &[0, 1, 0, 0]), float("value", 7.0)];
    assert_eq!(
        run(&[4], one("Pad", pads()), vec![], 10, &x),
        [7., 1., -2., 3., -4.]
    );
    let cut = || vec![list("starts", &[1]), list("ends", &[3]), list("axes", &[1])];
    assert_eq!(run(&[4], one("Slice", cut()), vec![], 9, &x), [-2., 3.]);
    unsupported(
        &file(&[4], one("Slice", cut()), vec![], 10, None),
        "the attribute 'starts'",
    );
    let nodes = vec![
        node("Unsqueeze", &["x"], "a", vec![list("axes", &[1])]),
        node("Squeeze", &["a"], "y", vec![list("axes", &[1])]),
    ];
    assert_eq!(run(&[4], nodes, vec![], 12, &x), x);
    let mean = || one("ReduceMean", vec![list("axes", &[1])]);
    assert_eq!(run(&[4], mean(), vec![], 17, &x), [-0.5]);
    unsupported(
        &file(&[4], mean(), vec![], 18, None),
        "the attribute 'axes'",
    );
    let sum = || one("ReduceSum", vec![list("axes", &[1])]);
    assert_eq!(run(&[4], sum(), vec![], 12, &x), [-2.]);
    // Before operator set 13 softmax runs over all axes from one on.
    let soft = |opset| {
        run(
            &[2, 2],
            one("Softmax", vec![int("axis", 1)]),
            vec![],
            opset,
            &[0.; 4],
        )
    };
    assert_eq!(soft(12), [0.25; 4]);
    assert_eq!(soft(13), [0.5; 4]);
    let soft = |opset| run(&[2, 2], one("Softmax", vec![]), vec![], opset, &[0.; 4]);
    assert_eq!(soft(12), [0.25; 4]);
    invalid(
        &file(&[4], one("Gelu", vec![]), vec![], 19, None),
        "it came with 20",
    );
}

#[test]
fn attributes_are_those_of_the_operation() {
    let one = |op: &str, attributes| model(&[4], vec![node(op, &["x"], "y", attributes)], vec![]);
    unsupported(&one("Relu", vec![int("axis", 1)]), "the attribute 'axis'");
    invalid(
        &one("Softmax", vec![float("axis", 1.0)]),
        "'axis' has another type",
    );
    // A writer that leaves out zeros means 0, not the default.
    let zero = AttributeProto {
        name: "keepdims".into(),
        r#type: 2,
        ..Default::default()
    };
    let graph = fine(&one("ReduceMean", vec![list("axes", &[1]), zero]));
    assert_eq!(graph.outputs[0].shape, [0usize; 0]);
    let two = model(&[4], vec![node("Relu", &["x", "x"], "y", vec![])], vec![]);
    invalid(&two, "it has 2 inputs, it takes at most 1");
}

#[test]
fn bounds_beyond_all_floats_are_none() {
    let clip = |low: f32, high: f32| {
        let nodes = vec![node("Clip", &["x", "low", "high"], "y", vec![])];
        let tensors = vec![tensor("low", &[], &[low]), tensor("high", &[], &[high])];
        model(&[2], nodes, tensors)
    };
    for most in [f32::MAX, f32::INFINITY] {
        assert_eq!(fine(&clip(-most, most)).nodes.len(), 0);
        assert_eq!(fine(&clip(0.0, most)).nodes[0].op.kind(), "Relu");
    }
    // The upper bound is applied last.
    let crossed = fine(&clip(2.0, 1.0));
    let all = reference::predict(&crossed, &[0.0, 3.0]).expect("a fitting input");
    assert_eq!(all, [1.0, 1.0]);
    unsupported(
        &clip(f32::INFINITY, f32::INFINITY),
        "its lower bound is inf",
    );
    unsupported(&clip(f32::NAN, 1.0), "NaN");
}

#[test]
fn layer_normalisation_stretches_its_scale() {
    let norm = |scale: TensorProto| {
        let nodes = vec![node("LayerNormalization", &["x", "s"], "y", vec![])];
        reference::predict(
            &fine(&model(&[2, 2], nodes, vec![scale])),
            &[1., 3., 5., 1.],
        )
        .expect("an input")
    };
    let close = |a: &[f32], b: &[f32]| assert!(distance(a, b) < 1e-4, "{a:?} {b:?}");
    close(&norm(tensor("s", &[1], &[2.])), &[-2., 2., 2., -2.]);
    close(&norm(tensor("s", &[2, 1], &[2., 3.])), &[-2., 2., 3., -3.]);
    close(
        &norm(tensor("s", &[1, 2, 2], &[1., 2., 3., 4.])),
        &[-1., 2., 3., -4.],
    );
}

#[test]
fn means_and_sums_run_over_any_axes() {
    let reduced = |op: &str, axes: &[i64], keep| {
        let attributes = vec![list("axes", axes), int("keepdims", keep)];
        let nodes = vec![node(op, &["x"], "y", attributes)];
        let graph = fine(&file(&[2, 3], nodes, vec![], 12, None));
        let x: Vec<f32> = (0..6).map(|v| v as f32).collect();
        (
            reference::predict(&graph, &x).expect("an input"),
            graph.outputs[0].shape.clone(),
        )
    };
    assert_eq!(
        reduced("ReduceMean", &[1], 0),
        (vec![1.5, 2.5, 3.5], vec![3])
    );
    assert_eq!(
        reduced("ReduceSum", &[1], 1),
        (vec![3., 5., 7.], vec![1, 3])
    );
    assert_eq!(reduced("ReduceSum", &[-1], 1), (vec![3., 12.], vec![2, 1]));
    assert_eq!(reduced("ReduceSum", &[2, 1], 0), (vec![15.], vec![]));
    let nodes = vec![node("ReduceMean", &["x"], "y", vec![])];
    let all = model(&[2, 3], nodes, vec![]);
    unsupported(&all, "across the batch axis");
}

#[test]
fn expand_leaves_the_batch_alone() {
    let with = |target: &[i64], items| {
        let nodes = vec![node("Expand", &["x", "s"], "y", vec![])];
        let target = ints("s", &[target.len() as i64], target);
        file(&[1, 2], nodes, vec![target], 17, items)
    };
    for (target, items) in [
        (&[3, 2][..], None),
        (&[1, 3, 1], None),
        (&[4, 3, 2], Some(4)),
    ] {
        assert_eq!(
            fine(&with(target, items)).outputs[0].shape,
            [3, 2],
            "{target:?}"
        );
    }
    unsupported(&with(&[4, 3, 2], None), "it makes 4 of each item");
    assert_eq!(fine(&with(&[4, 3, 2], Some(1))).outputs[0].shape, [4, 3, 2]);
    // The batch moves behind the new axis.
    let moved = fine(&with(&[5, 1, 1, 2], None));
    let output = &moved.outputs[0];
    assert_eq!((&output.shape[..], output.batch), (&[5, 1, 2][..], 1));
    invalid(&with(&[3], None), "does not fit the item shape [1, 2]");
}
