//! Every function over its whole domain against `f64`.

use super::*;
use tacit_protocols::machine::Machine;
use tacit_protocols::math::*;

/// A function with its definition, and what it is of a number below the span.
struct Defined {
    function: Elementary,
    domain: Domain,
    exact: fn(f64) -> f64,
    below: f64,
}

/// A number, rounded down where `f64` has not all its bits.
fn real(x: i64) -> f64 {
    (if x >> 53 > 0 { x & !0xfff } else { x }) as f64
}

impl Defined {
    /// Bits between the largest result and what products have room for.
    fn left(&self) -> f64 {
        let format = self.function.format;
        f64::from(room(format)) - (self.below.abs() * format.one()).log2()
    }

    /// The relative error that is stated beyond units.
    fn stated(&self) -> f64 {
        let format = self.function.format;
        let left = self.left();
        match format.bits() > 60 {
            true => (-20f64).exp2(),
            // Where the largest result is near to what products have room for, less is left inside.
            false => 28.0 * (if left < 4.0 { -12f64 } else { -14.0 }).exp2(),
        }
    }

    /// Holds the function to its own tolerance, and that to what is said of it.
    fn holds(&self, s: &dyn Subject, n: usize) {
        let (function, format) = (self.function, self.function.format);
        let inside = self.domain.inside(n);
        let below = self.domain.below(format);
        let x = [&inside[..], &below].concat();
        let calls =
            demand_by_name(&function, x.len()).unwrap_or_else(|e| panic!("{:?}: {e}", self.domain));
        let got = apply(s, &calls, &x, |machine, x| function.apply(machine, x));
        let values = inside
            .iter()
            .map(|&x| (self.exact)(real(x) / self.domain.one()));
        let values = values.chain(below.iter().map(|_| self.below));
        for ((x, value), got) in x.iter().zip(values).zip(got) {
            let tolerance = function.tolerance(value).expect("a function that fits");
            let error = (got as f64 - value * format.one()).abs();
            let about = format!("{:?} of {x}: {got}, {error} > {tolerance}", self.function);
            assert!(error <= tolerance, "{about}: {}", s.name());
            // What users read: 2^-10 where truncations err by one unit at most.
            let promised = 2.0 + value.abs() * format.one() * (-10f64).exp2();
            assert!(format.bits() == 31 || error <= promised, "{about}");
            let most = (if self.left() < 4.0 { 4.01 } else { 2.51 })
                + value.abs() * format.one() * self.stated();
            assert!(
                tolerance <= most,
                "{:?} of {value} may err by {tolerance}",
                self.function
            );
        }
    }
}

fn named(format: Format, domain: Domain, kind: FunctionKind) -> Elementary {
    Elementary::new(format, kind).with_argument(domain.argument)
}

/// `1 / x`.
pub fn reciprocals(s: &dyn Subject, format: Format, n: usize) {
    for domain in domains(format, |low| -low) {
        let span = domain.span;
        let kind = FunctionKind::Reciprocal { span };
        let below = f64::from(-span.low).exp2();
        let function = named(format, domain, kind);
        Defined {
            function,
            domain,
            exact: f64::recip,
            below,
        }
        .holds(s, n);
    }
}

/// `1 / sqrt(x)`.
pub fn inverse_square_roots(s: &dyn Subject, format: Format, n: usize) {
    for domain in domains(format, |low| (1 - low) / 2) {
        let span = domain.span;
        let kind = FunctionKind::InverseSqrt { span };
        let below = (-0.5 * f64::from(span.low)).exp2();
        let function = named(format, domain, kind);
        let exact = |x: f64| x.sqrt().recip();
        Defined {
            function,
            domain,
            exact,
            below,
        }
        .holds(s, n);
    }
}

/// `sqrt(x)`.
pub fn square_roots(s: &dyn Subject, format: Format, n: usize) {
    for domain in domains(format, |low| low / 2) {
        let kind = FunctionKind::SquareRoot { span: domain.span };
        let function = named(format, domain, kind);
        Defined {
            function,
            domain,
            exact: f64::sqrt,
            below: 0.0,
        }
        .holds(s, n);
    }
}

