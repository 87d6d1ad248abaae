//! Products, convolutions and pooling.

use super::*;

#[test]
fn gemm_with_all_attributes() {
    let attributes = vec![int("transB", 1), float("alpha", 2.0), float("beta", 0.5)];
    let tensors = vec![
        tensor("w", &[2, 3], &[1., 2., 3., 0., -1., 1.]),
        tensor("b", &[1, 2], &[4., -2.]),
    ];
    // 2 (1 + 4 + 9) + 2, 2 (-2 + 3) - 1
    check(
        &[3],
        vec![node("Gemm", &["x", "w", "b"], "y", attributes)],
        tensors,
        &[1., 2., 3.],
        &[30., 1.],
    );
}

#[test]
fn matmul_and_bias_become_one_layer() {
    let nodes = vec![
        node("MatMul", &["x", "w"], "h", vec![]),
        node("Add", &["b", "h"], "y", vec![]),
    ];
    let tensors = vec![
        tensor("w", &[2, 2], &[1., 2., 3., 4.]),
        tensor("b", &[2], &[0.5, -0.5]),
    ];
    let graph = imported(&model(&[2, 2], nodes.clone(), tensors.clone()))
        .unwrap()
        .optimise();
    assert_eq!(graph.nodes.len(), 1);
    check(
        &[2, 2],
        nodes,
        tensors,
        &[1., 0., 1., 1., 0., 1., -1., 2.],
        &[1.5, 1.5, 4.5, 5.5, 3.5, 3.5, 5.5, 5.5],
    );
}

#[test]
fn convolution_stride_pads_dilation_groups() {
    let x: Vec<f32> = (1..=9).map(|v| v as f32).collect();
    let ones = tensor("w", &[1, 1, 2, 2], &[1., 1., 1., 1.]);
    let with = |attributes| vec![node("Conv", &["x", "w"], "y", attributes)];
    check(
        &[1, 3, 3],
        with(vec![]),
        vec![ones.clone()],
        &x,
        &[12., 16., 24., 28.],
    );
    let attributes = vec![list("strides", &[2, 2]), list("pads", &[1, 1, 0, 0])];
    check(
        &[1, 3, 3],
        with(attributes),
        vec![ones.clone()],
        &x,
        &[1., 5., 11., 28.],
    );
    check(
        &[1, 3, 3],
        with(vec![list("dilations", &[2, 2])]),
        vec![ones.clone()],
        &x,
        &[20.],
    );
    let same = vec![text("auto_pad", "SAME_UPPER")];
    check(
        &[1, 3, 3],
        with(same),
        vec![ones.clone()],
        &x,
        &[12., 16., 9., 24., 28., 15., 15., 17., 9.],
    );
    let lower = vec![text("auto_pad", "SAME_LOWER")];
    check(
        &[1, 3, 3],
        with(lower),
        vec![ones],
        &x,
        &[1., 3., 5., 5., 12., 16., 11., 24., 28.],
    );
    let groups = vec![int("group", 2)];
    let tensors = vec![
        tensor("w", &[2, 1, 1, 1], &[2., -1.]),
        tensor("b", &[2], &[0.5, 0.25]),
    ];
    let nodes = vec![node("Conv", &["x", "w", "b"], "y", groups)];
    check(
        &[2, 1, 2],
        nodes,
        tensors,
        &[1., 2., 3., 4.],
        &[2.5, 4.5, -2.75, -3.75],
    );
    let signal = vec![node("Conv", &["x", "w"], "y", vec![list("pads", &[1, 0])])];
    check(
        &[1, 3],
        signal,
        vec![tensor("w", &[1, 1, 2], &[1., -1.])],
        &[1., 2., 4.],
        &[-1., -1., -2.],
    );
}

#[test]
fn pooling() {
    let x: Vec<f32> = (1..=9).map(|v| v as f32 - 5.0).collect();
    let with = |op: &str, mut attributes: Vec<AttributeProto>| {
        attributes.push(list("kernel_shape", &[2, 2]));
        vec![node(op, &["x"], "y", attributes)]
    };
    check(
        &[1, 3, 3],
        with("MaxPool", vec![]),
        vec![],
        &x,
        &[0., 1., 3., 4.],
    );
    // Padding is no candidate for the maximum.
    let padded = vec![list("strides", &[2, 2]), list("pads", &[1, 1, 0, 0])];
    check(
        &[1, 3, 3],
        with("MaxPool", padded.clone()),
        vec![],
        &x,
        &[-4., -2., 2., 4.],
    );
    let ceil = vec![list("strides", &[2, 2]), int("ceil_mode", 1)];
    check(
        &[1, 3, 3],
        with("MaxPool", ceil.clone()),
        vec![],
        &x,
        &[0., 1., 3., 4.],
    );
    check(
        &[1, 3, 3],
        with("MaxPool", vec![list("dilations", &[2, 2])]),
        vec![],
        &x,
        &[4.],
    );
    check(
        &[1, 3, 3],
        with("AveragePool", vec![]),
        vec![],
        &x,
        &[-2., -1., 1., 2.],
    );
    check(
        &[1, 3, 3],
        with("AveragePool", padded.clone()),
        vec![],
        &x,
        &[-4., -2.5, 0.5, 2.],
    );
    let counted = [padded, vec![int("count_include_pad", 1)]].concat();
    check(
        &[1, 3, 3],
        with("AveragePool", counted),
        vec![],
        &x,
        &[-1., -1.25, 0.25, 2.],
    );
    check(
        &[1, 3, 3],
        with("AveragePool", ceil),
        vec![],
        &x,
        &[-2., -0.5, 2.5, 4.],
    );
    check(
        &[1, 3, 3],
        vec![node("GlobalAveragePool", &["x"], "y", vec![])],
        vec![],
        &x,
        &[0.],
    );
    check(
        &[1, 3, 3],
        vec![node("GlobalMaxPool", &["x"], "y", vec![])],
        vec![],
        &x,
        &[4.],
    );
    let mean = vec![list("axes", &[2, 3]), int("keepdims", 0)];
    check(
        &[2, 1, 3],
        vec![node("ReduceMean", &["x"], "y", mean)],
        vec![],
        &x[..6],
        &[-3., 0.],
    );
}

#[test]
fn half_precision_weights_are_cast() {
    let mut half = tensor("w16", &[2, 1], &[]);
    half.data_type = data_type::FLOAT16;
    half.raw_data = Some(vec![0x00, 0x3e, 0x00, 0xc0].into());
    let nodes = vec![
        node("Cast", &["w16"], "w", vec![int("to", 1)]),
        node("MatMul", &["x", "w"], "y", vec![]),
    ];
    check(&[2], nodes, vec![half], &[2., 1.], &[1.]);
}

#[test]
fn leaky_relu_and_sum() {
    let leaky = |attributes| {
        predict(
            &[3],
            vec![node("LeakyRelu", &["x"], "y", attributes)],
            vec![],
            &[-2., 0., 3.],
        )
    };
    assert!(distance(&leaky(vec![]), &[-0.02, 0., 3.]) < 1e-6);
    assert!(distance(&leaky(vec![float("alpha", 2.0)]), &[-4., 0., 3.]) < 1e-6);
    let nodes = vec![node("Sum", &["c", "x", "x"], "y", vec![])];
    let c = tensor("c", &[1], &[0.5]);
    assert_eq!(predict(&[2], nodes, vec![c], &[1., 2.]), [2.5, 4.5]);
}
