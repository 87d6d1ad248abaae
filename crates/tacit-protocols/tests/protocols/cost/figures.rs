//! Figures that the specifications state and that users plan with.

use super::*;
use tacit_protocols::bicoptor::rss::RssCost;
use tacit_protocols::bicoptor::ubl::UblCost;

/// The prediction of a network of three layers: what the checks add to the traffic.
#[test]
fn checks_at_most_double_the_traffic_of_a_small_network() {
    use tacit_protocols::falcon::{FalconCost, Security};
    let layers = [(784, 128), (128, 128), (128, 10)];
    let bytes = |security, batch: usize| {
        let cost = FalconCost::<u64>::new(Truncation::Gap, security).with_narrow_signs();
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
        assert!(ratio <= 2.0, "batch {batch}: {ratio}");
    }
}

/// The figures that the specification states, all parties together, at 7 key bits over 64 bits.
#[test]
fn a_relu_of_bicoptor_costs_what_is_published() {
    let n = 1 << 16;
    let keys = KeyBits {
        dropped: 24,
        kept: 7,
    };
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

/// The bounds that users plan with, per element and party.
#[test]
fn costs_stay_within_the_published_bounds() {
    use tacit_protocols::falcon::{FalconCost, Security};
    let (kind, security) = (Truncation::Gap, Security::SemiHonest);
    let n = 1 << 16;
    let per = |bytes: &[u64]| bytes.iter().max().copied().unwrap_or(0) as f64 / n as f64;
    for (bits, cost, relu_bytes, relu_rounds, relu_offline, trunc_offline) in [
        (
            32,
            &FalconCost::<u32>::new(kind, security) as &dyn CostModel,
            41.0,
            9,
            72.0,
            32.0,
        ),
        (
            64,
            &FalconCost::<u64>::new(kind, security),
            81.0,
            10,
            160.0,
            65.0,
        ),
    ] {
        let relu = cost.online(&Call::relu(n));
        assert!(
            per(&relu.bytes) <= relu_bytes && relu.rounds <= relu_rounds,
            "{relu:?}"
        );
        assert!(per(&cost.offline(&[Call::relu(n)]).bytes) <= relu_offline);
        let product = cost.online(&Call::elementwise(n, 12));
        assert!(per(&product.bytes) <= f64::from(bits) / 4.0 && product.rounds == 1);
        assert!(per(&cost.offline(&[Call::elementwise(n, 12)]).bytes) <= trunc_offline);
    }
    assert_eq!(PARTIES, 3);
}
