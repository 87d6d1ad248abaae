//! What is revealed of the outputs, through whole runs: the same classes on every protocol, parties
//! who do not agree, and that nothing of a run shows more than was chosen.

use std::path::PathBuf;

use crate::common::{CLASSES, Folder, compiled, edit, inputs, move_ports, quiet, write_network};
use crate::parties::{errors, run_all};
use tacit_run::{
    CompileOptions, Compiled, InitOptions, Outcome, Settings, Tensor, init, npy, run_local,
};

const N: usize = 9;

fn settings(json: &str) -> Settings {
    Settings::from_json(json).unwrap_or_else(|e| panic!("{e}"))
}

fn revealing(reveal: &str) -> Compiled {
    let json = format!(r#"{{"reveal": "{reveal}"}}"#);
    compiled(&CompileOptions::from_json(&json).unwrap_or_else(|e| panic!("{e}")))
}

fn predict(model: &Compiled, run: &str) -> Outcome {
    let (x, shape) = inputs(N);
    let input = Tensor {
        values: &x,
        shape: &shape,
    };
    let labels = [1; N];
    let outcome = run_local(model, &settings(run), input, &mut quiet);
    let mut outcome = outcome.unwrap_or_else(|e| panic!("{run}: {e}"));
    let scored = model.score(&mut outcome, &x, Some(&labels), true);
    scored.unwrap_or_else(|e| panic!("{run}: {e}"));
    outcome
}

const RUNS: [&str; 8] = [
    r#"{"protocol": "clear"}"#,
    r#"{"protocol": "falcon", "batch": 4}"#,
    r#"{"protocol": "falcon", "security": "malicious"}"#,
    r#"{"protocol": "bicoptor", "sharing": "ubl"}"#,
    r#"{"protocol": "bicoptor", "sharing": "rss"}"#,
    r#"{"protocol": "shamir", "parties": 5}"#,
    r#"{"protocol": "sirnn"}"#,
    r#"{"protocol": "sirnn", "ot": "silent"}"#,
];

#[test]
fn every_protocol_finds_the_same_classes() {
    let (x, _) = inputs(N);
    for (reveal, k) in [("class", 1), ("top-3", 3)] {
        let model = revealing(reveal);
        let expected = model.reference(&x).expect("the float32 model");
        assert_eq!(expected.len(), N * k);
        for run in RUNS {
            let outcome = predict(&model, run);
            let report = &outcome.report;
            assert_eq!(outcome.output.as_ref(), Some(&expected), "{reveal}, {run}");
            assert_eq!(
                outcome.outputs[0].shape,
                if k == 1 { vec![] } else { vec![k] }
            );
            // Classes are compared, no number is.
            assert_eq!((report.agreement, report.max_abs_error), (Some(1.0), None));
            let first = expected.chunks(k).filter(|classes| classes[0] == 1.0);
            assert_eq!(report.accuracy, Some(first.count() as f64 / N as f64));
            assert_eq!(report.reveal.as_deref(), Some(reveal));
        }
    }
}

/// The logits stand nowhere in what the data owner is left with: only classes do.
#[test]
fn a_run_leaves_no_logits() {
    let (x, _) = inputs(N);
    let logits = revealing("logits")
        .reference(&x)
        .expect("the float32 model");
    let outcome = predict(&revealing("class"), r#"{"protocol": "falcon"}"#);
    // But for times, no number is left that begins like a logit.
    let left = format!("{outcome:?}");
    let left = left.split(", ").filter(|part| !part.contains("seconds"));
    let left = left.collect::<Vec<_>>().join(", ");
    for logit in &logits {
        let digits = format!("{:.3}", logit.abs());
        assert!(!left.contains(&digits), "{digits} in {left}");
    }
    let classes = outcome.output.expect("classes");
    let is_class = |class: &f32| class.fract() == 0.0 && (0.0..CLASSES as f32).contains(class);
    assert!(classes.len() == N && classes.iter().all(is_class));
    let open = predict(&revealing("logits"), r#"{"protocol": "falcon"}"#);
    assert_eq!(open.output.map(|all| all.len()), Some(N * CLASSES));
}

/// What `tacit plan` shows is what a run meters, layer by layer, the search for classes included.
#[test]
fn the_search_costs_what_is_declared() {
    for reveal in ["class", "top-3"] {
        let model = revealing(reveal);
        for run in RUNS {
            let settings = settings(run);
            let report = predict(&model, run).report;
            let batches = match settings.batch {
                Some(_) => vec![4, 4, 1],
                None => vec![report.batch; N / report.batch],
            };
            assert_eq!(batches.iter().sum::<usize>(), N);
            let mut online = vec![0; report.parties];
            let mut offline = online.clone();
            for n in batches {
                let cost = model.predict_cost(&settings, n).expect("a prediction");
                for party in 0..report.parties {
                    online[party] += cost.online.bytes_sent[party];
                    offline[party] += cost.offline.bytes_sent[party];
                }
            }
            assert_eq!(report.online.bytes_sent, online, "{reveal}, {run}");
            assert_eq!(report.offline.bytes_sent, offline, "{reveal}, {run}");
            let rows: Vec<_> = report.layers.iter().rev().take(2).collect();
            assert_eq!(
                (rows[0].op.as_str(), rows[1].name.as_str()),
                ("Reveal", "ranking")
            );
        }
    }
}

#[test]
fn what_a_model_or_a_protocol_cannot_is_refused() {
    let json = r#"{"reveal": "probabilities"}"#;
    let options = CompileOptions::from_json(json).expect("valid");
    let folder = Folder::new("refused-reveal");
    let path = write_network(&folder);
    let error = Compiled::from_file(&path, &options, None).expect_err("refused");
    let error = error.to_string();
    assert!(error.starts_with("layer 'fc': 'probabilities'"), "{error}");
    let error = CompileOptions::from_json(r#"{"reveal": "top-99"}"#).expect_err("refused");
    assert!(error.to_string().contains("such as top-3"), "{error}");
}

/// Differences of logits with 16 fraction bits have no room among the key bits of 32: they are compared
/// without any.
#[test]
fn classes_beyond_key_bits_are_found_exactly() {
    let json = r#"{"reveal": "class", "ring": 32, "fraction_bits": 16}"#;
    let model = compiled(&CompileOptions::from_json(json).expect("valid"));
    let (x, _) = inputs(N);
    let expected = model.reference(&x).expect("the float32 model");
    for sharing in ["ubl", "rss"] {
        let json = format!(r#"{{"protocol": "bicoptor", "sharing": "{sharing}"}}"#);
        let outcome = predict(&model, &json);
        assert_eq!(outcome.output.as_ref(), Some(&expected), "{sharing}");
    }
}

/// Three ready folders whose model ends in logits.
fn organisations(name: &str, options: &str) -> (Folder, Vec<PathBuf>) {
    let folder = Folder::new(name);
    let (x, shape) = inputs(N);
    let input = folder.path().join("x.npy");
    npy::write_floats(&input, &x, &shape).expect("the input is written");
    let options = InitOptions {
        model: Some(write_network(&folder)),
        input: Some(input),
        ..InitOptions::from_json(options).unwrap_or_else(|e| panic!("{e}"))
    };
    init(folder.path(), &options).unwrap_or_else(|e| panic!("{e}"));
    let config = |p: usize| folder.path().join(format!("party{p}/party.toml"));
    let configs: Vec<_> = (0..3).map(config).collect();
    move_ports(&configs);
    (folder, configs)
}

#[test]
fn parties_apart_open_classes_only() {
    let (folder, configs) = organisations("class-apart", r#"{"reveal": "class"}"#);
    let ends = run_all(&configs).into_iter();
    let ends: Vec<Outcome> = ends.map(|e| e.unwrap_or_else(|e| panic!("{e}"))).collect();
    let (x, _) = inputs(N);
    let model = revealing("class");
    let expected = model.reference(&x).expect("the float32 model");
    assert_eq!(ends[1].output.as_ref(), Some(&expected));
    assert!(ends[0].output.is_none() && ends[2].output.is_none());
    let (written, shape) =
        npy::read_floats(&folder.path().join("party1/output.npy")).expect("the file");
    assert_eq!((written, shape), (expected, vec![N]));
    let report = std::fs::read_to_string(folder.path().join("party1/report.json"));
    assert!(report.expect("a report").contains(r#""reveal": "class""#));
}

/// Whoever insists on something else ends, and so do all: with both values, before anything is shared.
#[test]
fn parties_that_do_not_agree_end_with_both_values() {
    let insist = |config: &PathBuf, reveal: &str| {
        edit(
            config,
            "# reveal = \"class\"",
            &format!("reveal = \"{reveal}\""),
        );
    };
    let (_folder, configs) = organisations("reveal-1", "{}");
    insist(&configs[1], "class");
    for (party, error) in errors(&configs).into_iter().enumerate() {
        for word in ["reveal", "class", "logits", "to party"] {
            assert!(error.contains(word), "party {party}, no {word}: {error}");
        }
        // Those who agreed with each other hear from the one that left what to do.
        assert!(error.contains("set the same reveal in [plan]"), "{error}");
    }
    // All but the owner of the plan insist on the same: each holds it against the plan.
    let (_folder, configs) = organisations("reveal-2", "{}");
    insist(&configs[1], "top-3");
    insist(&configs[2], "top-3");
    for error in errors(&configs) {
        assert!(
            error.contains("says top-3") && error.contains("opens logits"),
            "{error}"
        );
    }
}

#[test]
fn a_training_has_no_such_choice() {
    let folder = Folder::new("reveal-training");
    let json = r#"{"training": true, "reveal": "class"}"#;
    let options = InitOptions::from_json(json).expect("valid");
    let error = init(folder.path(), &options)
        .expect_err("refused")
        .to_string();
    assert!(error.starts_with("reveal: a training"), "{error}");
}
