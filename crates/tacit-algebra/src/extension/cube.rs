//! Products of two vectors whose parts are the corners of a cube.
//!
//! `2^m` parts `u_b` are the corners of `u(X) = sum_b chi_b(X) u_b`, `chi_b` a product of `X_i` where bit `i` of `b`
//! is 1 and of `1 - X_i` where it is 0. In each variable `<u(X), v(X)>` is of degree 2, and so given by its values
//! at 0 and 1 and its highest coefficient: by `3^m` of these, its *places*. The first variable is the highest bit.

use super::Extension;

/// What `<u(X), v(X)>` is at all places, from the products of all pairs of corners, `v`'s running fastest.
pub(super) fn of_pairs<K: Extension>(pairs: &[K], corners: usize) -> Vec<K> {
    if corners == 1 {
        return pairs.to_vec();
    }
    let half = corners / 2;
    let quarter = |i: usize, j: usize| -> Vec<K> {
        let rows = pairs.chunks_exact(corners).skip(i * half).take(half);
        rows.flat_map(|row| &row[j * half..][..half])
            .copied()
            .collect()
    };
    let [low, high] = [quarter(0, 0), quarter(1, 1)];
    let (up, down) = (quarter(0, 1), quarter(1, 0));
    let leading = low.iter().zip(&high).zip(up.iter().zip(&down));
    let leading: Vec<_> = leading
        .map(|((a, b), (c, d))| a.add(*b).sub(*c).sub(*d))
        .collect();
    [low, high, leading]
        .iter()
        .flat_map(|third| of_pairs(third, half))
        .collect()
}

/// The coefficients that products of all pairs of parts of two polynomials make, the second one's highest part first.
pub fn by_distance<K: Extension>(pairs: &[K], radix: usize) -> Vec<K> {
    let mut all = vec![K::ZERO; 2 * radix - 1];
    for (j, row) in pairs.chunks_exact(radix).enumerate() {
        for (k, product) in row.iter().enumerate() {
            let at = j + radix - 1 - k;
            all[at] = all[at].add(*product);
        }
    }
    all
}

/// The coefficients of the product of two polynomials in one variable, of as many coefficients as there are corners,
/// from what it is at all places of the cube of these: its highest coefficient in a variable is `(a - b)(c - d)` for the
/// two halves of each polynomial, by Karatsuba's rule.
pub fn line_of_places<K: Extension>(places: &[K]) -> Vec<K> {
    if let [place] = places {
        return vec![*place];
    }
    let third = places.len() / 3;
    let [low, high, leading] = [0, 1, 2].map(|i| line_of_places(&places[i * third..][..third]));
    let half = low.len().div_ceil(2);
    let mut all = vec![K::ZERO; 2 * low.len() + 1];
    for i in 0..low.len() {
        let middle = low[i].add(high[i]).sub(leading[i]);
        for (at, more) in [(i, low[i]), (i + half, middle), (i + 2 * half, high[i])] {
            all[at] = all[at].add(more);
        }
    }
    all
}

/// `chi_b(X)` of all corners `b`.
pub fn corners<K: Extension>(point: &[K]) -> Vec<K> {
    tensor(point, |x| [K::ONE.sub(x), x])
}

/// What a polynomial at a point takes each of its places times.
pub fn places<K: Extension>(point: &[K]) -> Vec<K> {
    tensor(point, |x| [K::ONE.sub(x), x, x.mul(x).sub(x)])
}

/// The products of a factor of every variable, those of the last one running fastest.
fn tensor<K: Extension, const N: usize>(point: &[K], factors: impl Fn(K) -> [K; N]) -> Vec<K> {
    point.iter().fold(vec![K::ONE], |products, x| {
        let factors = factors(*x);
        let each = |product: K| factors.map(|factor| product.mul(factor));
        products.into_iter().flat_map(each).collect()
    })
}

/// Of each place of a cube of so many corners the corner that it is, if it is one.
pub fn corner_of_places(corners: usize) -> Vec<Option<usize>> {
    let variables = corners.ilog2();
    (0..variables).fold(vec![Some(0)], |places, _| {
        let each = |corner: Option<usize>| [corner.map(|c| 2 * c), corner.map(|c| 2 * c + 1), None];
        places.into_iter().flat_map(each).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Binary, Galois, Integer};
    use super::*;
    use crate::Prg;

    /// A product at a point is what its places say.
    fn check<K: Extension>() {
        let mut prg = Prg::new([4; 16]);
        for variables in 0..5 {
            let n = 1 << variables;
            let (u, v) = (K::random(&mut prg, n), K::random(&mut prg, n));
            let pairs: Vec<K> = u
                .iter()
                .flat_map(|u| v.iter().map(move |v| u.mul(*v)))
                .collect();
            let values = of_pairs(&pairs, n);
            let reversed: Vec<K> = pairs
                .chunks(n)
                .flat_map(|row| row.iter().rev())
                .copied()
                .collect();
            assert_eq!(line_of_places(&values), by_distance(&reversed, n));
            let corner_of = corner_of_places(n);
            assert_eq!(values.len(), corner_of.len());
            for (value, corner) in values.iter().zip(&corner_of) {
                assert!(corner.is_none_or(|b| *value == u[b].mul(v[b])));
            }
            assert_eq!(corner_of.iter().flatten().count(), n);
            let point = K::points(&mut prg, variables);
            let at = corners(&point);
            let product = K::dot(&u, &at).mul(K::dot(&v, &at));
            assert_eq!(K::dot(&values, &places(&point)), product);
        }
    }

    #[test]
    fn places_give_the_product_at_any_point() {
        check::<Binary>();
        check::<Integer>();
        check::<Galois<u64>>();
    }
}
