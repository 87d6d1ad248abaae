//! Reciprocals, roots, bounding powers and quotients.

use super::*;

/// `1 / x`, with nothing opened and as in the paper.
pub fn reciprocals(s: &dyn Subject, fraction: u32) {
    let narrow = Span { low: -2, high: 3 };
    for span in [span(s, fraction), narrow] {
        for make in [Reciprocal::new, Reciprocal::with_paper_leakage] {
            let function = make(format(s, fraction), span).expect("a span that fits");
            let x = positive(span, fraction);
            holds(s, fraction, &function, &x, f64::recip);
        }
    }
}

/// `1 / sqrt(x)`, the same.
pub fn inverse_square_roots(s: &dyn Subject, fraction: u32) {
    let narrow = Span { low: -2, high: 3 };
    for span in [span(s, fraction), narrow] {
        for make in [InverseSqrt::new, InverseSqrt::with_paper_leakage] {
            let function = make(format(s, fraction), span).expect("a span that fits");
            let x = positive(span, fraction);
            holds(s, fraction, &function, &x, |x| x.sqrt().recip());
        }
    }
}

/// `x / sqrt(x)`, as models compute roots.
pub fn square_roots(s: &dyn Subject, fraction: u32) {
    let high = span(s, fraction).high.min(4);
    let span = Span {
        high,
        ..span(s, fraction)
    };
    let format = format(s, fraction);
    let function = InverseSqrt::new(format, span).expect("a span that fits");
    let x = positive(span, fraction);
    let calls = [
        demand_of(format.bits(), &function, x.len()),
        vec![Call::elementwise(x.len(), fraction)],
    ]
    .concat();
    let got = apply(s, &calls, &x, |machine, x| {
        let inverse = function.apply(machine, x)?;
        machine.mul(x, &Operand::Secret(inverse), fraction)
    });
    for (&x, &got) in x.iter().zip(&got) {
        let value = x as f64 / format.one();
        let error = (got as f64 - value.sqrt() * format.one()).abs();
        let tolerance = 2.0 + value * function.tolerance(value.sqrt().recip());
        assert!(
            error <= tolerance,
            "{x}: {error} > {tolerance}: {}",
            s.name()
        );
    }
}

/// Exact, with nothing opened and as in the paper.
pub fn bounding_powers(s: &dyn Subject, fraction: u32) {
    let exponent = |x: f64| ((x.to_bits() >> 52) as i32 - 1023).into();
    for leakage in [Leakage::Nothing, Leakage::Magnitude] {
        for span in [span(s, fraction), Span { low: 0, high: 1 }] {
            let power = Power::new(format(s, fraction), span, leakage);
            let power = power.expect("a span that fits");
            assert_eq!(power.tolerance(1.0), 0.0);
            let x = positive(span, fraction);
            let calls = demand_of(s.bits(), &power, x.len());
            let got = apply(s, &calls, &x, |machine, x| power.apply(machine, x));
            let one = format(s, fraction).one();
            let want = x.iter().map(|&x| exponent(x as f64 / one));
            let got = got.into_iter().map(|got| got as f64 / one);
            assert!(got.eq(want), "{leakage:?}, {}", s.name());
        }
    }
}

/// Quotients of divisors of a wide span and of a narrow one.
pub fn quotients(s: &dyn Subject, fraction: u32) {
    for span in [span(s, fraction), Span { low: -1, high: 3 }] {
        quotients_of(s, fraction, span, 2);
    }
}

/// Quotients below `2^quotient` of all divisors in a span.
fn quotients_of(s: &dyn Subject, fraction: u32, span: Span, quotient: i32) {
    let format = format(s, fraction);
    let division = Division::new(format, span, quotient).expect("a span that fits");
    let y = positive(span, fraction);
    let n = y.len();
    // Quotients of both signs on the whole range.
    let part = |i: usize| (i as f64 * 0.618).fract() * 7.99 - 3.995;
    let x: Vec<i64> = y
        .iter()
        .enumerate()
        .map(|(i, &y)| (part(i) * y as f64) as i64)
        .collect();
    let mut operands = x.clone();
    operands.extend(&y);
    let calls = demand(s.bits(), |machine| {
        division.apply(machine, &noted(n), &noted(n))
    });
    let got = apply(s, &calls, &operands, |machine, operands| {
        let (x, y) = (
            machine.slice(operands, 0..n),
            machine.slice(operands, n..2 * n),
        );
        division.apply(machine, &x, &y)
    });
    let one = format.one();
    for ((&x, &y), &got) in x.iter().zip(&y).zip(&got) {
        let error = (got as f64 - x as f64 / y as f64 * one).abs();
        let tolerance = division.tolerance(x as f64 / one, y as f64 / one);
        assert!(
            error <= tolerance,
            "{x} / {y} gave {got}, {error} > {tolerance}: {}",
            s.name()
        );
    }
}
