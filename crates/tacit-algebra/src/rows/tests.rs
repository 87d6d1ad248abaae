//! Rows of bits against bits one by one.

use super::*;
use crate::Prg;
use crate::isa::same_everywhere;

#[test]
fn columns_are_cut_and_joined_at_every_place() {
    for cols in [1, 64, 130, 300] {
        let whole = Prg::new([4; 16]).bit_rows(3, cols);
        for at in [0, 1, 63, 64, 65, 128, 200].map(|at: usize| at.min(cols)) {
            let (left, right) = (whole.columns(0..at), whole.columns(at..cols));
            let bit = |rows: &BitRows, i, j| rows.row_bits(i).get(j);
            for (i, j) in (0..3).flat_map(|i| (0..cols).map(move |j| (i, j))) {
                let part = match j < at {
                    true => bit(&left, i, j),
                    false => bit(&right, i, j - at),
                };
                assert_eq!(part, bit(&whole, i, j), "{i}, {j}, cut at {at}");
            }
            assert!(BitRows::beside(&[&left, &right]) == whole, "{cols} at {at}");
        }
    }
    let none = BitRows::beside(&[&BitRows::counted(2, 3), &BitRows::zeros(2, 4)]);
    assert!(none.is_counted() && none.cols() == 7);
    assert!(none.columns(1..4).is_counted());
}

fn check<R: Ring>(n: usize) {
    let a = Prg::new([3; 16]).ring::<R>(n);
    for rows in [0, 1, R::BITS / 2 + 1, R::BITS] {
        let out = same_everywhere(|| BitRows::from_ring(&a, rows));
        assert_eq!((out.rows(), out.cols()), (rows as usize, n));
        for i in 0..rows as usize {
            let bits = Bits::from_fn(n, |j| a[j].to_u64() >> i & 1 == 1);
            assert!(
                out.row_bits(i) == bits && out.row(i) == bits.words(),
                "row {i} of {n}"
            );
        }
        let low = |a: &R| R::from_u64((a.to_u64() as u128 & ((1 << rows) - 1)) as u64);
        let expected: Vec<R> = a.iter().map(low).collect();
        assert!(
            same_everywhere(|| out.to_ring::<R>()) == expected,
            "{n} elements"
        );
    }
}

#[test]
fn rows_are_bits_of_elements() {
    for n in [0, 1, 63, 64, 65, 511, 512, 513, 700, 40_001] {
        check::<u8>(n);
        check::<u16>(n);
        check::<u32>(n);
        check::<u64>(n);
    }
}

#[test]
fn bytes_are_read_strictly() {
    for (rows, n) in [(0, 5), (1, 1), (3, 63), (7, 64), (5, 130), (2, 1000)] {
        let a = Prg::new([4; 16]).bit_rows(rows, n);
        let mut bytes = a.to_bytes();
        assert_eq!(bytes.len(), (rows * n).div_ceil(8));
        let bit = |at: usize| bytes[at / 8] >> (at % 8) & 1 == 1;
        let rows_hold = |i: usize| (0..n).all(|j| bit(i * n + j) == a.row_bits(i).get(j));
        assert!((0..rows).all(rows_hold));
        assert!(
            BitRows::from_bytes(rows, n, &bytes) == Some(a),
            "{rows} x {n}"
        );
        if rows * n % 8 != 0 {
            *bytes.last_mut().unwrap() |= 0x80;
            assert!(BitRows::from_bytes(rows, n, &bytes).is_none());
        }
        bytes.push(0);
        assert!(BitRows::from_bytes(rows, n, &bytes).is_none());
    }
}

#[test]
fn rows_are_picked_and_stacked() {
    let a = Prg::new([5; 16]).bit_rows(4, 70);
    let picked = a.pick([3, 1, 1].into_iter());
    assert_eq!((picked.rows(), picked.cols()), (3, 70));
    assert!(
        [3, 1, 1]
            .iter()
            .enumerate()
            .all(|(i, j)| picked.row(i) == a.row(*j))
    );
    let parts = [0..1, 1..1, 1..4].map(|rows| a.pick(rows));
    assert!(BitRows::stack(&parts.each_ref()) == a);
}

#[test]
fn unused_bits_are_cleared() {
    let rows = BitRows::from_words(2, 65, vec![u64::MAX; 4]);
    assert_eq!(rows.row(1), [u64::MAX, 1]);
    assert!(BitRows::from_rows(&[rows.row_bits(0), rows.row_bits(1)]) == rows);
    assert_eq!(format!("{rows:?}"), "BitRows(2 x 65)");
}
