//! Products of different widths.

use super::*;
use crate::{Engine, Factor};
use tacit_protocols::Error;

/// The product of two numbers, read as the factors are.
fn product(v: [u64; 2], bits: [u32; 2], signs: [bool; 2], out: u32) -> u64 {
    let [x, y] = [0, 1].map(|k| match signs[k] {
        true => signed(v[k], bits[k]) as u64,
        false => v[k],
    });
    low(x.wrapping_mul(y), out)
}

/// All pairs of the elements of two tensors.
fn crossed(x: &[Shared; 2], y: &[Shared; 2]) -> [[Shared; 2]; 2] {
    let (n, m) = (x[0].len(), y[0].len());
    let tiled = |t: &[Shared; 2], inner, outer| {
        t.clone().map(|t| Shared {
            values: vec::tile(&t.values, inner, outer),
            ..t
        })
    };
    [tiled(x, m, 1), tiled(y, 1, n)]
}

fn factor<'a>(x: &'a Shared, msb: &'a Msb, sign: bool) -> Factor<'a> {
    match sign {
        true => Factor::signed(x, msb),
        false => Factor::unsigned(x, msb),
    }
}

fn check(x: &[Shared; 2], y: &[Shared; 2], out: u32, msbs: [&[Msb; 2]; 2]) {
    let bits = [x[0].bits, y[0].bits];
    for signs in [[false; 2], [true; 2], [true, false], [false, true]] {
        let got = value(&run(|engine| {
            let id = engine.id();
            let x = factor(&x[id], &msbs[0][id], signs[0]);
            let y = factor(&y[id], &msbs[1][id], signs[1]);
            engine.multiply(&x, &y, out)
        }));
        for ((got, x), y) in got.into_iter().zip(value(x)).zip(value(y)) {
            let expected = product([x, y], bits, signs, out);
            assert_eq!(
                got, expected,
                "{x} * {y}: {bits:?} to {out} bits, signs {signs:?}"
            );
        }
    }
}

const UNKNOWN: [Msb; 2] = [Msb::Unknown, Msb::Unknown];

#[test]
fn products_of_all_shares() {
    for (m, n) in [(1, 1), (1, 3), (2, 2), (2, 3), (3, 2), (3, 3)] {
        let [x, y] = crossed(&inputs(m), &inputs(n));
        for out in 1..=m + n + 2 {
            check(&x, &y, out, [&UNKNOWN, &UNKNOWN]);
        }
    }
}

const LARGE: [(u32, u32, u32); 11] = [
    (8, 8, 16),
    (8, 8, 21),
    (16, 8, 24),
    (8, 16, 17),
    (16, 16, 16),
    (32, 32, 64),
    (21, 37, 58),
    (37, 21, 64),
    (64, 64, 64),
    (64, 16, 64),
    (5, 64, 64),
];

/// As many elements of both factors, of `m` and of `n` bits.
fn matched(m: u32, n: u32) -> [[Shared; 2]; 2] {
    let all = |bits, step: usize| {
        let x = inputs(bits);
        let len = x[0].len();
        select(&x, &(0..207).map(|i| i * step % len).collect::<Vec<_>>())
    };
    [all(m, 1), all(n, 5)]
}

#[test]
fn products_of_large_numbers() {
    for (m, n, out) in LARGE {
        let [x, y] = matched(m, n);
        for count in [207, 0, 1, 7] {
            let at: Vec<usize> = (0..count).collect();
            check(
                &select(&x, &at),
                &select(&y, &at),
                out,
                [&UNKNOWN, &UNKNOWN],
            );
        }
    }
}

#[test]
fn products_of_known_signs() {
    for (m, n, out) in [(3, 3, 6), (3, 2, 4), (3, 3, 8), (16, 8, 24), (32, 32, 64)] {
        let all = match m {
            3 => crossed(&inputs(m), &inputs(n)),
            _ => matched(m, n),
        };
        for (x, msb) in known(&all[0]) {
            // The second factor has the first one's elements' neighbours, of a shared sign.
            let len = x[0].len();
            let y = select(&all[1], &(0..len).collect::<Vec<_>>());
            let (y, msb_y) = known(&y).swap_remove(1);
            check(&x, &y, out, [&msb, &msb_y]);
            check(&y, &x, out, [&msb_y, &msb]);
        }
    }
}

