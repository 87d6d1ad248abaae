//! What the planner accepts, refuses and warns of.

use crate::common::*;
use tacit_nn::encode::EncodeError;
use tacit_nn::plan::{
    DEFAULT_INPUT_RANGE, MAX_ITEM_BYTES, Modulus, Order, Plan, PlanError, PlanOptions, Truncated,
    plan, plan_each,
};
use tacit_protocols::signs::{SIGNS, Signs};

fn narrow<'a>() -> PlanOptions<'a> {
    PlanOptions {
        modulus: Modulus::PowerOfTwo(32),
        ..PlanOptions::default()
    }
}

#[test]
fn bits_follow_the_ranges() {
    // The samples reach 1 and 100; the plan provides for 2 and 200, that is 8 integer bits.
    let samples = [1.0, -1.0, 0.5, 0.25];
    let options = PlanOptions {
        samples: Some(&samples),
        fraction_bits: Some(12),
        ..narrow()
    };
    let plan = plan(&two_layers(), &options).unwrap_or_else(|e| panic!("{e}"));
    let bits: Vec<_> = plan
        .layers
        .iter()
        .map(|l| (l.name.as_str(), l.weight_bits, l.trunc))
        .collect();
    assert_eq!(
        bits,
        [("first", 10, 10), ("the Relu", 0, 0), ("second", 13, 13)]
    );
    assert_eq!(
        (plan.layers[0].range, plan.input_range(&plan.inputs[0])),
        (200.0, 2.0)
    );
    assert!(plan.warnings.is_empty(), "{:?}", plan.warnings);
}

/// As in most papers: the weights carry the fraction bits of the values, and every number of them
/// is accepted or refused on its own.
#[test]
fn weights_may_share_the_scale_of_the_values() {
    let samples = [1.0, -1.0, 0.5, 0.25];
    let options = PlanOptions {
        samples: Some(&samples),
        same_scale: true,
        ..narrow()
    };
    let plans = plan_each(&two_layers(), &options, &[8, 11, 12]).expect("good options");
    let plan = plans[0].as_ref().expect("8 integer + 2 * 8 bits");
    assert_eq!((plan.fraction_bits, plan.layers[0].weight_bits), (8, 8));
    let truncated = |layer| Truncated {
        layer,
        value: layer + 1,
        fraction_bits: 16,
    };
    assert_eq!(plan.truncated(), [truncated(0), truncated(2)]);
    assert!(plans[1].is_ok(), "8 integer + 2 * 11 bits");
    let refused = plans[2].as_ref().expect_err("8 integer + 2 * 12 bits");
    assert!(refused.to_string().contains("layer 'first'"), "{refused}");
    let options = PlanOptions {
        order: Order::TruncateThenMultiply,
        ..options
    };
    let plans = plan_each(&two_layers(), &options, &[13]).expect("good options");
    let truncated = |layer, value| Truncated {
        layer,
        value,
        fraction_bits: 13,
    };
    let plan = plans[0].as_ref().expect("8 integer + 13 bits");
    assert_eq!(plan.truncated(), [truncated(0, 0), truncated(2, 2)]);
    assert!(plan_each(&two_layers(), &options, &[29]).is_err());
}

/// Signs are taken in 32 bits where the worst case, 100 |x| at 18 fraction bits, stays below 2^31
/// with its 1 % of room, whatever the samples show: up to |x| = 81.1.
#[test]
fn comparisons_are_narrow_only_where_they_cannot_err() {
    let samples = [1.0, -1.0];
    for (range, bits) in [(81.0, 32), (81.2, 64)] {
        for samples in [None, Some(&samples[..])] {
            let options = PlanOptions {
                input_range: Some(range),
                fraction_bits: Some(18),
                samples,
                ..PlanOptions::default()
            };
            let made = plan(&two_layers(), &options).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(made.compare_bits, bits, "|x| <= {range}");
        }
    }
}

/// A plan promises of signs what the protocols that it is made for can use, and is read by the same.
#[test]
fn protocols_are_asked_about_signs() {
    let steps = Signs {
        key_bits: Some(|keys| keys.kept + 40),
        narrow: Some(|bits| bits.next_multiple_of(12)),
    };
    for (signs, compared, kept) in [
        (&[][..], 64, 25),
        (&[steps], 36, u32::MAX),
        // They agree on no width below the ring's.
        (&[SIGNS[0], SIGNS[1], steps], 64, u32::MAX),
    ] {
        let options = PlanOptions {
            input_range: Some(1.0),
            fraction_bits: Some(18),
            signs,
            ..PlanOptions::default()
        };
        let made = plan(&two_layers(), &options).unwrap_or_else(|e| panic!("{e}"));
        let keys = made.layers.iter().map(|layer| layer.keys.kept).min();
        assert_eq!(
            (made.compare_bits, keys),
            (compared, Some(kept)),
            "{signs:?}"
        );
        let bytes = made.to_bytes();
        assert!(Plan::from_bytes_within(&bytes, MAX_ITEM_BYTES, signs).is_ok());
        assert_eq!(
            Plan::from_bytes(&bytes).is_ok(),
            compared == 64,
            "{signs:?}"
        );
    }
}

