//! Falcon against clear-text arithmetic: exhaustive on the 8-bit ring, edges and random values on
//! the others.

use crate::common::{apply, falcon, falcon_as, noise, wrap};
use tacit_algebra::Ring;
use tacit_protocols::falcon::{Falcon, Truncation};
use tacit_protocols::machine::{Audience, Call, Conv2d, Machine, MatMul, Operand};

/// Every value of a small ring many times over, or edges and noise of a big one.
fn values<R: Ring>() -> Vec<i64> {
    if R::BITS == 8 {
        return (0..256 * 256).map(|i| wrap::<R>(i)).collect();
    }
    let top = 1i128 << (R::BITS - 1);
    let edges = [
        0,
        1,
        -1,
        2,
        -2,
        top - 1,
        top - 2,
        -top,
        -top + 1,
        top / 2,
        -top / 2,
        top / 2 - 1,
    ];
    let mut values: Vec<i64> = edges.iter().flat_map(|&e| [e as i64; 40]).collect();
    values.extend(
        noise(u64::from(R::BITS), 20_000)
            .into_iter()
            .map(|v| wrap::<R>(v)),
    );
    values.extend(noise(7, 5_000).into_iter().map(|v| v % 100));
    values
}

fn signs_are_exact<R: Ring>() {
    let x = values::<R>();
    let n = x.len();
    let relu = apply::<R>(Truncation::Gap, &[Call::Relu { n }], &x, |machine, x| {
        machine.relu(x)
    });
    let want: Vec<i64> = x.iter().map(|&v| v.max(0)).collect();
    assert_eq!(relu, want, "ReLU over {} bits", R::BITS);

    let calls = [Call::Drelu { n }, Call::Select { n }];
    let chosen = apply::<R>(Truncation::Gap, &calls, &x, |machine, x| {
        let bit = machine.drelu(x)?;
        let (zero, one) = (machine.constant(&vec![0; n]), machine.constant(&vec![1; n]));
        machine.select(&bit, &zero, &one)
    });
    let want: Vec<i64> = x.iter().map(|&v| i64::from(v >= 0)).collect();
    assert_eq!(chosen, want, "DReLU over {} bits", R::BITS);
}

#[test]
fn signs_are_exact_over_8_bits_exhaustively() {
    signs_are_exact::<u8>();
}

#[test]
fn signs_are_exact_over_16_bits() {
    signs_are_exact::<u16>();
}

#[test]
fn signs_are_exact_over_32_bits() {
    signs_are_exact::<u32>();
}

#[test]
fn signs_are_exact_over_64_bits() {
    signs_are_exact::<u64>();
}

/// Narrow signs are exact over their whole range, and beyond it they are those of the low word:
/// what the planner must keep values from.
#[test]
fn narrow_signs_are_exact_within_32_bits() {
    let edge = 1i64 << 31;
    let mut x = vec![
        0,
        1,
        -1,
        edge - 1,
        -edge,
        edge - 2,
        1 - edge,
        edge,
        -edge - 1,
    ];
    x.extend(noise(11, 20_000).into_iter().map(|v| v >> 32));
    let n = x.len();
    let opened = falcon_as::<u64, _>(Truncation::Gap, Falcon::with_narrow_signs, |machine| {
        machine.prepare(&[Call::Relu { n }, Call::Drelu { n }, Call::Select { n }])?;
        let own = (machine.party().id() == 0).then_some(&x[..]);
        let share = machine.input(0, n, own)?;
        let relu = machine.relu(&share)?;
        let bit = machine.drelu(&share)?;
        let (zero, one) = (machine.constant(&vec![0; n]), machine.constant(&vec![1; n]));
        let sign = machine.select(&bit, &zero, &one)?;
        let both = machine.concat(&[&relu, &sign]);
        machine.reveal(&both, Audience::All)
    });
    let opened = opened[0].as_ref().expect("all parties hear");
    for (i, &v) in x.iter().enumerate() {
        let positive = v as i32 >= 0;
        let want = (if positive { v } else { 0 }, i64::from(positive));
        assert_eq!((opened[i], opened[n + i]), want, "of {v}");
    }
}

