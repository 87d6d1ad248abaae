//! Exponentials, sigmoids and the like, logarithms, batch norm; functions by their names.

use super::*;

/// Every part of `[low, high]`, the whole numbers with their neighbours, and what lies far outside.
fn around(s: &dyn Subject, low: f64, high: f64, fraction: u32) -> Vec<i64> {
    let one = (1i64 << fraction) as f64;
    let far = 1i64 << (s.bits() - 3);
    let edges = (low as i64..=high as i64).flat_map(|k| [-1, 0, 1].map(|by| (k << fraction) + by));
    let sweep = (0..=SWEEP).map(|i| ((low + (high - low) * i as f64 / SWEEP as f64) * one) as i64);
    let outside = [-far, 1 - far, -far / 3, far / 3, far - 1];
    edges.chain(sweep).chain(outside).collect()
}

/// `e^x` up to two bounds.
pub fn exponentials(s: &dyn Subject, fraction: u32) {
    for high in [0, 2] {
        let Ok(function) = exp(format(s, fraction), high) else {
            assert!(s.bits() < 33 && high > 0, "{high}, {}", s.name());
            continue;
        };
        let x: Vec<i64> = around(s, -20.0, f64::from(high), fraction)
            .into_iter()
            .filter(|&x| x <= i64::from(high) << fraction)
            .collect();
        holds(s, fraction, &function, &x, f64::exp);
    }
}

/// Sigmoids.
pub fn sigmoids(s: &dyn Subject, fraction: u32) {
    let function = sigmoid(format(s, fraction)).expect("a format that fits");
    let x = around(s, -18.0, 18.0, fraction);
    holds(s, fraction, &function, &x, |x| 1.0 / (1.0 + (-x).exp()));
}

/// Hyperbolic tangents.
pub fn hyperbolic_tangents(s: &dyn Subject, fraction: u32) {
    let function = tanh(format(s, fraction)).expect("a format that fits");
    let x = around(s, -10.0, 10.0, fraction);
    holds(s, fraction, &function, &x, f64::tanh);
}

/// Error functions.
pub fn error_functions(s: &dyn Subject, fraction: u32) {
    let function = erf(format(s, fraction)).expect("a format that fits");
    let x = around(s, -6.0, 6.0, fraction);
    holds(s, fraction, &function, &x, error_function);
}

/// Where arguments are clipped functions are constant to the last bit, and so are the values of odd ones at 0: a
/// mask of `-2^40` leaves nothing of a softmax's term, whatever truncations round.
pub fn constants(s: &dyn Subject, fraction: u32) {
    let (format, far) = (format(s, fraction), 1i64 << (s.bits() - 3));
    // No interval ends farther out.
    let (one, cut) = (1i64 << fraction, -32i64 << fraction);
    let exp = exp(format, 0).expect("a format that fits");
    let x = [-far, -far / 3, cut - 1, cut, 0, 1, one, far - 1];
    equals(s, &exp, &x, &[0, 0, 0, 0, one, one, one, one]);
    let x = [-far, -far / 3, cut, 0, -cut, far / 3, far - 1];
    let odd = |low: i64, middle: i64| [low, low, low, middle, one, one, one];
    for (function, want) in [
        (sigmoid(format), odd(0, one / 2)),
        (tanh(format), odd(-one, 0)),
        (erf(format), odd(-one, 0)),
    ] {
        equals(s, &function.expect("a format that fits"), &x, &want);
    }
}

fn equals(s: &dyn Subject, function: &(impl Function + Sync), x: &[i64], want: &[i64]) {
    let calls = demand_of(s.bits(), function, x.len());
    let got = apply(s, &calls, x, |machine, x| function.apply(machine, x));
    assert_eq!(got, want, "of {x:?}, {}", s.name());
}

/// Two powers of four and four; the powers of two and what is beside them, and a dense sweep.
pub fn logarithms(s: &dyn Subject, fraction: u32) {
    for high in [1, 4, 8] {
        let function = Logarithm::new(format(s, fraction), high).expect("a format that fits");
        let (one, end) = (1i64 << fraction, 1i64 << (fraction + high as u32));
        let beside = (0..=high).flat_map(|k| [-1, 0, 1].map(|d| (one << k) + d));
        let step = (end - one) / SWEEP as i64;
        let dense = (0..SWEEP as i64).map(|i| one + i * step);
        let x: Vec<i64> = (beside.chain(dense).filter(|x| (one..end).contains(x))).collect();
        assert!(
            s.bits() < 61 || function.tolerance(1.0) < 5.0,
            "{}",
            s.name()
        );
        holds_as_stated(s, fraction, &function, &x, f64::ln);
    }
    for high in [0, 60] {
        let error = Logarithm::new(format(s, fraction), high).expect_err("refused");
        assert!(error.to_string().contains("logarithms"), "{error}");
    }
}

