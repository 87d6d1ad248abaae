//! The local step of a product from a multiplication triple (Beaver).

use crate::isa::{self, simd};
use crate::{Ring, par};

simd! {
    fn product_into<R: Ring>(out: &mut [R], d: &[R], e: &[R], a: &[R], b: &[R], constant: bool) {
        let one = if constant { R::ONE } else { R::ZERO };
        for ((((out, d), e), a), b) in out.iter_mut().zip(d).zip(e).zip(a).zip(b) {
            *out = out.add(d.mul(b.add(e.mul(one)))).add(a.mul(*e));
        }
    }
}

/// A share of `x y`, element by element, from the public `d = x - a` and `e = y - b`
/// and shares of the triple: `c + d b + a e`, and `d e` in the one that carries constants.
/// `c` is overwritten by the result.
pub fn product<R: Ring>(
    mut c: Vec<R>,
    [d, e]: [&[R]; 2],
    [a, b]: [&[R]; 2],
    constant: bool,
) -> Vec<R> {
    assert!([d, e, a, b].iter().all(|v| v.len() == c.len()));
    let isa = isa::current();
    par::for_each(&mut c, |s, out| {
        let at = s..s + out.len();
        let [d, e, a, b] = [d, e, a, b].map(|v| &v[at.clone()]);
        product_into(isa, out, d, e, a, b, constant)
    });
    c
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::same_everywhere;
    use crate::{Prg, vec};

    fn products<R: Ring>() {
        for n in [0, 1, 65, 40_001] {
            let mut prg = Prg::new([1; 16]);
            let [x, y, a, b, a0, b0, c0] = [0; 7].map(|_| prg.ring::<R>(n));
            let (d, e) = (vec::sub(&x, &a), vec::sub(&y, &b));
            let (a1, b1) = (vec::sub(&a, &a0), vec::sub(&b, &b0));
            let c1 = vec::sub(&vec::mul(&a, &b), &c0);
            let z = same_everywhere(|| {
                let first = product(c0.clone(), [&d, &e], [&a0, &b0], true);
                let second = product(c1.clone(), [&d, &e], [&a1, &b1], false);
                vec::add(&first, &second)
            });
            assert!(z == vec::mul(&x, &y), "{n} elements");
        }
    }

    #[test]
    fn triples_give_products() {
        products::<u8>();
        products::<u64>();
    }
}
