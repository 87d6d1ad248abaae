//! Many ciphertexts' coefficients in one (Chen, Dai, Kim, Song: "Efficient homomorphic conversion
//! between (ring) LWE ciphertexts", ACNS 2021, Algorithm 2).
//!
//! Of `2^h` ciphertexts, of each the coefficients whose number is a multiple of `2^h`: that of
//! ciphertext `j` at `i 2^h` comes to stand at `i 2^h + j`. Whatever the others held is gone.
//!
//! Differs: numbers are modulo a power of two, by which `2^h` cannot be divided out; so ciphertexts
//! come already divided by it modulo `q`, and what the automorphisms add up multiplies it back.

use crate::basis::{Basis, Poly};
use crate::cipher::Ciphertext;
use crate::keys::{Evaluation, Switch, image, power};
use crate::ntt::{join, multiply, multiply_add, signed};

/// Ciphertexts that are made when they are packed, several rows of them at once: row by row up to
/// `2^levels` are packed into one. Few are there at a time.
pub struct Packing<'a> {
    /// The primes and the degree that all ciphertexts are computed with.
    pub basis: &'a Basis,
    /// The keys of the automorphisms.
    pub keys: &'a Evaluation,
    /// Levels of packing: up to `2^levels` ciphertexts become one.
    pub levels: u32,
    /// How many ciphertexts there are in a row.
    pub count: usize,
    /// Makes the ciphertexts with this number of all rows: coefficients, divided by `2^levels`
    /// modulo `q`.
    pub make: &'a (dyn Fn(usize) -> Vec<Ciphertext> + Sync),
}

impl Packing<'_> {
    /// The packed ciphertext of every row.
    ///
    /// # Panics
    /// If there are no keys for so many levels, or there are no ciphertexts or more than that.
    pub fn packed(&self) -> Vec<Ciphertext> {
        assert!(self.levels <= self.keys.levels());
        assert!((1..=1 << self.levels).contains(&self.count));
        self.node(0, 0).expect("the first ciphertext is in it")
    }

    /// What is packed of the ciphertexts whose number is `index` modulo `2^level`.
    fn node(&self, level: u32, index: usize) -> Option<Vec<Ciphertext>> {
        if index >= self.count {
            return None;
        }
        if level == self.levels {
            return Some((self.make)(index));
        }
        let (even, odd) = rayon::join(
            || self.node(level + 1, index),
            || self.node(level + 1, index + (1 << level)),
        );
        let even = even?;
        let odd = odd.map_or_else(
            || vec![None; even.len()],
            |odd| odd.into_iter().map(Some).collect(),
        );
        let rows = even.into_iter().zip(odd);
        Some(
            rows.map(|(x, y)| merge(self.basis, self.keys, level + 1, x, y))
                .collect(),
        )
    }
}

/// `(x + X^s y) + f(x - X^s y)` for the level's automorphism `f` and `s = 2^(level - 1)`.
fn merge(
    basis: &Basis,
    keys: &Evaluation,
    level: u32,
    mut x: Ciphertext,
    y: Option<Ciphertext>,
) -> Ciphertext {
    let switch = &keys.switches[level as usize - 1];
    let power = power(basis.degree(), level);
    let Some(y) = y else {
        let turned = switch.apply(basis, power, &x);
        x.add(basis, &turned);
        return x;
    };
    let shifted = y.shifted(basis, 1 << (level - 1));
    let mut difference = x.clone();
    basis.sub(&mut difference.a, &shifted.a);
    basis.sub(&mut difference.b, &shifted.b);
    x.add(basis, &shifted);
    x.add(basis, &switch.apply(basis, power, &difference));
    x
}

impl Ciphertext {
    /// Times `X^by`, `by` below the degree. Coefficients.
    pub fn shifted(&self, basis: &Basis, by: usize) -> Ciphertext {
        let shift = |x: &Poly| {
            let mut out = Poly::zero(basis.degree(), x.primes());
            for (i, (to, from)) in out.limbs_mut().zip(x.limbs()).enumerate() {
                let modulus = basis.modulus(i);
                let (stay, turn) = from.split_at(from.len() - by);
                to[by..].copy_from_slice(stay);
                for (to, from) in to.iter_mut().zip(turn) {
                    *to = modulus.sub(0, *from);
                }
            }
            out
        };
        Ciphertext {
            a: shift(&self.a),
            b: shift(&self.b),
        }
    }
}

impl Switch {
    /// The image of a ciphertext under `X -> X^power`, under the same secret. Coefficients.
    fn apply(&self, basis: &Basis, power: usize, x: &Ciphertext) -> Ciphertext {
        let turn = |x: &Poly| {
            let mut out = Poly::zero(basis.degree(), x.primes());
            for (i, (to, from)) in out.limbs_mut().zip(x.limbs()).enumerate() {
                let modulus = basis.modulus(i);
                image(from, power, to, |x| modulus.sub(0, x));
            }
            out
        };
        let [mut a, mut b] = self.products(basis, &turn(&x.a));
        let all = Poly::zero(basis.degree(), basis.primes());
        let [low_a, low_b] = [&mut a, &mut b].map(|half| {
            basis.backward(half);
            let mut out = all.clone();
            divide(basis, half, &mut out);
            out
        });
        let mut b = turn(&x.b);
        basis.add(&mut b, &low_b);
        Ciphertext { a: low_a, b }
    }

    /// The digits of a polynomial times the keys, modulo all primes, as values.
    fn products(&self, basis: &Basis, x: &Poly) -> [Poly; 2] {
        let (n, all) = (basis.degree(), basis.ntts().len());
        let mut sums = [(); 2].map(|()| [Poly::zero(n, all), Poly::zero(n, all)]);
        let mut digit = vec![0; n];
        for (from, key) in x.limbs().zip(&self.digits) {
            for (i, ntt) in basis.ntts().iter().enumerate() {
                multiply(ntt.modulus(), &mut digit, from, 1);
                ntt.forward(&mut digit);
                for ([low, high], half) in sums.iter_mut().zip([&key.a, &key.b]) {
                    let [low, high] = [low, high].map(|poly| poly.limbs_mut().nth(i));
                    let (low, high) = low.zip(high).expect("all primes");
                    multiply_add(low, high, &digit, half.limb(i));
                }
            }
        }
        sums.map(|[mut low, mut high]| {
            let limbs = low.limbs_mut().zip(high.limbs_mut());
            for (i, (low, high)) in limbs.enumerate() {
                join(basis.modulus(i), low, high);
            }
            low
        })
    }
}

/// `x / special`, rounded to the nearest, modulo the primes of `q`. Coefficients.
fn divide(basis: &Basis, x: &Poly, out: &mut Poly) {
    let special = basis.modulus(basis.primes()).value();
    let half = special / 2;
    // The remainder next to 0: less `special` where it is above half.
    let centred = |rest: &u64| {
        let above = half.wrapping_sub(*rest) >> 63;
        *rest as i64 - (special & above.wrapping_neg()) as i64
    };
    let rest: Vec<i64> = x.limb(basis.primes()).iter().map(centred).collect();
    let mut own = vec![0; rest.len()];
    for (i, (to, from)) in out.limbs_mut().zip(x.limbs()).enumerate() {
        let m = basis.modulus(i);
        signed(m, &mut own, &rest);
        for (own, from) in own.iter_mut().zip(from) {
            *own = m.sub(*from, *own);
        }
        multiply(m, to, &own, m.invert(special % m.value()));
    }
}
