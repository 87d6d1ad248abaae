//! Encryption, products, packing and answers together, against whole numbers.

mod leaks;

use tacit_algebra::Prg;

use crate::answer::{Answer, Masks};
use crate::basis::{Basis, Poly};
use crate::cipher::{Ciphertext, Sums};
use crate::keys::{Evaluation, Secret};
use crate::modulus::primes;
use crate::pack::Packing;
use crate::parameters::{Need, Parameters, Terms};
use crate::wire;

pub(crate) struct Setting {
    pub basis: Basis,
    pub secret: Secret,
    pub keys: Evaluation,
    pub prg: Prg,
}

impl Setting {
    pub fn new(parameters: Parameters, levels: u32, seed: u8) -> Self {
        let basis = Basis::new(parameters);
        let mut prg = Prg::new([seed; 16]);
        let secret = Secret::new(&basis, &mut prg);
        let public = || Prg::new([seed ^ 0x80; 16]);
        let halves = secret.evaluation(&basis, levels, &mut public(), &mut prg);
        let sizes: Vec<_> = halves.iter().map(Poly::primes).collect();
        let wanted = Evaluation::sizes(basis.primes(), levels);
        assert!(wanted.eq(sizes));
        let keys = Evaluation::new(&basis, levels, &mut public(), halves);
        Setting {
            basis,
            secret,
            keys,
            prg,
        }
    }

    /// An encryption of numbers modulo `2^bits`, through its bytes.
    pub fn encrypt(&mut self, numbers: &[u64], bits: u32) -> Ciphertext {
        let seed = u128::from(self.draw(64)).to_le_bytes();
        let mut public = Prg::new(seed);
        let plain = (numbers, bits);
        let b = self
            .secret
            .encrypt(&self.basis, &mut public, &mut self.prg, plain);
        let mut bytes = Vec::new();
        wire::write_poly(&self.basis, &b, &mut bytes);
        let b = wire::read_poly(&self.basis, self.basis.primes(), &mut bytes.as_slice());
        Ciphertext::new(&self.basis, &mut Prg::new(seed), b.expect("residues"))
    }

    pub fn draw(&mut self, bits: u32) -> u64 {
        self.prg.ring::<u64>(1)[0] >> (64 - bits)
    }

    /// Whole numbers as a polynomial of values, divided by `2^levels`.
    pub fn whole(&self, numbers: &[i64], levels: u32) -> Poly {
        let mut poly = self.basis.whole(numbers, self.basis.primes());
        self.basis.halve(&mut poly, levels);
        self.basis.forward(&mut poly);
        poly
    }

    /// Ciphertexts packed into one.
    pub fn packed(&self, levels: u32, each: Vec<Ciphertext>) -> Ciphertext {
        let packing = Packing {
            basis: &self.basis,
            keys: &self.keys,
            levels,
            count: each.len(),
            make: &|index| vec![each[index].clone(), each[0].clone()],
        };
        let [first, _] = packing
            .packed()
            .try_into()
            .unwrap_or_else(|_| panic!("two rows"));
        first
    }

    /// The coefficients of a ciphertext plus numbers, answered and opened.
    pub fn answered(
        &mut self,
        x: Ciphertext,
        (at, added): (&[u32], &[u64]),
        bits: u32,
        flood: u32,
    ) -> Vec<u64> {
        let masks = Masks {
            at,
            numbers: added,
            bits,
            flood,
        };
        let answer = Answer::make(&self.basis, &self.keys, x, &masks, &mut self.prg);
        let mut bytes = Vec::new();
        wire::write_answer(&self.basis, &answer, bits, &mut bytes);
        let len = wire::answer_len(self.basis.degree(), bits, at.len());
        assert_eq!(bytes.len(), len);
        let read = wire::read_answer(&self.basis, bits, at.len(), &mut bytes.as_slice());
        assert!(read.as_ref() == Some(&answer));
        answer.open(&self.basis, &self.secret, at, bits).to_vec()
    }
}

