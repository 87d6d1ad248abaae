//! TLS settings that trust one certificate: that of the party expected at the other end.

use std::sync::{Arc, Mutex, PoisonError};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{ClientConfig, ClientConnection, Resumption};
use rustls::crypto::{CryptoProvider, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{NoServerSessionStorage, ServerConfig, ServerConnection};
use rustls::version::TLS13;
use rustls::{
    CertificateError, CipherSuite, Connection, DigitallySignedStruct, DistinguishedName, Error,
    SignatureScheme,
};

use super::Peer;
use crate::certs::{Identity, fingerprint};

/// The application protocol, so that another TLS service is told from a party at once.
const ALPN: &[u8] = b"tacit/1";

/// Who the parties are, and this one's key.
pub(crate) struct Roster {
    pub(crate) id: usize,
    pub(crate) parties: Vec<Peer>,
    pub(crate) identity: Identity,
}

/// Why a certificate was refused.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    /// Why the certificate was refused, in words for the error.
    pub(crate) why: String,
    /// Whether the other end proved to be somebody known, so that it is no mere stranger.
    pub(crate) known: bool,
}

/// Accepts the certificate of one party, and remembers why another was refused.
pub(crate) struct Pinned {
    roster: Arc<Roster>,
    expected: usize,
    provider: Arc<CryptoProvider>,
    refusal: Mutex<Option<Refusal>>,
}

impl std::fmt::Debug for Pinned {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pinned")
            .field("expected", &self.expected)
            .finish_non_exhaustive()
    }
}

impl Pinned {
    fn new(roster: &Arc<Roster>, expected: usize) -> Arc<Pinned> {
        Arc::new(Pinned {
            roster: roster.clone(),
            expected,
            provider: Arc::new(provider()),
            refusal: Mutex::new(None),
        })
    }

    /// Why the certificate was refused, if it was.
    pub(crate) fn refusal(&self) -> Option<Refusal> {
        self.refusal
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn refuse(&self, why: String, known: bool, error: CertificateError) -> Error {
        *self.refusal.lock().unwrap_or_else(PoisonError::into_inner) = Some(Refusal { why, known });
        Error::InvalidCertificate(error)
    }

    /// Refuses a certificate that belongs to no party. A certificate of the wrong party passes
    /// here: only its signature, checked next, tells that party from somebody who shows a copy.
    fn known(&self, shown: &CertificateDer<'_>) -> Result<(), Error> {
        if self.roster.parties.iter().any(|peer| peer.holds(shown)) {
            return Ok(());
        }
        let why = format!(
            "its certificate ({}) is not that of party {} ({}), nor of any party; if that party has a new one, put it into this party's configuration, otherwise it is somebody else",
            fingerprint(shown),
            self.expected,
            self.roster.parties[self.expected].print()
        );
        Err(self.refuse(why, false, CertificateError::UnknownIssuer))
    }

    /// Refuses a certificate whose key the other end has, but which is not the expected party's
    /// or not valid now.
    fn right(&self, shown: &CertificateDer<'_>) -> Result<(), Error> {
        let all = &self.roster.parties;
        let Some(certificate) = all[self.expected].find(shown) else {
            let holder = all.iter().position(|peer| peer.holds(shown));
            let holder = holder.map_or("another party".into(), |p| {
                format!("party {p} ({})", self.roster.parties[p].name)
            });
            let why = format!("it showed the certificate of {holder}; a party must show its own");
            return Err(self.refuse(why, true, CertificateError::ApplicationVerificationFailure));
        };
        certificate.check(UnixTime::now()).map_err(|error| {
            use CertificateError::{Expired, ExpiredContext, NotValidYet, NotValidYetContext};
            let party = self.expected;
            let clock = certificate.by_the_clock();
            let print = certificate.fingerprint();
            let why = match error {
                NotValidYet | NotValidYetContext { .. } => format!(
                    "its certificate ({print}) is not valid yet: {clock}; if that clock is wrong, set it, otherwise the clock of party {party} was wrong when it made its certificate: it needs a new one, which goes into every party's configuration"
                ),
                Expired | ExpiredContext { .. } => format!(
                    "its certificate ({print}) has expired: {clock}; if that clock is wrong, set it, otherwise party {party} needs a new certificate, which goes into every party's configuration"
                ),
                _ => format!(
                    "its certificate ({print}) cannot be accepted ({error}); party {party} needs a new one, which goes into every party's configuration"
                ),
            };
            self.refuse(why, true, error)
        })
    }

    fn signed(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        let valid = verify_tls13_signature(message, shown, signature, algorithms)?;
        self.known(shown)?;
        self.right(shown)?;
        Ok(valid)
    }

    fn schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

/// AES-128 before the others: the generators of the protocols are no stronger, and it is faster.
fn provider() -> CryptoProvider {
    let mut provider = rustls::crypto::ring::default_provider();
    provider
        .cipher_suites
        .sort_by_key(|suite| suite.suite() != CipherSuite::TLS13_AES_128_GCM_SHA256);
    provider
}

fn no_tls12() -> Error {
    Error::General("TLS 1.2 is not spoken here".into())
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.known(end_entity)
            .map(|()| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(no_tls12())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signed(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes()
    }
}

impl ClientCertVerifier for Pinned {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.known(end_entity)
            .map(|()| ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(no_tls12())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signed(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes()
    }
}

/// The dialling end of TLS with the party `expected`.
pub(crate) fn client(
    roster: &Arc<Roster>,
    expected: usize,
) -> Result<(Connection, Arc<Pinned>), Error> {
    let pinned = Pinned::new(roster, expected);
    let mut config = ClientConfig::builder_with_provider(pinned.provider.clone())
        .with_protocol_versions(&[&TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(pinned.clone())
        .with_client_auth_cert(
            vec![roster.identity.certificate().0.clone()],
            roster.identity.key(),
        )?;
    config.alpn_protocols = vec![ALPN.to_vec()];
    config.resumption = Resumption::disabled();
    config.enable_sni = false;
    let name = ServerName::try_from("tacit").map_err(|e| Error::General(e.to_string()))?;
    Ok((
        ClientConnection::new(Arc::new(config), name)?.into(),
        pinned,
    ))
}

/// The listening end of TLS with what claims to be the party `expected`.
pub(crate) fn server(
    roster: &Arc<Roster>,
    expected: usize,
) -> Result<(Connection, Arc<Pinned>), Error> {
    let pinned = Pinned::new(roster, expected);
    let mut config = ServerConfig::builder_with_provider(pinned.provider.clone())
        .with_protocol_versions(&[&TLS13])?
        .with_client_cert_verifier(pinned.clone())
        .with_single_cert(
            vec![roster.identity.certificate().0.clone()],
            roster.identity.key(),
        )?;
    config.alpn_protocols = vec![ALPN.to_vec()];
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok((ServerConnection::new(Arc::new(config))?.into(), pinned))
}
