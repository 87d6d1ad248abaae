//! Plans over prime fields.

use crate::common::two_layers;
use tacit_nn::Plan;
use tacit_nn::plan::{Modulus, Order, PlanOptions, plan};

/// A field has room for one bit less of a ring's, or three, and its signs are never taken of less
/// than all of it.
#[test]
fn fields_are_planned_like_the_rings_above_them() {
    let samples = [1.0, -1.0, 0.5, 0.25];
    for (field, ring) in [(31, 32), (61, 64)] {
        for order in [Order::MultiplyThenTruncate, Order::TruncateThenMultiply] {
            let made = |element_bits| {
                let options = PlanOptions {
                    modulus: Modulus::of_bits(element_bits),
                    order,
                    samples: Some(&samples),
                    ..PlanOptions::default()
                };
                plan(&two_layers(), &options).unwrap_or_else(|e| panic!("{element_bits}: {e}"))
            };
            let (field, ring) = (made(field), made(ring));
            assert_eq!(field.compare_bits, field.modulus.bits());
            let fewer = ring.fraction_bits.abs_diff(field.fraction_bits);
            assert!(fewer <= 2, "{fewer} bits of difference at {order:?}");
            let room = field.modulus.bits() - 2;
            for layer in &field.layers {
                let bits = field.fraction_bits + layer.trunc;
                let largest = layer.range * f64::from(bits).exp2();
                assert!(
                    largest < f64::from(room).exp2(),
                    "{}: {largest}",
                    layer.name
                );
            }
            let back = Plan::from_bytes(&field.to_bytes()).expect("its own bytes");
            assert_eq!(back.modulus, field.modulus);
        }
    }
}

#[test]
fn a_layer_that_does_not_fit_a_field_is_named() {
    for (element_bits, f, part) in [
        (
            31,
            18,
            "but the 31-bit field holds 29: use fewer fraction bits, the 61-bit field",
        ),
        (61, 48, "but the 61-bit field holds 59"),
    ] {
        let options = PlanOptions {
            modulus: Modulus::of_bits(element_bits),
            fraction_bits: Some(f),
            samples: Some(&[1.0, -1.0]),
            ..PlanOptions::default()
        };
        let text = plan(&two_layers(), &options).unwrap_err().to_string();
        assert!(text.contains(part), "{text}");
    }
}
