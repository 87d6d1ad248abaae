//! Every model of the shared folder: imported and run in float32.

use crate::common::{distance, models, real, samples};
use tacit_nn::reference;

const MODELS: [&str; 11] = [
    "network-a",
    "network-b",
    "network-c",
    "lenet",
    "alexnet-cifar10",
    "vgg16-cifar10",
    "adult-logreg",
    "adult-mlp",
    "pima-logreg",
    "gru-fsdd",
    "fastgrnn-fsdd",
];

#[test]
fn reference_gives_the_stored_logits() {
    let Some(folder) = models() else { return };
    for name in MODELS {
        let graph = real(&folder, name).unwrap_or_else(|e| panic!("{name}: {e}"));
        let (x, logits) = (
            samples(&folder, name, "x"),
            samples(&folder, name, "logits"),
        );
        // A quarter of the 64 samples keeps the largest model within seconds.
        let output = reference::predict(&graph, &x[..x.len() / 4]).expect("samples fit");
        let error = distance(&output, &logits[..logits.len() / 4]);
        println!(
            "{name}: {} operations, largest difference {error:e}",
            graph.nodes.len()
        );
        assert!(error < 1e-4, "{name}: {error}");
    }
}
