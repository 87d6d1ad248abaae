//! Attention in one node: heads, masks, windows, caches, and constant keys and values.

use super::*;

/// Rows of one number, of which the keys are 0: what a row gives is the mean of those that it sees.
const X: [f32; 4] = [1., 2., 4., 8.];

/// Attention of operator set 25 by one head.
fn one_head(inputs: &[&str], attributes: &[(&str, i64)]) -> Vec<NodeProto> {
    let attributes = attributes.iter().map(|&(name, i)| int(name, i)).collect();
    let scores = node("Attention", inputs, "a", attributes);
    vec![scores, node("Neg", &["a"], "y", vec![])]
}

fn check_newer(mut model: ModelProto, x: &[f32], expected: &[f32]) {
    model.opset_import[0].version = 25;
    let negative: Vec<f32> = expected.iter().map(|v| -v).collect();
    follows(&model, x, &negative);
}

#[test]
fn a_window_bounds_what_a_row_sees() {
    let zeros = || tensor("k", &[1, 1, 4, 1], &[0.; 4]);
    let means = |attributes: &[(&str, i64)], expected: &[f32]| {
        let nodes = one_head(&["x", "k", "x"], attributes);
        check_newer(model(&[1, 4, 1], nodes, vec![zeros()]), &X, expected);
    };
    means(&[], &[3.75; 4]);
    means(&[("is_causal", 1)], &[1., 1.5, 7. / 3., 3.75]);
    means(
        &[("left_window_size", 1), ("right_window_size", 0)],
        &[1., 1.5, 3., 6.],
    );
    means(
        &[("left_window_size", 0), ("right_window_size", 2)],
        &[7. / 3., 14. / 3., 6., 8.],
    );
    means(
        &[("left_window_size", 1), ("is_causal", 1)],
        &[1., 1.5, 3., 6.],
    );
}

/// Keys of a cache stand before all others; of one that is padded, so many count.
#[test]
fn caches_and_lengths() {
    let zeros = |name: &str, rows: i64| tensor(name, &[1, 1, rows, 1], &vec![0.; rows as usize]);
    let cache = tensor("pv", &[1, 1, 2, 1], &[10., 20.]);
    let tensors = vec![zeros("k", 4), zeros("pk", 2), cache];
    let nodes = one_head(&["x", "k", "x", "", "pk", "pv"], &[("is_causal", 1)]);
    let expected = [31. / 3., 33. / 4., 37. / 5., 45. / 6.];
    check_newer(model(&[1, 4, 1], nodes, tensors), &X, &expected);
    // The first of four rows stands one before the first of three keys, and sees none.
    for (causal, expected) in [(1, [0., 1., 1.5, 7. / 3.]), (0, [7. / 3.; 4])] {
        let tensors = vec![zeros("k", 4), ints("n", &[1], &[3])];
        let nodes = one_head(&["x", "k", "x", "", "", "", "n"], &[("is_causal", causal)]);
        check_newer(model(&[1, 4, 1], nodes, tensors), &X, &expected);
    }
}

/// A mask that ends before the keys leaves the others out, and a line may be left with none.
#[test]
fn masks_that_leave_nothing() {
    let zeros = tensor("k", &[1, 1, 4, 1], &[0.; 4]);
    let none = f32::NEG_INFINITY;
    let mask = tensor("m", &[4, 2], &[0., none, 0., 0., none, none, none, 0.]);
    let nodes = one_head(&["x", "k", "x", "m"], &[]);
    let model = model(&[1, 4, 1], nodes, vec![zeros, mask]);
    check_newer(model, &X, &[1., 1.5, 0., 2.]);
}

#[test]
fn scores_are_capped() {
    let column = |name: &str| tensor(name, &[1, 1, 2, 1], &[1., 0.]);
    let mut nodes = one_head(&["x", "k", "v"], &[]);
    nodes[0].attribute.push(float("softcap", 2.0));
    let tensors = vec![column("k"), column("v")];
    let x = [1., -3.];
    let expected = x.map(|v: f32| products::softmax_of(&[2.0 * (v / 2.0).tanh(), 0.0])[0]);
    check_newer(model(&[1, 2, 1], nodes, tensors), &x, &expected);
}

/// Keys that differ from item to item, of a file that gives the size of its batch.
#[test]
fn constants_of_every_item() {
    let keys = tensor("k", &[2, 1, 2, 1], &[1., 0., 0., 1.]);
    let values = tensor("v", &[2, 1, 2, 1], &[1., 0., 1., 0.]);
    let nodes = one_head(&["x", "k", "v"], &[]);
    let free = model(&[1, 1, 1], nodes, vec![keys, values]);
    let expected = [
        products::softmax_of(&[1., 0.])[0],
        products::softmax_of(&[0., 2.])[0],
    ];
    check_newer(of_fixed_sizes(free, 2), &[1., 2.], &expected);
}

/// Two heads of queries for one of keys, side by side in a row.
#[test]
fn heads_share_keys() {
    let keys = tensor("k", &[1, 2, 1], &[1., 0.]);
    let values = tensor("v", &[1, 2, 1], &[3., 1.]);
    let heads = [("q_num_heads", 2), ("kv_num_heads", 1)];
    let nodes = one_head(&["x", "k", "v"], &heads);
    let x = [1., 0., -1., 2.];
    let expected = x.map(|v| 1.0 + 2.0 * products::softmax_of(&[v, 0.0])[0]);
    check_newer(model(&[2, 2], nodes, vec![keys, values]), &x, &expected);
}

/// A causal row by what stands before it; of heads of one column the scale is 1, and no layer.
#[test]
fn attention_in_one_node() {
    let heads = ["q_num_heads", "kv_num_heads", "is_causal"].map(|name| int(name, 1));
    let nodes = vec![
        node("Attention", &["x", "x", "x"], "a", heads.to_vec()),
        node("Neg", &["a"], "y", vec![]),
    ];
    let mut one_column = model(&[3, 1], nodes, vec![]);
    one_column.opset_import[0].version = 23;
    let x = [1., -1., 0.];
    let shares = products::softmax_of(&[-1., 1.]);
    let expected = [-1., shares[1] - shares[0], 0.];
    let numbers: Vec<f32> = (0..12).map(|i| (i * i % 7) as f32 / 4.0 - 0.5).collect();
    for (model, x, expected) in [
        (one_column, &x[..], Some(expected)),
        (newer_network(), &numbers, None),
    ] {
        let graph = imported(&model)
            .unwrap_or_else(|e| panic!("{e}"))
            .optimise();
        let output = reference::predict(&graph, x).expect("a fitting input");
        assert!(expected.is_none_or(|expected| distance(&output, &expected) < 1e-6));
        let plan = plan(&graph, &PlanOptions::default()).unwrap_or_else(|e| panic!("{e}"));
        assert!(distance(&run_fixed(&plan, &graph, x), &output) < 1e-3);
    }
}
