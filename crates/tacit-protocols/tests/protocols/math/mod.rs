//! The common mathematics on every protocol: a dense sweep of each function's whole domain and its
//! edges against `f64` within the stated error, with exactly the declared calls and cost.

mod inverse;
mod refusals;
mod smooth;

use crate::common::*;
use inverse::*;
use smooth::*;
use tacit_algebra::mersenne::{F31, F61};
use tacit_net::Phase;
use tacit_protocols::clear::Clear;
use tacit_protocols::falcon::Truncation;
use tacit_protocols::lowered;
use tacit_protocols::machine::{Audience, Call, CostModel, Machine, Operand};
use tacit_protocols::math::*;
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
    let calls = demand_of(bits(s), function, x.len());
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
    let calls = demand_of(bits(s), function, 5);
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
    let calls = [[Call::drelu(n); 2], [Call::select(n); 2]].concat();
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
