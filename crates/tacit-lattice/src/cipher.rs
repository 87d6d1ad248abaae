//! Ciphertexts: numbers as parts of `q`, and their products with whole numbers.

use tacit_algebra::Prg;
use zeroize::Zeroizing;

use crate::basis::{Basis, Poly};
use crate::keys::{Evaluation, first_half};
use crate::ntt::{join, multiply_add};
use crate::sample;

/// Products that can be added before a sum is reduced.
const MOST: usize = 4096;

/// An encryption `(a, b)`: `b + a s` is what it holds and a small error.
#[derive(Clone)]
pub struct Ciphertext {
    /// The half that the secret multiplies.
    pub a: Poly,
    /// The half that the secret does not multiply.
    pub b: Poly,
}

/// The polynomial of coefficients `q / 2^bits m`, rounded to the nearest, modulo `q`.
pub fn encode(basis: &Basis, numbers: &[u64], bits: u32) -> Poly {
    let mut poly = Poly::zero(basis.degree(), basis.primes());
    let encoder = Encoder::new(basis, bits);
    for (i, limb) in poly.limbs_mut().enumerate() {
        for (x, m) in limb.iter_mut().zip(numbers) {
            *x = encoder.residue(i, *m);
        }
    }
    poly
}

/// Encodes numbers modulo `2^bits` one by one.
pub(crate) struct Encoder<'a> {
    basis: &'a Basis,
    bits: u32,
    /// `q` modulo `2^64`.
    q: u64,
    /// `-1 / 2^bits` modulo each prime.
    shifts: Vec<crate::modulus::Factor>,
}

impl<'a> Encoder<'a> {
    pub fn new(basis: &'a Basis, bits: u32) -> Self {
        let primes = basis.parameters().primes();
        let shift = |i: usize| {
            let m = basis.modulus(i);
            let inverse = m.invert(m.pow(2, u64::from(bits)));
            m.factor(m.value() - inverse)
        };
        Encoder {
            basis,
            bits,
            q: primes.iter().fold(1, |q, p| q.wrapping_mul(*p)),
            shifts: (0..basis.primes()).map(shift).collect(),
        }
    }

    /// `(q m - r) / 2^bits` modulo prime `i`, `r` the remainder next to 0.
    #[inline]
    pub fn residue(&self, i: usize, m: u64) -> u64 {
        let unused = 64 - self.bits;
        let rest = ((self.q.wrapping_mul(m) << unused) as i64) >> unused;
        let modulus = self.basis.modulus(i);
        modulus.times(modulus.signed(rest), self.shifts[i])
    }
}

impl Ciphertext {
    /// A ciphertext from the half that [`crate::Secret::encrypt`] gave and the same public stream; both halves are
    /// values.
    pub fn new(basis: &Basis, public: &mut Prg, b: Poly) -> Self {
        let a = first_half(basis, public, basis.primes());
        Ciphertext { a, b }
    }

    /// Adds another ciphertext, so that this one encrypts the sum.
    pub(crate) fn add(&mut self, basis: &Basis, other: &Ciphertext) {
        basis.add(&mut self.a, &other.a);
        basis.add(&mut self.b, &other.b);
    }

    /// Adds an encryption of 0 that nobody else knows, without the error of its second half: what
    /// opens this then sees an `a` that looks uniform. Coefficients.
    pub fn randomise(&mut self, basis: &Basis, keys: &Evaluation, prg: &mut Prg) {
        let n = basis.degree();
        let coefficients = sample::ternary(prg, n);
        let mut mask = Zeroizing::new(basis.whole(&coefficients, basis.primes()));
        basis.forward(&mut mask);
        let errors = sample::errors(prg, n);
        let mut a = Zeroizing::new(basis.mul(&keys.zero.a, &mask));
        basis.backward(&mut a);
        let errors = Zeroizing::new(basis.whole(&errors, basis.primes()));
        basis.add(&mut a, &errors);
        let mut b = Zeroizing::new(basis.mul(&keys.zero.b, &mask));
        basis.backward(&mut b);
        basis.add(&mut self.a, &a);
        basis.add(&mut self.b, &b);
    }
}

/// A sum of products of ciphertexts with whole polynomials, all as values.
pub struct Sums {
    /// The lower and the upper words of the sums of `a` and of `b`.
    words: [[Poly; 2]; 2],
    terms: usize,
}

impl Sums {
    /// A sum of no products yet.
    pub fn new(basis: &Basis) -> Self {
        let zero = || Poly::zero(basis.degree(), basis.primes());
        Sums {
            words: [[zero(), zero()], [zero(), zero()]],
            terms: 0,
        }
    }

    /// Adds the product of a ciphertext with a polynomial of values.
    pub fn add(&mut self, basis: &Basis, x: &Ciphertext, by: &Poly) {
        if self.terms == MOST {
            self.reduce(basis);
        }
        self.terms += 1;
        for ([low, high], half) in self.words.iter_mut().zip([&x.a, &x.b]) {
            let sums = low.limbs_mut().zip(high.limbs_mut());
            for ((low, high), (x, y)) in sums.zip(half.limbs().zip(by.limbs())) {
                multiply_add(low, high, x, y);
            }
        }
    }

    fn reduce(&mut self, basis: &Basis) {
        for [low, high] in &mut self.words {
            for (i, (low, high)) in low.limbs_mut().zip(high.limbs_mut()).enumerate() {
                join(basis.modulus(i), low, high);
                high.fill(0);
            }
        }
        self.terms = 1;
    }

    /// The sum, as coefficients.
    pub fn finish(mut self, basis: &Basis) -> Ciphertext {
        self.reduce(basis);
        let [[mut a, _], [mut b, _]] = self.words;
        basis.backward(&mut a);
        basis.backward(&mut b);
        Ciphertext { a, b }
    }
}
