//! A product whose inner dimension is cut into blocks for a first fold over the ring (docs/spec/falcon.md, section 8.3).
//!
//! Block `s` of `x` and `w` compresses to `A_s` and `B_s`. With `u_s = (A'_s | B'_s)` of the components j + 1 and
//! `v_s = (B_s | A_s)` of the components j, `u(X) = sum u_s X^s` and `v(X) = sum v_s X^(r-1-s)`. Coefficient
//! `r - 1 + d` of `<u(X), v(X)>` is what the products `x'_s w_t + x_t w'_s` of all blocks with `s - t = d` compress to,
//! so that the prover multiplies blocks in the ring, `r` times the product's own work. `u` and `v` at a point are
//! computed a few indices at a time: nothing as long as the inner dimension is ever kept in elements of the extension.

use tacit_algebra::extension::{Extension, Galois, blocks};
use tacit_algebra::{BatchMatMul, Buffer, Conv2d, MatMul, Prg, Ring};

use super::defences::Defences;
use super::gates::ProofRole;
use super::products::{Coins, Long, Product, sizes};
use crate::bilinear::Bilinear;
use crate::replicated::Rss;

/// Entries of a vector that are computed at a time.
const STRIP: usize = 1024;

/// A product whose inner dimension is cut into `radix` blocks, and its coins.
pub(super) struct Cut<R> {
    radix: usize,
    coins: Coins,
    map: Bilinear,
    x: Rss<Buffer<R>>,
    w: Rss<Buffer<R>>,
    left: Buffer<R>,
    right: Buffer<R>,
}

impl<R: Ring> Cut<R> {
    /// A product with zeros after its inner dimension, so that all blocks are of one size.
    pub fn new(product: &Product<R>, radix: usize, prg: &mut Prg, defences: Defences) -> Self {
        let (map, x, w) = padded(product, radix);
        Cut {
            radix,
            coins: Coins::draw::<R>(prg, map, defences),
            map,
            x,
            w,
            left: product.left.clone(),
            right: product.right.clone(),
        }
    }

    /// `sum_s A_s X^s` and `sum_s B_s X^s` of one component at some indices of a block, or with the blocks in the
    /// other order.
    fn at(
        &self,
        operands: [&[R]; 2],
        point: Galois<R>,
        range: [usize; 2],
        reversed: bool,
    ) -> [Vec<Galois<R>>; 2] {
        [0, 1].map(|side| match self.single_coins(side) {
            Some(coins) => {
                let mut factors = point.powers(self.radix);
                if reversed {
                    factors.reverse();
                }
                self.single(&coins, operands[side], &factors, range)
            }
            None => self.by_horner(side, operands, point, range, reversed),
        })
    }

    /// The coin of every product of a batch, of a side that has one row or column of each.
    fn single_coins(&self, side: usize) -> Option<Vec<u64>> {
        match &self.coins {
            Coins::Matrices(shape, [a, _]) if side == 0 && shape.each.m == 1 => Some(a.clone()),
            Coins::Matrices(shape, [_, b]) if side == 1 && shape.each.n == 1 => {
                Some(vec![b[0]; shape.batch])
            }
            _ => None,
        }
    }

    /// A side of one row or column of each product: its blocks times their factors, and the product's coin.
    fn single(
        &self,
        coins: &[u64],
        x: &[R],
        factors: &[Galois<R>],
        [start, end]: [usize; 2],
    ) -> Vec<Galois<R>> {
        let inner = self.coins.inner();
        let len = inner / self.radix;
        let each = coins.iter().zip(x.chunks_exact(inner.max(1)));
        let mut all = Vec::with_capacity(coins.len() * (end - start));
        for (coin, x) in each {
            let block = |s: usize| &x[s * len + start..s * len + end];
            let blocks: Vec<_> = (0..self.radix).map(block).collect();
            all.extend(blocks::combined(factors, &blocks, *coin));
        }
        all
    }

