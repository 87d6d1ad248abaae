//! What is not lowered, what does not fit, and that no call reveals.

use crate::subjects::*;
use tacit_conformance::{demand_by_name, demand_of, mesh, run};
use tacit_protocols::clear;
use tacit_protocols::lowered;
use tacit_protocols::machine::{Audience, Call, CostModel, Machine};
use tacit_protocols::math::*;
use tacit_protocols::{Cost, Error};

/// A protocol that computes sigmoids in a way of its own sees them, and no other function.
#[test]
fn native_functions_are_not_lowered() {
    struct Native;
    impl CostModel for Native {
        fn online(&self, _call: &Call) -> Cost {
            Cost::default()
        }
        fn offline(&self, _calls: &[Call]) -> Cost {
            Cost::default()
        }
        fn stored(&self, _call: &Call) -> u64 {
            0
        }
        fn native(&self, function: &Elementary) -> bool {
            function.kind == FunctionKind::Sigmoid
        }
    }
    let format = Format::new(64, 16).expect("a format that fits");
    let of = |kind| Call::Function {
        n: 7,
        function: Elementary::new(format, kind),
    };
    let calls = lowered(
        &[of(FunctionKind::Sigmoid), of(FunctionKind::Tanh)],
        &Native,
    )
    .expect("both fit");
    assert_eq!(calls[0], of(FunctionKind::Sigmoid));
    let tanh = tanh(format).expect("it fits");
    assert_eq!(calls[1..], demand_of(64, &tanh, 7));
    let span = Span { low: -40, high: 2 };
    assert!(lowered(&[of(FunctionKind::Reciprocal { span })], &Native).is_err());
}

#[test]
fn what_does_not_fit_is_refused() {
    let words = |error: Option<Error>| error.expect("refused").to_string();
    for (bits, fraction) in [
        (31, 14),
        (32, 14),
        (61, 29),
        (64, 30),
        (32, 0),
        (8, 4),
        (5, 1),
        (0, 1),
    ] {
        let error = words(Format::new(bits, fraction).err());
        assert!(error.contains(&format!("over {bits} bits")), "{error}");
    }
    let format = |bits, fraction| Format::new(bits, fraction).expect("a format that fits");
    let (narrow, wide) = (format(32, 12), format(64, 16));
    let span = |low, high| Span { low, high };
    // Below the resolution; beyond the ring; upside down.
    for (format, span) in [
        (narrow, span(-13, 0)),
        (narrow, span(10, 18)),
        (wide, span(-16, 46)),
        (wide, span(-17, 0)),
        (wide, span(3, 2)),
        (wide, span(-16, -15)),
    ] {
        let error = words(Reciprocal::new(format, span).err());
        assert!(error.contains("2^"), "{error}");
    }
    assert!(words(InverseSqrt::new(wide, span(-17, 0)).err()).contains("2^-17"));
    assert!(words(Division::new(narrow, span(-1, 3), 8).err()).contains("quotients up to 2^8"));
    assert!(words(exp(narrow, 6).err()).contains("exp reaches"));
    assert!(words(exp(wide, 12).err()).contains("exp reaches"));
    assert!(words(BatchNorm::new(narrow, 1e-3, span(-4, 4), 8).err()).contains("2^8"));
    // The reciprocal of the lowest value has no room, and only some functions have two scales.
    let two_scales = |kind| Elementary::new(wide, kind).with_argument(48);
    let error = words(
        two_scales(FunctionKind::Reciprocal { span: span(-48, 0) })
            .check()
            .err(),
    );
    assert!(error.contains("reciprocals from 2^0 to 2^48"), "{error}");
    let error = words(two_scales(FunctionKind::Sigmoid).check().err());
    assert!(error.contains("two scales"), "{error}");
    assert!(
        two_scales(FunctionKind::Power { span: span(-48, 0) })
            .check()
            .is_ok()
    );
    // A function belongs to its format.
    let function = sigmoid(narrow).expect("a format that fits");
    let mut machine = clear::machine(64, mesh(1).remove(0));
    let x = machine.constant(&[1, 2]);
    assert!(words(function.apply(&mut machine, &x).err()).contains("over 32 bits"));
}

/// Nothing is opened: the only messages are those of the calls, and no call reveals.
#[test]
fn no_call_reveals() {
    let format = Format::new(64, 16).expect("a format that fits");
    let span = Span { low: -8, high: 8 };
    let reciprocal = Reciprocal::new(format, span).expect("a span that fits");
    let fits = "a span that fits";
    let power = Power::new(format, span, Leakage::Nothing).expect(fits);
    let calls = [
        demand_of(64, &reciprocal, 3),
        demand_of(64, &InverseSqrt::new(format, span).expect(fits), 3),
        demand_of(64, &power, 3),
        demand_of(64, &exp(format, 0).expect(fits), 3),
    ]
    .concat();
    let opens = |call: &Call| matches!(call, Call::Reveal { .. } | Call::Input { .. });
    assert!(!calls.iter().any(opens));
    // The paper's way is only taken where it is asked for.
    for kind in [
        FunctionKind::Reciprocal { span },
        FunctionKind::InverseSqrt { span },
        FunctionKind::Power { span },
    ] {
        let function = Elementary::new(format, kind);
        let calls = |function| demand_by_name(&function, 3).expect("it fits");
        assert!(!calls(function).iter().any(opens));
        assert!(calls(function.with_paper_leakage()).iter().any(opens));
    }
    let heard = run(&clear_over::<u64>(1), |machine| {
        let x = machine.constant(&[1 << 16]);
        let y = reciprocal.apply(machine, &x)?;
        machine.reveal(&y, Audience::All)
    });
    assert!(
        heard[0]
            .as_ref()
            .is_some_and(|y| y[0].abs_diff(1 << 16) <= 2)
    );
}
