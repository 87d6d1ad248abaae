//! The common mathematics on every protocol: a dense sweep of each function's whole domain and its
//! edges against `f64` within the stated error, with exactly the declared calls and cost.

use crate::common::*;
use tacit_algebra::mersenne::{F31, F61};
use tacit_net::Phase;
use tacit_protocols::clear::Clear;
use tacit_protocols::falcon::Truncation;
use tacit_protocols::machine::{Audience, Call, CostModel, Machine, Operand};
use tacit_protocols::math::*;
use tacit_protocols::mixed::lowered;
use tacit_protocols::shamir::{Comparison, Opening};
use tacit_protocols::{Cost, Error};

/// Runs a generic check on every subject with the fraction bits that suit it.
macro_rules! on_every_subject {
    ($($check:ident)+) => { mod falcon {
        use super::*;
        $(#[test] fn $check() {
            for fraction in [10, 12, 13] {
                super::$check(&falcon_over::<u32>(), fraction);
            }
            for fraction in [12, 16, 18] {
                super::$check(&falcon_over::<u64>(), fraction);
            }
        })+
    } mod bicoptor {
        use super::*;
        $(#[test] fn $check() {
            for fraction in [10, 12, 13] {
                super::$check(&ubl_over::<u32>(Truncation::Gap), fraction);
                super::$check(&rss_over::<u32>(Truncation::Gap), fraction);
            }
            for fraction in [12, 16, 18] {
                super::$check(&ubl_over::<u64>(Truncation::Gap), fraction);
                super::$check(&rss_over::<u64>(Truncation::Gap), fraction);
            }
        })+
    } mod shamir {
        use super::*;
        $(#[test] fn $check() {
            for parties in [3, 5] {
                for fraction in [10, 12] {
                    let subject = shamir_over::<F31>(parties, Comparison::Auto, Opening::Auto);
                    super::$check(&subject, fraction);
                }
                for fraction in [16, 18] {
                    let subject = shamir_over::<F61>(parties, Comparison::Auto, Opening::Auto);
                    super::$check(&subject, fraction);
                }
            }
        })+
    } mod clear {
        use super::*;
        $(#[test] fn $check() {
            for fraction in 8..=13 {
                super::$check(&ClearOver::<u32> { parties: 2, ring: Default::default() }, fraction);
            }
            for fraction in 12..=24 {
                super::$check(&ClearOver::<u64> { parties: 2, ring: Default::default() }, fraction);
            }
        })+
    }};
}

on_every_subject! {
    comparisons
    reciprocals
    quotients
    inverse_square_roots
    square_roots
    bounding_powers
    exponentials
    sigmoids
    hyperbolic_tangents
    error_functions
    logarithms
    functions_by_name
    batch_norms
    costs
}

/// Elements of a sweep.
const SWEEP: usize = 600;

/// Bits of a subject's numbers.
fn bits<S: Subject>(s: &S) -> u32 {
    128 - (s.modulus() - 1).leading_zeros()
}

fn format<S: Subject>(s: &S, fraction: u32) -> Format {
    Format::new(bits(s), fraction).expect("the fraction fits")
}

/// Holds a function against its definition within its own tolerance, which must be small where the
/// numbers are long. It is given the material of its declared calls and no other.
fn holds<S: Subject>(
    s: &S,
    fraction: u32,
    function: &(impl Function + Sync),
    x: &[i64],
    exact: impl Fn(f64) -> f64,
) {
    assert!(
        bits(s) < 61 || function.tolerance(1.0) < 3.0,
        "{}",
        s.name()
    );
    holds_as_stated(s, fraction, function, x, exact);
}

/// The same of a function whose tolerance is not small.
fn holds_as_stated<S: Subject>(
    s: &S,
    fraction: u32,
    function: &(impl Function + Sync),
    x: &[i64],
    exact: impl Fn(f64) -> f64,
) {
    let calls = function.calls(x.len());
    let got = apply(s, &calls, x, |machine, x| function.apply(machine, x));
    let one = format(s, fraction).one();
    for (&x, &got) in x.iter().zip(&got) {
        let value = exact(x as f64 / one);
        let error = (got as f64 - value * one).abs();
        let tolerance = function.tolerance(value);
        assert!(
            error <= tolerance,
            "of {x} / 2^{fraction}: {got} instead of {}, {error} > {tolerance}: {}",
            value * one,
            s.name()
        );
    }
}

