//! Small ciphertexts of single coefficients: what goes back to whoever opens them.
//!
//! The first half is rounded to `t = bits + log2(N) + 1` bits, the second, of the coefficients that
//! are opened only, to `bits + 3`: rounding is off by at most `N / 2 + N / 8` of the `N` that half a
//! unit of a number has, and what is left is for the noise ([`crate::parameters::Need`]).

use tacit_algebra::Prg;
use zeroize::Zeroizing;

use crate::basis::{Basis, Poly};
use crate::cipher::{Ciphertext, Encoder};
use crate::keys::{Evaluation, Secret};
use crate::modulus::Factor;
use crate::sample;

/// Numbers modulo `2^bits`, encrypted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// The first half: a number below `2^t` for each coefficient.
    pub a: Vec<u128>,
    /// The second half: a number below `2^(bits + 3)` for each that is opened.
    pub b: Vec<u128>,
}

/// The widths of an answer's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Widths {
    /// The width of the first half's numbers.
    pub a: u32,
    /// The width of the second half's numbers.
    pub b: u32,
}

impl Widths {
    /// The widths for numbers of `bits` bits in polynomials of `degree` coefficients.
    pub fn of(degree: usize, bits: u32) -> Self {
        Widths {
            a: bits + degree.ilog2() + 1,
            b: bits + 3,
        }
    }
}

/// What is added to what before it is answered.
pub struct Masks<'a> {
    /// Coefficients that are opened.
    pub at: &'a [u32],
    /// Numbers that are added to them.
    pub numbers: &'a [u64],
    /// Bits of the numbers.
    pub bits: u32,
    /// Bits of the noise that hides errors.
    pub flood: u32,
}

impl Answer {
    /// The coefficients of a ciphertext plus the masks, re-randomised and flooded: whoever opens it
    /// learns these sums and nothing else.
    pub fn make(
        basis: &Basis,
        keys: &Evaluation,
        mut ciphertext: Ciphertext,
        masks: &Masks,
        prg: &mut Prg,
    ) -> Answer {
        ciphertext.randomise(basis, keys, prg);
        let flood = sample::flood(prg, masks.flood, masks.at.len());
        add_at(basis, &mut ciphertext.b, masks, &flood);
        let widths = Widths::of(basis.degree(), masks.bits);
        let round = |x: u128, bits: u32| x.wrapping_add(1 << (127 - bits)) >> (128 - bits);
        let first = |at| round(basis.fraction(&ciphertext.a, at), widths.a);
        let second = |at: &u32| round(basis.fraction(&ciphertext.b, *at as usize), widths.b);
        Answer {
            a: (0..basis.degree()).map(first).collect(),
            b: masks.at.iter().map(second).collect(),
        }
    }

    /// The numbers that the answer encrypts at the places `at`, modulo `2^bits`.
    pub fn open(
        &self,
        basis: &Basis,
        secret: &Secret,
        at: &[u32],
        bits: u32,
    ) -> Zeroizing<Vec<u64>> {
        let widths = Widths::of(basis.degree(), bits);
        let opener = Opener::new(basis, widths.a);
        let product = opener.times_secret(basis, secret, &self.a);
        let (drop, up) = (widths.a - widths.b, widths.a - bits);
        let opened = at.iter().zip(&self.b).map(|(at, b)| {
            let sum = opener
                .joined(&product, *at as usize)
                .wrapping_add(b << drop);
            let rounded = sum.wrapping_add(1 << (up - 1)) >> up;
            rounded as u64 & (u64::MAX >> (64 - bits))
        });
        Zeroizing::new(opened.collect())
    }
}

