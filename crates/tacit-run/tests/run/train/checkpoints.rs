//! Checkpoints: where a training goes on, and which are refused.

use super::*;
use std::cell::RefCell;
use std::path::PathBuf;
use tacit_run::CheckpointOptions;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("tacit-train-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Folder(path)
    }

    fn options(&self, json: &str, every: usize) -> TrainOptions {
        TrainOptions {
            checkpoint: Some(CheckpointOptions {
                folder: self.0.clone(),
                keys: None,
                every,
            }),
            ..options(json)
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// With the exact truncation a training has one result.
#[test]
fn a_training_goes_on_where_it_was_stopped() {
    let exact = settings(r#"{"truncation": "exact"}"#);
    let short = r#"{"epochs": 2, "batch": 16, "reveal_curve": true}"#;
    let whole = train(&options(short), &exact).expect("trains");
    let folder = Folder::new("resume");
    let options = folder.options(short, 1);
    for stop_at in [2, 4] {
        let seen = RefCell::new(0);
        let stopped = watched(&options, &exact, &mut |p| {
            *seen.borrow_mut() += 1;
            !(p.phase == "step" && p.batch == stop_at)
        });
        assert!(matches!(stopped, Err(Error::Cancelled)), "{stopped:?}");
    }
    let resumed = train(&options, &exact).expect("goes on");
    assert_eq!(resumed.parameters, whole.parameters);
    assert_eq!(resumed.report.batches, 2);
    let curve = |trained: &Trained| -> Vec<_> {
        trained.report.epochs.iter().map(|e| e.accuracy).collect()
    };
    assert_eq!(curve(&resumed), curve(&whole));
    // Once it is done there is nothing left to do.
    let again = train(&options, &exact).expect("is done");
    assert_eq!(
        (again.report.batches, again.parameters),
        (0, whole.parameters)
    );
}

/// Of one party the newest is damaged: all go back to the newest that all have whole, and end with
/// the weights of a training that was never stopped.
#[test]
fn a_damaged_newest_checkpoint_falls_back_to_the_one_before() {
    let exact = settings(r#"{"truncation": "exact"}"#);
    let json = |more: &str| format!(r#"{{"batch": 8, "epochs": 2{more}}}"#);
    let whole = train(&options(&json("")), &exact).expect("trains");
    for bytes in [0, 40, 100_000] {
        let folder = Folder::new(&format!("fallback-{bytes}"));
        let stopped = folder.options(&json(r#", "stop_after": 4"#), 1);
        train(&stopped, &exact).expect("trains");
        let newest = folder.0.join("party1-00000004.checkpoint");
        let mut content = std::fs::read(&newest).expect("there");
        let at = bytes.min(content.len() - 1);
        content[at] ^= 1;
        std::fs::write(&newest, content).expect("writes");
        let resumed = train(&folder.options(&json(""), 1), &exact).expect("goes on");
        assert_eq!(resumed.parameters, whole.parameters);
        let from = resumed.report.resumed.expect("it went on");
        assert_eq!((from.after, from.of, resumed.report.batches), (3, 10, 7));
        assert_eq!(from.checkpoint, "party0-00000003.checkpoint");
    }
    let folder = Folder::new("fallback-none");
    let stopped = folder.options(&json(r#", "stop_after": 4"#), 1);
    train(&stopped, &exact).expect("trains");
    for (party, done) in [(0, 3), (1, 4)] {
        let path = folder.0.join(format!("party{party}-{done:08}.checkpoint"));
        std::fs::write(path, b"damaged").expect("writes");
    }
    let ended = train(&folder.options(&json(""), 1), &exact);
    let error = ended.expect_err("4 and 3 are not mixed").to_string();
    assert!(
        error.contains("no checkpoint of one moment in common"),
        "{error}"
    );
}

#[test]
fn checkpoints_of_other_trainings_and_moments_are_refused() {
    let folder = Folder::new("other");
    let local = settings("{}");
    train(
        &folder.options(r#"{"batch": 8, "stop_after": 2}"#, 1),
        &local,
    )
    .expect("trains");
    let refused = |json: &str, run: &Settings| {
        let result = train(&folder.options(json, 1), run);
        result.expect_err("refused").to_string()
    };
    for (json, run) in [
        (r#"{"batch": 9}"#, "{}"),
        (r#"{"batch": 8}"#, r#"{"protocol": "bicoptor"}"#),
        (r#"{"batch": 8}"#, r#"{"truncation": "exact"}"#),
    ] {
        let error = refused(json, &settings(run));
        assert!(error.contains("another training"), "{run}: {error}");
    }
    for file in ["party1-00000001.checkpoint", "party1-00000002.checkpoint"] {
        std::fs::remove_file(folder.0.join(file)).expect("there");
    }
    let error = refused(r#"{"batch": 8}"#, &local);
    assert!(
        error.contains("no checkpoint of one moment in common"),
        "{error}"
    );
}

/// Kept files in one another's place: of other moments, parties and runs.
#[test]
fn swapped_checkpoints_are_refused() {
    let exact = settings(r#"{"truncation": "exact"}"#);
    let json = r#"{"batch": 16}"#;
    let whole = train(&options(json), &exact).expect("trains");
    let folder = |name: &str| {
        let folder = Folder::new(name);
        let first = r#"{"batch": 16, "stop_after": 2}"#;
        train(&folder.options(first, 1), &exact).expect("trains");
        folder
    };
    let refused = |folder: &Folder, why: &str| {
        let ended = train(&folder.options(json, 1), &exact);
        let ended = ended.map(|trained| trained.parameters == whole.parameters);
        let error = ended.map_err(|e| e.to_string()).expect_err("refused");
        assert!(error.contains(why), "{error}");
    };
    let file = |folder: &Folder, party: usize, done: usize| {
        folder.0.join(format!("party{party}-{done:08}.checkpoint"))
    };
    let moments = folder("moments");
    let [first, second] = [1, 2].map(|done| std::fs::read(file(&moments, 1, done)).expect("there"));
    std::fs::write(file(&moments, 1, 1), second).expect("writes");
    std::fs::write(file(&moments, 1, 2), first).expect("writes");
    refused(&moments, "under the name of mini-batch");
    let parties = folder("parties");
    for done in [1, 2] {
        std::fs::copy(file(&parties, 1, done), file(&parties, 2, done)).expect("copies");
    }
    std::fs::copy(parties.0.join("party1.key"), parties.0.join("party2.key")).expect("copies");
    refused(&parties, "of party 1, under the name of party 2's");
    let (runs, other) = (folder("runs"), folder("other-run"));
    std::fs::copy(other.0.join("party1.key"), runs.0.join("party1.key")).expect("copies");
    for done in [1, 2] {
        std::fs::copy(file(&other, 1, done), file(&runs, 1, done)).expect("copies");
    }
    refused(&runs, "no checkpoint of one moment in common");
}
