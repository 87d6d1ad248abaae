//! What a party insists on holds: no more answers than it allows, no plan that asks for more memory.

use crate::common::edit;
use crate::parties::{many, run_all};
use tacit_run::InitOptions;

/// The data owner's file holds 50 rows, and every config file allows 1.
#[test]
fn no_more_answers_than_every_party_insists_on() {
    for (name, json, parties) in [
        ("falcon", "{}", 3),
        ("sirnn", r#"{"protocol": "sirnn"}"#, 2),
    ] {
        let options = InitOptions::from_json(json).expect("valid");
        let (_folder, configs) = many(&format!("insists-{name}"), 50, options, parties);
        for config in &configs {
            edit(config, "# inputs = 100", "inputs = 1");
            if name == "falcon" {
                edit(config, "\"semi-honest\"", "\"malicious\"");
            }
        }
        let ends = run_all(&configs);
        let given: usize = (ends.iter())
            .filter_map(|end| end.as_ref().ok()?.output.as_ref())
            .map(|output| output.len() / 5)
            .sum();
        assert_eq!(given, 0, "{name}: answers that nobody allowed");
        assert!(ends.iter().all(Result::is_err), "{name}: a run of 50");
    }
}

/// Every party but the one that brings it: a plan may ask it for so much memory and no more.
#[test]
fn a_plan_that_asks_for_too_much_memory_is_refused() {
    let (_folder, configs) = many("memory", 1, InitOptions::default(), 3);
    edit(&configs[2], "report = ", "item_memory_gb = 1e-4\nreport = ");
    let ends = run_all(&configs);
    let error = ends[2].as_ref().expect_err("refused").to_string();
    for words in [
        "party 0, the model's owner",
        "layer '",
        "item_memory_gb",
        "at most 0.00 GB",
    ] {
        assert!(error.contains(words), "{error}");
    }
    assert!(ends.iter().all(Result::is_err));
}