/// Adds `q / 2^bits` times the numbers, and the noise, to the coefficients that are opened.
pub(crate) fn add_at(basis: &Basis, b: &mut Poly, masks: &Masks, flood: &[sample::Wide]) {
    let encoder = Encoder::new(basis, masks.bits);
    for (i, limb) in b.limbs_mut().enumerate() {
        let m = basis.modulus(i);
        let word = m.factor(m.pow(2, 64));
        for ((at, number), (high, low)) in masks.at.iter().zip(masks.numbers).zip(flood) {
            let high = m.add(m.times(m.signed(*high), word), m.reduce((low >> 64) as u64));
            let noise = m.add(m.times(high, word), m.reduce(*low as u64));
            let sum = m.add(encoder.residue(i, *number), noise);
            let to = &mut limb[*at as usize];
            *to = m.add(*to, sum);
        }
    }
}

/// Multiplies numbers below `2^t` by the secret exactly: modulo as many primes as the products need.
struct Opener<'a> {
    basis: &'a Basis,
    primes: usize,
    bits: u32,
    /// For each prime p: `1 / (Q / p)` modulo it, `Q / p` modulo `2^128`, and `2^128 / p` rounded down.
    joins: Vec<(Factor, u128, u128)>,
    /// `Q` modulo `2^128`.
    whole: u128,
}

impl<'a> Opener<'a> {
    fn new(basis: &'a Basis, bits: u32) -> Self {
        let own = basis.parameters().primes();
        // Products are below `N 2^(t - 1)`, either sign; four times that, so that joining is certain.
        let wanted = f64::from(bits + basis.degree().ilog2() + 2);
        let mut room = 0.0;
        let primes = own.iter().take_while(|p| {
            let more = room < wanted;
            room += (**p as f64).log2();
            more
        });
        let primes = primes.count();
        assert!(room >= wanted, "q holds every answer's products");
        let used = &own[..primes];
        let joins = used.iter().enumerate().map(|(i, p)| {
            let m = basis.modulus(i);
            let others = || used.iter().filter(|other| *other != p);
            let inverse = m.invert(others().fold(1, |product, other| m.mul(product, other % p)));
            let product = others().fold(1u128, |product, other| {
                product.wrapping_mul(u128::from(*other))
            });
            (m.factor(inverse), product, u128::MAX / u128::from(*p))
        });
        Opener {
            basis,
            primes,
            bits,
            joins: joins.collect(),
            whole: used.iter().fold(1, |q, p| q.wrapping_mul(u128::from(*p))),
        }
    }

    /// `a s` modulo the primes.
    fn times_secret(&self, basis: &Basis, secret: &Secret, a: &[u128]) -> Zeroizing<Poly> {
        let n = basis.degree();
        let mut product = Zeroizing::new(Poly::zero(n, self.primes));
        for (i, limb) in product.limbs_mut().enumerate() {
            let m = self.basis.modulus(i);
            let word = m.factor(m.pow(2, 64));
            let unused = 128 - self.bits;
            let mut values: Vec<u64> = a
                .iter()
                .map(|a| {
                    let centred = ((a << unused) as i128) >> unused;
                    let high = m.times(m.signed((centred >> 64) as i64), word);
                    m.add(high, m.reduce(centred as u64))
                })
                .collect();
            basis.ntts()[i].forward(&mut values);
            let mut high = Zeroizing::new(vec![0; n]);
            crate::ntt::multiply_add(limb, &mut high, &values, secret.limb(i));
            crate::ntt::join(m, limb, &high);
            basis.ntts()[i].backward(limb);
        }
        product
    }

    /// A coefficient as a whole number next to 0, modulo `2^128`.
    fn joined(&self, product: &Poly, at: usize) -> u128 {
        let (mut sum, mut parts) = (0u128, 0u128);
        for (i, (inverse, others, fraction)) in self.joins.iter().enumerate() {
            let part = self.basis.modulus(i).times(product.limb(i)[at], *inverse);
            sum = sum.wrapping_add(u128::from(part).wrapping_mul(*others));
            // In units of 2^-64: `part / p`.
            parts += (u128::from(part) * (fraction >> 64))
                + ((u128::from(part) * (fraction & u128::from(u64::MAX))) >> 64);
        }
        let wholes = (parts + (1 << 63)) >> 64;
        sum.wrapping_sub(self.whole.wrapping_mul(wholes))
    }
}
