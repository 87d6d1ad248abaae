//! Who may join a run: strangers, wrong, swapped and expired certificates, at both ends.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::common::{Joining, configs, configs_of, folder, identity, join_all, joins_alone};
use rustls::client::ResolvesClientCert;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, SignatureScheme};
use tacit_net::certs::{self, Certificate, Identity};
use tacit_net::tcp::TcpConfig;
use tacit_net::{NetError, date};

const DAY: Duration = Duration::from_secs(24 * 3600);

/// Gives a party a new key that the others do not know of.
fn replace(config: &mut TcpConfig, with: Identity) {
    config.parties[config.id].certificate = Some(with.certificate().clone());
    config.identity = with;
}

#[test]
fn a_stranger_is_refused_at_both_ends_and_the_real_party_still_comes_in() {
    let dir = folder("stranger");
    let mut configs = configs("stranger_configs", 2);
    let mut stranger = configs[1].clone_with(identity(&dir, "stranger"));
    stranger.parties[1].certificate = Some(stranger.identity.certificate().clone());
    let real = configs.pop().unwrap();
    let acceptor = Joining::start(configs.pop().unwrap());

    let error = joins_alone(stranger);
    assert!(
        matches!(error, NetError::RefusedByPeer { party: 0, .. }),
        "{error}"
    );
    assert!(
        error
            .to_string()
            .contains("does not know this party's certificate"),
        "{error}"
    );

    let strays = acceptor.strays(1);
    assert!(
        strays.contains("claims to be party 1, but its certificate"),
        "{strays}"
    );
    let party = Joining::start(real).end().0.unwrap();
    assert_eq!((party.id(), acceptor.end().0.unwrap().id()), (1, 0));
}

#[test]
fn a_strange_listener_is_refused_at_both_ends() {
    let dir = folder("impostor");
    let mut configs = configs("impostor_configs", 2);
    let mut knows = configs[1].clone_with(identity(&folder_of("impostor_configs"), "party1"));
    replace(&mut configs[0], identity(&dir, "impostor"));
    knows.parties[0].certificate = configs[0].parties[0].certificate.clone();
    let victim = configs.pop().unwrap();
    let impostor = Joining::start(configs.pop().unwrap());

    let error = joins_alone(victim);
    assert!(
        matches!(error, NetError::Refused { party: 0, .. }),
        "{error}"
    );
    assert!(
        error.to_string().contains("is not that of party 0"),
        "{error}"
    );

    let strays = impostor.strays(1);
    assert!(
        strays.contains("does not know this party's certificate"),
        "{strays}"
    );
    // Who knows the listener's certificate comes in.
    Joining::start(knows).end().0.map(drop).unwrap();
    impostor.end().0.map(drop).unwrap();
}

#[test]
fn one_party_showing_the_certificate_of_another_is_refused_at_both_ends() {
    let mut configs = configs("swapped", 3);
    // The program at party 1's place was given the key of party 2.
    let mut wrong = configs.remove(1);
    let two = configs.pop().unwrap();
    wrong.parties.swap(1, 2);
    wrong.identity = two.identity;
    let acceptor = Joining::start(configs.pop().unwrap());

    let error = joins_alone(wrong);
    assert!(
        matches!(error, NetError::RefusedByPeer { party: 0, .. }),
        "{error}"
    );
    assert!(
        error.to_string().contains("for another party than 1"),
        "{error}"
    );
    let error = acceptor.end().0.map(|party| party.id()).unwrap_err();
    assert!(
        matches!(error, NetError::Refused { party: 1, .. }),
        "{error}"
    );
    assert!(
        error
            .to_string()
            .contains("showed the certificate of party 2 (clinic-2)"),
        "{error}"
    );
}

