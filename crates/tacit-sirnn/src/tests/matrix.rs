//! Matrix products and convolutions.

use super::*;
use crate::sum::Shape;
use crate::{Factor, product_bits};
use tacit_algebra::{BatchMatMul, Conv2d, MatMul, batch_matmul_acc, conv2d_acc, matmul_acc};

fn number(v: &[u64], bits: u32, sign: bool) -> Vec<u64> {
    v.iter()
        .map(|v| if sign { signed(*v, bits) as u64 } else { *v })
        .collect()
}

/// Who holds the factors.
#[derive(Clone, Copy, Debug)]
enum Known {
    Neither,
    Left(usize),
    Right(usize),
}

const HOLDERS: [Known; 5] = [
    Known::Neither,
    Known::Left(0),
    Known::Left(1),
    Known::Right(0),
    Known::Right(1),
];

struct Case {
    m: u32,
    n: u32,
    signs: [bool; 2],
    known: Known,
}

/// Calls `f` with the party's factors for the values.
fn with_factors<T>(
    id: usize,
    case: &Case,
    values: &[Vec<u64>; 2],
    f: impl FnOnce(&Factor, &Factor) -> T,
) -> T {
    let [x, y] = [
        share(case.m, &values[0], 7)[id].clone(),
        share(case.n, &values[1], 8)[id].clone(),
    ];
    let none = Msb::Unknown;
    let shared = |x, sign| match sign {
        true => Factor::signed(x, &none),
        false => Factor::unsigned(x, &none),
    };
    let (mut left, mut right) = (shared(&x, case.signs[0]), shared(&y, case.signs[1]));
    let own = |k: usize, owner| (id == owner).then_some(values[k].as_slice());
    match case.known {
        Known::Neither => (),
        Known::Left(p) => left = Factor::known(case.signs[0], case.m, own(0, p), p),
        Known::Right(p) => right = Factor::known(case.signs[1], case.n, own(1, p), p),
    }
    f(&left, &right)
}

fn cases() -> impl Iterator<Item = Case> {
    let widths = [(8, 8), (5, 16), (16, 5), (1, 4)];
    HOLDERS.into_iter().flat_map(move |known| {
        widths.into_iter().enumerate().map(move |(i, (m, n))| {
            let signs = [[true; 2], [false; 2], [true, false], [false, true]][i];
            Case { m, n, signs, known }
        })
    })
}

#[test]
fn matrix_products() {
    for case in cases() {
        for (m, k, n) in [
            (1, 1, 1),
            (3, 5, 2),
            (2, 4, 9),
            (7, 1, 3),
            (0, 2, 2),
            (1, 9, 0),
        ] {
            let shape = MatMul { m, k, n };
            let values = [random(1, case.m, m * k), random(2, case.n, k * n)];
            for out in [product_bits(case.m, case.n, k), case.m + case.n, case.m, 2] {
                let got = value(&run(|engine| {
                    with_factors(engine.id(), &case, &values, |x, y| {
                        engine.matmul(x, y, shape, out)
                    })
                }));
                let mut expected = vec![0; m * n];
                let x = number(&values[0], case.m, case.signs[0]);
                let y = number(&values[1], case.n, case.signs[1]);
                matmul_acc(&mut expected, &x, &y, shape);
                let known = case.known;
                assert!(
                    got == vec::low_bits(&expected, out),
                    "{shape:?} {known:?} {out}"
                );
            }
        }
    }
}

#[test]
fn matrix_products_side_by_side() {
    for case in cases() {
        for (batch, m, k, n) in [(1, 2, 3, 4), (3, 2, 4, 5), (4, 1, 2, 1), (0, 1, 1, 1)] {
            let each = MatMul { m, k, n };
            let shape = BatchMatMul { batch, each };
            let values = [
                random(1, case.m, shape.left()),
                random(2, case.n, shape.right()),
            ];
            for out in [product_bits(case.m, case.n, k), case.m] {
                let got = value(&run(|engine| {
                    with_factors(engine.id(), &case, &values, |x, y| {
                        engine.batch_matmul(x, y, shape, out)
                    })
                }));
                let mut expected = vec![0; shape.outputs()];
                let x = number(&values[0], case.m, case.signs[0]);
                let y = number(&values[1], case.n, case.signs[1]);
                batch_matmul_acc(&mut expected, &x, &y, shape);
                let known = case.known;
                assert!(
                    got == vec::low_bits(&expected, out),
                    "{shape:?} {known:?} {out}"
                );
            }
        }
    }
}

#[test]
fn parts_of_rows_are_the_whole() {
    let case = |known| Case {
        m: 8,
        n: 8,
        signs: [true; 2],
        known,
    };
    let (rows, inner, cols) = (5, 6, 7);
    let values = [random(1, 8, rows * inner), random(2, 8, inner * cols)];
    let shape = Shape {
        rows,
        groups: 1,
        inner,
        cols,
    };
    for known in HOLDERS {
        let [once, often] = [1 << 24, 700].map(|limit| {
            value(&run(|engine| {
                with_factors(engine.id(), &case(known), &values, |x, y| {
                    let [x, y] = engine.parts([(x, 30), (y, 42)], 19)?;
                    engine.product(&x, &y, shape, 19, limit)
                })
            }))
        });
        assert_eq!(once, often, "{known:?}");
    }
}

#[test]
fn convolutions() {
    let dense = Conv2d {
        batch: 2,
        channels: 3,
        height: 5,
        width: 4,
        filters: 2,
        kernel: [3, 2],
        stride: [2, 1],
        pad: [1, 0, 1, 1],
        dilation: [1, 1],
        groups: 1,
    };
    let grouped = Conv2d {
        channels: 4,
        filters: 6,
        groups: 2,
        ..dense
    };
    let depthwise = Conv2d {
        channels: 4,
        filters: 4,
        groups: 4,
        ..dense
    };
    for case in cases() {
        for shape in [dense, grouped, depthwise] {
            let values = [
                random(1, case.m, shape.input_len()),
                random(2, case.n, shape.weight_len()),
            ];
            for out in [product_bits(case.m, case.n, 18), case.m + case.n - 2] {
                let got = value(&run(|engine| {
                    with_factors(engine.id(), &case, &values, |x, w| {
                        engine.conv2d(x, w, &shape, out)
                    })
                }));
                let mut expected = vec![0; shape.output_len()];
                let x = number(&values[0], case.m, case.signs[0]);
                let w = number(&values[1], case.n, case.signs[1]);
                conv2d_acc(&mut expected, &x, &w, &shape);
                let (known, groups) = (case.known, shape.groups);
                assert!(
                    got == vec::low_bits(&expected, out),
                    "{groups} groups, {known:?}, {out} bits"
                );
            }
        }
    }
}
