//! Arithmetic modulo a prime below `2^50`.

/// Bits of a machine word that products are split at: the widest that IFMA multiplies.
pub const WORD: u32 = 52;

/// A prime below `2^50` with what reduces by it. No operation on values branches on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Modulus {
    p: u64,
    /// `floor(2^64 / p)`.
    inverse: u64,
    /// `2^52` modulo `p`.
    word: Factor,
}

/// A constant to multiply by: a residue with `floor(value 2^64 / p)` (Shoup).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Factor {
    value: u64,
    ratio: u64,
}

impl Modulus {
    /// The modulus `p`, a prime with `2 < p < 2^50`.
    ///
    /// # Panics
    /// If `p` is not below `2^50`, or below 3.
    pub fn new(p: u64) -> Self {
        assert!(2 < p && p < 1 << 50, "a modulus of another size");
        let plain = Modulus {
            p,
            inverse: (u128::from(u64::MAX) / u128::from(p)) as u64,
            word: Factor { value: 0, ratio: 0 },
        };
        Modulus {
            word: plain.factor((1 << WORD) % p),
            ..plain
        }
    }

    /// The prime itself.
    pub fn value(&self) -> u64 {
        self.p
    }

    /// Bits of a residue.
    pub fn bits(&self) -> u32 {
        64 - self.p.leading_zeros()
    }

    /// The constant `value`, below `p`.
    pub fn factor(&self, value: u64) -> Factor {
        let ratio = ((u128::from(value) << 64) / u128::from(self.p)) as u64;
        Factor { value, ratio }
    }

    /// A number below `2 p` less `p` where it is not below.
    #[inline(always)]
    pub fn once(&self, x: u64) -> u64 {
        x.min(x.wrapping_sub(self.p))
    }

    /// `x c`, `x` any word.
    #[inline(always)]
    pub fn times(&self, x: u64, c: Factor) -> u64 {
        let quotient = ((u128::from(x) * u128::from(c.ratio)) >> 64) as u64;
        let rest = x
            .wrapping_mul(c.value)
            .wrapping_sub(quotient.wrapping_mul(self.p));
        self.once(rest)
    }

    /// Any word modulo `p`.
    #[inline(always)]
    pub fn reduce(&self, x: u64) -> u64 {
        let quotient = ((u128::from(x) * u128::from(self.inverse)) >> 64) as u64;
        let rest = x.wrapping_sub(quotient.wrapping_mul(self.p));
        self.once(self.once(rest))
    }

    /// `high 2^52 + low` modulo `p`.
    #[inline(always)]
    pub fn joined(&self, low: u64, high: u64) -> u64 {
        self.add(self.reduce(low), self.times(high, self.word))
    }

    /// A signed number modulo `p`.
    #[inline(always)]
    pub fn signed(&self, x: i64) -> u64 {
        let negative = (x >> 63) as u64;
        let rest = self.reduce(x.unsigned_abs());
        let turned = self.once(self.p - rest);
        (rest & !negative) | (turned & negative)
    }

    /// `x + y` of residues.
    #[inline(always)]
    pub fn add(&self, x: u64, y: u64) -> u64 {
        self.once(x + y)
    }

    /// `x - y` of residues.
    #[inline(always)]
    pub fn sub(&self, x: u64, y: u64) -> u64 {
        self.once(x + self.p - y)
    }

    /// `x y` of residues, one by one.
    pub fn mul(&self, x: u64, y: u64) -> u64 {
        (u128::from(x) * u128::from(y) % u128::from(self.p)) as u64
    }

    /// `x^e`.
    pub fn pow(&self, x: u64, mut e: u64) -> u64 {
        let (mut power, mut square) = (1, x % self.p);
        while e > 0 {
            if e & 1 == 1 {
                power = self.mul(power, square);
            }
            square = self.mul(square, square);
            e >>= 1;
        }
        power
    }

    /// `1 / x` of a residue that is not 0.
    pub fn invert(&self, x: u64) -> u64 {
        self.pow(x, self.p - 2)
    }

