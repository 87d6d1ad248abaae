//! Negacyclic number-theoretic transforms modulo one prime, in place: products modulo `X^N + 1`
//! are products of values.
//!
//! Harvey's butterflies with twiddles in bit-reversed order (Longa and Naehrig, "Speeding up the
//! number theoretic transform for faster ideal lattice-based cryptography", CANS 2016), in words of
//! 52 bits: values stay below `4 p` forward and `2 p` backward, which `p < 2^50` leaves room for.

#[cfg(target_arch = "x86_64")]
mod fma;
#[cfg(target_arch = "x86_64")]
mod ifma;
mod portable;

use tacit_algebra::isa::{self, Isa};

use crate::modulus::{Modulus, WORD};

/// Powers of the root with `floor(value 2^52 / p)`, in two arrays.
#[derive(Clone)]
struct Twiddles {
    value: Vec<u64>,
    ratio: Vec<u64>,
    /// Both, of the three layers of the smallest spans, as vectors of eight blocks: for each 64
    /// values the one twiddle of the first of them, the two of the second, the four of the third.
    tail: Vec<[[u64; 8]; 2]>,
}

impl Twiddles {
    fn new(modulus: &Modulus, value: Vec<u64>) -> Self {
        let p = u128::from(modulus.value());
        let ratio = |v: &u64| ((u128::from(*v) << WORD) / p) as u64;
        let ratio: Vec<_> = value.iter().map(ratio).collect();
        let degree = value.len();
        let vectors = (0..degree / 64).flat_map(|group| {
            (0..3).flat_map(move |k| {
                (0..1 << k).map(move |i| (k, ((degree / 8 + group * 8) << k) + i))
            })
        });
        let lanes = |of: &[u64], (k, first): (usize, usize)| {
            std::array::from_fn(|lane| of[first + (lane << k)])
        };
        let tail = vectors.map(|at| [lanes(&value, at), lanes(&ratio, at)]);
        Twiddles {
            tail: tail.collect(),
            value,
            ratio,
        }
    }
}

/// The transform of polynomials of one degree modulo one prime.
#[derive(Clone)]
pub struct Ntt {
    modulus: Modulus,
    degree: usize,
    forward: Twiddles,
    backward: Twiddles,
    /// `1 / N`, as the one entry.
    last: Twiddles,
    /// The twiddles as floats, of a processor that takes these.
    #[cfg(target_arch = "x86_64")]
    floats: Option<fma::Floats>,
}

impl Ntt {
    /// The transform of polynomials with `degree` coefficients, a power of two of at least 2 with
    /// `p = 1` modulo `2 degree`.
    pub fn new(modulus: Modulus, degree: usize) -> Self {
        assert!(degree.is_power_of_two() && degree >= 2);
        assert_eq!((modulus.value() - 1) % (2 * degree as u64), 0);
        let root = modulus.root(2 * degree as u64);
        let powers = |root: u64| {
            let bits = degree.ilog2();
            let mut powers = vec![0; degree];
            let mut power = 1;
            for i in 0..degree {
                powers[i.reverse_bits() >> (usize::BITS - bits)] = power;
                power = modulus.mul(power, root);
            }
            Twiddles::new(&modulus, powers)
        };
        let inverse = modulus.invert(degree as u64 % modulus.value());
        let (forward, backward) = (powers(root), powers(modulus.invert(root)));
        Ntt {
            #[cfg(target_arch = "x86_64")]
            floats: (degree >= fma::LEAST && fma::available())
                .then(|| fma::Floats::new(&modulus, &forward.value, &backward.value, inverse)),
            forward,
            backward,
            last: Twiddles::new(&modulus, vec![inverse]),
            modulus,
            degree,
        }
    }

    /// The prime that the transform is modulo.
    pub fn modulus(&self) -> &Modulus {
        &self.modulus
    }

