//! Functions that need be right to fewer places than their numbers have.

use super::*;
use tacit_protocols::machine::Machine;
use tacit_protocols::math::*;

/// The places to which they are asked to be right.
const PLACES: u32 = 10;

/// Functions to [`PLACES`] fraction bits hold the errors that they state, state no more than asked for,
/// and send no more than those that are as near as they can be.
pub fn fewer_places(s: &dyn Subject, format: Format, n: usize) {
    let span = Span { low: -6, high: 6 };
    type Case = (FunctionKind, fn(f64) -> f64);
    let kinds: [Case; 9] = [
        (FunctionKind::Sigmoid, |x| 1.0 / (1.0 + (-x).exp())),
        (FunctionKind::Tanh, f64::tanh),
        (FunctionKind::Erf, error_function),
        (FunctionKind::Exp { high: 0 }, f64::exp),
        (FunctionKind::Exp { high: 2 }, f64::exp),
        (FunctionKind::Exp { high: 17 }, f64::exp),
        (FunctionKind::Reciprocal { span }, f64::recip),
        (FunctionKind::InverseSqrt { span }, |x| x.sqrt().recip()),
        (FunctionKind::SquareRoot { span }, f64::sqrt),
    ];
    for (kind, exact) in kinds {
        let full = Elementary::new(format, kind);
        if full.check().is_err() {
            continue;
        }
        let near = full.near(PLACES);
        let (low, high) = match kind {
            FunctionKind::Exp { high } => (-16.0, f64::from(high)),
            FunctionKind::Sigmoid | FunctionKind::Tanh | FunctionKind::Erf => (-12.0, 12.0),
            _ => (1.0 / 64.0, 63.9),
        };
        let at = |i: usize| low + (high - low) * i as f64 / n as f64;
        let x: Vec<i64> = (0..n).map(|i| (at(i) * format.one()) as i64).collect();
        let calls = demand_by_name(&near, n).unwrap_or_else(|e| panic!("{near:?}: {e}"));
        let [less, more] = [near, full].map(|function| bytes(s, &function, n));
        let much = format.fraction() >= PLACES + 5;
        assert!(
            !much || less <= more,
            "{near:?} {less} > {more}: {}",
            s.name()
        );
        let got = apply(s, &calls, &x, |machine, x| near.apply(machine, x));
        for (x, got) in x.iter().zip(got) {
            let value = exact(*x as f64 / format.one());
            let tolerance = near.tolerance(value).expect("a function that fits");
            let error = (got as f64 - value * format.one()).abs();
            let about = format!(
                "{near:?} of {x}: {got}, {error} > {tolerance}: {}",
                s.name()
            );
            assert!(error <= tolerance, "{about}");
            let places = f64::from(format.fraction().saturating_sub(PLACES)).exp2();
            let asked = full.tolerance(value).expect("it fits") + (1.0 + value.abs()) * places;
            assert!(tolerance <= asked, "{near:?} of {x} may err by {tolerance}");
        }
    }
}

/// The bytes that a party sends for a function of `n` elements, at most.
fn bytes(s: &dyn Subject, function: &Elementary, n: usize) -> u64 {
    let calls = demand_by_name(function, n).expect("a function that fits");
    let declared = run(s, |machine| {
        let model = machine.cost_model();
        let online = calls.iter().map(|call| model.online(call));
        Ok(online.fold(model.offline(&calls), |sum, cost| sum + &cost))
    });
    let most = declared[0].bytes.iter().max();
    most.copied().unwrap_or_default()
}
