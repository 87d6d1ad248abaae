//! Parties over TCP: messages, meters, losses, emulation.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{PATIENT, all_to_all, configs, join_all, mesh};
use tacit_net::tcp::TcpConfig;
use tacit_net::testing::run;
use tacit_net::{LinkModel, NetError, Party, Phase};

#[test]
fn ping_pong_is_metered_exactly() {
    let meters = run(mesh("ping_pong", 2), |mut party| {
        party.set_phase(Phase::Online);
        party.set_layer("relu");
        for i in 0..10u8 {
            if party.id() == 0 {
                party.send(1, "ping", vec![i; 3]).unwrap();
                assert_eq!(party.recv(1, "pong", 5).unwrap(), [i; 5]);
            } else {
                assert_eq!(party.recv(0, "ping", 3).unwrap(), [i; 3]);
                party.send(0, "pong", vec![i; 5]).unwrap();
            }
        }
        party.finish().unwrap()
    });
    let total = meters[0].total(Phase::Online);
    assert_eq!(
        (total.bytes_sent, total.bytes_received, total.rounds),
        (30, 50, 20)
    );
    assert_eq!((total.messages_sent, total.overhead), (10, 440));
    assert_eq!(meters[1].total(Phase::Online).bytes_sent, 50);
}

#[test]
fn big_messages_of_odd_sizes_cross_in_all_directions() {
    let sizes = [0, 1, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 67_108_867];
    run(mesh("big", 3), |mut party| {
        let me = party.id();
        for &size in &sizes {
            for peer in (0..3).filter(|&p| p != me) {
                let bytes = (0..size).map(|i| (i * 31 + me) as u8).collect();
                party.send(peer, "bulk", bytes).unwrap();
            }
        }
        for &size in &sizes {
            for peer in (0..3).filter(|&p| p != me) {
                let got = party.recv(peer, "bulk", size).unwrap();
                assert_eq!(got.len(), size);
                assert!(
                    got.iter()
                        .enumerate()
                        .all(|(i, &b)| b == (i * 31 + peer) as u8)
                );
            }
        }
    });
}

/// Who has waited for short messages reads them itself. When it computes instead, its reading thread goes on: a peer must
/// not wait for it with more than sockets hold.
#[test]
fn what_nobody_waits_for_is_taken_in() {
    const MUCH: usize = 24 << 20;
    let sent = AtomicU8::new(0);
    run(mesh("taken_in", 2), |mut party| {
        let peer = 1 - party.id();
        for _ in 0..50 {
            party.send(peer, "short", vec![1]).unwrap();
            party.recv(peer, "short", 1).unwrap();
        }
        if party.id() == 0 {
            party.send(1, "much", vec![7; MUCH]).unwrap();
            party.wait_until_sent(1, "much", 0).unwrap();
            sent.store(1, Ordering::SeqCst);
            return;
        }
        let begun = Instant::now();
        while sent.load(Ordering::SeqCst) == 0 {
            assert!(begun.elapsed() < PATIENT / 2, "it is not taken in");
            thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(party.recv(0, "much", MUCH).unwrap(), vec![7; MUCH]);
    });
}

#[test]
fn many_parties_all_speak_to_each_other() {
    for n in [7, 21] {
        run(mesh("many", n), |mut party| {
            all_to_all(&mut party);
            party.finish().map(drop).unwrap();
        });
    }
}

#[test]
fn the_last_messages_of_a_party_that_ends_arrive() {
    let size = 50 << 20;
    run(mesh("last", 2), |mut party| {
        if party.id() == 0 {
            party.send(1, "last", vec![7; size]).unwrap();
            party.finish().map(drop).unwrap();
        } else {
            assert!(party.recv(0, "last", size).unwrap().iter().all(|&b| b == 7));
        }
    });
}

#[test]
fn a_party_that_leaves_is_named_and_its_reason_told() {
    let errors = run(mesh("leaves", 3), |mut party| match party.id() {
        0 => None,
        1 => Some(party.recv(0, "from the dead", 8).unwrap_err()),
        _ => Some(party.recv(1, "from the next", 8).unwrap_err()),
    });
    assert!(matches!(
        errors[1],
        Some(NetError::PeerLost {
            party: 0,
            step: "from the dead",
            ..
        })
    ));
    let told = errors[2].as_ref().unwrap().to_string();
    assert!(
        told.contains("party 1 stopped: it says that party 0 was lost: it closed the link;"),
        "{told}"
    );
}

#[test]
fn sending_to_the_dead_fails_in_the_end() {
    let mut parties = mesh("send_dead", 2);
    drop(parties.pop());
    let error = loop {
        if let Err(error) = parties[0].send(1, "open", vec![0; 4]) {
            break error;
        }
        thread::yield_now();
    };
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

const PASS: u8 = 0;
const CUT: u8 = 1;
const STALL: u8 = 2;
const SPOIL: u8 = 3;

/// What stands between two parties: forwards bytes, and does harm when told.
struct Wire {
    mode: Arc<AtomicU8>,
}

impl Wire {
    /// Puts itself between party 0 and the others of `configs`.
    fn before(configs: &mut [TcpConfig]) -> Wire {
        let mode = Arc::new(AtomicU8::new(PASS));
        let target = configs[0].parties[0].address.clone();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        for config in &mut configs[1..] {
            config.parties[0].address = address.clone();
        }
        let its = mode.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let other = TcpStream::connect(&target).unwrap();
                for (from, to) in [(&stream, &other), (&other, &stream)] {
                    let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    let mode = its.clone();
                    thread::spawn(move || forward(from, to, &mode));
                }
            }
        });
        Wire { mode }
    }

    fn set(&self, mode: u8) {
        self.mode.store(mode, Ordering::SeqCst);
    }
}

