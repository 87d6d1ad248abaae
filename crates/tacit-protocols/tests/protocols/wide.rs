//! Functions over the widest domains, on the real rings and fields.

use crate::subjects::*;
use tacit_algebra::mersenne::{F31, F61};
use tacit_conformance::wide::{DENSE, SPARSE, promised_bits};
use tacit_conformance::{demand_by_name, run, wide};
use tacit_protocols::Cost;
use tacit_protocols::falcon::Truncation;
use tacit_protocols::machine::{Call, Machine};
use tacit_protocols::math::{Elementary, Format, FunctionKind, Span};
use tacit_protocols::shamir::{Comparison, Opening};

fn format(bits: u32, fraction: u32) -> Format {
    Format::new(bits, fraction).expect("it fits")
}

mod clear {
    use super::*;
    wide!(|check| {
        for fraction in [10, 12, 13] {
            check(&clear_over::<u32>(1), format(32, fraction), DENSE);
        }
        for fraction in [16, 18, 20, 24, 26] {
            check(&clear_over::<u64>(1), format(64, fraction), DENSE);
        }
    });
}

mod falcon {
    use super::*;
    wide!(|check| {
        for fraction in [10, 13] {
            check(&falcon_over::<u32>(), format(32, fraction), SPARSE);
        }
        for fraction in [16, 20, 26] {
            check(&falcon_over::<u64>(), format(64, fraction), SPARSE);
        }
    });
}

mod shamir {
    use super::*;
    wide!(|check| {
        for fraction in [10, 13] {
            let subject = shamir_over::<F31>(3, Comparison::Auto, Opening::Auto);
            check(&subject, format(31, fraction), SPARSE);
        }
        for fraction in [16, 20, 26] {
            let subject = shamir_over::<F61>(3, Comparison::Auto, Opening::Auto);
            check(&subject, format(61, fraction), SPARSE);
        }
    });
}

/// The one protocol whose signs are as good as the promise. Seen to fail where that left out how far away
/// thresholds are.
#[test]
fn promised_bits_of_bicoptor() {
    for fraction in [10, 16, 20, 26] {
        let format = format(64, fraction);
        promised_bits(&ubl_over::<u64>(Truncation::Gap), format, SPARSE);
        promised_bits(&rss_over::<u64>(Truncation::Gap), format, SPARSE);
    }
}

/// What a span of so many powers of two costs beside one of 8: each interval of two powers takes a
/// comparison, and more than 30 powers a second product on the way back of a reciprocal.
#[test]
fn wider_spans_take_a_comparison_for_two_powers() {
    let format = Format::new(64, 16).expect("it fits");
    let model = |calls: &[Call]| {
        let ends = run(&falcon_over::<u64>(), |machine| {
            let model = machine.cost_model();
            let online = calls.iter().map(|call| model.online(call));
            let online = online.fold(Cost::default(), |sum, cost| sum + &cost);
            Ok([online, model.offline(calls)])
        });
        ends[0].clone()
    };
    const N: usize = 1000;
    for (low, high, compared, products) in [
        (-4, 4, 4, 7),
        (-6, 6, 6, 7),
        (-12, 12, 12, 7),
        (-18, 18, 18, 8),
    ] {
        let span = Span { low, high };
        for kind in [
            FunctionKind::Reciprocal { span },
            FunctionKind::InverseSqrt { span },
            FunctionKind::SquareRoot { span },
        ] {
            let function = Elementary::new(format, kind).with_argument(24);
            let calls = demand_by_name(&function, N).expect("it fits");
            let signs = calls.iter().filter_map(|call| match call {
                Call::Drelu { n, .. } => Some(n / N),
                _ => None,
            });
            assert_eq!(signs.sum::<usize>(), compared, "{kind:?}");
            if let FunctionKind::Reciprocal { .. } = kind {
                let product = |call: &&Call| matches!(call, Call::Product { .. });
                assert_eq!(calls.iter().filter(product).count(), products);
            }
            let [online, offline] = model(&calls);
            println!(
                "{kind:?}: {} hops, {} bytes, before {}",
                online.rounds,
                online.bytes[0] / N as u64,
                offline.bytes[0] / N as u64
            );
        }
    }
    for kind in [
        FunctionKind::Exp { high: 0 },
        FunctionKind::Sigmoid,
        FunctionKind::Tanh,
    ] {
        let calls = demand_by_name(&Elementary::new(format, kind), N).expect("it fits");
        let [online, offline] = model(&calls);
        let [bytes, before] = [&online, &offline].map(|cost| cost.bytes[0] / N as u64);
        println!(
            "{kind:?}: {} hops, {bytes} bytes, before {before}",
            online.rounds
        );
    }
}