/// What a program asks of a machine by name is lowered to exactly the calls that the machine makes,
/// and stays within its own tolerance.
pub fn functions_by_name(s: &dyn Subject, fraction: u32) {
    let (format, span) = (format(s, fraction), Span { low: -2, high: 2 });
    let one = format.one();
    let x: Vec<i64> = (1..64)
        .map(|i| (one * f64::from(i) / 16.0) as i64)
        .collect();
    for (kind, exact) in [
        (
            FunctionKind::Sigmoid,
            (|x| 1.0 / (1.0 + f64::exp(-x))) as fn(f64) -> f64,
        ),
        (FunctionKind::Tanh, f64::tanh),
        (FunctionKind::Erf, error_function),
        (FunctionKind::Exp { high: 0 }, f64::exp),
        (FunctionKind::Reciprocal { span }, f64::recip),
        (FunctionKind::InverseSqrt { span }, |x| 1.0 / x.sqrt()),
        (FunctionKind::Log { span }, f64::ln),
    ] {
        let function = Elementary::new(format, kind);
        let sign = if kind == (FunctionKind::Exp { high: 0 }) {
            -1
        } else {
            1
        };
        let x: Vec<i64> = x
            .iter()
            .map(|x| sign * x)
            .filter(|x| x.abs() >= one as i64 / 4)
            .collect();
        let call = Call::Function {
            n: x.len(),
            function,
        };
        let calls = run(s, |machine| {
            lowered(&[call, Call::relu(3)], machine.cost_model())
        });
        let calls = &calls[0];
        assert_eq!(calls.last(), Some(&Call::relu(3)));
        let calls = &calls[..calls.len() - 1];
        assert_eq!(
            calls,
            demand_by_name(&function, x.len()).expect("a function that fits")
        );
        let got = apply(s, calls, &x, |machine, x| machine.function(&function, x));
        for (&x, &got) in x.iter().zip(&got) {
            let value = exact(x as f64 / one);
            let tolerance = function.tolerance(value).expect("a function that fits");
            let error = (got as f64 - value * one).abs();
            assert!(
                error <= tolerance,
                "{kind:?} of {x}: {error} > {tolerance}: {}",
                s.name()
            );
        }
    }
}

/// Batch norms of secret statistics.
pub fn batch_norms(s: &dyn Subject, fraction: u32) {
    let (format, span) = (format(s, fraction), Span { low: -2, high: 4 });
    let epsilon = 1.0 / 256.0;
    let norm = BatchNorm::new(format, epsilon, span, 3).expect("a span that fits");
    let one = format.one();
    // With epsilon all of the span.
    let epsilon_here = (epsilon * one) as i64;
    let variance: Vec<i64> = (positive(span, fraction).into_iter().step_by(11))
        .map(|sum| sum - epsilon_here)
        .collect();
    let (c, plane) = (variance.len(), 10);
    let shape = Channels {
        batch: 3,
        channels: c,
        plane,
    };
    let n = 3 * c * plane;
    let draw = |seed: u64, n: usize, low: f64, high: f64| -> Vec<i64> {
        let unit = |v: i64| (v as u64) as f64 / u64::MAX as f64;
        let value = |v| ((low + (high - low) * unit(v)) * one) as i64;
        noise(seed, n).into_iter().map(value).collect()
    };
    let mean = draw(1, c, -2.0, 2.0);
    let (gamma, beta) = (draw(3, c, -0.75, 0.75), draw(4, c, -1.0, 1.0));
    let x = draw(5, n, -3.0, 3.0);
    let operands = [&x[..], &mean, &variance, &gamma, &beta].concat();
    let calls = demand_of_norm(s.bits(), &norm, shape);
    let got = apply(s, &calls, &operands, |machine, operands| {
        let x = machine.slice(operands, 0..n);
        let [mean, variance, gamma, beta] =
            [0, 1, 2, 3].map(|i| machine.slice(operands, n + i * c..n + (i + 1) * c));
        norm.apply(
            machine,
            &x,
            shape,
            &Statistics {
                mean,
                variance,
                gamma,
                beta,
            },
        )
    });
    for (i, (&x, &got)) in x.iter().zip(&got).enumerate() {
        let channel = i / plane % c;
        let [mean, variance, gamma, beta] =
            [&mean, &variance, &gamma, &beta].map(|v| v[channel] as f64 / one);
        let centred = x as f64 / one - mean;
        let normal = centred / (variance + epsilon).sqrt() * gamma;
        assert!(normal.abs() < 8.0, "the test keeps to the bound");
        let error = (got as f64 - (normal + beta) * one).abs();
        let tolerance = norm.tolerance(centred, gamma, variance);
        assert!(
            error <= tolerance,
            "{x}: {got}, {error} > {tolerance}: {}",
            s.name()
        );
    }
}