fn forward(mut from: TcpStream, mut to: TcpStream, mode: &AtomicU8) {
    let mut buffer = [0; 1 << 16];
    while let Ok(n @ 1..) = from.read(&mut buffer) {
        match mode.load(Ordering::SeqCst) {
            CUT => break,
            STALL => continue,
            SPOIL => buffer[n - 1] ^= 1,
            _ => {}
        }
        if to.write_all(&buffer[..n]).is_err() {
            break;
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}

/// Two parties with a wire between them; party 1 sends one message once the wire does harm.
fn harmed(test: &str, harm: u8, timeout: Duration) -> (Party, Party) {
    let mut configs = configs(test, 2);
    let wire = Wire::before(&mut configs);
    for config in &mut configs {
        config.timeout = timeout;
    }
    let mut parties = join_all(configs).into_iter().map(Result::unwrap);
    let (party, mut peer) = (parties.next().unwrap(), parties.next().unwrap());
    wire.set(harm);
    peer.send(0, "reshare", vec![0; 100]).unwrap();
    (party, peer)
}

#[test]
fn a_cut_connection_is_a_lost_peer_at_both_ends() {
    let (mut party, mut peer) = harmed("cut", CUT, PATIENT);
    party.set_layer("conv1");
    match party.recv(1, "reshare", 100).unwrap_err() {
        NetError::PeerLost {
            party: 1,
            step: "reshare",
            layer,
            ..
        } => assert_eq!(layer, "conv1"),
        other => panic!("{other}"),
    }
    let error = peer.recv(0, "reshare", 1).unwrap_err();
    assert!(
        matches!(error, NetError::PeerLost { party: 0, .. }),
        "{error}"
    );
}

#[test]
fn a_stalled_connection_is_a_lost_peer_within_the_limit() {
    let limit = Duration::from_millis(300);
    let (mut party, _peer) = harmed("stall", STALL, limit);
    match party.recv(1, "reshare", 100).unwrap_err() {
        NetError::PeerLost {
            party: 1,
            waited,
            why,
            ..
        } => {
            assert!(waited >= limit);
            assert!(why.contains("nothing for too long"), "{why}");
        }
        other => panic!("{other}"),
    }
}

#[test]
fn a_changed_byte_is_seen() {
    let (mut party, _peer) = harmed("spoil", SPOIL, PATIENT);
    let error = party.recv(1, "reshare", 100).unwrap_err();
    assert!(
        matches!(&error, NetError::PeerLost { why, .. } if why.contains("tampered")),
        "{error}"
    );
}

#[test]
fn emulated_latency_and_rate_are_real() {
    let mut configs = configs("emulated", 2);
    for config in &mut configs {
        config.model = LinkModel::parse("20ms,80Mbps").unwrap();
    }
    let parties = join_all(configs).into_iter().map(Result::unwrap).collect();
    run(parties, |mut party| {
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
    let mut configs = configs("slow", 2);
    for config in &mut configs {
        config.model = LinkModel {
            rtt: Duration::from_millis(3000),
            rate: None,
        };
        config.timeout = Duration::from_millis(1200);
    }
    let parties = join_all(configs).into_iter().map(Result::unwrap).collect();
    run(parties, |mut party| {
        let peer = 1 - party.id();
        party.send(peer, "hop", vec![1]).unwrap();
        assert_eq!(party.recv(peer, "hop", 1).unwrap(), [1]);
        party.finish().map(drop).unwrap();
    });
}
