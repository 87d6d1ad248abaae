//! Keys and certificates of parties.
//!
//! A party has one key and one self-signed certificate; the others hold that very certificate.
//! There is no authority: who is trusted as which party is what the configuration says.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::time::{Duration, SystemTime};

mod der;

use rcgen::{CertificateParams, DnType, KeyPair, PKCS_ECDSA_P256_SHA256, date_time_ymd};
use rustls::SupportedCipherSuite;
use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::crypto::ring::cipher_suite::TLS13_AES_128_GCM_SHA256;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::sign::CertifiedKey;
use rustls::{CertificateError, RootCertStore};
use zeroize::{Zeroize, Zeroizing};

use crate::NetError;
use crate::time::date;

/// The file of a party's private key within its folder.
pub const KEY_FILE: &str = "key.pem";
/// The file of a party's certificate within its folder.
pub const CERTIFICATE_FILE: &str = "cert.pem";
/// The files of a key and a certificate that wait until the others know of them.
const NEXT_KEY_FILE: &str = "next-key.pem";
const NEXT_CERTIFICATE_FILE: &str = "next-cert.pem";
/// How long a new certificate is valid unless told otherwise.
pub const DEFAULT_VALIDITY: Duration = Duration::from_secs(365 * 24 * 3600);
/// New certificates are valid from a little before now, since clocks differ.
const CLOCK_SKEW: Duration = Duration::from_secs(3600);

/// A party's certificate, as the others hold it.
#[derive(Clone, PartialEq, Eq)]
pub struct Certificate(pub(crate) CertificateDer<'static>);

impl std::fmt::Debug for Certificate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Certificate({})", self.fingerprint())
    }
}

impl Certificate {
    /// Reads a PEM file.
    pub fn load(path: &Path) -> Result<Certificate, NetError> {
        Self::from_pem(&read(path)?).map_err(|why| file_error(path, why))
    }

    /// Reads all certificates of a PEM file. A party that takes a new one has two for a while: the others
    /// accept both until it shows the new one.
    pub fn load_all(path: &Path) -> Result<Vec<Certificate>, NetError> {
        let pem = read(path)?;
        let mut found = vec![Self::from_pem(&pem).map_err(|why| file_error(path, why))?];
        for der in CertificateDer::pem_slice_iter(&pem).skip(1) {
            let read = der.map_err(|_| "a certificate after the first is damaged".to_string());
            let one = read.and_then(Self::from_der);
            found.push(one.map_err(|why| file_error(path, why))?);
        }
        Ok(found)
    }

    fn from_der(der: CertificateDer<'static>) -> Result<Certificate, String> {
        ParsedCertificate::try_from(&der)
            .map_err(|e| format!("this certificate cannot be used ({e})"))?;
        Ok(Certificate(der))
    }

    /// Reads the text of a PEM file. The error says what is wrong with the text.
    pub fn from_pem(pem: &[u8]) -> Result<Certificate, String> {
        let der = CertificateDer::from_pem_slice(pem)
            .map_err(|_| "this is not a certificate in PEM format".to_string())?;
        Self::from_der(der)
    }

    /// The SHA-256 of the DER form as 64 hexadecimal digits: what people compare, and what any
    /// other program calls the certificate's SHA-256 fingerprint.
    pub fn fingerprint(&self) -> String {
        fingerprint(&self.0)
    }

    /// The common name that the certificate's maker chose, if it can be read; nobody vouches for
    /// it.
    pub fn name(&self) -> Option<String> {
        der::facts(&self.0)?.name
    }

    /// The first and the last moment at which the certificate is valid, if they can be read.
    pub fn period(&self) -> Option<(SystemTime, SystemTime)> {
        der::facts(&self.0).map(|facts| (facts.from, facts.until))
    }

    /// How the clock of this machine stands to the certificate's period, in words.
    pub(crate) fn by_the_clock(&self) -> String {
        let now = date(SystemTime::now());
        match self.period() {
            Some((from, until)) => format!(
                "it is valid from {} to {}, and this machine's clock says {now}",
                date(from),
                date(until)
            ),
            None => format!("this machine's clock says {now}"),
        }
    }

