//! Clients that send what does not fit, or not to all.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

/// Bodies that do not fit, and numbers that were used, are refused; the service goes on.
#[test]
fn hostile_requests_are_refused() {
    let parties = Parties::started("hostile", "falcon", same);
    let sharing = parties.sharing();
    let (items, bodies) = sharing.split(given(&pictures(1))).expect("it fits");
    let refused = |id: u8, items: usize, body: &[u8]| {
        let refused = parties.give(0, "lab", [id; 16], items, body.to_vec());
        refused.expect_err("refused").code
    };
    let body = &bodies[0];
    assert_eq!(refused(1, 1, &body[1..]), "malformed");
    assert_eq!(refused(1, 1, &[]), "malformed");
    assert_eq!(refused(1, 2, body), "malformed");
    assert_eq!(refused(1, 0, &[]), "too-many-items");
    assert_eq!(refused(1, 33, body), "too-many-items");
    assert_eq!(refused(1, usize::MAX, body), "too-many-items");
    parties.submit([2; 16], items, &bodies);
    let first = parties.answers(&[2; 16]);
    // The same again has the same answer; another body under its number is refused.
    parties.submit([2; 16], items, &bodies);
    assert_eq!(parties.answers(&[2; 16]), first);
    let (_, others) = sharing.split(given(&pictures(1))).expect("it fits");
    assert_eq!(refused(2, 1, &others[0]), "reused");
    assert_right(&parties.predicted(3, &pictures(1)), &pictures(1), "after");
    parties.drain(2);
}

/// Shares of a client that contradict each other are refused alone, whichever of their copies differs.
#[test]
fn contradictory_shares_are_refused_alone() {
    for (name, edit) in [
        ("contradict", same as fn(usize, String) -> String),
        ("contradict-m", malicious),
    ] {
        let parties = Parties::started(name, "falcon", edit);
        let sharing = parties.sharing();
        let x = pictures(1);
        for (id, party) in [(10, 0), (11, 1), (12, 2)] {
            let (_, mut bodies) = sharing.split(given(&x)).expect("it fits");
            let at = bodies[party].len() - 1;
            bodies[party][at] ^= 1;
            let (_, good) = sharing.split(given(&x)).expect("it fits");
            parties.submit([id; 16], 1, &bodies);
            parties.submit([id + 100; 16], 1, &good);
            for answer in parties.answers(&[id; 16]) {
                assert_eq!(answer.expect_err("refused").code, "inconsistent");
            }
            assert_right(&parties.joined(&sharing, id + 100, 1), &x, name);
        }
        parties.drain(0);
    }
}

