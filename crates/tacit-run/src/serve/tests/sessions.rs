//! Several sessions of a model side by side.

use serde_json::Value;

use super::*;
use crate::serve::standing::Standing;

fn three(_: usize, text: String) -> String {
    text.replace("version = \"1\"", "version = \"1\"\nsessions = 3")
}

fn state(service: &Service) -> Value {
    serde_json::from_str(&service.state()).expect("JSON")
}

/// Many clients at once: all are answered right, by more than one session, and all parties have taken the
/// same requests in the same ones.
#[test]
fn sessions_share_the_requests() {
    for protocol in ["falcon", "bicoptor", "sirnn"] {
        let edit = |party, text: String| three(party, text).replace("batch = 32 ", "batch = 2 ");
        let parties = Parties::started(&format!("sessions-{protocol}"), protocol, edit);
        let sharing = parties.sharing();
        let x = pictures(1);
        thread::scope(|scope| {
            for client in 0..6u8 {
                let (parties, sharing, x) = (&parties, &sharing, &x);
                scope.spawn(move || {
                    for id in (0..8).map(|i| 8 * client + i) {
                        let (_, bodies) = sharing.split(given(x)).expect("it fits");
                        parties.submit([id; 16], 1, &bodies);
                        assert_right(&parties.joined(sharing, id, 1), x, protocol);
                    }
                });
            }
        });
        let taken: Vec<Value> = (parties.services.iter())
            .map(|service| state(service)["taken"].clone())
            .collect();
        assert!(taken.iter().all(|each| *each == taken[0]), "{taken:?}");
        let used = taken[0].as_array().expect("a list").iter();
        assert!(
            used.filter(|batches| **batches != 0).count() > 1,
            "{taken:?}"
        );
        parties.drain(1);
    }
}

/// One cheats in whichever session: the whole model stands still.
#[test]
fn cheating_in_one_session_ends_all() {
    let edit = |party, text: String| three(party, malicious(party, text));
    let parties = cheated("sessions-cheat", edit);
    for honest in &parties.services[..2] {
        assert_eq!(state(honest)["state"], "quarantined");
    }
    let taken = parties.services[0].submit("lab", ("", [2; 16]), 1, Vec::new());
    assert!(taken.is_err());
}

/// Sessions live and end together, and begin another life together.
#[test]
fn sessions_begin_another_life_together() {
    let mut parties = Parties::started("sessions-again", "falcon", three);
    let x = pictures(1);
    assert_right(&parties.predicted(1, &x), &x, "first");
    let first = state(&parties.services[0])["session"].clone();
    for by in [1, 0] {
        parties.services[by].drain();
        for life in parties.lives.drain(..) {
            assert!(life.join().expect("no panic").is_ok());
        }
        parties.start();
    }
    let names: Vec<Value> = (parties.services.iter())
        .map(|service| state(service)["session"].clone())
        .collect();
    assert!(names.iter().all(|name| *name == names[0] && *name != first));
    assert_eq!(state(&parties.services[2])["lives"], 3);
    assert_right(&parties.predicted(2, &x), &x, "third");
    parties.drain(2);
}

/// While something waits all the time, also the sessions that have nothing to do hear of the leader.
#[test]
fn sessions_that_have_nothing_to_do_stay() {
    let edit =
        |party, text: String| three(party, text).replace("\ntimeout = 120.0", "\ntimeout = 2.0");
    let parties = Parties::started("sessions-idle", "falcon", edit);
    let sharing = parties.sharing();
    let x = pictures(1);
    let (_, bodies) = sharing.split(given(&x)).expect("it fits");
    let until = Instant::now() + Duration::from_secs(5);
    for id in 100.. {
        // The others never have it: it waits at the leader for two seconds.
        let taken = parties.give(0, "hog", [id; 16], 1, bodies[0].clone());
        assert_eq!(taken, Ok(()));
        if Instant::now() > until {
            break;
        }
        thread::sleep(Duration::from_millis(300));
    }
    assert_right(&parties.predicted(1, &x), &x, "after");
    for service in &parties.services {
        assert_eq!(state(service)["lives"], 1);
    }
    parties.drain(0);
}

/// An owner that offers another model in each session is found out.
#[test]
fn sessions_have_one_model() {
    let joins = |second: [&str; 3]| {
        let mut standing = Standing::default();
        standing.begins(2);
        let first = ["plan", "file", "a"].map(String::from);
        assert_eq!(standing.joins(1, first).expect("the first"), None);
        standing.joins(0, second.map(String::from))
    };
    let whole = joins(["plan", "file", "b"]).expect("alike").expect("all");
    assert!(whole[0] == "plan" && whole[1] == "file" && whole[2].len() == 32);
    for (other, what) in [
        (["another", "file", "b"], "models.digest"),
        (["plan", "another", "b"], "models.commitment"),
    ] {
        let error = joins(other).expect_err("another").to_string();
        assert!(error.contains(what) && error.contains("another"), "{error}");
    }
    let mut alone = Standing::default();
    alone.begins(1);
    let joined = alone.joins(0, ["plan", "file", "a"].map(String::from));
    assert_eq!(joined.expect("alone").expect("all")[2], "a");
}
