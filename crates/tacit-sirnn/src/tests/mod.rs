//! The building blocks against their definitions: at small widths over all pairs of shares, at
//! large ones at the edges and at random; each run is counted too and the count held against the
//! meters.

mod compare;
mod convert;
mod digits;
mod matrix;
mod multiply;
mod privacy;
mod relu;
mod traffic;
mod width;

use tacit_algebra::{Bits, Prg, vec};

use crate::ot::ideal::counted as run;
use crate::{Msb, Shared};

/// Widths over all pairs of shares, and larger ones.
const WIDTHS: [u32; 12] = [1, 2, 3, 4, 5, 6, 8, 16, 21, 32, 37, 64];

fn low(v: u64, bits: u32) -> u64 {
    v & (u64::MAX >> (64 - bits))
}

fn signed(v: u64, bits: u32) -> i64 {
    ((v << (64 - bits)) as i64) >> (64 - bits)
}

fn random(seed: u8, bits: u32, n: usize) -> Vec<u64> {
    vec::low_bits(&Prg::new([seed; 16]).ring(n), bits)
}

/// Pairs of numbers: all of them at 6 bits or less, else those of edges and some random ones.
fn pairs(bits: u32) -> [Vec<u64>; 2] {
    let mut some: Vec<u64> = match bits {
        ..=6 => (0..1 << bits).collect(),
        _ => {
            let (half, one) = (1 << (bits - 1), 1u64);
            let edges = [
                0,
                1,
                2,
                half - 1,
                half,
                half + 1,
                one.wrapping_neg(),
                15,
                16,
            ];
            edges.map(|v| low(v, bits)).to_vec()
        }
    };
    let all = |some: &[u64]| {
        let n = some.len();
        [vec::tile(some, n, 1), vec::tile(some, 1, n)]
    };
    let mut both = all(&some);
    if bits > 6 {
        some = random(1, bits, 203);
        both[0].extend(&some);
        both[1].extend(random(2, bits, 203));
    }
    both
}

/// Tensors with the shares of [`pairs`].
fn inputs(bits: u32) -> [Shared; 2] {
    pairs(bits).map(|values| Shared { bits, values })
}

/// Both parties' shares of a tensor.
fn share(bits: u32, values: &[u64], seed: u8) -> [Shared; 2] {
    let ours = random(seed, bits, values.len());
    let theirs = vec::sub(values, &ours);
    [ours, theirs].map(|v| Shared::new(bits, &v))
}

/// The value of a shared tensor.
fn value(x: &[Shared; 2]) -> Vec<u64> {
    assert_eq!(x[0].bits, x[1].bits);
    x[0].add(&x[1]).values
}

fn both_bits(b: &[Bits; 2]) -> Vec<bool> {
    let all = b[0].xor(&b[1]);
    (0..all.len()).map(|i| all.get(i)).collect()
}

/// Elements of a tensor, by number.
fn select(x: &[Shared; 2], at: &[usize]) -> [Shared; 2] {
    x.clone().map(|x| Shared {
        values: at.iter().map(|&i| x.values[i]).collect(),
        ..x
    })
}

/// The inputs with what can be known of their top bits: all with nothing and with shares of it,
/// and those of either sign with the public sign.
fn known(x: &[Shared; 2]) -> Vec<([Shared; 2], [Msb; 2])> {
    let bits = x[0].bits;
    let tops: Vec<bool> = value(x).iter().map(|v| v >> (bits - 1) == 1).collect();
    let mask = Prg::new([9; 16]).bits(tops.len());
    let other = Bits::from_fn(tops.len(), |i| tops[i] != mask.get(i));
    let of = |sign: bool| {
        let at: Vec<usize> = (0..tops.len()).filter(|&i| tops[i] == sign).collect();
        (select(x, &at), [Msb::Public(sign), Msb::Public(sign)])
    };
    vec![
        (x.clone(), [Msb::Unknown, Msb::Unknown]),
        (x.clone(), [Msb::Shared(mask), Msb::Shared(other)]),
        of(false),
        of(true),
    ]
}

/// All elements, and few of them: batches of 0, 1 and 7.
fn batches(x: &[Shared; 2]) -> Vec<[Shared; 2]> {
    let n = x[0].len();
    let few = |count| select(x, &(0..count).map(|i| i * 37 % n).collect::<Vec<_>>());
    vec![x.clone(), few(0), few(1), few(7)]
}
