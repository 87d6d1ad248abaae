//! The weights that all steps have in common, and files that ask for more than is there.

use super::*;

/// Five steps that a file writes out, with the same tensors at each.
fn written_out() -> Graph {
    let mut nodes = vec![node("MatMul", &["x", "W"], "xw", vec![])];
    let mut h = "p0".to_string();
    for t in 0..STEPS {
        let name = |what: &str| format!("{what}{t}");
        let one = |op: &str, inputs: &[&str], output: &str| node(op, inputs, output, vec![]);
        nodes.push(node(
            "Gather",
            &["xw", &name("t")],
            &name("p"),
            vec![int("axis", 1)],
        ));
        let mut p = name("p");
        if t > 0 {
            nodes.push(one("MatMul", &[&h, "U"], &name("u")));
            nodes.push(one("Add", &[&p, &name("u")], &name("q")));
            p = name("q");
        }
        nodes.push(one("Add", &[&p, "b"], &name("a")));
        nodes.push(one("Sigmoid", &[&name("a")], &name("z")));
        nodes.push(one("Mul", &[&name("z"), "zeta"], &name("m")));
        nodes.push(one("Sub", &["nu", &name("m")], &name("g")));
        nodes.push(one("Tanh", &[&p], &name("c")));
        nodes.push(one("Mul", &[&name("g"), &name("c")], &name("h")));
        h = name("h");
    }
    nodes.push(node("Gemm", &[&h, "V"], "y", vec![]));
    let mut tensors = vec![
        tensor("W", &[3, 2], &noise(1, 6)),
        tensor("U", &[2, 2], &noise(2, 4)),
        tensor("b", &[2], &[0.25, -0.5]),
        tensor("zeta", &[1], &[0.75]),
        tensor("nu", &[1], &[1.5]),
        tensor("V", &[2, 2], &noise(4, 4)),
    ];
    tensors.extend((0..STEPS).map(|t| ints(&format!("t{t}"), &[], &[t as i64])));
    graph(nodes, tensors)
}

/// The inputs that the model's owner shares.
fn shared(plan: &Plan) -> Vec<usize> {
    let calls = plan.weight_calls(&ROLES).expect("calls");
    let input = |call: &Call| match call {
        Call::Input { n, .. } => Some(*n),
        _ => None,
    };
    calls.iter().filter_map(input).collect()
}

#[test]
fn weights_of_all_steps_are_shared_once() {
    let x = noise(5, 2 * STEPS * WIDTH);
    let graph = written_out().optimise();
    let plan = planned(&graph, &x);
    // W, b, nu - zeta z as one, U, V.
    assert_eq!(shared(&plan), [6, 2, 2, 4, 4]);
    assert_eq!(plan.parameters(), 18);
    let float = reference::predict(&graph, &x).expect("a fitting input");
    let error = distance(&run_fixed(&plan, &graph, &x), &float);
    assert!(error < 2e-4, "{error}");
    let turned = node("Transpose", &["x"], "t", vec![list("perm", &[1, 0, 2])]);
    let nodes = vec![
        turned,
        Case {
            reset_after: true,
            ..GRU
        }
        .node("t", "forward", vec![]),
        node("Transpose", &["h"], "y", vec![list("perm", &[1, 0, 2])]),
    ];
    let plan = planned(&graph_of_gru(nodes).optimise(), &x);
    // The products with the inputs, the bias behind the reset gate of the first step, those with
    // the state.
    assert_eq!(shared(&plan), [18 + 6, 2, 12 + 6]);
    let reused: Vec<_> = plan
        .calls(1, &ROLES)
        .expect("calls")
        .into_iter()
        .flat_map(|layer| layer.calls)
        .filter_map(|call| match call {
            Call::Product { reused, .. } => reused,
            _ => None,
        })
        .collect();
    assert_eq!(reused, [0, 1, 1, 1]);
}

fn graph_of_gru(nodes: Vec<NodeProto>) -> Graph {
    graph(nodes, GRU.tensors())
}