#[test]
fn a_listener_showing_the_certificate_of_another_is_refused() {
    let mut configs = configs("swapped_listener", 3);
    let dialler = configs.pop().unwrap();
    let one = configs.pop().unwrap();
    let mut zero = configs.pop().unwrap();
    zero.parties.swap(0, 1);
    zero.identity = one.identity;
    let zero = Joining::start(zero);
    let error = joins_alone(dialler);
    assert!(
        matches!(error, NetError::Refused { party: 0, .. }),
        "{error}"
    );
    assert!(
        error
            .to_string()
            .contains("showed the certificate of party 1"),
        "{error}"
    );
    let strays = zero.strays(1);
    assert!(
        strays.contains("holds this party's certificate")
            && strays.contains("for another party than 0"),
        "{strays}"
    );
}

#[test]
fn expired_and_early_certificates_are_refused_at_both_ends() {
    let now = SystemTime::now();
    let periods = [
        ("expired", now - 30 * DAY, now - DAY),
        ("early", now + DAY, now + 30 * DAY),
    ];
    for (name, from, until) in periods {
        for holder in [0, 1] {
            let dir = folder(&format!("{name}{holder}"));
            certs::generate_between(&dir.join("bad"), name, from, until).unwrap();
            let (bad, good) = (identity(&dir, "bad"), identity(&dir, "good"));
            let mut configs = configs_of(if holder == 0 {
                vec![bad, good]
            } else {
                vec![good, bad]
            });
            let dialler = configs.pop().unwrap();
            let acceptor = Joining::start(configs.pop().unwrap());
            let dialled = joins_alone(dialler);
            if holder == 1 {
                let accepted = acceptor.end().0.map(|party| party.id()).unwrap_err();
                assert!(
                    matches!(accepted, NetError::Refused { party: 1, .. }),
                    "{accepted}"
                );
                assert!(accepted.to_string().contains("needs a new"), "{accepted}");
                // Both times, and both ways out.
                let word = match name {
                    "expired" => "has expired: it is valid from",
                    _ => "is not valid yet: it is valid from",
                };
                let bounds = [date(from), date(until)];
                for words in [word, &bounds[0], &bounds[1], "clock says 20", "set it"] {
                    assert!(accepted.to_string().contains(words), "{accepted}");
                }
                for words in [&*bounds[0], &bounds[1], "clock says 20", "set its clock"] {
                    assert!(dialled.to_string().contains(words), "{dialled}");
                }
                assert!(
                    matches!(dialled, NetError::RefusedByPeer { party: 0, .. }),
                    "{dialled}"
                );
                assert!(
                    dialled.to_string().contains("expired or not valid yet"),
                    "{dialled}"
                );
            } else {
                assert!(
                    matches!(dialled, NetError::Refused { party: 0, .. }),
                    "{dialled}"
                );
                let strays = acceptor.strays(1);
                assert!(strays.contains("expired or not valid yet"), "{strays}");
            }
        }
    }
}

/// A client that shows a certificate whose key it does not have.
#[derive(Debug)]
struct Thief(Arc<CertifiedKey>);

impl ResolvesClientCert for Thief {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        Some(self.0.clone())
    }

    fn has_certs(&self) -> bool {
        true
    }
}

/// Accepts any server: it is the server that is tested.
#[derive(Debug)]
struct Anyone;

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ECDSA_NISTP256_SHA256]
    }
}

/// Knocks as party 1 and shows a copy of a certificate, or none; whether it got in.
fn break_in(address: &str, shown: Option<(&Path, &Path)>) -> bool {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anyone));
    let mut config = match shown {
        None => config.with_no_client_auth(),
        Some((certificate, key)) => {
            let certificate = CertificateDer::from_pem_file(certificate).unwrap();
            let key = PrivateKeyDer::from_pem_file(key).unwrap();
            let key = provider.key_provider.load_private_key(key).unwrap();
            let thief = Thief(Arc::new(CertifiedKey::new(vec![certificate], key)));
            config.with_client_cert_resolver(Arc::new(thief))
        }
    };
    config.alpn_protocols = vec![b"tacit/1".to_vec()];
    let mut tls = ClientConnection::new(Arc::new(config), "tacit".try_into().unwrap()).unwrap();
    let mut socket = TcpStream::connect(address).unwrap();
    socket.write_all(b"TACIT/1\n\x01\x00\x00\x00").unwrap();
    let mut stream = rustls::Stream::new(&mut tls, &mut socket);
    // The listener's greeting comes only to who is let in.
    let _ = stream.write_all(&[0; 46]);
    matches!(stream.read(&mut [0; 1]), Ok(1))
}

