//! Training between parties from config files, joined by TLS.

use std::path::PathBuf;
use std::thread;

use crate::common::{Folder, edit, move_ports, quiet};
use crate::train::{ITEMS, images, network, train};
use tacit_run::{
    Dataset, Error, InitOptions, Settings, Task, TrainConfig, TrainOptions, Trained, init,
    train_party,
};

const LAYERS: &str = r#"[model]
input = [1, 4, 4]
layers = [{type = "conv", filters = 2, kernel = 3}, {type = "relu"}, {type = "linear", outputs = 3}]
[training]
epochs = 2
batch = 8
reveal_curve = true
"#;

/// Three ready folders on free ports, for two epochs of the network of `train.rs`.
fn organisations(name: &str) -> (Folder, Vec<PathBuf>) {
    let folder = Folder::new(name);
    let options = InitOptions {
        training: true,
        ..InitOptions::default()
    };
    let said = init(folder.path(), &options).expect("folders").join("\n");
    assert!(said.contains("tacit train") && said.contains("party2/train.toml"));
    let configs: Vec<_> = (0..3)
        .map(|p| folder.path().join(format!("party{p}/train.toml")))
        .collect();
    move_ports(&configs);
    for config in &configs {
        let text = std::fs::read_to_string(config).expect("the config file");
        let (member, rest) = text.split_once("[model]").expect("a network");
        let (_, run) = rest.split_once("[run]").expect("a protocol");
        let run = run.replacen("\"gap\" ", "\"exact\"", 1);
        std::fs::write(config, format!("{member}{LAYERS}[run]{run}")).expect("is changed");
    }
    (folder, configs)
}

/// Runs each party in a thread: parties 0 and 2 bring a half of the items each, party 0 the test's.
fn run_all(configs: &[PathBuf]) -> Vec<Result<Trained, Error>> {
    let ((x, target), (tx, ttarget)) = (images(ITEMS, 1), images(30, 2));
    let half = ITEMS / 2;
    let run = |party: usize| {
        let config = TrainConfig::load(&configs[party])?;
        let first = half * party / 2;
        let train_on = Dataset {
            owner: party,
            x: &x[first * 16..][..half * 16],
            target: &target[first * 3..][..half * 3],
        };
        let try_on = Dataset {
            owner: party,
            x: &tx,
            target: &ttarget,
        };
        let (train_on, try_on) = match party {
            0 => (vec![train_on], vec![try_on]),
            1 => (Vec::new(), Vec::new()),
            _ => (vec![train_on], Vec::new()),
        };
        let (network, start) = config.model.build()?;
        let task = Task {
            network: &network,
            train: &train_on,
            test: &try_on,
            start: start.as_deref(),
        };
        train_party(&config, task, &mut |_| (), &mut quiet)
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..3)
            .map(|party| scope.spawn(move || run(party)))
            .collect();
        threads
            .into_iter()
            .map(|t| t.join().expect("no panic"))
            .collect()
    })
}

#[test]
fn three_organisations_train_as_one_machine_does() {
    let (_folder, configs) = organisations("train-apart");
    let ends: Vec<Trained> = run_all(&configs)
        .into_iter()
        .map(|end| end.unwrap_or_else(|e| panic!("{e}")))
        .collect();
    let options = r#"{"epochs": 2, "batch": 8, "reveal_curve": true}"#;
    let options: TrainOptions = serde_json::from_str(options).expect("valid");
    let exact = Settings::from_json(r#"{"truncation": "exact"}"#).expect("valid");
    let local = train(&options, &exact).expect("trains");
    assert_eq!(ends[0].parameters, local.parameters);
    let lens = network().parameters().into_iter().map(|p| p.len);
    let own = ends[0].parameters.as_ref().expect("the owner's");
    assert!(lens.eq(own.iter().map(Vec::len)));
    for end in &ends[1..] {
        assert!(end.parameters.is_none(), "only the owner learns it");
    }
    for end in &ends {
        for (ours, theirs) in end.report.epochs.iter().zip(&local.report.epochs) {
            assert_eq!(ours.accuracy, theirs.accuracy);
        }
        assert_eq!(end.report.epochs.len(), 2);
        assert_eq!(end.report.batches, local.report.batches);
        assert_eq!(
            end.report.offline.bytes_sent,
            local.report.offline.bytes_sent
        );
        assert_eq!(end.report.online.bytes_sent, local.report.online.bytes_sent);
        assert_eq!(end.report.online.rounds, local.report.online.rounds);
    }
}

#[test]
fn what_differs_is_named_before_anything_is_shared() {
    for (from, to, why) in [
        ("epochs = 2", "epochs = 3", "training.epochs"),
        (
            "epochs = 2",
            "epochs = 2\nstop_after = 1",
            "training.stop_after",
        ),
        ("filters = 2", "filters = 4", "the network's layers"),
        ("\"exact\"", "\"gap\"", "truncation"),
        (
            "reveal_curve = true",
            "reveal_curve = false",
            "training.reveal_curve",
        ),
    ] {
        let (_folder, configs) =
            organisations(&format!("differs-{}", why.replace([' ', '\''], "")));
        edit(&configs[2], from, to);
        let ends = run_all(&configs);
        let error = ends[2].as_ref().expect_err("refused").to_string();
        assert!(error.contains(why), "{error}");
        assert!(ends.iter().all(Result::is_err));
    }
}

#[test]
fn what_belongs_to_another_party_is_refused() {
    let (_folder, configs) = organisations("others");
    let report = "report = \"report.json\"";
    edit(&configs[1], report, "model = \"stolen.onnx\"");
    let error = TrainConfig::load(&configs[1]).expect_err("refused");
    assert!(error.to_string().contains("party 0 owns"), "{error}");
    let data = "[[data]]\nowner = 1\ntrain = \"csv:a.csv\"\n[run]";
    edit(&configs[2], "[run]", data);
    let error = TrainConfig::load(&configs[2]).expect_err("refused");
    assert!(error.to_string().contains("party 1 brings"), "{error}");
    edit(&configs[0], "[party]", "[party]\nport = 1");
    let error = TrainConfig::load(&configs[0]).expect_err("refused");
    assert!(
        error.to_string().contains("unknown field `port`"),
        "{error}"
    );
}
