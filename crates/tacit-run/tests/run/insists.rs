//! What a party insists on holds: no more answers than it allows, no plan that asks for more memory.

use crate::common::edit;
use crate::parties::{many, run_all};
use tacit_run::InitOptions;

/// The data owner's file holds 50 rows, and the config files allow 1: its own, too, or only those of
/// the parties that it would have the answers from.
#[test]
fn no_more_answers_than_every_party_insists_on() {
    for (name, json, parties) in [
        ("falcon", "{}", 3),
        ("sirnn", r#"{"protocol": "sirnn"}"#, 2),
    ] {
        for all in [true, false] {
            let options = InitOptions::from_json(json).expect("valid");
            let (_folder, configs) = many(&format!("insists-{name}-{all}"), 50, options, parties);
            for (party, config) in configs.iter().enumerate() {
                if all || party != 1 {
                    edit(config, "# inputs = 100", "inputs = 1");
                }
                if all {
                    // The data's owner notices before it connects, and the others wait for it.
                    edit(config, "connect_timeout = 120.0", "connect_timeout = 2.0");
                }
                if name == "falcon" {
                    edit(config, "\"semi-honest\"", "\"malicious\"");
                }
            }
            let ends = run_all(&configs);
            let outputs = ends
                .iter()
                .filter_map(|end| end.as_ref().ok()?.output.as_ref());
            let given: usize = outputs.map(|output| output.len() / 5).sum();
            assert_eq!(given, 0, "{name}: answers that nobody allowed");
            let errors = ends
                .into_iter()
                .map(|end| end.expect_err("refused").to_string());
            let errors: Vec<String> = errors.collect();
            let said = |party: usize| errors[party].contains("insists on 1, and there are 50");
            match all {
                true => assert!(said(1), "{name}: {errors:?}"),
                false => assert!(
                    (0..parties).all(|p| p == 1 || said(p)),
                    "{name}: {errors:?}"
                ),
            }
        }
    }
}

/// Every party but the one that brings it: a plan may ask it for so much memory and no more.
#[test]
fn a_plan_that_asks_for_too_much_memory_is_refused() {
    let (_folder, configs) = many("memory", 1, InitOptions::default(), 3);
    edit(&configs[2], "report = ", "item_memory_gb = 4e-6\nreport = ");
    let ends = run_all(&configs);
    let error = ends[2].as_ref().expect_err("refused").to_string();
    for words in ["party 0, the model's owner", "layer '", "at most 4.00 kB"] {
        assert!(error.contains(words), "{error}");
    }
    assert!(ends.iter().all(Result::is_err));
}
