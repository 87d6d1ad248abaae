//! Parties over memory links: messages, meters, losses, emulation.

use std::time::{Duration, Instant};

use tacit_net::testing::run;
use tacit_net::{LinkModel, NO_LAYER, NetError, Party, Phase, memory};

use crate::common::all_to_all;

const PATIENT: Duration = Duration::from_secs(60);

fn mesh(n: usize) -> Vec<Party> {
    memory::mesh(n, &LinkModel::LOCAL, PATIENT)
}

#[test]
fn sixty_three_parties_all_speak_to_each_other() {
    let meters = run(mesh(63), |mut party| {
        party.set_phase(Phase::Online);
        all_to_all(&mut party);
        party.finish().unwrap()
    });
    for meter in meters {
        let total = meter.total(Phase::Online);
        assert_eq!((total.bytes_sent, total.bytes_received), (62, 62));
        assert_eq!(total.rounds, 1);
    }
}

#[test]
fn ping_pong_is_metered_exactly() {
    let meters = run(mesh(2), |mut party| {
        party.set_phase(Phase::Online);
        for layer in ["first", "second"] {
            party.set_layer(layer);
            for i in 0..10u8 {
                if party.id() == 0 {
                    party.send(1, "ping", vec![i; 3]).unwrap();
                    assert_eq!(party.recv(1, "pong", 5).unwrap(), [i; 5]);
                } else {
                    assert_eq!(party.recv(0, "ping", 3).unwrap(), [i; 3]);
                    party.send(0, "pong", vec![i; 5]).unwrap();
                }
            }
        }
        party.finish().unwrap()
    });
    let layers = meters[0].layers(Phase::Online);
    assert_eq!(
        layers
            .iter()
            .map(|(name, _)| name.as_str())
            .collect::<Vec<_>>(),
        ["first", "second"]
    );
    for (_, t) in &layers {
        assert_eq!((t.bytes_sent, t.bytes_received), (30, 50));
        assert_eq!((t.messages_sent, t.messages_received), (10, 10));
        assert_eq!((t.rounds, t.overhead), (20, 440));
        assert!(t.seconds > 0.0);
    }
    // The last hop of each layer is the one that party 0 receives.
    let rounds = |p: usize, phase| meters[p].total(phase).rounds;
    assert_eq!(
        (rounds(0, Phase::Online), rounds(1, Phase::Online)),
        (40, 38)
    );
    assert_eq!((rounds(0, Phase::Setup), rounds(0, Phase::Offline)), (0, 0));
    let peers = meters[1].peers(Phase::Online);
    assert_eq!(
        (
            peers[0].bytes_sent,
            peers[0].bytes_received,
            peers[1].bytes_sent
        ),
        (100, 60, 0)
    );
    assert_eq!(
        meters[0].seconds(Phase::Online, "first"),
        layers[0].1.seconds
    );
}

#[test]
fn parallel_messages_are_one_round_and_a_chain_is_many() {
    let rounds = run(mesh(3), |mut party| {
        let (me, next, previous) = (party.id(), (party.id() + 1) % 3, (party.id() + 2) % 3);
        party.set_layer("ring");
        for _ in 0..4 {
            party.send(next, "reshare", vec![0; 8]).unwrap();
            party.recv(previous, "reshare", 8).unwrap();
        }
        party.set_layer("all to all");
        for peer in [next, previous] {
            party.send(peer, "open", vec![0; 8]).unwrap();
        }
        for peer in [previous, next] {
            party.recv(peer, "open", 8).unwrap();
        }
        party.set_layer("chain");
        if me > 0 {
            party.recv(me - 1, "token", 1).unwrap();
        }
        if me < 2 {
            party.send(me + 1, "token", vec![1]).unwrap();
        }
        let meter = party.finish().unwrap();
        meter
            .layers(Phase::Setup)
            .into_iter()
            .map(|(_, t)| t.rounds)
            .collect::<Vec<_>>()
    });
    assert_eq!(rounds, [[4, 1, 0], [4, 1, 1], [4, 1, 2]]);
}

