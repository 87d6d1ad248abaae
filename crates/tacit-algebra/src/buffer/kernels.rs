//! The local steps of protocols on whole buffers: each is a kernel where the elements are in memory, and
//! only says how many come out where there are sizes alone. Lengths that do not fit panic.

use bytemuck::Pod;

use super::{Buffer, Sizes, unless_counted};
use crate::{BitRows, Bits, Ring, compare, flip, prime, quotient, triple, truncate, vec, wrap};

/// Kernels on buffers of elements of a ring.
impl<R: Ring> Buffer<R> {
    /// Integers as elements.
    pub fn encode(values: &[i64]) -> Self {
        vec::encode(values).into()
    }

    /// Elements as integers in two's complement.
    pub fn decode(&self) -> Vec<i64> {
        vec::decode(self)
    }

    /// `a + b`.
    pub fn add(&self, b: &Self) -> Self {
        unless_counted(&[self, b], self.len(), || vec::add(self, b))
    }

    /// `a + b + c`.
    pub fn add3(&self, b: &Self, c: &Self) -> Self {
        unless_counted(&[self, b, c], self.len(), || vec::add3(self, b, c))
    }

    /// `a - b`.
    pub fn sub(&self, b: &Self) -> Self {
        unless_counted(&[self, b], self.len(), || vec::sub(self, b))
    }

    /// `a b`.
    pub fn mul(&self, b: &Self) -> Self {
        unless_counted(&[self, b], self.len(), || vec::mul(self, b))
    }

    /// `-a`.
    pub fn neg(&self) -> Self {
        unless_counted(&[self], self.len(), || vec::neg(self))
    }

    /// `k a`.
    pub fn scale(&self, k: R) -> Self {
        unless_counted(&[self], self.len(), || vec::scale(self, k))
    }

    /// `a << k`.
    pub fn shl(&self, k: u32) -> Self {
        unless_counted(&[self], self.len(), || vec::shl(self, k))
    }

    /// `a - 2 b`.
    pub fn less_doubled(&self, b: &Self) -> Self {
        unless_counted(&[self, b], self.len(), || vec::less_doubled(self, b))
    }

    /// `a >> k` of unsigned numbers.
    pub fn shr(&self, k: u32) -> Self {
        unless_counted(&[self], self.len(), || vec::shr(self, k))
    }

    /// The low `k` bits, for `0 < k < BITS`.
    pub fn low_bits(&self, k: u32) -> Self {
        unless_counted(&[self], self.len(), || vec::low_bits(self, k))
    }

    /// Modulo a smaller ring's size, or as unsigned numbers of a larger one.
    pub fn convert<S: Ring>(&self) -> Buffer<S> {
        unless_counted(&[self], self.len(), || vec::convert(self))
    }

    /// `a += b`.
    pub fn add_assign(&mut self, b: &Self) {
        self.change(&[b], |a| vec::add_assign(a, b));
    }

    /// `a -= b`.
    pub fn sub_assign(&mut self, b: &Self) {
        self.change(&[b], |a| vec::sub_assign(a, b));
    }

    /// `a += k`.
    pub fn add_scalar_assign(&mut self, k: R) {
        self.change(&[], |a| vec::add_scalar_assign(a, k));
    }

    /// `acc += x0 y0 + x1 y0 + x0 y1`: the local part of a replicated product.
    pub fn product_assign(&mut self, [x0, x1]: [&Self; 2], [y0, y1]: [&Self; 2]) {
        self.change(&[x0, x1, y0, y1], |acc| {
            vec::product_assign(acc, x0, x1, y0, y1)
        });
    }

    /// The highest bit of every element.
    pub fn msb(&self) -> Bits {
        match self.is_counted() {
            true => Bits::counted(self.len()),
            false => Bits::msb_of(self),
        }
    }

    /// The low `rows` bits of every element, transposed.
    pub fn bit_rows(&self, rows: u32) -> BitRows {
        match self.is_counted() {
            true => BitRows::counted(rows as usize, self.len()),
            false => BitRows::from_ring(self, rows),
        }
    }

    /// See [`wrap::masked_add`].
    pub fn masked_add(&self, x: &Self) -> (Self, Bits) {
        self.sum([x], || wrap::masked_add(self, x))
    }

