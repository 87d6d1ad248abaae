//! Lowest bits of blocks, where choices travel with their OTs.

use crate::isa::{self, simd};
use crate::{Bits, par};

simd! {
    fn set_marks(blocks: &mut [u128], marks: &[u64]) {
        for (blocks, word) in blocks.chunks_mut(64).zip(marks) {
            for (i, block) in blocks.iter_mut().enumerate() {
                *block = *block & !1 | (word >> i & 1) as u128;
            }
        }
    }

    fn get_marks(marks: &mut [u64], blocks: &[u128]) {
        for (word, blocks) in marks.iter_mut().zip(blocks.chunks(64)) {
            *word = 0;
            for (i, block) in blocks.iter().enumerate() {
                *word |= (*block as u64 & 1) << i;
            }
        }
    }
}

/// Replaces the lowest bit of every block.
pub fn set(blocks: &mut [u128], bits: &Bits) {
    assert_eq!(blocks.len(), bits.len());
    let isa = isa::current();
    par::for_each(blocks, |s, part| {
        set_marks(isa, part, &bits.words()[s / 64..])
    });
}

/// The lowest bit of every block.
pub fn get(blocks: &[u128]) -> Bits {
    let isa = isa::current();
    let mut marks = vec![0; blocks.len().div_ceil(64)];
    par::for_each_unit(blocks.len(), &mut marks, 1, |s, part| {
        get_marks(isa, part, &blocks[s..]);
    });
    Bits::from_words(blocks.len(), marks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Prg;
    use crate::isa::same_everywhere;

    #[test]
    fn lowest_bits_are_replaced_and_read() {
        for n in [0, 1, 63, 65, 70_001] {
            let bits = Prg::new([1; 16]).bits(n);
            let blocks = same_everywhere(|| {
                let mut blocks: Vec<u128> = (0..n as u128).map(|i| i << 70 | i).collect();
                set(&mut blocks, &bits);
                blocks
            });
            assert!(
                (0..n)
                    .all(|i| blocks[i] == (i as u128) << 70 | i as u128 & !1 | bits.get(i) as u128)
            );
            assert!(same_everywhere(|| get(&blocks)) == bits);
        }
    }
}
