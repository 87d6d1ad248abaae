//! Keys: of who encrypts and opens, and of who computes on ciphertexts.

use tacit_algebra::Prg;
use zeroize::Zeroizing;

use crate::basis::{Basis, Poly};
use crate::cipher::{Ciphertext, encode};
use crate::sample;

/// A secret polynomial with coefficients -1, 0 and 1, as values, modulo all primes. Wiped when it is
/// dropped.
pub struct Secret {
    values: Zeroizing<Poly>,
    coefficients: Zeroizing<Vec<i64>>,
}

/// What a party computes on ciphertexts with: an encryption of 0, and keys of the automorphisms that
/// pack. It tells nothing of the secret.
pub struct Evaluation {
    pub(crate) zero: Ciphertext,
    pub(crate) switches: Vec<Switch>,
}

/// The key of one automorphism: for each prime of `q` an encryption, modulo all primes, of the
/// secret's image times the special prime where it is to be taken modulo that prime.
pub(crate) struct Switch {
    pub digits: Vec<Ciphertext>,
}

/// The automorphism of level `level`, from 1 on: `X` to this power. It leaves multiples of
/// `X^(2^level)` as they are and negates `X^(2^(level - 1))`.
pub(crate) fn power(degree: usize, level: u32) -> usize {
    2 * (degree >> level) + 1
}

/// The image of a polynomial's coefficients under `X -> X^power`; `negate` is the sign's inverse.
pub(crate) fn image<T: Copy>(x: &[T], power: usize, to: &mut [T], negate: impl Fn(T) -> T) {
    let (n, mut at) = (x.len(), 0);
    for x in x {
        match at < n {
            true => to[at] = *x,
            false => to[at - n] = negate(*x),
        }
        at = (at + power) & (2 * n - 1);
    }
}

impl Secret {
    /// A new secret with coefficients -1, 0 and 1, drawn from `prg`.
    pub fn new(basis: &Basis, prg: &mut Prg) -> Self {
        let coefficients = sample::ternary(prg, basis.degree());
        let mut values = basis.whole(&coefficients, basis.ntts().len());
        basis.forward(&mut values);
        Secret {
            values: Zeroizing::new(values),
            coefficients,
        }
    }

    /// The secret modulo the first primes, as values.
    pub(crate) fn limb(&self, i: usize) -> &[u64] {
        self.values.limb(i)
    }

    /// `b` with `b + a s = e + plain`, all as values; `plain` is that of coefficients.
    fn mask(&self, basis: &Basis, a: &Poly, plain: &Poly, prg: &mut Prg) -> Poly {
        let errors = sample::errors(prg, basis.degree());
        let mut b = basis.whole(&errors, a.primes());
        basis.add(&mut b, plain);
        basis.forward(&mut b);
        let secret = &self.values;
        let mut own = Zeroizing::new(Poly::zero(basis.degree(), a.primes()));
        for (to, from) in own.limbs_mut().zip(secret.limbs()) {
            to.copy_from_slice(from);
        }
        let product = Zeroizing::new(basis.mul(a, &own));
        basis.sub(&mut b, &product);
        b
    }

    /// The second halves of an encryption of numbers modulo `2^bits` whose first half is drawn from
    /// the public stream, as values. At most as many numbers as coefficients; the others are 0.
    pub fn encrypt(
        &self,
        basis: &Basis,
        public: &mut Prg,
        prg: &mut Prg,
        (numbers, bits): (&[u64], u32),
    ) -> Poly {
        let a = first_half(basis, public, basis.primes());
        let plain = Zeroizing::new(encode(basis, numbers, bits));
        self.mask(basis, &a, &plain, prg)
    }

    /// The second halves of what others compute with, for `levels` of packing: of the encryption of
    /// 0, and of the keys of automorphisms, level by level.
    pub fn evaluation(
        &self,
        basis: &Basis,
        levels: u32,
        public: &mut Prg,
        prg: &mut Prg,
    ) -> Vec<Poly> {
        let all = basis.ntts().len();
        let a = first_half(basis, public, basis.primes());
        let nothing = Poly::zero(basis.degree(), basis.primes());
        let mut halves = vec![self.mask(basis, &a, &nothing, prg)];
        for level in 1..=levels {
            let power = power(basis.degree(), level);
            let mut turned = Zeroizing::new(vec![0; basis.degree()]);
            image(&self.coefficients, power, &mut turned, |x: i64| -x);
            let turned = Zeroizing::new(basis.whole(&turned, all));
            for digit in 0..basis.primes() {
                let a = first_half(basis, public, all);
                let plain = Zeroizing::new(only(basis, &turned, digit));
                halves.push(self.mask(basis, &a, &plain, prg));
            }
        }
        halves
    }
}

/// A polynomial times the special prime modulo prime `digit`, and 0 modulo the others.
fn only(basis: &Basis, x: &Poly, digit: usize) -> Poly {
    let modulus = basis.modulus(digit);
    let special = basis.modulus(basis.primes()).value();
    let factor = modulus.factor(special % modulus.value());
    let mut out = Poly::zero(x.limb(0).len(), x.primes());
    let limb = out.limbs_mut().nth(digit).expect("a prime of q");
    for (to, from) in limb.iter_mut().zip(x.limb(digit)) {
        *to = modulus.times(*from, factor);
    }
    out
}

/// The first half of an encryption modulo the first primes: uniform, as values.
pub(crate) fn first_half(basis: &Basis, public: &mut Prg, primes: usize) -> Poly {
    let n = basis.degree();
    let limbs = (0..primes).map(|i| sample::uniform(public, basis.modulus(i), n));
    Poly::new(n, limbs.collect::<Vec<_>>().concat())
}

impl Evaluation {
    /// Keys from the halves that [`Secret::evaluation`] gave and the same public stream.
    pub fn new(basis: &Basis, levels: u32, public: &mut Prg, halves: Vec<Poly>) -> Self {
        let mut halves = halves.into_iter();
        let mut next = |primes| {
            let a = first_half(basis, public, primes);
            let b = halves.next().expect("as many halves as keys");
            Ciphertext { a, b }
        };
        let zero = next(basis.primes());
        let all = basis.ntts().len();
        let switches = (0..levels).map(|_| Switch {
            digits: (0..basis.primes()).map(|_| next(all)).collect(),
        });
        let switches = switches.collect();
        Evaluation { zero, switches }
    }

    /// How many levels of packing the keys serve.
    pub fn levels(&self) -> u32 {
        self.switches.len() as u32
    }

    /// The primes of each half that [`Secret::evaluation`] gives, in order.
    pub fn sizes(primes: usize, levels: u32) -> impl Iterator<Item = usize> {
        let switches = (0..levels as usize * primes).map(move |_| primes + 1);
        std::iter::once(primes).chain(switches)
    }
}
