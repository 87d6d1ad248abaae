//! Certificates, as people compare them, and secrets from where they are kept.

use std::path::PathBuf;
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tacit_run::{Certificate, Secret, date, generate_next};

use crate::{TacitError, error};

type Facts = (Option<String>, String, Vec<String>);

/// What the certificates of a file say: each one's name, its fingerprint, and the first and last moment at
/// which it is valid.
#[pyfunction]
pub(crate) fn certificates(path: PathBuf) -> PyResult<Vec<Facts>> {
    let all = Certificate::load_all(&path).map_err(|e| error(e.into()))?;
    let facts = |certificate: &Certificate| {
        let period = certificate.period().map(|(from, until)| [from, until]);
        let period = period.into_iter().flatten().map(date).collect();
        (certificate.name(), certificate.fingerprint(), period)
    };
    Ok(all.iter().map(facts).collect())
}

/// Who the parties of a config file are, as JSON, whatever else stands in it.
#[pyfunction]
pub(crate) fn members(path: PathBuf) -> PyResult<String> {
    tacit_run::members(&path).map_err(error)
}

/// Makes `next-cert.pem` in a folder, for this key or for a new one in `next-key.pem`.
#[pyfunction]
#[pyo3(signature = (folder, name, days, key=None))]
pub(crate) fn next_certificate(
    folder: PathBuf,
    name: &str,
    days: u32,
    key: Option<&[u8]>,
) -> PyResult<()> {
    let validity = Duration::from_secs(u64::from(days) * 24 * 3600);
    generate_next(&folder, name, key, validity).map_err(|e| error(e.into()))
}

/// A secret from its source as a config has it, in JSON; `setting` is what errors call it.
#[pyfunction]
pub(crate) fn secret<'py>(
    py: Python<'py>,
    source: &str,
    setting: &str,
) -> PyResult<Bound<'py, PyBytes>> {
    let source = serde_json::from_str::<Secret>(source);
    let source = source.map_err(|e| TacitError::new_err(format!("{setting}: {e}")))?;
    let found = py.detach(|| source.read(setting)).map_err(error)?;
    Ok(PyBytes::new(py, &found))
}
