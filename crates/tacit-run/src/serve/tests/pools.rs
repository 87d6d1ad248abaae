//! Material that lies ready: made ahead, used once, and gone with its session.

use super::*;

/// What a service says of itself.
fn state(service: &Service) -> serde_json::Value {
    serde_json::from_str(&service.state()).expect("JSON")
}

/// Waits until material lies ready so many times at all.
fn filled(parties: &Parties, times: u64) {
    let until = Instant::now() + PATIENCE;
    let ready = |service: &Arc<Service>| state(service)["pool"] == times;
    while !parties.services.iter().all(ready) {
        assert!(Instant::now() < until, "not filled");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Material lies ready for one item or several; batches use it up, in part, and more than there is.
#[test]
fn material_lies_ready_and_is_used_once() {
    let cases = [
        ("bicoptor", 1),
        ("bicoptor", 4),
        ("shamir", 1),
        ("shamir", 4),
        ("sirnn", 1),
        ("sirnn", 3),
    ];
    for (protocol, items) in cases {
        let pooled = |_, text: String| {
            let text = text.replace("pool = 16 ", "pool = 3 ");
            text.replace("pool_items = 1", &format!("pool_items = {items}"))
        };
        let parties = Parties::started(&format!("pool-{protocol}-{items}"), protocol, pooled);
        for (id, n) in [(1, 1), (2, 2), (3, 5), (4, 14)] {
            filled(&parties, 3);
            let x = pictures(n);
            assert_right(&parties.predicted(id, &x), &x, protocol);
        }
        parties.drain(0);
    }
}

/// A party that is lost while material is made, and begins again: nobody uses what was made before. Until a
/// session is there no material counts as ready, and the next one is counted from its beginning.
#[test]
fn a_restart_while_material_is_made_begins_anew() {
    for protocol in ["bicoptor", "shamir", "sirnn"] {
        let large = |_, text: String| text.replace("pool = 16 ", "pool = 7 ");
        let name = format!("refill-{protocol}");
        let mut parties = Parties::prepared(&name, protocol, large);
        let lost = parties.services.len() - 1;
        parties.services[lost].lost_at.store(4, Ordering::Relaxed);
        parties.start();
        let session = |parties: &Parties| -> Described {
            let told = parties.services[0].described().expect("ready");
            serde_json::from_slice(&told).expect("JSON")
        };
        let before = session(&parties).session;
        for life in parties.lives.drain(..) {
            assert!(life.join().map_or(true, |ended| ended.is_err()));
        }
        for service in &parties.services {
            let state = state(service);
            assert!(state["pool"].as_u64() >= Some(3), "{state}");
            assert_ne!(state["state"], "quarantined", "{state}");
        }
        // Whoever waits for the others has nothing ready.
        let waits = parties.services[0].clone();
        let live = thread::spawn(move || waits.run(&mut |_| {}));
        while state(&parties.services[0])["state"] != "connecting" {
            thread::yield_now();
        }
        assert_eq!(state(&parties.services[0])["pool"], 0);
        for service in &parties.services[1..] {
            let service = service.clone();
            let live = thread::spawn(move || service.run(&mut |_| {}));
            parties.lives.push(live);
        }
        filled(&parties, 7);
        assert_ne!(session(&parties).session, before);
        let x = pictures(3);
        assert_right(&parties.predicted(1, &x), &x, protocol);
        filled(&parties, 7);
        parties.lives.push(live);
        parties.drain(0);
    }
}

/// Parties that do not count the same material as made never predict with it: both know that they differ.
#[test]
fn material_that_is_counted_otherwise_is_found_out() {
    let mut parties = Parties::prepared("miscounted", "bicoptor", same);
    let other = Arc::get_mut(&mut parties.services[1]).expect("not started");
    other.miscounts = true;
    parties.start();
    filled(&parties, 16);
    let (_, bodies) = (parties.sharing().split(given(&pictures(1)))).expect("it fits");
    parties.submit([1; 16], 1, &bodies);
    for answer in parties.answers(&[1; 16]) {
        assert_eq!(answer.expect_err("nothing computed").code, "failed");
    }
    for life in parties.lives.drain(..) {
        let error = life.join().expect("no panic").expect_err("they differ");
        assert!(
            error.to_string().contains("material from beforehand"),
            "{error}"
        );
    }
}
