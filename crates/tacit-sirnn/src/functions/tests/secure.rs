//! Functions of shares equal their clear-text twins bit by bit, and take what is counted.

use tacit_algebra::{Prg, vec};
use tacit_protocols::Error;

use super::super::*;
use crate::ot::ideal::counted;

/// Both parties' shares of numbers of `bits` bits.
pub fn shares(bits: u32, inputs: &[u64]) -> [Shared; 2] {
    let masks = vec::low_bits(&Prg::new([9; 16]).ring(inputs.len()), bits);
    let rest = vec::sub(inputs, &masks);
    [Shared::new(bits, &masks), Shared::new(bits, &rest)]
}

/// The numbers that a program computes shares of; it takes what is counted.
pub fn open(program: impl Fn(&mut Engine) -> Result<Shared, Error> + Sync) -> Vec<u64> {
    let [ours, theirs] = counted(program);
    ours.add(&theirs).values
}

/// Holds `apply` to `clear` at numbers of `bits` bits.
fn equal(
    bits: u32,
    inputs: &[u64],
    clear: impl Fn(u64) -> u64,
    apply: impl Fn(&mut Engine, &Shared) -> Result<Shared, Error> + Sync,
) {
    let shares = shares(bits, inputs);
    let outputs = open(|engine| apply(engine, &shares[engine.id()]));
    for (x, y) in inputs.iter().zip(outputs) {
        assert_eq!(y, clear(*x), "at {x}");
    }
}

const PAIRS: [(u32, u32); 2] = [(12, 12), (8, 14)];

fn format(scale: u32) -> Format {
    Format::new(16, scale)
}

#[test]
fn exponentials_of_all_inputs() {
    let inputs: Vec<u64> = (0..=1 << 15)
        .map(|z: u64| z.wrapping_neg() & 0xffff)
        .collect();
    for (scale, result) in PAIRS {
        let exp = Exp::new(format(scale), format(result), DIGIT).unwrap();
        equal(16, &inputs, |x| exp.clear(x), |e, x| exp.apply(e, x));
    }
}

/// All numbers, those above the bound included, but those whose difference to the bound is no number.
#[test]
fn exponentials_with_a_bound_of_all_inputs() {
    for (scale, result) in PAIRS {
        for high in [0i32, -1, -3] {
            let most = (1 << 15) - (high.unsigned_abs() << scale);
            let inputs: Vec<u64> = (0..most).chain(1 << 15..1 << 16).map(u64::from).collect();
            let exp = Exp::up_to(format(scale), format(result), DIGIT, high).unwrap();
            equal(16, &inputs, |x| exp.clear(x), |e, x| exp.apply(e, x));
        }
    }
}

#[test]
fn sigmoids_of_all_inputs() {
    let inputs: Vec<u64> = (0..1 << 16).collect();
    for (scale, result) in PAIRS {
        let sigmoid = Sigmoid::new(format(scale), format(result), DIGIT).unwrap();
        equal(
            16,
            &inputs,
            |x| sigmoid.clear(x),
            |e, x| sigmoid.apply(e, x),
        );
    }
}

#[test]
fn tanhs_of_all_inputs() {
    let inputs: Vec<u64> = (0..1 << 16).collect();
    for (scale, result) in PAIRS {
        let tanh = Tanh::new(format(scale), format(result), DIGIT).unwrap();
        equal(16, &inputs, |x| tanh.clear(x), |e, x| tanh.apply(e, x));
    }
}

#[test]
fn error_functions_of_all_inputs() {
    let inputs: Vec<u64> = (0..1 << 16).collect();
    // By a table, by chords and by parabolas, with an end and without.
    for (scale, result, bits) in [
        (2, 8, 12),
        (12, 12, 16),
        (12, 10, 64),
        (15, 20, 24),
        (11, 24, 28),
    ] {
        let erf = Erf::new(format(scale), Format::new(bits, result)).unwrap();
        equal(16, &inputs, |x| erf.clear(x), |e, x| erf.apply(e, x));
    }
}

#[test]
fn roots_of_all_inputs() {
    let inputs: Vec<u64> = (0..1 << 15).collect();
    for (scale, result) in PAIRS {
        for make in [SquareRoot::new, SquareRoot::inverse] {
            let root = make(format(scale), format(result)).unwrap();
            equal(16, &inputs, |x| root.clear(x), |e, x| root.apply(e, x));
        }
    }
}

#[test]
fn inverses_of_all_inputs() {
    for (scale, result) in PAIRS {
        let inputs: Vec<u64> = (0..1 << 15).collect();
        let inverse = Inverse::new(format(scale), Format::new(20, result), -2).unwrap();
        equal(
            16,
            &inputs,
            |x| inverse.clear(x),
            |e, x| inverse.apply(e, x),
        );
    }
}

/// The ends of the domain and random numbers within it.
fn sample(bits: u32) -> Vec<u64> {
    let random = vec::low_bits(&Prg::new([5; 16]).ring(300), bits);
    let ends = [0, 1, 2, (1 << (bits - 1)) - 1];
    let small = random.iter().map(|x| x >> (x % u64::from(bits)));
    [ends.to_vec(), random.clone(), small.collect()].concat()
}

#[test]
fn other_widths_and_digits() {
    for (bits, scale, out, result, digit) in [
        (32, 24, 32, 24, 8),
        (32, 20, 40, 30, 7),
        (24, 10, 20, 18, 5),
        (9, 4, 8, 6, 4),
        (8, 3, 16, 5, 8),
    ] {
        let (input, output) = (Format::new(bits, scale), Format::new(out, result));
        let inputs = sample(bits);
        let exp = Exp::new(input, output, digit).unwrap();
        equal(bits, &inputs, |x| exp.clear(x), |e, x| exp.apply(e, x));
        if let Ok(exp) = Exp::up_to(input, output, digit, 0) {
            equal(bits, &inputs, |x| exp.clear(x), |e, x| exp.apply(e, x));
        }
        let sigmoid = Sigmoid::new(input, output, digit).unwrap();
        equal(
            bits,
            &inputs,
            |x| sigmoid.clear(x),
            |e, x| sigmoid.apply(e, x),
        );
        if let Ok(tanh) = Tanh::new(input, output, digit) {
            equal(bits, &inputs, |x| tanh.clear(x), |e, x| tanh.apply(e, x));
        }
        let positive: Vec<u64> = inputs.iter().map(|x| x >> 1).collect();
        for make in [SquareRoot::new, SquareRoot::inverse] {
            if let Ok(root) = make(input, output) {
                equal(bits, &positive, |x| root.clear(x), |e, x| root.apply(e, x));
            }
        }
    }
}

#[test]
fn no_elements_and_one() {
    let sigmoid = Sigmoid::new(format(12), format(12), DIGIT).unwrap();
    let root = SquareRoot::inverse(format(12), format(12)).unwrap();
    for inputs in [&[][..], &[17]] {
        equal(16, inputs, |x| sigmoid.clear(x), |e, x| sigmoid.apply(e, x));
        equal(16, inputs, |x| root.clear(x), |e, x| root.apply(e, x));
    }
}
