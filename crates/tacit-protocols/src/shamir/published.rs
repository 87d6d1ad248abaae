//! The paper's comparison as it is printed (Protocols 4.1, 4.2 and 5.1; docs/spec/liu24.md,
//! section 5), for tests only: whoever sees what it opens has the secret. The comparisons that are
//! shipped open no such zeros.
//!
//! PreMult opens `c_i = a_i r'_i`, which is 0 where `a_i` is. PreOR calls it with `1 - c_i`, which
//! is 0 wherever bit `i` of the public `y` differs from that of `r`; so all bits of `r` are read
//! off, and `y = 2 a + r` gives `a`.

use std::sync::{Arc, Mutex};

use tacit_algebra::mersenne::{F31, Field, buffer, from_wire, vec};
use tacit_algebra::{Buffer, Prg};
use tacit_net::testing::{Fate, mesh_with};

use super::deal::{Demand, Double};
use super::material::Material;
use super::tests::{TIMEOUT, mesh, options, run};
use super::{Comparison, Opening, Options, Shamir};
use crate::Error;
use crate::machine::{Call, Machine};
use crate::message::{Elements, Message};

const STEP: Message<Elements> = Message::new("shamir as published");

/// What a comparison showed to everyone: the masked value, and the rows of PreMult.
struct Transcript<F> {
    y: Buffer<F>,
    opened: Buffer<F>,
}

impl<F: Field> Shamir<F> {
    /// RandNZ with inverses: `a` and `b / (a b)`, the product opened.
    fn pairs_as_published(&mut self, n: usize) -> Result<(Buffer<F>, Buffer<F>), Error> {
        let mut pool = self.draw(Demand {
            random: 2 * n,
            double: 0,
            zero: n,
        })?;
        let (a, b, zero) = (pool.random(n), pool.random(n), pool.zero(n));
        let product = self.mult_pub(STEP, &a, &b, &zero)?;
        assert!(
            buffer::find_zeros(&product).is_empty(),
            "once in 2^30 draws"
        );
        Ok((a, buffer::mul(&b, &buffer::inverse(&product))))
    }

    /// Products of pairs with a fresh double.
    fn times_as_published(&mut self, x: &Buffer<F>, y: &Buffer<F>) -> Result<Buffer<F>, Error> {
        let mut pool = self.draw(Demand {
            random: 0,
            double: x.len(),
            zero: 0,
        })?;
        let double: Double<F> = pool.double(x.len());
        self.mult(STEP, x, y, &double)
    }

    /// PreMult (paper, section 4): the products of the first rows of `a`; and what is opened.
    fn premult_as_published(
        &mut self,
        a: &Buffer<F>,
        n: usize,
    ) -> Result<(Buffer<F>, Buffer<F>), Error> {
        let (r, inverse) = self.pairs_as_published(a.len())?;
        // r'_1 = 1 / r_1, r'_i = r_{i-1} / r_i.
        let (before, after) = (r.part(0..a.len() - n), inverse.part(n..a.len()));
        let chain = self.times_as_published(&before, &after)?;
        let ratio = Buffer::concat(&[inverse.part(0..n), chain]);
        let mut pool = self.draw(Demand {
            random: 0,
            double: 0,
            zero: a.len(),
        })?;
        let zero = pool.zero(a.len());
        let opened = self.mult_pub(STEP, a, &ratio, &zero)?;
        let (mut product, mut out) = (Buffer::from(vec![F::ONE; n]), Vec::new());
        for (c, r) in opened.rows(n).zip(r.rows(n)) {
            product = buffer::mul(&product, &c);
            out.push(buffer::mul(&product, &r));
        }
        Ok((Buffer::concat(&out), opened))
    }

