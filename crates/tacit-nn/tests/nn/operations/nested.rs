//! Graphs within nodes, and functions that a file defines.

use super::*;

/// A value of a graph by its name.
fn named(name: &str) -> ValueInfoProto {
    ValueInfoProto {
        name: name.into(),
        r#type: None,
    }
}

fn graph(inputs: &[&str], outputs: &[&str], nodes: Vec<NodeProto>) -> GraphProto {
    GraphProto {
        node: nodes,
        input: inputs.iter().map(|name| named(name)).collect(),
        output: outputs.iter().map(|name| named(name)).collect(),
        ..Default::default()
    }
}

fn holds(name: &str, g: GraphProto) -> AttributeProto {
    AttributeProto {
        name: name.into(),
        g: Some(g),
        ..Default::default()
    }
}

/// A node of several outputs.
fn node_of(op: &str, inputs: &[&str], outputs: &[&str], held: Vec<AttributeProto>) -> NodeProto {
    let mut made = node(op, inputs, outputs[0], held);
    made.output = outputs.iter().map(|name| name.to_string()).collect();
    made
}

fn truth(name: &str, value: i64) -> TensorProto {
    TensorProto {
        data_type: data_type::BOOL,
        int32_data: vec![value as i32],
        int64_data: vec![],
        ..ints(name, &[], &[])
    }
}

fn plain(op: &str, inputs: &[&str], output: &str) -> NodeProto {
    node(op, inputs, output, vec![])
}

/// A branch reads values around it, and makes constants of its own.
#[test]
fn a_constant_condition_takes_one_branch() {
    let one = plain("Mul", &["x", "w"], "a");
    let other = plain("Add", &["x", "w"], "a");
    let branches = || {
        vec![
            holds("then_branch", graph(&[], &["a"], vec![one.clone()])),
            holds("else_branch", graph(&[], &["a"], vec![other.clone()])),
        ]
    };
    let weights = || tensor("w", &[2], &[2., -1.]);
    for (value, expected) in [(1, [6., -4.]), (0, [5., 3.])] {
        let nodes = vec![
            node("If", &["c"], "b", branches()),
            plain("Identity", &["b"], "y"),
        ];
        check(
            &[2],
            nodes,
            vec![truth("c", value), weights()],
            &[3., 4.],
            &expected,
        );
    }
    let computed = vec![
        plain("Greater", &["x", "w"], "c"),
        node("If", &["c"], "y", branches()),
    ];
    let error = imported(&model(&[2], computed, vec![weights()])).unwrap_err();
    assert!(
        error.to_string().contains("its condition is computed"),
        "{error}"
    );
}

/// Turns hand on a state, and give a row each; a condition may end them before the count does.
#[test]
fn loops_of_a_constant_count() {
    let body = || {
        let nodes = vec![
            plain("Mul", &["state", "w"], "next"),
            plain("Identity", &["next"], "row"),
            plain("Less", &["i", "most"], "goes"),
        ];
        holds(
            "body",
            graph(&["i", "c", "state"], &["goes", "next", "row"], nodes),
        )
    };
    let tensors = |most: i64| {
        vec![
            tensor("w", &[2], &[2., -1.]),
            ints("n", &[], &[3]),
            ints("most", &[], &[most]),
        ]
    };
    let turns = || node_of("Loop", &["n", "", "x"], &["last", "rows"], vec![body()]);
    let last = vec![turns(), plain("Identity", &["last"], "y")];
    check(&[2], last.clone(), tensors(9), &[1., 3.], &[8., -3.]);
    check(&[2], last, tensors(1), &[1., 3.], &[4., 3.]);
    let order = vec![list("perm", &[1, 0, 2])];
    let rows = vec![turns(), node("Transpose", &["rows"], "y", order)];
    check(
        &[2],
        rows,
        tensors(9),
        &[1., 3.],
        &[2., -3., 4., 3., 8., -3.],
    );
    let endless = node_of("Loop", &["", "", "x"], &["last", "y"], vec![body()]);
    let error = imported(&model(&[2], vec![endless], tensors(1 << 40))).unwrap_err();
    assert!(
        error.to_string().contains("more than 1024 turns"),
        "{error}"
    );
}

/// Sums along an axis of the item, from either end, the result of each turn as a column.
#[test]
fn scans_of_computed_values() {
    let body = || {
        let nodes = vec![
            plain("Add", &["sum", "part"], "more"),
            plain("Identity", &["more"], "column"),
        ];
        holds("body", graph(&["sum", "part"], &["more", "column"], nodes))
    };
    let zeros = || tensor("zeros", &[1, 2], &[0., 0.]);
    for (back, expected) in [(0, [1., 4., 3., 7., 4., 9.]), (1, [1., 2., 3., 5., 4., 9.])] {
        let attributes = vec![
            body(),
            int("num_scan_inputs", 1),
            list("scan_input_axes", &[-1]),
            list("scan_input_directions", &[back]),
            list("scan_output_axes", &[1]),
        ];
        let nodes = vec![
            node_of("Scan", &["zeros", "x"], &["last", "sums"], attributes),
            plain("Identity", &["sums"], "y"),
        ];
        // Of the lines [1, 2, 1] and [4, 3, 2], of each turn a row.
        let x = [1., 2., 1., 4., 3., 2.];
        check(&[2, 3], nodes, vec![zeros()], &x, &expected);
    }
}

fn function(name: &str, inputs: &[&str], outputs: &[&str], node: Vec<NodeProto>) -> FunctionProto {
    FunctionProto {
        name: name.into(),
        domain: "own".into(),
        input: inputs.iter().map(|name| name.to_string()).collect(),
        output: outputs.iter().map(|name| name.to_string()).collect(),
        node,
        ..Default::default()
    }
}

fn called(op: &str, inputs: &[&str], output: &str, attributes: Vec<AttributeProto>) -> NodeProto {
    NodeProto {
        domain: "own".into(),
        ..node(op, inputs, output, attributes)
    }
}

/// Functions call functions; attributes are the call's, or the function's own.
#[test]
fn functions_stand_in_their_place() {
    let slope = AttributeProto {
        name: "alpha".into(),
        ref_attr_name: "slope".into(),
        ..Default::default()
    };
    let mut leaky = function(
        "Bent",
        &["v"],
        &["out"],
        vec![node("LeakyRelu", &["v"], "out", vec![slope])],
    );
    leaky.attribute_proto = vec![float("slope", 0.5)];
    let twice = function(
        "Twice",
        &["a", "b"],
        &["sum"],
        vec![
            called("Bent", &["a"], "x", vec![float("slope", 0.25)]),
            called("Bent", &["b"], "y", vec![]),
            plain("Add", &["x", "y"], "sum"),
        ],
    );
    let nodes = vec![
        called("Twice", &["x", "x"], "t", vec![]),
        called("Twice", &["t", "x"], "y", vec![]),
    ];
    let mut file = model(&[2], nodes, vec![]);
    let graph = file.graph.as_mut().expect("a graph");
    file.functions = vec![leaky, twice.clone()];
    graph.name = "calls".into();
    // Of 4 twice itself, then 8 and 4; of -4 a quarter and a half, then a quarter of these and a half.
    follows(&file, &[4., -4.], &[12., -2.75]);
    file.functions[1]
        .node
        .push(called("Twice", &["x", "y"], "again", vec![]));
    let error = imported(&file).unwrap_err();
    assert!(error.to_string().contains("functions deep"), "{error}");
}