/// Left to itself the planner gives up at most two fraction bits for narrow comparisons.
#[test]
fn fraction_bits_make_room_for_narrow_comparisons() {
    for (range, f, bits) in [
        (80.0, 18, 32),
        (100.0, 17, 32),
        (300.0, 16, 32),
        (400.0, 18, 64),
    ] {
        let options = PlanOptions {
            input_range: Some(range),
            ..PlanOptions::default()
        };
        let made = plan(&two_layers(), &options).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(
            (made.fraction_bits, made.compare_bits),
            (f, bits),
            "|x| <= {range}"
        );
    }
}

#[test]
fn the_layer_that_does_not_fit_is_named() {
    let samples = [1.0, -1.0];
    let options = PlanOptions {
        samples: Some(&samples),
        fraction_bits: Some(18),
        ..narrow()
    };
    let error = plan(&two_layers(), &options).unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, PlanError::Range { .. }), "{text}");
    assert!(text.starts_with("layer 'first': values up to 200.0000 need 8 integer + 18 fraction + 5 weight bits, but the 32-bit ring holds 30"), "{text}");
    let wide = PlanOptions {
        modulus: Modulus::PowerOfTwo(64),
        ..options
    };
    assert_eq!(plan(&two_layers(), &wide).unwrap().fraction_bits, 18);
    let far = PlanOptions {
        input_range: Some(1e9),
        samples: None,
        ..narrow()
    };
    assert!(
        plan(&two_layers(), &far)
            .unwrap_err()
            .to_string()
            .starts_with("input 'x'")
    );
}

#[test]
fn the_worst_case_needs_no_samples() {
    let graph = two_layers();
    let options = PlanOptions::default();
    let made = plan(&graph, &options).unwrap();
    assert_eq!(made.fraction_bits, 18);
    assert!(made.warnings.is_empty());
    assert_eq!(made.layers[0].range, 100.0 * DEFAULT_INPUT_RANGE);
    // 800 needs 10 bits, so 20 are left to the fraction and to the weights, of which 0.1 takes 15.
    let made = plan(&graph, &narrow()).unwrap();
    assert_eq!((made.fraction_bits, made.layers[2].weight_bits), (8, 15));
    let rough = |w: &String| w.contains("through rounding, here most of all");
    assert!(made.warnings.iter().all(rough), "{:?}", made.warnings);
    // 16 fraction bits do not, for the worst case, but for what the samples show.
    let samples = [0.5, 0.5, 0.1, -0.1];
    let made = plan(
        &graph,
        &PlanOptions {
            samples: Some(&samples),
            input_range: Some(8.0),
            fraction_bits: Some(18),
            ..narrow()
        },
    )
    .unwrap();
    assert!(
        made.warnings[0].starts_with("layer 'first' holds values up to"),
        "{:?}",
        made.warnings
    );
}

#[test]
fn made_up_inputs_come_with_a_warning() {
    let made = plan(
        &two_layers(),
        &PlanOptions {
            fraction_bits: Some(16),
            ..narrow()
        },
    );
    match made {
        Err(PlanError::Range { .. }) => {}
        Err(other) => panic!("{other}"),
        Ok(made) => assert!(
            made.warnings[0].contains("made-up inputs"),
            "{:?}",
            made.warnings
        ),
    }
}

#[test]
fn plans_are_repeatable() {
    let options = PlanOptions {
        samples: Some(&[1.0, -1.0]),
        ..narrow()
    };
    assert_eq!(
        plan(&two_layers(), &options).unwrap().to_bytes(),
        plan(&two_layers(), &options).unwrap().to_bytes()
    );
}

#[test]
fn half_of_the_fraction_where_factors_are_truncated() {
    let options = PlanOptions {
        order: Order::TruncateThenMultiply,
        fraction_bits: Some(15),
        ..narrow()
    };
    let made = plan(&two_layers(), &options).unwrap();
    let first = &made.layers[0];
    assert_eq!(
        (first.input_trunc, first.weight_bits, first.trunc),
        (7, 7, 0)
    );
}

