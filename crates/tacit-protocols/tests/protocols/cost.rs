//! Declared cost equals metered cost: hops and bytes of every call, offline and online.

use crate::common::*;
use tacit_algebra::Ring;
use tacit_algebra::mersenne::{F31, F61};
use tacit_net::Phase;
use tacit_protocols::Cost;
use tacit_protocols::bicoptor::rss::RssCost;
use tacit_protocols::bicoptor::ubl::UblCost;
use tacit_protocols::falcon::{Falcon, PARTIES, Truncation};
use tacit_protocols::machine::{
    Audience, Bilinear, Call, CostModel, KeyBits, Machine, MatMul, Operand,
};
use tacit_protocols::mixed::{Mixed, lowered};
use tacit_protocols::shamir::{Comparison, Opening};

/// Makes one call of the given size on values that everybody knows, with the right operand that
/// was fixed for it.
fn perform<M: Machine>(
    machine: &mut M,
    call: &Call,
    fixed: Option<M::Share>,
) -> Result<(), tacit_protocols::Error> {
    let mut secret = |n: usize| machine.constant(&vec![1; n]);
    match *call {
        Call::Input { owner, n } => {
            let values = vec![3; n];
            let owns = machine.party().id() == owner;
            machine.input(owner, n, owns.then_some(&values)).map(drop)
        }
        Call::Reveal { n, to } => {
            let x = secret(n);
            machine.reveal(&x, to).map(drop)
        }
        Call::Fix { n } => {
            let x = secret(n);
            machine.fix(x).map(drop)
        }
        Call::Product { map, trunc, .. } => {
            let (x, y) = (
                secret(map.left()),
                fixed.unwrap_or_else(|| secret(map.right())),
            );
            let y = Operand::Secret(y);
            match map {
                Bilinear::Elementwise(_) => machine.mul(&x, &y, trunc),
                Bilinear::MatMul(shape) => machine.matmul(&x, &y, None, shape, trunc),
                Bilinear::Conv2d(shape) => machine.conv2d(&x, &y, None, &shape, trunc),
            }
            .map(drop)
        }
        Call::Truncate { n, trunc } => {
            let x = secret(n);
            machine.truncate(&x, trunc).map(drop)
        }
        Call::Drelu { n, keys } => {
            let x = secret(n);
            machine.drelu(&x, keys).map(drop)
        }
        Call::Relu { n, keys } => {
            let x = secret(n);
            machine.relu(&x, keys).map(drop)
        }
        Call::Select { n } => {
            let x = secret(n);
            let bit = machine.drelu(&x, KeyBits::ALL)?;
            machine.party().set_layer("measured");
            machine.select(&bit, &x, &x).map(drop)
        }
        Call::Maxpool {
            windows,
            size,
            keys,
        } => {
            let x = secret(windows * size);
            machine.maxpool(&x, windows, size, keys).map(drop)
        }
        Call::Function { n, function } => {
            let x = secret(n);
            machine.function(&function, &x).map(drop)
        }
        Call::Verify { .. } => Ok(()),
        Call::Mixed(mixed) => perform_mixed(machine, mixed, fixed),
    }
}

/// The same of a call on numbers of fewer bits.
fn perform_mixed<M: Machine>(
    machine: &mut M,
    call: Mixed,
    fixed: Option<M::Share>,
) -> Result<(), tacit_protocols::Error> {
    let mut narrow = |n: usize, bits| {
        let x = machine.constant(&vec![1; n]);
        machine.resize(&x, 0, bits)
    };
    match call {
        Mixed::Resize {
            n,
            from,
            trunc,
            bits,
        } => {
            let x = narrow(n, from)?;
            machine.resize(&x, trunc, bits).map(drop)
        }
        Mixed::Product { map, bits, .. } => {
            let [left, right, bits] = bits;
            let x = narrow(map.left(), left)?;
            let y = match fixed {
                Some(y) => y,
                None => narrow(map.right(), right)?,
            };
            let product = machine.product(&x, &Operand::Secret(y), None, &map, bits);
            product.map(drop)
        }
        Mixed::Drelu { n, keys, bits } => {
            let x = narrow(n, bits)?;
            machine.drelu(&x, keys).map(drop)
        }
        Mixed::Select { n, bits } => {
            let x = narrow(n, bits)?;
            let bit = machine.drelu(&x, KeyBits::ALL)?;
            machine.party().set_layer("measured");
            machine.select(&bit, &x, &x).map(drop)
        }
        Mixed::Relu { n, keys, bits } => {
            let x = narrow(n, bits)?;
            machine.relu(&x, keys).map(drop)
        }
        Mixed::Maxpool {
            windows,
            size,
            keys,
            bits,
        } => {
            let x = narrow(windows * size, bits)?;
            machine.maxpool(&x, windows, size, keys).map(drop)
        }
        Mixed::Function { n, function } => {
            let x = narrow(n, function.from.bits)?;
            machine.function_between(&function, &x).map(drop)
        }
    }
}

