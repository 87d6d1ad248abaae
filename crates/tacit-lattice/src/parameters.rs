//! Degrees and moduli, and the room that they leave.

use crate::modulus::primes;
use crate::sample::WIDEST;

/// Coefficients of the polynomials of every run.
const DEGREE: usize = 8192;

/// The most bits of all primes together for 128 bits of security with a ternary secret and errors of
/// a standard deviation of 3.2, against classical attacks, with [`DEGREE`] coefficients: the table of
/// the HomomorphicEncryption.org standard (2018).
const STANDARD: u32 = 218;

/// The largest error coefficient that is drawn.
pub const ERROR: u64 = 21;

/// How near the view of whoever opens answers is to one that does not depend on what its numbers
/// were multiplied by: all coefficients of a call together differ by at most `2^-FLOOD`.
const FLOOD: u32 = 40;

/// The moduli that runs choose from: primes of `q`, bits of each, and bits of the special prime.
const SETS: [(usize, u32, Option<u32>); 5] = [
    (3, 42, Some(50)),
    (3, 50, Some(50)),
    (4, 43, Some(46)),
    (4, 50, None),
    (5, 43, None),
];

const _: () = {
    let mut set = 0;
    while set < SETS.len() {
        let (count, bits, special) = SETS[set];
        let special = match special {
            Some(bits) => bits,
            None => 0,
        };
        assert!(count as u32 * bits + special <= STANDARD);
        set += 1;
    }
};

/// A degree and moduli.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    degree: usize,
    primes: Vec<u64>,
    special: Option<u64>,
}

/// What errors of answers are sums of: so many products with whole numbers of at most `size`, whatever
/// coefficients they are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Numbers in the polynomials that an answer is a sum of products with.
    pub count: usize,
    /// The largest magnitude of a factor that is not encrypted.
    pub size: u64,
}

/// A call's numbers, by which moduli are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// Bits of the numbers that are encrypted.
    pub bits: u32,
    /// What the answers are sums of.
    pub terms: Terms,
    /// Levels of packing: up to `2^levels` ciphertexts become one.
    pub levels: u32,
    /// Coefficients that are opened.
    pub opened: usize,
}

impl Parameters {
    /// Any parameters, for tests and measurements: they promise no security.
    pub fn of(degree: usize, primes: &[u64], special: Option<u64>) -> Self {
        Parameters {
            degree,
            primes: primes.to_vec(),
            special,
        }
    }

    /// Parameters with fewer coefficients and the moduli of the set with this number, for tests.
    pub fn small(degree: usize, set: usize) -> Self {
        let (count, bits, special) = SETS[set];
        let step = 2 * degree as u64;
        let special = special.map(|bits| primes(bits, step, 1, &[])[0]);
        let own = primes(bits, step, count, special.as_slice());
        Parameters::of(degree, &own, special)
    }

    /// The set of runs with this number, 128 bits secure.
    pub fn standard(set: usize) -> Self {
        Parameters::small(DEGREE, set)
    }

    /// How many sets there are.
    pub fn sets() -> usize {
        SETS.len()
    }

    /// The smallest set that has room for the need, if any has.
    pub fn choose(need: &Need) -> Option<usize> {
        (0..SETS.len()).find(|&set| {
            let (count, bits, special) = SETS[set];
            let narrower = special.map_or(0, |special| special - bits);
            // Primes are a little below their powers of two.
            let fits = need.q_bits(DEGREE, (count, narrower)) < count as u32 * bits;
            let drawn = need.flood_bits(DEGREE, (count, narrower)) <= WIDEST;
            fits && drawn && (need.levels == 0 || special.is_some())
        })
    }

    /// Bits of each residue modulo `q`, of a set.
    pub fn prime_bits(set: usize) -> (usize, u32, Option<u32>) {
        SETS[set]
    }

    /// Coefficients of a polynomial.
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// Coefficients of the polynomials of every run.
    pub fn run_degree() -> usize {
        DEGREE
    }

    /// The primes whose product is `q`.
    pub fn primes(&self) -> &[u64] {
        &self.primes
    }

