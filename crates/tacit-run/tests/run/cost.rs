//! What a whole prediction costs by the meters is what its protocol declares.

use crate::common::{compiled, inputs, quiet};
use tacit_protocols::Cost;
use tacit_protocols::clear::ClearCost;
use tacit_protocols::falcon::{FalconCost, Options, Truncation};
use tacit_protocols::machine::CostModel;
use tacit_run::{CompileOptions, Compiled, Report, Settings, Tensor, run_local};

/// Two batches of 4 and one of 1.
const INPUTS: usize = 9;
const BATCHES: [usize; 3] = [4, 4, 1];

fn report(compiled: &Compiled, settings: &Settings, items: usize) -> Report {
    let (x, shape) = inputs(items);
    let input = Tensor {
        values: &x,
        shape: &shape,
    };
    let outcome = run_local(compiled, settings, input, &mut quiet);
    outcome.unwrap_or_else(|e| panic!("{e}")).report
}

fn settings(protocol: &str, truncation: &str) -> Settings {
    let json = format!(r#"{{"protocol": "{protocol}", "truncation": "{truncation}", "batch": 4}}"#);
    Settings::from_json(&json).unwrap_or_else(|e| panic!("{e}"))
}

/// Compares the phases with the predicted cost and every layer with the sum of its calls.
fn check(compiled: &Compiled, settings: &Settings, model: &dyn CostModel, what: &str) {
    let report = report(compiled, settings, INPUTS);
    let predicted = BATCHES.map(|n| compiled.predict_cost(settings, n).expect("a prediction"));
    for (phase, metered, declared) in [
        (
            "offline",
            &report.offline,
            predicted.each_ref().map(|p| &p.offline),
        ),
        (
            "online",
            &report.online,
            predicted.each_ref().map(|p| &p.online),
        ),
    ] {
        let rounds: u32 = declared.iter().map(|d| d.rounds).sum();
        assert_eq!(
            metered.rounds, rounds,
            "{what}: rounds of the {phase} phase"
        );
        for party in 0..report.parties {
            let bytes: u64 = declared.iter().map(|d| d.bytes_sent[party]).sum();
            assert_eq!(
                metered.bytes_sent[party], bytes,
                "{what}: party {party}, {phase}"
            );
        }
    }
    let roles = tacit_nn::plan::Roles {
        model_owner: 0,
        data_owner: report.parties.min(2) - 1,
        receiver: tacit_protocols::machine::Audience::One(report.parties.min(2) - 1),
    };
    let mut declared = vec![Cost::each(report.parties, 0, 0); report.layers.len()];
    for n in BATCHES {
        let stages = compiled.plan().calls(n, &roles).expect("calls");
        for (layer, stage) in stages.iter().enumerate() {
            declared[layer] += &model.in_a_row(&stage.calls);
            assert_eq!(stage.name, report.layers[layer].name, "{what}");
        }
    }
    for (layer, declared) in report.layers.iter().zip(declared) {
        let most = declared.bytes.iter().copied().max().unwrap_or(0);
        let found = (layer.rounds, layer.bytes);
        assert_eq!(
            found,
            (declared.rounds, most),
            "{what}: layer '{}'",
            layer.name
        );
    }
    assert!(
        report.layers.len() >= 9,
        "{what}: too few layers to mean anything"
    );
}

#[test]
fn falcon_costs_what_it_declares() {
    // The last one's inputs are so large that signs need all 64 bits.
    for (ring, compare_bits, input_range) in [(32, 32, None), (64, 32, None), (64, 64, Some(1e6))] {
        for public_model in [false, true] {
            let options = CompileOptions {
                ring: Some(ring),
                public_model,
                input_range,
                ..CompileOptions::default()
            };
            let compiled = compiled(&options);
            assert_eq!(compiled.plan().compare_bits, compare_bits);
            for (name, kind) in [
                ("gap", Truncation::Gap),
                ("exact", Truncation::Exact),
                ("aby3", Truncation::Aby3),
            ] {
                let what =
                    format!("ring {ring}, {compare_bits}, {name}, public model: {public_model}");
                let options = Options {
                    truncation: kind,
                    sign_bits: compare_bits,
                    ..Options::default()
                };
                let model: &dyn CostModel = match ring {
                    32 => &FalconCost::<u32>::new(options),
                    _ => &FalconCost::<u64>::new(options),
                };
                check(&compiled, &settings("falcon", name), model, &what);
            }
        }
    }
}

#[test]
fn clear_text_costs_what_it_declares() {
    let compiled = compiled(&CompileOptions::default());
    for parties in [1, 2, 5, 16] {
        let settings = Settings {
            parties: Some(parties),
            ..Settings::from_json(r#"{"protocol": "clear", "batch": 4}"#).expect("settings")
        };
        let model = ClearCost::new(parties, 64);
        check(&compiled, &settings, &model, &format!("clear, {parties}"));
    }
}

/// Material made in portions costs what it declares, with so many items that layers take some after the others, each
/// with its portion of material.
#[test]
fn what_is_made_in_portions_costs_what_it_declares() {
    const ITEMS: usize = 2000;
    let compiled = compiled(&CompileOptions::default());
    for (protocol, option, made) in [
        ("falcon", r#""truncation": "exact""#, true),
        // Without material layers are cut by what a party works in.
        ("falcon", r#""security": "malicious""#, false),
        (
            "falcon",
            r#""security": "malicious", "truncation": "exact""#,
            true,
        ),
        ("bicoptor", r#""sharing": "ubl""#, true),
        ("shamir", r#""opening": "auto""#, true),
    ] {
        let json = format!(r#"{{"protocol": "{protocol}", {option}, "batch": {ITEMS}}}"#);
        let settings = Settings::from_json(&json).expect("settings");
        let [whole, one] = [ITEMS, 1].map(|n| compiled.predict_cost(&settings, n).expect("a cost"));
        // Under Bicoptor layers take all of them at once, but not all layers are of one portion.
        let [many, few] = [&whole, &one].map(|cost| [cost.offline.rounds, cost.online.rounds]);
        let split = many[1] > few[1] || protocol == "bicoptor";
        assert!(split, "{protocol}, {option}: {many:?}, {few:?}");
        assert_eq!(many[0] > few[0], made, "{protocol}, {option}: {many:?}");
        let report = report(&compiled, &settings, ITEMS);
        for (metered, declared) in [
            (&report.offline, &whole.offline),
            (&report.online, &whole.online),
        ] {
            // Between portions the parties wait for one another, whichever had the longest path: these
            // are added, and the meters' are one party's.
            let off = declared.rounds - metered.rounds;
            assert!(off <= declared.rounds / 100, "{protocol}, {option}: {off}");
            assert_eq!(
                metered.bytes_sent, declared.bytes_sent,
                "{protocol}, {option}"
            );
        }
    }
}
