//! ReLU and DReLU against the sign in clear text: every value of the small ring by every window,
//! random values and edges of the large ones; where the sign is not exact, its stated rate.

use super::{settings, signs_of};
use crate::subjects::Tested;
use crate::subjects::bicoptor_options;
use tacit_conformance::histograms::keeps_to_rate;
use tacit_conformance::{Subject, noise, run};
use tacit_net::LinkModel;
use tacit_protocols::Error;
use tacit_protocols::bicoptor::rss::RssCost;
use tacit_protocols::bicoptor::ubl::UblCost;
use tacit_protocols::bicoptor::{Comparison, Form, Options};
use tacit_protocols::falcon::Truncation;
use tacit_protocols::machine::{Call, CostModel, KeyBits, Machine};

const CORRECTED: Options = Options {
    truncation: Truncation::Gap,
    form: Form::Corrected,
    comparison: Comparison::Bicoptor,
    link: LinkModel::LOCAL,
};
const PRINTED: Options = Options {
    form: Form::Printed,
    ..CORRECTED
};

/// The values of which [`KeyBits`] promises a sign.
fn range(keys: KeyBits) -> std::ops::RangeInclusive<i64> {
    let end = 1i64 << (keys.dropped + keys.kept);
    (1 << keys.dropped) - end..=end - 1
}

/// Every window of a ring of `bits` bits.
fn windows(bits: u32) -> Vec<KeyBits> {
    let all = (0..bits).flat_map(|dropped| (1..bits).map(move |kept| KeyBits::of(dropped, kept)));
    all.filter(|k| k.dropped + 2 * k.kept + 2 <= bits).collect()
}

/// Checks signs of `x`: exact, but that small negative values may be let through.
fn check(subject: &dyn Subject, keys: KeyBits, x: &[i64]) {
    let [relu, drelu] = signs_of(subject, keys, x);
    for ((&x, relu), drelu) in x.iter().zip(relu).zip(drelu) {
        let name = || format!("{x} by {keys:?}, {}", subject.name());
        if -(1i64 << keys.dropped) < x && x < 0 {
            assert!([0, 1].contains(&drelu), "DReLU {drelu} of {}", name());
            assert!([0, x].contains(&relu), "ReLU {relu} of {}", name());
        } else {
            assert_eq!(drelu, i64::from(x >= 0), "DReLU of {}", name());
            assert_eq!(relu, x.max(0), "ReLU of {}", name());
        }
    }
}

fn every_value_by_every_window(subject: &dyn Subject) {
    let windows = windows(8);
    assert_eq!(windows.len(), 9);
    for keys in windows {
        let x: Vec<i64> = range(keys).flat_map(|x| [x; 4096]).collect();
        check(subject, keys, &x);
    }
}

#[test]
fn signs_of_every_8_bit_value_are_right_by_every_window() {
    let [ubl, rss] = settings::<u8>(CORRECTED);
    every_value_by_every_window(&ubl);
    every_value_by_every_window(&rss);
}

/// Of `-2^k < x < 0` a share of `abs(x) / 2^k` is negative, and a ReLU of the same shares agrees
/// where `same_shares` are compared: RSS makes them anew for each call.
fn small_negative_values(subject: &dyn Subject, keys: KeyBits, x: i64, same_shares: bool) {
    let trials = 1 << 14;
    let [relu, drelu] = signs_of(subject, keys, &vec![x; trials]);
    let rate = x.unsigned_abs() as f64 / (1u64 << keys.dropped) as f64;
    let negative = drelu.iter().filter(|d| **d == 0).count();
    let cut = relu.iter().filter(|r| **r == 0).count();
    for seen in [negative, cut] {
        assert!(
            keeps_to_rate(seen, trials, rate),
            "{seen} of {trials} are negative of {x} by {keys:?}, {}",
            subject.name()
        );
    }
    assert!(relu.iter().all(|r| [0, x].contains(r)), "{x} by {keys:?}");
    let agree = |(r, d): (&i64, &i64)| *r == x * d;
    assert!(!same_shares || relu.iter().zip(&drelu).all(agree));
}