/// All products of the 8-bit ring; noise on the others.
fn products_are_exact<R: Ring>() {
    let (x, y): (Vec<i64>, Vec<i64>) = if R::BITS == 8 {
        (0..65_536)
            .map(|i| (wrap::<R>(i >> 8), wrap::<R>(i)))
            .unzip()
    } else {
        (noise(1, 3000), noise(2, 3000))
    };
    let n = x.len();
    let product = apply::<R>(
        Truncation::Gap,
        &[Call::Product { n, trunc: 0 }],
        &x,
        |machine, share| {
            let own = (machine.party().id() == 1).then_some(&y[..]);
            let y = machine.input(1, n, own)?;
            machine.mul(share, &Operand::Secret(y), 0)
        },
    );
    let want: Vec<i64> = x
        .iter()
        .zip(&y)
        .map(|(&a, &b)| wrap::<R>(a.wrapping_mul(b)))
        .collect();
    assert_eq!(product, want);
}

#[test]
fn products_are_exact_over_every_ring() {
    products_are_exact::<u8>();
    products_are_exact::<u16>();
    products_are_exact::<u32>();
    products_are_exact::<u64>();
}

/// A matrix product and a convolution with bias, secret and public weights.
fn linear_layers_are_exact<R: Ring>() {
    let shape = MatMul { m: 5, k: 7, n: 3 };
    let (x, w, bias) = (noise(3, 35), noise(4, 21), noise(5, 3));
    let mut want = vec![0i64; 15];
    for (i, out) in want.iter_mut().enumerate() {
        let (row, col) = (i / 3, i % 3);
        let dot = (0..7).fold(bias[col], |sum, k| {
            sum.wrapping_add(x[row * 7 + k].wrapping_mul(w[k * 3 + col]))
        });
        *out = wrap::<R>(dot);
    }
    for public in [false, true] {
        let opened = apply::<R>(Truncation::Gap, &[], &x, |machine, x| {
            let (w, bias) = operands(machine, public, &w, &bias)?;
            machine.matmul(x, &w, Some(&bias), shape, 0)
        });
        assert_eq!(opened, want, "matmul, public weights: {public}");
    }

    let conv = Conv2d {
        batch: 2,
        channels: 1,
        height: 4,
        width: 4,
        filters: 2,
        kernel: [3, 3],
        stride: [1, 1],
        pad: [1, 1, 1, 1],
        dilation: [1, 1],
        groups: 1,
    };
    let (x, w, bias) = (noise(6, 32), noise(7, 18), noise(8, 2));
    let want = naive_conv::<R>(&conv, &x, &w, &bias);
    for public in [false, true] {
        let opened = apply::<R>(Truncation::Gap, &[], &x, |machine, x| {
            let (w, bias) = operands(machine, public, &w, &bias)?;
            machine.conv2d(x, &w, Some(&bias), &conv, 0)
        });
        assert_eq!(opened, want, "convolution, public weights: {public}");
    }
}

type Operands<M> = (
    Operand<<M as Machine>::Share>,
    Operand<<M as Machine>::Share>,
);

/// Weights and bias, public or shared by party 2.
fn operands<M: Machine>(
    machine: &mut M,
    public: bool,
    w: &[i64],
    bias: &[i64],
) -> Result<Operands<M>, tacit_protocols::Error> {
    if public {
        return Ok((Operand::Public(w.to_vec()), Operand::Public(bias.to_vec())));
    }
    let owns = machine.party().id() == 2;
    let w = machine.input(2, w.len(), owns.then_some(w))?;
    let bias = machine.input(2, bias.len(), owns.then_some(bias))?;
    Ok((Operand::Secret(w), Operand::Secret(bias)))
}

