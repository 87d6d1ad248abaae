//! Predictions between parties in one process.

use std::time::Duration;

use crate::common::{CLASSES, Folder, compiled, distance, inputs, quiet, write_network};
use tacit_run::{
    BatchReport, CompileOptions, Compiled, Outcome, Protocol, Settings, Tensor, run_local,
};

fn settings(json: &str) -> Settings {
    Settings::from_json(json).unwrap_or_else(|e| panic!("{e}"))
}

fn options(json: &str) -> CompileOptions {
    CompileOptions::from_json(json).unwrap_or_else(|e| panic!("{e}"))
}

/// Predicts `n` inputs and checks every output against float32.
fn predict(model: &str, run: &str, n: usize, bound: f32) -> Outcome {
    let compiled = compiled(&options(model));
    let (x, shape) = inputs(n);
    let input = Tensor {
        values: &x,
        shape: &shape,
    };
    let outcome = run_local(&compiled, &settings(run), input, &mut quiet);
    let mut outcome = outcome.unwrap_or_else(|e| panic!("{model} {run}: {e}"));
    let output = outcome.output.clone().expect("the data owner's result");
    let expected = compiled.reference(&x).expect("the float32 model");
    let error = distance(&output, &expected);
    assert!(error <= bound, "{model} {run}: {error} > {bound}");
    assert!(
        output.iter().any(|v| v.abs() > 0.1),
        "the outputs tell nothing: {output:?}"
    );
    compiled
        .score(&mut outcome, &x, None, true)
        .expect("scores");
    assert_eq!(outcome.report.max_abs_error, Some(f64::from(error)));
    outcome
}

