//! What every source of OTs promises.

use std::collections::HashSet;
use std::time::Duration;

use tacit_net::testing::{self, Fate};
use tacit_net::{LinkModel, Phase, memory};

use super::*;

const TIMEOUT: Duration = Duration::from_secs(60);
const KINDS: [Kind; 9] = [
    Kind::SoftSpoken { k: 1 },
    Kind::SoftSpoken { k: 2 },
    Kind::SoftSpoken { k: 3 },
    Kind::SoftSpoken { k: 4 },
    Kind::SoftSpoken { k: 5 },
    Kind::SoftSpoken { k: 6 },
    Kind::SoftSpoken { k: 7 },
    Kind::SoftSpoken { k: 8 },
    Kind::Silent,
];

/// One party's view of its extensions.
struct End {
    delta: Block,
    extensions: Vec<(Vec<Block>, Received)>,
}

/// Both parties' ends of extensions after which party `i` has sent `cots[i]` each; every declared
/// cost is held against the meters.
fn extend(parties: Vec<Party>, kind: Kind, extensions: &[[usize; 2]]) -> Vec<End> {
    testing::run(parties, |mut party| {
        let id = party.id();
        let mut source = source(&mut party, kind).unwrap();
        check_cost(&party, Phase::Setup, "-", &kind.setup_cost());
        party.set_phase(Phase::Offline);
        let extensions = extensions.iter().enumerate().map(|(i, cots)| {
            let layer = format!("extension {i}");
            party.set_layer(&layer);
            let declared = source.cost(*cots);
            let made = source
                .extend(&mut party, cots[id], cots[1 - id])
                .unwrap_or_else(|error| panic!("{kind:?}: {error}"));
            check_cost(&party, Phase::Offline, &layer, &declared);
            assert_eq!(made.0.len(), cots[id]);
            assert_eq!(made.1.blocks.len(), cots[1 - id]);
            assert_eq!(made.1.choices.len(), cots[1 - id]);
            made
        });
        End {
            extensions: extensions.collect(),
            delta: source.delta(),
        }
    })
}

/// The hops are those of the slower party: of both together, the larger.
fn check_cost(party: &Party, phase: Phase, layer: &str, declared: &Cost) {
    let layers = party.meter().layers(phase);
    let traffic = layers.iter().find(|(name, _)| name == layer);
    let traffic = traffic.map(|(_, traffic)| *traffic).unwrap_or_default();
    let id = party.id();
    assert_eq!(
        traffic.bytes_sent, declared.bytes[id],
        "bytes of party {id}, {layer}"
    );
    assert_eq!(traffic.bytes_received, declared.bytes[1 - id]);
    let receives = declared.bytes[1 - id] > 0;
    assert!(
        traffic.rounds <= declared.rounds,
        "hops of party {id}, {layer}"
    );
    assert!(traffic.rounds == declared.rounds || !receives || declared.bytes[id] > 0);
}

fn mesh() -> Vec<Party> {
    memory::mesh(PARTIES, &LinkModel::LOCAL, TIMEOUT)
}

/// Every OT of both directions is one, choices are balanced and no block occurs twice.
fn check(ends: &[End], kind: Kind) {
    for (sender, receiver) in [(&ends[0], &ends[1]), (&ends[1], &ends[0])] {
        let mut seen = HashSet::new();
        let (mut ones, mut n) = (0, 0);
        for ((q, _), (_, received)) in sender.extensions.iter().zip(&receiver.extensions) {
            for (i, (q, t)) in q.iter().zip(&received.blocks).enumerate() {
                let choice = received.choices.get(i);
                let expected = q ^ if choice { sender.delta } else { 0 };
                assert!(
                    *t == expected,
                    "{kind:?}: OT {i} of {}",
                    received.blocks.len()
                );
                assert!(seen.insert(*q >> 1), "{kind:?}: a block occurs twice");
            }
            ones += received.choices.count_ones();
            n += received.choices.len();
        }
        let deviation = (2 * ones).abs_diff(n) as f64 / (n as f64).sqrt();
        assert!(deviation < 6.0, "{kind:?}: {ones} ones among {n}");
        assert_eq!(sender.delta & 1, 1);
    }
    assert_ne!(ends[0].delta, ends[1].delta);
}

#[test]
fn blocks_differ_by_delta_where_the_choice_is_one() {
    for kind in KINDS {
        let extensions = [
            [0, 0],
            [1, 0],
            [0, 130],
            [5000, 4096],
            [128, 129],
            [140_000, 3],
        ];
        check(&extend(mesh(), kind, &extensions), kind);
    }
}