#[test]
fn small_negative_values_are_let_through_at_the_stated_rate() {
    let [ubl, rss] = settings::<u8>(CORRECTED);
    for keys in windows(8) {
        for x in 1 - (1 << keys.dropped)..0 {
            small_negative_values(&ubl, keys, x, true);
            small_negative_values(&rss, keys, x, false);
        }
    }
    for (dropped, kept) in [(24, 7), (19, 12), (1, 30)] {
        let [ubl, rss] = settings::<u64>(CORRECTED);
        let keys = KeyBits::of(dropped, kept);
        let unit = 1i64 << dropped;
        for x in [-1, -unit / 3, -unit / 2, 1 - unit] {
            if x > -unit && x < 0 {
                small_negative_values(&ubl, keys, x, true);
                small_negative_values(&rss, keys, x, false);
            }
        }
    }
}

/// Values of a window of all magnitudes, and its edges.
fn values(keys: KeyBits, seed: u64, n: usize) -> Vec<i64> {
    let (least, most) = range(keys).into_inner();
    let (unit, third) = (1i64 << keys.dropped, most / 3);
    let edges = [0, 1, -1, most, most - 1, least, least + 1];
    let inner = [unit - 1, unit, unit + 1, -unit, -unit - 1];
    let band = (-2..=2).flat_map(|i| [2 * third + i * unit, -2 * third + i * unit]);
    let mut x: Vec<i64> = edges.into_iter().chain(inner).chain(band).collect();
    x.retain(|v| (least..=most).contains(v));
    x = x.iter().flat_map(|v| [*v; 20]).collect();
    let random = noise(seed, n).into_iter().enumerate();
    // Half of them anywhere, half of them with fewer bits.
    let magnitude = |(i, v): (usize, i64)| match i % 2 {
        0 => v % most,
        _ => v % (most >> (i as u32 % (keys.dropped + keys.kept)) | 1),
    };
    x.extend(random.map(magnitude).map(|v| v.clamp(least, most)));
    x
}

/// Windows with few and with all key bits, with no bits dropped and with as many as there are.
fn large_windows(bits: u32) -> Vec<KeyBits> {
    let kept = 5..=bits / 2 - 1;
    let both = |kept: u32| {
        let most = bits - 2 * kept - 2;
        [0, most.min(30)].map(|dropped| KeyBits::of(dropped, kept))
    };
    let mut all: Vec<KeyBits> = kept.flat_map(both).collect();
    all.dedup();
    all
}

/// `total` values in both settings, spread over the windows of `R`.
fn random_values<R: Tested>(total: usize) {
    let [ubl, rss] = settings::<R>(CORRECTED);
    let windows = large_windows(R::BITS);
    let each = total / windows.len() + 1;
    for (i, keys) in windows.into_iter().enumerate() {
        for start in (0..each).step_by(100_000) {
            let n = (each - start).min(100_000);
            let x = values(keys, (start + i) as u64, n);
            check(&ubl, keys, &x);
            check(&rss, keys, &x);
        }
    }
}

#[test]
fn signs_of_a_million_random_values_are_right() {
    random_values::<u32>(1_000_000);
    random_values::<u64>(1_000_000);
}

#[test]
#[ignore = "long"]
fn signs_of_ten_million_random_values_are_right() {
    random_values::<u32>(10_000_000);
    random_values::<u64>(10_000_000);
}

/// Without a promise every ring element has its sign: the edges of the ring, those of the widest window
/// that fits, where wrong signs began when that was meant, and random values of every magnitude.
fn exact_signs<R: Tested>(random: usize) {
    let [ubl, rss] = settings::<R>(CORRECTED);
    let l = R::BITS;
    let wrap = |v: i128| R::from_u64(v as u64).to_i64();
    let powers = (0..l).chain([l / 2 - 1; 10]).map(|k| 1i128 << k);
    let near = powers.flat_map(|p| (-2..=2).flat_map(move |d| [p + d, -p + d]));
    let thirds = [1i128 << (l / 2 - 1), 1 << (l - 1)].map(|p| [2 * p / 3, -2 * p / 3, 16 * p / 3]);
    let mut x: Vec<i64> = near.chain(thirds.into_iter().flatten()).map(wrap).collect();
    let noise = noise(l.into(), random).into_iter().zip((0..l).cycle());
    x.extend(noise.map(|(v, k)| wrap((v >> k).into())));
    for n in [1, 63, 64, 65, 130, 200, x.len()] {
        let x = &x[..n.min(x.len())];
        check(&ubl, KeyBits::ALL, x);
        check(&rss, KeyBits::ALL, x);
    }
}

