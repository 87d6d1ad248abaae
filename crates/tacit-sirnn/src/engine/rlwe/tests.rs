//! What is opened of encrypted products, and what is refused.

use std::collections::BTreeMap;
use std::time::Duration;

use tacit_algebra::{MatMul, vec};
use tacit_net::memory::mesh;
use tacit_net::testing::{self, Fate};
use tacit_net::{LinkModel, Party};
use tacit_protocols::machine::Bilinear;

use super::*;
use crate::ot::ideal;

const BITS: u32 = 8;
const SHAPE: MatMul = MatMul { m: 64, k: 4, n: 64 };

fn way() -> Way {
    let encrypted = Encrypted {
        map: Bilinear::MatMul(SHAPE),
        bits: BITS,
        size: 1 << 7,
    };
    encrypted.way(80.0).expect("there is one")
}

/// Party 1 encrypts, party 0 knows the right factor: both parties' shares.
fn shares(parties: Vec<Party>, left: &[u64], right: &[i64]) -> Vec<Result<Vec<u64>, Error>> {
    let way = way();
    let (set, levels) = way.keys();
    let wanted = [BTreeMap::new(), BTreeMap::from([(set, levels)])];
    ideal::run(parties, Default::default(), |engine| {
        let run = |engine: &mut Engine| {
            engine.exchange_keys(&wanted)?;
            let left = Shared::new(BITS, left);
            Ok(engine.encrypted(&way, &left, right, [false, true])?.values)
        };
        Ok(run(engine))
    })
}

fn local() -> Vec<Party> {
    mesh(2, &LinkModel::LOCAL, Duration::from_secs(20))
}

/// Weights that are 0 and weights that are as large as they can be: what party 1 opens, of which the
/// encoding's own test sees only ciphertexts, has every value as often as any other.
#[test]
fn what_is_opened_is_uniform_whatever_the_factors() {
    let left: Vec<u64> = (0..SHAPE.m * SHAPE.k)
        .map(|i| (i * 37 % 256) as u64)
        .collect();
    for weight in [0i64, -128, 127] {
        let right = vec![weight; SHAPE.k * SHAPE.n];
        let mut all = shares(local(), &left, &right)
            .into_iter()
            .map(|s| s.expect("runs"));
        let [own, opened] = [all.next().expect("party 0"), all.next().expect("party 1")];
        let mut counts = [0usize; 256];
        for ((own, opened), i) in own.iter().zip(&opened).zip(0..) {
            counts[*opened as usize] += 1;
            let row = &left[i / SHAPE.n * SHAPE.k..][..SHAPE.k];
            let sum = row.iter().map(|x| *x as i64 * weight).sum::<i64>();
            assert_eq!(vec::low_bits(&[own + opened], BITS)[0], sum as u64 & 255);
        }
        // 16 of each on average; a value that is left out or counts twice is 4 deviations away.
        let square: f64 = counts
            .iter()
            .map(|c| (*c as f64 - 16.0).powi(2) / 16.0)
            .sum();
        assert!((150.0..380.0).contains(&square), "{weight}: {square}");
    }
}

/// A party that sends numbers beyond a prime is named, and nothing of them is used.
#[test]
fn numbers_that_are_no_residues_are_refused() {
    for step in ["sirnn rlwe: keys", "sirnn rlwe: encrypted factor"] {
        let parties = testing::mesh_with(2, Duration::from_secs(20), move |message| {
            if message.step == step {
                let numbers = message.payload.iter_mut().skip(SEED);
                numbers.for_each(|byte| *byte = 0xff);
            }
            Fate::Deliver
        });
        let left = vec![1; SHAPE.m * SHAPE.k];
        let ended = shares(parties, &left, &[1; 256]);
        let error = ended[0].as_ref().expect_err("it is refused").to_string();
        assert!(
            error.contains("party 1") && error.contains("no residue"),
            "{error}"
        );
    }
}

#[test]
fn products_without_keys_are_refused() {
    let way = way();
    let ended = ideal::run(local(), Default::default(), |engine| {
        let left = Shared::new(BITS, &[0; 256]);
        Ok(engine.encrypted(&way, &left, &[0; 256], [false, true]))
    });
    let error = ended[1].as_ref().err().expect("it has no key").to_string();
    assert!(error.contains("encrypted"), "{error}");
}
