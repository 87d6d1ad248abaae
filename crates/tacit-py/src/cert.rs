//! Certificates, as people compare them.

use std::path::PathBuf;

use pyo3::prelude::*;
use tacit_run::{Certificate, date};

use crate::error;

/// What a certificate says: its name, its fingerprint, and the first and last moment at which it is
/// valid.
#[pyfunction]
pub(crate) fn certificate(path: PathBuf) -> PyResult<(Option<String>, String, Vec<String>)> {
    let certificate = Certificate::load(&path).map_err(|e| error(e.into()))?;
    let period = certificate.period().map(|(from, until)| [from, until]);
    let period = period.into_iter().flatten().map(date).collect();
    Ok((certificate.name(), certificate.fingerprint(), period))
}