    /// DReLU with Bitwise-LT by PreOR by PreMult, all as printed.
    fn drelu_as_published(&mut self, a: &Buffer<F>) -> Result<(Buffer<F>, Transcript<F>), Error> {
        let (n, l) = (a.len(), F::BITS as usize);
        self.prepare(&[Call::drelu(n)])?;
        let Some((_, Material::Rot(rot))) = self.store.pop_front() else {
            unreachable!("the rotation's material has the bits of a number");
        };
        let masked = buffer::add(&buffer::add(a, a), &rot.mask);
        let y = self.reveal_shares(STEP, masked, self.params.threshold)?;
        let bit = |i: usize| -> Buffer<F> {
            let bit = |y: &F| F::from_u64(y.to_u64() >> i & 1);
            y.iter().map(bit).collect()
        };
        let ones = Buffer::from(vec![F::ONE; n]);
        // 1 - (y_i ^ r_i) from the top bit down.
        let same = (0..l).rev().map(|i| {
            let share = rot.bits.part(i * n..(i + 1) * n);
            buffer::flip(&share, &buffer::not(&bit(i)))
        });
        let same = Buffer::concat(&same.collect::<Vec<_>>());
        let (products, opened) = self.premult_as_published(&same, n)?;
        // d_i = 1 - product, e_i = d_i - d_{i+1} = product_{i+1} - product_i; [y < r] is the sum
        // of (1 - y_i) e_i.
        let above = Buffer::concat(&[&ones, &products.part(0..(l - 1) * n)]);
        let first = buffer::sub(&above, &products);
        let mut less = Buffer::zeros(n);
        for (i, first) in (0..l).rev().zip(first.rows(n)) {
            less = buffer::mul_add(&buffer::not(&bit(i)), &first, &less);
        }
        // 1 - (y_0 ^ r_0 ^ [y < r]).
        let difference = buffer::sub(&buffer::flip(&rot.bits.part(0..n), &bit(0)), &less);
        let square = self.times_as_published(&difference, &difference)?;
        let sign = buffer::sub(&ones, &square);
        Ok((sign, Transcript { y, opened }))
    }
}

/// What anyone who saw the transcript computes.
fn recover<F: Field>(seen: &Transcript<F>) -> Vec<F> {
    let (n, half) = (seen.y.len(), F::from_u64(2).inverse());
    let bit = |i: usize, row: usize| {
        let differ = seen.opened[row * n + i] == F::ZERO;
        let at = F::BITS as usize - 1 - row;
        (seen.y[i].to_u64() >> at & 1 ^ u64::from(differ)) << at
    };
    let number = |i: usize| (0..F::BITS as usize).map(|row| bit(i, row)).sum();
    (0..n)
        .map(|i| seen.y[i].sub(F::from_u64(number(i))).mul(half))
        .collect()
}

/// Uniform secrets and the edges.
fn secrets(n: usize) -> Vec<F31> {
    let mut all = Prg::new([77; 16]).field::<F31>(n);
    let edges = [0, 1, F31::P - 1, (F31::P - 1) / 2, F31::P.div_ceil(2)];
    all.iter_mut()
        .zip(edges)
        .for_each(|(v, e)| *v = F31::from_u64(e));
    all
}

#[test]
fn the_published_comparison_tells_every_secret() {
    let x = secrets(1000);
    for (parties, threshold) in [(3, 1), (5, 2)] {
        let options = options(parties, threshold, Comparison::Rot);
        let results = run::<F31, _>(mesh(parties), &options, |machine| {
            let own = (machine.party().id() == 0).then(|| vec::decode(&x));
            let a = machine.input(0, x.len(), own.as_deref())?;
            let (sign, seen) = machine.drelu_as_published(&a)?;
            let sign = machine.reveal_shares(STEP, sign, threshold)?;
            Ok((sign, seen))
        });
        let want: Vec<F31> = x
            .iter()
            .map(|x| F31::from_u64((x.to_i64() >= 0).into()))
            .collect();
        for (sign, seen) in &results {
            assert!(sign[..] == want, "what is printed is correct");
            assert!(
                recover(seen) == x,
                "and every secret is read off, by every party"
            );
        }
    }
}

