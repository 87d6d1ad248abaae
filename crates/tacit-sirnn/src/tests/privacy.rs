//! What is opened while digits are merged does not depend on the numbers.

use std::time::Duration;

use tacit_net::testing::{Fate, Recorder, mesh_with};

use super::*;
use crate::ot::ideal;

/// Comparisons of one run.
const N: usize = 1 << 14;
/// Beyond these chi-squares of 7 and of 31 degrees of freedom are once in `10^9` runs.
const LIMIT: f64 = 56.0;
const LIMIT_OF_ALL: f64 = 105.0;

/// What both parties see opened at the first merge of numbers of 16 bits: two operands of the AND that
/// merges digits 0 and 1, the masked `eq` of digit 3, and `lt` and `eq` of digit 2.
fn opened(x: u64, y: u64) -> [Bits; 5] {
    let mut counting = crate::Engine::counting();
    counting.mill(&vec![0; N], 16).unwrap();
    let recorder = Recorder::new();
    let seen = recorder.clone();
    let parties = mesh_with(2, Duration::from_secs(20), move |envelope| {
        seen.record(&envelope);
        Fate::Deliver
    });
    ideal::run(parties, counting.tally().ots, |engine| {
        let own = vec![[x, y][engine.id()]; N];
        engine.mill(&own, 16)
    });
    let [a, b] = [0, 1].map(|party| {
        let view = recorder.view(party);
        // The step's first messages are those of the triples.
        let merge = view
            .iter()
            .filter(|seen| seen.step == "sirnn: merge")
            .find(|seen| seen.payload.len() == 5 * N / 8)
            .unwrap();
        Bits::from_bytes(5 * N, &merge.payload).unwrap()
    });
    let all = a.xor(&b);
    std::array::from_fn(|i| all.slice(i * N, N))
}

/// How far the joint values are from uniform.
fn chi_square(opened: &[Bits]) -> f64 {
    let mut counts = vec![0; 1 << opened.len()];
    for i in 0..N {
        let bit = |(j, bits): (usize, &Bits)| usize::from(bits.get(i)) << j;
        counts[opened.iter().enumerate().map(bit).sum::<usize>()] += 1;
    }
    let expected = N as f64 / counts.len() as f64;
    let terms = counts
        .iter()
        .map(|count| (f64::from(*count) - expected).powi(2) / expected);
    terms.sum()
}

/// Two pairs of numbers: digit 2 is less and not equal, and neither.
const INPUTS: [(u64, u64); 2] = [(0x5161, 0x5261), (0x5971, 0x5241)];

#[test]
fn opened_values_are_uniform_whatever_is_compared() {
    for (x, y) in INPUTS {
        let opened = opened(x, y);
        let statistics = [&opened[2..], &opened[..]].map(chi_square);
        let [two, all] = statistics;
        assert!(
            two < LIMIT && all < LIMIT_OF_ALL,
            "{x:x} < {y:x}: {statistics:?}"
        );
    }
}

/// The triples as the authors' code has them, the common mask on `lt` and `eq`: they open
/// `lt ^ eq`, which the same statistic finds.
#[test]
fn a_common_mask_on_both_operands_would_be_seen() {
    for (x, y) in INPUTS {
        let digit = |v: u64| v >> 8 & 15;
        let [lt, eq] = [digit(x) < digit(y), digit(x) == digit(y)];
        let (e, d) = (Prg::new([1; 16]).bits(N), Prg::new([2; 16]).bits(N));
        let masked = |bit: bool| Bits::from_fn(N, |i| e.get(i) ^ bit);
        let statistic = chi_square(&[d, masked(lt), masked(eq)]);
        assert!(statistic > 20.0 * LIMIT, "{statistic}");
    }
}
