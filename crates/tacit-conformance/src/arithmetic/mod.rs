//! One suite over every protocol, ring and number of parties: arithmetic against its definition,
//! exhaustively where the ring is small, edges and random values where it is not.

mod linear;

use crate::*;
use tacit_protocols::machine::{BatchMatMul, Bilinear, Conv2d, KeyBits, MatMul, Operand};
use tacit_protocols::math::maxpool_with_derivative;

pub use crate::places::places;
pub use linear::{batched_products, linear_layers};

/// A test for each check of arithmetic.
#[macro_export]
macro_rules! arithmetic {
    (|$check:ident| $on:expr) => {
        $crate::tests! { |$check| $on, arithmetic:
            signs
            signs_within
            products
            linear_layers
            batched_products
            truncations
            maxpools
            places
            maxpools_with_derivatives
            openings
            local_operations
            saved_shares
            material_is_planned
        }
    };
}

/// Every value of a small ring many times over, or edges and noise of a big one.
fn values(s: &dyn Subject) -> Vec<i64> {
    let m = s.modulus();
    if m <= 256 {
        return (0..m * 256).map(|i| s.wrap(i)).collect();
    }
    let edges = [
        0,
        1,
        -1,
        2,
        -2,
        m / 2 - 1,
        m / 2,
        m / 2 + 1,
        m / 2 + 2,
        m / 4,
        -m / 4,
        m / 4 - 1,
    ];
    let mut values: Vec<i64> = edges.iter().flat_map(|&e| [s.wrap(e); 40]).collect();
    values.extend(noise(3, 10_000).into_iter().map(|v| s.wrap(v.into())));
    values.extend(noise(7, 3_000).into_iter().map(|v| v % 100));
    values
}

/// What a party saves of a share is that share again; bytes of another number of elements are refused.
pub fn saved_shares(s: &dyn Subject) {
    let x = values(s);
    let opened = apply(s, &[], &x, |machine, share| {
        let bytes = machine.save(share);
        for (n, bytes) in [
            (x.len() + 1, &bytes[..]),
            (x.len(), &bytes[1.min(bytes.len())..]),
        ] {
            // Bicoptor's assistant has no bytes to be wrong.
            assert!(
                bytes.is_empty() || machine.load(n, bytes).is_err(),
                "{}",
                s.name()
            );
        }
        machine.load(x.len(), &bytes)
    });
    assert_eq!(opened, x, "{}", s.name());
}

/// ReLU, and DReLU by the choice that it makes.
pub fn signs(s: &dyn Subject) {
    let x: Vec<i64> = values(s).into_iter().map(|v| s.signed(v)).collect();
    let n = x.len();
    let relu = apply(s, &[Call::relu(n)], &x, |machine, x| {
        machine.relu(x, KeyBits::ALL)
    });
    let want: Vec<i64> = x.iter().map(|&v| v.max(0)).collect();
    assert!(relu == want, "ReLU: {}", s.name());

    let calls = [Call::drelu(n), Call::select(n)];
    let chosen = apply(s, &calls, &x, |machine, x| {
        let bit = machine.drelu(x, KeyBits::ALL)?;
        let (zero, one) = (machine.constant(&vec![0; n]), machine.constant(&vec![1; n]));
        machine.select(&bit, &zero, &one)
    });
    let want: Vec<i64> = x.iter().map(|&v| i64::from(v >= 0)).collect();
    assert!(chosen == want, "DReLU: {}", s.name());
}

/// Signs of numbers that so many bits hold, for every width: all numbers of a few bits, the ends and noise of
/// more.
pub fn signs_within(s: &dyn Subject) {
    let most = 128 - (s.modulus() - 1).leading_zeros();
    let widths = 1..=s.sign_bits().min(most);
    for width in widths.filter(|width| most <= 8 || [1, 2, 13, 25, 31, 32, 40].contains(width)) {
        let end = 1i64 << (width - 1);
        let x: Vec<i64> = match width {
            ..=8 => (-end..end).cycle().take(1 << 10).collect(),
            _ => [-end, 1 - end, -1, 0, 1, end - 1]
                .into_iter()
                .chain(noise(width.into(), 3000).into_iter().map(|v| v % end))
                .collect(),
        };
        let (n, keys) = (x.len(), KeyBits::within(width));
        let calls = [
            Call::relu(n).by(keys),
            Call::drelu(n).by(keys),
            Call::select(n),
        ];
        let got = apply(s, &calls, &x, |machine, x| {
            let relu = machine.relu(x, keys)?;
            let bit = machine.drelu(x, keys)?;
            let [zero, one] = [0, 1].map(|v| machine.constant(&vec![v; n]));
            let sign = machine.select(&bit, &zero, &one)?;
            Ok(machine.concat(&[&relu, &sign]))
        });
        let want = x.iter().map(|&v| v.max(0));
        let want = want.chain(x.iter().map(|&v| i64::from(v >= 0)));
        assert!(got.into_iter().eq(want), "{width} bits: {}", s.name());
    }
}