    /// Coefficients, residues, to values in an order of the transform's own.
    pub fn forward(&self, values: &mut [u64]) {
        assert_eq!(values.len(), self.degree);
        #[cfg(target_arch = "x86_64")]
        if let Some(floats) = self.floats() {
            // SAFETY: only of a processor with AVX2 and FMA are there floats, and of a degree that is large enough.
            return unsafe { fma::forward(self, floats, values) };
        }
        match Unit::current(self.degree) {
            // SAFETY: the processor has IFMA, and the length is a multiple of 64.
            #[cfg(target_arch = "x86_64")]
            Unit::Ifma => unsafe { ifma::forward(self, values) },
            _ => portable::forward(self, values),
        }
    }

    /// What transforms by floats, where this thread may and has nothing better.
    #[cfg(target_arch = "x86_64")]
    fn floats(&self) -> Option<&fma::Floats> {
        let is_best = matches!(Unit::current(self.degree), Unit::Portable);
        (self.floats.as_ref()).filter(|_| is_best && isa::current() >= Isa::Avx2)
    }

    /// The inverse of [`Ntt::forward`].
    pub fn backward(&self, values: &mut [u64]) {
        assert_eq!(values.len(), self.degree);
        #[cfg(target_arch = "x86_64")]
        if let Some(floats) = self.floats() {
            // SAFETY: only of a processor with AVX2 and FMA are there floats, and of a degree that is large enough.
            return unsafe { fma::backward(self, floats, values) };
        }
        match Unit::current(self.degree) {
            // SAFETY: the processor has IFMA, and the length is a multiple of 64.
            #[cfg(target_arch = "x86_64")]
            Unit::Ifma => unsafe { ifma::backward(self, values) },
            _ => portable::backward(self, values),
        }
    }
}

/// Adds products of residues: `low + high 2^52 += x y`, element by element. At most 4096 products
/// can be added to zeros.
pub fn multiply_add(low: &mut [u64], high: &mut [u64], x: &[u64], y: &[u64]) {
    let n = low.len();
    assert!(high.len() == n && x.len() == n && y.len() == n);
    match Unit::current(n) {
        // SAFETY: the processor has IFMA, and the lengths are equal and multiples of 64.
        #[cfg(target_arch = "x86_64")]
        Unit::Ifma => unsafe { ifma::multiply_add(low, high, x, y) },
        _ => portable::multiply_add(low, high, x, y),
    }
}

/// Sums of products, `low + high 2^52`, as residues in `low`; of at most 4096 products.
pub fn join(modulus: &Modulus, low: &mut [u64], high: &[u64]) {
    assert_eq!(low.len(), high.len());
    match Unit::current(low.len()) {
        // SAFETY: the processor has IFMA, and the lengths are equal and multiples of 64.
        #[cfg(target_arch = "x86_64")]
        Unit::Ifma => unsafe { ifma::join(modulus, low, high) },
        _ => portable::join(modulus, low, high),
    }
}

/// `to = from c`, residues of numbers below `2^52`.
pub fn multiply(modulus: &Modulus, to: &mut [u64], from: &[u64], c: u64) {
    assert_eq!(to.len(), from.len());
    match Unit::current(to.len()) {
        // SAFETY: the processor has IFMA, and the lengths are equal and multiples of 64.
        #[cfg(target_arch = "x86_64")]
        Unit::Ifma => unsafe { ifma::multiply(modulus, to, from, c) },
        _ => portable::multiply(modulus, to, from, c),
    }
}

/// Whole numbers as residues.
pub fn signed(modulus: &Modulus, to: &mut [u64], from: &[i64]) {
    assert_eq!(to.len(), from.len());
    match Unit::current(to.len()) {
        // SAFETY: the processor has IFMA, and the lengths are equal and multiples of 64.
        #[cfg(target_arch = "x86_64")]
        Unit::Ifma => unsafe { ifma::signed(modulus, to, from) },
        _ => portable::signed(modulus, to, from),
    }
}

