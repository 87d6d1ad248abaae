//! Elementary functions of public numbers, for the constants that all parties must agree on to the
//! last bit: by additions, products and quotients alone, which are the same on every machine. A
//! system's own `exp` and `cos` need not be.

/// Terms of a series for an argument of at most 1/2: the next would be below `2^-70`.
const TERMS: u32 = 16;

/// `2^exponent`.
pub(super) fn exp2(exponent: i32) -> f64 {
    f64::from_bits(((1023 + i64::from(exponent)) as u64) << 52)
}

/// `value`, rounded, with `fraction` fraction bits.
pub(super) fn fixed(value: f64, fraction: u32) -> i64 {
    (value * exp2(fraction as i32)).round() as i64
}

/// `e^x` of a moderate `x`: the series of `x / 2^8`, squared 8 times.
pub(super) fn exp(x: f64) -> f64 {
    let reduced = x / 256.0;
    let series = (1..=TERMS)
        .rev()
        .fold(1.0, |sum, k| 1.0 + sum * reduced / f64::from(k));
    (0..8).fold(series, |power, _| power * power)
}

/// The natural logarithm of a positive `x`: halved or doubled into `[0.7, 1.4]`, then the series of
/// the inverse hyperbolic tangent.
pub(super) fn ln(x: f64) -> f64 {
    let (mut rest, mut halvings) = (x, 0);
    while rest > 1.4 {
        (rest, halvings) = (rest / 2.0, halvings + 1);
    }
    while rest < 0.7 {
        (rest, halvings) = (2.0 * rest, halvings - 1);
    }
    let t = (rest - 1.0) / (rest + 1.0);
    let term = |sum: f64, k: u32| sum * t * t + 1.0 / f64::from(2 * k + 1);
    let series = (0..=TERMS).rev().fold(0.0, term);
    f64::from(halvings) * std::f64::consts::LN_2 + 2.0 * t * series
}

/// The error function: `2 / sqrt(pi) x e^(-x^2)` times a series of terms of one sign, each
/// `2 x^2 / (2 k + 1)` of the one before; from 6 on it is 1 to the last bit. What follows `20 + 4 x^2` terms is
/// less than the last place.
pub fn error_function(x: f64) -> f64 {
    const FACTOR: f64 = std::f64::consts::FRAC_2_SQRT_PI;
    if x.abs() >= 6.0 {
        return x.signum();
    }
    let terms = (20.0 + 4.0 * x * x) as u32;
    let series = (1..=terms)
        .rev()
        .fold(1.0, |sum, k| 1.0 + sum * 2.0 * x * x / f64::from(2 * k + 1));
    // The last places of the factors may add up to more than the function has.
    (FACTOR * x * exp(-x * x) * series).clamp(-1.0, 1.0)
}

/// The cosine of an `x` between 0 and pi: the series of `x / 8`, doubled 3 times.
pub(super) fn cos(x: f64) -> f64 {
    let square = (x / 8.0) * (x / 8.0);
    let term = |sum: f64, k: u32| 1.0 - sum * square / f64::from((2 * k - 1) * (2 * k));
    let series = (1..=TERMS).rev().fold(1.0, term);
    (0..3).fold(series, |c, _| 2.0 * c * c - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_series_are_the_functions() {
        for i in -320..=320 {
            let x = f64::from(i) / 10.0;
            assert!((exp(x) / x.exp() - 1.0).abs() < 1e-12, "exp {x}");
            let angle = x.abs() / 10.2;
            assert!((cos(angle) - angle.cos()).abs() < 1e-13, "cos {angle}");
        }
        for i in 1..=640 {
            let x = f64::from(i) / 20.0;
            assert!((ln(x) - x.ln()).abs() < 1e-14, "ln {x}");
        }
        for (x, erf) in [
            (0.5, 0.520_499_877_813_046_5),
            (1.0, 0.842_700_792_949_714_9),
            (-2.0, -0.995_322_265_018_952_7),
            (6.0, 1.0),
        ] {
            assert!((error_function(x) - erf).abs() < 1e-12, "erf {x}");
        }
        assert_eq!(
            [exp2(0), exp2(-3), exp2(60)],
            [1.0, 0.125, (1u64 << 60) as f64]
        );
        assert_eq!(fixed(-0.75, 3), -6);
    }
}
