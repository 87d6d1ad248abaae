//! Recurrent networks and functions inside a model, on every protocol: right, and at the cost that was
//! predicted.

use tacit_nn::onnx::proto::*;
use tacit_run::{CompileOptions, Compiled, Settings, Tensor, run_local};

use crate::common::{CLASSES, distance, inputs, int, list, model, node, of_model, quiet, random};

/// A GRU over the rows of the input, layer normalisation, and a softmax that is not the end.
fn recurrent() -> ModelProto {
    const HIDDEN: i64 = 4;
    let integers = |name: &str, values: &[i64]| TensorProto {
        name: name.into(),
        dims: vec![values.len() as i64],
        data_type: data_type::INT64,
        int64_data: values.into(),
        ..Default::default()
    };
    let tensors = vec![
        integers("one", &[1]),
        integers("zero", &[0]),
        random(1, "w", &[1, 3 * HIDDEN, 8], [0.5, 0.0]),
        random(2, "r", &[1, 3 * HIDDEN, HIDDEN], [0.5, 0.0]),
        random(3, "b", &[1, 6 * HIDDEN], [0.2, 0.0]),
        random(4, "scale", &[HIDDEN], [0.3, 1.0]),
        random(5, "v", &[HIDDEN, CLASSES as i64], [0.5, 0.0]),
    ];
    let turn = vec![list("perm", &[1, 0, 2])];
    let mut gru = node(
        "GRU",
        "gru",
        &["t", "w", "r", "b"],
        "",
        vec![int("linear_before_reset", 1)],
    );
    gru.output.push("h".into());
    let nodes = vec![
        node("Squeeze", "channel", &["x", "one"], "s", vec![]),
        node("Transpose", "turn", &["s"], "t", turn),
        gru,
        node("Squeeze", "direction", &["h", "zero"], "last", vec![]),
        node(
            "LayerNormalization",
            "norm",
            &["last", "scale"],
            "n",
            vec![],
        ),
        node("MatMul", "fc", &["n", "v"], "l", vec![]),
        node("Softmax", "weights", &["l"], "p", vec![]),
        node("Mul", "output", &["p", "l"], "output", vec![]),
    ];
    model(nodes, tensors)
}

fn follows(compiled: &Compiled, run: &str, bound: f32) {
    let settings = Settings::from_json(run).unwrap_or_else(|e| panic!("{e}"));
    let (x, shape) = inputs(3);
    let input = Tensor {
        values: &x,
        shape: &shape,
    };
    let outcome = run_local(compiled, &settings, input, &mut quiet);
    let outcome = outcome.unwrap_or_else(|e| panic!("{run}: {e}"));
    let expected = compiled.reference(&x).expect("the float32 model");
    let output = outcome.output.expect("the data owner's result");
    assert!(output.iter().any(|v| v.abs() > 0.1), "{output:?}");
    let error = distance(&output, &expected);
    assert!(error <= bound, "{run}: {error} > {bound}");
    let cost = compiled.predict_cost(&settings, 3).expect("a prediction");
    for (metered, declared) in [
        (&outcome.report.offline, &cost.offline),
        (&outcome.report.online, &cost.online),
    ] {
        assert_eq!(metered.rounds, declared.rounds, "{run}");
        assert_eq!(metered.bytes_sent, declared.bytes_sent, "{run}");
    }
}

#[test]
fn every_protocol_runs_a_recurrent_network() {
    let compiled = of_model(&recurrent(), &CompileOptions::default());
    for run in [
        r#"{"protocol": "clear"}"#,
        r#"{"protocol": "falcon"}"#,
        r#"{"protocol": "falcon", "truncation": "exact"}"#,
        r#"{"protocol": "bicoptor", "sharing": "ubl"}"#,
        r#"{"protocol": "bicoptor", "sharing": "rss"}"#,
        r#"{"protocol": "shamir", "parties": 4}"#,
    ] {
        follows(&compiled, run, 1e-3);
    }
}

#[test]
fn a_narrow_ring_has_room_for_it() {
    let options = CompileOptions {
        ring: Some(32),
        ..CompileOptions::default()
    };
    let compiled = of_model(&recurrent(), &options);
    for run in [r#"{"protocol": "falcon"}"#, r#"{"protocol": "sirnn"}"#] {
        follows(&compiled, run, 0.05);
    }
}
