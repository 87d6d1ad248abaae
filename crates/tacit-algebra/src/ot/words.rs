//! Local steps on shares of any width: parts of words, shapes of tensors, products by groups.

use bytemuck::Pod;

use crate::fresh::build;
use crate::isa::{self, simd};
use crate::patches::Patches;
use crate::{Bits, Conv2d, MatMul, Ring, matmul_acc, par, vec};

simd! {
    fn field_into(out: &mut [u64], a: &[u64], shift: u32, mask: u64) {
        for (o, a) in out.iter_mut().zip(a) {
            *o = (a >> shift) & mask;
        }
    }

    fn complement_into(out: &mut [u64], a: &[u64], mask: u64) {
        for (o, a) in out.iter_mut().zip(a) {
            *o = !a & mask;
        }
    }

    fn bit_into(words: &mut [u64], a: &[u64], at: u32) {
        for (word, a) in words.iter_mut().zip(a.chunks(64)) {
            *word = 0;
            for (j, a) in a.iter().enumerate() {
                *word |= (a >> at & 1) << j;
            }
        }
    }

    fn add_scaled_to(acc: &mut [u64], a: &[u64], k: u64) {
        for (acc, a) in acc.iter_mut().zip(a) {
            *acc = acc.wrapping_add(a.wrapping_mul(k));
        }
    }
}

/// `2^bits - 1`, `1 <= bits <= 64`.
fn mask(bits: u32) -> u64 {
    u64::MAX >> (64 - bits)
}

/// The `bits` bits of every element from bit `from` on, `1 <= bits` and `from < 64`.
pub fn field(a: &[u64], from: u32, bits: u32) -> Vec<u64> {
    let isa = isa::current();
    build(a.len(), |s, out| {
        field_into(isa, out, &a[s..s + out.len()], from, mask(bits))
    })
}

/// `2^bits - 1 - a` of elements below `2^bits`.
pub fn complement(a: &[u64], bits: u32) -> Vec<u64> {
    let isa = isa::current();
    build(a.len(), |s, out| {
        complement_into(isa, out, &a[s..s + out.len()], mask(bits))
    })
}

/// Bit `at` of every element.
pub fn bit(a: &[u64], at: u32) -> Bits {
    let isa = isa::current();
    let words = build(a.len().div_ceil(64), |s, words| {
        bit_into(isa, words, &a[64 * s..], at)
    });
    Bits::from_words(a.len(), words)
}

/// `acc += k a`.
pub fn add_scaled(acc: &mut [u64], a: &[u64], k: u64) {
    assert_eq!(acc.len(), a.len());
    let isa = isa::current();
    par::for_each(acc, |s, acc| {
        add_scaled_to(isa, acc, &a[s..s + acc.len()], k)
    });
}

/// Row `j` of the result is row `j % R` of the `R` given ones of `lanes` elements, negated where
/// `signs` has a 1 at `j`.
pub fn negate_rows(signs: &Bits, rows: &[u64], lanes: usize) -> Vec<u64> {
    let mut out = vec![0; signs.len() * lanes];
    if out.is_empty() {
        return out;
    }
    let (count, signs) = (rows.len() / lanes, signs.expand_ring::<u64>());
    par::for_each_strip(&mut out, lanes, lanes, |j, strip| {
        let sign = signs[j].wrapping_neg();
        let row = &rows[j % count * lanes..][..lanes];
        for (o, v) in strip.iter_mut().zip(row) {
            *o = (v ^ sign).wrapping_sub(sign);
        }
    });
    out
}

/// A tensor's axes in another order: axis `i` of the result is axis `order[i]` of `a`.
pub fn permute<T: Pod + Send + Sync>(a: &[T], dims: [usize; 4], order: [usize; 4]) -> Vec<T> {
    assert_eq!(a.len(), dims.iter().product());
    let mut out = vec![T::zeroed(); a.len()];
    if out.is_empty() {
        return out;
    }
    let strides = [dims[1] * dims[2] * dims[3], dims[2] * dims[3], dims[3], 1];
    let ([.., d1, d2, d3], s) = (order.map(|i| dims[i]), order.map(|i| strides[i]));
    par::for_each_strip(&mut out, d3, d3, |i, strip| {
        let at = i / (d1 * d2) * s[0] + i / d2 % d1 * s[1] + i % d2 * s[2];
        if s[3] == 1 {
            return strip.copy_from_slice(&a[at..][..d3]);
        }
        for (o, v) in strip.iter_mut().zip(a[at..].iter().step_by(s[3])) {
            *o = *v;
        }
    });
    out
}

/// The patches of a convolution as matrices, one per group: the rows are what a tap of the kernel
/// meets, the columns the positions of all images.
pub fn im2col<R: Ring>(x: &[R], shape: &Conv2d) -> Vec<R> {
    assert_eq!(x.len(), shape.input_len());
    let positions = shape.batch * shape.out_height() * shape.out_width();
    let inputs = shape.channels / shape.groups;
    let taps = inputs * shape.kernel[0] * shape.kernel[1];
    let mut out = vec![R::ZERO; shape.groups * taps * positions];
    if out.is_empty() {
        return out;
    }
    let groups: Vec<_> = (0..shape.groups)
        .map(|group| Patches::new(x, shape, group * inputs, inputs))
        .collect();
    par::for_each_strip(&mut out, positions, positions, |i, strip| {
        groups[i / taps].row(i % taps, strip)
    });
    out
}

