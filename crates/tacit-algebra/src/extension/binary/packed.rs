//! Sums over packed bits. A word holds a byte of each of 8 blocks, so that 8 columns of every block lie
//! side by side.

use super::Binary;
#[cfg(target_arch = "x86_64")]
use super::gfni::{self, Step};
use crate::isa::{self, simd};
use crate::{BitRows, Bits, Prg};

/// Blocks of a vector.
pub const BLOCKS: usize = 8;

/// Random points as factors of columns.
pub struct Weights {
    /// Their bits by rows.
    pub rows: BitRows,
    pub points: Vec<u64>,
    #[cfg(target_arch = "x86_64")]
    matrices: Vec<[Step; 8]>,
}

impl Weights {
    pub fn draw(prg: &mut Prg, n: usize) -> Self {
        let rows = prg.bit_rows(64, n);
        let points: Vec<u64> = rows.to_ring();
        Weights {
            #[cfg(target_arch = "x86_64")]
            matrices: gfni::matrices(&points),
            rows,
            points,
        }
    }

    /// The sums of the blocks of `x`; `None` without the instructions, as of the others here.
    pub fn sums(&self, x: &Bits) -> Option<Vec<Binary>> {
        assert_eq!(x.len(), BLOCKS * self.points.len());
        #[cfg(target_arch = "x86_64")]
        if gfni::available(isa::current()) {
            let x = gfni::steps(x.words());
            // SAFETY: the processor has the instructions.
            return Some(unsafe { gfni::sums(&self.matrices, &x) }.to_vec());
        }
        None
    }

    /// The sums of the common bits of each block of `u` and each of `v`.
    pub fn products(&self, u: &[Bits], v: &[Bits]) -> Option<Vec<Binary>> {
        let fit = |x: &Bits| x.len() == BLOCKS * self.points.len();
        assert!(u.iter().chain(v).all(fit));
        #[cfg(target_arch = "x86_64")]
        if gfni::available(isa::current()) {
            let [u, v] = [u, v].map(all_steps);
            let pairs = u.iter().flat_map(|u| (0..BLOCKS).map(move |j| (&u[..], j)));
            // SAFETY: the processor has the instructions.
            let of = |block| unsafe {
                match &v[..] {
                    [x] => gfni::products(&self.matrices, block, [x]).concat(),
                    [x, y] => gfni::products(&self.matrices, block, [x, y]).concat(),
                    _ => unreachable!("gates have one or two terms"),
                }
            };
            return Some(pairs.flat_map(of).collect());
        }
        None
    }
}

/// `sum_j c_j x_j` of the blocks of vectors.
pub fn combined(c: &[Binary], x: &[Bits]) -> Option<Vec<Binary>> {
    assert_eq!(c.len(), BLOCKS * x.len());
    #[cfg(target_arch = "x86_64")]
    if gfni::available(isa::current()) {
        let mut out = vec![Binary(0); x[0].len() / BLOCKS];
        let x = all_steps(x);
        let c = |i: usize| std::array::from_fn(|q| c[BLOCKS * i + q].0);
        // SAFETY: the processor has the instructions.
        unsafe {
            match &x[..] {
                [x] => gfni::combine(&mut out, [c(0)], [x]),
                [x, y] => gfni::combine(&mut out, [c(0), c(1)], [x, y]),
                _ => unreachable!("gates have one or two terms"),
            }
        }
        return Some(out);
    }
    None
}

#[cfg(target_arch = "x86_64")]
fn all_steps(x: &[Bits]) -> Vec<Vec<Step>> {
    x.iter().map(|x| gfni::steps(x.words())).collect()
}

/// Block `q`: byte `q` of every word.
pub fn block(x: &Bits, q: usize) -> Bits {
    let bytes: Vec<u8> = x
        .words()
        .iter()
        .map(|word| (word >> (8 * q)) as u8)
        .collect();
    Bits::from_bytes(x.len() / BLOCKS, &bytes).expect("as many bytes as bits need")
}

simd! {
    /// The parity of the common bits of `x` and each row.
    pub fn parities(rows: &BitRows, x: &[u64]) -> u64 {
        let mut sum = 0;
        for t in 0..64 {
            let common = rows.row(t).iter().zip(x).fold(0, |acc, (row, x)| acc ^ (row & x));
            sum |= ((common.count_ones() & 1) as u64) << t;
        }
        sum
    }

    /// `out ^= c` where the bit is set.
    pub fn add_where(out: &mut [Binary], c: u64, bits: &[u64]) {
        for (out, word) in out.chunks_mut(64).zip(bits) {
            for (i, out) in out.iter_mut().enumerate() {
                out.0 ^= c & (word >> i & 1).wrapping_neg();
            }
        }
    }
}