    /// Any side: of one block after the other, all of its rows or columns summed first.
    fn by_horner(
        &self,
        side: usize,
        operands: [&[R]; 2],
        point: Galois<R>,
        [start, end]: [usize; 2],
        reversed: bool,
    ) -> Vec<Galois<R>> {
        let len = self.coins.inner() / self.radix;
        let block = |i: usize| {
            let s = if reversed { i } else { self.radix - 1 - i };
            let inner = s * len + start..s * len + end;
            self.coins.side(side, operands, inner)
        };
        let mut sums = block(0);
        (1..self.radix).for_each(|i| Galois::times_plus(&mut sums, point, &block(i)));
        sums
    }
}

impl<R: Ring> Long<Galois<R>> for Cut<R> {
    fn claim(&self, role: ProofRole) -> Galois<R> {
        let operands = [&self.x, &self.w].map(|operand| role.component(operand));
        let messages = [&self.left, &self.right];
        self.coins.claim(&self.map, role, operands, messages)
    }

    fn coefficients(&self) -> Vec<Galois<R>> {
        let role = ProofRole::Prover;
        let operands = [&self.x, &self.w];
        let [next_x, next_w] = operands.map(|operand| role.other_component(operand));
        let [x, w] = operands.map(|operand| role.component(operand));
        let all = self.coins.by_distance([next_x, w], [x, next_w], self.radix);
        let distances = all.iter().enumerate();
        let dealt = distances.filter(|(at, _)| at + 1 != self.radix);
        dealt.map(|(_, z)| self.coins.outputs(z)).collect()
    }

    fn fold(&self, role: ProofRole, point: Galois<R>, [u, v]: [&mut Vec<Galois<R>>; 2]) {
        let inner = self.coins.inner();
        let len = inner / self.radix;
        let [_, each, _] = sizes(&self.map);
        let step = (STRIP / each.max(1)).max(1);
        for start in (0..len).step_by(step) {
            let range = [start, len.min(start + step)];
            let operands = [&self.x, &self.w];
            if role != ProofRole::Left {
                let next = operands.map(|operand| &role.other_component(operand)[..]);
                let sides = self.at(next, point, range, false);
                sides.into_iter().for_each(|side| u.extend(side));
            }
            if role != ProofRole::Right {
                let own = operands.map(|operand| &role.component(operand)[..]);
                let [a, b] = self.at(own, point, range, true);
                [b, a].into_iter().for_each(|side| v.extend(side));
            }
        }
    }
}

/// The operands with zeros after the inner dimension up to a multiple of `radix`.
fn padded<R: Ring>(
    Product { map, x, w, .. }: &Product<R>,
    radix: usize,
) -> (Bilinear, Rss<Buffer<R>>, Rss<Buffer<R>>) {
    let matrices = |batch: usize, MatMul { m, k, n }: MatMul| {
        let to = k.next_multiple_of(radix);
        (
            BatchMatMul {
                batch,
                each: MatMul { m, k: to, n },
            },
            [batch * m, k, 1],
            [batch, k, n],
            to,
        )
    };
    let (wide, left, right, to) = match *map {
        Bilinear::Elementwise(_) => unreachable!("element-wise products are gates"),
        Bilinear::MatMul(each) => {
            let (shape, left, right, to) = matrices(1, each);
            (Bilinear::MatMul(shape.each), left, right, to)
        }
        Bilinear::BatchMatMul(BatchMatMul { batch, each }) => {
            let (shape, left, right, to) = matrices(batch, each);
            (Bilinear::BatchMatMul(shape), left, right, to)
        }
        Bilinear::Conv2d(shape) => {
            let (channels, to) = (shape.channels, shape.channels.next_multiple_of(radix));
            let wide = Conv2d {
                channels: to,
                ..shape
            };
            let left = [shape.batch, channels, shape.height * shape.width];
            let right = [shape.filters, channels, shape.kernel[0] * shape.kernel[1]];
            (Bilinear::Conv2d(wide), left, right, to)
        }
    };
    if wide == *map {
        return (wide, x.clone(), w.clone());
    }
    let pad = |operand: &Rss<Buffer<R>>, sizes| {
        let component = |x: &Buffer<R>| Buffer::from(blocks::padded(x, sizes, to));
        Rss {
            own: component(&operand.own),
            next: component(&operand.next),
        }
    };
    (wide, pad(x, left), pad(w, right))
}

