//! The search for what relates the blocks of correlated OTs, against a small model of the hash: the
//! same construction with blocks of 18 bits and any number of transfers for a key.
//!
//! The receiver knows `t` of every transfer and here also the pad of `t ^ delta`, as it does where it
//! can tell what was sent. Under one key `E(z) ^ z` at the `z` of any transfer is that transfer's
//! pad: one look-up tests a `z` against all.

use std::collections::HashMap;

use crate::Prg;

/// Half the bits of a block.
const HALF: u32 = 9;
const MASK: u64 = (1 << HALF) - 1;
/// Values of a block.
const SIZE: f64 = (1 << (2 * HALF)) as f64;
/// Transfers of a session.
const TRANSFERS: u64 = 512;
/// Sessions that are attacked.
const SESSIONS: u64 = 40;

/// A cipher of small blocks that counts its calls: Luby and Rackoff's, of six rounds.
struct Cipher {
    session: u64,
    calls: u64,
}

impl Cipher {
    fn round(&self, key: u64, round: u64, half: u64) -> u64 {
        let mut x =
            self.session ^ (key << 32 | round << 16 | half).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for shift in [30, 27, 31] {
            x = (x ^ x >> shift).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        }
        x >> 40 & MASK
    }

    fn encrypt(&mut self, key: u64, x: u64) -> u64 {
        self.calls += 1;
        let swap = |(l, r): (u64, u64), round| (r, l ^ self.round(key, round, r));
        let (l, r) = (0..6).fold((x >> HALF, x & MASK), swap);
        l << HALF | r
    }

    fn decrypt(&mut self, key: u64, y: u64) -> u64 {
        self.calls += 1;
        let swap = |(l, r): (u64, u64), round| (r ^ self.round(key, round, l), l);
        let (l, r) = (0..6).rev().fold((y >> HALF, y & MASK), swap);
        l << HALF | r
    }
}

fn orthomorphism(x: u64) -> u64 {
    ((x >> HALF) ^ (x & MASK)) << HALF | x >> HALF
}

fn inverse(z: u64) -> u64 {
    let l = z & MASK;
    l << HALF | (z >> HALF) ^ l
}

/// A construction of the hash.
#[derive(Clone, Copy)]
enum Model {
    /// `E(E(x) ^ i) ^ E(x)` under one key for all transfers `i`, which was the hash here.
    Tweaked,
    /// `E_k(s(x)) ^ s(x)` under a key for so many transfers.
    Keyed { transfers: u64 },
}

impl Model {
    fn key(self, i: u64) -> u64 {
        match self {
            Model::Tweaked => 0,
            Model::Keyed { transfers } => i / transfers,
        }
    }

    fn pad(self, cipher: &mut Cipher, i: u64, x: u64) -> u64 {
        match self {
            Model::Tweaked => {
                let once = cipher.encrypt(0, x);
                cipher.encrypt(0, once ^ i) ^ once
            }
            Model::Keyed { .. } => {
                let z = orthomorphism(x);
                cipher.encrypt(self.key(i), z) ^ z
            }
        }
    }

    /// What `E_k(z) ^ z` is where `z` belongs to transfer `i`, by the pad.
    fn target(self, i: u64, pad: u64) -> u64 {
        match self {
            Model::Tweaked => pad ^ i,
            Model::Keyed { .. } => pad,
        }
    }

    /// The block of transfer `i` that `z` belongs to.
    fn block(self, cipher: &mut Cipher, i: u64, z: u64) -> u64 {
        match self {
            Model::Tweaked => cipher.decrypt(0, z ^ i),
            Model::Keyed { .. } => inverse(z),
        }
    }
}

/// The calls of the cipher until `delta` is found.
fn work(model: Model, session: u64) -> u64 {
    let mut prg = Prg::new((session as u128).to_le_bytes());
    let mut cipher = Cipher {
        session: prg.ring::<u64>(1)[0],
        calls: 0,
    };
    let blocks = prg.ring::<u64>(TRANSFERS as usize + 1);
    let small = |x: u64| x >> (64 - 2 * HALF);
    let (delta, t) = (small(blocks[0]), |i: u64| small(blocks[1 + i as usize]));
    let pads: Vec<u64> = (0..TRANSFERS)
        .map(|i| model.pad(&mut cipher, i, t(i) ^ delta))
        .collect();
    cipher.calls = 0;
    // The transfers of the first key: of one key all.
    let of_key = (0..TRANSFERS).take_while(|i| model.key(*i) == 0);
    let mut targets: HashMap<u64, Vec<u64>> = HashMap::new();
    for i in of_key {
        let target = model.target(i, pads[i as usize]);
        targets.entry(target).or_default().push(i);
    }
    for z in 0..SIZE as u64 {
        let image = cipher.encrypt(0, z) ^ z;
        for &i in targets.get(&image).into_iter().flatten() {
            let found = model.block(&mut cipher, i, z) ^ t(i);
            let holds = |j: u64| model.pad(&mut cipher, j, t(j) ^ found) == pads[j as usize];
            if [TRANSFERS - 1, TRANSFERS - 2, TRANSFERS - 3]
                .into_iter()
                .all(holds)
            {
                assert_eq!(found, delta);
                return cipher.calls;
            }
        }
    }
    unreachable!("every transfer has its z");
}

fn mean_work(model: Model) -> f64 {
    let all: u64 = (0..SESSIONS).map(|session| work(model, session)).sum();
    all as f64 / SESSIONS as f64
}

/// One key for all transfers is found by work that falls with their number, tweaked or not; with a
/// key for every eight, as correlated OTs have it, there are no more than eight to test at once.
#[test]
fn one_look_up_tests_no_more_transfers_than_share_a_key() {
    let all = TRANSFERS as f64;
    for broken in [
        Model::Tweaked,
        Model::Keyed {
            transfers: TRANSFERS,
        },
    ] {
        let mean = mean_work(broken);
        println!("one key: {mean:.0} calls, {:.0} expected", SIZE / all);
        assert!(mean < 3.0 * SIZE / all, "{mean}");
    }
    for transfers in [1, 8] {
        let mean = mean_work(Model::Keyed { transfers });
        let expected = SIZE / (transfers + 1) as f64;
        println!("a key for {transfers}: {mean:.0} calls, {expected:.0} expected");
        assert!(mean > expected / 2.0, "{mean}");
    }
}
