//! Polynomials as residues modulo several primes.

use zeroize::{Zeroize, Zeroizing};

use crate::modulus::{Factor, Modulus};
use crate::ntt::{self, Ntt};
use crate::parameters::Parameters;

/// The primes of some parameters with their transforms and what joins residues.
pub struct Basis {
    parameters: Parameters,
    /// The primes of `q`, then the special one if there is one.
    ntts: Vec<Ntt>,
    /// For each prime of `q`, `1 / (q / p)` modulo it.
    joins: Vec<Factor>,
    /// For each prime of `q`, `2^192 / p`, rounded down: its upper 128 bits and its lower 64.
    fractions: Vec<(u128, u64)>,
}

/// A polynomial: for each of some primes, from the first on, as many residues as it has
/// coefficients. Whether these are coefficients or values of a transform, its user knows.
#[derive(Clone, PartialEq, Eq)]
pub struct Poly {
    degree: usize,
    values: Vec<u64>,
}

impl Poly {
    /// 0 modulo so many primes.
    pub fn zero(degree: usize, primes: usize) -> Self {
        Poly {
            degree,
            values: vec![0; degree * primes],
        }
    }

    /// The residues of all primes, one prime after the other.
    pub fn new(degree: usize, values: Vec<u64>) -> Self {
        assert!(values.len().is_multiple_of(degree));
        Poly { degree, values }
    }

    /// Modulo how many primes.
    pub fn primes(&self) -> usize {
        self.values.len() / self.degree
    }

    /// The residues modulo prime `i`.
    pub fn limb(&self, i: usize) -> &[u64] {
        &self.values[i * self.degree..(i + 1) * self.degree]
    }

    /// The residues by prime.
    pub fn limbs(&self) -> impl Iterator<Item = &[u64]> {
        self.values.chunks_exact(self.degree)
    }

    /// The residues by prime, to be changed.
    pub fn limbs_mut(&mut self) -> impl Iterator<Item = &mut [u64]> {
        self.values.chunks_exact_mut(self.degree)
    }
}

impl Zeroize for Poly {
    fn zeroize(&mut self) {
        self.values.zeroize();
    }
}

impl Basis {
    /// The transforms for these parameters: takes some milliseconds.
    pub fn new(parameters: Parameters) -> Self {
        let moduli = parameters.primes().iter().chain(parameters.special());
        let moduli: Vec<_> = moduli.map(|p| Modulus::new(*p)).collect();
        let own = parameters.primes();
        let joins = own.iter().zip(&moduli).map(|(p, m)| {
            let others = own.iter().filter(|other| *other != p);
            m.factor(m.invert(others.fold(1, |product, other| m.mul(product, other % p))))
        });
        Basis {
            joins: joins.collect(),
            fractions: own.iter().map(|p| inverse_fraction(*p)).collect(),
            ntts: moduli
                .iter()
                .map(|m| Ntt::new(*m, parameters.degree()))
                .collect(),
            parameters,
        }
    }

    /// What this is the basis of.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// Coefficients of a polynomial.
    pub fn degree(&self) -> usize {
        self.parameters.degree()
    }

    /// How many primes make up `q`.
    pub fn primes(&self) -> usize {
        self.joins.len()
    }

    /// The transforms of the primes of `q`, and of the special one.
    pub fn ntts(&self) -> &[Ntt] {
        &self.ntts
    }

    /// The modulus with number `i`.
    pub fn modulus(&self, i: usize) -> &Modulus {
        self.ntts[i].modulus()
    }

    /// Transforms the coefficients of a polynomial to values, modulo each prime, in place.
    pub fn forward(&self, poly: &mut Poly) {
        for (ntt, limb) in self.ntts.iter().zip(poly.limbs_mut()) {
            ntt.forward(limb);
        }
    }

    /// Transforms the values of a polynomial to coefficients, modulo each prime, in place.
    pub fn backward(&self, poly: &mut Poly) {
        for (ntt, limb) in self.ntts.iter().zip(poly.limbs_mut()) {
            ntt.backward(limb);
        }
    }