/// The functions and their calls are one: exactly the declared hops and bytes are metered.
fn costs<S: Subject>(s: &S, fraction: u32) {
    let (format, span) = (format(s, fraction), Span { low: -2, high: 4 });
    let fits = "a span that fits";
    metered(s, "reciprocal", &Reciprocal::new(format, span).expect(fits));
    metered(s, "rsqrt", &InverseSqrt::new(format, span).expect(fits));
    let papers = Reciprocal::with_paper_leakage(format, span).expect(fits);
    metered(s, "the paper's reciprocal", &papers);
    let papers = InverseSqrt::with_paper_leakage(format, span).expect(fits);
    metered(s, "the paper's rsqrt", &papers);
    for leakage in [Leakage::Nothing, Leakage::Magnitude] {
        metered(s, "pow", &Power::new(format, span, leakage).expect(fits));
    }
    metered(s, "ln", &Logarithm::new(format, 4).expect(fits));
    metered(s, "exp", &exp(format, 0).expect(fits));
    metered(s, "sigmoid", &sigmoid(format).expect(fits));
    metered(s, "tanh", &tanh(format).expect(fits));
}

fn metered<S: Subject>(s: &S, what: &str, function: &(impl Function + Sync)) {
    let calls = function.calls(5);
    let ends = run(s, |machine| {
        let model = machine.cost_model();
        let online = calls.iter().map(|call| model.online(call));
        let declared = [
            model.offline(&calls),
            online.fold(Cost::default(), |sum, cost| sum + &cost),
        ];
        machine.prepare(&calls)?;
        let x = machine.constant(&[1 << 8, 1 << 9, 3 << 8, 5 << 7, 1 << 10]);
        function.apply(machine, &x)?;
        let meter = machine.party().meter();
        Ok((
            declared,
            [Phase::Offline, Phase::Online].map(|phase| meter.total(phase)),
        ))
    });
    for phase in [0, 1] {
        let metered = Cost {
            rounds: ends
                .iter()
                .map(|end| end.1[phase].rounds)
                .max()
                .unwrap_or(0),
            bytes: ends.iter().map(|end| end.1[phase].bytes_sent).collect(),
        };
        assert_eq!(
            metered,
            ends[0].0[phase],
            "{what}, phase {phase}, {}",
            s.name()
        );
    }
}

/// All powers of two in a span with their neighbours, and values between them on a logarithmic
/// scale.
fn positive(span: Span, fraction: u32) -> Vec<i64> {
    let (low, high) = (span.low + fraction as i32, span.high + fraction as i32);
    let edges = (low..=high).flat_map(|k| [(1 << k) - 1, 1 << k, (1 << k) + 1]);
    let exponent = |i: usize| f64::from(low) + f64::from(high - low) * i as f64 / SWEEP as f64;
    let sweep = (0..SWEEP).map(|i| exponent(i).exp2() as i64);
    let inside = (1i64 << low)..(1i64 << high);
    edges.chain(sweep).filter(|x| inside.contains(x)).collect()
}

/// The span of the tests: as wide as the smallest format has it with `f` bits inside.
fn span<S: Subject>(s: &S, fraction: u32) -> Span {
    let width = (bits(s) as i32 - 3 - fraction as i32).min(28) & !1;
    Span {
        low: (-width / 2).max(-(fraction as i32)),
        high: (-width / 2).max(-(fraction as i32)) + width,
    }
}

fn comparisons<S: Subject>(s: &S, fraction: u32) {
    let edges = [
        0,
        1,
        -1,
        1 << fraction,
        -(1 << fraction),
        (1 << (bits(s) - 3)) - 1,
    ];
    let (x, y): (Vec<i64>, Vec<i64>) = edges.iter().flat_map(|&x| edges.map(|y| (x, y))).unzip();
    let n = x.len();
    let calls = [
        compare_calls(n),
        compare_calls(n),
        vec![Call::Select { n }; 2],
    ]
    .concat();
    let got = apply(s, &calls, &x, |machine, x| {
        let y = machine.constant(&y);
        let bits = [compare(machine, x, &y)?, less_than(machine, x, &y)?];
        let (zero, one) = (machine.constant(&vec![0; n]), machine.constant(&vec![1; n]));
        let [at_least, less] = &bits;
        let at_least = machine.select(at_least, &zero, &one)?;
        let less = machine.select(less, &zero, &one)?;
        Ok(machine.concat(&[&at_least, &less]))
    });
    let at_least = x.iter().zip(&y).map(|(x, y)| i64::from(x >= y));
    let less = x.iter().zip(&y).map(|(x, y)| i64::from(x < y));
    assert_eq!(
        got,
        at_least.chain(less).collect::<Vec<_>>(),
        "{}",
        s.name()
    );
}