#[test]
fn a_phase_keeps_its_own_layer() {
    let mut parties = mesh(2);
    let party = &mut parties[0];
    party.set_phase(Phase::Online);
    party.set_layer("conv");
    party.set_phase(Phase::Offline);
    assert_eq!(party.meter().layer(), NO_LAYER);
    party.send(1, "triples", vec![0; 7]).unwrap();
    party.set_phase(Phase::Online);
    assert_eq!(party.meter().layer(), "conv");
    assert_eq!(party.meter().layers(Phase::Offline)[0].0, NO_LAYER);
    assert_eq!(party.meter().total(Phase::Offline).bytes_sent, 7);
    assert_eq!(party.meter().total(Phase::Online).bytes_sent, 0);
}

#[test]
fn big_messages_of_odd_sizes_cross_in_all_directions() {
    let sizes = [0, 1, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 67_108_867];
    run(mesh(3), |mut party| {
        for &size in &sizes {
            let me = party.id();
            for peer in (0..3).filter(|&p| p != me) {
                party.send(peer, "bulk", vec![me as u8; size]).unwrap();
            }
            for peer in (0..3).filter(|&p| p != me) {
                let got = party.recv(peer, "bulk", size).unwrap();
                assert!(got.len() == size && got.iter().all(|&b| b == peer as u8));
            }
        }
    });
}

#[test]
fn a_dead_party_is_named_at_once_and_its_last_messages_arrive() {
    let errors = run(mesh(3), |mut party| match party.id() {
        2 => {
            party.send(1, "last", vec![9]).unwrap();
            None
        }
        0 => {
            party.set_layer("relu1");
            Some(party.recv(2, "reshare", 8).unwrap_err())
        }
        _ => {
            assert_eq!(party.recv(2, "last", 1).unwrap(), [9]);
            Some(party.recv(2, "reshare", 8).unwrap_err())
        }
    });
    match errors[0].as_ref().unwrap() {
        NetError::PeerLost {
            party: 2,
            step: "reshare",
            layer,
            why,
            ..
        } => {
            assert_eq!(layer, "relu1");
            assert!(why.contains("closed the link"), "{why}");
        }
        other => panic!("{other}"),
    }
    assert!(matches!(
        errors[1],
        Some(NetError::PeerLost { party: 2, .. })
    ));
}

#[test]
fn the_first_cause_is_told_to_everyone() {
    let errors = run(mesh(3), |mut party| match party.id() {
        0 => None,
        1 => Some(party.recv(0, "from the dead", 8).unwrap_err().to_string()),
        _ => Some(party.recv(1, "from the next", 8).unwrap_err().to_string()),
    });
    let told = errors[2].as_ref().unwrap();
    assert!(
        told.contains("party 1 stopped: it says that party 0 was lost: it closed the link;"),
        "{told}"
    );
}

