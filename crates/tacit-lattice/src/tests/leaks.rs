//! What whoever opens an answer learns of the factors: nothing; and what it would learn of answers
//! that were not re-randomised, or not flooded.

use super::*;

const BITS: u32 = 37;
const SIZE: i64 = 1 << 13;

impl Setting {
    /// The error of every coefficient of a ciphertext, as whoever holds the secret computes it: `b + a s`
    /// less these numbers as they were encoded, or less the nearest number.
    fn errors(&self, x: &Ciphertext, numbers: Option<&[u64]>) -> Vec<f64> {
        let basis = &self.basis;
        let mut a = x.a.clone();
        basis.forward(&mut a);
        let mut secret = Poly::zero(basis.degree(), basis.primes());
        for (i, limb) in secret.limbs_mut().enumerate() {
            limb.copy_from_slice(self.secret.limb(i));
        }
        let mut phase = basis.mul(&a, &secret);
        basis.backward(&mut phase);
        basis.add(&mut phase, &x.b);
        if let Some(numbers) = numbers {
            // Below half of the first prime, either sign.
            basis.sub(&mut phase, &crate::cipher::encode(basis, numbers, BITS));
            let p = basis.modulus(0).value() as i64;
            let centred = |x: &u64| (*x as i64 - p * i64::from(*x as i64 > p / 2)) as f64;
            return phase.limb(0).iter().map(centred).collect();
        }
        let q: f64 = basis
            .parameters()
            .primes()
            .iter()
            .map(|p| *p as f64)
            .product();
        (0..basis.degree())
            .map(|at| {
                let fraction = basis.fraction(&phase, at);
                let nearest =
                    fraction.wrapping_add(1 << (127 - BITS)) >> (128 - BITS) << (128 - BITS);
                (fraction.wrapping_sub(nearest) as i128) as f64 * q / 2f64.powi(128)
            })
            .collect()
    }

    /// Bits of the noise for an answer of all coefficients, multiplied by any polynomial of numbers up
    /// to [`SIZE`].
    fn flood(&self) -> u32 {
        let degree = self.basis.degree();
        let need = Need {
            bits: BITS,
            terms: Terms {
                count: degree,
                size: SIZE as u64,
            },
            levels: 0,
            opened: degree,
        };
        need.flood(self.basis.parameters())
    }

    /// Adds the noise that an answer has.
    fn hide(&mut self, x: &mut Ciphertext, flood: u32) {
        let degree = self.basis.degree();
        let at: Vec<u32> = (0..degree as u32).collect();
        let masks = Masks {
            at: &at,
            numbers: &vec![0; degree],
            bits: BITS,
            flood,
        };
        let noise = crate::sample::flood(&mut self.prg, flood, degree);
        crate::answer::add_at(&self.basis, &mut x.b, &masks, &noise);
    }

    /// A ciphertext of random numbers times a polynomial, with its own errors.
    fn multiplied(&mut self, by: &[i64]) -> (Ciphertext, Vec<f64>, Ciphertext) {
        let numbers: Vec<u64> = (0..self.basis.degree()).map(|_| self.draw(BITS)).collect();
        let x = self.encrypt(&numbers, BITS);
        let [own, product] = [&[1][..], by].map(|by| {
            let by = self.whole(by, 0);
            let mut sums = Sums::new(&self.basis);
            sums.add(&self.basis, &x, &by);
            sums.finish(&self.basis)
        });
        let errors = self.errors(&own, Some(&numbers));
        (product, errors, own)
    }
}

fn correlation(x: &[f64], y: &[f64]) -> f64 {
    let product: f64 = x.iter().zip(y).map(|(x, y)| x * y).sum();
    let [x, y] = [x, y].map(|v| v.iter().map(|v| v * v).sum::<f64>());
    product / (x * y).sqrt()
}