/// `x += y` of residues.
pub fn add(modulus: &Modulus, x: &mut [u64], y: &[u64]) {
    assert_eq!(x.len(), y.len());
    match Unit::current(x.len()) {
        // SAFETY: the processor has AVX-512.
        #[cfg(target_arch = "x86_64")]
        Unit::Ifma => unsafe { ifma::add(modulus, x, y) },
        _ => portable::add(modulus, x, y),
    }
}

/// `x -= y` of residues.
pub fn sub(modulus: &Modulus, x: &mut [u64], y: &[u64]) {
    assert_eq!(x.len(), y.len());
    match Unit::current(x.len()) {
        // SAFETY: the processor has AVX-512.
        #[cfg(target_arch = "x86_64")]
        Unit::Ifma => unsafe { ifma::sub(modulus, x, y) },
        _ => portable::sub(modulus, x, y),
    }
}

/// The units of a processor that compute a transform.
enum Unit {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Ifma,
}

impl Unit {
    /// The best that this thread may use for so many elements.
    fn current(n: usize) -> Self {
        #[cfg(target_arch = "x86_64")]
        if isa::current() >= Isa::Avx512 && n.is_multiple_of(64) && ifma::available() {
            return Unit::Ifma;
        }
        let _ = (n, isa::current() == Isa::Portable);
        Unit::Portable
    }
}

#[cfg(test)]
mod tests {
    use tacit_algebra::Prg;

    use super::*;
    use crate::modulus::primes;

    fn residues(p: u64, n: usize, seed: u8) -> Vec<u64> {
        let words: Vec<u64> = Prg::new([seed; 16]).ring(n);
        words.iter().map(|w| w % p).collect()
    }

    /// The product modulo `X^N + 1` by its definition.
    fn product(m: &Modulus, x: &[u64], y: &[u64]) -> Vec<u64> {
        let n = x.len();
        let mut z = vec![0; n];
        for (i, a) in x.iter().enumerate() {
            for (j, b) in y.iter().enumerate() {
                let term = m.mul(*a, *b);
                let at = &mut z[(i + j) % n];
                *at = match i + j < n {
                    true => m.add(*at, term),
                    false => m.sub(*at, term),
                };
            }
        }
        z
    }

    #[test]
    fn products_of_values_are_products_of_polynomials() {
        for (degree, bits) in [
            (2, 20),
            (4, 30),
            (8, 50),
            (16, 50),
            (32, 42),
            (64, 50),
            (128, 42),
            (512, 50),
        ] {
            let p = primes(bits, 2 * degree as u64, 1, &[])[0];
            let ntt = Ntt::new(Modulus::new(p), degree);
            let [x, y] = [1, 2].map(|seed| residues(p, degree, seed));
            let expected = product(ntt.modulus(), &x, &y);
            for isa in Isa::available() {
                let got = isa::with(isa, || {
                    let [x, y] = [&x, &y].map(|v| {
                        let mut v = v.clone();
                        ntt.forward(&mut v);
                        assert!(v.iter().all(|v| *v < p));
                        v
                    });
                    let mut sums = [vec![0; degree], vec![0; degree]];
                    let [low, high] = &mut sums;
                    multiply_add(low, high, &x, &y);
                    let joined = low.iter().zip(high);
                    let mut z: Vec<_> = joined.map(|(l, h)| ntt.modulus().joined(*l, *h)).collect();
                    ntt.backward(&mut z);
                    z
                });
                assert!(got == expected, "{degree} coefficients on {isa:?}");
            }
        }
    }

