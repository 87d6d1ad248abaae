//! The common mathematics on every protocol: a dense sweep of each function's whole domain and its
//! edges against `f64` within the stated error, with exactly the declared calls and cost.

mod inverse;
mod smooth;

use crate::*;
use tacit_net::Phase;
use tacit_protocols::Cost;
use tacit_protocols::lowered;
use tacit_protocols::machine::Operand;
use tacit_protocols::math::*;

pub use inverse::*;
pub use smooth::*;

/// A test for each function with some fraction bits.
#[macro_export]
macro_rules! math {
    (|$check:ident| $on:expr) => {
        $crate::tests! { |$check| $on, math:
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
            constants
            logarithms
            functions_by_name
            batch_norms
            costs
        }
    };
}

/// Elements of a sweep.
const SWEEP: usize = 600;

fn format(s: &dyn Subject, fraction: u32) -> Format {
    Format::new(s.bits(), fraction).expect("the fraction fits")
}

/// Holds a function against its definition within its own tolerance, which must be small where the
/// numbers are long. It is given the material of its declared calls and no other.
fn holds(
    s: &dyn Subject,
    fraction: u32,
    function: &(impl Function + Sync),
    x: &[i64],
    exact: impl Fn(f64) -> f64,
) {
    assert!(
        s.bits() < 61 || function.tolerance(1.0) < 3.0,
        "{}",
        s.name()
    );
    holds_as_stated(s, fraction, function, x, exact);
}

/// Holds a function to the error that it states, however large that is.
fn holds_as_stated(
    s: &dyn Subject,
    fraction: u32,
    function: &(impl Function + Sync),
    x: &[i64],
    exact: impl Fn(f64) -> f64,
) {
    let calls = demand_of(s.bits(), function, x.len());
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
pub fn costs(s: &dyn Subject, fraction: u32) {
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
    metered(s, "erf", &erf(format).expect(fits));
}

fn metered(s: &dyn Subject, what: &str, function: &(impl Function + Sync)) {
    let calls = demand_of(s.bits(), function, 5);
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
fn span(s: &dyn Subject, fraction: u32) -> Span {
    let width = (s.bits() as i32 - 3 - fraction as i32).min(28) & !1;
    Span {
        low: (-width / 2).max(-(fraction as i32)),
        high: (-width / 2).max(-(fraction as i32)) + width,
    }
}

/// `x >= y` and `x < y` of edges.
pub fn comparisons(s: &dyn Subject, fraction: u32) {
    let edges = [
        0,
        1,
        -1,
        1 << fraction,
        -(1 << fraction),
        (1 << (s.bits() - 3)) - 1,
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
