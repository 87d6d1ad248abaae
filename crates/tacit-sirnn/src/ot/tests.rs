//! What every source of OTs promises.

use std::collections::HashSet;
use std::time::Duration;

use tacit_net::testing::{self, Fate};
use tacit_net::{LinkModel, Phase, memory};

use super::*;

const TIMEOUT: Duration = Duration::from_secs(60);
const KINDS_OF_SOURCES: [OtExtension; 9] = [
    OtExtension::SoftSpoken { k: 1 },
    OtExtension::SoftSpoken { k: 2 },
    OtExtension::SoftSpoken { k: 3 },
    OtExtension::SoftSpoken { k: 4 },
    OtExtension::SoftSpoken { k: 5 },
    OtExtension::SoftSpoken { k: 6 },
    OtExtension::SoftSpoken { k: 7 },
    OtExtension::SoftSpoken { k: 8 },
    OtExtension::Silent,
];

/// One party's view of its extensions.
struct End {
    offsets: Vec<Offsets>,
    extensions: Vec<Made>,
}

/// Demands of correlated OTs alone, `sizes[i]` of each party.
fn cots(sizes: &[[usize; 2]]) -> Vec<[Demand; 2]> {
    sizes.iter().map(|sizes| sizes.map(Demand::cots)).collect()
}