    /// Whether the certificate is well-formed, signed by its own key and within its period.
    pub(crate) fn check(&self, now: UnixTime) -> Result<(), CertificateError> {
        let as_certificate_error = |error| match error {
            rustls::Error::InvalidCertificate(error) => error,
            _ => CertificateError::BadEncoding,
        };
        let mut itself = RootCertStore::empty();
        itself.add(self.0.clone()).map_err(as_certificate_error)?;
        let parsed = ParsedCertificate::try_from(&self.0).map_err(as_certificate_error)?;
        let algorithms = rustls::crypto::ring::default_provider().signature_verification_algorithms;
        verify_server_cert_signed_by_trust_anchor(&parsed, &itself, &[], now, algorithms.all)
            .map_err(as_certificate_error)
    }
}

pub(crate) fn fingerprint(der: &[u8]) -> String {
    let SupportedCipherSuite::Tls13(suite) = TLS13_AES_128_GCM_SHA256;
    let hash = suite.common.hash_provider.hash(der);
    hash.as_ref().iter().map(|b| format!("{b:02x}")).collect()
}

/// A party's own certificate with its private key.
pub struct Identity {
    certificate: Certificate,
    key: PrivateKeyDer<'static>,
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Identity").field(&self.certificate).finish()
    }
}

impl Drop for Identity {
    fn drop(&mut self) {
        self.key.zeroize();
    }
}

impl Identity {
    /// Reads `key.pem` and `cert.pem` of a folder.
    pub fn load(dir: &Path) -> Result<Identity, NetError> {
        Self::load_files(&dir.join(CERTIFICATE_FILE), &dir.join(KEY_FILE))
    }

    /// Reads a certificate and its key, which must belong together; the key must be readable by
    /// its owner alone.
    pub fn load_files(certificate: &Path, key: &Path) -> Result<Identity, NetError> {
        let mode = fs::metadata(key)
            .map_err(|e| file_error(key, missing(&e)))?
            .permissions()
            .mode();
        if mode & 0o077 != 0 {
            let why = format!(
                "this private key can be read by others (mode {:03o}); make it yours alone with chmod 600, and replace it if others may have read it",
                mode & 0o777
            );
            return Err(file_error(key, why));
        }
        Self::of(certificate, key, &Zeroizing::new(read(key)?))
    }

    /// Reads a certificate whose key is here already; `key` is what errors call the key.
    pub fn of(certificate: &Path, key: &Path, pem: &[u8]) -> Result<Identity, NetError> {
        let identity = Identity {
            certificate: Certificate::load(certificate)?,
            key: PrivateKeyDer::from_pem_slice(pem)
                .map_err(|_| file_error(key, "this is not a private key in PEM format".into()))?,
        };
        let provider = rustls::crypto::ring::default_provider();
        CertifiedKey::from_der(
            vec![identity.certificate.0.clone()],
            identity.key(),
            &provider,
        )
        .map_err(|e| {
            file_error(
                key,
                format!("this key does not fit {} ({e})", certificate.display()),
            )
        })?;
        Ok(identity)
    }

    /// The certificate, to be given to the others.
    pub fn certificate(&self) -> &Certificate {
        &self.certificate
    }

    pub(crate) fn key(&self) -> PrivateKeyDer<'static> {
        self.key.clone_key()
    }
}

/// Makes a key and a certificate for the party `name`, valid from now for `validity`, as `key.pem`
/// (mode 0600) and `cert.pem` in `dir`, which is made if need be. Never overwrites a key.
pub fn generate(dir: &Path, name: &str, validity: Duration) -> Result<(), NetError> {
    let now = SystemTime::now();
    generate_between(dir, name, now - CLOCK_SKEW, now + validity)
}

