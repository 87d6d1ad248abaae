//! Which bits the planner has signs taken from.

use crate::common::*;
use tacit_nn::plan::{KeyBitsChoice, Keys, Modulus, Plan, PlanError, PlanOptions, plan};
use tacit_nn::{Graph, reference};

const ALL: Keys = Keys {
    dropped: 0,
    kept: u32::MAX,
    width: u32::MAX,
};

fn wide<'a>(key_bits: KeyBitsChoice) -> PlanOptions<'a> {
    PlanOptions {
        fraction_bits: Some(18),
        key_bits,
        ..PlanOptions::default()
    }
}

fn made(graph: &Graph, options: &PlanOptions) -> Plan {
    plan(graph, options).unwrap_or_else(|e| panic!("{e}"))
}

fn refused(graph: &Graph, options: &PlanOptions) -> String {
    let error = plan(graph, options).expect_err("refused");
    assert!(matches!(error, PlanError::Option(_)), "{error}");
    error.to_string()
}

fn keys(plan: &Plan) -> Vec<(u32, u32)> {
    let signed = plan
        .layers
        .iter()
        .map(|l| l.keys)
        .filter(|k| k.kept != ALL.kept);
    signed.map(|k| (k.dropped, k.kept)).collect()
}

#[test]
fn all_bits_of_the_worst_case() {
    // 800 at 18 fraction bits.
    let plan = made(&two_layers(), &wide(KeyBitsChoice::Full));
    let all: Vec<Keys> = plan.layers.iter().map(|l| l.keys).collect();
    let relu = Keys {
        dropped: 0,
        kept: 28,
        width: 29,
    };
    assert_eq!(all, [ALL, relu, ALL]);
    assert_eq!(relu.text(18).as_deref(), Some("10.18"));
    assert_eq!(ALL.text(18), None);
    assert_eq!(plan.key_warnings, [""; 0]);
}

/// A maximum over windows and a clip to 0..6 of inputs up to 8.
#[test]
fn differences_and_distances_are_larger_than_values() {
    let tensors = vec![tensor("low", &[], &[0.0]), tensor("high", &[], &[6.0])];
    let nodes = vec![
        node("MaxPool", &["x"], "p", vec![list("kernel_shape", &[2, 2])]),
        node("Clip", &["p", "low", "high"], "y", vec![]),
    ];
    let graph = imported(&model(&[1, 2, 2], nodes, tensors)).unwrap_or_else(|e| panic!("{e}"));
    // 16 and 14, with room for rounding.
    let plan = made(&graph, &wide(KeyBitsChoice::Full));
    assert_eq!(keys(&plan), [(0, 23), (0, 22)]);
}

/// Exact signs of all bits, and no promise to warn of.
#[test]
fn all_bits_where_the_worst_case_does_not_fit() {
    let options = PlanOptions {
        input_range: Some(1000.0),
        samples: Some(&[1.0, -1.0]),
        ..wide(KeyBitsChoice::Full)
    };
    let narrow = PlanOptions {
        modulus: Modulus::PowerOfTwo(32),
        fraction_bits: Some(12),
        ..PlanOptions::default()
    };
    for options in [options, narrow] {
        let plan = made(&two_layers(), &options);
        assert_eq!(keys(&plan), []);
        assert_eq!(plan.key_warnings, [""; 0]);
    }
    let field = PlanOptions {
        modulus: Modulus::Mersenne(61),
        ..wide(KeyBitsChoice::Fixed {
            integer: 5,
            fraction: 2,
        })
    };
    assert_eq!(keys(&made(&two_layers(), &field)), []);
}