    /// A residue whose `order`th power is the first that is 1; `order` is a power of two, at least
    /// 2, that divides `p - 1`.
    pub fn root(&self, order: u64) -> u64 {
        let roots = (2..self.p).map(|x| self.pow(x, (self.p - 1) / order));
        let mut primitive = roots.filter(|&root| self.pow(root, order / 2) == self.p - 1);
        primitive
            .next()
            .expect("a group of this order has a generator")
    }
}

impl Factor {
    /// The constant itself.
    pub fn value(&self) -> u64 {
        self.value
    }
}

/// The `n` largest primes below `2^bits` that are 1 modulo `step`, none of them in `without`.
pub fn primes(bits: u32, step: u64, n: usize, without: &[u64]) -> Vec<u64> {
    let top = (1u64 << bits) - 1;
    let first = top - (top - 1) % step;
    let candidates = (0..).map_while(|i| first.checked_sub(i * step));
    let found = candidates
        .take_while(|&p| p > 1 << (bits - 1))
        .filter(|p| !without.contains(p) && is_prime(*p));
    found.take(n).collect()
}

/// Whether a number below `2^50` is prime (Miller and Rabin, with bases that decide below `2^64`).
pub fn is_prime(p: u64) -> bool {
    const BASES: [u64; 12] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37];
    if let Some(small) = BASES.iter().find(|&&base| p.is_multiple_of(base)) {
        return p == *small;
    }
    if p < 2 {
        return false;
    }
    let modulus = Modulus::new(p);
    let twos = (p - 1).trailing_zeros();
    BASES.iter().all(|&base| {
        let mut x = modulus.pow(base, (p - 1) >> twos);
        let mut passes = x == 1 || x == p - 1;
        for _ in 1..twos {
            x = modulus.mul(x, x);
            passes |= x == p - 1;
        }
        passes
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_is_that_of_wide_numbers() {
        for p in [3, 17, 12_289, (1 << 50) - 27] {
            let m = Modulus::new(p);
            let edges = [0, 1, 2, p / 2, p - 1];
            for x in edges.map(|x| x % p) {
                for y in edges.map(|y| y % p) {
                    let wide = |v: u128| (v % u128::from(p)) as u64;
                    assert_eq!(m.add(x, y), wide(u128::from(x) + u128::from(y)));
                    assert_eq!(m.sub(x, y), wide(u128::from(x + p) - u128::from(y)));
                    let product = wide(u128::from(x) * u128::from(y));
                    assert_eq!([m.mul(x, y), m.times(x, m.factor(y))], [product; 2]);
                }
            }
            for x in [0, 1, p, p + 1, 2 * p, u64::MAX, u64::MAX - 1, 1 << 63] {
                assert_eq!(m.reduce(x), x % p);
                let joined = (u128::from(x) << WORD) + u128::from(x);
                assert_eq!(u128::from(m.joined(x, x)), joined % u128::from(p));
                let signed = (x as i64 as i128).rem_euclid(i128::from(p));
                assert_eq!(i128::from(m.signed(x as i64)), signed);
            }
        }
    }

    #[test]
    fn primes_are_those_that_trial_division_finds() {
        let divided = |p: u64| {
            p > 1
                && (2..p)
                    .take_while(|d| d * d <= p)
                    .all(|d| !p.is_multiple_of(d))
        };
        for p in 0..5_000 {
            assert_eq!(is_prime(p), divided(p), "{p}");
        }
        // Strong pseudoprimes to some bases.
        for composite in [3_215_031_751, 3_474_749_660_383, 341_550_071_728_321] {
            assert!(!is_prime(composite));
        }
        let found = primes(42, 1 << 14, 3, &[]);
        assert_eq!(found.len(), 3);
        assert!(found.iter().all(|p| divided(*p) && p % (1 << 14) == 1));
        assert!(!primes(42, 1 << 14, 1, &found[..1]).contains(&found[0]));
    }

    #[test]
    fn roots_have_their_order() {
        let m = Modulus::new(12_289);
        let root = m.root(4096);
        assert_eq!(m.pow(root, 4096), 1);
        assert_eq!(m.pow(root, 2048), 12_288);
        assert_eq!(m.mul(5, m.invert(5)), 1);
    }
}