/// The powers of two at or below `x`.
pub fn bounding_powers(s: &dyn Subject, format: Format, n: usize) {
    for domain in domains(format, |_| 7) {
        powers_below(s, format, domain, n, f64::from(domain.span.low));
    }
    // A span of one power has a threshold that it need not have.
    for (low, high, below) in [(0, 1, -1), (-1, 1, -1), (1, 3, 1), (-3, -2, -4)] {
        let domain = Domain {
            argument: format.fraction(),
            span: Span { low, high },
        };
        powers_below(s, format, domain, n, below.into());
    }
}

/// The bounding powers of a domain, and `below` of what lies below it.
fn powers_below(s: &dyn Subject, format: Format, domain: Domain, n: usize, below: f64) {
    let kind = FunctionKind::Power { span: domain.span };
    let function = named(format, domain, kind);
    let exact = |x: f64| f64::from((x.to_bits() >> 52) as i32 - 1023);
    Defined {
        function,
        domain,
        exact,
        below,
    }
    .holds(s, n);
}

/// Logarithms.
pub fn logarithms(s: &dyn Subject, format: Format, n: usize) {
    for domain in domains(format, |_| 7) {
        let function = named(format, domain, FunctionKind::Log { span: domain.span });
        let (inside, below) = (domain.inside(n), domain.below(format));
        let x = [&inside[..], &below].concat();
        let calls = demand_by_name(&function, x.len()).expect("a span that fits");
        let got = apply(s, &calls, &x, |machine, x| function.apply(machine, x));
        let values = inside.iter().map(|&x| (real(x) / domain.one()).ln());
        let least = f64::from(domain.span.low) * std::f64::consts::LN_2;
        let values = values.chain(below.iter().map(|_| least));
        for ((x, value), got) in x.iter().zip(values).zip(got) {
            let (error, most) = (
                (got as f64 - value * format.one()).abs(),
                function.tolerance(value).expect("a function that fits"),
            );
            assert!(
                error <= most,
                "ln {x} in {domain:?}: {got}, {error} > {most}: {}",
                s.name()
            );
            assert!(format.bits() < 61 || most < 4.0, "{most}");
        }
    }
}

/// Every argument that the ring holds: the pieces, 0 below them and `e^high` above.
pub fn exponentials(s: &dyn Subject, format: Format, n: usize) {
    let f = format.fraction();
    for high in [-3, 0, 2, 4] {
        let Ok(function) = exp(format, high) else {
            assert!(high > 0, "{high} over {format:?}");
            continue;
        };
        let (far, top) = (1i64 << room(format), i64::from(high) << f);
        let low = top - (24 << f);
        let sweep = (0..n as i64).map(|i| low + (top - low + (3 << f)) / n as i64 * i);
        let whole = (0..27).flat_map(|k| [-1, 0, 1].map(|by| low + (k << f) + by));
        let far = [
            -far,
            1 - far,
            -far / 3,
            -1,
            0,
            1,
            top + 1,
            2 * top + 9,
            far / 3,
            far - 1,
        ];
        let x: Vec<i64> = sweep.chain(whole).chain(far).collect();
        let calls = demand_of(format.bits(), &function, x.len());
        let got = apply(s, &calls, &x, |machine, x| function.apply(machine, x));
        for (x, got) in x.iter().zip(got) {
            let value = (*x.min(&top) as f64 / format.one()).exp();
            let (error, most) = (
                (got as f64 - value * format.one()).abs(),
                function.tolerance(value),
            );
            assert!(
                error <= most,
                "exp {x}: {got}, {error} > {most}: {}",
                s.name()
            );
        }
    }
}

