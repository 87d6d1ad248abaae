//! Errors at more than 16 bits, on random inputs, and formats that are refused.

use tacit_algebra::Prg;

use super::super::*;
use super::reference::{self, Real, Reference};

fn signed(bits: u32, y: u64) -> i64 {
    let unused = 64 - bits;
    ((y << unused) as i64) >> unused
}

/// The largest errors of exponentials, sigmoids and tanhs over magnitudes of all sizes.
fn largest(input: Format, output: Format) -> [f64; 3] {
    let mut reference = Reference::new();
    let exp = Exp::new(input, output, DIGIT).unwrap();
    let sigmoid = Sigmoid::new(input, output, DIGIT).unwrap();
    let tanh = Tanh::new(input, output, DIGIT).unwrap();
    let mut largest = [0f64; 3];
    let mut meet = |i: usize, real: Real, y: i64| {
        largest[i] = largest[i].max(real.errors(y, output.scale).1.abs());
    };
    for x in Prg::new([3; 16]).ring::<u64>(4000) {
        // Where the functions are not constant: up to 32.
        let z = x >> (64 - input.scale - 5) >> (x % 12);
        let z = z & ((1 << (input.bits - 1)) - 1);
        let minus = z.wrapping_neg() & (u64::MAX >> (64 - input.bits));
        let [e, s, t] = reference.functions(z, input.scale);
        let read = |y| signed(output.bits, y);
        meet(0, e, read(exp.clear(minus)));
        meet(1, s, read(sigmoid.clear(z)));
        meet(1, s.complement(), read(sigmoid.clear(minus)));
        meet(2, t, read(tanh.clear(z)));
        meet(2, t, -read(tanh.clear(minus)));
    }
    largest
}

#[test]
fn wide_formats_are_as_near() {
    for (bits, scale, result) in [
        (32, 24, 24),
        (32, 16, 20),
        (32, 25, 28),
        (24, 12, 17),
        (20, 10, 16),
    ] {
        let met = largest(Format::new(bits, scale), Format::new(32, result));
        println!("{bits} bits, {scale} -> {result}: {met:?}");
        assert!(met[0] < 8.0 && met[1] < 5.0 && met[2] < 5.0, "{met:?}");
    }
}

/// Around the bound and far beyond it, of numbers of many bits.
#[test]
fn wide_exponentials_end_at_their_bound() {
    let mut reference = Reference::new();
    for (bits, scale, out, result, high) in [
        (64, 16, 64, 16, 0),
        (64, 20, 64, 20, -2),
        (64, 29, 64, 29, 0),
        (64, 24, 32, 24, -7),
        (32, 24, 32, 24, 0),
        (32, 13, 32, 13, -4),
        (20, 10, 16, 12, -1),
    ] {
        let (input, output) = (Format::new(bits, scale), Format::new(out, result));
        let exp = Exp::up_to(input, output, DIGIT, high).unwrap();
        let (bound, end) = (i64::from(high) << scale, 1i64 << (bits - 2));
        let near = (-40..40).map(|by| bound + by);
        let powers = (0..bits - 2).flat_map(|k| [bound + (1 << k), bound - (1 << k)]);
        let far = [end - 1, 1 - end, end / 3, -end / 3];
        for x in near.chain(powers).chain(far) {
            let (z, x) = (
                x.min(bound).unsigned_abs(),
                x as u64 & (u64::MAX >> (64 - bits)),
            );
            let [exact, ..] = reference.functions(z.min(200 << scale), scale);
            let y = signed(bits.min(out), exp.clear(x));
            let error = exact.errors(y, result).1.abs();
            assert!(error < 8.0, "exp {x}, {input:?}, {output:?}: {y}, {error}");
        }
    }
}