/// Shares of no polynomial, of a model that begins with signs: whoever sends them has an answer of no meaning, the others
/// theirs, and no party fails. As they were sent, every party would open them to another number.
#[test]
fn shares_on_no_polynomial_disturb_nobody() {
    let x: Array = (vec![1.5, -2.0], vec![1, 2]);
    for of in [3, 4] {
        let name = format!("crooked-{of}");
        let model = std::env::temp_dir().join(format!("tacit-{name}-{}.onnx", std::process::id()));
        fs::write(&model, signs()).expect("written");
        let protocol = format!(r#""protocol": "shamir", "parties": {of}"#);
        let mut parties = Parties::serving(&name, &protocol, model.clone(), same);
        parties.start();
        let sharing = parties.sharing();
        for party in 0..of {
            let id = 10 + party as u8;
            let (_, mut bodies) = sharing.split(given(&x)).expect("it fits");
            bodies[party][0] ^= 1;
            let (_, good) = sharing.split(given(&x)).expect("it fits");
            parties.submit([id; 16], 1, &bodies);
            parties.submit([id + 100; 16], 1, &good);
            let answers = parties.answers(&[id; 16]);
            assert!(answers.iter().all(Result::is_ok), "{name}: {answers:?}");
            let found = parties.joined(&sharing, id + 100, 1);
            assert!(
                (found[0] - 1.5).abs() < 1e-3 && found[1].abs() < 1e-3,
                "{found:?}"
            );
        }
        parties.drain(0);
        fs::remove_file(&model).expect("it was written");
    }
}

/// A file of one ReLU of two numbers.
fn signs() -> Vec<u8> {
    let field = |number: u8, of: &[u8]| [&[number << 3 | 2, of.len() as u8], of].concat();
    let node = [field(1, b"x"), field(2, b"y"), field(4, b"Relu")].concat();
    let shape = [field(1, &field(2, b"n")), field(1, &[8, 2])].concat();
    let floats = [vec![8, 1], field(2, &shape)].concat();
    let value = |name: &[u8]| [field(1, name), field(2, &field(1, &floats))].concat();
    let ends = [field(11, &value(b"x")), field(12, &value(b"y"))].concat();
    let graph = [field(1, &node), field(2, b"g"), ends].concat();
    [vec![8, 8], field(7, &graph), field(8, &[16, 13])].concat()
}

/// A client that knows the number of another's request, as a corrupt party may tell it, and is there first at one
/// party or two: what belongs to two inputs is never computed together. A third party's own secrets do not help.
#[test]
fn shares_of_two_clients_are_not_mixed() {
    for (protocol, edit) in [
        ("falcon", same as fn(usize, String) -> String),
        ("bicoptor", same),
        ("shamir", same),
        ("sirnn", same),
    ] {
        let parties = Parties::started(&format!("mixed-{protocol}"), protocol, edit);
        let sharing = parties.sharing();
        let x = pictures(1);
        for early in 0..parties.services.len() {
            let id = 10 + early as u8;
            let [bodies, others] = [(); 2].map(|()| sharing.split(given(&x)).expect("it fits").1);
            for party in 0..parties.services.len() {
                let (client, body) = match party == early {
                    true => ("eve", others[party].clone()),
                    false => ("lab", bodies[party].clone()),
                };
                assert_eq!(parties.give(party, client, [id; 16], 1, body), Ok(()));
            }
            for answer in parties.answers(&[id; 16]) {
                let refused = answer.expect_err("of two clients");
                assert_eq!(refused.code, "inconsistent", "{protocol}");
            }
            assert_right(&parties.predicted(id + 100, &x), &x, protocol);
        }
        parties.drain(0);
    }
}

/// A request that a party does not have, the leader or another, holds nobody up, and is refused.
#[test]
fn a_request_that_a_party_lacks_is_refused() {
    let parties = Parties::started("missing", "falcon", same);
    let sharing = parties.sharing();
    let x = pictures(1);
    for (id, lacks) in [(1, 0), (3, 1), (5, 2)] {
        let (_, bodies) = sharing.split(given(&x)).expect("it fits");
        let have: Vec<usize> = (0..3).filter(|&party| party != lacks).collect();
        for &party in &have {
            let taken = parties.give(party, "lab", [id; 16], 1, bodies[party].clone());
            assert_eq!(taken, Ok(()));
        }
        assert_right(&parties.predicted(id + 1, &x), &x, "beside");
        for party in have {
            let answer = parties.services[party].answer(&[id; 16], PATIENCE / 3);
            let refused = answer.expect("in time").expect_err("refused");
            assert_eq!(refused.code, "missing-elsewhere");
        }
    }
    parties.drain(0);
}

/// Bodies whose words are none of the ring or field are refused by the party that gets them.
#[test]
fn strange_words_are_refused_alone() {
    for protocol in ["shamir", "sirnn", "bicoptor"] {
        let parties = Parties::started(&format!("words-{protocol}"), protocol, same);
        let (_, bodies) = parties
            .sharing()
            .split(given(&pictures(1)))
            .expect("it fits");
        for (party, body) in bodies.iter().enumerate() {
            let strange = vec![0xff; body.len()];
            let taken = parties.give(party, "lab", [1; 16], 1, strange);
            if protocol != "bicoptor" {
                assert_eq!(taken.expect_err("no such words").code, "malformed");
            }
        }
        assert_right(&parties.predicted(2, &pictures(1)), &pictures(1), protocol);
        parties.drain(0);
    }
}

/// A party that is told to leave before the others are there leaves once they are.
#[test]
fn a_drain_before_the_others_are_there_is_kept() {
    let parties = Parties::prepared("early", "falcon", same);
    let live = |party: usize| {
        let service = parties.services[party].clone();
        thread::spawn(move || service.run(&mut |_| {}))
    };
    let mut lives = vec![live(0), live(1)];
    thread::sleep(Duration::from_millis(200));
    parties.services[1].drain();
    lives.push(live(2));
    for life in lives {
        assert!(life.join().expect("no panic").is_ok());
    }
}

/// A leader that proposes another batch to one party than to the other is found out before anything is
/// computed, and quarantined: nobody meets it again by itself.
#[test]
fn a_leader_that_divides_the_others_is_quarantined() {
    let mut parties = Parties::prepared("divides", "falcon", same);
    let leader = Arc::get_mut(&mut parties.services[0]).expect("not started");
    leader.lies = Some(crate::serve::rounds::of_another_request);
    parties.start();
    let (_, bodies) = (parties.sharing().split(given(&pictures(1)))).expect("it fits");
    parties.submit([1; 16], 1, &bodies);
    for answer in &parties.answers(&[1; 16])[1..] {
        assert_eq!(answer.clone().expect_err("nothing computed").code, "failed");
    }
    for life in parties.lives.drain(..) {
        assert!(life.join().expect("no panic").is_err());
    }
    for honest in &parties.services[1..] {
        let state: serde_json::Value = serde_json::from_str(&honest.state()).expect("JSON");
        assert_eq!(state["state"], "quarantined", "{state}");
        let suspects = state["suspects"].as_array().expect("a list");
        assert!(suspects.contains(&0.into()), "{state}");
        assert!(honest.run(&mut |_| {}).is_err(), "stands still");
    }
}

/// A party that has left before it begins, or while it waits for the others, waits no longer, and its port
/// is free; the others go on waiting.
#[test]
fn whoever_leaves_waits_for_nobody() {
    let parties = Parties::prepared("leaves", "falcon", same);
    let service = &parties.services[0];
    let live = {
        let service = service.clone();
        thread::spawn(move || service.run(&mut |_| {}))
    };
    while !service.state().contains("connecting") {
        thread::yield_now();
    }
    service.leave();
    assert!(live.join().expect("no panic").is_ok());
    let address = &service.config.peers(0, 0).expect("it has one")[0].address;
    drop(std::net::TcpListener::bind(address).expect("the port is free"));
    assert!(service.run(&mut |_| {}).is_ok());
    assert!(service.state().contains("drained"));
}

/// A client whose shares arrive within two seconds of the leader's is answered, however long a follower has
/// had its own: the leader says that nothing waits only when nothing does.
#[test]
fn shares_that_come_late_are_waited_for() {
    let parties = Parties::started("late", "falcon", same);
    let sharing = parties.sharing();
    let x = pictures(1);
    let (_, bodies) = sharing.split(given(&x)).expect("it fits");
    for (party, after) in [(1, 0), (0, 1700), (2, 1000)] {
        thread::sleep(Duration::from_millis(after));
        let taken = parties.give(party, "lab", [2; 16], 1, bodies[party].clone());
        assert_eq!(taken, Ok(()));
    }
    assert_right(&parties.joined(&sharing, 2, 1), &x, "late");
    parties.drain(0);
}

/// A client that sends to one party alone, all the time and more than the queue has, keeps nobody else
/// from being answered: no request of another is given up or refused for good.
#[test]
fn a_client_that_sends_to_some_alone_keeps_nobody_out() {
    for alone in [0, 2] {
        let short = |_, text: String| text.replace("queue = 256 ", "queue = 8 ");
        let parties = Parties::started(&format!("alone-{alone}"), "falcon", short);
        let sharing = parties.sharing();
        let x = pictures(1);
        let (_, false_bodies) = sharing.split(given(&x)).expect("it fits");
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                for number in 0u64.. {
                    if over.load(Ordering::Relaxed) {
                        return;
                    }
                    let mut id = [0; 16];
                    id[..8].copy_from_slice(&number.to_be_bytes());
                    // Refused as busy, mostly.
                    let body = false_bodies[alone].clone();
                    let _ = parties.give(alone, "hog", id, 1, body);
                    thread::sleep(Duration::from_millis(1));
                }
            });
            for id in 200..220 {
                let (_, bodies) = sharing.split(given(&x)).expect("it fits");
                for (party, body) in bodies.iter().enumerate() {
                    until_taken(&parties, party, [id; 16], body);
                }
                assert_right(&parties.joined(&sharing, id, 1), &x, "beside");
            }
            over.store(true, Ordering::Relaxed);
        });
        parties.drain(0);
    }
}

/// Sends a share again while the queue has no place for it.
fn until_taken(parties: &Parties, party: usize, id: Id, body: &[u8]) {
    let until = Instant::now() + PATIENCE;
    while let Err(refused) = parties.give(party, "lab", id, 1, body.to_vec()) {
        assert_eq!(refused.code, "busy");
        assert!(Instant::now() < until, "never taken");
        thread::sleep(Duration::from_millis(1));
    }
}
