//! Entries of tables, rounded down from exact values.
//!
//! A reciprocal or a root is a quotient or a root of integers. An exponential is enclosed between
//! two numbers `2^-110` apart, and refused if an integer lies between them.

/// 1 with [`FRACTION`] fraction bits.
const ONE: u128 = 1 << FRACTION;
const FRACTION: u32 = 120;
/// More than the terms of the series of `exp(-1)` and their roundings, in units of `1 / ONE`.
const SERIES_ERROR: u128 = 256;

/// `low <= x <= high`, both at most 1.
#[derive(Clone, Copy)]
struct Enclosed {
    low: u128,
    high: u128,
}

impl Enclosed {
    const ONE: Self = Enclosed {
        low: ONE,
        high: ONE,
    };

    fn mul(self, other: Self) -> Self {
        Enclosed {
            low: mul_down(self.low, other.low),
            high: mul_down(self.high, other.high) + 1,
        }
    }

    /// `floor(2^scale x)`, if both ends agree.
    fn floor(self, scale: u32) -> Option<u64> {
        let shift = FRACTION - scale;
        (self.low >> shift == self.high >> shift).then_some((self.low >> shift) as u64)
    }
}

/// `floor(a b)` of fractions up to little more than 1.
fn mul_down(a: u128, b: u128) -> u128 {
    const HALF: u32 = FRACTION / 2;
    let split = |x: u128| (x >> HALF, x & ((1 << HALF) - 1));
    let ((a1, a0), (b1, b0)) = (split(a), split(b));
    a1 * b1 + ((a1 * b0 + a0 * b1 + ((a0 * b0) >> HALF)) >> HALF)
}

/// `exp(-2^k)`: the series for powers up to 1, and squares of it above.
fn exp_of_power(k: i32) -> Enclosed {
    if k > 0 {
        let root = exp_of_power(k - 1);
        return root.mul(root);
    }
    let (mut sums, mut term, mut n) = ([0, 0], ONE, 0);
    while term > 0 {
        sums[n % 2] += term;
        n += 1;
        term = term.checked_shr(k.unsigned_abs()).unwrap_or(0) / n as u128;
    }
    let value = sums[0] - sums[1];
    Enclosed {
        low: value - SERIES_ERROR,
        high: (value + SERIES_ERROR).min(ONE),
    }
}

/// `floor(2^scale exp(-(first + u) step 2^exponent))` for all `u` of `bits` bits; `None` if one of them
/// is too near to an integer to be told from it. `(first + u) step < 2^64` and `scale <= 60`.
pub(super) fn exp_table(
    bits: u32,
    first: u64,
    step: u64,
    exponent: i32,
    scale: u32,
) -> Option<Vec<u64>> {
    let arguments = || (0..1u64 << bits).map(|u| (first + u) * step);
    let most = arguments().max().unwrap_or(0);
    let powers: Vec<_> = (0..u64::BITS - most.leading_zeros())
        .map(|i| exp_of_power(exponent + i as i32))
        .collect();
    arguments()
        .map(|u| {
            let factors = (0..powers.len()).filter(|i| (u >> i) & 1 == 1);
            factors
                .fold(Enclosed::ONE, |product, i| product.mul(powers[i]))
                .floor(scale)
        })
        .collect()
}

/// `floor(2^(3 + g) / (p (p + h)))` with `p = 1 + i 2^-g` and `h = 2^-g`: the slope of the chord of
/// `1/v` between `p` and `p + h`.
pub(super) fn reciprocal_slope(g: u32, i: u64) -> u64 {
    ((1 << (3 * g + 3)) / ends(g, i)) as u64
}

/// `floor(2^(2 + 2g) (h/2 + sqrt(Z)) / Z)` with `Z = p (p + h)`: the height of that chord at `v = 0`,
/// lowered by half of its largest deviation. With `Z = N 2^-2g` this is
/// `(2^(3g+1) + sqrt(2^(6g+4) N)) / N`, where the root may be rounded down first.
pub(super) fn reciprocal_intercept(g: u32, i: u64) -> u64 {
    let n = ends(g, i);
    (((1 << (3 * g + 1)) + (n << (6 * g + 4)).isqrt()) / n) as u64
}

/// `2^2g p (p + h)`.
fn ends(g: u32, i: u64) -> u128 {
    let p = (1 << g) + u128::from(i);
    p * (p + 1)
}

/// `floor(2^(g + 2) / sqrt((1 + i 2^-g) 2^odd))`.
pub(super) fn inverse_root(g: u32, i: u64, odd: bool) -> u64 {
    let x = ((1 << g) + u128::from(i)) << u32::from(odd);
    ((1u128 << (3 * g + 4)) / x).isqrt() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponentials_are_never_too_near_to_an_integer() {
        let firsts = (-64..64).map(|exponent| (exponent, 0));
        let counted = [1, 77, (1 << 30) + 1, (1 << 62) + 1].into_iter();
        let counted = counted.flat_map(|first| (-64..0).map(move |exponent| (exponent, first)));
        for (exponent, first) in firsts.chain(counted) {
            for scale in 2..=30 {
                let table = exp_table(8, first, 1, exponent, scale).expect("no integer is near");
                for (u, entry) in (first..).zip(&table) {
                    let real = (-(u as f64) * f64::from(exponent).exp2()).exp();
                    let real = real * f64::from(scale).exp2();
                    let entry = *entry as f64;
                    assert!(entry - 1e-6 <= real && real < entry + 1.0 + 1e-6);
                }
            }
        }
    }

    #[test]
    fn an_integer_between_the_ends_is_refused() {
        let (low, high) = ((ONE >> 1) - 1, ONE >> 1);
        assert_eq!(Enclosed { low, high }.floor(4), None);
        let low = high;
        assert_eq!(Enclosed { low, high }.floor(4), Some(8));
    }

    #[test]
    fn quotients_and_roots_are_rounded_down() {
        for g in 1..=7 {
            for i in 0..1 << g {
                let n = ends(g, i);
                let slope = u128::from(reciprocal_slope(g, i));
                assert!(slope * n <= 1 << (3 * g + 3) && 1 << (3 * g + 3) < (slope + 1) * n);
                let height = u128::from(reciprocal_intercept(g, i));
                let square = |c: u128| (c * n - (1 << (3 * g + 1))).pow(2);
                assert!(
                    square(height) <= n << (6 * g + 4) && n << (6 * g + 4) < square(height + 1)
                );
                for odd in [false, true] {
                    let x = ((1 << g) + u128::from(i)) << u32::from(odd);
                    let root = u128::from(inverse_root(g, i, odd));
                    let one = 1u128 << (3 * g + 4);
                    assert!(root * root * x <= one && one < (root + 1).pow(2) * x);
                }
            }
        }
    }
}