/// Quotients up to `2^bound` of divisors from the lowest to the highest, at the edges of the bound, and
/// of divisors below, which are taken for the lowest.
pub fn quotients(s: &dyn Subject, format: Format, n: usize) {
    let (one, room) = (format.one(), room(format));
    let bounds = if format.bits() > 60 {
        vec![2, 8, 12]
    } else {
        vec![0, 2]
    };
    for bound in bounds {
        let high = room - format.fraction() as i32 - bound;
        let low = -(format.fraction() as i32);
        for (low, high) in [(low, high), (low.max(-12), high.min(12)), (-1, 2)] {
            let domain = Domain {
                argument: format.fraction(),
                span: Span { low, high },
            };
            let division = Division::new(format, domain.span, bound).expect("a span that fits");
            let y = [domain.inside(n), domain.below(format)].concat();
            let taken: Vec<i64> = y.iter().map(|y| *y.max(&domain.ends()[0])).collect();
            let part = |i: usize| match i % 5 {
                0 => 0.999,
                1 => -0.999,
                _ => {
                    (((i as f64 * 0.618).fract() - 0.5) * 12.0).exp2()
                        * if i.is_multiple_of(2) { 1.0 } else { -1.0 }
                }
            };
            let most = f64::from(bound).exp2();
            let x: Vec<i64> = (taken.iter().enumerate())
                .map(|(i, &y)| (part(i).clamp(-0.999, 0.999) * most * y as f64) as i64)
                .collect();
            let (n, operands) = (y.len(), [&x[..], &y].concat());
            let calls = demand(format.bits(), |machine| {
                division.apply(machine, &noted(n), &noted(n))
            });
            let got = apply(s, &calls, &operands, |machine, operands| {
                let [x, y] = [0, n].map(|at| machine.slice(operands, at..at + n));
                division.apply(machine, &x, &y)
            });
            for ((&x, &y), got) in x.iter().zip(&taken).zip(got) {
                let value = x as f64 / y as f64;
                let error = (got as f64 - value * one).abs();
                let most = division.tolerance(x as f64 / one, y as f64 / one);
                assert!(
                    error <= most,
                    "{x} / {y}: {got}, {error} > {most}: {}",
                    s.name()
                );
                let stated = 2.3 + value.abs() * one * (-10f64).exp2();
                assert!(
                    format.bits() < 61 || most <= stated,
                    "{x} / {y} may err by {most}"
                );
            }
        }
    }
}

/// An epsilon far below a unit of the variance's scale, with variances of 0 and more.
pub fn batch_norms(s: &dyn Subject, format: Format, _n: usize) {
    let one = format.one();
    let epsilon = if format.bits() > 60 {
        1e-5
    } else {
        1.0 / 1024.0
    };
    let high = 6;
    let span = Span {
        low: (-2 * format.fraction() as i32).max(-17),
        high,
    };
    let Ok(norm) = BatchNorm::new(format, epsilon, span, 4) else {
        assert!(format.bits() < 60);
        return;
    };
    let variance: Vec<i64> = [0.0, 1e-4, 0.01, 0.3, 1.0, 17.0, 60.0]
        .map(|v| (v * one) as i64)
        .to_vec();
    let c = variance.len();
    let shape = Channels {
        batch: 1,
        channels: c,
        plane: 5,
    };
    // Results and each channel's factor stay below 2^4.
    let deviation = |v: i64| (v as f64 / one + epsilon).sqrt();
    let factor = |v: i64| (1.0 / deviation(v)).min(15.0);
    let x: Vec<i64> = (0..5 * c)
        .map(|i| ((i % 5) as f64 / 2.0 - 1.0) * 15.0 / factor(variance[i / 5]) * one)
        .map(|x| x as i64)
        .collect();
    let gamma = variance
        .iter()
        .map(|&v| (deviation(v) * factor(v) * one) as i64);
    let gamma: Vec<i64> = gamma.collect();
    let zeros = vec![0; c];
    let operands = [&x[..], &zeros, &variance, &gamma, &zeros].concat();
    let got = apply(
        s,
        &demand_of_norm(format.bits(), &norm, shape),
        &operands,
        |machine, operands| {
            let x = machine.slice(operands, 0..5 * c);
            let [mean, variance, gamma, beta] =
                [5, 6, 7, 8].map(|i| machine.slice(operands, i * c..(i + 1) * c));
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
        },
    );
    for (i, (&x, got)) in x.iter().zip(got).enumerate() {
        let [x, variance, gamma] = [x, variance[i / 5], gamma[i / 5]].map(|v| v as f64 / one);
        let value = x * gamma / (variance + epsilon).sqrt();
        let error = (got as f64 - value * one).abs();
        let most = norm.tolerance(x, gamma, variance);
        assert!(
            error <= most,
            "{x} over {variance}: {got}, {value}, {error} > {most}: {}",
            s.name()
        );
    }
}
