//! Multiplication, matrix products and convolutions (Falcon, section 3.2 and Algorithm `Mult`).
//!
//! Party `i` computes `z_i = x_i y_i + x_{i+1} y_i + x_i y_{i+1} + alpha_i`, where the `alpha_i`
//! sum to 0. A sum of products is masked and sent once per output element. The `z_i` either
//! become a replicated sharing (1 hop, 1 element per party) or, where a truncation follows, are
//! masked by its `r` and opened at once (1 hop, 2 elements per party): see `truncate.rs`.

use tacit_algebra::{Ring, conv2d_acc, matmul_acc, vec};

use super::Falcon;
use super::domain::{Domain, Words, blocks};
use super::sharing::Rss;
use crate::Error;
use crate::bilinear::Bilinear;
use crate::machine::Operand;

const MULTIPLY: &str = "falcon multiply";

/// `acc += x * y`.
fn accumulate<R: Ring>(map: &Bilinear, acc: &mut [R], x: &[R], y: &[R]) {
    match map {
        Bilinear::Elementwise => vec::add_assign(acc, &vec::mul(x, y)),
        Bilinear::MatMul(shape) => matmul_acc(acc, x, y, *shape),
        Bilinear::Conv2d(shape) => conv2d_acc(acc, x, y, shape),
    }
}

/// `acc += x0 y0 + x1 y0 + x0 y1`, with two products instead of three.
fn accumulate_shares<R: Ring>(map: &Bilinear, acc: &mut [R], x: &Rss<Vec<R>>, y: &Rss<Vec<R>>) {
    match map {
        Bilinear::Elementwise => vec::product_assign(acc, &x.own, &x.next, &y.own, &y.next),
        _ => {
            accumulate(map, acc, &x.own, &vec::add(&y.own, &y.next));
            accumulate(map, acc, &x.next, &y.own);
        }
    }
}

impl<R: Ring> Falcon<R> {
    /// `x y` element by element in any domain: local products, reshared.
    /// 1 hop; every party sends `n` elements.
    pub(super) fn multiply<D: Domain>(
        &mut self,
        step: &'static str,
        x: &Rss<D::Vec>,
        y: &Rss<D::Vec>,
    ) -> Result<Rss<D::Vec>, Error> {
        let n = D::len(&x.own);
        let mut z = Rss {
            own: D::with_capacity(n),
            next: D::with_capacity(n),
        };
        for block in blocks(n, 1) {
            let mut summand = self.zero::<D>(block.len());
            D::product_assign(&mut summand, x, y, block);
            self.send::<D>(self.prev_party(), step, &summand)?;
            D::append(&mut z.own, &summand);
        }
        for block in blocks(n, 1) {
            let summand = self.recv::<D>(self.next_party(), step, block.len())?;
            D::append(&mut z.next, &summand);
        }
        Ok(z)
    }

    /// `(x * w + bias) >> trunc` for any bilinear product.
    ///
    /// Secret `w`: 1 hop; every party sends 1 element per output (`trunc` = 0) or 2.
    /// Public `w`: local, then a plain truncation (1 hop, 1 element) unless `trunc` is 0.
    pub(super) fn linear(
        &mut self,
        x: &Rss<Vec<R>>,
        w: &Operand<Rss<Vec<R>>>,
        bias: Option<&Operand<Rss<Vec<R>>>>,
        map: &Bilinear<'_>,
        trunc: u32,
    ) -> Result<Rss<Vec<R>>, Error> {
        let bias = bias.map(|b| self.operand(b));
        let weights = match w {
            Operand::Secret(share) => share.own.len(),
            Operand::Public(values) => values.len(),
        };
        map.check(x.own.len(), weights, bias.as_ref().map(|b| b.own.len()))?;
        let n = map.outputs(x.own.len());
        match w {
            Operand::Public(values) => {
                let w = vec::encode(values);
                let mut z = x.map(|component| {
                    let mut acc = vec![R::ZERO; n];
                    accumulate(map, &mut acc, component, &w);
                    acc
                });
                if let Some(bias) = &bias {
                    vec::add_assign(&mut z.own, &map.spread(&bias.own));
                    vec::add_assign(&mut z.next, &map.spread(&bias.next));
                }
                if trunc == 0 {
                    Ok(z)
                } else {
                    self.truncate_shared(z, trunc)
                }
            }
            Operand::Secret(w) => {
                let mut z = self.zero::<Words<R>>(n);
                accumulate_shares(map, &mut z, x, w);
                if let Some(bias) = &bias {
                    vec::add_assign(&mut z, &map.spread(&bias.own));
                }
                if trunc == 0 {
                    self.reshare::<Words<R>>(MULTIPLY, z)
                } else {
                    self.truncate_sum(z, trunc)
                }
            }
        }
    }

    /// An operand as a sharing.
    fn operand(&self, x: &Operand<Rss<Vec<R>>>) -> Rss<Vec<R>> {
        match x {
            Operand::Secret(share) => share.clone(),
            Operand::Public(values) => self.public(&vec::encode(values)),
        }
    }
}