    /// The polynomial with these whole numbers as coefficients, modulo so many primes.
    pub fn whole(&self, coefficients: &[i64], primes: usize) -> Poly {
        let mut poly = Poly::zero(self.degree(), primes);
        for (ntt, limb) in self.ntts.iter().zip(poly.limbs_mut()) {
            ntt::signed(ntt.modulus(), &mut limb[..coefficients.len()], coefficients);
        }
        poly
    }

    /// A polynomial divided by `2^levels` modulo every prime.
    pub fn halve(&self, poly: &mut Poly, levels: u32) {
        for (i, limb) in poly.limbs_mut().enumerate() {
            let m = self.modulus(i);
            let factor = m.invert(m.pow(2, u64::from(levels)));
            let from = Zeroizing::new(limb.to_vec());
            ntt::multiply(m, limb, &from, factor);
        }
    }

    /// `x += y`, residue by residue.
    pub fn add(&self, x: &mut Poly, y: &Poly) {
        self.zip(x, y, ntt::add);
    }

    /// `x -= y`, residue by residue.
    pub fn sub(&self, x: &mut Poly, y: &Poly) {
        self.zip(x, y, ntt::sub);
    }

    fn zip(&self, x: &mut Poly, y: &Poly, f: impl Fn(&Modulus, &mut [u64], &[u64])) {
        assert_eq!(x.values.len(), y.values.len());
        for (ntt, (x, y)) in self.ntts.iter().zip(x.limbs_mut().zip(y.limbs())) {
            f(ntt.modulus(), x, y);
        }
    }

    /// `x y` of values, residue by residue.
    pub fn mul(&self, x: &Poly, y: &Poly) -> Poly {
        assert_eq!(x.values.len(), y.values.len());
        let mut product = Poly::zero(self.degree(), x.primes());
        for (i, limb) in product.limbs_mut().enumerate() {
            let modulus = self.modulus(i);
            let mut high = Zeroizing::new(vec![0; limb.len()]);
            ntt::multiply_add(limb, &mut high, x.limb(i), y.limb(i));
            ntt::join(modulus, limb, &high);
        }
        product
    }

    /// Coefficient `at` of a polynomial modulo `q`, as a fraction of `q`: `x 2^128 / q`, less at most
    /// as many units as there are primes, modulo `2^128`.
    pub fn fraction(&self, poly: &Poly, at: usize) -> u128 {
        let parts = self.joins.iter().zip(&self.fractions).enumerate();
        parts.fold(0u128, |sum, (i, (join, (high, low)))| {
            let part = u128::from(self.modulus(i).times(poly.limb(i)[at], *join));
            let rest = (part * u128::from(*low)) >> 64;
            sum.wrapping_add(part.wrapping_mul(*high))
                .wrapping_add(rest)
        })
    }
}

/// `floor(2^192 / p)` as its upper 128 bits and its lower 64.
fn inverse_fraction(p: u64) -> (u128, u64) {
    let p = u128::from(p);
    // 2^128 = high p + rest.
    let (quotient, rest) = (u128::MAX / p, u128::MAX % p + 1);
    let (high, rest) = match rest == p {
        true => (quotient + 1, 0),
        false => (quotient, rest),
    };
    (high, ((rest << 64) / p) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_are_those_of_wide_numbers() {
        for p in [3, 17, 12_289, (1 << 50) - 27] {
            let (high, low) = inverse_fraction(p);
            // (high 2^64 + low) p is 2^192 less a rest below p.
            let wide = u128::from(low) * u128::from(p);
            let carried = high.wrapping_mul(u128::from(p)).wrapping_add(wide >> 64);
            let rest = (wide as u64).wrapping_neg();
            assert!(rest < p, "{p}");
            assert_eq!(carried, if rest == 0 { 0 } else { u128::MAX });
        }
    }

    /// A coefficient is its part of `q`: over two small primes, for every number below their product.
    #[test]
    fn a_coefficient_is_its_part_of_q() {
        let basis = Basis::new(Parameters::of(2, &[5, 13], None));
        for x in 0..65u64 {
            let poly = Poly::new(2, vec![x % 5, 0, x % 13, 0]);
            let exact = ((u128::from(x) << 120) / 65) << 8;
            let got = basis.fraction(&poly, 0);
            assert!(got.abs_diff(exact) < 1 << 9, "{x}: {got:x}, {exact:x}");
        }
    }
}