#[test]
fn equal_weights_of_different_tensors_stay_apart() {
    let nodes = vec![
        node("MatMul", &["x", "a"], "h", vec![]),
        node("MatMul", &["h", "b"], "y", vec![]),
    ];
    let [a, b] = ["a", "b"].map(|name| tensor(name, &[3, 3], &noise(1, 9)));
    let graph = graph(nodes, vec![a, b]);
    let plan = planned(&graph, &noise(5, 12));
    assert_eq!(
        shared(&plan),
        [9, 9],
        "a plan must not tell that weights are equal"
    );
}

#[test]
fn plans_that_lie_about_whose_weights_they_use() {
    let x = noise(5, 2 * STEPS * WIDTH);
    let refuses = |change: &dyn Fn(&mut Plan)| {
        let mut plan = planned(&written_out().optimise(), &x);
        change(&mut plan);
        let error = Plan::from_bytes(&plan.to_bytes()).err();
        let text = error.expect("the plan must be refused").to_string();
        assert!(text.contains("cannot use the weights of layer"), "{text}");
    };
    let reuser = |plan: &Plan| {
        let found = plan.layers.iter().position(|l| l.weights_of.is_some());
        found.expect("a layer that uses the weights of another")
    };
    refuses(&|p| p.layers[0].weights_of = Some(0));
    refuses(&|p| p.layers[0].weights_of = Some(usize::MAX));
    refuses(&|p| {
        let i = reuser(p);
        p.layers[i].weights_of = Some(i);
    });
    refuses(&|p| {
        let i = reuser(p);
        p.layers[i].weights_of = Some(0);
    });
    refuses(&|p| {
        let i = reuser(p);
        p.layers[i].weight_bits += 1;
    });
}

#[test]
fn what_cannot_be_unrolled_is_refused_by_name() {
    let refuses = |steps: i64, node: NodeProto, more: Vec<TensorProto>, part: &str| {
        let turn = self::node("Transpose", &["x"], "t", vec![list("perm", &[1, 0, 2])]);
        let end = self::node("Squeeze", &["h", "axis"], "y", vec![]);
        let tensors = [GRU.tensors(), vec![ints("axis", &[1], &[0])], more].concat();
        let model = model(&[steps, WIDTH as i64], vec![turn, node, end], tensors);
        let text = imported(&model)
            .map(|_| ())
            .expect_err("must be refused")
            .to_string();
        assert!(
            text.contains("'the GRU'") && text.contains(part),
            "'{text}' does not say '{part}'"
        );
    };
    let gru = |attributes| GRU.node("t", "forward", attributes);
    let plain = || gru(vec![]);
    refuses(1025, plain(), vec![], "1025 time steps; at most 1024");
    refuses(4, gru(vec![float("clip", 1.0)]), vec![], "attribute 'clip'");
    refuses(
        4,
        GRU.node("t", "sideways", vec![]),
        vec![],
        "'direction' is 'sideways'",
    );
    refuses(
        4,
        GRU.node("x", "forward", vec![]),
        vec![],
        "the batch as axis 0",
    );
    refuses(
        4,
        GRU.node("t", "bidirectional", vec![]),
        vec![],
        "[2, 6, 3] is needed",
    );
    let with = |i: usize, name: &str| {
        let mut node = plain();
        node.input[i] = name.into();
        node
    };
    let one = tensor("one", &[1, 2, 2], &[1.0, 0.0, 0.0, 0.0]);
    refuses(
        4,
        with(5, "one"),
        vec![one],
        "initial state (input 5) has the shape [1, 2, 2]",
    );
    refuses(
        4,
        with(4, "lens"),
        vec![ints("lens", &[2], &[4, 3])],
        "its constant lengths differ from item to item",
    );
    refuses(
        4,
        with(4, "lens"),
        vec![ints("lens", &[1], &[5])],
        "its sequences of 4 steps have the length 5",
    );
    refuses(
        4,
        with(2, "R3"),
        vec![tensor("R3", &[1, 6, 3], &noise(1, 18))],
        "'hidden_size'",
    );
    refuses(
        4,
        with(3, "B3"),
        vec![tensor("B3", &[1, 3], &[0.0; 3])],
        "[1, 12] is needed",
    );
    let mut bent = plain();
    bent.attribute.push(AttributeProto {
        name: "activations".into(),
        strings: vec![b"Relu".to_vec(), b"Tanh".to_vec()],
        ..Default::default()
    });
    refuses(4, bent, vec![], "activations");
}