#[test]
fn options_that_make_no_sense() {
    let samples = [1.0, f32::NAN];
    for (options, part) in [
        (
            PlanOptions {
                modulus: Modulus::PowerOfTwo(16),
                ..narrow()
            },
            "rings of 32 and 64 bits and fields of 31 and 61",
        ),
        (
            PlanOptions {
                fraction_bits: Some(31),
                ..narrow()
            },
            "2..=28",
        ),
        (
            PlanOptions {
                margin: 0.5,
                ..narrow()
            },
            "margin",
        ),
        (
            PlanOptions {
                margin: f64::NAN,
                ..narrow()
            },
            "margin",
        ),
        (
            PlanOptions {
                input_range: Some(0.0),
                ..narrow()
            },
            "input range",
        ),
        (
            PlanOptions {
                input_range: Some(f64::INFINITY),
                ..narrow()
            },
            "input range",
        ),
        (
            PlanOptions {
                samples: Some(&samples),
                ..narrow()
            },
            "element 1 of the samples is NaN",
        ),
        (
            PlanOptions {
                samples: Some(&[]),
                ..narrow()
            },
            "no samples",
        ),
        (
            PlanOptions {
                samples: Some(&samples[..1]),
                ..narrow()
            },
            "1 numbers",
        ),
        (
            PlanOptions {
                samples: Some(&[3.0, 1.0]),
                input_range: Some(2.0),
                ..narrow()
            },
            "beyond the input range",
        ),
    ] {
        let text = plan(&two_layers(), &options).unwrap_err().to_string();
        assert!(text.contains(part), "'{text}' does not say '{part}'");
    }
}

#[test]
fn inputs_are_refused_not_clamped() {
    let made = plan(&two_layers(), &PlanOptions::default()).unwrap();
    let f = f64::from(made.fraction_bits).exp2();
    let encoded = made.encode_input(&[8.0, -0.5], &[1, 2]).unwrap();
    assert_eq!(encoded, [(8.0 * f) as i64, (-0.5 * f) as i64]);
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 8.001, -1e15] {
        let error = made.encode_input(&[0.0, bad], &[1, 2]).unwrap_err();
        assert!(
            matches!(error, EncodeError::Value { item: 0, .. }),
            "{error}"
        );
        assert!(
            error
                .to_string()
                .starts_with(&format!("item 0, position [1], of the input is {bad}")),
            "{error}"
        );
    }
    for shape in [&[2][..], &[1, 1, 2], &[1, 3], &[0, 2]] {
        let error = made.encode_input(&[0.0; 2], shape).unwrap_err().to_string();
        assert!(error.contains("the model takes [N, 2]"), "{error}");
    }
    assert!(matches!(
        made.encode_input(&[0.0; 3], &[1, 2]),
        Err(EncodeError::Length {
            found: 3,
            wanted: 2
        })
    ));
    assert!(matches!(made.finish(&[]), Ok(v) if v.is_empty()));
}

#[test]
fn weights_of_another_model_are_refused() {
    let graph = two_layers();
    let made = plan(&graph, &PlanOptions::default()).unwrap();
    let mut other = graph.clone();
    other.nodes.pop();
    assert!(made.encode_weights(&other).is_err());
    let tensors = vec![
        tensor("w", &[2, 2], &[1.0; 4]),
        tensor("v", &[2, 1], &[1.0; 2]),
    ];
    let nodes = vec![
        node("MatMul", &["x", "w"], "a", vec![]),
        node("Relu", &["a"], "b", vec![]),
        node("MatMul", &["b", "v"], "y", vec![]),
    ];
    let other = imported(&model(&[2], nodes, tensors)).unwrap();
    assert!(made.encode_weights(&other).is_err());
}

/// A weight that is a number of the ring beside few bits of its own has these; one that is not is refused by its layer.
#[test]
fn weights_are_numbers_of_the_ring() {
    let planned = |weight: f32| {
        let nodes = vec![node("MatMul", &["x", "w"], "y", vec![])];
        let tensors = vec![tensor("w", &[1, 1], &[weight])];
        let graph = imported(&model(&[1], nodes, tensors)).unwrap();
        // The product is small, since the input is.
        let options = PlanOptions {
            samples: Some(&[1e-6]),
            fraction_bits: Some(10),
            ..narrow()
        };
        let made = plan(&graph, &options).map_err(|e| e.to_string())?;
        let encoded = made.encode_weights(&graph).map_err(|e| e.to_string())?;
        Ok::<_, String>((made.layers[0].weight_bits, encoded[0].factors[0]))
    };
    assert_eq!(planned(1e6), Ok((10, 1_024_000_000)));
    let error = planned(1e9).expect_err("must be refused");
    assert!(
        error.contains("'the MatMul'") && error.contains("32-bit"),
        "{error}"
    );
}
