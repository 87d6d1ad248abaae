//! Training between parties in one process.

mod checkpoints;

use tacit_run::{
    Dataset, Error, ModelOptions, Settings, Sizes, Task, TrainCost, TrainOptions, Trained,
    train_local, train_reference,
};
use tacit_train::{Network, uniform};

pub const ITEMS: usize = 40;
const SIZES: Sizes = Sizes {
    train: &[(0, ITEMS / 2), (2, ITEMS - ITEMS / 2)],
    test: &[(0, 30)],
};

pub fn network() -> Network {
    let model = r#"{"input": [1, 4, 4], "layers": [
        {"type": "conv", "filters": 2, "kernel": 3}, {"type": "relu"}, {"type": "linear", "outputs": 3}
    ]}"#;
    let model: ModelOptions = serde_json::from_str(model).expect("reads");
    model.build().expect("fits")
}

/// Images with a bright row or two, and which.
pub fn images(n: usize, seed: u64) -> (Vec<f32>, Vec<f32>) {
    let mut draw = uniform(seed);
    let (mut x, mut target) = (Vec::new(), Vec::new());
    for i in 0..n {
        for row in 0..4 {
            let bright = if row == i % 3 { 1.0 } else { 0.0 };
            x.extend((0..4).map(|_| (bright + 0.3 * draw()) as f32));
        }
        target.extend((0..3).map(|c| if c == i % 3 { 1.0 } else { 0.0 }));
    }
    (x, target)
}

fn options(json: &str) -> TrainOptions {
    serde_json::from_str(json).expect("reads")
}

fn settings(json: &str) -> Settings {
    Settings::from_json(json).expect("valid")
}

pub fn train(options: &TrainOptions, settings: &Settings) -> Result<Trained, Error> {
    watched(options, settings, &mut |_| true)
}

fn watched(
    options: &TrainOptions,
    settings: &Settings,
    observe: &mut dyn FnMut(tacit_run::Progress) -> bool,
) -> Result<Trained, Error> {
    let (network, (x, target), (tx, ttarget)) = (network(), images(ITEMS, 1), images(30, 2));
    let half = ITEMS / 2;
    let part = |owner, items: std::ops::Range<usize>| Dataset {
        owner,
        x: &x[items.start * 16..items.end * 16],
        target: &target[items.start * 3..items.end * 3],
    };
    let test = [Dataset {
        owner: 0,
        x: &tx,
        target: &ttarget,
    }];
    let task = Task {
        network: &network,
        train: &[part(0, 0..half), part(2, half..ITEMS)],
        test: &test,
        start: None,
    };
    train_local(options, settings, task, observe)
}

const SHORT: &str = r#"{"epochs": 3, "batch": 8, "reveal_curve": true,
    "sgd": {"learning_rate": 0.3, "momentum": 0.9}}"#;

#[test]
fn two_owners_train_a_network_that_classifies() {
    let mut seen = Vec::new();
    let trained = watched(&options(SHORT), &settings("{}"), &mut |p| {
        seen.push((p.steps(), p.layer.to_owned()));
        true
    })
    .expect("trains");
    let report = &trained.report;
    assert_eq!((report.batches, report.epochs.len()), (15, 3));
    assert!(
        report.epochs[2].accuracy.expect("revealed") > 0.9,
        "{report:?}"
    );
    // Nothing is made beforehand.
    assert_eq!(report.offline.bytes_sent, [0; 3]);
    assert!(report.online.bytes_sent.iter().all(|sent| *sent > 0));
    assert_eq!(
        trained
            .parameters
            .expect("the model's owner learns them")
            .len(),
        4
    );
    assert!(seen.windows(2).all(|pair| pair[0].0.0 <= pair[1].0.0));
    let (last, words) = seen.last().expect("told");
    assert!(
        last.0 < last.1 && words.contains("epoch 3 of 3, batch 5 of 5"),
        "{words}"
    );
}

