//! Bits to numbers, choices, look-ups and wraps.

use super::*;

/// Shares of `n` random bits.
fn some_bits(n: usize) -> [Bits; 2] {
    [3, 4].map(|seed| Prg::new([seed; 16]).bits(n))
}

#[test]
fn bits_become_numbers() {
    for bits in WIDTHS {
        for n in [0, 1, 7, 100] {
            let b = some_bits(n);
            let out = value(&run(|engine| engine.b2a(&b[engine.id()], bits)));
            let expected: Vec<u64> = both_bits(&b).into_iter().map(u64::from).collect();
            assert_eq!(out, expected, "{bits} bits");
        }
    }
}

#[test]
fn choices() {
    for bits in WIDTHS {
        for x in batches(&inputs(bits)) {
            let c = some_bits(x[0].len());
            let out = value(&run(|engine| {
                let id = engine.id();
                engine.mux(&c[id], &x[id])
            }));
            let chosen = both_bits(&c);
            for (i, v) in value(&x).into_iter().enumerate() {
                assert_eq!(out[i], [0, v][usize::from(chosen[i])], "{bits} bits");
            }
        }
    }
}

#[test]
fn look_ups() {
    for m in 1..=8 {
        for (first, second) in [(1, 1), (14, 7), (33, 31), (64, 0)] {
            let table = |seed, bits: u32| random(seed, bits.max(1), 1 << m);
            let (a, b) = (table(5, first), table(6, second));
            let mut tables: Vec<(u32, &[u64])> = vec![(first, &a), (second, &b)];
            tables.truncate(if second == 0 { 1 } else { 2 });
            for x in batches(&inputs(m)) {
                let out = run(|engine| engine.lookups(&tables, &x[engine.id()]));
                let one = run(|engine| engine.lookup(&a, &x[engine.id()], first));
                let index = value(&x);
                for (t, (bits, table)) in tables.iter().enumerate() {
                    let found = value(&[out[0][t].clone(), out[1][t].clone()]);
                    let expected: Vec<u64> = index.iter().map(|i| table[*i as usize]).collect();
                    assert_eq!(found, expected, "{m} to {bits} bits");
                    assert!(t > 0 || value(&one) == expected);
                }
            }
        }
    }
}

#[test]
fn wraps_of_known_signs() {
    for bits in WIDTHS {
        for (x, msb) in known(&inputs(bits)) {
            let wrap = both_bits(&run(|engine| {
                let id = engine.id();
                engine.wrap_of(&x[id], &msb[id])
            }));
            for (i, (u, v)) in x[0].values.iter().zip(&x[1].values).enumerate() {
                assert_eq!(wrap[i], (*u as u128 + *v as u128) >> bits == 1);
            }
        }
    }
}
