//! Elements and their bits, as planes.

use super::Field;
use crate::BitRows;
use crate::buffer::Sizes;
use crate::{Buffer, Ring};

/// The bits of the representatives, a row for each, the lowest first.
pub fn to_bits<F: Field>(v: &Buffer<F>) -> BitRows {
    fn rows<F: Field, R: Ring>(v: &[F]) -> BitRows {
        BitRows::from_ring::<R>(bytemuck::cast_slice(v), F::BITS)
    }
    if v.is_counted() {
        return BitRows::counted(F::BITS as usize, v.len());
    }
    match F::BYTES {
        1 => rows::<F, u8>(v),
        2 => rows::<F, u16>(v),
        4 => rows::<F, u32>(v),
        _ => rows::<F, u64>(v),
    }
}

/// The elements with these bits, the lowest first, missing ones 0; of all ones 0.
pub fn of_bits<F: Field>(bits: &BitRows) -> Buffer<F> {
    fn words<R: Ring, F: Field>(bits: &BitRows) -> Buffer<F> {
        let words = bits.to_ring::<R>().into_iter();
        words.map(|word| F::from_u64(word.to_u64())).collect()
    }
    assert!(bits.rows() <= F::BITS as usize);
    if bits.is_counted() {
        return Buffer::counted(bits.cols());
    }
    match F::BYTES {
        1 => words::<u8, F>(bits),
        2 => words::<u16, F>(bits),
        4 => words::<u32, F>(bits),
        _ => words::<u64, F>(bits),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::same_everywhere;
    use crate::mersenne::{on_every_field, sample};

    fn both_ways<F: Field>() {
        for n in [0, 1, 64, 65, 5000] {
            let v: Buffer<F> = sample::<F>(1, n).into();
            let bits = same_everywhere(|| to_bits(&v));
            assert_eq!((bits.rows(), bits.cols()), (F::BITS as usize, n));
            for (i, v) in v.iter().enumerate() {
                let bit = |row: usize| u64::from(bits.row_bits(row).get(i)) << row;
                assert_eq!((0..bits.rows()).map(bit).sum::<u64>(), v.to_u64());
                if i > 70 {
                    break;
                }
            }
            assert!(same_everywhere(|| of_bits::<F>(&bits)) == v);
        }
        let ones = BitRows::from_rows(&vec![crate::Bits::from_fn(3, |_| true); F::BITS as usize]);
        assert!(of_bits::<F>(&ones) == vec![F::ZERO; 3].into());
        assert!(to_bits(&Buffer::<F>::counted(3)).is_counted());
        assert!(of_bits::<F>(&BitRows::counted(2, 3)).is_counted());
    }

    #[test]
    fn bits_are_those_of_the_representative() {
        on_every_field!(both_ways);
    }
}