/// The operand that a product says is fixed, which is done before any material is made.
fn fix<M: Machine>(
    machine: &mut M,
    call: &Call,
) -> Result<Option<M::Share>, tacit_protocols::Error> {
    let (map, known_to, bits) = match call {
        Call::Product {
            map,
            fixed: Some(_),
            known_to,
            ..
        } => (map, known_to, machine.ring_bits()),
        Call::Mixed(Mixed::Product {
            map,
            fixed: Some(_),
            known_to,
            bits,
        }) => (map, known_to, bits[1]),
        _ => return Ok(None),
    };
    let n = map.right();
    machine.prepare(&[Call::Fix { n }])?;
    machine.party().set_layer("before");
    let mut w = machine.constant(&vec![1; n]);
    if let Some(owner) = *known_to {
        let owns = machine.party().id() == owner;
        w = machine.input(owner, n, owns.then_some(&vec![1; n]))?;
        w = machine.resize(&w, 0, bits)?;
        w = machine.known(w, owner);
    }
    machine.fix(w).map(Some)
}

/// The cost that the meters saw: hops of the slowest party, bytes of each.
fn combine(each: &[(u32, u64)]) -> Cost {
    Cost {
        rounds: each.iter().map(|c| c.0).max().unwrap_or(0),
        bytes: each.iter().map(|c| c.1).collect(),
    }
}

pub fn declared_equals_metered<S: Subject>(s: &S, call: Call) {
    // Selection needs a bit first, made in a layer of its own.
    let calls = match call {
        Call::Select { n } => vec![Call::drelu(n), call],
        Call::Mixed(Mixed::Select { n, bits }) => {
            let keys = KeyBits::ALL;
            vec![Call::Mixed(Mixed::Drelu { n, keys, bits }), call]
        }
        _ => vec![call],
    };
    let measured = run(s, |machine| {
        let declared = (
            machine.cost_model().offline(&calls),
            machine.cost_model().online(&call),
        );
        let fixed = fix(machine, &call)?;
        machine.prepare(&calls)?;
        machine.party().set_layer(if calls.len() > 1 {
            "before"
        } else {
            "measured"
        });
        perform(machine, &call, fixed)?;
        let meter = machine.party().meter();
        let offline = meter.total(Phase::Offline);
        let layer = meter
            .layers(Phase::Online)
            .into_iter()
            .find(|(name, _)| name == "measured");
        let online = layer
            .map(|(_, traffic)| (traffic.rounds, traffic.bytes_sent))
            .unwrap_or((0, 0));
        Ok((declared, (offline.rounds, offline.bytes_sent), online))
    });
    let (offline, online) = measured[0].0.clone();
    let metered_offline = combine(&measured.iter().map(|m| m.1).collect::<Vec<_>>());
    let metered_online = combine(&measured.iter().map(|m| m.2).collect::<Vec<_>>());
    assert_eq!(metered_online, online, "online, {call:?}, {}", s.name());
    assert_eq!(metered_offline, offline, "offline, {call:?}, {}", s.name());
}

fn every_call(n: usize) -> Vec<Call> {
    vec![
        Call::Input { owner: 2, n },
        Call::Reveal {
            n,
            to: Audience::All,
        },
        Call::Reveal {
            n,
            to: Audience::One(1),
        },
        Call::elementwise(n, 0),
        Call::elementwise(n, 5),
        Call::Fix { n },
        Call::Product {
            map: Bilinear::MatMul(MatMul { m: 3, k: n, n: 2 }),
            fixed: None,
            known_to: None,
            trunc: 4,
        },
        Call::Product {
            map: Bilinear::MatMul(MatMul { m: 3, k: n, n: 2 }),
            fixed: Some(0),
            known_to: Some(0),
            trunc: 4,
        },
        Call::Product {
            map: Bilinear::Elementwise(n),
            fixed: Some(0),
            known_to: None,
            trunc: 0,
        },
        Call::Truncate { n, trunc: 6 },
        Call::drelu(n),
        Call::relu(n),
        Call::Select { n },
        Call::maxpool(n, 5),
    ]
}

