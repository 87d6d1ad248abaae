//! PreMult: all prefix products of non-zero numbers in one round (Liu et al., PreMult;
//! docs/spec/liu24.md, section 4).
//!
//! No protocol here rests on it: the paper's comparison does, which applies it to numbers that
//! may be 0 and so opens where they are. It is here for those who study and extend the system.

use tacit_algebra::Buffer;
use tacit_algebra::mersenne::{Field, buffer};

use super::Shamir;
use super::deal::Demand;
use super::preprocess::{ROUNDS, zeros_only};
use crate::Error;
use crate::message::{Elements, Message};

const PAIRS: Message<Elements> = Message::new("shamir PreMult: pairs");
const CHAIN: Message<Elements> = Message::new("shamir PreMult: chain");
const MASKED: Message<Elements> = Message::new("shamir PreMult: masked factor");

/// What PreMult consumes for rows of `n` factors.
pub struct PreMult<F> {
    n: usize,
    /// Random `r_i` other than 0.
    r: Buffer<F>,
    /// `r_{i-1} / r_i`, with `r_0 = 1`.
    ratios: Buffer<F>,
    zero: Buffer<F>,
}

impl<F: Field> Shamir<F> {
    /// Makes what [`Shamir::pre_mult`] consumes for `rows` of `n` factors: 2 openings one after
    /// the other, 7 elements for every factor in the paper's count.
    pub fn prepare_pre_mult(&mut self, rows: usize, n: usize) -> Result<PreMult<F>, Error> {
        let (r, inverses) = self.random_inverses(rows * n)?;
        let products = rows.saturating_sub(1) * n;
        let mut pool = self.draw(Demand {
            random: 0,
            double: products,
            zero: rows * n,
        })?;
        let double = pool.double(products);
        let [earlier, later] = [r.part(0..products), inverses.part(n..rows * n)];
        let chain = self.mult(CHAIN, &earlier, &later, &double)?;
        Ok(PreMult {
            n,
            r,
            ratios: Buffer::concat(&[&inverses.part(0..n), &chain]),
            zero: pool.zero(rows * n),
        })
    }

    /// Random numbers other than 0 and their inverses: of `a` and `b` with `a b` opened, `a` and
    /// `b / (a b)`. Those with a product of 0, which happens once in `p` of them, are drawn again.
    fn random_inverses(&mut self, n: usize) -> Result<(Buffer<F>, Buffer<F>), Error> {
        let (mut numbers, mut inverses) = (self.zeros(n), self.zeros(n));
        let mut left: Vec<usize> = (0..n).collect();
        for _ in 0..=ROUNDS {
            let mut pool = self.draw(Demand {
                random: 2 * left.len(),
                double: 0,
                zero: left.len(),
            })?;
            let (a, b) = (pool.random(left.len()), pool.random(left.len()));
            let product = self.mult_pub(PAIRS, &a, &b, &pool.zero(left.len()))?;
            let inverse = buffer::mul(&b, &buffer::inverse(&product));
            buffer::put_columns(&mut numbers, n, &left, &a);
            buffer::put_columns(&mut inverses, n, &left, &inverse);
            let again = buffer::find_zeros(&product);
            if again.is_empty() {
                return Ok((numbers, inverses));
            }
            left = again.into_iter().map(|at| left[at]).collect();
        }
        Err(zeros_only(PAIRS))
    }

    /// `a_1, a_1 a_2, ...` row by row, of factors none of which may be 0: one that is 0 is opened
    /// as such. 1 opening of every factor.
    pub fn pre_mult(&mut self, a: &Buffer<F>, material: PreMult<F>) -> Result<Buffer<F>, Error> {
        let PreMult { n, r, ratios, zero } = material;
        if a.len() != r.len() {
            return Err(Error::NotPrepared {
                call: format!("PreMult of {} factors", a.len()),
            });
        }
        let opened = self.mult_pub(MASKED, a, &ratios, &zero)?;
        let mut products: Vec<Buffer<F>> = Vec::new();
        for row in opened.rows(n) {
            products.push(match products.last() {
                Some(before) => buffer::mul(before, &row),
                None => row,
            });
        }
        Ok(buffer::mul(&r, &Buffer::concat(&products)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Comparison;
    use super::super::tests::{mesh, open, options, run};
    use super::*;
    use tacit_algebra::Prg;
    use tacit_algebra::mersenne::{F7, F31, F61};

    /// Checks prefixes: over 7 bits some pairs have a product of 0, and are drawn again.
    fn prefixes<F: Field>(parties: usize, rows: usize, n: usize) {
        let options = options(parties, (parties - 1) / 2, Comparison::Tree);
        let factor = |v: F| if v == F::ZERO { F::ONE } else { v };
        let a: Vec<F> = Prg::new([7; 16]).field(rows * n);
        let a: Buffer<F> = a.into_iter().map(factor).collect();
        let shares = run::<F, _>(mesh(parties), &options, |machine| {
            let material = machine.prepare_pre_mult(rows, n)?;
            machine.pre_mult(&a, material)
        });
        let shares: Vec<&[F]> = shares.iter().map(|share| &share[..]).collect();
        let opened = open(&shares, options.threshold);
        for element in 0..n {
            let mut product = F::ONE;
            for row in 0..rows {
                product = product.mul(a[row * n + element]);
                assert_eq!(opened[row * n + element], product, "row {row}");
            }
        }
    }

    #[test]
    fn prefix_products_are_those_of_the_definition() {
        prefixes::<F7>(3, 3, 90);
        prefixes::<F31>(3, 31, 50);
        prefixes::<F31>(7, 1, 20);
        prefixes::<F61>(4, 5, 33);
    }

    #[test]
    fn material_of_another_size_is_refused() {
        let options = options(3, 1, Comparison::Tree);
        let refused = run::<F31, _>(mesh(3), &options, |machine| {
            let material = machine.prepare_pre_mult(2, 4)?;
            Ok(machine.pre_mult(&vec![F31::ONE; 7].into(), material).err())
        });
        for error in refused {
            let words = error.expect("one factor is missing").to_string();
            assert!(words.contains("PreMult of 7 factors"), "{words}");
        }
    }
}