    /// The largest residues everywhere, sizes of real runs: as on the portable path.
    #[test]
    fn every_unit_gives_the_same() {
        for (degree, bits) in [
            (16, 50),
            (32, 50),
            (64, 50),
            (4096, 50),
            (8192, 42),
            (8192, 50),
        ] {
            let p = primes(bits, 2 * degree as u64, 1, &[])[0];
            let ntt = Ntt::new(Modulus::new(p), degree);
            for x in [vec![p - 1; degree], residues(p, degree, 3)] {
                let run = || {
                    let [mut forward, mut backward] = [x.clone(), x.clone()];
                    ntt.forward(&mut forward);
                    ntt.backward(&mut backward);
                    let mut sums = [vec![7; degree], vec![9; degree]];
                    let [low, high] = &mut sums;
                    (0..3).for_each(|_| multiply_add(low, high, &x, &forward));
                    let mut back = forward.clone();
                    ntt.backward(&mut back);
                    assert!(back == x);
                    (forward, backward, sums)
                };
                let reference = isa::with(Isa::Portable, run);
                for isa in Isa::available() {
                    assert!(isa::with(isa, run) == reference, "{degree} on {isa:?}");
                }
            }
        }
    }

    /// Numbers at both ends and random ones, on every unit: as one by one.
    #[test]
    fn rows_are_what_their_elements_are() {
        for p in [
            primes(50, 128, 1, &[])[0],
            primes(42, 128, 1, &[])[0],
            12_289,
        ] {
            let m = Modulus::new(p);
            let mut words: Vec<u64> = Prg::new([4; 16]).ring(128);
            words[..5].copy_from_slice(&[0, u64::MAX, 1 << 63, (1 << 52) - 1, p]);
            let highs: Vec<u64> = words.iter().rev().map(|w| w >> 4).collect();
            let short: Vec<u64> = words.iter().map(|w| w & ((1 << 52) - 1)).collect();
            let whole: Vec<i64> = words.iter().map(|w| *w as i64).collect();
            let wide = |low: u64, high: u64| {
                ((u128::from(high) << WORD) + u128::from(low)) % u128::from(p)
            };
            for isa in Isa::available() {
                isa::with(isa, || {
                    let mut low = words.clone();
                    join(&m, &mut low, &highs);
                    let all = words.iter().zip(&highs).zip(&low);
                    assert!(
                        all.clone()
                            .all(|((l, h), got)| wide(*l, *h) == u128::from(*got))
                    );
                    let mut to = vec![0; 128];
                    for c in [0, 1, p - 1] {
                        multiply(&m, &mut to, &short, c);
                        let each = short.iter().zip(&to);
                        assert!(
                            each.clone().all(|(x, y)| m.mul(x % p, c) == *y),
                            "{c} on {isa:?}"
                        );
                    }
                    let residues: Vec<u64> = words.iter().map(|w| w % p).collect();
                    let [mut sum, mut difference] = [to.clone(), to.clone()];
                    add(&m, &mut sum, &residues);
                    sub(&m, &mut difference, &residues);
                    let each = to.iter().zip(&residues).zip(sum.iter().zip(&difference));
                    let right = |((x, y), (s, d)): ((&u64, &u64), (&u64, &u64))| {
                        [m.add(*x, *y), m.sub(*x, *y)] == [*s, *d]
                    };
                    assert!(each.clone().all(right));
                    signed(&m, &mut to, &whole);
                    let each = whole.iter().zip(&to);
                    let right = |x: i64| i128::from(x).rem_euclid(i128::from(p));
                    assert!(each.clone().all(|(x, y)| right(*x) == i128::from(*y)));
                });
            }
        }
    }

    /// Sums of as many products of the largest residues as may be added do not wrap.
    #[test]
    fn sums_of_4096_products_do_not_wrap() {
        let p = primes(50, 128, 1, &[])[0];
        let m = Modulus::new(p);
        let x = vec![p - 1; 64];
        let mut sums = [vec![0; 64], vec![0; 64]];
        let [low, high] = &mut sums;
        (0..4096).for_each(|_| multiply_add(low, high, &x, &x));
        // (p - 1)^2 = 1.
        assert_eq!(m.joined(low[5], high[5]), 4096);
    }
}
