//! The largest errors, over all 16-bit inputs and the paper's scales.

use super::super::*;
use super::reference::{self, Real, Reference};

const BITS: u32 = 16;
const INPUT: [u32; 5] = [6, 8, 11, 12, 13];
const OUTPUT: [u32; 6] = [6, 8, 11, 12, 13, 14];

/// The largest errors met.
#[derive(Clone, Copy, Debug, Default)]
struct Largest {
    int: u64,
    real: f64,
}

impl Largest {
    fn meet(&mut self, (int, real): (u64, f64)) {
        self.int = self.int.max(int);
        self.real = self.real.max(real.abs());
    }
}

fn signed(y: u64) -> i64 {
    i64::from(y as i16)
}

/// `reference[z]` is `[exp(-z), sigmoid(z), tanh(z)]`.
fn largest(scale: u32, reference: &[[Real; 3]], result: u32) -> [Largest; 3] {
    let (input, output) = (Format::new(BITS, scale), Format::new(BITS, result));
    let exp = Exp::new(input, output, DIGIT).unwrap();
    let sigmoid = Sigmoid::new(input, output, DIGIT).unwrap();
    let tanh = Tanh::new(input, output, DIGIT).unwrap();
    let mut met = [Largest::default(); 3];
    for (z, [e, s, t]) in reference.iter().enumerate() {
        let (plus, minus) = (z as u64, (z as u64).wrapping_neg() & 0xffff);
        met[0].meet(e.errors(signed(exp.clear(minus)), result));
        met[1].meet(s.complement().errors(signed(sigmoid.clear(minus)), result));
        met[2].meet(t.errors(-signed(tanh.clear(minus)), result));
        if plus < 1 << (BITS - 1) {
            met[1].meet(s.errors(signed(sigmoid.clear(plus)), result));
            met[2].meet(t.errors(signed(tanh.clear(plus)), result));
        }
    }
    met
}

#[test]
fn exponentials_sigmoids_and_tanhs_are_as_near_as_the_papers() {
    let mut reference = Reference::new();
    let mut all = [Largest::default(); 3];
    for scale in INPUT {
        let values: Vec<_> = (0..=1 << (BITS - 1))
            .map(|z| reference.functions(z, scale))
            .collect();
        for result in OUTPUT {
            let met = largest(scale, &values, result);
            for (all, met) in all.iter_mut().zip(met) {
                all.meet((met.int, met.real));
            }
        }
    }
    println!("{all:?}");
    assert!(
        all[0].int <= 3 && all[1].int <= 4 && all[2].int <= 4,
        "{all:?}"
    );
}

/// The largest errors of `root` over positive 16-bit inputs from 0.1 on, in units of `unit`
/// of the result.
fn largest_root(scale: u32, result: u32, inverse: bool, unit: fn(f64) -> f64) -> Largest {
    let (input, output) = (Format::new(BITS, scale), Format::new(BITS, result));
    let root = match inverse {
        true => SquareRoot::inverse(input, output).unwrap(),
        false => SquareRoot::new(input, output).unwrap(),
    };
    let mut met = Largest::default();
    for x in (1u64 << scale).div_ceil(10)..1 << (BITS - 1) {
        let (whole, real) = reference::root(x, scale, result, inverse);
        if whole >> (BITS - 1) == 0 {
            let y = signed(root.clear(x));
            let unit = unit(real / f64::from(1 << result));
            met.meet(((y - whole).unsigned_abs(), (y as f64 - real) / unit));
        }
    }
    met
}

fn pairs() -> impl Iterator<Item = (u32, u32)> {
    INPUT.iter().flat_map(|s| OUTPUT.map(|r| (*s, r)))
}

#[test]
fn inverse_roots_are_as_near_as_the_papers() {
    let mut all = Largest::default();
    for (scale, result) in pairs() {
        let met = largest_root(scale, result, true, |_| 1.0);
        all.meet((met.int, met.real));
    }
    println!("{all:?}");
    assert!(all.int <= 4 && all.real < 4.4, "{all:?}");
}

#[test]
fn roots_lose_as_much_as_they_are_large() {
    let mut all = Largest::default();
    for (scale, result) in pairs() {
        let met = largest_root(scale, result, false, |root| root.max(1.0));
        all.meet((0, met.real));
    }
    println!("{all:?}");
    assert!(all.real < 2.5, "{all:?}");
}

/// An inverse root's error grows with the result.
#[test]
fn inverses_lose_units_and_a_share_of_themselves() {
    let mut largest = 0.0f64;
    for (scale, result) in pairs() {
        for low in [-3, 0] {
            let (input, output) = (Format::new(BITS, scale), Format::new(20, result));
            let inverse = Inverse::new(input, output, low).unwrap();
            let first = (1u64 << scale) >> -low;
            for x in first..1 << (BITS - 1) {
                let exact = f64::exp2(f64::from(scale + result)) / x as f64;
                let error = (inverse.clear(x) as f64 - exact).abs();
                largest = largest.max(error - exact / 4096.0);
            }
        }
    }
    println!("{largest}");
    assert!(largest < 1.5, "{largest}");
}
