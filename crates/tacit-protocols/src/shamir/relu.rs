//! Selection and ReLU (Liu et al., Protocol 5.3; docs/spec/liu24.md, section 7), and the two-layer
//! multiplication 2L-DN (Protocol 5.2).

use tacit_algebra::Buffer;
use tacit_algebra::mersenne::{Field, buffer};

use super::Shamir;
use super::compare::Sign;
use super::deal::{Demand, Double};
use super::demand::Want;
use super::material::Material;
use super::open::Job;
use crate::Error;
use crate::message::{Elements, Message};

const SELECT: Message<Elements> = Message::new("shamir select");
const RELU: Message<Elements> = Message::new("shamir relu: sign times value");
const INNER: Message<Elements> = Message::new("shamir 2L-DN: x y");
const OUTER: Message<Elements> = Message::new("shamir 2L-DN: mask times z");

/// The doubles that 2L-DN consumes: one for `x y`, one for the product with `z`.
pub struct TwoLayer<F> {
    inner: Double<F>,
    outer: Double<F>,
}

impl<F: Field> Shamir<F> {
    /// `x` where `bit` is 0, `y` where it is 1. 1 opening.
    pub(super) fn select_shares(
        &mut self,
        bit: &Buffer<F>,
        x: &Buffer<F>,
        y: &Buffer<F>,
    ) -> Result<Buffer<F>, Error> {
        if x.is_empty() {
            return Ok(x.clone());
        }
        let double = match self.take(Want::Product { n: x.len() })? {
            Material::Product(double) => double,
            _ => unreachable!("material lies with its want"),
        };
        let mut z = self.mult(SELECT, bit, &buffer::sub(y, x), &double)?;
        buffer::add_assign(&mut z, x);
        Ok(z)
    }

    /// `max(a, 0)`: the sign times `a`, exact for every `a` (Liu et al., Protocol 5.3).
    ///
    /// By the tree one opening after those of the sign; by the rotation 4 in all.
    pub(super) fn relu_shares(&mut self, a: &Buffer<F>) -> Result<Buffer<F>, Error> {
        if a.is_empty() {
            return Ok(a.clone());
        }
        match self.sign(a, true)? {
            Sign::Tree(sign, double) => self.mult(RELU, &sign, a, &double),
            Sign::Rot(d, mut rot) => {
                let material = TwoLayer {
                    inner: rot.double.take(a.len()),
                    outer: rot.double,
                };
                let negative = self.two_layer(&d, &d, a, material)?;
                Ok(buffer::sub(a, &negative))
            }
        }
    }

    /// Makes what [`Shamir::two_layer`] consumes for `n` elements.
    pub fn prepare_two_layer(&mut self, n: usize) -> Result<TwoLayer<F>, Error> {
        let mut pool = self.draw(Demand {
            random: 0,
            double: 2 * n,
            zero: 0,
        })?;
        Ok(TwoLayer {
            inner: pool.double(n),
            outer: pool.double(n),
        })
    }

    /// 2L-DN (Liu et al., Protocol 5.2): `[x y z]` in one round. With `u = x y + r` and
    /// `v = r_1 - r z` opened together, `x y z = u z + v - r_1`. 2 openings.
    pub fn two_layer(
        &mut self,
        x: &Buffer<F>,
        y: &Buffer<F>,
        z: &Buffer<F>,
        material: TwoLayer<F>,
    ) -> Result<Buffer<F>, Error> {
        let TwoLayer { inner, outer } = material;
        let product = self.params.product(x.len());
        let share = buffer::mul_add(&inner.low, &buffer::neg(z), &outer.high);
        let jobs = vec![
            Job {
                step: INNER,
                share: buffer::mul_add(x, y, &inner.high),
                reveal: self.params.reveal(x.len(), product.degree),
            },
            Job {
                step: OUTER,
                share,
                reveal: product,
            },
        ];
        let opened = self.reveal_together(jobs)?;
        let mut out = buffer::mul_add(&opened[0], z, &opened[1]);
        buffer::sub_assign(&mut out, &outer.low);
        Ok(out)
    }
}
