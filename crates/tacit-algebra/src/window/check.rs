//! Tests of the whole DReLU: the signs it gives and what the sums show.

use super::entries::bare_entries;
use super::pack::unpack;
use super::*;
use crate::prg::assert_uniform;
use crate::{Bits, Prg, Ring, vec};

/// Zero entries of `x` under every mask of 8 bits: `[t][mask]`.
fn zeros_of_all(window: &Window, x: i8) -> [Vec<usize>; 2] {
    let first: Vec<u8> = (0..=255).map(|r| r + x as i32).map(|v| v as u8).collect();
    let second: Vec<u8> = (0..=255u8).map(u8::wrapping_neg).collect();
    [false, true].map(|t| {
        let t = Bits::from_fn(256, |_| t);
        let a = bare_entries(window, true, &first, &t);
        let b = bare_entries(window, false, &second, &t);
        let zero: Vec<bool> = a
            .iter()
            .zip(&b)
            .map(|(a, b)| (a + b) % window.prime() == 0)
            .collect();
        (0..256)
            .map(|j| zero.iter().skip(j).step_by(256).filter(|z| **z).count())
            .collect()
    })
}

/// Whether one sum is zero or none with probability 1/2 each, over the masks and t.
fn is_fair(zeros: &[Vec<usize>; 2]) -> bool {
    let count = |kind| zeros.iter().flatten().filter(|z| **z == kind).count();
    count(0) == 256 && count(1) == 256
}

/// The masks for which `x` counts as negative, for either t.
fn negative(zeros: &[Vec<usize>; 2]) -> [usize; 2] {
    let count = |t: usize| zeros[t].iter().filter(|z| (**z > 0) == (t == 1)).count();
    [count(0), count(1)]
}

/// Every window of 8 bits, every value in its range, every mask, both t.
#[test]
fn mended_signs_are_right_and_do_not_show() {
    let mut windows = 0;
    for (k, kept) in (0..=8u32).flat_map(|k| (1..=8u32).map(move |kept| (k, kept))) {
        let Some(window) = Window::new::<u8>(k, kept, Form::Corrected) else {
            continue;
        };
        windows += 1;
        let range = (1i32 << (k + kept)) - (1 << k);
        for x in -range..=range {
            let zeros = zeros_of_all(&window, x as i8);
            assert!(
                is_fair(&zeros),
                "the sums show something of {x}, {window:?}"
            );
            // Of -2^k < x < 0, the masks whose carry makes y = -1.
            let expected = match x {
                0.. => 0,
                _ => 256.min((256 * -x) >> k),
            };
            assert_eq!(negative(&zeros), [expected as usize; 2], "{x}, {window:?}");
        }
    }
    assert_eq!(windows, 5 + 3 + 1);
}

/// Why the printed form is not the default; the assertions of the test above fail on it.
#[test]
fn printed_signs_are_wrong_and_show() {
    let window = Window::new::<u8>(0, 4, Form::Printed).unwrap();
    assert!(!is_fair(&zeros_of_all(&window, 0)));
    assert!(is_fair(&zeros_of_all(&window, 3)));
    let band: Vec<i8> = (-15..=15)
        .filter(|x| !is_fair(&zeros_of_all(&window, *x)))
        .collect();
    assert!(
        band.iter().any(|x| *x > 0) && band.iter().all(|x| *x == 0 || (9..=12).contains(&x.abs()))
    );
    let wrong = |x: i8| negative(&zeros_of_all(&window, x)) != [if x < 0 { 256 } else { 0 }; 2];
    let wrong: Vec<i8> = (-15..=15).filter(|x| *x != 0 && wrong(*x)).collect();
    assert!(
        !wrong.is_empty() && wrong.iter().all(|x| (9..=12).contains(&x.abs())),
        "{wrong:?}"
    );

    // With dropped bits, small values show a zero with probability abs(x) / 2^(k+1) only.
    let window = Window::new::<u8>(3, 2, Form::Printed).unwrap();
    for x in -7..=7i8 {
        let zeros = zeros_of_all(&window, x);
        let seen = zeros.iter().flatten().filter(|z| **z > 0).count();
        assert_eq!(seen, 32 * x.unsigned_abs() as usize, "{x}");
        assert!(!is_fair(&zeros));
    }
}

/// Shares of `x` under masks from a seed.
fn share<R: Ring>(x: &[R]) -> [Vec<R>; 2] {
    let r = Prg::new([1; 16]).ring(x.len());
    [vec::add(x, &r), vec::neg(&r)]
}

