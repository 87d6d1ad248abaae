//! Programs are listed without their data.

use super::*;
use crate::math::{Format, FunctionKind, Span, TopK, maxpool_with_derivative};

/// A program whose indices alone take gigabytes: none of them is made.
#[test]
fn large_programs_are_listed_without_their_data() {
    let (many, keys) = (1 << 26, KeyBits::ALL);
    let format = Format::new(64, 16).expect("it fits");
    let span = Span { low: -4, high: 4 };
    let x = noted(many);
    for kind in [
        FunctionKind::Sigmoid,
        FunctionKind::Reciprocal { span },
        FunctionKind::InverseSqrt { span },
        FunctionKind::Power { span },
    ] {
        let function = Elementary::new(format, kind);
        let calls = calls_of::<_, Error>(64, |machine| function.apply(machine, &x));
        assert!(!calls.expect("it fits").is_empty(), "{kind:?}");
    }
    let (windows, size) = (many / 1024, 1024);
    for k in [1, 3] {
        let bits = None;
        let top = TopK {
            windows,
            size,
            k,
            keys,
            bits,
        };
        let calls = calls_of::<_, Error>(64, |machine| top.apply(machine, &x));
        assert!(!calls.expect("places").is_empty(), "{k}");
    }
    let calls = calls_of::<_, Error>(64, |machine| {
        maxpool_with_derivative(machine, &x, windows, size, keys)
    });
    // A level: a comparison, a selection and a product.
    assert_eq!(calls.expect("places").len(), 3 * 10);
}
