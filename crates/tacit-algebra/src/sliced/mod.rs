//! The fields of `2^k` elements, 2 <= k <= 6, bit-sliced: vectors of elements as `k` planes of packed bits,
//! for Shamir sharing of bits between up to `2^k - 1` parties.
//!
//! A word of a plane holds one bit of 64 elements, so that a product is `k^2` ANDs of whole registers and a
//! product with a public number some XORs: no table, and no index or branch that depends on an element. What
//! is sent are the planes: `k` bits for an element.

mod map;
mod product;

pub use map::Map;

use std::ops::Range;

use crate::buffer::Sizes;
use crate::planes;
use crate::{BitRows, Bits};
use zeroize::Zeroize;

/// The most bits of an element.
pub const MOST_BITS: usize = 6;

/// A field of `2^k` elements: polynomials over bits modulo a fixed irreducible one, the lowest bit the
/// constant term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gf {
    bits: usize,
}

impl Gf {
    /// The field with elements of so many bits.
    ///
    /// # Panics
    /// If there are fewer than 2 or more than [`MOST_BITS`].
    pub fn new(bits: usize) -> Self {
        assert!((2..=MOST_BITS).contains(&bits), "no field of 2^{bits} here");
        Gf { bits }
    }

    /// The smallest field with `points` elements other than 0.
    pub fn with_points(points: usize) -> Self {
        let bits = usize::BITS - points.leading_zeros();
        Gf::new((bits as usize).max(2))
    }

    /// Bits of an element.
    pub fn bits(self) -> usize {
        self.bits
    }

    /// The irreducible polynomial of degree `bits`, coefficient `i` in bit `i`.
    const fn modulus(bits: usize) -> u32 {
        match bits {
            2 => 0b111,
            3 => 0b1011,
            4 => 0b1_0011,
            5 => 0b10_0101,
            _ => 0b100_0011,
        }
    }

    /// The product of two public elements.
    pub fn mul(self, x: u8, y: u8) -> u8 {
        let (mut product, mut power) = (0, u32::from(x));
        for bit in 0..self.bits {
            if y >> bit & 1 == 1 {
                product ^= power;
            }
            power <<= 1;
            if power >> self.bits == 1 {
                power ^= Self::modulus(self.bits);
            }
        }
        product as u8
    }

    /// The inverse of a public element; 0 for 0.
    pub fn inverse(self, x: u8) -> u8 {
        // x^(2^k - 2): the squares of x but for the first, which is x.
        let (mut power, mut inverse) = (x, 1);
        for _ in 1..self.bits {
            power = self.mul(power, power);
            inverse = self.mul(inverse, power);
        }
        if x == 0 { 0 } else { inverse }
    }
}

/// Vectors of elements of equal lengths, `values` of them: plane `b` of value `v` is row `v k + b`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sliced {
    gf: Gf,
    planes: BitRows,
}

impl Zeroize for Sliced {
    /// Wipes the planes and leaves no elements.
    fn zeroize(&mut self) {
        self.planes.zeroize();
    }
}

impl Sizes for Sliced {
    fn is_counted(&self) -> bool {
        self.planes.is_counted()
    }
}

impl Sliced {
    /// Elements by their planes.
    ///
    /// # Panics
    /// If the planes are not whole values.
    pub fn new(gf: Gf, planes: BitRows) -> Self {
        assert!(planes.rows().is_multiple_of(gf.bits));
        Sliced { gf, planes }
    }

    /// Vectors of a size alone, without values, for parties that count.
    pub fn counted(gf: Gf, values: usize, cols: usize) -> Self {
        Sliced::new(gf, BitRows::counted(values * gf.bits, cols))
    }

    /// Vectors of zeros.
    pub fn zeros(gf: Gf, values: usize, cols: usize) -> Self {
        Sliced::new(gf, BitRows::zeros(values * gf.bits, cols))
    }

    /// 0 or 1 for every bit: one value for each row.
    pub fn of_bits(gf: Gf, bits: &BitRows) -> Self {
        if bits.is_counted() {
            return Sliced::counted(gf, bits.rows(), bits.cols());
        }
        let mut made = Sliced::zeros(gf, bits.rows(), bits.cols());
        made.xor_bits(bits);
        made
    }

    /// The field that the elements are of.
    pub fn gf(&self) -> Gf {
        self.gf
    }

    /// How many vectors there are.
    pub fn values(&self) -> usize {
        self.planes.rows() / self.gf.bits
    }

    /// The elements of each.
    pub fn cols(&self) -> usize {
        self.planes.cols()
    }

    /// The planes of all values.
    pub fn planes(&self) -> &BitRows {
        &self.planes
    }

    /// The planes of all values.
    pub fn into_planes(self) -> BitRows {
        self.planes
    }

    /// The lowest plane of every value: what opened bits are.
    pub fn low_planes(&self) -> BitRows {
        let k = self.gf.bits;
        self.planes.pick((0..self.values()).map(|value| value * k))
    }

