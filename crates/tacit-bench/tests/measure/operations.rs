//! Single operations are measured, and their results checked.

use crate::common::quiet;
use tacit_bench::{BenchOptions, OPERATIONS, bench};
use tacit_run::{Error, Report, Settings};

fn measure(op: &str, n: usize, ring: u32, run: &str) -> Report {
    let options = BenchOptions {
        op,
        n,
        ring: Some(ring),
        repeat: 3,
        ..BenchOptions::default()
    };
    let settings = Settings::from_json(run).unwrap_or_else(|e| panic!("{e}"));
    bench(&options, &settings, &mut quiet).unwrap_or_else(|e| panic!("{op}: {e}"))
}

/// The operations whose intermediate values come near the ring's end.
const FUNCTIONS: [&str; 8] = [
    "reciprocal",
    "exp",
    "sigmoid",
    "tanh",
    "rsqrt",
    "pow",
    "division",
    "batchnorm",
];

#[test]
fn every_operation_on_every_ring() {
    for (op, _) in OPERATIONS {
        for ring in [32, 64] {
            let n = if op == "conv" { 1 } else { 20 };
            let report = measure(op, n, ring, r#"{"protocol": "clear", "parties": 5}"#);
            assert_eq!(report.parties, 5);
            assert_eq!(report.online.bytes_sent, vec![0; 5], "{op}");
            let function = FUNCTIONS.contains(&op);
            let truncations = ["gap", "exact", "aby3"];
            for truncation in &truncations[..if function { 2 } else { 3 }] {
                let report = measure(op, n, ring, &format!(r#"{{"truncation": "{truncation}"}}"#));
                assert!(report.online.rounds > 0, "{op}");
                assert!(report.online.bytes_sent.iter().all(|&b| b > 0), "{op}");
                assert_eq!(report.layers[0].name, op);
            }
        }
    }
}

#[test]
fn functions_are_measured_over_fields_too() {
    for op in ["compare"].into_iter().chain(FUNCTIONS) {
        for field in [31, 61] {
            let options = BenchOptions {
                op,
                n: 300,
                field: Some(field),
                ..BenchOptions::default()
            };
            let settings = r#"{"protocol": "shamir", "parties": 5}"#;
            let settings = Settings::from_json(settings).unwrap_or_else(|e| panic!("{e}"));
            let report = bench(&options, &settings, &mut quiet);
            let report = report.unwrap_or_else(|e| panic!("{op}: {e}"));
            assert!(report.online.rounds > 0, "{op}");
        }
    }
}

/// The results are checked by the run; the leakage is named, and is of these operations of Falcon
/// only.
#[test]
fn the_paper_s_leakage_is_measured_under_its_name_only() {
    let measured = |op: &str, ring, run: &str, paper_leakage| {
        let options = BenchOptions {
            op,
            n: 40,
            ring,
            paper_leakage,
            ..BenchOptions::default()
        };
        let settings = Settings::from_json(run).unwrap_or_else(|e| panic!("{e}"));
        bench(&options, &settings, &mut quiet)
    };
    for op in ["pow", "reciprocal", "rsqrt"] {
        for ring in [32, 64] {
            for run in ["{}", r#"{"security": "malicious"}"#] {
                let report = |leaks| measured(op, Some(ring), run, leaks).expect(op);
                let [kept, told] = [false, true].map(report);
                assert!(kept.warnings.is_empty(), "{:?}", kept.warnings);
                assert!(told.warnings[0].contains("learns the magnitude"));
                // One comparison after the other instead of all at once.
                assert!(told.online.rounds > kept.online.rounds, "{op}");
            }
        }
    }
    for (op, run, why) in [
        ("division", "{}", "of pow, reciprocal and rsqrt"),
        (
            "pow",
            r#"{"protocol": "bicoptor"}"#,
            "paper's leakage: bicoptor has none",
        ),
    ] {
        let error = measured(op, None, run, true)
            .expect_err("refused")
            .to_string();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn figures_are_of_one_run_and_of_the_operation_alone() {
    // A product is 4 bytes of resharing and 4 of truncation an element, in 1 hop, where masks were made.
    const MASKED: &str = r#"{"truncation": "aby3"}"#;
    let report = measure("mult", 100, 32, MASKED);
    assert_eq!(
        (report.online.rounds, report.online.bytes_sent),
        (1, vec![800; 3])
    );
    let report = measure("matmul", 16, 32, MASKED);
    assert_eq!(
        (report.online.rounds, report.online.bytes_sent),
        (1, vec![8 * 256; 3])
    );
    assert!(report.offline.bytes_sent.iter().any(|&b| b > 0));
}

#[test]
fn every_chunk_of_every_run_is_told() {
    let options = BenchOptions {
        op: "relu",
        n: 10,
        chunk: Some(4),
        repeat: 2,
        ..BenchOptions::default()
    };
    let mut told = Vec::new();
    let report = bench(&options, &Settings::default(), &mut |p| {
        assert_eq!(p.batches, 6);
        told.push((p.batch, p.phase, p.layer.to_string(), p.steps()));
        true
    });
    assert_eq!(report.expect("a report").batch, 4);
    for (batch, of_batch) in told.chunks(2).enumerate() {
        let words = format!(
            "relu, chunk {} of 3, run {} of 2",
            batch % 3 + 1,
            batch / 3 + 1
        );
        for (step, (phase, (index, told, layer, steps))) in
            ["offline", "online"].into_iter().zip(of_batch).enumerate()
        {
            assert_eq!((*index, *told, layer), (batch, phase, &words));
            assert_eq!(*steps, (2 * batch + step, 12));
        }
    }
    assert_eq!(told.len(), 12);
}

#[test]
fn a_run_is_cancelled_between_chunks() {
    let options = BenchOptions {
        op: "sigmoid",
        n: 10,
        chunk: Some(4),
        ..BenchOptions::default()
    };
    let mut seen = 0;
    let ended = bench(&options, &Settings::default(), &mut |p| {
        seen = p.batch;
        p.batch < 1
    });
    let error = ended.expect_err("cancelled");
    assert_eq!((seen, error.to_string()), (1, Error::Cancelled.to_string()));
}

#[test]
fn large_errors_of_aby3_are_counted_and_not_hidden() {
    let report = measure("trunc", 2000, 32, r#"{"truncation": "aby3"}"#);
    assert!(
        report.warnings[0].contains("large error"),
        "{:?}",
        report.warnings
    );
    let report = measure("trunc", 2000, 32, r#"{"truncation": "gap"}"#);
    assert!(report.warnings.is_empty(), "{:?}", report.warnings);
}

#[test]
fn numbers_are_the_protocols_own_unless_asked_for() {
    let options = |ring, field| BenchOptions {
        op: "relu",
        n: 3,
        ring,
        field,
        ..BenchOptions::default()
    };
    let ended = |ring, field| bench(&options(ring, field), &Settings::default(), &mut quiet);
    let report = ended(None, None).expect("a report");
    assert_eq!((report.ring, report.numbers.as_str()), (64, "64-bit ring"));
    for (ring, field, why) in [
        (
            None,
            Some(61),
            "61-bit field: falcon computes in the 32-bit ring",
        ),
        (
            None,
            Some(32),
            "field of 32 bits: fields have 31 or 61 bits",
        ),
        (Some(64), Some(61), "give one or none"),
    ] {
        let error = ended(ring, field).expect_err("refused").to_string();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn what_cannot_be_measured_is_named() {
    let refused_with = |run: &str, op: &str, n, ring, fraction_bits| {
        let options = BenchOptions {
            op,
            n,
            ring: Some(ring),
            fraction_bits: Some(fraction_bits),
            ..BenchOptions::default()
        };
        let settings = Settings::from_json(run).unwrap_or_else(|e| panic!("{e}"));
        bench(&options, &settings, &mut quiet)
            .expect_err("refused")
            .to_string()
    };
    let refused = |op: &str, n, ring| refused_with("{}", op, n, ring, 12);
    assert!(refused("add", 1, 32).contains("mult, matmul, conv, trunc, drelu, relu, maxpool"));
    assert!(refused_with("{}", "tanh", 3, 32, 14).contains("1 to 13 fraction bits"));
    let aby3 = refused_with(r#"{"truncation": "aby3"}"#, "exp", 3, 64, 16);
    assert!(aby3.contains("choose gap or exact"), "{aby3}");
    assert!(refused("relu", 0, 32).contains("size 0 of 'relu'"));
    assert!(refused("matmul", usize::MAX, 32).contains("no tensor may"));
    assert!(refused("relu", 1, 16).contains("ring of 16 bits"));
    assert!(refused("relu", 1, 8).contains("8 bits"));
    let options = BenchOptions {
        op: "relu",
        n: 3,
        chunk: Some(0),
        ..BenchOptions::default()
    };
    let zero = bench(&options, &Settings::default(), &mut quiet).expect_err("refused");
    assert!(
        zero.to_string().contains("chunk 0: give at least 1"),
        "{zero}"
    );
}