/// One channel, 3 x 3, stride 1, pad 1, from the definition.
fn naive_conv<R: Ring>(shape: &Conv2d, x: &[i64], w: &[i64], bias: &[i64]) -> Vec<i64> {
    let mut out = Vec::new();
    for image in 0..shape.batch {
        for (filter, &bias) in bias.iter().enumerate() {
            for (row, col) in (0..4i64).flat_map(|r| (0..4i64).map(move |c| (r, c))) {
                let mut sum = bias;
                for (dr, dc) in (0..3i64).flat_map(|r| (0..3i64).map(move |c| (r, c))) {
                    let (r, c) = (row + dr - 1, col + dc - 1);
                    if (0..4).contains(&r) && (0..4).contains(&c) {
                        let pixel = x[image * 16 + (r * 4 + c) as usize];
                        sum = sum.wrapping_add(
                            pixel.wrapping_mul(w[filter * 9 + (dr * 3 + dc) as usize]),
                        );
                    }
                }
                out.push(wrap::<R>(sum));
            }
        }
    }
    out
}

#[test]
fn linear_layers_are_exact_over_every_ring() {
    linear_layers_are_exact::<u8>();
    linear_layers_are_exact::<u32>();
    linear_layers_are_exact::<u64>();
}

#[test]
fn maxpool_takes_the_largest_of_windows_of_any_size() {
    for size in [1, 2, 3, 4, 5, 9] {
        let windows = 33;
        let x: Vec<i64> = noise(size as u64, windows * size)
            .into_iter()
            .map(|v| v % (1 << 29))
            .collect();
        let max = apply::<u32>(
            Truncation::Gap,
            &[Call::Maxpool { windows, size }],
            &x,
            |machine, x| machine.maxpool(x, windows, size),
        );
        let want: Vec<i64> = (0..windows)
            .map(|i| {
                (0..size)
                    .map(|j| x[j * windows + i])
                    .max()
                    .expect("a window")
            })
            .collect();
        assert_eq!(max, want, "windows of {size}");
    }
}

#[test]
fn values_can_be_opened_to_one_party_only() {
    for receiver in 0..3 {
        let opened = falcon::<u64, _>(Truncation::Gap, |machine| {
            let own = (machine.party().id() == 1).then_some(&[5i64, -6][..]);
            let x = machine.input(1, 2, own)?;
            machine.reveal(&x, Audience::One(receiver))
        });
        for (party, value) in opened.into_iter().enumerate() {
            assert_eq!(value, (party == receiver).then(|| vec![5, -6]));
        }
    }
}

#[test]
fn local_operations_match_clear_text() {
    let x = noise(9, 12);
    let opened = apply::<u32>(Truncation::Gap, &[], &x, |machine, x| {
        let turned = machine.gather(x, &[3, u32::MAX, 0, 11]);
        let constant = machine.constant(&[1, 2, 3, -4]);
        let sum = machine.add(&turned, &constant);
        let scaled = machine.scale(&sum, -3);
        let rest = machine.sub(&scaled, &turned);
        Ok(machine.concat(&[&rest, x]))
    });
    let turned = [x[3], 0, x[0], x[11]];
    let rest = (0..4).map(|i| {
        wrap::<u32>(
            (turned[i] + [1, 2, 3, -4][i])
                .wrapping_mul(-3)
                .wrapping_sub(turned[i]),
        )
    });
    let want: Vec<i64> = rest.chain(x.iter().map(|&v| wrap::<u32>(v))).collect();
    assert_eq!(opened, want);
}

#[test]
fn material_that_was_not_planned_is_an_error() {
    let refused = falcon::<u32, _>(Truncation::Gap, |machine| {
        machine.prepare(&[Call::Relu { n: 4 }])?;
        let x = machine.constant(&[1, 2, 3]);
        Ok((
            machine.relu(&x).err().map(|e| e.to_string()),
            machine.truncate(&x, 5).err().map(|e| e.to_string()),
        ))
    });
    for (relu, truncate) in refused {
        assert!(
            relu.expect("three elements were not planned")
                .contains("selection of 3 elements")
        );
        assert!(
            truncate
                .expect("no truncation was planned")
                .contains("truncation of 3 elements by 5 bits")
        );
    }
}