#[test]
fn wide_roots_are_as_near() {
    for (bits, scale, result) in [(32, 16, 16), (32, 24, 24), (32, 20, 28), (24, 12, 14)] {
        let root = SquareRoot::inverse(Format::new(bits, scale), Format::new(48, result)).unwrap();
        let mut largest = 0f64;
        for x in Prg::new([4; 16]).ring::<u64>(20_000) {
            let x = (x >> (65 - bits) >> (x % u64::from(bits - 2))).max(1);
            let (_, real) = reference::root(x, scale, result, true);
            let unit = (real / (1u64 << result) as f64).max(1.0);
            largest = largest.max((root.clear(x) as f64 - real).abs() / unit);
        }
        println!("{bits} bits, {scale} -> {result}: {largest}");
        assert!(largest < 4.0, "{largest}");
    }
}

/// Arguments of every size with up to 24 fraction bits, and twice those of the results.
#[test]
fn wide_arguments_are_right_from_their_lowest_power_on() {
    for (bits, scale, result, low) in [
        (32, 24, 12, -12),
        (32, 24, 16, -12),
        (32, 24, 24, -4),
        (32, 20, 20, -9),
        (24, 16, 12, -8),
        (20, 12, 10, -12),
    ] {
        let (input, output) = (Format::new(bits, scale), Format::new(32, result));
        let root = SquareRoot::inverse_from(input, output, low).unwrap();
        let inverse = Inverse::new(input, output, low).unwrap();
        let (mut roots, mut inverses) = (0f64, 0f64);
        let random = Prg::new([6; 16]).ring::<u64>(20_000);
        let sizes = random
            .iter()
            .map(|x| x >> (65 - bits) >> (x % u64::from(bits - 2)));
        for x in sizes.chain(0..2000) {
            let real = x as f64 / f64::from(scale).exp2();
            let within = real.max(f64::from(low).exp2());
            let beyond = |y: u64, exact: f64| {
                let exact = exact * f64::from(result).exp2();
                let least = exact * if real < within { 0.5 } else { 1.0 };
                (y as f64 - exact).max(least - y as f64) - exact / 1024.0
            };
            roots = roots.max(beyond(root.clear(x), within.sqrt().recip()));
            inverses = inverses.max(beyond(inverse.clear(x), within.recip()));
        }
        println!("{bits} bits, {scale} -> {result}: {roots}, {inverses}");
        assert!(roots < 4.0 && inverses < 1.5, "{roots} {inverses}");
    }
}

#[test]
fn formats_that_do_not_fit_are_refused() {
    let f = Format::new;
    assert!(Exp::new(f(16, 12), f(13, 12), 8).is_err());
    assert!(Exp::new(f(16, 12), f(40, 31), 8).is_err());
    assert!(Exp::new(f(16, 12), f(16, 12), 9).is_err());
    assert!(Exp::new(f(0, 0), f(16, 12), 8).is_err());
    assert!(Exp::new(f(16, 12), f(65, 12), 8).is_err());
    let bounded = |input, output, high| Exp::up_to(input, output, 7, high);
    assert!(bounded(f(16, 12), f(16, 12), -4).is_ok());
    for (input, output, high) in [
        (f(16, 12), f(16, 12), 1),
        (f(16, 12), f(16, 12), -5),
        (f(16, 12), f(16, 12), i32::MIN),
        (f(64, 64), f(16, 12), -1),
        (f(16, 12), f(40, 30), 0),
        (f(0, 0), f(16, 12), 0),
    ] {
        assert!(bounded(input, output, high).is_err(), "{input:?}, {high}");
    }
    assert!(Reciprocal::new(16, 3).is_err() && Reciprocal::new(8, 8).is_err());
    assert!(Sigmoid::new(f(1, 0), f(16, 12), 8).is_err());
    assert!(Sigmoid::new(f(16, 12), f(13, 12), 8).is_err());
    assert!(Tanh::new(f(16, 0), f(16, 12), 8).is_err());
    assert!(Tanh::new(f(16, 12), f(40, 30), 8).is_err());
    assert!(SquareRoot::new(f(16, 15), f(16, 12)).is_err());
    assert!(SquareRoot::new(f(16, 12), f(32, 15)).is_err());
    assert!(SquareRoot::inverse(f(16, 4), f(13, 12)).is_err());
    assert!(SquareRoot::inverse(f(37, 12), f(16, 12)).is_err());
}