/// Products of `x`, a tensor of `[rows][groups][inner]`, and `y` of `[groups][inner][cols]`, group
/// by group: `[rows][groups][cols]`.
pub fn group_products(x: &[u64], y: &[u64], [m, groups, k, n]: [usize; 4]) -> Vec<u64> {
    if m == 1 && k == 1 && n == 1 {
        return vec::mul(x, y);
    }
    let shape = MatMul { m, k, n };
    let mut out = vec![0; m * groups * n];
    if groups == 1 {
        matmul_acc(&mut out, x, y, shape);
        return out;
    }
    if out.is_empty() || k == 0 {
        return out;
    }
    let x = permute(x, [1, m, groups, k], [0, 2, 1, 3]);
    for ((out, x), y) in out
        .chunks_exact_mut(m * n)
        .zip(x.chunks_exact(m * k))
        .zip(y.chunks_exact(k * n))
    {
        matmul_acc(out, x, y, shape);
    }
    permute(&out, [1, groups, m, n], [0, 2, 1, 3])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Prg;
    use crate::isa::same_everywhere;

    const LENGTHS: [usize; 6] = [0, 1, 63, 65, 1001, 70_001];

    #[test]
    fn parts_of_words() {
        for n in LENGTHS {
            let [a, b] = [1, 2].map(|seed| Prg::new([seed; 16]).ring::<u64>(n));
            for (from, bits) in [(0, 64), (3, 4), (60, 4), (63, 1), (1, 63)] {
                let got = same_everywhere(|| field(&a, from, bits));
                assert!((0..n).all(|i| got[i] == a[i] >> from & mask(bits)));
                let low = field(&a, 0, bits);
                let got = same_everywhere(|| complement(&low, bits));
                assert!((0..n).all(|i| got[i] == mask(bits) - low[i]));
                let got = same_everywhere(|| bit(&a, from));
                assert!(got == Bits::from_fn(n, |i| a[i] >> from & 1 == 1));
            }
            let got = same_everywhere(|| {
                let mut acc = a.clone();
                add_scaled(&mut acc, &b, 77);
                acc
            });
            assert!((0..n).all(|i| got[i] == a[i].wrapping_add(b[i].wrapping_mul(77))));
        }
    }

    #[test]
    fn rows_are_repeated_and_negated() {
        for (n, lanes, count) in [(0, 3, 4), (12, 3, 4), (40_000, 1, 40_000), (9, 700, 3)] {
            let signs = Prg::new([1; 16]).bits(n);
            let rows = Prg::new([2; 16]).ring::<u64>(count * lanes);
            let got = negate_rows(&signs, &rows, lanes);
            assert_eq!(got.len(), n * lanes);
            for (at, got) in got.iter().enumerate() {
                let v = rows[at / lanes % count * lanes + at % lanes];
                assert_eq!(*got, [v, v.wrapping_neg()][signs.get(at / lanes) as usize]);
            }
        }
    }

    #[test]
    fn axes_in_every_order() {
        let dims = [3, 4, 5, 7];
        let a: Vec<u32> = (0..dims.iter().product::<usize>() as u32).collect();
        for order in [[0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2], [2, 0, 3, 1]] {
            let got = permute(&a, dims, order);
            let mut at = [0; 4];
            for (i, got) in got.iter().enumerate() {
                let mut rest = i;
                for axis in (0..4).rev() {
                    at[order[axis]] = rest % dims[order[axis]];
                    rest /= dims[order[axis]];
                }
                let from = ((at[0] * dims[1] + at[1]) * dims[2] + at[2]) * dims[3] + at[3];
                assert_eq!(*got, a[from]);
            }
        }
        assert!(permute::<u64>(&[], [1, 0, 2, 3], [3, 2, 1, 0]).is_empty());
    }

    #[test]
    fn products_by_groups() {
        for [m, g, k, n] in [
            [1, 9, 1, 1],
            [3, 1, 4, 5],
            [3, 4, 2, 5],
            [1, 7, 3, 1],
            [0, 2, 1, 3],
        ] {
            let x = Prg::new([1; 16]).ring::<u64>(m * g * k);
            let y = Prg::new([2; 16]).ring::<u64>(g * k * n);
            let got = group_products(&x, &y, [m, g, k, n]);
            assert_eq!(got.len(), m * g * n);
            for (at, got) in got.iter().enumerate() {
                let (row, group, col) = (at / (g * n), at / n % g, at % n);
                let sum = (0..k).fold(0u64, |sum, t| {
                    let x = x[(row * g + group) * k + t];
                    sum.wrapping_add(x.wrapping_mul(y[(group * k + t) * n + col]))
                });
                assert_eq!(*got, sum);
            }
        }
    }

    #[test]
    fn patches_times_weights_are_convolutions() {
        let shape = Conv2d {
            batch: 2,
            channels: 4,
            height: 7,
            width: 6,
            filters: 6,
            kernel: [3, 2],
            stride: [2, 1],
            pad: [1, 0, 2, 1],
            dilation: [1, 2],
            groups: 2,
        };
        let x = Prg::new([1; 16]).ring::<u64>(shape.input_len());
        let w = Prg::new([2; 16]).ring::<u64>(shape.weight_len());
        let plane = shape.out_height() * shape.out_width();
        let patches = im2col(&x, &shape);
        let (m, k, n) = (3, 12, 2 * plane);
        let w_rows = permute(&w, [1, 2, m, k], [0, 2, 1, 3]);
        let got = group_products(&w_rows, &patches, [m, 2, k, n]);
        let got = permute(&got, [m, 2, 2, plane], [2, 1, 0, 3]);
        let mut expected = vec![0; shape.output_len()];
        crate::conv2d_acc(&mut expected, &x, &w, &shape);
        assert!(got == expected);
        let bytes: Vec<u8> = vec::convert(&x);
        assert!(im2col(&bytes, &shape) == vec::convert::<u64, u8>(&patches));
    }
}