#[test]
fn sending_to_the_dead_fails() {
    let mut parties = mesh(2);
    drop(parties.pop());
    let error = parties[0].send(1, "open", vec![0; 4]).unwrap_err();
    assert!(
        matches!(
            error,
            NetError::PeerLost {
                party: 1,
                step: "open",
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn a_stalled_party_is_named_within_the_limit() {
    let limit = Duration::from_millis(50);
    let mut parties = memory::mesh(2, &LinkModel::LOCAL, limit);
    let error = parties[0].recv(1, "reshare", 8).unwrap_err();
    match error {
        NetError::PeerLost {
            party: 1,
            step: "reshare",
            waited,
            ..
        } => assert!(waited >= limit),
        other => panic!("{other}"),
    }
}

#[test]
fn other_steps_and_sizes_are_refused() {
    let mut parties = mesh(2);
    let mut peer = parties.pop().unwrap();
    let mut party = parties.pop().unwrap();
    party.send(1, "known", vec![]).unwrap();
    peer.send(0, "known", vec![0; 4]).unwrap();
    let error = party.recv(1, "reshare", 4).unwrap_err();
    assert_eq!(
        error.to_string(),
        "party 1 is at step 'known', this party at step 'reshare': the two run different programs"
    );
    peer.send(0, "reshare", vec![0; 4]).unwrap();
    peer.send(0, "never seen", vec![0; 4]).unwrap();
    assert!(matches!(
        party.recv(1, "reshare", 5),
        Err(NetError::Length {
            party: 1,
            got: 4,
            ..
        })
    ));
    assert!(matches!(
        party.recv(1, "reshare", 4),
        Err(NetError::Step { party: 1, .. })
    ));
    peer.send(0, "control", vec![0; 11]).unwrap();
    assert!(matches!(
        party.recv_at_most(1, "control", 10),
        Err(NetError::Length { got: 11, .. })
    ));
    peer.send(0, "control", vec![0; 9]).unwrap();
    assert_eq!(party.recv_at_most(1, "control", 10).unwrap().len(), 9);
}

#[test]
fn oneself_and_strangers_have_no_link() {
    let mut parties = mesh(2);
    for to in [0, 2, usize::MAX] {
        let error = parties[0].send(to, "open", vec![]).unwrap_err();
        assert_eq!(
            error,
            NetError::NoSuchParty {
                party: to,
                parties: 2
            }
        );
        let error = parties[0].recv(to, "open", 0).unwrap_err();
        assert_eq!(
            error,
            NetError::NoSuchParty {
                party: to,
                parties: 2
            }
        );
    }
}

#[test]
fn emulated_latency_and_rate_are_real() {
    let model = LinkModel::parse("20ms,80Mbps").unwrap();
    run(memory::mesh(2, &model, PATIENT), |mut party| {
        // Timed by one party alone, from its first byte to the last answer.
        let started = Instant::now();
        if party.id() == 1 {
            for _ in 0..3 {
                party.recv(0, "hop", 1).unwrap();
                party.send(0, "hop", vec![0; 1]).unwrap();
            }
            for _ in 0..4 {
                party.recv(0, "bulk", 500_000).unwrap();
            }
            party.send(0, "done", vec![]).unwrap();
            return;
        }
        for _ in 0..3 {
            party.send(1, "hop", vec![0; 1]).unwrap();
            party.recv(1, "hop", 1).unwrap();
        }
        let hops = started.elapsed();
        assert!(hops >= Duration::from_millis(60), "{hops:?}");
        // 2 MB at 10 MB/s and one round trip.
        for _ in 0..4 {
            party.send(1, "bulk", vec![0; 500_000]).unwrap();
        }
        party.recv(1, "done", 0).unwrap();
        let bulk = started.elapsed() - hops;
        assert!(bulk >= Duration::from_millis(220), "{bulk:?}");
    });
}

#[test]
fn the_limit_allows_for_the_model() {
    let model = LinkModel {
        rtt: Duration::from_millis(100),
        rate: Some(8_000_000),
    };
    let mut parties = memory::mesh(2, &model, Duration::from_millis(20));
    let mut peer = parties.pop().unwrap();
    peer.send(0, "bulk", vec![0; 100_000]).unwrap();
    assert_eq!(parties[0].recv(1, "bulk", 100_000).unwrap().len(), 100_000);
}

#[test]
fn networks_have_names_and_numbers() {
    assert_eq!(LinkModel::parse("local"), Ok(LinkModel::LOCAL));
    assert_eq!(LinkModel::parse("LAN"), Ok(LinkModel::LAN));
    assert_eq!(LinkModel::parse("wan"), Ok(LinkModel::WAN));
    let ours = LinkModel {
        rtt: Duration::from_micros(600),
        rate: Some(1_000_000_000),
    };
    for text in ["0.6ms,1000Mbps", "0.6,1000", " 0.6 ms , 1000 mbps "] {
        assert_eq!(LinkModel::parse(text), Ok(ours), "{text}");
    }
    for text in [
        "",
        "moon",
        "0.6",
        "-1,100",
        "1,0",
        "nan,1",
        "1,inf",
        "1e300,1",
        "1ms,2Gbps",
    ] {
        let error = LinkModel::parse(text).unwrap_err().to_string();
        assert!(error.contains("lan, wan"), "{text}: {error}");
    }
}