    /// See [`wrap::sum2`].
    pub fn sum2(&self, b: &Self) -> (Self, Bits) {
        self.sum([b], || wrap::sum2(self, b))
    }

    /// See [`wrap::exceeds`].
    pub fn exceeds(&self, b: &Self) -> Bits {
        match self.is_counted() || b.is_counted() {
            true => Bits::counted(self.len()),
            false => wrap::exceeds(self, b),
        }
    }

    /// See [`wrap::sum3`].
    pub fn sum3(&self, b: &Self, c: &Self) -> (Self, Bits) {
        self.sum([b, c], || wrap::sum3(self, b, c))
    }

    fn sum<const N: usize>(
        &self,
        others: [&Self; N],
        kernel: impl FnOnce() -> (Vec<R>, Bits),
    ) -> (Self, Bits) {
        let n = self.len();
        if self.is_counted() || others.iter().any(|other| other.is_counted()) {
            return (Buffer::counted(n), Bits::counted(n));
        }
        let (sum, carries) = kernel();
        (sum.into(), carries)
    }

    /// See [`flip::ring`].
    pub fn flip(&self, bits: &Bits, add_bit: bool) -> Self {
        unless_counted::<dyn Sizes, _>(&[self, bits], self.len(), || {
            flip::ring(self, bits, add_bit)
        })
    }

    /// See [`flip::kept`].
    pub fn kept(&self, bits: &Bits) -> Self {
        unless_counted::<dyn Sizes, _>(&[self, bits], self.len(), || flip::kept(self, bits))
    }

    /// See [`flip::undo`].
    pub fn unflip(&self, x: &Self, flips: &Bits) -> Self {
        unless_counted::<dyn Sizes, _>(&[self, x, flips], self.len(), || flip::undo(self, x, flips))
    }

    /// See [`triple::product`].
    pub fn triple_product(self, [d, e]: [&Self; 2], [a, b]: [&Self; 2], constant: bool) -> Self {
        let n = self.len();
        match [&self, d, e, a, b].iter().any(|given| given.is_counted()) {
            true => Buffer::counted(n),
            false => triple::product(self.into_vec(), [d, e], [a, b], constant).into(),
        }
    }

    /// See [`truncate::gap`].
    pub fn gap(&self, low_shifted: &Self, msb: &Self, d: u32, constant: bool) -> Self {
        unless_counted(&[self, low_shifted, msb], self.len(), || {
            truncate::gap(self, low_shifted, msb, d, constant)
        })
    }

    /// See [`truncate::signed`].
    pub fn signed(&self, low_shifted: &Self, msb: &Self, d: u32, constant: bool) -> Self {
        unless_counted(&[self, low_shifted, msb], self.len(), || {
            truncate::signed(self, low_shifted, msb, d, constant)
        })
    }
}

/// The kernels of truncations without a mask from beforehand.
impl<R: Ring> Buffer<R> {
    /// See [`quotient::known`].
    pub fn quotient_known(&self, next: &Self, mask: &Self, d: u32) -> Self {
        unless_counted(&[self, next, mask], self.len(), || {
            quotient::known([self, next], mask, d)
        })
    }

    /// See [`quotient::carry`].
    pub fn quotient_carry(&self, next: &Self, mask: &Self, d: u32) -> Self {
        unless_counted(&[self, next, mask], self.len(), || {
            quotient::carry([self, next], mask, d)
        })
    }

    /// See [`quotient::choose`].
    pub fn quotient_choose(&self, carry: &Self, mask: &Self, d: u32) -> Self {
        unless_counted(&[self, carry, mask], self.len(), || {
            quotient::choose(self, carry, mask, d)
        })
    }

    /// See [`quotient::rest`].
    pub fn quotient_rest(&self, [rho, sigma]: [&Self; 2], d: u32) -> Self {
        unless_counted(&[self, rho, sigma], self.len(), || {
            quotient::rest(self, [rho, sigma], d)
        })
    }

    /// See [`quotient::rounded`].
    pub fn quotient_rounded(&self, wraps: &Self, d: u32, constant: bool) -> Self {
        unless_counted(&[self, wraps], self.len(), || {
            quotient::rounded(self, wraps, d, constant)
        })
    }
}