fn reciprocals<S: Subject>(s: &S, fraction: u32) {
    let narrow = Span { low: -2, high: 3 };
    for span in [span(s, fraction), narrow] {
        for make in [Reciprocal::new, Reciprocal::with_paper_leakage] {
            let function = make(format(s, fraction), span).expect("a span that fits");
            let x = positive(span, fraction);
            holds(s, fraction, &function, &x, f64::recip);
        }
    }
}

fn inverse_square_roots<S: Subject>(s: &S, fraction: u32) {
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
fn square_roots<S: Subject>(s: &S, fraction: u32) {
    let high = span(s, fraction).high.min(4);
    let span = Span {
        high,
        ..span(s, fraction)
    };
    let format = format(s, fraction);
    let function = InverseSqrt::new(format, span).expect("a span that fits");
    let x = positive(span, fraction);
    let calls = [
        function.calls(x.len()),
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
fn bounding_powers<S: Subject>(s: &S, fraction: u32) {
    let exponent = |x: f64| ((x.to_bits() >> 52) as i32 - 1023).into();
    for leakage in [Leakage::Nothing, Leakage::Magnitude] {
        for span in [span(s, fraction), Span { low: 0, high: 1 }] {
            let power = Power::new(format(s, fraction), span, leakage);
            let power = power.expect("a span that fits");
            assert_eq!(power.tolerance(1.0), 0.0);
            let x = positive(span, fraction);
            let calls = power.calls(x.len());
            let got = apply(s, &calls, &x, |machine, x| power.apply(machine, x));
            let one = format(s, fraction).one();
            let want = x.iter().map(|&x| exponent(x as f64 / one));
            let got = got.into_iter().map(|got| got as f64 / one);
            assert!(got.eq(want), "{leakage:?}, {}", s.name());
        }
    }
}

fn quotients<S: Subject>(s: &S, fraction: u32) {
    for span in [span(s, fraction), Span { low: -1, high: 3 }] {
        quotients_of(s, fraction, span, 2);
    }
}

/// Quotients below `2^quotient` of all divisors in a span.
fn quotients_of<S: Subject>(s: &S, fraction: u32, span: Span, quotient: i32) {
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
    let calls = division.calls(n);
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

/// Every part of `[low, high]`, the whole numbers with their neighbours, and what lies far outside.
fn around<S: Subject>(s: &S, low: f64, high: f64, fraction: u32) -> Vec<i64> {
    let one = (1i64 << fraction) as f64;
    let far = 1i64 << (bits(s) - 3);
    let edges = (low as i64..=high as i64).flat_map(|k| [-1, 0, 1].map(|by| (k << fraction) + by));
    let sweep = (0..=SWEEP).map(|i| ((low + (high - low) * i as f64 / SWEEP as f64) * one) as i64);
    let outside = [-far, 1 - far, -far / 3, far / 3, far - 1];
    edges.chain(sweep).chain(outside).collect()
}

fn exponentials<S: Subject>(s: &S, fraction: u32) {
    for high in [0, 2] {
        let Ok(function) = exp(format(s, fraction), high) else {
            assert!(bits(s) < 33 && high > 0, "{high}, {}", s.name());
            continue;
        };
        let x: Vec<i64> = around(s, -20.0, f64::from(high), fraction)
            .into_iter()
            .filter(|&x| x <= i64::from(high) << fraction)
            .collect();
        holds(s, fraction, &function, &x, f64::exp);
    }
}

fn sigmoids<S: Subject>(s: &S, fraction: u32) {
    let function = sigmoid(format(s, fraction)).expect("a format that fits");
    let x = around(s, -18.0, 18.0, fraction);
    holds(s, fraction, &function, &x, |x| 1.0 / (1.0 + (-x).exp()));
}

fn hyperbolic_tangents<S: Subject>(s: &S, fraction: u32) {
    let function = tanh(format(s, fraction)).expect("a format that fits");
    let x = around(s, -10.0, 10.0, fraction);
    holds(s, fraction, &function, &x, f64::tanh);
}

fn error_functions<S: Subject>(s: &S, fraction: u32) {
    let function = erf(format(s, fraction)).expect("a format that fits");
    let x = around(s, -6.0, 6.0, fraction);
    holds(s, fraction, &function, &x, error_function);
}

/// Two powers of four and four; the powers of two and what is beside them, and a dense sweep.
fn logarithms<S: Subject>(s: &S, fraction: u32) {
    for high in [1, 4, 8] {
        let function = Logarithm::new(format(s, fraction), high).expect("a format that fits");
        let (one, end) = (1i64 << fraction, 1i64 << (fraction + high as u32));
        let beside = (0..=high).flat_map(|k| [-1, 0, 1].map(|d| (one << k) + d));
        let step = (end - one) / SWEEP as i64;
        let dense = (0..SWEEP as i64).map(|i| one + i * step);
        let x: Vec<i64> = (beside.chain(dense).filter(|x| (one..end).contains(x))).collect();
        assert!(
            bits(s) < 61 || function.tolerance(1.0) < 5.0,
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
fn functions_by_name<S: Subject>(s: &S, fraction: u32) {
    let (format, span) = (format(s, fraction), Span { low: -2, high: 2 });
    let one = format.one();
    let x: Vec<i64> = (1..64)
        .map(|i| (one * f64::from(i) / 16.0) as i64)
        .collect();
    for (kind, exact) in [
        (
            Kind::Sigmoid,
            (|x| 1.0 / (1.0 + f64::exp(-x))) as fn(f64) -> f64,
        ),
        (Kind::Tanh, f64::tanh),
        (Kind::Erf, error_function),
        (Kind::Exp { high: 0 }, f64::exp),
        (Kind::Reciprocal { span }, f64::recip),
        (Kind::InverseSqrt { span }, |x| 1.0 / x.sqrt()),
    ] {
        let function = Elementary::new(format, kind);
        let sign = if kind == (Kind::Exp { high: 0 }) {
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
            function.calls(x.len()).expect("a function that fits")
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
            function.kind == Kind::Sigmoid
        }
    }
    let format = Format::new(64, 16).expect("a format that fits");
    let of = |kind| Call::Function {
        n: 7,
        function: Elementary::new(format, kind),
    };
    let calls = lowered(&[of(Kind::Sigmoid), of(Kind::Tanh)], &Native).expect("both fit");
    assert_eq!(calls[0], of(Kind::Sigmoid));
    assert_eq!(calls[1..], tanh(format).expect("it fits").calls(7));
    let span = Span { low: -40, high: 2 };
    assert!(lowered(&[of(Kind::Reciprocal { span })], &Native).is_err());
}

fn batch_norms<S: Subject>(s: &S, fraction: u32) {
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
    let calls = norm.calls(shape);
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
        two_scales(Kind::Reciprocal { span: span(-48, 0) })
            .check()
            .err(),
    );
    assert!(error.contains("reciprocals from 2^0 to 2^48"), "{error}");
    let error = words(two_scales(Kind::Sigmoid).check().err());
    assert!(error.contains("two scales"), "{error}");
    assert!(
        two_scales(Kind::Power { span: span(-48, 0) })
            .check()
            .is_ok()
    );
    // A function belongs to its format.
    let function = sigmoid(narrow).expect("a format that fits");
    let mut machine = Clear::<u64>::new(mesh(1).remove(0));
    let x = machine.constant(&[1, 2]);
    assert!(words(function.apply(&mut machine, &x).err()).contains("over 32 bits"));
}

/// Nothing is opened: the only messages are those of the calls, and no call reveals.
#[test]
fn no_call_reveals() {
    let format = Format::new(64, 16).expect("a format that fits");
    let span = Span { low: -8, high: 8 };
    let reciprocal = Reciprocal::new(format, span).expect("a span that fits");
    let calls = [
        reciprocal.calls(3),
        InverseSqrt::new(format, span)
            .expect("a span that fits")
            .calls(3),
        Power::new(format, span, Leakage::Nothing)
            .expect("a span that fits")
            .calls(3),
        exp(format, 0).expect("a format that fits").calls(3),
    ]
    .concat();
    let opens = |call: &Call| matches!(call, Call::Reveal { .. } | Call::Input { .. });
    assert!(!calls.iter().any(opens));
    // The paper's way is only taken where it is asked for.
    for kind in [
        Kind::Reciprocal { span },
        Kind::InverseSqrt { span },
        Kind::Power { span },
    ] {
        let function = Elementary::new(format, kind);
        let calls = |function: Elementary| function.calls(3).expect("it fits");
        assert!(!calls(function).iter().any(opens));
        assert!(calls(function.with_paper_leakage()).iter().any(opens));
    }
    let heard = run(
        &ClearOver::<u64> {
            parties: 1,
            ring: Default::default(),
        },
        |machine| {
            let x = machine.constant(&[1 << 16]);
            let y = reciprocal.apply(machine, &x)?;
            machine.reveal(&y, Audience::All)
        },
    );
    assert!(
        heard[0]
            .as_ref()
            .is_some_and(|y| y[0].abs_diff(1 << 16) <= 2)
    );
}
