//! What a party hears while it waits for others, before all links stand.

use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use tacit_net::NetError;
use tacit_net::tcp::{self, Ended, Refusal, TcpConfig};

use crate::common::{Joining, configs, folder, identity};

/// Runs a party whose own preparation fails.
fn fails(config: TcpConfig) -> Result<(), Ended<String>> {
    let refusal = || {
        Err::<(), _>(Refusal {
            error: "secret".to_string(),
            told: "its input holds NaN".into(),
        })
    };
    tcp::connect_while(config, &mut |_| (), refusal).map(drop)
}

fn error(joining: Joining) -> String {
    let (outcome, _) = joining.end();
    outcome.map(drop).expect_err("there is no run").to_string()
}

#[test]
fn who_cannot_run_is_heard_by_those_who_wait_and_those_who_come() {
    for failing in 0..3 {
        let mut configs = configs(&format!("told-{failing}"), 3);
        let fails_here = configs.remove(failing);
        let late = configs.pop().expect("one comes later");
        let early = Joining::start(configs.pop().expect("one waits"));
        let failing_party = thread::spawn(move || fails(fails_here));
        let first = error(early);
        let second = error(Joining::start(late));
        for heard in [first, second] {
            let words = format!("party {failing} stopped: it says \"its input holds NaN\";");
            assert!(heard.starts_with(&words), "{heard}");
        }
        let ended = failing_party.join().expect("no panic");
        assert!(matches!(ended, Err(Ended::Own(own)) if own == "secret"));
    }
}

/// Party 2 never comes; party 1 stops after it has met party 0.
#[test]
fn who_stops_while_another_is_waited_for_is_heard_at_once() {
    let mut configs = configs("told-waiting", 3);
    configs.pop();
    let (stop, stopped) = channel::<()>();
    let one = configs.pop().expect("party 1");
    let stops = move || {
        let _ = stopped.recv();
        Err::<(), _>(Refusal {
            error: "own".to_string(),
            told: "its model cannot be planned".into(),
        })
    };
    let one = thread::spawn(move || tcp::connect_while(one, &mut |_| (), stops).map(drop));
    let zero = Joining::start(configs.pop().expect("party 0"));
    thread::sleep(Duration::from_millis(300));
    drop(stop);
    let heard = error(zero);
    assert!(
        heard.starts_with("party 1 stopped: it says \"its model cannot be planned\""),
        "{heard}"
    );
    assert!(one.join().expect("no panic").is_err());
}

/// The certificate that party 0 has of party 1 is an old one, and party 1 never comes with the right
/// one.
#[test]
fn a_certificate_that_never_fits_is_named_and_not_the_firewall() {
    let mut configs = configs("told-certificate", 2);
    let mut other = configs.pop().expect("party 1");
    let stranger = identity(&folder("told-certificate-new"), "new");
    let old = other.identity.certificate().fingerprint();
    let new = stranger.certificate().fingerprint();
    other.parties[1].certificate = Some(stranger.certificate().clone());
    other.identity = stranger;
    configs[0].connect_timeout = Duration::from_secs(3);
    let zero = Joining::start(configs.pop().expect("party 0"));
    let refused = error(Joining::start(other));
    assert!(
        refused.contains("does not know this party's certificate") && refused.contains(&new),
        "{refused}"
    );
    let (outcome, _) = zero.end();
    let error = outcome.map(drop).expect_err("there is no run");
    assert!(
        matches!(error, NetError::Unproven { party: 1, .. }),
        "{error}"
    );
    let error = error.to_string();
    for words in [&old, &new, "claims to be party 1, but its certificate"] {
        assert!(error.contains(words), "{error}");
    }
    assert!(!error.contains("firewall"), "{error}");
}

/// Party 2 has waited for party 1 as long as it would.
#[test]
fn who_gives_up_waiting_says_for_whom() {
    let mut configs = configs("told-absent", 3);
    let impatient = TcpConfig {
        connect_timeout: Duration::from_millis(500),
        ..configs.pop().expect("party 2")
    };
    let _one = configs.pop().expect("party 1");
    let zero = Joining::start(configs.pop().expect("party 0"));
    let gone = error(Joining::start(impatient));
    assert!(gone.starts_with("party 1 (clinic-1)"), "{gone}");
    let heard = error(zero);
    assert!(
        heard.starts_with("party 2 stopped: it says \"party 1 (clinic-1)"),
        "{heard}"
    );
}

/// A party has no certificate of one of the others that it could read: the rest hear why, and that one that it is not
/// known, which may pass this on first.
#[test]
fn who_cannot_know_all_others_tells_those_it_knows() {
    for (failing, unknown) in [(0, 1), (0, 2), (1, 0), (1, 2), (2, 1)] {
        let mut configs = configs(&format!("told-unknown-{failing}{unknown}"), 3);
        let mut fails = configs.remove(failing);
        fails.parties[unknown].certificate = None;
        let others: Vec<_> = configs.into_iter().map(Joining::start).collect();
        let failing_party =
            thread::spawn(move || tcp::refuse(fails, &"own", "a certificate", &mut |_| ()));
        for (party, joining) in (0..3).filter(|p| *p != failing).zip(others) {
            let heard = error(joining);
            let direct = format!("party {failing} stopped: it says \"a certificate\"");
            let refused = heard.contains(&format!("party {failing} (clinic-{failing})"))
                && heard.contains("does not know this party's");
            assert!(heard.contains(&direct) || refused, "party {party}: {heard}");
        }
        failing_party.join().expect("no panic");
    }
}

#[test]
fn nobody_runs_without_the_certificates_of_all() {
    let mut config = configs("without", 3).swap_remove(1);
    config.connect_timeout = Duration::from_millis(100);
    config.parties[2].certificate = None;
    let error = error(Joining::start(config));
    assert!(error.contains("that of party 2 is missing"), "{error}");
}