#[test]
fn clear_text_follows_float() {
    predict(r#"{"ring": 64}"#, r#"{"protocol": "clear"}"#, 9, 2e-4);
    predict(r#"{"ring": 32}"#, r#"{"protocol": "clear"}"#, 9, 0.02);
}

#[test]
fn every_batch_is_timed() {
    let report = predict("{}", r#"{"batch": 2}"#, 5, 0.02).report;
    assert_eq!(report.batches.len(), 3);
    let total = |seconds: fn(&BatchReport) -> f64| report.batches.iter().map(seconds).sum::<f64>();
    let offline = (total(|b| b.offline_seconds), report.offline.seconds);
    let online = (total(|b| b.online_seconds), report.online.seconds);
    for (batches, phase) in [offline, online] {
        // The slowest party need not be the same in every batch.
        assert!(0.0 < phase && phase <= batches + 1e-9);
    }
}

#[test]
fn any_number_of_parties_follows_float() {
    for parties in [2, 7, 16] {
        let run = format!(r#"{{"protocol": "clear", "parties": {parties}, "batch": 2}}"#);
        let report = predict("{}", &run, 3, 2e-4).report;
        assert_eq!(report.parties, parties);
        assert_eq!(report.offline.bytes_sent.len(), parties);
        let input = 3 * 64 * 8 * (parties as u64 - 1);
        assert_eq!(report.online.bytes_sent[1], input);
    }
}

fn protocol(name: &str) -> &'static Protocol {
    Protocol::of_name(name).expect("known")
}

#[test]
fn the_plan_follows_the_protocol() {
    let model = compiled(&CompileOptions::default());
    assert_eq!(model.plan().modulus.bits(), 64);
    let falcon = Settings::default().protocol;
    let shamir = protocol("shamir");
    assert!(std::ptr::eq(
        model.plan_for(falcon).expect("a plan"),
        model.plan()
    ));
    let plan = model.plan_for(shamir).expect("a plan");
    assert_eq!((plan.modulus.bits(), plan.compare_bits), (61, 61));
    assert_eq!(plan.fraction_bits, model.plan().fraction_bits);
    // It is made once.
    assert!(std::ptr::eq(model.plan_for(shamir).expect("a plan"), plan));
    let narrow = compiled(&options(r#"{"field": 31}"#));
    assert_eq!(narrow.plan_for(shamir).expect("a plan").modulus.bits(), 31);
}

#[test]
fn numbers_that_a_protocol_does_not_have_are_refused() {
    let (x, shape) = inputs(1);
    let input = Tensor {
        values: &x,
        shape: &shape,
    };
    let model = compiled(&options(r#"{"field": 61}"#));
    let ended = run_local(&model, &settings("{}"), input, &mut quiet);
    let error = ended.expect_err("refused").to_string();
    assert!(error.contains("falcon computes in the 32-bit ring or the 64-bit ring"));
    assert!(error.contains("--ring 32|64"), "{error}");
    let model = compiled(&options(r#"{"ring": 32}"#));
    let error = model
        .plan_for(protocol("shamir"))
        .expect_err("refused")
        .to_string();
    assert!(error.contains("--field 31|61"), "{error}");
}

#[test]
fn key_bits_are_planned_for_protocols_that_have_them() {
    let model = compiled(&options(r#"{"key_bits": "5.2"}"#));
    let bicoptor = protocol("bicoptor");
    let shown = |protocol| -> Vec<(String, String)> {
        let summary = model.summary(protocol).expect("a summary");
        let shown = summary.layers.into_iter();
        shown.filter_map(|l| Some((l.name, l.key_bits?))).collect()
    };
    let expected = ["pool1", "relu1", "clip"].map(|name| (name.into(), "5.2".into()));
    assert_eq!(shown(Some(bicoptor)), expected);
    assert_eq!(shown(None), expected);
    let (x, shape) = inputs(1);
    let input = Tensor {
        values: &x,
        shape: &shape,
    };
    for (protocol, field) in [
        ("falcon", ""),
        ("clear", ""),
        ("shamir", r#""field": 61, "#),
    ] {
        let model = compiled(&options(&format!(r#"{{{field}"key_bits": "5.2"}}"#)));
        let run = settings(&format!(r#"{{"protocol": "{protocol}"}}"#));
        let ended = run_local(&model, &run, input, &mut quiet);
        let error = ended.expect_err("refused").to_string();
        assert!(error.starts_with("key bits: "), "{error}");
        assert!(
            error.contains(&format!("{protocol} takes every sign exactly")),
            "{error}"
        );
        assert!(model.predict_cost(&run, 1).is_err());
    }
    // Nothing was asked for: all protocols plan alike, and only those with key bits show them.
    let model = compiled(&CompileOptions::default());
    let some = |protocol| {
        let layers = model.summary(Some(protocol)).expect("a summary").layers;
        layers.iter().filter(|l| l.key_bits.is_some()).count()
    };
    assert_eq!((some(bicoptor), some(Settings::default().protocol)), (3, 0));
}

#[test]
fn key_bits_that_make_no_sense_are_refused_when_a_model_is_compiled() {
    let folder = Folder::new("key-bits");
    let path = write_network(&folder);
    for (json, part) in [
        (r#"{"key_bits": "5"}"#, "key bits '5': give full, auto"),
        (r#"{"key_bits": "auto"}"#, "give samples"),
        (r#"{"key_bits": "3.40"}"#, "key bits 3.40: values have"),
        (r#"{"key_bits_loss": 0.1}"#, "key_bits_loss: it is for"),
        (
            r#"{"key_bits": "auto", "key_bits_loss": 2}"#,
            "from 0 to below 1",
        ),
    ] {
        let error = Compiled::from_file(&path, &options(json), None);
        let error = error.expect_err("refused").to_string();
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn falcon_follows_float() {
    for truncation in ["gap", "exact"] {
        let run = format!(r#"{{"truncation": "{truncation}", "batch": 4}}"#);
        predict(r#"{"ring": 64}"#, &run, 9, 2e-4);
        predict(r#"{"ring": 32}"#, &run, 9, 0.02);
    }
    // In the wide ring the large error of this truncation is too rare to be seen.
    predict(r#"{"ring": 64}"#, r#"{"truncation": "aby3"}"#, 3, 2e-4);
}

#[test]
fn other_orders_roles_and_public_models() {
    let order = r#"{"ring": 64, "order": "truncate-then-multiply"}"#;
    predict(order, "{}", 3, 5e-3);
    predict(r#"{"public_model": true}"#, "{}", 3, 2e-3);
    let outcome = predict("{}", r#"{"model_owner": 2, "data_owner": 2}"#, 3, 2e-4);
    assert_eq!(outcome.report.parties, 3);
}

#[test]
fn the_report_says_what_was_run() {
    let report = predict(
        "{}",
        r#"{"batch": 4, "network": "0.2ms,5000Mbps", "truncation": "aby3"}"#,
        9,
        2e-4,
    )
    .report;
    assert_eq!(
        (report.protocol.as_str(), report.parties, report.ring),
        ("falcon", 3, 64)
    );
    assert_eq!(
        (report.numbers.as_str(), report.options.len()),
        ("64-bit ring", 1)
    );
    assert_eq!(report.security, "semi-honest, 1 of 3 corrupt");
    assert_eq!((report.images, report.batch), (9, 4));
    assert_eq!(report.network, "0.2ms,5000mbps");
    // Three batches, each with every layer once.
    let fc = report
        .layers
        .iter()
        .find(|l| l.name == "fc")
        .expect("the layer fc");
    assert_eq!(
        (fc.op.as_str(), fc.rounds, fc.bytes),
        ("Linear", 3, 9 * CLASSES as u64 * 16)
    );
    let names: Vec<_> = report.layers.iter().map(|l| l.name.as_str()).collect();
    assert_eq!(names.first(), Some(&"input"), "{names:?}");
    assert_eq!(names.last(), Some(&"output"), "{names:?}");
    assert!(report.layers.iter().map(|l| l.bytes).sum::<u64>() > 0);
    let json: serde_json::Value = serde_json::from_str(&report.to_json()).expect("JSON");
    for key in [
        "protocol",
        "parties",
        "security",
        "ring",
        "fraction_bits",
        "network",
        "batch",
        "offline",
        "online",
        "layers",
        "accuracy",
        "max_abs_error",
    ] {
        assert!(json.get(key).is_some(), "no key '{key}'");
    }
    for phase in ["offline", "online"] {
        for key in ["seconds", "rounds", "bytes_sent"] {
            assert!(json[phase].get(key).is_some(), "no key '{key}' of {phase}");
        }
        assert_eq!(json[phase]["bytes_sent"].as_array().map(Vec::len), Some(3));
    }
    for key in ["name", "op", "shape", "seconds", "rounds", "bytes"] {
        assert!(
            json["layers"][0].get(key).is_some(),
            "no key '{key}' of a layer"
        );
    }
}

#[test]
fn accuracy_is_counted_from_labels() {
    let compiled = compiled(&CompileOptions::default());
    let (x, shape) = inputs(4);
    let input = Tensor {
        values: &x,
        shape: &shape,
    };
    let outcome = run_local(
        &compiled,
        &settings(r#"{"protocol": "clear"}"#),
        input,
        &mut quiet,
    );
    let mut outcome = outcome.expect("a result");
    let output = outcome.output.clone().expect("the result");
    let class = |item: &[f32]| {
        (0..CLASSES)
            .max_by(|&a, &b| item[a].total_cmp(&item[b]))
            .unwrap_or(0) as i64
    };
    let mut labels: Vec<i64> = output.chunks(CLASSES).map(class).collect();
    labels[2] += 1;
    compiled
        .score(&mut outcome, &x, Some(&labels), true)
        .expect("scores");
    assert_eq!(outcome.report.accuracy, Some(0.75));
    assert_eq!(outcome.report.agreement, Some(1.0));
    let error = compiled
        .score(&mut outcome, &x, Some(&labels[..3]), false)
        .expect_err("too few");
    assert_eq!(error.to_string(), "labels: there are 3 for 4 items");
}

#[test]
fn wrong_inputs_are_named() {
    let compiled = compiled(&CompileOptions::default());
    let (mut x, shape) = inputs(2);
    let run = |x: &[f32], shape: &[usize]| {
        let input = Tensor { values: x, shape };
        let ended = run_local(&compiled, &settings("{}"), input, &mut quiet);
        ended.expect_err("refused").to_string()
    };
    assert!(run(&x, &[2, 8, 8]).contains("the model takes [N, 1, 8, 8]"));
    assert!(run(&[], &[0, 1, 8, 8]).contains("at least 1"));
    x[70] = f32::NAN;
    assert!(run(&x, &shape).contains("item 1, position [0, 0, 6], of the input is NaN"));
    x[70] = 1e9;
    assert!(run(&x, &shape).contains("item 1, position [0, 0, 6], of the input is 1000000000"));
}

#[test]
fn a_false_observer_cancels() {
    let compiled = compiled(&CompileOptions::default());
    let (x, shape) = inputs(4);
    let input = Tensor {
        values: &x,
        shape: &shape,
    };
    for stop_at in ["setup", "offline", "online"] {
        let mut last = (0, 0);
        let ended = run_local(&compiled, &settings(r#"{"batch": 2}"#), input, &mut |p| {
            last = p.steps();
            p.phase != stop_at
        });
        let error = ended.expect_err("cancelled");
        assert_eq!(error.to_string(), "the run was cancelled");
        assert!(last.0 < last.1, "{last:?}");
    }
}

#[test]
fn a_panic_is_an_error_of_its_party() {
    let compiled = compiled(&CompileOptions::default());
    let (x, shape) = inputs(2);
    let input = Tensor {
        values: &x,
        shape: &shape,
    };
    let ended = run_local(&compiled, &settings("{}"), input, &mut |p| {
        assert!(p.phase != "offline", "a defect");
        true
    });
    let error = ended.expect_err("a panic").to_string();
    assert!(
        error.contains("party 0 stopped on a defect of this program: a defect"),
        "{error}"
    );
}

#[test]
fn time_limits_hold() {
    // The emulated network alone takes longer than the time limit; that is not held against it.
    let slow = settings(r#"{"timeout": 1.5, "network": "10,1000"}"#);
    assert_eq!(slow.timeout, Duration::from_millis(1500));
    let compiled = compiled(&CompileOptions::default());
    let (x, shape) = inputs(1);
    let input = Tensor {
        values: &x,
        shape: &shape,
    };
    let outcome = run_local(&compiled, &slow, input, &mut quiet).expect("a result");
    let least = f64::from(outcome.report.online.rounds) * 0.005;
    assert!(outcome.report.online.seconds >= least);
}

#[test]
fn malicious_security_gives_the_same_answers() {
    let of = |security: &str| {
        let run = format!(r#"{{"security": "{security}"}}"#);
        predict("{}", &run, 9, 2e-3).report
    };
    let [honest, malicious] = ["semi-honest", "malicious"].map(of);
    assert_eq!(malicious.security, "malicious with abort, 1 of 3 corrupt");
    let most = |report: &tacit_run::Report| report.online.bytes_sent.iter().copied().max();
    let (honest, malicious) = (most(&honest), most(&malicious));
    println!("{honest:?} bytes semi-honest, {malicious:?} malicious");
    assert!(malicious < honest.map(|bytes| 3 * bytes), "a tiny network");
}

#[test]
fn who_protects_against_followers_only_says_so() {
    for protocol in ["bicoptor", "shamir", "sirnn", "clear"] {
        let (x, shape) = inputs(1);
        let input = Tensor {
            values: &x,
            shape: &shape,
        };
        let run = format!(r#"{{"protocol": "{protocol}", "security": "malicious"}}"#);
        let refused = run_local(
            &compiled(&options("{}")),
            &settings(&run),
            input,
            &mut quiet,
        );
        let error = refused.expect_err("refused").to_string();
        assert!(error.contains("choose falcon, or semi-honest"), "{error}");
    }
}