#[test]
fn a_copied_certificate_or_none_neither_opens_nor_ends_a_run() {
    let mut configs = configs("thief", 3);
    let dir = folder_of("thief");
    let others: Vec<_> = configs.drain(1..).collect();
    let address = configs[0].parties[0].address.clone();
    let acceptor = Joining::start(configs.pop().unwrap());
    let file = |party: &str, file: &str| dir.join(party).join(file);
    let own = file("party2", certs::KEY_FILE);
    assert!(!break_in(&address, None));
    for copied in ["party1", "party0"] {
        let copy = file(copied, certs::CERTIFICATE_FILE);
        assert!(!break_in(&address, Some((&copy, &own))), "{copied}");
    }
    let strays = acceptor.strays(3);
    let came = join_all(others);
    let outcome = acceptor.end().0;
    assert!(
        outcome.is_ok() && came.iter().all(Result::is_ok),
        "{outcome:?} {came:?}"
    );
    assert_eq!(strays.matches("BadSignature").count(), 2, "{strays}");
}

#[test]
fn files_that_cannot_be_used_are_named() {
    let dir = folder("files");
    let own = dir.join("own");
    certs::generate(&own, "own", DAY).unwrap();
    let (key, cert) = (own.join(certs::KEY_FILE), own.join(certs::CERTIFICATE_FILE));
    assert_eq!(
        fs::metadata(&key).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let shown = format!("{:?}", Identity::load(&own).unwrap());
    assert!(shown.starts_with("Identity(Certificate("), "{shown}");

    let fails = |result: Result<Identity, NetError>, expected: &str| {
        let error = result.unwrap_err();
        assert!(matches!(error, NetError::File { .. }), "{error}");
        assert!(error.to_string().contains(expected), "{error}");
    };
    fails(Identity::load(&dir.join("nobody")), "no such file");
    fails(Identity::load_files(&key, &key), "not a certificate");
    let error = certs::generate(&own, "own", DAY).unwrap_err();
    assert!(error.to_string().contains("not overwritten"), "{error}");

    identity(&dir, "other");
    fails(
        Identity::load_files(&dir.join("other").join("cert.pem"), &key),
        "does not fit",
    );
    let text = dir.join("text.pem");
    fs::write(&text, "no key").unwrap();
    fs::set_permissions(&text, fs::Permissions::from_mode(0o600)).unwrap();
    fails(Identity::load_files(&cert, &text), "not a private key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o640)).unwrap();
    fails(Identity::load(&own), "chmod 600");
    assert!(Certificate::load(&cert).is_ok());
}

fn folder_of(test: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(test)
}

trait CloneWith {
    fn clone_with(&self, identity: Identity) -> TcpConfig;
}

impl CloneWith for TcpConfig {
    /// This configuration for another identity, without the listener.
    fn clone_with(&self, identity: Identity) -> TcpConfig {
        TcpConfig {
            parties: self.parties.clone(),
            identity,
            listener: None,
            leave: Default::default(),
            ..*self
        }
    }
}

/// The fingerprint is what other programs say, and the period and name what was asked for.
#[test]
fn a_certificate_tells_its_name_its_fingerprint_and_its_period() {
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_790_000_000);
    // Years from 2050 on are written in another form.
    for years in [1, 100] {
        let dir = folder(&format!("facts-{years}"));
        let until = now + years * 365 * DAY;
        certs::generate_between(&dir, "Clinic Nord", now, until).unwrap();
        let path = dir.join(certs::CERTIFICATE_FILE);
        let certificate = Certificate::load(&path).unwrap();
        assert_eq!(certificate.name().as_deref(), Some("Clinic Nord"));
        assert_eq!(certificate.period(), Some((now, until)));
        let der = CertificateDer::from_pem_file(&path).unwrap();
        let digest = ring::digest::digest(&ring::digest::SHA256, &der);
        let hex: String = digest.as_ref().iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(certificate.fingerprint(), hex);
    }
}
