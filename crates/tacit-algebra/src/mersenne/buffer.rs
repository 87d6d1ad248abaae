//! The kernels of fields on whole buffers: each computes where the elements are in memory, and only says how
//! many come out where there are sizes alone. Lengths that do not fit panic.

use super::{Field, Matrix, vec};
use crate::Buffer;
use crate::buffer::{Sizes, unless_counted};

/// Defines kernels: of the buffers that each takes, of its other arguments, and of its result's length.
macro_rules! kernels {
    ($(
        $(#[$doc:meta])*
        $name:ident($first:ident $(, $other:ident)* $(; $with:ident: $kind:ty)*) -> $n:expr, $kernel:path;
    )*) => {$(
        $(#[$doc])*
        pub fn $name<F: Field>(
            $first: &Buffer<F>
            $(, $other: &Buffer<F>)*
            $(, $with: $kind)*
        ) -> Buffer<F> {
            unless_counted(&[$first $(, $other)*], $n, || {
                $kernel($first $(, $other)* $(, $with)*)
            })
        }
    )*};
}

kernels! {
    /// `a + b`.
    add(a, b) -> a.len(), vec::add;
    /// `a - b`.
    sub(a, b) -> a.len(), vec::sub;
    /// `a b`.
    mul(a, b) -> a.len(), vec::mul;
    /// `-a`.
    neg(a) -> a.len(), vec::neg;
    /// `k a`.
    scale(a; k: F) -> a.len(), vec::scale;
    /// `x y + r`.
    mul_add(x, y, r) -> x.len(), vec::mul_add;
    /// 1 where the element is 0, else 0.
    is_zero(a) -> a.len(), vec::is_zero;
    /// See [`vec::inverse`].
    inverse(a) -> a.len(), vec::inverse;
    /// See [`super::sign_bits`].
    sign_bits(a, v) -> a.len(), super::sign_bits;
    /// See [`super::low_bit`].
    low_bit(y) -> y.len(), super::low_bit;
    /// See [`super::flip`].
    flip(h, kappa) -> h.len(), super::flip;
    /// See [`super::weighted_bits`].
    weighted_bits(rows; n: usize; first_power: u32) -> n, super::weighted_bits;
    /// See [`super::finish_truncation`].
    finish_truncation(c, r_shifted, r_msb; d: u32; bias: F) -> c.len(), super::finish_truncation;
    /// See [`super::tree_leaves`].
    tree_leaves(y, r, b) -> r.len() + y.len(), super::tree_leaves;
    /// See [`super::rot_positions`].
    rot_positions(y, r) -> y.len() * super::rot_size::<F>(), super::rot_positions;
    /// See [`super::rot_correlate`].
    rot_correlate(h, z) -> h.len(), super::rot_correlate;
}

/// Kernels that change their first operand.
macro_rules! changes {
    ($($(#[$doc:meta])* $name:ident($acc:ident $(, $k:ident)? $(; $other:ident)?);)*) => {$(
        $(#[$doc])*
        pub fn $name<F: Field>($acc: &mut Buffer<F> $(, $k: F)? $(, $other: &Buffer<F>)?) {
            $acc.change(&[$($other)?], |acc| vec::$name(acc $(, $k)? $(, $other)?));
        }
    )*};
}

changes! {
    /// `a += b`.
    add_assign(a; b);
    /// `a -= b`.
    sub_assign(a; b);
    /// `a += k`, every element.
    add_scalar_assign(a, k);
    /// `a *= k`, every element.
    scale_assign(a, k);
    /// `acc += k x`.
    axpy(acc, k; x);
}

/// Integers as elements.
pub fn encode<F: Field>(values: &[i64]) -> Buffer<F> {
    vec::encode(values).into()
}

/// `1 - a`: the complement of shared bits.
pub fn not<F: Field>(a: &Buffer<F>) -> Buffer<F> {
    let mut not = neg(a);
    add_scalar_assign(&mut not, F::ONE);
    not
}

/// The indices at which public values are 0; none where the values have a size alone.
pub fn find_zeros<F: Field>(values: &Buffer<F>) -> Vec<usize> {
    match values.is_counted() {
        true => Vec::new(),
        false => vec::find_zeros(values),
    }
}

/// Overwrites the columns `at` of a matrix with rows of `n` elements by `columns`, with rows of `at.len()`.
pub fn put_columns<F: Field>(rows: &mut Buffer<F>, n: usize, at: &[usize], columns: &Buffer<F>) {
    rows.change(&[columns], |rows| vec::put_columns(rows, n, at, columns));
}

/// See [`super::combine`].
pub fn combine<F: Field>(coefficients: &[F], rows: &[Buffer<F>]) -> Buffer<F> {
    match size_alone(rows) {
        Some(n) => Buffer::counted(n),
        None => super::combine(coefficients, &slices(rows)).into(),
    }
}

impl<F: Field> Matrix<F> {
    /// [`Matrix::apply`] to buffers.
    pub fn map(&self, rows: &[Buffer<F>]) -> Vec<Buffer<F>> {
        match size_alone(rows) {
            Some(n) => vec![Buffer::counted(n); self.rows],
            None => self
                .apply(&slices(rows))
                .into_iter()
                .map(Buffer::from)
                .collect(),
        }
    }
}

/// The common length of the rows if they have a size alone.
fn size_alone<F>(rows: &[Buffer<F>]) -> Option<usize> {
    let counted = rows.iter().find(|row| row.is_counted());
    counted.map(Buffer::len)
}

fn slices<F>(rows: &[Buffer<F>]) -> Vec<&[F]> {
    rows.iter().map(|row| &row[..]).collect()
}

/// See [`super::rot_zero`]; values that have a size alone are taken to have a zero.
pub fn rot_zero<F: Field>(opened: &Buffer<F>) -> Option<Buffer<u32>> {
    match opened.is_counted() {
        true => Some(Buffer::counted(opened.len() / super::rot_size::<F>())),
        false => super::rot_zero(opened).map(Buffer::from),
    }
}

/// See [`super::rot_payload`].
pub fn rot_payload<F: Field>(y: &Buffer<F>, h: &Buffer<F>, jstar: &Buffer<u32>) -> Buffer<F> {
    unless_counted::<dyn Sizes, _>(&[y, h, jstar], y.len(), || super::rot_payload(y, h, jstar))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mersenne::{F31, sample};

    /// Every kernel on sizes alone says what it says on elements.
    #[test]
    fn sizes_alone_are_as_long_as_elements() {
        fn lengths(of: impl Fn(usize) -> Buffer<F31>) -> Vec<usize> {
            let (n, l) = (5, 31);
            let [y, wide, rows] = [n, 32 * n, l * n].map(of);
            let matrix = Matrix::<F31>::vandermonde(6, 2);
            let found = rot_zero(&wide).unwrap_or_else(|| vec![0; n].into());
            let mut put = wide.clone();
            put_columns(&mut put, 32, &[3], &y);
            let mapped = matrix.map(&[y.clone(), y.clone()]);
            let all = [
                not(&y),
                scale(&y, F31::ONE),
                mul_add(&y, &y, &y),
                weighted_bits(&rows, n, 0),
                finish_truncation(&y, &y, &y, 3, F31::ONE),
                tree_leaves(&y, &rows, &y),
                rot_positions(&y, &rows),
                rot_correlate(&wide, &wide),
                rot_payload(&y, &wide, &found),
                combine(&[F31::ONE; 2], &[y.clone(), y.clone()]),
                put,
            ];
            let all = all.iter().chain(&mapped);
            all.map(Buffer::len).chain([found.len()]).collect()
        }
        let elements = lengths(|n| sample(1, n).into());
        assert_eq!(lengths(Buffer::counted), elements);
        assert!(find_zeros(&Buffer::<F31>::counted(9)).is_empty());
    }
}