/// Both messages and t.
fn send<R: Ring>(window: &Window, x: &[R]) -> ([Vec<u8>; 2], Bits) {
    let shares = share(x);
    let t = Prg::new([3; 16]).bits(x.len());
    let send = |first, share| masked_entries(window, first, share, &t, &mut Prg::new([2; 16]));
    let messages = [send(true, &shares[0]), send(false, &shares[1])];
    (messages, t)
}

fn drelu<R: Ring>(window: &Window, x: &[R]) -> Bits {
    let ([first, second], t) = send(window, x);
    zero_entries(window, x.len(), &first, &second)
        .unwrap()
        .xor(&t)
}

/// Edges of the range and random values in it, where the sign is certain.
fn signs<R: Ring>(k: u32, kept: u32) {
    let window = Window::new::<R>(k, kept, Form::Corrected).unwrap();
    let unit = 1i64 << k;
    let range = (1i64 << (k + kept)) - unit;
    let mut x: Vec<i64> = vec![
        0,
        1,
        unit - 1,
        unit,
        unit + 1,
        range / 3 * 2,
        range - 1,
        range,
    ];
    let random = Prg::new([3; 16]).ring::<u64>(1500);
    let random = random.iter().enumerate();
    x.extend(random.map(|(i, v)| (v >> 1 >> (i % 62)) as i64 % (range + 1)));
    x.extend(x.clone().into_iter().filter(|v| *v >= unit).map(|v| -v));
    let out = drelu(&window, &vec::encode::<R>(&x));
    for (i, x) in x.into_iter().enumerate() {
        assert_eq!(out.get(i), x >= 0, "{x} of {window:?}");
    }
}

#[test]
fn signs_of_long_words_are_right() {
    for (k, kept) in [(24, 7), (19, 12), (19, 14)] {
        signs::<u64>(k, kept);
    }
    (5..=31).for_each(|kept| signs::<u64>(0, kept));
    for (k, kept) in [(0, 14), (0, 15), (11, 7)] {
        signs::<u32>(k, kept);
    }
    for (k, kept) in [(0, 7), (2, 6), (8, 3)] {
        signs::<u16>(k, kept);
    }
}

/// Negative values below one unit of the key bits come out with the stated probability.
#[test]
fn small_negative_values_round() {
    let (n, window) = (1 << 16, Window::new::<u64>(24, 7, Form::Corrected).unwrap());
    for eighths in [1, 4, 7] {
        let x = vec![u64::from_i64(-(eighths << 21)); n];
        let negative = drelu(&window, &x).not().count_ones() as f64;
        let (p, n) = (eighths as f64 / 8.0, n as f64);
        assert!(
            (negative - n * p).abs() < 5.0 * (n * p * (1.0 - p)).sqrt(),
            "{eighths}: {negative}"
        );
    }
}

/// One value many times: a zero in half of the cases, at a uniform place; all else uniform.
#[test]
fn what_the_sums_show_is_uniform() {
    let window = Window::new::<u16>(4, 3, Form::Corrected).unwrap();
    let (n, p, entries) = (512 * 80, window.prime(), window.entries());
    for x in [0i64, 1, -1, 50, -70, 112] {
        let (messages, _) = send(&window, &vec![u16::from_i64(x); n]);
        let [first, second] = messages.map(|m| {
            let words = unpack::<u16>(crate::isa::current(), &m, n * entries, window.entry_bits());
            let lanes: &[u16] = bytemuck::cast_slice(&words);
            lanes[..n * entries].to_vec()
        });
        assert_uniform(first.iter().map(|v| *v as u64), 0..p);
        assert_uniform(second.iter().map(|v| *v as u64), 0..p);
        let sums: Vec<u64> = first
            .iter()
            .zip(&second)
            .map(|(a, b)| (a + b) as u64 % p)
            .collect();
        assert_uniform(sums.iter().copied().filter(|v| *v > 0), 1..p);
        let places = |strip: usize, j: usize| {
            let at = move |q| strip * STRIP * entries + q * STRIP + j;
            let sums = &sums;
            (0..entries).filter(move |q| sums[at(*q)] == 0)
        };
        let elements = || (0..n).map(|i| (i / STRIP, i % STRIP));
        let counts = elements().map(|(s, j)| places(s, j).count() as u64);
        assert_uniform(counts, 0..2);
        assert_uniform(
            elements().flat_map(|(s, j)| places(s, j)).map(|q| q as u64),
            0..entries as u64,
        );
    }
}
