//! How parties find each other: late, absent, in company of strangers, with unlike settings.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use tacit_net::NetError;
use tacit_net::tcp::{self, TcpConfig};

use crate::common::{Joining, configs, joins_alone};

#[test]
fn configurations_that_cannot_work_are_refused() {
    let refused = |spoil: &dyn Fn(&mut TcpConfig), expected: &str| {
        let mut config = configs("invalid", 3).swap_remove(1);
        config.connect_timeout = Duration::from_millis(100);
        spoil(&mut config);
        let error = tcp::connect(config, &mut |_| ())
            .map(|party| party.id())
            .unwrap_err();
        assert!(matches!(error, NetError::Invalid { .. }), "{error}");
        assert!(error.to_string().contains(expected), "{error}");
    };
    refused(&|config| config.id = 3, "not one of 0 to 2");
    refused(
        &|config| config.parties.swap(0, 1),
        "not the one listed for party 1",
    );
    refused(
        &|config| config.parties[2] = config.parties[0].clone(),
        "parties 0 and 2 have the same",
    );
    refused(&|config| config.listener = None, "needs one");
}

#[test]
fn a_taken_port_is_named() {
    let listener = tcp::listen("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let error = tcp::listen(&address).unwrap_err();
    assert!(
        matches!(&error, NetError::Listen { address: a, .. } if *a == address),
        "{error}"
    );
}

#[test]
fn an_absent_party_is_waited_for_and_then_named() {
    let mut config = configs("absent", 3).swap_remove(1);
    let host = config.parties[0]
        .address
        .rsplit_once(':')
        .expect("a port")
        .0
        .to_string();
    config.connect_timeout = Duration::from_secs(3);
    // Nobody listens any more at the place of party 0.
    let (outcome, notices) = Joining::start(config).end();
    for (party, name) in [(0, "clinic-0"), (2, "clinic-2")] {
        let text = format!("waiting for party {party} ({name}) at {host}:");
        let waiting = notices
            .iter()
            .find(|notice| notice.to_string().starts_with(&text));
        assert!(
            waiting.unwrap().to_string().ends_with("s of at most 3 s"),
            "{notices:?}"
        );
    }
    match outcome.map(|party| party.id()).unwrap_err() {
        NetError::Absent {
            party: 0,
            name,
            waited,
            last,
            ..
        } => {
            assert_eq!(name, "clinic-0");
            assert!(waited >= Duration::from_secs(3));
            assert!(last.unwrap().contains("refused"));
        }
        other => panic!("{other}"),
    }
}

#[test]
fn a_party_that_starts_later_is_waited_for() {
    let mut configs = configs("later", 3);
    let late = configs.remove(0);
    let early: Vec<_> = configs.into_iter().map(Joining::start).collect();
    thread::sleep(Duration::from_millis(200));
    let late = Joining::start(late).end().0;
    assert!(late.is_ok());
    for joining in early {
        joining.end().0.map(drop).unwrap();
    }
}

#[test]
fn scanners_and_silent_guests_do_not_keep_the_real_party_out() {
    let mut configs = configs("scanner", 2);
    let address = configs[0].parties[0].address.clone();
    let real = configs.pop().unwrap();
    let acceptor = Joining::start(configs.pop().unwrap());
    let _silent = TcpStream::connect(&address).unwrap();
    for words in [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        b"TACIT/1\n\x07\x00\x00\x00",
        b"TACIT/1\n\x01\x00\x00\x00no TLS at all",
    ] {
        let mut scanner = TcpStream::connect(&address).unwrap();
        scanner.write_all(words).unwrap();
        // Until it is turned away.
        let mut answer = Vec::new();
        match scanner.read_to_end(&mut answer) {
            Ok(_) => {}
            Err(e) => assert_eq!(e.kind(), ErrorKind::ConnectionReset),
        }
    }
    let strays = acceptor.strays(3);
    Joining::start(real).end().0.map(drop).unwrap();
    acceptor.end().0.map(drop).unwrap();
    assert!(strays.contains("does not speak like a party"), "{strays}");
    assert!(
        strays.contains("claims to be party 7 and wants party 0"),
        "{strays}"
    );
}

#[test]
fn different_numbers_of_parties_are_a_disagreement() {
    let mut configs = configs("numbers", 3);
    configs.pop();
    let mut one = configs.pop().unwrap();
    one.parties.pop();
    let zero = Joining::start(configs.pop().unwrap());
    for error in [
        joins_alone(one),
        zero.end().0.map(|party| party.id()).unwrap_err(),
    ] {
        assert!(
            matches!(&error, NetError::Disagreement { item, .. } if item == "number of parties"),
            "{error}"
        );
    }
}