/// Makes a key and a certificate as [`generate`] does, valid `from` one moment `until` another.
pub fn generate_between(
    dir: &Path,
    name: &str,
    from: SystemTime,
    until: SystemTime,
) -> Result<(), NetError> {
    let key = new_key(name)?;
    let certificate = self_signed(&key, name, (from, until))?;
    fs::create_dir_all(dir).map_err(|e| file_error(dir, e.to_string()))?;
    write_key(&dir.join(KEY_FILE), &key)?;
    write_new(&dir.join(CERTIFICATE_FILE), 0o644, certificate.as_bytes())
}

/// Makes what follows on a party's certificate, valid from now for `validity`, as `next-cert.pem` in `dir`:
/// for the key in `key`, or for a new one in `next-key.pem`. Never overwrites any.
pub fn generate_next(
    dir: &Path,
    name: &str,
    key: Option<&[u8]>,
    validity: Duration,
) -> Result<(), NetError> {
    let now = SystemTime::now();
    let period = (now - CLOCK_SKEW, now + validity);
    let path = dir.join(NEXT_CERTIFICATE_FILE);
    if path.exists() {
        return Err(file_error(&path, EXISTS.into()));
    }
    let certificate = match key {
        Some(pem) => {
            let text = String::from_utf8_lossy(pem);
            let key = KeyPair::from_pem(&text).map_err(|e| unmade(name, e))?;
            self_signed(&Zeroizing::new(key), name, period)?
        }
        None => {
            let key = new_key(name)?;
            write_key(&dir.join(NEXT_KEY_FILE), &key)?;
            self_signed(&key, name, period)?
        }
    };
    write_new(&path, 0o644, certificate.as_bytes())
}

const EXISTS: &str = "it exists already and is not overwritten; choose another folder or remove it";

fn unmade(name: &str, e: rcgen::Error) -> NetError {
    NetError::Invalid {
        what: format!("certificate of '{name}'"),
        why: format!("it cannot be made ({e})"),
    }
}

fn new_key(name: &str) -> Result<Zeroizing<KeyPair>, NetError> {
    let made = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256);
    made.map(Zeroizing::new).map_err(|e| unmade(name, e))
}

fn write_key(path: &Path, key: &KeyPair) -> Result<(), NetError> {
    let pem = Zeroizing::new(key.serialize_pem());
    write_new(path, 0o600, pem.as_bytes())
}

/// A certificate in PEM.
fn self_signed(
    key: &KeyPair,
    name: &str,
    (from, until): (SystemTime, SystemTime),
) -> Result<String, NetError> {
    let failed = |e| unmade(name, e);
    let mut params = CertificateParams::new(Vec::new()).map_err(failed)?;
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params.not_before = date_time_ymd(1970, 1, 1) + since_1970(from)?;
    params.not_after = date_time_ymd(1970, 1, 1) + since_1970(until)?;
    Ok(params.self_signed(key).map_err(failed)?.pem())
}

fn since_1970(time: SystemTime) -> Result<Duration, NetError> {
    // The last second that a certificate can name is in the year 9999.
    const LAST: Duration = Duration::from_secs(253_402_300_799);
    match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(since) if since <= LAST => Ok(since),
        _ => Err(NetError::Invalid {
            what: "validity of a certificate".into(),
            why: "it must lie between the years 1970 and 9999".into(),
        }),
    }
}

fn write_new(path: &Path, mode: u32, bytes: &[u8]) -> Result<(), NetError> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(path)
        .and_then(|mut file| file.write_all(bytes))
        .map_err(|e| match e.kind() {
            std::io::ErrorKind::AlreadyExists => file_error(path, EXISTS.into()),
            _ => file_error(path, e.to_string()),
        })
}

fn read(path: &Path) -> Result<Vec<u8>, NetError> {
    fs::read(path).map_err(|e| file_error(path, missing(&e)))
}

fn missing(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => {
            "there is no such file; `tacit init` makes keys and certificates".into()
        }
        _ => error.to_string(),
    }
}

fn file_error(path: &Path, why: String) -> NetError {
    NetError::File {
        path: path.display().to_string(),
        why,
    }
}
