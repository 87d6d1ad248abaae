//! Numbers of any width as strings of bits.
//!
//! Number `i` is bits `i w .. (i + 1) w` of the little-endian bytes; unused bits of the last byte
//! are zero.

use crate::fresh::build_units;
use crate::isa::{self, simd};

/// The bytes of `n` numbers of `width` bits.
pub fn packed_len(n: usize, width: u32) -> usize {
    (n * width as usize).div_ceil(8)
}

simd! {
    /// Writes numbers below `2^width` after each other; `out` is as long as they need.
    pub(super) fn pack_into(values: &[u64], width: u32, out: &mut [u8]) {
        let (mut held, mut bits, mut at) = (0u128, 0, 0);
        for &value in values {
            held |= u128::from(value) << bits;
            bits += width;
            if bits >= 64 {
                out[at..at + 8].copy_from_slice(&(held as u64).to_le_bytes());
                held >>= 64;
                bits -= 64;
                at += 8;
            }
        }
        let rest = out.len() - at;
        out[at..].copy_from_slice(&(held as u64).to_le_bytes()[..rest]);
    }

    /// The inverse of [`pack_into`].
    pub(super) fn unpack_into(bytes: &[u8], width: u32, out: &mut [u64]) {
        let mask = u64::MAX >> (64 - width);
        let (mut held, mut bits, mut at) = (0u128, 0, 0);
        for value in out {
            if bits < width {
                let mut word = [0; 8];
                let some = (bytes.len() - at).min(8);
                word[..some].copy_from_slice(&bytes[at..at + some]);
                held |= u128::from(u64::from_le_bytes(word)) << bits;
                bits += 64;
                at += some;
            }
            *value = held as u64 & mask;
            held >>= width;
            bits -= width;
        }
    }
}

/// Numbers below `2^width`, `1 <= width <= 64`, as bytes.
pub fn pack(values: &[u64], width: u32) -> Vec<u8> {
    let isa = isa::current();
    let (n, len, unit) = (
        values.len(),
        packed_len(values.len(), width),
        8 * width as usize,
    );
    build_units(n, len, unit, |s, part| {
        let end = n.min(s + part.len() * 8 / width as usize);
        pack_into(isa, &values[s..end], width, part);
    })
}

/// `n` numbers of `width` bits; `bytes` is as long as [`packed_len`] says.
pub fn unpack(bytes: &[u8], width: u32, n: usize) -> Vec<u64> {
    assert_eq!(bytes.len(), packed_len(n, width));
    let isa = isa::current();
    crate::fresh::build(n, |s, part| {
        let first = s / 8 * width as usize;
        let len = packed_len(part.len(), width);
        unpack_into(isa, &bytes[first..first + len], width, part);
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Prg;
    use crate::isa::same_everywhere;

    #[test]
    fn every_width_comes_back() {
        for width in 1..=64 {
            for n in [0, 1, 7, 8, 63, 64, 65, 1000, 40_001] {
                let values: Vec<u64> = Prg::new([width as u8; 16]).ring(n);
                let values = crate::vec::low_bits(&values, width);
                let bytes = same_everywhere(|| pack(&values, width));
                assert_eq!(bytes.len(), packed_len(n, width));
                assert!(same_everywhere(|| unpack(&bytes, width, n)) == values);
            }
        }
    }

    #[test]
    fn bits_lie_in_their_places() {
        assert_eq!(pack(&[1, 2, 3], 3), [0b1101_0001, 0]);
        assert_eq!(pack(&[0x123, 0x456], 12), [0x23, 0x61, 0x45]);
    }
}
