//! Exact signs between the holders: every width and value, figures, and what is stored.

use super::*;
use crate::Truncation;
use crate::bicoptor::ubl::UblCost;
use crate::bicoptor::{ASSISTANT, Comparison, Form, Options, PARTIES};
use crate::count::{Counts, count};
use crate::machine::{Call, Machine};
use std::time::Duration;
use tacit_net::{LinkModel, memory, testing};

const OPTIONS: Options = Options {
    truncation: Truncation::Gap,
    form: Form::Corrected,
    comparison: Comparison::Adder,
    link: LinkModel::LOCAL,
};

/// Every width of a ring, every value that it holds, and sharings of each.
#[test]
fn signs_of_every_width_are_exact_within_it() {
    for width in 1..=8 {
        let half = 1i64 << (width - 1);
        let x: Vec<i64> = (-half..half).flat_map(|x| [x; 130]).collect();
        let mesh = memory::mesh(PARTIES, &LinkModel::LOCAL, Duration::from_secs(60));
        let run = |party| {
            let mut ubl = Ubl::<u8>::new(party, OPTIONS).expect("keys are agreed");
            let id = ubl.party().id();
            let material = ubl.deal_signs(x.len(), width).expect("dealt");
            let own = (id == 0).then_some(&x[..]);
            let share = ubl.input(0, x.len(), own).expect("an input");
            (id != ASSISTANT).then(|| ubl.negative(&share.own(), width, material).expect("signs"))
        };
        let shares: Vec<Bits> = testing::run(mesh, run).into_iter().flatten().collect();
        let signs = shares[0].xor(&shares[1]);
        assert!(
            (0..x.len()).all(|i| signs.get(i) == (x[i] < 0)),
            "{width} bits"
        );
    }
}

/// Bytes of what is held for signs, bits and products with them.
fn held<R: Ring>(material: &Material<R>) -> usize {
    let of_rows = |rows: &BitRows| size_of_val(rows.words());
    match material {
        Material::Sign(signs) => {
            let generate = signs.iter().flat_map(|sign| &sign.generate);
            let levels = signs.iter().flat_map(|sign| &sign.levels);
            let levels = levels.flat_map(|level| [&level.upper, &level.lower, &level.product]);
            generate.chain(levels).map(of_rows).sum()
        }
        Material::Bit(Bit { bit, word, times }) => {
            let words = times.iter().flatten().chain([word]);
            size_of_val(bit.words()) + words.map(|words| size_of_val(&words[..])).sum::<usize>()
        }
        _ => unreachable!("exact signs take no other"),
    }
}

/// A party stores as much as it declares within 2 %: rows of bits are padded to words.
#[test]
fn as_much_is_stored_as_is_declared() {
    for call in [Call::drelu(3000), Call::relu(3000), Call::maxpool(500, 5)] {
        let mesh = memory::mesh(PARTIES, &LinkModel::LOCAL, Duration::from_secs(60));
        let run = |party| {
            let mut ubl = Ubl::<u64>::new(party, OPTIONS).expect("keys are agreed");
            ubl.prepare(&[call]).expect("prepared");
            let stored = ubl.cost_model().stored(&call) as f64;
            let held: usize = ubl.store.iter().map(|(_, material)| held(material)).sum();
            let holds = ubl.party().id() != ASSISTANT;
            assert!(
                !holds || (held as f64 / stored - 1.0).abs() < 0.02,
                "{held}, {stored}"
            );
        };
        testing::run(mesh, run);
    }
}

/// Figures of the specification's table, of each holder and of the assistant.
#[test]
fn costs_are_the_stated_ones() {
    let n = 1 << 16;
    for (width, holder, assistant, hops) in [
        (64, 30.375, 22.625, 7),
        (32, 14.5, 10.75, 6),
        (25, 11.0, 8.125, 6),
    ] {
        let signs = |party| -> Result<_, Error> {
            let mut ubl = UblCost::<u64>::new(OPTIONS).machine(party);
            let material = ubl.deal_signs(n, width)?;
            let offline = ubl.party().take_trace();
            if ubl.party().id() != ASSISTANT {
                let own = ubl.blank(n, None, None).own();
                ubl.negative(&own, width, material)?;
            }
            Ok([offline, ubl.party().take_trace()])
        };
        let [offline, online] =
            [0, 1].map(|phase| count(PARTIES, |party| Ok(signs(party)?[phase].clone())));
        let each = |bytes: u64| bytes as f64 / n as f64;
        assert!((each(online.bytes[0]) - holder).abs() < 1e-3);
        assert!((each(offline.bytes[ASSISTANT]) - assistant).abs() < 1e-3);
        assert_eq!(online.rounds, hops);
    }
}
