//! Matrix products and convolutions with secret, reusable and public operands.

use super::*;

/// A matrix product and a convolution with bias, secret and public weights.
pub fn linear_layers(s: &dyn Subject) {
    let shape = MatMul { m: 5, k: 7, n: 3 };
    let (x, w, bias) = (noise(3, 35), noise(4, 21), noise(5, 3));
    let x: Vec<i64> = x.into_iter().map(|v| v >> 20).collect();
    let mut want = vec![0i64; 15];
    for (i, out) in want.iter_mut().enumerate() {
        let (row, col) = (i / 3, i % 3);
        let term = |k: usize| i128::from(x[row * 7 + k]) * i128::from(w[k * 3 + col]);
        *out = s.wrap(i128::from(bias[col]) + (0..7).map(term).sum::<i128>());
    }
    for public in [false, true] {
        let calls = linear_calls(public, Bilinear::MatMul(shape));
        let opened = apply(s, &calls, &x, |machine, x| {
            let [w, bias] = operands(machine, public, &w, &bias)?;
            machine.matmul(x, &w, Some(&bias), shape, 0)
        });
        assert_eq!(
            opened,
            want,
            "matmul, public weights: {public}, {}",
            s.name()
        );
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
    let x: Vec<i64> = x.into_iter().map(|v| v >> 20).collect();
    let want = naive_conv(s, &conv, &x, &w, &bias);
    for public in [false, true] {
        let calls = linear_calls(public, Bilinear::Conv2d(conv));
        let opened = apply(s, &calls, &x, |machine, x| {
            let [w, bias] = operands(machine, public, &w, &bias)?;
            machine.conv2d(x, &w, Some(&bias), &conv, 0)
        });
        assert_eq!(
            opened,
            want,
            "convolution, public weights: {public}, {}",
            s.name()
        );
    }
}

/// Matrix products side by side, with a bias, by secret and public factors, in one call.
pub fn batched_products(s: &dyn Subject) {
    let each = MatMul { m: 3, k: 5, n: 2 };
    let shape = BatchMatMul { batch: 4, each };
    let (x, w, bias) = (noise(13, 60), noise(14, 40), noise(15, 2));
    let x: Vec<i64> = x.into_iter().map(|v| v >> 20).collect();
    let element = |i: usize| {
        let (at, row, col) = (i / 6, i / 2 % 3, i % 2);
        let left = |k: usize| i128::from(x[(at * 3 + row) * 5 + k]);
        let right = |k: usize| i128::from(w[(at * 5 + k) * 2 + col]);
        let sum = (0..5).map(|k| left(k) * right(k)).sum::<i128>();
        s.wrap(i128::from(bias[col]) + sum)
    };
    let want: Vec<i64> = (0..24).map(element).collect();
    for public in [false, true] {
        let map = Bilinear::BatchMatMul(shape);
        let calls = linear_calls(public, map);
        let opened = apply(s, &calls, &x, |machine, x| {
            let [w, bias] = operands(machine, public, &w, &bias)?;
            machine.linear(x, &w, Some(&bias), &map, 0, None)
        });
        assert_eq!(opened, want, "public factors: {public}, {}", s.name());
    }
}

/// The calls of a product that is not truncated.
fn linear_calls(public: bool, map: Bilinear) -> Vec<Call> {
    let (reused, trunc) = (None, 0);
    match public {
        true => vec![],
        false => vec![Call::Product {
            map,
            reused,
            known_to: None,
            trunc,
            bits: None,
        }],
    }
}

/// Weights and bias, public or shared by the last party.
fn operands(
    machine: &mut Erased,
    public: bool,
    w: &[i64],
    bias: &[i64],
) -> Result<[Operand<Handle>; 2], Error> {
    if public {
        return Ok([w, bias].map(|values| Operand::Public(values.into())));
    }
    let last = machine.party().parties() - 1;
    let owns = machine.party().id() == last;
    let w = machine.input(last, w.len(), owns.then_some(w))?;
    let bias = machine.input(last, bias.len(), owns.then_some(bias))?;
    Ok([w, bias].map(Operand::Secret))
}

/// One channel, 3 x 3, stride 1, pad 1, from the definition.
fn naive_conv(s: &dyn Subject, shape: &Conv2d, x: &[i64], w: &[i64], bias: &[i64]) -> Vec<i64> {
    let mut out = Vec::new();
    for image in 0..shape.batch {
        for (filter, &bias) in bias.iter().enumerate() {
            for (row, col) in (0..4i64).flat_map(|r| (0..4i64).map(move |c| (r, c))) {
                let mut sum = i128::from(bias);
                for (dr, dc) in (0..3i64).flat_map(|r| (0..3i64).map(move |c| (r, c))) {
                    let (r, c) = (row + dr - 1, col + dc - 1);
                    if (0..4).contains(&r) && (0..4).contains(&c) {
                        let pixel = x[image * 16 + (r * 4 + c) as usize];
                        sum +=
                            i128::from(pixel) * i128::from(w[filter * 9 + (dr * 3 + dc) as usize]);
                    }
                }
                out.push(s.wrap(sum));
            }
        }
    }
    out
}
