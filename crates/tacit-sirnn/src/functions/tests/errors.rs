//! The largest errors, over all 16-bit inputs and the paper's scales.

use tacit_protocols::math::error_function;

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

/// Of every input and of both signs, the largest magnitude included; results have one value per magnitude.
#[test]
fn error_functions_are_near() {
    let mut largest = [0.0f64; 2];
    for scale in [0, 3, 6, 11, 13, 15] {
        for result in 4..=24 {
            let output = Format::new(result + 2, result);
            let erf = Erf::new(Format::new(BITS, scale), output).unwrap();
            let read = |y: u64| ((y << (62 - result)) as i64) >> (62 - result);
            let mut worst = 0.0f64;
            for x in 0..=1u64 << (BITS - 1) {
                let exact = error_function(x as f64 / f64::from(1 << scale));
                let exact = exact * f64::from(1 << result);
                let minus = read(erf.clear(x.wrapping_neg() & 0xffff));
                worst = worst.max((-minus as f64 - exact).abs());
                if x < 1 << (BITS - 1) {
                    assert_eq!(read(erf.clear(x)), -minus, "{x}, {scale} to {result}");
                }
            }
            let largest = &mut largest[usize::from(result == 24)];
            *largest = largest.max(worst);
        }
    }
    println!("{largest:?}");
    assert!(largest[0] < 1.27 && largest[1] < 1.98, "{largest:?}");
}

/// Of all inputs whose difference to the bound is a number: as near below it, and the same above.
#[test]
fn exponentials_end_at_their_bound() {
    let mut reference = Reference::new();
    let mut all = Largest::default();
    for scale in INPUT {
        let values: Vec<_> = (0..=1 << (BITS - 1))
            .map(|z| reference.functions(z, scale)[0])
            .collect();
        let highs = |result| [0i32, -1, -2, -3].map(|high| (result, high));
        for (result, high) in OUTPUT.into_iter().flat_map(highs) {
            let below = high.unsigned_abs() << scale;
            let made = Exp::up_to(
                Format::new(BITS, scale),
                Format::new(BITS, result),
                DIGIT,
                high,
            );
            if below > 1 << (BITS - 2) {
                assert!(made.is_err(), "{high} with {scale} fraction bits");
                continue;
            }
            let exp = made.unwrap();
            let end = 1i32 << (BITS - 1);
            for x in -end..end - below as i32 {
                let z = x.unsigned_abs().max(below) as usize;
                let value = if x > 0 { below as usize } else { z };
                let y = signed(exp.clear(x as u64 & 0xffff));
                all.meet(values[value].errors(y, result));
            }
        }
    }
    println!("{all:?}");
    assert!(all.int <= 3 && all.real < 3.0, "{all:?}");
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

/// The lowest power whose inverse root `bits` bits hold, from `low` on.
fn lowest(scale: u32, result: u32, bits: u32, low: i32) -> i32 {
    let half = |e: i32| -e.div_euclid(2);
    let from = low.max(-(scale as i32));
    let fits = |e: &i32| half(*e) + (result as i32) < bits as i32;
    (from..).find(fits).unwrap_or(from)
}

/// Of every argument from 0 on: within the bound of the span, and below between the largest result
/// and what its binade ends at.
#[test]
fn small_arguments_are_right_or_saturate() {
    for (scale, result) in pairs() {
        for (bits, low) in [(16, -3), (16, -13), (20, -6), (24, -13), (24, 0)] {
            let (input, output) = (Format::new(BITS, scale), Format::new(bits, result));
            let root = SquareRoot::inverse_from(input, output, low).unwrap();
            let inverse = Inverse::new(input, output, low).unwrap();
            let from = lowest(scale, result, bits, low);
            let deepest = (result as i32 + 2 - bits as i32)
                .max(-(scale as i32))
                .max(low);
            let one = f64::from(1 << result);
            for x in 0..1u64 << (BITS - 1) {
                let real = x as f64 / f64::from(1 << scale);
                let exact = |from: i32| real.max(f64::from(from).exp2());
                let (y, z) = (root.clear(x) as f64, inverse.clear(x) as f64);
                let expected = one / exact(from).sqrt();
                let units = 4.4 + expected / 1024.0;
                let least = if real < f64::from(from).exp2() {
                    std::f64::consts::FRAC_1_SQRT_2
                } else {
                    1.0
                };
                let near = least * expected - units <= y && y <= expected + units;
                assert!(
                    near,
                    "1 / sqrt({x}): {y}, {expected}, {scale} -> {result}, {bits}, {low}"
                );
                let expected = one / exact(deepest);
                let units = 1.5 + expected / 1024.0;
                let least = if real < f64::from(deepest).exp2() {
                    0.5
                } else {
                    1.0
                };
                let near = least * expected - units <= z && z <= expected + units;
                assert!(
                    near,
                    "1 / {x}: {z}, {expected}, {scale} -> {result}, {bits}, {low}"
                );
            }
        }
    }
}

/// Even powers of two have the largest results: none has the width's sign bit.
#[test]
fn the_largest_results_have_no_sign() {
    for result in 4..=28 {
        let (input, output) = (Format::new(36, 20), Format::new(result + 11, result));
        let root = SquareRoot::inverse(input, output).unwrap();
        for x in (0..=34).step_by(2).map(|k| 1 << k).chain([0, 2, 3]) {
            assert!(root.clear(x) >> (output.bits - 1) == 0, "{result}: {x}");
        }
    }
}

/// A root of 0 is 0.
#[test]
fn the_root_of_nothing() {
    for (scale, result) in pairs() {
        let root = SquareRoot::new(Format::new(BITS, scale), Format::new(BITS, result)).unwrap();
        assert_eq!(root.clear(0), 0);
    }
}
