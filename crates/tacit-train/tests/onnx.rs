//! Networks through ONNX files.

use tacit_nn::onnx::{ImportOptions, import};
use tacit_train::{Loss, Network, Reference, Sgd, from_graph, named, to_onnx, uniform};

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
