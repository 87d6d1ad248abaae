//! Comparisons.

use super::*;

#[test]
fn millionaires_and_equality() {
    for bits in WIDTHS {
        for x in batches(&inputs(bits)) {
            let less = run(|engine| engine.mill(&x[engine.id()].values, bits));
            let equal = run(|engine| engine.equal(&x[engine.id()].values, bits));
            let (less, equal) = (both_bits(&less), both_bits(&equal));
            for (i, (u, v)) in x[0].values.iter().zip(&x[1].values).enumerate() {
                assert_eq!(less[i], u < v, "{bits} bits: {u} < {v}");
                assert_eq!(equal[i], u == v, "{bits} bits: {u} = {v}");
            }
        }
    }
}

#[test]
fn wraps_and_sums_of_all_ones() {
    for bits in WIDTHS {
        for x in batches(&inputs(bits)) {
            let own = |id: usize| &x[id].values;
            let wrap = both_bits(&run(|engine| engine.wrap(own(engine.id()), bits)));
            let both = run(|engine| engine.wrap_and_all_ones(own(engine.id()), bits));
            let [(w0, e0), (w1, e1)] = both;
            let (again, ones) = (both_bits(&[w0, w1]), both_bits(&[e0, e1]));
            for (i, (u, v)) in own(0).iter().zip(own(1)).enumerate() {
                let sum = *u as u128 + *v as u128;
                assert_eq!(wrap[i], sum >> bits == 1, "{bits} bits: {u} + {v}");
                assert_eq!(again[i], wrap[i]);
                assert_eq!(ones[i], low(sum as u64, bits) == low(u64::MAX, bits));
            }
        }
    }
}

#[test]
fn signs() {
    for bits in WIDTHS {
        for x in batches(&inputs(bits)) {
            let msb = both_bits(&run(|engine| engine.msb(&x[engine.id()])));
            let drelu = both_bits(&run(|engine| engine.drelu(&x[engine.id()])));
            for (i, v) in value(&x).into_iter().enumerate() {
                assert_eq!(msb[i], signed(v, bits) < 0);
                assert_eq!(drelu[i], !msb[i]);
            }
        }
    }
}

/// `w = d ^ (c & e)`, and the two are never 1 together.
#[test]
fn lemma_1() {
    for bits in 2..=6 {
        let all = pairs(bits);
        for s in 1..bits {
            for (x, y) in all[0].iter().zip(&all[1]) {
                let c = low(*x, s) + low(*y, s) >= 1 << s;
                let high = (x >> s) + (y >> s);
                let d = high >= 1 << (bits - s);
                let e = low(high, bits - s) == low(u64::MAX, bits - s);
                assert_eq!(x + y >= 1 << bits, d ^ (c & e));
                assert!(!(d & (c & e)));
            }
        }
    }
}

/// Comparisons take the hops that they declare: two, and a tree.
#[test]
fn comparisons_take_two_hops_and_a_tree() {
    for (bits, hops) in [(1, 2), (4, 2), (5, 3), (8, 3), (12, 4), (32, 5), (64, 6)] {
        let mut engine = crate::Engine::counting();
        engine.mill(&[0; 8], bits).unwrap();
        assert_eq!(engine.tally().online.rounds, hops, "{bits} bits");
    }
}