#[test]
fn silent_iterations_make_ots_and_keep_back_the_next_ones_seeds() {
    // SoftSpoken alone; the smallest set and its seeds; from what is left; several sets.
    let extensions = [
        [400_000, 1000],
        [500_000, 500_000],
        [700_000, 0],
        [1_300_000, 600_000],
        [30, 400_000],
    ];
    check(&extend(mesh(), Kind::Silent, &extensions), Kind::Silent);
}

#[test]
fn two_sessions_have_nothing_in_common() {
    for kind in [Kind::default(), Kind::Silent] {
        let [a, b] = [(), ()].map(|()| extend(mesh(), kind, &[[500, 500]]));
        for (a, b) in a.iter().zip(&b) {
            assert_ne!(a.delta, b.delta);
            let ((q, r), (p, s)) = (&a.extensions[0], &b.extensions[0]);
            assert!(q.iter().all(|block| !p.contains(block)));
            assert!(r.blocks.iter().all(|block| !s.blocks.contains(block)));
            assert!(r.choices != s.choices);
        }
    }
}

/// The chi-square of the frequencies of bytes; exceeded with probability below 1e-6 by a uniform
/// source.
fn assert_uniform(bytes: &[u8], what: &str) {
    let mut counts = [0f64; 256];
    bytes.iter().for_each(|byte| counts[*byte as usize] += 1.0);
    let expected = bytes.len() as f64 / 256.0;
    let chi: f64 = counts
        .iter()
        .map(|c| (c - expected).powi(2) / expected)
        .sum();
    assert!(
        expected > 20.0 && chi < 255.0 + 5.5 * 510f64.sqrt() + 10.0,
        "{what}: {chi}"
    );
}

#[test]
fn messages_look_like_randomness() {
    for (kind, n) in [(Kind::default(), 100_000), (Kind::Silent, 500_000)] {
        let recorder = testing::Recorder::new();
        let hook = recorder.clone();
        let parties = testing::mesh_with(PARTIES, TIMEOUT, move |message| {
            hook.record(&message);
            Fate::Deliver
        });
        let ends = extend(parties, kind, &[[n, n], [n, n]]);
        for (id, end) in ends.iter().enumerate() {
            let mut steps = HashSet::new();
            for seen in recorder.view(id) {
                // The encoding of a point is not uniform.
                if seen.payload.len() > 6000 {
                    assert_uniform(&seen.payload, seen.step);
                    steps.insert(seen.step);
                }
            }
            assert_eq!(
                steps.len(),
                1 + (kind == Kind::Silent) as usize,
                "{steps:?}"
            );
            let (blocks, received) = &end.extensions[1];
            assert_uniform(bytemuck::cast_slice(received.choices.words()), "choices");
            let upper: Vec<u128> = blocks.iter().map(|block| block >> 8).collect();
            let upper: Vec<u8> = upper
                .iter()
                .flat_map(|b| b.to_le_bytes()[..15].to_vec())
                .collect();
            assert_uniform(&upper, "blocks");
        }
    }
}

#[test]
fn the_wrong_number_of_parties_or_k_is_refused() {
    let refused = |parties: Vec<Party>, kind| {
        testing::run(parties, |mut party| source(&mut party, kind).err())
            .iter()
            .all(|error| matches!(error, Some(Error::Invalid(_))))
    };
    assert!(refused(
        memory::mesh(3, &LinkModel::LOCAL, TIMEOUT),
        Kind::default()
    ));
    for k in [0, 9] {
        assert!(refused(mesh(), Kind::SoftSpoken { k }));
    }
}

#[test]
fn a_message_cut_short_is_an_error_at_its_step() {
    for (kind, step) in [
        (Kind::default(), "base OT: points"),
        (Kind::default(), "SoftSpoken: trees"),
        (Kind::default(), "SoftSpoken: corrections"),
        (Kind::Silent, "silent OT: trees and code"),
    ] {
        let parties = testing::mesh_with(PARTIES, TIMEOUT, move |message| {
            if message.from == 1 && message.step == step {
                message.payload.pop();
            }
            Fate::Deliver
        });
        let errors = testing::run(parties, |mut party| {
            let mut source = source(&mut party, kind)?;
            source.extend(&mut party, 450_000, 450_000).map(drop)
        });
        let error = errors[0].as_ref().unwrap_err().to_string();
        assert!(error.contains(step), "{error}");
    }
}