#[test]
fn as_many_as_are_asked_for() {
    let with = |integer, fraction| wide(KeyBitsChoice::Fixed { integer, fraction });
    let plan = made(&two_layers(), &with(10, 2));
    assert_eq!(keys(&plan), [(16, 12)]);
    assert_eq!(plan.key_warnings, [""; 0]);
    let plan = made(&two_layers(), &with(5, 2));
    assert_eq!(keys(&plan), [(16, 7)]);
    let warning = "layer 'the Relu': the key bits asked for promise that it compares values below 32, \
                   but inputs within the range could lead to 800.0000";
    assert!(
        plan.key_warnings[0].starts_with(warning),
        "{:?}",
        plan.key_warnings
    );
    // A protocol without key bits need not hear of it.
    assert!(!plan.warnings_for(false).iter().any(|w| w.contains("sign")));
    assert!(plan.warnings_for(true).iter().any(|w| w.contains("sign")));
    assert_eq!(keys(&made(&two_layers(), &with(21, 2))), [(16, 23)]);
    for (integer, fraction, part) in [
        (5, 19, "key bits 5.19: values have 18 fraction bits"),
        (0, 0, "key bits 0.0: no bit is left"),
        (22, 3, "key bits 22.3: the 64-bit ring has no room"),
        (u32::MAX, 1, "takes 4294967295 bits"),
    ] {
        let text = refused(&two_layers(), &with(integer, fraction));
        assert!(text.contains(part), "'{text}' does not say '{part}'");
    }
}

/// Three classes by the largest of three weighted sums of two ReLUs.
fn classes() -> Graph {
    let tensors = vec![
        tensor("w", &[2, 2], &[1.0, -0.5, 0.25, 1.0]),
        tensor("v", &[2, 3], &[1.0, -1.0, 0.1, -1.0, 1.0, 0.1]),
        tensor("c", &[3], &[0.0, 0.0, 0.5]),
    ];
    let nodes = vec![
        node("MatMul", &["x", "w"], "a", vec![]),
        node("Relu", &["a"], "b", vec![]),
        node("Gemm", &["b", "v", "c"], "d", vec![]),
        node("Relu", &["d"], "y", vec![]),
    ];
    imported(&model(&[2], nodes, tensors)).unwrap_or_else(|e| panic!("{e}"))
}

/// The bits of a layer's exact sign are those of the worst case, whatever its key bits are and whether the
/// ring has room for a promise of so many.
#[test]
fn widths_are_those_of_the_worst_case() {
    let widths = |range: f64, key_bits| {
        let options = PlanOptions {
            input_range: Some(range),
            samples: Some(&[1.0, -1.0]),
            ..wide(key_bits)
        };
        let plan = made(&two_layers(), &options);
        plan.layers.iter().map(|l| l.keys.width).collect::<Vec<_>>()
    };
    let few = KeyBitsChoice::Fixed {
        integer: 5,
        fraction: 2,
    };
    for key_bits in [KeyBitsChoice::Full, few, KeyBitsChoice::Auto { loss: 0.5 }] {
        // A hundred times the input and its rounding: 100, 100 000.
        assert_eq!(widths(1.0, key_bits), [u32::MAX, 26, u32::MAX]);
        assert_eq!(widths(1000.0, key_bits), [u32::MAX, 36, u32::MAX]);
    }
    let field = PlanOptions {
        modulus: Modulus::Mersenne(61),
        ..wide(KeyBitsChoice::Full)
    };
    let plan = made(&two_layers(), &field);
    assert!(plan.layers.iter().all(|l| l.keys.width == u32::MAX));
}

/// Points from -4 to 4.
fn points(n: usize) -> Vec<f32> {
    let point = |i: usize| [i * 7919 % 1009, i * 6007 % 997].map(|v| v as f32 / 125.0 - 4.0);
    (0..n).flat_map(point).collect()
}

#[test]
fn as_few_as_the_samples_allow() {
    let x = points(2400);
    let with = |loss| PlanOptions {
        samples: Some(&x),
        ..wide(KeyBitsChoice::Auto { loss })
    };
    let kept = |loss| -> u32 {
        let plan = made(&classes(), &with(loss));
        let all = keys(&plan);
        assert_eq!(all.len(), 2);
        assert_eq!(made(&classes(), &with(loss)).to_bytes(), plan.to_bytes());
        assert!(Plan::from_bytes(&plan.to_bytes()).is_ok());
        all.iter().map(|(_, kept)| kept).sum()
    };
    let (none, few, many) = (kept(0.0), kept(0.02), kept(0.3));
    assert!(none >= few && few > many, "{none} {few} {many}");
    assert!(few <= 24 && many >= 2, "{none} {few} {many}");
    let promise = "the key bits that the samples bear promise";
    let warnings = made(&classes(), &with(0.02)).key_warnings;
    assert!(warnings.iter().all(|w| w.contains(promise)), "{warnings:?}");
    // The search changes nothing but the key bits.
    let full = made(&classes(), &with(0.02)).fraction_bits;
    assert_eq!(full, 18);
    assert_eq!(
        reference::ranges(&classes(), &x).expect("fits").0.len(),
        7200
    );
}

