use super::sums::TERMS;
use super::*;
use crate::isa::same_everywhere;

impl Integers {
    /// All elements, one by one.
    fn elements(&self) -> Vec<Integer> {
        let word = |i: usize| self.words.as_ref().map_or(0, |words| words[i]);
        let bit = |i: usize| self.bits.as_ref().is_some_and(|bits| bits.get(i));
        let of = |i: usize| {
            let bit = if bit(i) { self.factor() } else { Integer::ZERO };
            Integer::embed(word(i)).add(bit)
        };
        (0..self.len).map(of).collect()
    }
}

/// Words and bits and both, on either side, from their definitions; the largest ones, too.
#[test]
fn sums_of_words_and_bits_are_right() {
    let mut prg = Prg::new([9; 16]);
    for n in [1, 63, 64, 65, 300] {
        let most = Buffer::from(vec![u64::MAX; n]);
        let all = Bits::from_fn(n, |_| true);
        let mut some = || {
            let (words, bits) = (prg.words::<u64>(n), prg.bits(n));
            [
                Integers::of_words(&words),
                Integers::of_bits(bits.clone(), 1),
                Integers::of_bits(bits.clone(), -2 * size_of_ring::<u64>()),
                Integers::less(&words, bits),
                Integers::less(&most, all.clone()),
            ]
        };
        let (u, v) = (some(), some());
        let most = (1 << POINT) - 1;
        for w in [Integer::weights(&mut prg, n), vec![most; n]] {
            let sum = |terms: &dyn Fn(usize) -> Integer| {
                let weighed = (0..n).map(|i| Integer::embed(w[i]).mul(terms(i)));
                weighed.fold(Integer::ZERO, Integer::add)
            };
            let products = same_everywhere(|| Integer::weighted_products(&w, &u, &v));
            let sums = same_everywhere(|| Integer::weighted_sums(&w, &u));
            for (j, u) in u.iter().map(Integers::elements).enumerate() {
                assert_eq!(sums[j], sum(&|i| u[i]), "{j} of {n}");
                for (k, v) in v.iter().map(Integers::elements).enumerate() {
                    let right = sum(&|i| u[i].mul(v[i]));
                    assert_eq!(products[5 * j + k], right, "{j}, {k} of {n}");
                }
            }
        }
        let parts = [u.clone(), v, u].concat();
        let minus_one = vec![Integer::ZERO.sub(Integer::ONE); parts.len()];
        for c in [Integer::random(&mut prg, parts.len()), minus_one] {
            let combined = same_everywhere(|| Integer::combine(&c, &parts));
            let elements: Vec<_> = parts.iter().map(Integers::elements).collect();
            for (i, combined) in combined.iter().enumerate() {
                let terms = c.iter().zip(&elements).map(|(c, x)| c.mul(x[i]));
                assert_eq!(*combined, terms.fold(Integer::ZERO, Integer::add));
            }
        }
    }
}

/// Fermat's test to several bases, and no small divisor.
#[test]
fn the_moduli_are_primes() {
    for (p, prime) in PRIMES.into_iter().enumerate() {
        assert!((2..10_000).all(|d| prime % d != 0));
        for base in [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37] {
            // Miller and Rabin's: these bases decide below 2^64.
            let odd = (prime - 1) >> (prime - 1).trailing_zeros();
            let mut power = (0..BITS).rev().fold(1, |sum, bit| {
                let square = times(sum, sum, p);
                if odd >> bit & 1 == 1 {
                    times(square, base, p)
                } else {
                    square
                }
            });
            let mut witness = power != 1;
            for _ in 0..(prime - 1).trailing_zeros() {
                witness &= power != prime - 1;
                power = times(power, power, p);
            }
            assert!(!witness, "{prime} to base {base}");
        }
    }
}

#[test]
fn residues_are_right_at_the_ends() {
    for p in [0, 1] {
        let prime = PRIMES[p];
        for a in [0, 1, prime - 1, prime, prime + 1, 2 * prime - 1, u64::MAX] {
            assert_eq!(small(a, p), a % prime);
            for b in [0, 1, prime - 1, u64::MAX] {
                let product = u128::from(a) * u128::from(b);
                assert_eq!(u128::from(reduced(product, p)), product % u128::from(prime));
            }
        }
        assert_eq!(
            u128::from(reduced(u128::MAX, p)),
            u128::MAX % u128::from(prime)
        );
    }
    // The square of -1 is 1.
    let most = vec![Integer::ZERO.sub(Integer::ONE); 3 * TERMS + 1];
    let sum = Integer::embed(most.len() as u64);
    assert_eq!(same_everywhere(|| Integer::dot(&most, &most)), sum);
    let parts: Vec<&[Integer]> = most.chunks(1).collect();
    assert_eq!(
        same_everywhere(|| sum_of(&most, &parts, 2)),
        [sum, Integer::ZERO]
    );
}

/// As many of the largest words and bits as are added up at once, times the largest residues.
#[test]
fn the_largest_sums_fit() {
    let words = Integers::of_words(&Buffer::from(vec![u64::MAX; 70]));
    let all = || Bits::from_fn(70, |_| true);
    let most = Integer::ZERO.sub(Integer::ONE);
    for x in [
        Integers::less(&words.words.clone().unwrap(), all()),
        Integers::of_bits(all(), 1),
    ] {
        let combined =
            same_everywhere(|| Integer::combine(&[most; PARTS], &vec![x.clone(); PARTS]));
        let sum = (0..PARTS).fold(Integer::ZERO, |sum, _| sum.sub(x.elements()[0]));
        assert!(combined.iter().all(|c| *c == sum));
    }
}

/// A word less the ring's size is a negative integer.
#[test]
fn carries_take_the_size_of_the_ring_away() {
    fn check<R: Ring>() {
        let words: Buffer<R> = Prg::new([5; 16]).words(70);
        let carries = Bits::from_fn(70, |i| i % 3 == 0);
        let x = Integers::less(&words, carries.clone()).elements();
        for (i, x) in x.iter().enumerate() {
            let size = i128::from(carries.get(i)) << R::BITS;
            let right = i128::from(words[i].to_u64()) - size;
            for p in [0, 1] {
                assert_eq!(i128::from(x.0[p]), right.rem_euclid(i128::from(PRIMES[p])));
            }
        }
    }
    check::<u8>();
    check::<u32>();
    check::<u64>();
}
