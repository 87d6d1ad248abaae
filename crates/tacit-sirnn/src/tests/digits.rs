//! Digits and top bits.

use super::*;
use crate::index_bits;

#[test]
fn digits_of_numbers() {
    for bits in WIDTHS {
        for d in [1, 2, 3, 4, 8] {
            for x in batches(&inputs(bits)) {
                let out = run(|engine| engine.digits(&x[engine.id()], d));
                assert_eq!(out[0].len(), bits.div_ceil(d) as usize);
                for (i, (a, b)) in out[0].iter().zip(&out[1]).enumerate() {
                    let from = i as u32 * d;
                    let width = d.min(bits - from);
                    assert_eq!(a.bits, width);
                    let got = value(&[a.clone(), b.clone()]);
                    for (got, v) in got.into_iter().zip(value(&x)) {
                        assert_eq!(got, low(v >> from, width), "digit {i} of {v}, {d} bits");
                    }
                }
            }
        }
    }
}

#[test]
fn top_bits() {
    for bits in WIDTHS {
        let mut all = batches(&inputs(bits));
        let powers: Vec<u64> = (0..bits).map(|i| low(3 << i, bits)).collect();
        all.push(share(bits, &powers, 5));
        for x in all {
            let index = value(&run(|engine| engine.msnzb_index(&x[engine.id()])));
            let hot = run(|engine| engine.msnzb(&x[engine.id()]));
            assert_eq!(hot[0].len(), bits as usize);
            let expected: Vec<u32> = value(&x)
                .iter()
                .map(|v| v.checked_ilog2().unwrap_or(0))
                .collect();
            assert!(
                index
                    .iter()
                    .zip(&expected)
                    .all(|(i, e)| *i == u64::from(*e))
            );
            for (k, (a, b)) in hot[0].iter().zip(&hot[1]).enumerate() {
                let got = both_bits(&[a.clone(), b.clone()]);
                assert!(
                    got.iter()
                        .zip(&expected)
                        .all(|(got, e)| *got == (*e == k as u32))
                );
            }
        }
    }
    for (bits, width) in [(1, 1), (2, 1), (3, 2), (16, 4), (17, 5), (64, 6)] {
        assert_eq!(index_bits(bits), width);
    }
}