/// `x y` modulo `X^N + 1` and `2^64`.
fn negacyclic(x: &[u64], y: &[i64]) -> Vec<u64> {
    let n = x.len();
    let mut z = vec![0u64; n];
    for (i, a) in x.iter().enumerate() {
        for (j, b) in y.iter().enumerate().filter(|(_, b)| **b != 0) {
            let term = a.wrapping_mul(*b as u64);
            let at = &mut z[(i + j) % n];
            *at = match i + j < n {
                true => at.wrapping_add(term),
                false => at.wrapping_sub(term),
            };
        }
    }
    z
}

fn low(x: u64, bits: u32) -> u64 {
    x & (u64::MAX >> (64 - bits))
}

/// Numbers at the ends of their range and random ones; factors that are as large as is said,
/// everywhere; the noise that runs take.
#[test]
fn sums_of_products_are_opened_exactly() {
    for (set, bits, size, terms) in [
        (0, 37, 1i64 << 13, 3usize),
        (0, 8, 1 << 20, 2),
        (1, 50, 1 << 20, 2),
        (2, 64, 1 << 20, 2),
        (3, 64, i64::MAX, 2),
        (4, 64, i64::MAX, 64),
    ] {
        let degree = 128;
        let mut s = Setting::new(Parameters::small(degree, set), 0, 1);
        let need = Need {
            bits,
            terms: Terms {
                count: terms * degree,
                size: size as u64,
            },
            levels: 0,
            opened: degree,
        };
        assert!(need.fits(s.basis.parameters()), "set {set}");
        let mut expected = vec![0u64; degree];
        let mut sums = Sums::new(&s.basis);
        for term in 0..terms {
            let top = low(u64::MAX, bits);
            let edges = [0, 1, top, top >> 1, (top >> 1) + 1];
            let numbers: Vec<u64> = (0..degree)
                .map(|i| edges.get(i + term).copied().unwrap_or_else(|| s.draw(bits)))
                .collect();
            let factors: Vec<i64> = (0..degree)
                .map(|i| if (i + term) % 3 == 0 { -size } else { size })
                .collect();
            let sum = negacyclic(&numbers, &factors);
            expected
                .iter_mut()
                .zip(sum)
                .for_each(|(e, s)| *e = e.wrapping_add(s));
            let x = s.encrypt(&numbers, bits);
            let y = s.whole(&factors, 0);
            sums.add(&s.basis, &x, &y);
        }
        let at: Vec<u32> = (0..degree as u32).rev().collect();
        let added: Vec<u64> = at.iter().map(|_| s.draw(bits)).collect();
        let x = sums.finish(&s.basis);
        let got = s.answered(x, (&at, &added), bits, need.flood(s.basis.parameters()));
        for ((at, added), got) in at.iter().zip(&added).zip(got) {
            let wanted = low(expected[*at as usize].wrapping_add(*added), bits);
            assert_eq!(got, wanted, "set {set}, coefficient {at}");
        }
    }
}

/// Every number of ciphertexts, also fewer than fit, at every level.
#[test]
fn packed_coefficients_stand_side_by_side() {
    let (degree, bits) = (64, 37);
    for levels in 0..=6 {
        let mut s = Setting::new(Parameters::small(degree, 0), levels, 2);
        for count in 1..=1usize << levels {
            let count = if levels > 3 && count > 4 {
                1 << levels
            } else {
                count
            };
            let numbers: Vec<Vec<u64>> = (0..count)
                .map(|_| (0..degree).map(|_| s.draw(bits)).collect())
                .collect();
            let one = s.whole(&[1], levels);
            let each: Vec<_> = numbers
                .iter()
                .map(|numbers| {
                    let x = s.encrypt(numbers, bits);
                    let mut sums = Sums::new(&s.basis);
                    sums.add(&s.basis, &x, &one);
                    sums.finish(&s.basis)
                })
                .collect();
            let packed = s.packed(levels, each);
            let at: Vec<u32> = (0..degree as u32)
                .filter(|at| ((at % (1 << levels)) as usize) < count)
                .collect();
            let need = Need {
                bits,
                terms: Terms { count: 1, size: 1 },
                levels,
                opened: at.len(),
            };
            let added = vec![0; at.len()];
            let got = s.answered(
                packed,
                (&at, &added),
                bits,
                need.flood(s.basis.parameters()),
            );
            for (at, got) in at.iter().zip(got) {
                let (j, i) = (at % (1 << levels), at - at % (1 << levels));
                assert_eq!(
                    got, numbers[j as usize][i as usize],
                    "{levels} levels, {count}: {at}"
                );
            }
        }
    }
}