/// `a w / a = w`: with the first half as it comes out of the product, one division tells every factor.
#[test]
fn without_a_fresh_zero_the_first_half_tells_every_factor() {
    let mut s = Setting::new(Parameters::small(128, 0), 0, 5);
    let factors: Vec<i64> = (0..128).map(|i| (i * i % 41) - 20).collect();
    let divided = |s: &Setting, product: &Ciphertext, own: &Ciphertext| {
        let [mut top, mut bottom] = [product.a.clone(), own.a.clone()];
        s.basis.forward(&mut top);
        s.basis.forward(&mut bottom);
        for (i, limb) in bottom.limbs_mut().enumerate() {
            let m = s.basis.modulus(i);
            limb.iter_mut().for_each(|x| *x = m.invert(*x));
        }
        let mut quotient = s.basis.mul(&top, &bottom);
        s.basis.backward(&mut quotient);
        quotient == s.basis.whole(&factors, s.basis.primes())
    };
    let (mut product, _, own) = s.multiplied(&factors);
    assert!(divided(&s, &product, &own));
    product.randomise(&s.basis, &s.keys, &mut s.prg);
    assert!(!divided(&s, &product, &own));
}

/// Errors are multiplied like numbers: one that is known, as whoever encrypted knows it, tells the sign
/// of a factor. Flooded as runs do it tells nothing.
#[test]
fn without_noise_errors_tell_the_factors() {
    const TIMES: usize = 60;
    let mut s = Setting::new(Parameters::small(256, 0), 0, 6);
    let flood = s.flood();
    let mut right = [0, 0];
    for i in 0..TIMES {
        let sign = if i % 2 == 0 { 1 } else { -1 };
        let (mut product, errors, _) = s.multiplied(&[sign * SIZE]);
        product.randomise(&s.basis, &s.keys, &mut s.prg);
        for (right, noise) in right.iter_mut().zip([None, Some(flood)]) {
            let mut seen = product.clone();
            if let Some(bits) = noise {
                s.hide(&mut seen, bits);
            }
            let told = correlation(&s.errors(&seen, None), &errors) > 0.0;
            *right += usize::from(told == (sign > 0));
        }
    }
    assert_eq!(right[0], TIMES, "errors as they come tell every sign");
    assert!((15..=45).contains(&right[1]), "{} of {TIMES}", right[1]);
}

/// The errors of answers under two right factors that could not differ more: the same mean and spread,
/// and nothing in common with what either factor would make of the encryption's errors.
#[test]
fn errors_of_answers_are_alike_whatever_the_factors() {
    let mut s = Setting::new(Parameters::standard(0), 0, 7);
    let degree = s.basis.degree();
    let flood = s.flood();
    let top = 2f64.powi(flood as i32);
    for factors in [vec![0i64; degree], vec![SIZE; degree]] {
        let (mut product, errors, _) = s.multiplied(&factors);
        let whole: Vec<i64> = errors.iter().map(|e| e.round() as i64).collect();
        let own: Vec<u64> = whole.iter().map(|e| *e as u64).collect();
        let multiplied = negacyclic(&own, &factors);
        let multiplied: Vec<f64> = multiplied.iter().map(|e| *e as i64 as f64).collect();
        product.randomise(&s.basis, &s.keys, &mut s.prg);
        let unhidden = s.errors(&product, None);
        let largest = unhidden.iter().fold(0.0, |most: f64, e| most.max(e.abs()));
        // The bound by which the noise is chosen is above what comes out, and not far.
        assert!(largest * 2f64.powi(39) < top, "{largest}");
        s.hide(&mut product, flood);
        let seen = s.errors(&product, None);
        let near = 4.0 / (degree as f64).sqrt();
        let mean = seen.iter().sum::<f64>() / degree as f64 / top;
        let square = seen.iter().map(|e| (e / top).powi(2)).sum::<f64>() / degree as f64;
        assert!(
            mean.abs() < near && (square - 1.0 / 3.0).abs() < near,
            "{mean}, {square}"
        );
        let [alike, own] = [&multiplied, &errors].map(|e| correlation(&seen, e));
        assert!(own.abs() < near, "{own}");
        assert!(factors[0] == 0 || alike.abs() < near, "{alike}");
        if factors[0] != 0 {
            assert!(correlation(&unhidden, &multiplied) > 0.9);
        }
    }
}
