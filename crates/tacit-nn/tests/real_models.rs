//! Every model of the shared folder: imported and run in float32, or refused with a full list.

mod common;

use common::{distance, models, real, samples};
use tacit_nn::onnx::ImportError;
use tacit_nn::reference;

const FEED_FORWARD: [&str; 9] = [
    "network-a",
    "network-b",
    "network-c",
    "lenet",
    "alexnet-cifar10",
    "vgg16-cifar10",
    "adult-logreg",
    "adult-mlp",
    "pima-logreg",
];

#[test]
fn reference_gives_the_stored_logits() {
    let Some(folder) = models() else { return };
    for name in FEED_FORWARD {
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

#[test]
fn recurrent_models_list_what_is_not_supported() {
    let Some(folder) = models() else { return };
    let Err(ImportError::Unsupported(nodes)) = real(&folder, "gru-fsdd") else {
        panic!("gru-fsdd must be refused")
    };
    let ops: Vec<_> = nodes.iter().map(|n| n.op.as_str()).collect();
    assert_eq!(ops, ["Transpose", "GRU"]);
    let Err(error @ ImportError::Unsupported(_)) = real(&folder, "fastgrnn-fsdd") else {
        panic!("fastgrnn-fsdd must be refused")
    };
    let text = error.to_string();
    assert!(
        text.contains("(Tanh): not supported; the nearest that is: Clip, or Relu"),
        "{text}"
    );
    assert!(text.matches("(Tanh)").count() == 48, "{text}");
}