/// The parameters of runs hold what they say, with as many levels as these pack.
#[test]
fn runs_parameters_hold_what_they_say() {
    let (levels, bits, size) = (8, 37, 1i64 << 13);
    for set in [0, 2] {
        let mut s = Setting::new(Parameters::standard(set), levels, 3);
        let degree = s.basis.degree();
        let factors: Vec<i64> = (0..1 << levels)
            .map(|i| if i % 2 == 0 { size } else { -size })
            .collect();
        let plain = s.whole(&factors, levels);
        let mut each = Vec::new();
        let mut expected = Vec::new();
        for _ in 0..5 {
            let numbers: Vec<u64> = (0..degree).map(|_| s.draw(bits)).collect();
            let x = s.encrypt(&numbers, bits);
            let mut sums = Sums::new(&s.basis);
            sums.add(&s.basis, &x, &plain);
            each.push(sums.finish(&s.basis));
            expected.push(negacyclic(&numbers, &factors));
        }
        let packed = s.packed(levels, each);
        let at: Vec<u32> = (0..degree as u32)
            .filter(|at| at % (1 << levels) < 5)
            .collect();
        let need = Need {
            bits,
            terms: Terms {
                count: 1 << levels,
                size: size as u64,
            },
            levels,
            opened: at.len(),
        };
        assert!(need.fits(s.basis.parameters()));
        let added = vec![0; at.len()];
        let got = s.answered(
            packed,
            (&at, &added),
            bits,
            need.flood(s.basis.parameters()),
        );
        for (at, got) in at.iter().zip(got) {
            let (j, i) = (at % (1 << levels), at - at % (1 << levels));
            assert_eq!(
                got,
                low(expected[j as usize][i as usize], bits),
                "set {set}: {at}"
            );
        }
    }
}

/// More noise than there is room for is seen: the check of the need is not idle.
#[test]
fn too_much_noise_breaks_answers() {
    let (degree, bits) = (64, 37);
    let mut s = Setting::new(Parameters::small(degree, 0), 0, 4);
    let numbers: Vec<u64> = (0..degree).map(|_| s.draw(bits)).collect();
    let x = s.encrypt(&numbers, bits);
    let one = s.whole(&[1], 0);
    let at: Vec<u32> = (0..degree as u32).collect();
    let mut opened = |flood| {
        let mut sums = Sums::new(&s.basis);
        sums.add(&s.basis, &x, &one);
        let sum = sums.finish(&s.basis);
        s.answered(sum, (&at, &vec![0; degree]), bits, flood) == numbers
    };
    assert!(opened(126 - bits - 5));
    assert!(!opened(126 - bits));
}

#[test]
fn damaged_bytes_are_refused() {
    let own = primes(30, 128, 2, &[]);
    let basis = Basis::new(Parameters::of(64, &own, None));
    let poly = Poly::zero(64, 2);
    let mut bytes = Vec::new();
    wire::write_poly(&basis, &poly, &mut bytes);
    let read = |bytes: &[u8]| wire::read_poly(&basis, 2, &mut &bytes[..]).is_some();
    assert!(read(&bytes));
    assert!(!read(&bytes[1..]) && !read(&[]));
    bytes[10..20].fill(0xff);
    assert!(!read(&bytes));
    assert!(wire::read_answer(&basis, 64, 3, &mut &bytes[..5]).is_none());
}