/// Both parties' ends of extensions after which party `i` has sent `ots[i]` each; every declared
/// cost is held against the meters.
fn extend(parties: Vec<Party>, kind: OtExtension, extensions: &[[Demand; 2]]) -> Vec<End> {
    testing::run(parties, |mut party| {
        let id = party.id();
        let mut source = source(&mut party, kind).unwrap();
        check_cost(&party, Phase::Setup, "-", &kind.setup_cost());
        party.set_phase(Phase::Offline);
        let extensions = extensions.iter().enumerate().map(|(i, ots)| {
            let layer = format!("extension {i}");
            party.set_layer(&layer);
            let declared = source.cost(*ots);
            let made = source
                .extend(&mut party, &ots[id], &ots[1 - id])
                .unwrap_or_else(|error| panic!("{kind:?}: {error}"));
            check_cost(&party, Phase::Offline, &layer, &declared);
            for (m, n) in ots[id].iter() {
                assert_eq!(made.sent[m as usize - 1].len(), n);
            }
            for (m, n) in ots[1 - id].iter() {
                let received = &made.received[m as usize - 1];
                assert_eq!(received.blocks.len(), n);
                assert_eq!(received.choices.len(), n * m as usize);
            }
            made
        });
        End {
            extensions: extensions.collect(),
            offsets: (1..=KINDS as u32).map(|m| source.offsets(m)).collect(),
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

/// Every OT of both directions is one, indices are balanced and no block occurs twice.
fn check(ends: &[End], kind: OtExtension) {
    for (sender, receiver) in [(&ends[0], &ends[1]), (&ends[1], &ends[0])] {
        let mut seen = HashSet::new();
        let (mut ones, mut n) = (0, 0);
        for (sent, received) in sender.extensions.iter().zip(&receiver.extensions) {
            let kinds = sent.sent.iter().zip(&received.received);
            for ((q, received), offsets) in kinds.zip(&sender.offsets) {
                check_kind((q, received), offsets, kind);
                for q in q {
                    assert!(seen.insert(*q >> 1), "{kind:?}: a block occurs twice");
                }
                ones += received.choices.count_ones();
                n += received.choices.len();
            }
        }
        let deviation = (2 * ones).abs_diff(n) as f64 / (n as f64).sqrt();
        assert!(deviation < 6.0, "{kind:?}: {ones} ones among {n}");
        assert_eq!(delta(sender) & 1, 1);
    }
    assert_ne!(delta(&ends[0]), delta(&ends[1]));
}

fn delta(end: &End) -> Block {
    end.offsets[0].delta()
}

fn check_kind((q, received): (&[Block], &Received), offsets: &Offsets, kind: OtExtension) {
    let m = received.choices.len() / q.len().max(1);
    for (i, (q, t)) in q.iter().zip(&received.blocks).enumerate() {
        let bit = |j: usize| usize::from(received.choices.get(i * m + j)) << j;
        let index: usize = (0..m).map(bit).sum();
        let n = received.blocks.len();
        assert!(
            *t == q ^ offsets.get(index),
            "{kind:?}: OT {i} of {n}, 1-of-2^{m}"
        );
    }
}

#[test]
fn blocks_differ_by_delta_where_the_choice_is_one() {
    for kind in KINDS_OF_SOURCES {
        let extensions = [
            [0, 0],
            [1, 0],
            [0, 130],
            [5000, 4096],
            [128, 129],
            [140_000, 3],
        ];
        check(&extend(mesh(), kind, &cots(&extensions)), kind);
    }
}

#[test]
fn blocks_differ_by_the_offset_of_the_index() {
    let all = |n: usize| {
        let mut all = Demand::default();
        for (m, _) in Demand::default().iter() {
            all += Demand::of(m, n + 300 * m as usize);
        }
        all
    };
    for kind in KINDS_OF_SOURCES {
        let extensions = [
            [Demand::of(4, 1000), Demand::default()],
            [all(0), Demand::of(8, 1)],
            [all(1000), all(77)],
            [Demand::of(7, 64), all(1)],
        ];
        check(&extend(mesh(), kind, &extensions), kind);
    }
}

/// What a 1-of-2^m OT costs beside the `m` correlated ones that would make it.
#[test]
fn codes_send_less_than_their_correlated_ots() {
    let n = 1 << 10;
    let sent = |k: u32, ots: Demand| {
        let cost = OtExtension::SoftSpoken { k }.cost([ots, Demand::default()]);
        8 * cost.bytes[1] as usize / n
    };
    for k in 1..=8 {
        for m in 2..=KINDS as u32 {
            let combined = sent(k, Demand::cots(n * m as usize));
            assert!(sent(k, Demand::of(m, n)) <= combined);
        }
    }
    // Kolesnikov and Kumaresan's 1-of-16 OT has 2 * 128 bits.
    assert_eq!(sent(1, Demand::of(4, n)), 236);
    assert_eq!(sent(4, Demand::of(4, n)), 56);
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
    let ends = extend(mesh(), OtExtension::Silent, &cots(&extensions));
    check(&ends, OtExtension::Silent);
}

#[test]
fn two_sessions_have_nothing_in_common() {
    for kind in [OtExtension::default(), OtExtension::Silent] {
        let [a, b] = [(), ()].map(|()| extend(mesh(), kind, &cots(&[[500, 500]])));
        for (a, b) in a.iter().zip(&b) {
            assert_ne!(delta(a), delta(b));
            let first = |end: &End| {
                let made = &end.extensions[0];
                (made.sent[0].clone(), made.received[0].clone())
            };
            let ((q, r), (p, s)) = (first(a), first(b));
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
    for (kind, n) in [
        (OtExtension::default(), 100_000),
        (OtExtension::Silent, 500_000),
    ] {
        let recorder = testing::Recorder::new();
        let hook = recorder.clone();
        let parties = testing::mesh_with(PARTIES, TIMEOUT, move |message| {
            hook.record(&message);
            Fate::Deliver
        });
        let ends = extend(parties, kind, &cots(&[[n, n], [n, n]]));
        for (id, end) in ends.iter().enumerate() {
            let mut steps = HashSet::new();
            for seen in recorder.view(id) {
                // The encodings of points, 8192 bytes, are not uniform.
                if seen.payload.len() > 9000 {
                    assert_uniform(&seen.payload, seen.step);
                    steps.insert(seen.step);
                }
            }
            assert_eq!(
                steps.len(),
                1 + (kind == OtExtension::Silent) as usize,
                "{steps:?}"
            );
            let made = &end.extensions[1];
            let (blocks, received) = (&made.sent[0], &made.received[0]);
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
        OtExtension::default()
    ));
    for k in [0, 9] {
        assert!(refused(mesh(), OtExtension::SoftSpoken { k }));
    }
}

#[test]
fn a_message_cut_short_is_an_error_at_its_step() {
    for (kind, step) in [
        (OtExtension::default(), "base OT: points"),
        (OtExtension::default(), "SoftSpoken: trees"),
        (OtExtension::default(), "SoftSpoken: corrections"),
        (OtExtension::Silent, "silent OT: trees and code"),
    ] {
        let parties = testing::mesh_with(PARTIES, TIMEOUT, move |message| {
            if message.from == 1 && message.step == step {
                message.payload.pop();
            }
            Fate::Deliver
        });
        let errors = testing::run(parties, |mut party| {
            let mut source = source(&mut party, kind)?;
            let ots = Demand::cots(450_000);
            source.extend(&mut party, &ots, &ots).map(drop)
        });
        let error = errors[0].as_ref().unwrap_err().to_string();
        assert!(error.contains(step), "{error}");
    }
}
