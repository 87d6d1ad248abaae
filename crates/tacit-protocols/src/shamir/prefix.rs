//! PreMult: all prefix products of non-zero numbers in one round (spec section 4).
//!
//! No protocol here rests on it: the paper's comparison does, which applies it to numbers that
//! may be 0 and so opens where they are. It is here for those who study and extend the system.

use tacit_algebra::mersenne::{Field, vec};

use super::Shamir;
use super::deal::Demand;
use crate::Error;

const PAIRS: &str = "shamir PreMult: pairs";
const CHAIN: &str = "shamir PreMult: chain";
const MASKED: &str = "shamir PreMult: masked factor";

/// What PreMult consumes for rows of `n` factors.
pub struct PreMult<F> {
    n: usize,
    /// Random `r_i` other than 0.
    r: Vec<F>,
    /// `r_{i-1} / r_i`, with `r_0 = 1`.
    ratios: Vec<F>,
    zero: Vec<F>,
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
        let chain = self.mult(CHAIN, &r[..products], &inverses[n..], &double)?;
        Ok(PreMult {
            n,
            r,
            ratios: [&inverses[..n], &chain].concat(),
            zero: pool.zero(rows * n),
        })
    }

    /// Random numbers other than 0 and their inverses: of `a` and `b` with `a b` opened, `a` and
    /// `b / (a b)`. All are made anew if a product is 0, which happens once in `p` of them.
    fn random_inverses(&mut self, n: usize) -> Result<(Vec<F>, Vec<F>), Error> {
        loop {
            let mut pool = self.draw(Demand {
                random: 2 * n,
                double: 0,
                zero: n,
            })?;
            let (a, b, zero) = (pool.random(n), pool.random(n), pool.zero(n));
            let product = self.mult_pub(PAIRS, &a, &b, &zero)?;
            if vec::find_zero(&product).is_none() {
                return Ok((a, vec::mul(&b, &vec::inverse(&product))));
            }
        }
    }

    /// `a_1, a_1 a_2, ...` row by row, of factors none of which may be 0: one that is 0 is opened
    /// as such. 1 opening of every factor.
    pub fn pre_mult(&mut self, a: &[F], material: PreMult<F>) -> Result<Vec<F>, Error> {
        let PreMult { n, r, ratios, zero } = material;
        if a.len() != r.len() {
            return Err(Error::NotPrepared {
                call: format!("PreMult of {} factors", a.len()),
            });
        }
        let mut c = self.mult_pub(MASKED, a, &ratios, &zero)?;
        for row in (n..c.len()).step_by(n) {
            let (before, rest) = c.split_at_mut(row);
            let product = vec::mul(&before[row - n..], &rest[..n]);
            rest[..n].copy_from_slice(&product);
        }
        Ok(vec::mul(&r, &c))
    }
}
