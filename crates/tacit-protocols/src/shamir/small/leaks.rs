//! The nearest wrong variants of the comparison over the small field, for tests only: what they open tells the
//! compared secret, and what the shipped one opens does not.

use std::sync::{Arc, Mutex};

use tacit_algebra::mersenne::{F31, Field, buffer};
use tacit_algebra::sliced::Sliced;
use tacit_net::testing::{Fate, mesh_with};

use super::super::material::Material;
use super::super::tests::{TIMEOUT, mesh, options, run};
use super::super::{Comparison, Opening, Options};
use super::circuit::less_products;
use super::deal::{BitDouble, BitDoubles};
use crate::machine::{Call, Machine};
use crate::message::{Elements, Message};

const OPEN: Message<Elements> = Message::new("shamir leak: masked value");
/// Elements of a run: a word of every plane.
const N: usize = 64;

/// Doubles of 0 alone, which leave products of degree `2t` as they are.
fn no_doubles(gf: tacit_algebra::sliced::Gf) -> BitDoubles {
    let none = || Sliced::zeros(gf, less_products(F31::BITS as usize).sum(), N);
    let all = BitDouble {
        low: none(),
        high: none(),
    };
    BitDoubles::Drawn { all, used: 0 }
}

/// Of copies of `x` how many of the carries that pairs of bits generate the king's message of the first level
/// shows to be 1.
fn carries_shown(x: i64, masked: bool) -> u32 {
    let told: Arc<Mutex<Vec<Vec<u8>>>> = Arc::default();
    let (tap, steps) = (told.clone(), Mutex::new(false));
    let watched = mesh_with(3, TIMEOUT, move |envelope| {
        let mut online = steps.lock().expect("no thread panics");
        *online |= envelope.step == "shamir input";
        if *online && (envelope.from, envelope.to) == (0, 1) {
            let mut told = tap.lock().expect("no thread panics");
            if envelope.step == "shamir open bits: value" {
                told.push(envelope.payload.to_vec());
            }
        }
        Fate::Deliver
    });
    let options = Options {
        opening: Opening::King,
        ..options(3, 1, Comparison::Tree)
    };
    run::<F31, _>(watched, &options, |machine| {
        machine.prepare(&[Call::drelu(N)])?;
        if !masked {
            let gf = machine.small.gf;
            let Some((_, Material::SmallTree(tree))) = machine.store.front_mut() else {
                unreachable!("a sign by the tree")
            };
            tree.products = no_doubles(gf);
        }
        let own = (machine.party().id() == 0).then(|| vec![x; N]);
        let a = machine.input(0, N, own.as_deref())?;
        machine.drelu_shares(&a).map(drop)
    });
    let told = told.lock().expect("no thread panics");
    // Two planes of each of the first level's products, of which half and one are carries.
    let carries = told[0].chunks(2 * N / 8).take(F31::BITS as usize / 2);
    carries.flatten().map(|byte| byte.count_ones()).sum()
}

/// Equal numbers generate no carry: whoever is told of products without doubles knows that `a` is 0.
#[test]
fn products_without_doubles_tell_the_secret() {
    assert_eq!(carries_shown(0, false), 0, "y is the mask itself");
    assert!(carries_shown(12345, false) > 16, "and else is not");
    // Of 15 products of 64 elements, of two bits each, half are 1.
    for x in [0, 12345] {
        let shown = carries_shown(x, true);
        assert!((960 - 132..=960 + 132).contains(&shown), "{x}: {shown}");
    }
}

/// Two numbers under one mask: what is opened differs by twice their difference.
#[test]
fn a_mask_that_is_used_twice_tells_differences() {
    let (x, y) = ([5i64, 80_000, -7], [9i64, -3, 1 << 20]);
    let seen = run::<F31, _>(mesh(3), &options(3, 1, Comparison::Tree), |machine| {
        machine.prepare(&[Call::drelu(3)])?;
        let Some((_, Material::SmallTree(tree))) = machine.store.pop_front() else {
            unreachable!("a sign by the tree")
        };
        let mut open = |values: &[i64]| {
            let twice = buffer::scale(&buffer::encode(values), F31::from_u64(2));
            let masked = buffer::add(&twice, &tree.mask.numbers);
            machine.reveal_shares(OPEN, masked, 1)
        };
        Ok((open(&x)?, open(&y)?))
    });
    let half = F31::from_u64(2).inverse();
    for (first, second) in seen {
        let differences = first
            .iter()
            .zip(&second[..])
            .map(|(a, b)| a.sub(*b).mul(half).to_i64());
        assert!(differences.eq(x.iter().zip(y).map(|(x, y)| x - y)));
    }
}
