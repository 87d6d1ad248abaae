//! Right operands that are made reusable once and multiplied with many batches.

use super::settings;
use crate::subjects::Tested;
use crate::subjects::bicoptor_options;
use tacit_conformance::{Subject, noise, run};
use tacit_protocols::falcon::Truncation;
use tacit_protocols::machine::{Audience, Bilinear, Call, Conv2d, Machine, MatMul, Operand};

const K: usize = 11;
const COLS: usize = 3;

/// `x w + bias`, exactly.
fn product(s: &dyn Subject, x: &[i64], w: &[i64], bias: &[i64]) -> Vec<i64> {
    let at = |i: usize| {
        let (row, col) = (i / COLS, i % COLS);
        let term = |k: usize| i128::from(x[row * K + k]) * i128::from(w[k * COLS + col]);
        s.wrap(i128::from(bias[col]) + (0..K).map(term).sum::<i128>())
    };
    (0..x.len() / K * COLS).map(at).collect()
}

/// Two reusable matrices, each multiplied with batches of several sizes, in turns.
fn batches(s: &dyn Subject, trunc: u32) {
    let small = |seed, n| -> Vec<i64> { noise(seed, n).into_iter().map(|v| v % 90).collect() };
    let weights = [small(1, K * COLS), small(2, K * COLS)];
    let bias = small(3, COLS);
    let rows = [4, 1, 7, 4];
    let inputs: Vec<Vec<i64>> = rows.iter().map(|m| small(*m as u64 + 9, m * K)).collect();
    let shape = |m| MatMul { m, k: K, n: COLS };
    let opened = run(s, |machine| {
        let id = machine.party().id();
        machine.prepare(&[
            Call::Reusable { n: K * COLS },
            Call::Reusable { n: K * COLS },
        ])?;
        let mut reusable = Vec::new();
        for w in &weights {
            let w = machine.input(0, w.len(), (id == 0).then_some(&w[..]))?;
            reusable.push(Operand::Secret(machine.reusable(w)?));
        }
        let bias = Operand::Secret(machine.input(1, COLS, (id == 1).then_some(&bias[..]))?);
        let calls = rows.iter().enumerate().map(|(i, m)| Call::Product {
            map: Bilinear::MatMul(shape(*m)),
            reused: Some(i % 2),
            known_to: None,
            trunc,
            bits: None,
        });
        machine.prepare(&calls.collect::<Vec<_>>())?;
        let mut opened = Vec::new();
        for (i, x) in inputs.iter().enumerate() {
            let x = machine.input(2, x.len(), (id == 2).then_some(&x[..]))?;
            let z = machine.matmul(&x, &reusable[i % 2], Some(&bias), shape(rows[i]), trunc)?;
            opened.push(machine.reveal(&z, Audience::All)?.expect("all hear"));
        }
        Ok(opened)
    });
    let most = i64::from(trunc > 0);
    for (i, x) in inputs.iter().enumerate() {
        let want = product(s, x, &weights[i % 2], &bias);
        for party in &opened {
            for (got, want) in party[i].iter().zip(&want) {
                let error = got - (want >> trunc);
                assert!(
                    (0..=most).contains(&error),
                    "batch {i}: {error}, {}",
                    s.name()
                );
            }
        }
    }
}

#[test]
fn a_reusable_matrix_multiplies_many_batches() {
    fn over<R: Tested>(trunc: u32) {
        for kind in [Truncation::Gap, Truncation::Aby3, Truncation::SecureMl] {
            // The large error of values of 17 bits is too likely over 32.
            if kind == Truncation::Gap || R::BITS == 64 || trunc == 0 {
                let [ubl, rss] = settings::<R>(bicoptor_options(kind));
                batches(&ubl, trunc);
                batches(&rss, trunc);
            }
        }
    }
    for trunc in [0, 5] {
        over::<u32>(trunc);
        over::<u64>(trunc);
    }
}

/// A convolution with reusable filters gives what one with others gives, and what is made of a reusable
/// operand by local maps is a usual operand again.
#[test]
fn reusable_filters_convolve_and_maps_of_them_are_not_reusable() {
    fn check(s: &dyn Subject) {
        let conv = Conv2d {
            batch: 2,
            channels: 1,
            height: 4,
            width: 4,
            filters: 2,
            kernel: [3, 3],
            stride: [1, 1],
            pad: [1, 1, 1, 1],
            dilation: [1, 1],
            groups: 1,
        };
        let map = Bilinear::Conv2d(conv);
        let call = |reused| Call::Product {
            map,
            reused,
            known_to: None,
            trunc: 0,
            bits: None,
        };
        let (x, w) = (noise(6, map.left()), noise(7, map.right()));
        let opened = run(s, |machine| {
            let id = machine.party().id();
            let x = machine.input(0, x.len(), (id == 0).then_some(&x[..]))?;
            let w = machine.input(1, w.len(), (id == 1).then_some(&w[..]))?;
            let reusable = machine.reusable(w.clone())?;
            let doubled = machine.scale(&reusable, 2);
            machine.prepare(&[call(Some(0)), call(None), call(None)])?;
            let mut all = Vec::new();
            for filters in [reusable, w, doubled] {
                all.push(machine.conv2d(&x, &Operand::Secret(filters), None, &conv, 0)?);
            }
            let twice = machine.scale(&all[0], 2);
            let all = machine.concat(&[&all[0], &all[1], &twice, &all[2]]);
            Ok(machine.reveal(&all, Audience::All)?.expect("all hear"))
        });
        for part in opened[0].chunks(2 * map.outputs()) {
            let (a, b) = part.split_at(map.outputs());
            assert!(a == b && a.iter().any(|v| *v != 0), "{}", s.name());
        }
    }
    let [ubl, rss] = settings::<u64>(bicoptor_options(Truncation::Gap));
    check(&ubl);
    check(&rss);
}