#[test]
fn signs_without_a_promise_are_exact() {
    exact_signs::<u8>(1000);
    exact_signs::<u32>(210_000);
    exact_signs::<u64>(30_000);
    // Dropped bits change nothing where all others are kept.
    let keys = KeyBits {
        dropped: 3,
        ..KeyBits::ALL
    };
    let [ubl, rss] = settings::<u8>(CORRECTED);
    let x: Vec<i64> = (-128..128).collect();
    for (x, [relu, drelu]) in [
        (&x, signs_of(&ubl, keys, &x)),
        (&x, signs_of(&rss, keys, &x)),
    ] {
        let exact = x.iter().zip(relu.iter().zip(&drelu));
        let mut exact =
            exact.map(|(x, (relu, drelu))| *relu == *x.max(&0) && *drelu == i64::from(*x >= 0));
        assert!(exact.all(|right| right));
    }
}

/// By the adder signs are exact within their width, whatever the window looks at.
#[test]
fn the_adder_is_exact_whatever_the_key_bits_are() {
    let adder = Options {
        comparison: Comparison::Adder,
        ..CORRECTED
    };
    let auto = Options {
        comparison: Comparison::Auto,
        ..CORRECTED
    };
    for keys in windows(8) {
        let width = keys.dropped + keys.kept + 1;
        let (all, end) = (-128..128i64, 1i64 << (width - 1));
        for (keys, x) in [(keys, all), (KeyBits { width, ..keys }, -end..end)] {
            let x: Vec<i64> = x.collect();
            for subject in settings::<u8>(adder) {
                let [relu, drelu] = signs_of(&subject, keys, &x);
                let wanted: Vec<i64> = x.iter().map(|x| *x.max(&0)).collect();
                assert_eq!(relu, wanted, "{keys:?}, {}", subject.name());
                let wanted: Vec<i64> = x.iter().map(|x| i64::from(*x >= 0)).collect();
                assert_eq!(drelu, wanted, "{keys:?}, {}", subject.name());
            }
        }
        let promised: Vec<i64> = range(keys).collect();
        for subject in settings::<u8>(auto) {
            check(&subject, keys, &promised);
        }
    }
}

/// Few signs over a slow link by key bits, many or of many bits by the adder; and what is taken is what was
/// declared to take less.
#[test]
fn what_is_declared_to_take_less_is_taken() {
    let few = KeyBits::of(18, 7);
    let many = KeyBits {
        kept: 30,
        ..KeyBits::within(31)
    };
    let models: [fn(Options) -> Box<dyn CostModel>; 2] = [
        |options| Box::new(UblCost::<u64>::new(options)),
        |options| Box::new(RssCost::<u64>::new(options)),
    ];
    for model in models {
        let taken = |link: LinkModel, n: usize, keys: KeyBits| {
            let cost = |comparison| {
                let options = Options {
                    comparison,
                    link,
                    ..CORRECTED
                };
                let (model, call) = (model(options), Call::relu(n).by(keys));
                model.offline(&[call]) + &model.online(&call)
            };
            let auto = cost(Comparison::Auto);
            let [adder, window] = [Comparison::Adder, Comparison::Bicoptor].map(cost);
            assert!(auto == adder || auto == window, "{auto:?}");
            match auto == adder {
                true => Comparison::Adder,
                false => Comparison::Bicoptor,
            }
        };
        assert_eq!(taken(LinkModel::WAN, 10, few), Comparison::Bicoptor);
        assert_eq!(taken(LinkModel::WAN, 10, many), Comparison::Bicoptor);
        assert_eq!(taken(LinkModel::LAN, 1 << 20, many), Comparison::Adder);
        assert_eq!(taken(LinkModel::LOCAL, 1 << 20, many), Comparison::Adder);
        assert_eq!(taken(LinkModel::LOCAL, 10, KeyBits::ALL), Comparison::Adder);
    }
}

