//! Networks through ONNX files.

use tacit_nn::onnx::{ImportOptions, Writer, import};
use tacit_train::{Loss, Network, Placed, Reference, Sgd, from_graph, named, to_onnx, uniform};

/// Networks with groups, functions and sums.
fn placed() -> Vec<(&'static str, Network)> {
    let all = [
        (
            "functions",
            r#"[{"type": "conv", "filters": 4, "kernel": 3, "groups": 2, "dilation": 2, "pad": 1},
                {"type": "leaky-relu", "slope": 0.25}, {"type": "gelu"}, {"type": "silu"}, {"type": "tanh"},
                {"type": "scale", "factor": 0.5, "shift": 0.25}, {"type": "linear", "outputs": 3}]"#,
        ),
        (
            "residual",
            r#"[{"type": "conv", "filters": 2, "kernel": 3, "pad": 1}, {"type": "relu"},
                {"type": "dropout"}, {"type": "add", "from": ["input"]}, {"type": "linear", "outputs": 3}]"#,
        ),
    ];
    let of = |(name, json)| {
        let specs: Vec<Placed> = serde_json::from_str(json).expect("reads");
        (name, Network::placed(&[2, 6, 6], &specs).expect("fits"))
    };
    all.map(of).into()
}

/// Networks through a file, and back as far as the layers are those of files.
#[test]
fn values_that_several_layers_read_go_through_files() {
    let sgd = Sgd::default();
    for (name, network) in placed() {
        let mut draw = uniform(4);
        let parameters = network.initial(&mut draw);
        let x: Vec<f32> = (0..2 * network.inputs()).map(|_| draw() as f32).collect();
        let reference = Reference::new(&network, Loss::CrossEntropy, &sgd, parameters.clone());
        let expected = reference.predict(&x);
        let file = to_onnx(&network, &parameters);
        let graph = import(&file, None, &ImportOptions::default()).expect("imports");
        let (again, start) = from_graph(&graph).expect("trainable");
        let back = Reference::new(&again, Loss::CrossEntropy, &sgd, start).predict(&x);
        let got = tacit_nn::reference::predict(&graph, &x).expect("runs");
        for ((got, back), expected) in got.iter().zip(&back).zip(&expected) {
            let off = (got - expected).abs().max((back - expected).abs());
            assert!(off < 1e-4, "{name}: {got}, {back} for {expected}");
        }
    }
}

/// A file whose nodes after one linear layer these are.
fn ending(ops: &[&str]) -> String {
    let mut writer = Writer::new("ends", &[3]);
    writer.node("first", "Gemm", &[("w", &[3, 2], &[0.5; 6])], &[]);
    for op in ops {
        writer.node(op, op, &[], &[]);
    }
    let file = writer.finish(&[2]);
    let graph = import(&file, None, &ImportOptions::default()).expect("imports");
    let refused = from_graph(&graph).map(|_| ());
    refused.err().map(|e| e.to_string()).unwrap_or_default()
}

#[test]
fn what_would_be_dropped_is_refused_by_name() {
    assert_eq!(ending(&[]), "");
    for (ops, why) in [
        (&["Softmax"][..], "ends in Softmax"),
        (&["LogSoftmax"], "ends in LogSoftmax"),
        (&["Sigmoid"], "ends in Sigmoid"),
        (&["Exp"], "does not know Exp"),
        (&["Relu"], "the last layer must be linear"),
    ] {
        let said = ending(ops);
        assert!(said.contains(why), "{ops:?}: {said}");
    }
}

#[test]
fn a_file_computes_what_the_network_does() {
    let sgd = Sgd::default();
    for (name, input) in [
        ("network-a", vec![1, 28, 28]),
        ("network-b", vec![1, 28, 28]),
        ("lenet", vec![1, 28, 28]),
        ("alexnet", vec![3, 32, 32]),
        ("alexnet-bn", vec![3, 32, 32]),
    ] {
        let network = Network::new(&input, &named(name, 10).expect("known")).expect("fits");
        let mut draw = uniform(4);
        let parameters = network.initial(&mut draw);
        let x: Vec<f32> = (0..2 * network.inputs()).map(|_| draw() as f32).collect();
        let reference = Reference::new(&network, Loss::CrossEntropy, &sgd, parameters.clone());
        let expected = reference.predict(&x);
        let file = to_onnx(&network, &parameters);
        let graph = import(&file, None, &ImportOptions::default()).expect("imports");
        let got = tacit_nn::reference::predict(&graph, &x).expect("runs");
        for (got, expected) in got.iter().zip(&expected) {
            assert!(
                (got - expected).abs() < 1e-4,
                "{name}: {got} for {expected}"
            );
        }
        let back = from_graph(&graph);
        if name == "alexnet-bn" {
            continue; // the normalisations were folded
        }
        let (again, start) = back.expect("trainable");
        assert_eq!(
            (again.layers, start),
            (network.layers, parameters),
            "{name}"
        );
    }
}