/// What the king tells the party after it, opening by opening, in a shipped DReLU of a few values.
fn shipped(comparison: Comparison, x: &[F31]) -> Vec<Vec<F31>> {
    let told: Arc<Mutex<(bool, Vec<Vec<F31>>)>> = Arc::default();
    let tap = told.clone();
    let watched = mesh_with(3, TIMEOUT, move |envelope| {
        let mut told = tap.lock().expect("no thread panics");
        if envelope.from == 0 {
            // The king has prepared when it shares the input.
            told.0 |= envelope.step == "shamir input";
            if told.0 && envelope.to == 1 && envelope.step == "shamir reveal: value" {
                let len = envelope.payload.len() / F31::BYTES;
                told.1
                    .push(from_wire(envelope.payload, len).expect("elements"));
            }
        }
        Fate::Deliver
    });
    let options = Options {
        opening: Opening::King,
        ..options(3, 1, comparison)
    };
    let results = run::<F31, _>(watched, &options, |machine| {
        machine.prepare(&[Call::drelu(x.len())])?;
        let own = (machine.party().id() == 0).then(|| vec::decode(x));
        let a = machine.input(0, x.len(), own.as_deref())?;
        machine.drelu_shares(&a)
    });
    assert_eq!(results.len(), 3);
    let told = told.lock().expect("no thread panics");
    told.1.clone()
}

/// Zeros of each element in an opened message.
fn zeros(opened: &[F31], n: usize) -> Vec<usize> {
    let zero = |i: usize| {
        opened
            .iter()
            .skip(i)
            .step_by(n)
            .filter(|v| **v == F31::ZERO)
            .count()
    };
    (0..n).map(zero).collect()
}

/// The bits that the king tells of a shipped DReLU by the tree: only those of the masked signs, which say
/// nothing. Seen to fail where the daBits were left out.
#[test]
fn the_tree_opens_signs_under_uniform_bits_alone() {
    for x in [0, 1, F31::P - 1].map(F31::from_u64) {
        let n = 4096;
        let told: Arc<Mutex<Vec<Vec<u8>>>> = Arc::default();
        let tap = told.clone();
        let watched = mesh_with(3, TIMEOUT, move |envelope| {
            if envelope.step == "shamir tree: masked sign" && envelope.from == 2 {
                tap.lock()
                    .expect("no thread panics")
                    .push(envelope.payload.to_vec());
            }
            Fate::Deliver
        });
        let options = options(3, 1, Comparison::Tree);
        let signs = run::<F31, _>(watched, &options, |machine| {
            machine.prepare(&[Call::drelu(n)])?;
            let own = (machine.party().id() == 0).then(|| vec![x.to_i64(); n]);
            let a = machine.input(0, n, own.as_deref())?;
            let sign = machine.drelu_shares(&a)?;
            machine.reveal_shares(STEP, sign, 1)
        });
        assert!(
            signs
                .iter()
                .flat_map(|s| &s[..])
                .all(|s| s.to_i64() == (x.to_i64() >= 0).into())
        );
        let told = told.lock().expect("no thread panics");
        assert_eq!(told.len(), 1, "one opening of signs");
        // Shares of two planes; each is as often 0 as 1, within six deviations.
        for plane in told[0].chunks(n / 8) {
            let ones: u32 = plane.iter().map(|byte| byte.count_ones()).sum();
            assert!((2048 - 192..=2048 + 192).contains(&ones), "{ones} of 4096");
        }
    }
}

#[test]
fn the_rotation_opens_one_0_at_a_uniform_place() {
    let (n, places) = (8, 32);
    let mut found = vec![0f64; places];
    for x in secrets(1024).chunks(n) {
        let opened = shipped(Comparison::Rot, x);
        // The masked value, the rotated places, those with factors, the square.
        let [y, rotated, factored, square] = &opened[..] else {
            panic!("{} openings", opened.len())
        };
        for masked in [y, rotated, square] {
            assert_eq!(zeros(masked, n), vec![0; n], "it is masked");
        }
        assert_eq!(zeros(factored, n), vec![1; n]);
        let at = factored
            .iter()
            .enumerate()
            .filter(|(_, v)| **v == F31::ZERO);
        at.for_each(|(at, _)| found[at / n] += 1.0);
    }
    // 32 a place: chi-square of 31 degrees of freedom, exceeded once in 10^8 runs.
    let statistic: f64 = found.iter().map(|c| (c - 32.0).powi(2) / 32.0).sum();
    assert!(statistic < 101.0, "{statistic}: {found:?}");
}