/// A window that fits every ring.
const FITTING: KeyBits = KeyBits::of(0, 1);

/// The calls that take signs.
fn sign_calls(keys: KeyBits) -> [Call; 3] {
    let (n, windows, size) = (2, 1, 2);
    [
        Call::drelu(n).by(keys),
        Call::relu(n).by(keys),
        Call::maxpool(windows, size).by(keys),
    ]
}

/// The errors of every sign by a window that does not fit: where it is planned, and where it is taken
/// with the material of one that fits.
fn refusals(subject: &dyn Subject, keys: KeyBits) -> Vec<Error> {
    let refused = run(subject, |machine| {
        let planned = sign_calls(keys).map(|call| machine.prepare(&[call]).err());
        machine.prepare(&sign_calls(FITTING))?;
        let x = machine.constant(&[1, -1]);
        let drelu = machine.drelu(&x, keys).err();
        let relu = machine.relu(&x, keys).err();
        let maxpool = machine.maxpool(&x, 1, 2, keys).err();
        let taken = [drelu, relu, maxpool];
        Ok(planned.into_iter().chain(taken).collect::<Vec<_>>())
    });
    let errors = refused.into_iter().flatten();
    errors.map(|e| e.expect("it does not fit")).collect()
}

#[test]
fn a_window_that_does_not_fit_is_named() {
    let [ubl, rss] = settings::<u8>(CORRECTED);
    let unfit = [(3, 2), (1, 3), (0, 4), (5, 1), (0, 0), (0, u32::MAX - 1)];
    for (dropped, kept) in unfit.into_iter().chain([(u32::MAX, 1)]) {
        let keys = KeyBits::of(dropped, kept);
        for error in refusals(&ubl, keys).into_iter().chain(refusals(&rss, keys)) {
            let words = error.to_string();
            let named = words.contains(&format!("the sign of {kept} bits above {dropped} "));
            assert!(named && words.contains("8-bit ring"), "{words}");
        }
    }
}

/// The share of wrong signs of `x`.
fn wrong(subject: &dyn Subject, keys: KeyBits, x: i64) -> f64 {
    let [_, drelu] = signs_of(subject, keys, &[x; 2000]);
    let wrong = drelu.iter().filter(|d| **d != i64::from(x >= 0)).count();
    wrong as f64 / 2000.0
}

/// The tests above bite: Algorithm 7 as printed fails them, in the band that the specification
/// names, and at 0.
#[test]
fn the_printed_form_gives_wrong_signs() {
    let [ubl, rss] = settings::<u64>(PRINTED);
    for (kept, bad) in [(7, 85), (6, 42)] {
        let keys = KeyBits::of(0, kept);
        for x in [bad, -bad] {
            let (ubl, rss) = (wrong(&ubl, keys, x), wrong(&rss, keys, x));
            assert!(ubl.max(rss) > 0.2 || x > 0, "{x}: {ubl} and {rss}");
        }
        let both = |x| wrong(&ubl, keys, x) + wrong(&rss, keys, x);
        assert!(both(bad) + both(-bad) > 0.4, "{bad} is not wrong");
        assert!((0.9..1.1).contains(&both(0)), "0 must get a random sign");
        assert_eq!(both(bad / 2) + both(-bad / 2) + both(1) + both(-1), 0.0);
    }
    let [ubl, _] = settings::<u8>(PRINTED);
    let keys = KeyBits::of(0, 4);
    let band = (1..16).filter(|x| wrong(&ubl, keys, *x) + wrong(&ubl, keys, -x) > 0.0);
    let band: Vec<i64> = band.collect();
    assert!(
        !band.is_empty() && band.iter().all(|x| (9..=12).contains(x)),
        "{band:?}"
    );
    assert_eq!(bicoptor_options(Truncation::Gap), CORRECTED);
}
