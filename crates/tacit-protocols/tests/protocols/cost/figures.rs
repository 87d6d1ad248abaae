//! Figures that the specifications state and that users plan with.

use super::*;
use tacit_protocols::bicoptor::rss::RssCost;
use tacit_protocols::bicoptor::ubl::UblCost;
use tacit_protocols::falcon::{Comparison, FalconCost, Options, Security};

/// The prediction of a network of three layers: what malicious security adds to the traffic online, of a
/// program that is the same but for the checks, and of the default one, which is not.
#[test]
fn malicious_traffic_of_a_small_network_is_bounded() {
    // Of one image the proofs are a third: they have few folds, each of which deals more, since hops take longer.
    traffic_is_bounded(Comparison::Falcon, Truncation::Aby3, 2.3);
    traffic_is_bounded(Comparison::Adder, Truncation::Gap, 4.0);
}

fn traffic_is_bounded(comparison: Comparison, truncation: Truncation, most: f64) {
    let layers = [(784, 128), (128, 128), (128, 10)];
    let bytes = |security, batch: usize| {
        let cost = FalconCost::<u64>::new(Options {
            truncation,
            security,
            comparison,
            sign_bits: 32,
        });
        let mut calls = vec![Call::Input {
            owner: 1,
            n: 784 * batch,
        }];
        for (i, (k, n)) in layers.into_iter().enumerate() {
            let map = Bilinear::MatMul(MatMul { m: batch, k, n });
            calls.push(Call::product(map, 13));
            calls.extend((i < 2).then_some(Call::relu(batch * n)));
        }
        calls.push(Call::Reveal {
            n: 10 * batch,
            to: Audience::One(1),
        });
        let calls = lowered(&calls, &cost).expect("plain calls");
        let costs: Vec<Cost> = calls.iter().map(|call| cost.online(call)).collect();
        let rounds: u32 = costs.iter().map(|cost| cost.rounds).sum();
        (
            costs.iter().flat_map(|cost| &cost.bytes).sum::<u64>(),
            rounds,
        )
    };
    for batch in [1, 16, 128] {
        let [(plain, hops), (checked, more)] =
            [Security::SemiHonest, Security::Malicious].map(|security| bytes(security, batch));
        let ratio = checked as f64 / plain as f64;
        println!(
            "784-128-128-10, batch {batch}: {plain} bytes in {hops} hops, malicious {checked} in {more}: {ratio:.2} times"
        );
        assert!(ratio <= most, "batch {batch}: {ratio}");
    }
}

/// The figures that the specification states, all parties together, at 7 key bits over 64 bits.
#[test]
fn a_relu_of_bicoptor_costs_what_is_published() {
    let n = 1 << 16;
    let keys = KeyBits::of(24, 7);
    let relu = Call::relu(n).by(keys);
    let sum = |cost: Cost| cost.bytes.iter().sum::<u64>() as f64 / n as f64;
    let options = bicoptor_options(Truncation::Gap);
    let ubl = UblCost::<u64>::new(options);
    assert_eq!(
        (ubl.online(&relu).rounds, sum(ubl.online(&relu))),
        (2, 54.5)
    );
    assert_eq!(sum(ubl.offline(&[relu])), 8.0);
    assert_eq!(
        ubl.online(&Call::drelu(n).by(keys)).bytes[0],
        n as u64 * 90 / 8
    );
    let rss = RssCost::<u64>::new(options);
    assert_eq!(
        (rss.online(&relu).rounds, sum(rss.online(&relu))),
        (2, 46.75)
    );
    assert_eq!(sum(rss.offline(&[relu])), 24.0);
}

/// The bounds that users plan with, per element and party, of signs by the adder and in the paper's way.
#[test]
fn costs_stay_within_the_published_bounds() {
    let n = 1 << 16;
    let per = |bytes: &[u64]| bytes.iter().max().copied().unwrap_or(0) as f64 / n as f64;
    let models = |comparison| -> [Box<dyn CostModel>; 2] {
        let options = Options {
            comparison,
            ..Options::default()
        };
        let narrow = FalconCost::<u32>::new(options);
        [Box::new(narrow), Box::new(FalconCost::<u64>::new(options))]
    };
    for (comparison, bounds) in [
        (Comparison::Adder, [(16.5, 9, 0.0), (34.0, 10, 0.0)]),
        (Comparison::Falcon, [(41.0, 9, 72.0), (81.0, 10, 160.0)]),
    ] {
        for (cost, (relu_bytes, relu_rounds, relu_offline)) in models(comparison).iter().zip(bounds)
        {
            let relu = cost.online(&Call::relu(n));
            assert!(
                per(&relu.bytes) <= relu_bytes && relu.rounds <= relu_rounds,
                "{relu:?}"
            );
            assert!(per(&cost.offline(&[Call::relu(n)]).bytes) <= relu_offline);
        }
    }
    for (cost, bytes) in models(Comparison::Adder).iter().zip([7.0, 14.0]) {
        let product = cost.online(&Call::elementwise(n, 13));
        assert!(
            per(&product.bytes) <= bytes && product.rounds == 3,
            "{product:?}"
        );
        assert_eq!(per(&cost.offline(&[Call::elementwise(n, 13)]).bytes), 0.0);
    }
    assert_eq!(PARTIES, 3);
}

/// What `auto` stands on: with everything counted the adder sends less in fewer hops, of one element and of
/// many, for curious parties and against a malicious one.
#[test]
fn the_adder_costs_less_than_the_comparison_of_the_paper() {
    for security in [Security::SemiHonest, Security::Malicious] {
        for n in [1, 1000, 1 << 20] {
            for call in [Call::relu(n), Call::drelu(n), Call::maxpool(n, 4)] {
                let [adder, paper] = [Comparison::Adder, Comparison::Falcon].map(|comparison| {
                    let cost = FalconCost::<u64>::new(Options {
                        security,
                        comparison,
                        ..Options::default()
                    });
                    let reveal = Call::Reveal {
                        n: 1,
                        to: Audience::All,
                    };
                    let calls = lowered(&[call, reveal], &cost).expect("plain calls");
                    cost.offline(&calls) + &cost.in_a_row(&calls)
                });
                let sent = |cost: &Cost| cost.bytes.iter().sum::<u64>();
                assert!(
                    adder.rounds < paper.rounds && sent(&adder) < sent(&paper),
                    "{security:?}, {call:?}: {adder:?}, {paper:?}"
                );
            }
        }
    }
}