#[test]
fn few_samples_show_little() {
    let x = points(20);
    let options = PlanOptions {
        samples: Some(&x),
        ..wide(KeyBitsChoice::Auto { loss: 0.01 })
    };
    let plan = made(&classes(), &options);
    let warning = "all key bits are kept: a loss of 0.01 cannot be shown on 10 samples: give at least 598 \
                   for 'auto' to take fewer bits";
    assert_eq!(plan.key_warnings, [warning]);
    let full = made(&classes(), &wide(KeyBitsChoice::Full));
    assert_eq!(keys(&plan).len(), keys(&full).len());
}

#[test]
fn what_cannot_be_searched() {
    let text = refused(&classes(), &wide(KeyBitsChoice::Auto { loss: 0.01 }));
    assert!(text.contains("give samples"), "{text}");
    for loss in [1.0, -0.1, f64::NAN] {
        let text = refused(&classes(), &wide(KeyBitsChoice::Auto { loss }));
        assert!(text.contains("from 0 to below 1"), "{text}");
    }
}

/// The few samples of real models cannot show a loss of 1 %, so nothing is given up for it.
#[test]
fn few_samples_of_real_models_keep_all_bits() {
    let Some(folder) = models() else { return };
    for name in ["lenet", "alexnet-cifar10"] {
        let graph = real(&folder, name).unwrap_or_else(|e| panic!("{name}: {e}"));
        let x = samples(&folder, name, "x");
        let options = |key_bits| PlanOptions {
            samples: Some(&x),
            ..wide(key_bits)
        };
        let graph = graph.optimise();
        let auto = made(&graph, &options(KeyBitsChoice::Auto { loss: 0.01 }));
        let full = made(&graph, &options(KeyBitsChoice::Full));
        assert_eq!(keys(&auto), keys(&full));
        assert!(
            auto.key_warnings[0].contains("give at least 598"),
            "{:?}",
            auto.key_warnings
        );
    }
}

/// What is clipped before its logarithm has twice the fraction bits of other values: the bits asked for are those of
/// others, and would tell signs of powers below 2^-16 alone.
#[test]
fn values_with_a_scale_of_their_own_have_the_bits_of_their_worst_case() {
    let nodes = vec![
        node("Mul", &["x", "x"], "p", vec![]),
        node("Clip", &["p", "low"], "c", vec![]),
        node("Log", &["c"], "l", vec![]),
        node("Relu", &["l"], "y", vec![]),
    ];
    let graph = imported(&model(&[4], nodes, vec![tensor("low", &[], &[1e-6])])).expect("it fits");
    let asked = KeyBitsChoice::Fixed {
        integer: 4,
        fraction: 4,
    };
    for choice in [asked, KeyBitsChoice::Full] {
        let options = PlanOptions {
            input_range: Some(4.0),
            ..wide(choice)
        };
        let plan = made(&graph, &options);
        let clip = &plan.layers[1];
        assert_eq!(clip.own_fraction, Some(36));
        // 16 and a millionth, with a sign; beside so many the ring has no room for a comparison that looks at fewer.
        assert_eq!(
            clip.keys,
            Keys {
                width: 36 + 5 + 1,
                ..ALL
            }
        );
        assert_eq!(plan.key_warnings, [""; 0]);
        let others = plan.layers[3].keys;
        assert_eq!(
            others.dropped == 14,
            matches!(choice, KeyBitsChoice::Fixed { .. })
        );
    }
}
