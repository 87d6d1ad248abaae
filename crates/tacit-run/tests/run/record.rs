//! What every party keeps of its runs: what was given out, and how they ended.

use std::path::Path;
use std::thread;

use serde_json::Value;

use crate::common::edit;
use crate::parties::{many, run_all};
use tacit_run::{Error, InitOptions, Outcome, PartyConfig, run_party};

/// The lines of a party's record.
fn lines(config: &Path) -> Vec<Value> {
    let path = config.with_file_name("runs.jsonl");
    let text = std::fs::read_to_string(path).expect("a record");
    let lines = text.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().expect("JSON lines")
}

fn report(config: &Path) -> Value {
    let path = config.with_file_name("report.json");
    let text = std::fs::read_to_string(path).expect("a report");
    serde_json::from_str(&text).expect("JSON")
}

/// Each party in a thread; the data's owner, party 1, leaves when a batch begins.
fn leaving(configs: &[std::path::PathBuf], at: usize) -> Vec<Result<Outcome, Error>> {
    thread::scope(|scope| {
        let run = |party: usize| {
            let config = PartyConfig::load(&configs[party])?;
            let mut stays = |p: tacit_run::Progress| !(party == 1 && p.batch == at);
            run_party(&config, &mut |_| (), &mut stays)
        };
        let threads: Vec<_> = (0..configs.len())
            .map(|party| scope.spawn(move || run(party)))
            .collect();
        let ends = threads.into_iter().map(|t| t.join().expect("no panic"));
        ends.collect()
    })
}

#[test]
fn every_party_records_what_was_given_out() {
    let (_folder, configs) = many("recorded", 5, InitOptions::default(), 3);
    for config in &configs {
        edit(config, "# batch = 128", "batch = 2");
    }
    let ends = run_all(&configs);
    assert!(ends.iter().all(Result::is_ok), "{ends:?}");
    let mut plans = Vec::new();
    for (party, config) in configs.iter().enumerate() {
        let lines = lines(config);
        assert_eq!(lines.len(), 1);
        let line = &lines[0];
        assert_eq!(
            (&line["party"], &line["inputs"]),
            (&party.into(), &5.into())
        );
        assert_eq!(
            (&line["ended"], &line["protocol"]),
            (&"well".into(), &"falcon".into())
        );
        assert_eq!(line["parties"].as_array().map(Vec::len), Some(3));
        let expected = serde_json::json!([
            {"what": "answers", "to": [1], "count": 5, "openings": 3, "begun": 0}
        ]);
        assert_eq!(line["revealed"], expected);
        assert_eq!(report(config)["revealed"], expected);
        assert!(report(config).get("error").is_none());
        plans.push(line["plan"].as_str().expect("a hash").to_owned());
    }
    assert!(
        plans
            .iter()
            .all(|plan| *plan == plans[0] && plan.len() == 64)
    );
}

/// A data's owner has the answers of its first batch and leaves, again and again: the error of everyone else says what
/// it has, and so do their reports and a line for each of its runs.
#[test]
fn a_data_owner_that_leaves_after_a_batch_leaves_a_trace() {
    let (_folder, configs) = many("leaving", 5, InitOptions::default(), 3);
    for config in &configs {
        edit(config, "# batch = 128", "batch = 2");
    }
    for times in 1..=3 {
        let ends = leaving(&configs, 1);
        assert!(matches!(ends[1], Err(Error::Cancelled)), "{:?}", ends[1]);
        for party in [0, 2] {
            let error = ends[party].as_ref().expect_err("lost").to_string();
            for words in [
                "party 1 was interrupted",
                "2 answers to party 1 (openings: 1)",
            ] {
                assert!(error.contains(words), "{error}");
            }
            let report = report(&configs[party]);
            assert_eq!(report["revealed"][0]["count"], 2);
            assert_eq!(report["error"].as_str(), Some(error.as_str()));
            let lines = lines(&configs[party]);
            assert_eq!(lines.len(), times);
            let last = lines.last().expect("one");
            assert_eq!(last["ended"].as_str(), Some(error.as_str()));
            assert_eq!(last["revealed"], report["revealed"]);
        }
        assert_eq!(lines(&configs[1]).len(), times);
    }
}

#[test]
fn a_party_that_cannot_keep_its_record_does_not_run() {
    let (_folder, configs) = many("no-record", 1, InitOptions::default(), 3);
    edit(
        &configs[0],
        "[party]",
        "[party]\nrecord = \"nowhere/runs.jsonl\"",
    );
    let config = PartyConfig::load(&configs[0]).expect("a config");
    let error = run_party(&config, &mut |_| (), &mut |_| true).expect_err("refused");
    let error = error.to_string();
    assert!(error.contains("record of its runs"), "{error}");
}

/// Even a run that never began leaves a line, with the reason.
#[test]
fn a_run_that_ends_while_the_parties_connect_is_recorded() {
    let (_folder, configs) = many("unmet", 5, InitOptions::default(), 3);
    edit(&configs[1], "input = \"", "input = \"gone/");
    let ends = run_all(&configs);
    for (config, end) in configs.iter().zip(&ends) {
        let error = end.as_ref().expect_err("no run").to_string();
        let lines = lines(config);
        assert_eq!(lines.len(), 1);
        let ended = format!("while connecting: {error}");
        assert_eq!(lines[0]["ended"].as_str(), Some(ended.as_str()));
        assert!(lines[0]["plan"].is_null() && lines[0]["inputs"].is_null());
        assert_eq!(lines[0]["revealed"], serde_json::json!([]));
    }
}