/// All products of a small ring; noise on the others. With a bias, too, by which a product that dropped it
/// was caught.
pub fn products(s: &dyn Subject) {
    let m = s.modulus();
    let pair = |i: i128| (s.wrap(i / m), s.wrap(i % m));
    let (x, y): (Vec<i64>, Vec<i64>) = match m <= 256 {
        true => (0..m * m).map(pair).unzip(),
        false => (noise(1, 3000), noise(2, 3000)),
    };
    let n = x.len();
    let calls = [Call::elementwise(n, 0), Call::elementwise(n, 0)];
    let product = apply(s, &calls, &x, |machine, share| {
        let last = machine.party().parties() - 1;
        let own = (machine.party().id() == last).then_some(&y[..]);
        let y = Operand::Secret(machine.input(last, n, own)?);
        let bias = Operand::Secret(share.clone());
        let map = Bilinear::Elementwise(n);
        let plain = machine.mul(share, &y, 0)?;
        let biased = machine.linear(share, &y, Some(&bias), &map, 0, None)?;
        Ok(machine.concat(&[&plain, &biased]))
    });
    let pairs = || {
        x.iter()
            .zip(&y)
            .map(|(&a, &b)| (i128::from(a), i128::from(b)))
    };
    let want = pairs()
        .map(|(a, b)| a * b)
        .chain(pairs().map(|(a, b)| a * b + a));
    let want: Vec<i64> = want.map(|product| s.wrap(product)).collect();
    assert!(product == want, "{}", s.name());
}

/// Truncations of values, of products and of what is public, by every number of bits: within the
/// stated error on the whole range.
pub fn truncations(s: &dyn Subject) {
    let m = s.modulus();
    let bits = 128 - (m - 1).leading_zeros();
    let (low, high) = s.rounding();
    for d in [1, 2, 3, 7, bits - 3, bits - 2]
        .into_iter()
        .filter(|&d| d <= bits - 2)
    {
        let top = 1i128 << (bits - 2);
        let in_range = |v: i64| i64::try_from(i128::from(v).clamp(-top, top - 1)).expect("small");
        // Every third: of a small ring still every value.
        let x: Vec<i64> = values(s).into_iter().step_by(3).map(in_range).collect();
        let n = x.len();
        let calls = [Call::truncate(n, d), Call::elementwise(n, d)];
        let got = apply(s, &calls, &x, |machine, x| {
            let plain = machine.truncate(x, d)?;
            let one = Operand::Secret(machine.constant(&vec![1; n]));
            let product = machine.mul(x, &one, d)?;
            Ok(machine.concat(&[&plain, &product]))
        });
        for (&got, &x) in got.iter().zip(x.iter().cycle()) {
            let error = got - (x >> d);
            assert!(
                (low..=high).contains(&error),
                "{x} >> {d} gave {got}: {}",
                s.name()
            );
        }
    }
}

/// The largest of windows of several sizes.
pub fn maxpools(s: &dyn Subject) {
    for size in [1, 2, 3, 4, 5, 9] {
        let windows = 33;
        let half = (s.modulus() / 4).min(1 << (s.sign_bits() - 1));
        let half = i64::try_from(half).expect("half the range fits");
        let x: Vec<i64> = noise(size as u64, windows * size)
            .into_iter()
            .map(|v| v % half)
            .collect();
        let max = apply(s, &[Call::maxpool(windows, size)], &x, |machine, x| {
            machine.maxpool(x, windows, size, KeyBits::ALL)
        });
        let largest = |i: usize| {
            (0..size)
                .map(|j| x[j * windows + i])
                .max()
                .expect("a window")
        };
        let want: Vec<i64> = (0..windows).map(largest).collect();
        assert_eq!(max, want, "windows of {size}, {}", s.name());
    }
}