#[test]
fn every_protocol_trains() {
    for loss in ["cross-entropy", "mean-squared-error"] {
        let short = options(&format!(
            r#"{{"loss": "{loss}", "batch": 20, "fraction_bits": 18, "reveal_curve": true}}"#
        ));
        let of = |protocol| {
            let Trained { parameters, report } =
                train(&short, &settings(protocol)).expect("trains");
            let epoch = report.epochs[0].clone();
            let score = epoch.loss.or(epoch.error).expect("revealed");
            (parameters.expect("learnt").concat(), score)
        };
        let (clear, score) = of(r#"{"protocol": "clear", "parties": 3}"#);
        for protocol in [
            r#"{"protocol": "falcon"}"#,
            r#"{"protocol": "falcon", "security": "malicious"}"#,
            r#"{"protocol": "bicoptor"}"#,
            r#"{"protocol": "bicoptor", "sharing": "rss"}"#,
            r#"{"protocol": "shamir"}"#,
        ] {
            let (own, own_score) = of(protocol);
            let pairs = own.iter().zip(&clear);
            let off = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(off < 1e-3, "{protocol}: {off}");
            assert!((own_score - score).abs() < 1e-3, "{protocol}: {own_score}");
        }
    }
}

/// Two owners, since its two parties are all that there are.
#[test]
fn two_parties_train_alone() {
    let (network, (x, target)) = (network(), images(ITEMS, 1));
    let half = |owner: usize| Dataset {
        owner,
        x: &x[owner * 16 * ITEMS / 2..][..16 * ITEMS / 2],
        target: &target[owner * 3 * ITEMS / 2..][..3 * ITEMS / 2],
    };
    let task = Task {
        network: &network,
        train: &[half(1), half(0)],
        test: &[],
        start: None,
    };
    let short = options(r#"{"batch": 20, "fraction_bits": 18}"#);
    let sirnn = settings(r#"{"protocol": "sirnn"}"#);
    let trained = train_local(&short, &sirnn, task, &mut |_| true).expect("trains");
    // The order of the sets is that of their owners, wherever they stand.
    let clear = train_reference(&short, task, None, &mut |_| true).expect("trains");
    let own = trained.parameters.expect("learnt").concat();
    let pairs = own.iter().zip(clear.1.iter().flatten());
    let off = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(off < 1e-3, "{off}");
}

#[test]
fn what_cannot_be_trained_is_refused_with_a_reason() {
    for (json, why) in [
        (r#"{"epochs": 0}"#, "epochs: it must be at least 1"),
        (r#"{"ring": 32}"#, "a training needs 8 to 10"),
        (r#"{"fraction_bits": 40}"#, "fraction_bits: 40"),
        (r#"{"sign_bits": 16}"#, "sign_bits: 16"),
        (r#"{"sgd": {"momentum": 2}}"#, "momentum: 2"),
    ] {
        let error = train(&options(json), &settings("{}")).expect_err("refused");
        assert!(error.to_string().contains(why), "{error}");
    }
    let network = network();
    let refused = |x: &[f32], target: &[f32], owner| {
        let train = [Dataset { owner, x, target }];
        let task = Task {
            network: &network,
            train: &train,
            test: &[],
            start: None,
        };
        let result = train_local(&TrainOptions::default(), &settings("{}"), task, &mut |_| {
            true
        });
        result.expect_err("refused").to_string()
    };
    assert!(refused(&[0.0; 15], &[0.0; 3], 0).contains("no whole items of 16"));
    assert!(refused(&[0.0; 16], &[0.0; 4], 0).contains("each needs 3"));
    assert!(refused(&[0.0; 16], &[0.0; 3], 7).contains("party 7"));
}

/// What is beyond the ring is refused with its place, at every protocol's width, and never taken for 0
/// or another number.
#[test]
fn values_that_the_ring_does_not_hold_are_named() {
    let network = network();
    let (x, target) = images(2, 1);
    let start = network.initial(uniform(1));
    let tried = |x: &[f32], target: &[f32], start: &[Vec<f32>], json: &str| {
        let train = [Dataset {
            owner: 2,
            x,
            target,
        }];
        let task = Task {
            network: &network,
            train: &train,
            test: &train,
            start: Some(start),
        };
        let local = settings(r#"{"protocol": "clear", "parties": 3}"#);
        let ended = train_local(&options(json), &local, task, &mut |_| true);
        ended.map(drop).map_err(|e| e.to_string())
    };
    let names = |ended: Result<(), String>, words: &[&str]| {
        let error = ended.expect_err("refused");
        assert!(
            words.iter().all(|w| error.contains(w)),
            "{words:?}: {error}"
        );
    };
    let (plain, squares) = ("{}", r#"{"loss": "mean-squared-error"}"#);
    for (bits, limit) in [(20, 1024.0f32), (26, 32.0)] {
        let json = format!(r#"{{"loss": "mean-squared-error", "fraction_bits": {bits}}}"#);
        for value in [
            limit,
            -limit,
            1e30,
            f32::MAX,
            f32::INFINITY,
            f32::NEG_INFINITY,
            f32::NAN,
        ] {
            let (mut bad_x, mut bad_target, mut bad_start) =
                (x.clone(), target.clone(), start.clone());
            (bad_x[16 + 3], bad_target[3 + 2], bad_start[2][5]) = (value, value, value);
            let shown = value.to_string();
            let of = |words: [&'static str; 2]| [words[0], words[1], shown.as_str()];
            names(
                tried(&bad_x, &target, &start, &json),
                &of(["training data: item 1 of party 2", "feature 3 is"]),
            );
            names(
                tried(&x, &bad_target, &start, &json),
                &of(["training data: item 1 of party 2", "target 2 is"]),
            );
            names(
                tried(&x, &target, &bad_start, &json),
                &of(["starting weights: layer 2", "element 5 of its Weight"]),
            );
        }
        let below = limit.next_down();
        let (mut good_x, mut good_target) = (x.clone(), target.clone());
        (good_x[0], good_target[0]) = (below, -below);
        tried(&good_x, &good_target, &start, &json).expect("below the limit");
    }
    for targets in [
        [0.0, 0.0, 0.0],
        [1.0, 1.0, 0.0],
        [2.0, -1.0, 0.0],
        [0.0, 3.0, 0.0],
    ] {
        let mut bad = target.clone();
        bad[3..].copy_from_slice(&targets);
        names(
            tried(&x, &bad, &start, plain),
            &["item 1 of party 2", "no class"],
        );
        tried(&x, &bad, &start, squares).expect("values");
    }
    for (sgd, why) in [
        (r#"{"learning_rate": 1e-12}"#, "learning_rate: it is 1e-12"),
        (r#"{"learning_rate": 16}"#, "learning_rate: 16"),
        (r#"{"weight_decay": 1e-9}"#, "weight_decay"),
    ] {
        names(
            tried(&x, &target, &start, &format!(r#"{{"sgd": {sgd}}}"#)),
            &[why],
        );
    }
}

/// A step, and an epoch of steps on 16, 16 and 8 items; signs in 64 and in 32 bits.
#[test]
fn a_training_costs_what_it_declares() {
    for security in ["semi-honest", "malicious"] {
        for sign_bits in [32, 64] {
            let sgd = r#"{"momentum": 0.9, "weight_decay": 0.01}"#;
            let whole = options(&format!(
                r#"{{"batch": 16, "sign_bits": {sign_bits}, "sgd": {sgd}}}"#
            ));
            let first = TrainOptions {
                stop_after: Some(1),
                ..whole.clone()
            };
            let run = settings(&format!(r#"{{"security": "{security}"}}"#));
            let cost = TrainCost::new(&network(), &whole, &run, SIZES, None).expect("is counted");
            let what = format!("{security}, {sign_bits}");
            let report = train(&first, &run).expect("trains").report;
            assert_eq!((cost.batches, cost.parameters), (3, report.parameters));
            for (metered, declared) in [
                (&report.offline, &cost.step.offline),
                (&report.online, &cost.step.online),
            ] {
                assert_eq!(metered.bytes_sent, declared.bytes_sent, "{what}");
                // Of several calls the longest path may be shorter than all of theirs; of a malicious
                // truncation one party is done a hop before the others.
                let share = if security == "malicious" { 18 } else { 19 };
                let rounds = declared.rounds * share / 20..=declared.rounds;
                assert!(
                    rounds.contains(&metered.rounds),
                    "{what}: {metered:?}, {rounds:?}"
                );
            }
            let report = train(&whole, &run).expect("trains").report;
            for (metered, declared) in [
                (&report.offline, &cost.epoch.offline),
                (&report.online, &cost.epoch.online),
            ] {
                assert_eq!(metered.bytes_sent, declared.bytes_sent, "{what}, an epoch");
            }
        }
    }
}

/// All mini-batches of two epochs of 16, 16 and 8 items, and two evaluations, under every protocol; the set-up but for
/// the digits of what parties tell each other of their meters.
#[test]
fn a_whole_training_costs_what_it_declares() {
    for protocol in ["falcon", "bicoptor", "shamir"] {
        let run = settings(&format!(r#"{{"protocol": "{protocol}"}}"#));
        for (more, evaluations) in [
            (r#""reveal_curve": true, "stop_after": 6"#, 2),
            (r#""stop_after": 4"#, 0),
        ] {
            let whole = options(&format!(r#"{{"batch": 16, "epochs": 3, {more}}}"#));
            let cost = TrainCost::new(&network(), &whole, &run, SIZES, None).expect("is counted");
            let report = train(&whole, &run).expect("trains").report;
            assert_eq!(cost.evaluation.is_some(), evaluations > 0);
            for (metered, declared) in [
                (&report.offline, &cost.whole.offline),
                (&report.online, &cost.whole.online),
            ] {
                assert_eq!(
                    metered.bytes_sent, declared.bytes_sent,
                    "{protocol}, {more}"
                );
            }
            let setup = cost.whole.setup.expect("is counted");
            assert_eq!(report.setup.rounds, setup.rounds, "{protocol}, {more}");
            for (metered, declared) in report.setup.bytes_sent.iter().zip(&setup.bytes_sent) {
                assert!(
                    metered.abs_diff(*declared) < 50,
                    "{protocol}: {metered}, {declared}"
                );
            }
        }
    }
}

/// Every stage with task of its own: the same weights, and the cost that is declared.
#[test]
fn material_is_made_in_portions() {
    for security in ["semi-honest", "malicious"] {
        let run = settings(&format!(
            r#"{{"security": "{security}", "truncation": "exact"}}"#
        ));
        let whole = options(r#"{"batch": 20, "stop_after": 2}"#);
        let portions = TrainOptions {
            material_mb: Some(0),
            ..whole.clone()
        };
        let cost = TrainCost::new(&network(), &portions, &run, SIZES, None).expect("is counted");
        let at_once = TrainCost::new(&network(), &whole, &run, SIZES, None).expect("is counted");
        assert!(cost.step.offline.rounds > 2 * at_once.step.offline.rounds);
        let (expected, got) = (train(&whole, &run), train(&portions, &run));
        let (expected, got) = (expected.expect("trains"), got.expect("trains"));
        assert_eq!(got.parameters, expected.parameters, "{security}");
        for (metered, declared) in [
            (&got.report.offline, &cost.epoch.offline),
            (&got.report.online, &cost.epoch.online),
        ] {
            assert_eq!(metered.bytes_sent, declared.bytes_sent, "{security}");
        }
    }
}