fn all_truncations<R: Ring>() {
    for truncation in [Truncation::Gap, Truncation::Exact, Truncation::Aby3] {
        for call in [1, 7, 64, 129].into_iter().flat_map(every_call) {
            let subject = FalconOver {
                truncation,
                ..falcon_over::<R>()
            };
            declared_equals_metered(&subject, call);
        }
    }
}

#[test]
fn declared_equals_metered_over_8_and_16_bits() {
    all_truncations::<u8>();
    all_truncations::<u16>();
}

#[test]
fn declared_equals_metered_over_32_bits() {
    all_truncations::<u32>();
}

#[test]
fn declared_equals_metered_over_64_bits() {
    all_truncations::<u64>();
}

/// A call, and the checkpoint and the opening of a result after it.
fn declared_equals_metered_with_a_checkpoint<R: Ring>(s: &FalconOver<R>, call: Call) {
    let reveal = Call::Reveal {
        n: 5,
        to: Audience::All,
    };
    let measured = run(s, |machine| {
        let calls = lowered(&[call, reveal], machine.cost_model())?;
        let sum = |calls: &[Call]| {
            let costs = calls.iter().map(|call| machine.cost_model().online(call));
            costs.fold(Cost::each(PARTIES, 0, 0), |sum, cost| sum + &cost)
        };
        let (before, after) = (sum(&calls[..1]), sum(&calls[1..]));
        machine.prepare(&calls)?;
        machine.party().set_layer("call");
        perform(machine, &call, None)?;
        machine.party().set_layer("reveal");
        perform(machine, &reveal, None)?;
        let layers = machine.party().meter().layers(Phase::Online);
        let of = |name: &str| {
            let layer = layers.iter().find(|(layer, _)| layer == name);
            layer.map_or((0, 0), |(_, t)| (t.rounds, t.bytes_sent))
        };
        Ok((before, after, of("call"), of("reveal")))
    });
    let (before, after, ..) = &measured[0];
    let [made, revealed]: [Vec<_>; 2] = [
        measured.iter().map(|m| m.2).collect(),
        measured.iter().map(|m| m.3).collect(),
    ];
    assert_eq!(&combine(&made), before, "{call:?}, {}", s.name());
    assert_eq!(
        &combine(&revealed),
        after,
        "checkpoint, {call:?}, {}",
        s.name()
    );
}

fn malicious<R: Ring>() {
    for truncation in [Truncation::Gap, Truncation::Exact] {
        for configure in [|machine| machine, Falcon::<R>::with_narrow_signs] {
            let subject = FalconOver {
                truncation,
                configure,
                ..malicious_over::<R>()
            };
            for n in [1, 7, 64, 129] {
                for call in every_call(n) {
                    declared_equals_metered(&subject, call);
                }
                for call in every_call(n)
                    .into_iter()
                    .filter(|call| !matches!(call, Call::Select { .. }))
                {
                    declared_equals_metered_with_a_checkpoint(&subject, call);
                }
            }
        }
    }
}

#[test]
fn declared_equals_metered_against_a_malicious_party() {
    malicious::<u8>();
    malicious::<u16>();
    malicious::<u32>();
    malicious::<u64>();
}

/// Several chunks and batches.
#[test]
fn declared_equals_metered_of_many_elements_against_a_malicious_party() {
    let subject = malicious_over::<u32>();
    for call in [Call::relu(50_000), Call::elementwise(70_000, 9)] {
        declared_equals_metered(&subject, call);
        declared_equals_metered_with_a_checkpoint(&subject, call);
    }
}