#[cfg(test)]
mod tests {
    use super::super::joins::line;
    use super::super::products::Compress;
    use super::*;

    /// A product of which all of three parties know everything; who is the prover, and the verifiers' records of it.
    fn recorded<R: Ring>(map: Bilinear, prg: &mut Prg) -> [Product<R>; 3] {
        let mut draw = |n: usize| [(); 3].map(|()| Buffer::from(prg.ring::<R>(n)));
        let [x, w, masks] = [map.left(), map.right(), map.outputs()].map(&mut draw);
        let of = |x: &[Buffer<R>; 3], party: usize| Rss {
            own: x[party % 3].clone(),
            next: x[(party + 1) % 3].clone(),
        };
        // The prover is party 0.
        let mut z = masks[1].sub(&masks[0]);
        for (x, w) in [(&x[0], &w[0]), (&x[1], &w[0]), (&x[0], &w[1])] {
            map.add_product(&mut z, x, w);
        }
        let record = |party, received: &Buffer<R>| {
            let masks = of(&masks, party);
            Product::new(map, of(&x, party), of(&w, party), received, &masks)
        };
        [record(0, &z), record(2, &z), record(1, &z)]
    }

    /// What the roles come to at a point is one claim about one inner product.
    fn folds<R: Ring>(map: Bilinear, radix: usize) {
        let mut prg = Prg::new([9; 16]);
        let products = recorded::<R>(map, &mut prg);
        let point = Galois::<R>::points(&mut prg, 1)[0];
        let roles = [ProofRole::Prover, ProofRole::Left, ProofRole::Right];
        let cut = products
            .each_ref()
            .map(|product| product.cut(radix, &mut Prg::new([7; 16]), Defences::default()));
        let claim = cut[1].claim(roles[1]).add(cut[2].claim(roles[2]));
        let ends = [0, 1, 2].map(|i| {
            let (mut u, mut v) = (Vec::new(), Vec::new());
            cut[i].fold(roles[i], point, [&mut u, &mut v]);
            [u, v]
        });
        assert_eq!(ends[0][0], ends[2][0], "u, {map:?}");
        assert_eq!(ends[0][1], ends[1][1], "v, {map:?}");
        assert!(ends[1][0].is_empty() && ends[2][1].is_empty());
        let at_point = line(cut[0].coefficients(), claim, point);
        assert_eq!(Galois::dot(&ends[0][0], &ends[0][1]), at_point, "{map:?}");
    }

    #[test]
    fn blocks_fold_to_one_inner_product() {
        let conv = Conv2d {
            batch: 2,
            channels: 7,
            height: 4,
            width: 5,
            filters: 3,
            kernel: [2, 3],
            stride: [1, 2],
            pad: [1, 0, 0, 1],
            dilation: [2, 1],
            groups: 1,
        };
        for radix in [2, 4] {
            let each = MatMul { m: 2, k: 9, n: 3 };
            let lines = [(1, 5000, 1), (1, 70, 3), (3, 70, 1)];
            let lines = lines.map(|(m, k, n)| Bilinear::MatMul(MatMul { m, k, n }));
            for map in lines.into_iter().chain([
                Bilinear::MatMul(each),
                Bilinear::BatchMatMul(BatchMatMul { batch: 3, each }),
                Bilinear::BatchMatMul(BatchMatMul {
                    batch: 3,
                    each: MatMul { m: 1, k: 37, n: 1 },
                }),
                Bilinear::Conv2d(conv),
                Bilinear::Conv2d(Conv2d { batch: 9, ..conv }),
            ]) {
                folds::<u8>(map, radix);
                folds::<u64>(map, radix);
            }
        }
    }
}
