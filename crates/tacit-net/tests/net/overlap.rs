//! A party that takes a new certificate: for a while the others hold the old one and the new.

use std::time::Duration;

use crate::common::{Joining, configs, folder, identity, join_all, joins_alone};
use tacit_net::NetError;
use tacit_net::certs::{self, Certificate};
use tacit_net::tcp::TcpConfig;

/// Parties that hold both certificates meet their owner before and after it changes them.
#[test]
fn both_certificates_are_accepted() {
    let dir = folder("overlap");
    for shows_new in [false, true] {
        let mut configs = configs("overlap_configs", 3);
        for config in &mut configs {
            config.parties[1].also = vec![identity(&dir, "new").certificate().clone()];
        }
        if shows_new {
            configs[1].identity = identity(&dir, "new");
        }
        for (party, joined) in join_all(configs).into_iter().enumerate() {
            assert_eq!(joined.unwrap().id(), party);
        }
    }
}

/// Once it has changed them, its old certificate is a stranger's to who holds the new one alone.
#[test]
fn an_old_certificate_ends_where_it_is_taken_away() {
    let dir = folder("after_overlap");
    let mut configs = configs("after_overlap_configs", 2);
    let new = || identity(&dir, "new");
    let mut old = configs.pop().unwrap();
    let mut real = TcpConfig {
        parties: old.parties.clone(),
        identity: new(),
        listener: None,
        leave: Default::default(),
        ..old
    };
    old.parties[1].also = vec![new().certificate().clone()];
    real.parties[1].certificate = Some(new().certificate().clone());
    configs[0].parties = real.parties.clone();
    let acceptor = Joining::start(configs.pop().unwrap());
    let error = joins_alone(old);
    assert!(
        matches!(error, NetError::RefusedByPeer { party: 0, .. }),
        "{error}"
    );
    assert_eq!(Joining::start(real).end().0.unwrap().id(), 1);
    assert_eq!(acceptor.end().0.unwrap().id(), 0);
}

/// Neither certificate may be that of another party, too: who shows it could be both.
#[test]
fn no_two_parties_share_a_certificate() {
    let mut configs = configs("shared_configs", 3);
    let other = configs[0].parties[2].certificate.clone();
    configs[0].parties[1].also = other.into_iter().collect();
    configs[0].connect_timeout = Duration::from_millis(200);
    let error = joins_alone(configs.remove(0));
    assert!(error.to_string().contains("have the same"), "{error}");
}

/// What is to follow waits beside what is used; a file of both is read whole, a damaged one refused.
#[test]
fn the_next_certificate_waits_in_a_file_of_its_own() {
    let dir = folder("next");
    identity(&dir, "a");
    let own = dir.join("a");
    certs::generate_next(&own, "a", None, certs::DEFAULT_VALIDITY).unwrap();
    let again = certs::generate_next(&own, "a", None, certs::DEFAULT_VALIDITY);
    assert!(again.unwrap_err().to_string().contains("not overwritten"));
    let read = |name: &str| std::fs::read_to_string(own.join(name)).unwrap();
    let both = read("cert.pem") + &read("next-cert.pem");
    std::fs::write(own.join("both.pem"), &both).unwrap();
    let found = Certificate::load_all(&own.join("both.pem")).unwrap();
    assert_eq!(found.len(), 2);
    assert_ne!(found[0], found[1]);
    let half = both.len() - 60;
    std::fs::write(own.join("both.pem"), &both[..half]).unwrap();
    assert!(Certificate::load_all(&own.join("both.pem")).is_err());

    // A renewed one is of the key that is there.
    std::fs::remove_file(own.join("next-cert.pem")).unwrap();
    std::fs::remove_file(own.join("next-key.pem")).unwrap();
    let key = read("key.pem");
    certs::generate_next(&own, "a", Some(key.as_bytes()), certs::DEFAULT_VALIDITY).unwrap();
    assert!(!own.join("next-key.pem").exists());
    certs::Identity::load_files(&own.join("next-cert.pem"), &own.join("key.pem")).unwrap();
}
