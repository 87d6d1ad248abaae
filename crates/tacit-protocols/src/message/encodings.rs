//! What messages hold. Numbers are little-endian; the golden files in `tests/wire/` have bytes of each.

use std::marker::PhantomData;

use tacit_algebra::mersenne::{Field, from_wire, to_wire};
use tacit_algebra::quotient::{tops_from_bytes, tops_to_bytes};
use tacit_algebra::window::Window;
use tacit_algebra::{BitRows, Bits, Buffer, Ring, prime};
use zeroize::Zeroizing;

use super::{Encoding, Length};
use crate::falcon::Residues;
use crate::replicated::{Booleans, Words};

/// Whole elements, one after the other.
impl<R: Ring> Length for Words<R> {
    type Len = usize;
    fn bytes(n: usize) -> usize {
        n * size_of::<R>()
    }
}

impl<R: Ring> Encoding for Words<R> {
    type Value = Buffer<R>;
    type Family = Words;
    fn len(v: &Buffer<R>) -> usize {
        v.len()
    }
    fn write(v: &Buffer<R>) -> Vec<u8> {
        bytemuck::cast_slice(v).to_vec()
    }
    fn read(message: &[u8], n: usize) -> Option<Buffer<R>> {
        let words = message.chunks_exact(size_of::<R>());
        let words = words.map(bytemuck::pod_read_unaligned::<R>);
        (message.len() == Self::bytes(n)).then(|| words.collect::<Vec<_>>().into())
    }
    fn counted(n: usize) -> Buffer<R> {
        Buffer::counted(n)
    }
    fn wanted(n: usize) -> String {
        format!("{n} whole ring elements")
    }
}

/// Length of residues: as many bits of each as the prime has; unused bits at the end are 0.
impl<R: Ring> Length for Residues<R> {
    type Len = usize;
    fn bytes(n: usize) -> usize {
        prime::packed_len(R::PRIME, n)
    }
}

impl<R: Ring> Encoding for Residues<R> {
    type Value = Buffer<u8>;
    type Family = Residues;
    fn len(v: &Buffer<u8>) -> usize {
        v.len()
    }
    fn write(v: &Buffer<u8>) -> Vec<u8> {
        prime::pack(R::PRIME, v)
    }
    fn read(message: &[u8], n: usize) -> Option<Buffer<u8>> {
        prime::unpack(R::PRIME, message, n).map(Buffer::from)
    }
    fn counted(n: usize) -> Buffer<u8> {
        Buffer::counted(n)
    }
    fn wanted(n: usize) -> String {
        format!("{n} residues below the comparison prime")
    }
}

/// Eight bits a byte, the lowest first; unused bits at the end are 0.
impl Length for Booleans {
    type Len = usize;
    fn bytes(n: usize) -> usize {
        n.div_ceil(8)
    }
}

impl Encoding for Booleans {
    type Value = Bits;
    type Family = Self;
    fn len(v: &Bits) -> usize {
        v.len()
    }
    fn write(v: &Bits) -> Vec<u8> {
        v.to_bytes()
    }
    fn read(message: &[u8], n: usize) -> Option<Bits> {
        Bits::from_bytes(n, message)
    }
    fn counted(n: usize) -> Bits {
        Bits::counted(n)
    }
    fn wanted(n: usize) -> String {
        format!("{n} bits with a clean tail")
    }
}

/// The bits of all rows, one row after the other without a gap.
impl Length for BitRows {
    /// Rows, and bits of each.
    type Len = [usize; 2];
    fn bytes([rows, n]: [usize; 2]) -> usize {
        Booleans::bytes(rows * n)
    }
}

impl Encoding for BitRows {
    type Value = BitRows;
    type Family = Self;
    fn len(v: &BitRows) -> [usize; 2] {
        [v.rows(), v.cols()]
    }
    fn write(v: &BitRows) -> Vec<u8> {
        v.to_bytes()
    }
    fn read(message: &[u8], [rows, n]: [usize; 2]) -> Option<BitRows> {
        BitRows::from_bytes(rows, n, message)
    }
    fn counted([rows, n]: [usize; 2]) -> BitRows {
        BitRows::counted(rows, n)
    }
    fn wanted([rows, n]: [usize; 2]) -> String {
        format!("{rows} bits of each of {n} elements")
    }
}

/// The top bits of words, as many of each word; unused bits at the end are 0.
#[derive(Clone)]
pub(crate) struct Tops<R = ()> {
    /// Words of which the highest bits are sent; those that were read have no other bits.
    pub words: Buffer<R>,
    pub bits: u32,
}

impl<R: Ring> Length for Tops<R> {
    /// How many words, and bits of each.
    type Len = (usize, u32);
    fn bytes((n, bits): (usize, u32)) -> usize {
        Booleans::bytes(n * bits as usize)
    }
}