/// The prediction of a network of three layers: what the checks add to the traffic.
#[test]
fn checks_at_most_double_the_traffic_of_a_small_network() {
    use tacit_protocols::falcon::{FalconCost, Security};
    let layers = [(784, 128), (128, 128), (128, 10)];
    let bytes = |security, batch: usize| {
        let cost = FalconCost::new(64, 67, Truncation::Gap).with_narrow_signs();
        let cost = cost.with_security(security);
        let mut calls = vec![Call::Input {
            owner: 1,
            n: 784 * batch,
        }];
        for (i, (k, n)) in layers.into_iter().enumerate() {
            let map = Bilinear::MatMul(MatMul { m: batch, k, n });
            calls.push(Call::Product {
                map,
                fixed: None,
                known_to: None,
                trunc: 13,
            });
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

/// A call that leaves more to verify than may wait verifies it at once.
#[test]
fn what_waits_is_bounded() {
    let call = Call::elementwise(400_000, 0);
    let measured = run(&malicious_over::<u32>(), |machine| {
        let calls = lowered(&[call, call], machine.cost_model())?;
        assert!(matches!(
            calls[..],
            [_, Call::Verify { .. }, _, Call::Verify { .. }]
        ));
        machine.prepare(&calls)?;
        machine.party().set_layer("measured");
        perform(machine, &call, None)?;
        let layers = machine.party().meter().layers(Phase::Online);
        let model = machine.cost_model();
        let (_, traffic) = layers.last().expect("a layer was named");
        Ok((
            model.online(&calls[0]) + &model.online(&calls[1]),
            (traffic.rounds, traffic.bytes_sent),
        ))
    });
    let metered = combine(&measured.iter().map(|m| m.1).collect::<Vec<_>>());
    assert_eq!(metered, measured[0].0);
}

/// Both settings of Bicoptor, with every truncation and with key bits.
fn bicoptor<R: Ring>(keys: KeyBits) {
    for truncation in [Truncation::Gap, Truncation::Aby3, Truncation::SecureMl] {
        for n in [1, 7, 64, 700] {
            let with_keys = [
                Call::Input { owner: 0, n },
                Call::Reveal {
                    n,
                    to: Audience::One(2),
                },
                Call::Drelu { n, keys },
                Call::Relu { n, keys },
            ];
            for call in every_call(n).into_iter().chain(with_keys) {
                declared_equals_metered(&ubl_over::<R>(truncation), call);
                declared_equals_metered(&rss_over::<R>(truncation), call);
            }
        }
    }
}

#[test]
fn declared_equals_metered_in_both_settings_of_bicoptor() {
    bicoptor::<u8>(KeyBits {
        dropped: 2,
        kept: 2,
    });
    bicoptor::<u32>(KeyBits {
        dropped: 11,
        kept: 7,
    });
    bicoptor::<u64>(KeyBits {
        dropped: 24,
        kept: 7,
    });
}

/// Blocks of elements, each with messages of its own, take as many hops as one, and have dealers in turn.
/// Seen to fail where a block waited for the one before.
#[test]
fn declared_equals_metered_of_several_blocks_of_exact_signs() {
    for call in [Call::drelu(140_001), Call::relu(70_001)] {
        declared_equals_metered(&ubl_over::<u32>(Truncation::Gap), call);
    }
    for call in [Call::drelu(200_001), Call::relu(270_001)] {
        declared_equals_metered(&rss_over::<u32>(Truncation::Gap), call);
    }
}

/// Every width and kind of transfer, and lengths whose cost is extrapolated.
#[test]
fn declared_equals_metered_between_two_parties() {
    use tacit_sirnn::Options;
    use tacit_sirnn::ot::Kind;
    for (bits, sign_bits, kind) in [
        (16, 16, Kind::SoftSpoken { k: 1 }),
        (32, 11, Kind::default()),
        (64, 32, Kind::SoftSpoken { k: 8 }),
        (37, 37, Kind::Silent),
    ] {
        let calls = [1, 7, 64, 129, 1500, 5003].into_iter().flat_map(every_call);
        let between_two = |call: &Call| match call {
            Call::Input { owner: party, .. }
            | Call::Reveal {
                to: Audience::One(party),
                ..
            } => *party < 2,
            _ => true,
        };
        for call in calls.filter(between_two) {
            let options = Options {
                bits,
                sign_bits,
                kind,
            };
            declared_equals_metered(&SirnnOver(options), call);
        }
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
    let relu = Call::Relu { n, keys };
    let sum = |cost: Cost| cost.bytes.iter().sum::<u64>() as f64 / n as f64;
    let options = bicoptor_options(Truncation::Gap);
    let ubl = UblCost::new::<u64>(options);
    assert_eq!(
        (ubl.online(&relu).rounds, sum(ubl.online(&relu))),
        (2, 54.5)
    );
    assert_eq!(sum(ubl.offline(&[relu])), 8.0);
    assert_eq!(
        ubl.online(&Call::Drelu { n, keys }).bytes[0],
        n as u64 * 90 / 8
    );
    let rss = RssCost::new::<u64>(options);
    assert_eq!(
        (rss.online(&relu).rounds, sum(rss.online(&relu))),
        (2, 46.75)
    );
    assert_eq!(sum(rss.offline(&[relu])), 24.0);
}

#[test]
fn declared_equals_metered_with_narrow_signs() {
    for call in [1, 7, 64, 129].into_iter().flat_map(every_call) {
        let configure = Falcon::<u64>::with_narrow_signs;
        declared_equals_metered(
            &FalconOver {
                truncation: Truncation::Exact,
                configure,
                ..falcon_over()
            },
            call,
        );
    }
}

/// The larger sizes run over the larger field, where no draw is ever made again; that costs more
/// than declared.
#[test]
fn declared_equals_metered_between_many_parties() {
    for parties in [3, 4, 7] {
        for comparison in [Comparison::Tree, Comparison::Rot, Comparison::Auto] {
            for opening in [Opening::King, Opening::Direct, Opening::Auto] {
                let small = shamir_over::<F31>(parties, comparison, opening);
                let large = shamir_over::<F61>(parties, comparison, opening);
                for call in [1, 7].into_iter().flat_map(every_call) {
                    declared_equals_metered(&small, call);
                }
                for call in every_call(300) {
                    declared_equals_metered(&large, call);
                }
            }
        }
    }
}

#[test]
fn declared_equals_metered_with_thresholds_below_the_greatest() {
    for call in [7, 300].into_iter().flat_map(every_call) {
        for (parties, threshold) in [(5, 1), (7, 1), (7, 2)] {
            for comparison in [Comparison::Tree, Comparison::Rot] {
                for opening in [Opening::King, Opening::Direct] {
                    let subject = shamir_over::<F61>(parties, comparison, opening);
                    declared_equals_metered(&subject.with_threshold(threshold), call);
                }
            }
        }
    }
}

/// Several batches: hops and bytes add up, wherever the parties stood when a batch began.
fn several_batches<S: Subject>(subject: &S, n: usize) {
    let calls = [
        Call::relu(n),
        Call::elementwise(n, 9),
        Call::relu(3),
        Call::maxpool(n / 8, 4),
        Call::Truncate { n, trunc: 2 },
    ];
    let measured = run(subject, |machine| {
        machine.prepare(&calls)?;
        let offline = machine.party().meter().total(Phase::Offline);
        Ok((
            machine.cost_model().offline(&calls),
            (offline.rounds, offline.bytes_sent),
        ))
    });
    let metered = combine(&measured.iter().map(|m| m.1).collect::<Vec<_>>());
    assert_eq!(metered, measured[0].0, "{}", subject.name());
}

#[test]
fn a_demand_of_several_batches_is_declared_too() {
    several_batches(&falcon_over::<u32>(), 400_000);
    for configure in [|machine| machine, Falcon::<u64>::with_narrow_signs] {
        for n in [9_000, 20_000, 40_000] {
            let subject = FalconOver {
                configure,
                ..malicious_over::<u64>()
            };
            several_batches(&subject, n);
        }
    }
}

/// The bounds that users plan with, per element and party.
#[test]
fn costs_stay_within_the_published_bounds() {
    use tacit_protocols::falcon::FalconCost;
    let n = 1 << 16;
    let per = |bytes: &[u64]| bytes.iter().max().copied().unwrap_or(0) as f64 / n as f64;
    for (bits, prime, relu_bytes, relu_rounds, relu_offline, trunc_offline) in [
        (32, 37, 41.0, 9, 72.0, 32.0),
        (64, 67, 81.0, 10, 160.0, 65.0),
    ] {
        let cost = FalconCost::new(bits, prime, Truncation::Gap);
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