    /// Digits of a polynomial modulo `q`, and how many bits narrower than the special prime they are.
    fn digits(&self) -> (usize, u32) {
        let bits = |p: &u64| 64 - p.leading_zeros();
        let widest = self.primes.iter().map(bits).max().unwrap_or(0);
        let narrower = self.special.as_ref().map_or(0, |p| bits(p) - widest);
        (self.primes.len(), narrower)
    }

    /// The prime beside them, of the keys of automorphisms.
    pub fn special(&self) -> Option<&u64> {
        self.special.as_ref()
    }
}

impl Need {
    /// The largest error of an opened coefficient before it is flooded, in units of `q`: of the
    /// encryption and its rounding times the factors, of packing with so many digits that are so many
    /// bits narrower than the special prime, and of the fresh zero.
    fn error(&self, degree: usize, (digits, narrower): (usize, u32)) -> u128 {
        let (n, error) = (degree as u128, u128::from(ERROR));
        let products = u128::from(self.terms.size) * self.terms.count as u128 * (error + 1);
        let fresh = (2 * n + 1) * error;
        // An automorphism: its digits times errors, divided by the special prime, and a rounding. Each
        // level adds two ciphertexts and their images.
        let switched = ((digits as u128 * n * error * 2) >> narrower) + n + 1;
        let packed = (0..self.levels).fold(0, |sum, _| 4 * sum + switched);
        products + fresh + packed
    }

    /// Bits of the noise that hides errors: uniform below its power of two, either sign.
    pub fn flood(&self, parameters: &Parameters) -> u32 {
        self.flood_bits(parameters.degree, parameters.digits())
    }

    fn flood_bits(&self, degree: usize, digits: (usize, u32)) -> u32 {
        let error = u128::BITS - self.error(degree, digits).leading_zeros();
        error + FLOOD - 1 + self.opened.max(1).next_power_of_two().ilog2()
    }

    /// Bits that `q` must have: the noise, the number, and room to round the answer.
    fn q_bits(&self, degree: usize, digits: (usize, u32)) -> u32 {
        self.flood_bits(degree, digits) + self.bits + 4
    }

    /// Whether parameters have room for the need, by their exact primes.
    #[cfg(test)]
    pub(crate) fn fits(&self, parameters: &Parameters) -> bool {
        let bits: f64 = parameters.primes.iter().map(|p| (*p as f64).log2()).sum();
        f64::from(self.q_bits(parameters.degree, parameters.digits())) <= bits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_set_has_its_primes_and_the_standards_security() {
        for (set, (count, bits, special)) in SETS.into_iter().enumerate() {
            let parameters = Parameters::standard(set);
            assert_eq!(parameters.primes.len(), count);
            assert_eq!(parameters.special.is_some(), special.is_some());
            let all = parameters.primes.iter().chain(&parameters.special);
            let total: f64 = all.clone().map(|p| (*p as f64).log2()).sum();
            assert!(total <= f64::from(STANDARD), "{total} bits");
            let widest = parameters.primes.iter().max().expect("there are some");
            if let Some(special) = parameters.special {
                assert!(*widest <= special);
            }
            let q: f64 = parameters.primes.iter().map(|p| (*p as f64).log2()).sum();
            assert!(q > f64::from(count as u32 * bits) - 0.01, "{q}");
        }
    }

    #[test]
    fn a_need_takes_the_smallest_set_with_room() {
        let need = |bits, size, levels| Need {
            bits,
            terms: Terms { count: 1024, size },
            levels,
            opened: 4096,
        };
        assert_eq!(Parameters::choose(&need(37, 1 << 13, 8)), Some(0));
        assert_eq!(Parameters::choose(&need(45, 1 << 20, 8)), Some(1));
        assert_eq!(Parameters::choose(&need(64, 1 << 20, 8)), Some(2));
        assert_eq!(Parameters::choose(&need(64, 1 << 63, 0)), Some(3));
        let large = |terms: usize, opened| Need {
            terms: Terms {
                count: 1024 * terms,
                size: 1 << 63,
            },
            opened,
            ..need(64, 1, 0)
        };
        assert_eq!(Parameters::choose(&large(8, 1 << 20)), Some(4));
        assert_eq!(Parameters::choose(&large(8, 1 << 27)), None);
        assert_eq!(Parameters::choose(&need(64, 1 << 63, 1)), None);
    }
}