#[test]
fn named_products() {
    let [x, y] = matched(16, 8);
    let both = run(|engine| {
        let (x, y, none) = (&x[engine.id()], &y[engine.id()], &Msb::Unknown);
        let unsigned = engine.multiply_unsigned(x, y, 24, none, none)?;
        let signed = engine.multiply_signed(x, y, 24, none, none)?;
        Ok([unsigned, signed])
    });
    for (k, sign) in [false, true].into_iter().enumerate() {
        let got = value(&both.each_ref().map(|pair| pair[k].clone()));
        for ((got, x), y) in got.into_iter().zip(value(&x)).zip(value(&y)) {
            assert_eq!(got, product([x, y], [16, 8], [sign; 2], 24));
        }
    }
}

/// The factor of a party that knows it.
fn owned(engine: &Engine, v: &[u64], bits: u32, sign: bool, owner: usize) -> Factor<'static> {
    let values = (engine.id() == owner).then(|| &*v.to_vec().leak());
    Factor::known(sign, bits, values, owner)
}

#[test]
fn products_with_a_factor_that_a_party_knows() {
    for (m, n, out) in [
        (3, 3, 6),
        (3, 2, 7),
        (2, 3, 2),
        (16, 8, 24),
        (8, 16, 30),
        (64, 64, 64),
    ] {
        let [x, y] = match m {
            2 | 3 => crossed(&inputs(m), &inputs(n)),
            _ => matched(m, n),
        };
        let y = value(&y);
        for (owner, signs) in [
            (0, [true; 2]),
            (1, [true; 2]),
            (0, [false, true]),
            (1, [false; 2]),
        ] {
            for turned in [false, true] {
                let got = value(&run(|engine| {
                    let x = factor(&x[engine.id()], &Msb::Unknown, signs[0]);
                    let y = owned(engine, &y, n, signs[1], owner);
                    match turned {
                        false => engine.multiply(&x, &y, out),
                        true => engine.multiply(&y, &x, out),
                    }
                }));
                for ((got, x), y) in got.into_iter().zip(value(&x)).zip(&y) {
                    let expected = product([x, *y], [m, n], signs, out);
                    assert_eq!(
                        got, expected,
                        "{x} * {y}: {m}, {n} to {out} bits, {signs:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn products_of_factors_that_each_party_knows() {
    let (x, y) = (random(1, 9, 100), random(2, 13, 100));
    for owners in [[0, 1], [1, 0], [0, 0]] {
        let program = |engine: &mut Engine| -> Result<Shared, Error> {
            let x = owned(engine, &x, 9, true, owners[0]);
            let y = owned(engine, &y, 13, false, owners[1]);
            let [x, y] = engine.parts([(&x, 100), (&y, 100)], 30)?;
            engine.product(&x, &y, crate::sum::Shape::elements(100), 30, 1000)
        };
        for ((got, x), y) in value(&run(program)).into_iter().zip(&x).zip(&y) {
            assert_eq!(got, product([*x, *y], [9, 13], [true, false], 30));
        }
    }
}

#[test]
fn an_owner_without_its_factor_is_told() {
    let parties = tacit_net::memory::mesh(
        2,
        &tacit_net::LinkModel::LOCAL,
        std::time::Duration::from_secs(20),
    );
    crate::ot::ideal::run(parties, Default::default(), |engine| {
        let x = Shared::new(8, &[1]);
        let y = Factor::known(true, 8, None, engine.id());
        let got = engine.multiply(&Factor::signed(&x, &Msb::Unknown), &y, 16);
        assert!(got.is_err_and(|e| e.to_string().contains("owner must know")));
        Ok(())
    });
}