/// Maxima of windows with derivatives are right: of a small ring for all pairs whose difference has a sign; of every
/// ring for larger windows, in which values are few, so that many are equal.
pub fn maxpools_with_derivatives(s: &dyn Subject) {
    if s.modulus() <= 256 {
        let half = 1i64 << (s.sign_bits() - 1);
        let all = || -half..half;
        let x = all().flat_map(|a| all().map(move |_| a));
        let x: Vec<i64> = x.chain(all().flat_map(|_| all())).collect();
        maxpool_with_its_derivative(s, x.len() / 2, 2, &x);
    }
    for size in [1, 3, 4, 7] {
        let windows = 40;
        let x = noise(size as u64, windows * size)
            .into_iter()
            .map(|v| v % 4);
        maxpool_with_its_derivative(s, windows, size, &x.collect::<Vec<_>>());
    }
}

fn maxpool_with_its_derivative(s: &dyn Subject, windows: usize, size: usize, x: &[i64]) {
    let calls = demand(64, |machine| {
        let x = noted(windows * size);
        maxpool_with_derivative(machine, &x, windows, size, KeyBits::ALL)
    });
    let opened = apply(s, &calls, x, |machine, x| {
        let [max, places] = maxpool_with_derivative(machine, x, windows, size, KeyBits::ALL)?;
        Ok(machine.concat(&[&max, &places]))
    });
    for i in 0..windows {
        let window: Vec<i64> = (0..size).map(|j| x[j * windows + i]).collect();
        let max = window.iter().copied().max();
        assert_eq!(Some(opened[i]), max, "{window:?}, {}", s.name());
        // The earliest of equal values.
        let first = window.iter().position(|&v| Some(v) == max);
        for j in 0..size {
            let place = opened[windows + j * windows + i];
            assert_eq!(
                place,
                i64::from(Some(j) == first),
                "{window:?}, {}",
                s.name()
            );
        }
    }
}

/// Every party may be the owner of a value, and the only one to learn it.
pub fn openings(s: &dyn Subject) {
    for receiver in 0..s.parties() {
        let owner = (receiver + 1) % s.parties();
        let opened = run(s, |machine| {
            let own = (machine.party().id() == owner).then_some(&[5i64, -6][..]);
            let x = machine.input(owner, 2, own)?;
            machine.reveal(&x, Audience::One(receiver))
        });
        for (party, value) in opened.into_iter().enumerate() {
            assert_eq!(
                value,
                (party == receiver).then(|| vec![5, -6]),
                "{}",
                s.name()
            );
        }
    }
}

/// What moves no data.
pub fn local_operations(s: &dyn Subject) {
    let x: Vec<i64> = noise(9, 12).into_iter().map(|v| v >> 8).collect();
    let opened = apply(s, &[], &x, |machine, x| {
        assert_eq!(machine.len(x), 12);
        let turned = machine.gather(x, &[3, u32::MAX, 0, 11]);
        let constant = machine.constant(&[1, 2, 3, -4]);
        let sum = machine.add(&turned, &constant);
        let scaled = machine.scale(&sum, -3);
        let rest = machine.sub(&scaled, &turned);
        let tail = machine.slice(x, 5..12);
        Ok(machine.concat(&[&rest, &tail]))
    });
    let turned = [x[3], 0, x[0], x[11]];
    let rest = (0..4).map(|i| (turned[i] + [1, 2, 3, -4][i]) * -3 - turned[i]);
    let want = rest.chain(x[5..].iter().copied()).map(|v| s.wrap(v.into()));
    assert_eq!(opened, want.collect::<Vec<_>>(), "{}", s.name());
}

/// Material of another size is no material: an error, never a stand-in value.
pub fn material_is_planned(s: &dyn Subject) {
    let calls = [Call::relu(4), Call::truncate(4, 2)];
    let free = |calls: &[Call]| {
        let bytes = run(s, |machine| Ok(machine.cost_model().offline(calls).bytes));
        bytes[0].iter().sum::<u64>() == 0
    };
    // Clear text needs no material, and many replicated calls none either.
    let [signs_are_free, truncations_are_free] = [free(&calls[..1]), free(&calls[1..])];
    let refused = run(s, |machine| {
        machine.prepare(&calls)?;
        let x = machine.constant(&[1, 2, 3]);
        let relu = machine.relu(&x, KeyBits::ALL).err();
        let less = machine.truncate(&x, 2).err();
        let relu = (!signs_are_free).then_some(relu);
        let less = (!truncations_are_free).then_some(less);
        Ok([relu, less].into_iter().flatten())
    });
    for error in refused.into_iter().flatten() {
        let words = error.expect("three elements were not planned").to_string();
        assert!(words.contains("of 3 elements"), "{words}");
    }
}