    /// The values of these numbers, in their order.
    pub fn pick(&self, values: impl IntoIterator<Item = usize>) -> Sliced {
        let k = self.gf.bits;
        let planes: Vec<usize> = values
            .into_iter()
            .flat_map(|value| value * k..(value + 1) * k)
            .collect();
        Sliced::new(self.gf, self.planes.pick(planes.into_iter()))
    }

    /// The values of all parts, one part after the other.
    pub fn stack(parts: &[&Sliced]) -> Sliced {
        let planes: Vec<&BitRows> = parts.iter().map(|part| &part.planes).collect();
        Sliced::new(parts[0].gf, BitRows::stack(&planes))
    }

    /// Keeps the first values.
    pub fn truncate(&mut self, values: usize) {
        self.planes.truncate(values * self.gf.bits);
    }

    /// The elements of a range of every value.
    pub fn columns(&self, range: Range<usize>) -> Sliced {
        Sliced::new(self.gf, self.planes.columns(range))
    }

    /// The elements of all parts, of as many values each, side by side.
    pub fn beside(parts: &[&Sliced]) -> Sliced {
        let planes: Vec<&BitRows> = parts.iter().map(|part| &part.planes).collect();
        Sliced::new(parts[0].gf, BitRows::beside(&planes))
    }

    /// `self += other`.
    pub fn xor_assign(&mut self, other: &Sliced) {
        assert!(self.gf == other.gf);
        planes::xor_assign(&mut self.planes, &other.planes);
    }

    /// `self + other`.
    pub fn xor(mut self, other: &Sliced) -> Sliced {
        self.xor_assign(other);
        self
    }

    /// Adds public bits, a row for each value.
    pub fn xor_bits(&mut self, bits: &BitRows) {
        assert!(bits.rows() == self.values() && bits.cols() == self.cols());
        if self.planes.counts_with(&[bits]) {
            return;
        }
        let k = self.gf.bits;
        for value in 0..bits.rows() {
            let plane = self.planes.row_mut(value * k).iter_mut();
            plane.zip(bits.row(value)).for_each(|(p, b)| *p ^= b);
        }
    }

    /// The complement of shared bits.
    #[allow(clippy::should_implement_trait)]
    pub fn not(mut self) -> Sliced {
        let (k, cols) = (self.gf.bits, self.cols());
        if !self.is_counted() {
            let ones = Bits::zeros(cols).not();
            for value in 0..self.values() {
                let plane = self.planes.row_mut(value * k).iter_mut();
                plane.zip(ones.words()).for_each(|(p, one)| *p ^= one);
            }
        }
        self
    }

    /// Keeps the elements where the public bit is 1, a row for each value; the others become 0.
    pub fn keep(mut self, bits: &BitRows) -> Sliced {
        assert!(bits.rows() == self.values() && bits.cols() == self.cols());
        if self.planes.counts_with(&[bits]) {
            return self;
        }
        for plane in 0..self.planes.rows() {
            let bits = bits.row(plane / self.gf.bits);
            let plane = self.planes.row_mut(plane).iter_mut();
            plane.zip(bits).for_each(|(p, b)| *p &= b);
        }
        self
    }

    /// `x y + r`, element by element.
    pub fn mul_add(x: &Sliced, y: &Sliced, mut r: Sliced) -> Sliced {
        let shape = |v: &Sliced| (v.gf, v.values(), v.cols());
        assert!(shape(x) == shape(&r) && shape(y) == shape(&r));
        if !r.planes.counts_with(&[&x.planes, &y.planes]) {
            product::mul_add(r.gf.bits, &mut r.planes, &x.planes, &y.planes);
        }
        r
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_fields_are_fields() {
        for bits in 2..=MOST_BITS {
            let gf = Gf::new(bits);
            let all = 0..=((1u32 << bits) - 1) as u8;
            for x in all.clone() {
                assert!(gf.mul(x, 1) == x && gf.mul(x, 0) == 0);
                assert!(x == 0 || gf.mul(x, gf.inverse(x)) == 1, "{x} in 2^{bits}");
                for y in all.clone() {
                    assert_eq!(gf.mul(x, y), gf.mul(y, x));
                    for z in all.clone() {
                        let sum = gf.mul(x, y ^ z);
                        assert_eq!(sum, gf.mul(x, y) ^ gf.mul(x, z));
                        assert_eq!(gf.mul(gf.mul(x, y), z), gf.mul(x, gf.mul(y, z)));
                    }
                }
            }
        }
    }

    #[test]
    fn the_smallest_field_has_a_point_for_every_party() {
        let sizes = [(3, 2), (4, 3), (7, 3), (8, 4), (15, 4), (16, 5), (63, 6)];
        for (points, bits) in sizes {
            assert_eq!(Gf::with_points(points).bits(), bits, "{points} points");
        }
    }
}
