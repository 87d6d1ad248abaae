//! Parties as processes of this machine.

use std::path::{Path, PathBuf};

use crate::common::{Folder, inputs, quiet, write_network};
use tacit_run::{
    CompileOptions, Compiled, Error, PartyConfig, Progress, Requests, Settings, Tensor, run_local,
    run_party_for, run_processes,
};

/// The program of the parties below: this test binary with the path of a config file.
#[test]
#[ignore = "the program of the processes that other tests start"]
fn party_program() {
    let Some(config) = std::env::args()
        .next_back()
        .filter(|a| a.ends_with("party.toml"))
    else {
        return;
    };
    let config = PartyConfig::load(Path::new(&config)).unwrap_or_else(|e| panic!("{e}"));
    let killed =
        std::env::var("TACIT_TEST_KILLED").is_ok_and(|id| id == config.party.id.to_string());
    let mut requests = Requests::of_lines(|| std::io::stdin().lock());
    let observe = &mut |progress: Progress| {
        if killed && progress.layer == "relu1" {
            std::process::abort();
        }
        true
    };
    let outcome = run_party_for(&config, &mut requests, &mut |_| (), observe, &mut |_| ());
    if let Err(error) = outcome {
        eprintln!("{error}");
        std::process::exit(2);
    }
}

fn program(prefix: &[&str]) -> Vec<String> {
    let this = std::env::current_exe().expect("this test");
    let this = this.to_str().expect("its path");
    let arguments = [this, "party_program", "--ignored", "--nocapture"];
    prefix
        .iter()
        .chain(&arguments)
        .map(|s| s.to_string())
        .collect()
}

/// Predicts with processes and with threads, which must give the same to the last bit.
fn same_in_both(run: &str) {
    let (x, shape) = inputs(5);
    let input = Tensor {
        values: &x,
        shape: &shape,
    };
    let folder = Folder::new(&format!("processes-{}", run.len()));
    let (samples, samples_shape) = inputs(32);
    let samples = Tensor {
        values: &samples,
        shape: &samples_shape,
    };
    let options = CompileOptions {
        ring: Some(32),
        ..CompileOptions::default()
    };
    let model =
        Compiled::from_file(&write_network(&folder), &options, Some(samples)).expect("a plan");
    let settings = Settings::from_json(run).expect("valid");
    let apart = run_processes(&model, &settings, input, &program(&[]), &mut quiet);
    let apart = apart.unwrap_or_else(|e| panic!("{e}"));
    let here = run_local(&model, &settings, input, &mut quiet).expect("a result");
    assert_eq!(apart.output, here.output);
    assert_eq!(apart.outputs, here.outputs);
    assert_eq!(apart.report.parties, here.report.parties);
    assert_eq!(
        apart.report.online.bytes_sent,
        here.report.online.bytes_sent
    );
    assert_eq!(apart.report.warnings, here.report.warnings);
    assert!(apart.report.peak_memory_bytes.is_some());
}

#[test]
fn processes_give_the_same_as_threads() {
    // Truncations that are exact.
    same_in_both(r#"{"truncation": "exact", "batch": 3, "data_owner": 2}"#);
    same_in_both(r#"{"protocol": "clear", "parties": 5, "data_owner": 4, "model_owner": 3}"#);
}

fn model_in(folder: &Folder) -> Compiled {
    let path = write_network(folder);
    Compiled::from_file(&path, &CompileOptions::default(), None).expect("a plan")
}

#[test]
fn a_killed_process_ends_the_others() {
    let folder = Folder::new("killed");
    let (x, shape) = inputs(2);
    let input = Tensor {
        values: &x,
        shape: &shape,
    };
    let command = program(&["env", "TACIT_TEST_KILLED=2"]);
    let ended = run_processes(
        &model_in(&folder),
        &Settings::default(),
        input,
        &command,
        &mut quiet,
    );
    let error = ended.expect_err("a killed party").to_string();
    assert!(error.contains("party 2 (signal: 6"), "{error}");
    for other in ["party 0 (exit status: 2)", "party 1 (exit status: 2)"] {
        assert!(error.contains(other), "no {other}: {error}");
    }
    assert!(
        error.matches("party 2 was lost at step").count() >= 2,
        "{error}"
    );
}

/// A command whose processes note their number in a file and then run `script`.
fn noted(folder: &Folder, script: &str) -> (PathBuf, Vec<String>) {
    let pids = folder.path().join("pids");
    let script = format!("echo $$ >> '{}'; {script}", pids.display());
    (pids, ["sh", "-c", &script].map(String::from).into())
}

fn numbers(pids: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(pids).unwrap_or_default();
    text.lines().map(String::from).collect()
}

fn assert_gone(pids: &Path) {
    let pids = numbers(pids);
    assert_eq!(pids.len(), 3);
    for pid in pids {
        assert!(
            !Path::new("/proc").join(&pid).exists(),
            "process {pid} is left"
        );
    }
}

#[test]
fn processes_are_killed_when_cancelled() {
    let folder = Folder::new("cancelled");
    let (x, shape) = inputs(2);
    let input = Tensor {
        values: &x,
        shape: &shape,
    };
    let (pids, command) = noted(&folder, "exec sleep 3600");
    let mut go_on = |_: Progress| numbers(&pids).len() < 3;
    let ended = run_processes(
        &model_in(&folder),
        &Settings::default(),
        input,
        &command,
        &mut go_on,
    );
    assert!(matches!(ended, Err(Error::Cancelled)), "{ended:?}");
    assert_gone(&pids);
}

#[test]
fn processes_that_hang_are_killed_when_one_fails() {
    let folder = Folder::new("hang");
    let (x, shape) = inputs(2);
    let input = Tensor {
        values: &x,
        shape: &shape,
    };
    let all_there = format!(
        "[ $(wc -l < '{}') -eq 3 ]",
        folder.path().join("pids").display()
    );
    let fail = format!("until {all_there}; do sleep 0.1; done; echo no luck; exit 3");
    let script = format!("case $0 in *party1*) {fail};; esac; exec sleep 3600");
    let (pids, command) = noted(&folder, &script);
    let settings = Settings::from_json(r#"{"timeout": 1}"#).expect("valid");
    let ended = run_processes(&model_in(&folder), &settings, input, &command, &mut quiet);
    let error = ended.expect_err("a failure").to_string();
    assert!(
        error.contains("party 1 (exit status: 3): no luck"),
        "{error}"
    );
    assert_eq!(
        error.matches("did not end and was killed").count(),
        2,
        "{error}"
    );
    assert_gone(&pids);
}

#[test]
fn a_command_that_is_none() {
    let folder = Folder::new("command");
    let (x, shape) = inputs(2);
    let input = Tensor {
        values: &x,
        shape: &shape,
    };
    for (command, why) in [
        (vec![], "it is empty"),
        (vec!["/nonexistent".to_string()], "cannot be started"),
    ] {
        let ended = run_processes(
            &model_in(&folder),
            &Settings::default(),
            input,
            &command,
            &mut quiet,
        );
        let error = ended.expect_err("no program").to_string();
        assert!(error.contains(why), "{error}");
    }
}