impl<R: Ring> Encoding for Tops<R> {
    type Value = Self;
    type Family = Tops;
    fn len(v: &Self) -> (usize, u32) {
        (v.words.len(), v.bits)
    }
    fn write(v: &Self) -> Vec<u8> {
        tops_to_bytes(&v.words, v.bits)
    }
    fn read(message: &[u8], (n, bits): (usize, u32)) -> Option<Self> {
        let words = tops_from_bytes(n, message, bits)?.into();
        Some(Tops { words, bits })
    }
    fn counted((n, bits): (usize, u32)) -> Self {
        let words = Buffer::counted(n);
        Tops { words, bits }
    }
    fn wanted((n, bits): (usize, u32)) -> String {
        format!("{bits} bits of each of {n} elements")
    }
}

/// Elements of a prime field, in whole bytes each.
pub(crate) struct Elements<F = ()>(PhantomData<fn() -> F>);

impl<F: Field> Length for Elements<F> {
    type Len = usize;
    fn bytes(n: usize) -> usize {
        n * F::BYTES
    }
}

impl<F: Field> Encoding for Elements<F> {
    type Value = Buffer<F>;
    type Family = Elements;
    fn len(v: &Buffer<F>) -> usize {
        v.len()
    }
    fn write(v: &Buffer<F>) -> Vec<u8> {
        to_wire(v)
    }
    fn read(message: &[u8], n: usize) -> Option<Buffer<F>> {
        from_wire(message, n).map(Buffer::from)
    }
    fn counted(n: usize) -> Buffer<F> {
        Buffer::counted(n)
    }
    fn wanted(n: usize) -> String {
        format!("{n} numbers below 2^{} - 1", F::BITS)
    }
}

/// A hash, a nonce or a coin; of no bytes, that it came says all.
impl<const N: usize> Length for [u8; N] {
    type Len = ();
    fn bytes(_: ()) -> usize {
        N
    }
}

impl<const N: usize> Encoding for [u8; N] {
    type Value = [u8; N];
    type Family = Self;
    fn len(_: &[u8; N]) {}
    fn write(v: &[u8; N]) -> Vec<u8> {
        v.to_vec()
    }
    fn read(message: &[u8], _: ()) -> Option<[u8; N]> {
        message.try_into().ok()
    }
    fn counted(_: ()) -> [u8; N] {
        [0; N]
    }
    fn wanted(_: ()) -> String {
        format!("{N} bytes")
    }
}

/// Length of several values of `N` bytes, one after the other.
impl<const N: usize> Length for Vec<[u8; N]> {
    type Len = usize;
    fn bytes(n: usize) -> usize {
        n * N
    }
}

impl<const N: usize> Encoding for Vec<[u8; N]> {
    type Value = Vec<[u8; N]>;
    type Family = Self;
    fn len(v: &Vec<[u8; N]>) -> usize {
        v.len()
    }
    fn write(v: &Vec<[u8; N]>) -> Vec<u8> {
        v.concat()
    }
    fn read(message: &[u8], n: usize) -> Option<Vec<[u8; N]>> {
        let (whole, rest) = message.as_chunks();
        (whole.len() == n && rest.is_empty()).then(|| whole.to_vec())
    }
    fn counted(n: usize) -> Vec<[u8; N]> {
        vec![[0; N]; n]
    }
    fn wanted(n: usize) -> String {
        format!("{n} times {N} bytes")
    }
}

/// `N` bytes of a key, wiped wherever they were.
pub(crate) struct Secret<const N: usize>;

impl<const N: usize> Length for Secret<N> {
    type Len = ();
    fn bytes(_: ()) -> usize {
        N
    }
}

impl<const N: usize> Encoding for Secret<N> {
    /// The bytes of the key on the heap: what is moved leaves no copy.
    type Value = Zeroizing<Vec<u8>>;
    type Family = Self;
    const SECRET: bool = true;
    fn len(_: &Self::Value) {}
    fn write(v: &Self::Value) -> Vec<u8> {
        v.to_vec()
    }
    fn read(message: &[u8], _: ()) -> Option<Self::Value> {
        (message.len() == N).then(|| Zeroizing::new(message.to_vec()))
    }
    fn counted(_: ()) -> Self::Value {
        Zeroizing::new(vec![0; N])
    }
    fn wanted(_: ()) -> String {
        format!("{N} bytes")
    }
}

/// Bytes whose layout the kernels know that make and read them.
pub struct Packed;

impl Length for Packed {
    type Len = usize;
    fn bytes(len: usize) -> usize {
        len
    }
}

/// The masked entries of so many values in the window, as the kernel `masked_entries` makes them.
pub(crate) struct Entries;

impl Length for Entries {
    type Len = (Window, usize);
    fn bytes((window, n): (Window, usize)) -> usize {
        window.wire_len(n)
    }
}