/// The kernels of truncations between two summands.
impl<R: Ring> Buffer<R> {
    /// See [`truncate::split_mask`].
    pub fn split_mask(&self, trunc: u32) -> (Self, Self) {
        if self.is_counted() {
            return (self.clone(), self.clone());
        }
        let (shifted, msb) = truncate::split_mask(self, trunc);
        (shifted.into(), msb.into())
    }

    /// See [`truncate::local`].
    pub fn truncate_share(&self, first: bool, trunc: u32) -> Self {
        unless_counted(&[self], self.len(), || truncate::local(first, self, trunc))
    }
}

/// The kernels of numbers of any kind.
impl<T: Pod + Send + Sync> Buffer<T> {
    /// `out[i] = a[index[i]]`, or 0 for the index that stands for padding.
    pub fn gather(&self, index: &[u32]) -> Self {
        unless_counted(&[self], index.len(), || vec::gather(self, index))
    }

    /// Every element `inner` times, all of that `outer` times.
    pub fn tile(&self, inner: usize, outer: usize) -> Self {
        let n = self.len() * inner * outer;
        unless_counted(&[self], n, || vec::tile(self, inner, outer))
    }

    /// Changes the elements in place, with others that are only read.
    pub fn change(&mut self, others: &[&Self], kernel: impl FnOnce(&mut [T])) {
        match self.is_counted() || others.iter().any(|other| other.is_counted()) {
            true => *self = Buffer::counted(self.len()),
            false => kernel(self),
        }
    }
}

/// Residues modulo a small prime, which every function is told.
impl Buffer<u8> {
    /// `a += b`.
    pub fn residues_add(&mut self, p: u8, b: &Self) {
        self.change(&[b], |a| prime::add_assign(p, a, b));
    }

    /// `a -= b`.
    pub fn residues_sub(&mut self, p: u8, b: &Self) {
        self.change(&[b], |a| prime::sub_assign(p, a, b));
    }

    /// `acc += x0 y0 + x1 y0 + x0 y1`.
    pub fn residues_product(&mut self, p: u8, [x0, x1]: [&Self; 2], [y0, y1]: [&Self; 2]) {
        self.change(&[x0, x1, y0, y1], |acc| {
            prime::product_assign(p, acc, x0, x1, y0, y1)
        });
    }

    /// `a b`.
    pub fn residues_mul(&self, p: u8, b: &Self) -> Self {
        let [mut out, zeros] = [(); 2].map(|()| Buffer::zeros(self.len()));
        out.residues_product(p, [self, &zeros], [b, &zeros]);
        out
    }

    /// See [`flip::residues`].
    pub fn residues_flip(&self, p: u8, bits: &Bits, add_bit: bool) -> Self {
        unless_counted::<dyn Sizes, _>(&[self, bits], self.len(), || {
            flip::residues(p, self, bits, add_bit)
        })
    }

    /// Bit `i` tells whether residue `i` is not 0.
    pub fn is_nonzero(&self) -> Bits {
        match self.is_counted() {
            true => Bits::counted(self.len()),
            false => prime::is_nonzero(self),
        }
    }
}

impl Bits {
    /// One ring element, 0 or 1, per bit.
    pub fn words_of<R: Ring>(&self) -> Buffer<R> {
        unless_counted(&[self], self.len(), || self.expand_ring())
    }

    /// Each bit less twice the element of `y`.
    pub fn less_doubled<R: Ring>(&self, y: &Buffer<R>) -> Buffer<R> {
        unless_counted::<dyn Sizes, _>(&[self, y], self.len(), || flip::bits_less_doubled(self, y))
    }

    /// One residue, 0 or 1, per bit.
    pub fn residues_of(&self) -> Buffer<u8> {
        unless_counted(&[self], self.len(), || self.expand())
    }
}

/// See [`compare::leaves`].
pub fn compare_leaves<R: Ring>(
    [bits, products]: [&Buffer<u8>; 2],
    stride: usize,
    rows: usize,
    beta: &Buffer<u8>,
    r: &Buffer<R>,
    constant: bool,
) -> Buffer<u8> {
    unless_counted::<dyn Sizes, _>(&[bits, products, beta, r], rows * r.len(), || {
        compare::leaves(bits, products, stride, rows, beta, r, constant)
    })
}
