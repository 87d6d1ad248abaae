//! Served models, and their clients.

use std::os::fd::IntoRawFd;
use std::path::PathBuf;
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tacit_run::{Array, Given, Held, Id, ServeConfig, Tensor, check_given};

use crate::{Bytes, TacitError, bytes, error, floats};

/// Reads and checks a config file of a service; all of it as JSON.
#[pyfunction]
pub(crate) fn serve_config(path: PathBuf) -> PyResult<String> {
    let config = ServeConfig::load(&path).and_then(|config| config.to_json());
    config.map_err(error)
}

/// Refuses an offer, as it was kept in a file, that is not what the party of this config would serve.
#[pyfunction]
pub(crate) fn check_offer(path: PathBuf, model: &str, version: &str, offer: &[u8]) -> PyResult<()> {
    let config = ServeConfig::load(&path);
    let checked = config.and_then(|config| config.check_offer(model, Some(version), offer));
    checked.map_err(error)
}

/// The number of a request.
fn id(request: &[u8]) -> PyResult<Id> {
    let id = request.try_into();
    id.map_err(|_| TacitError::new_err("the number of a request has 16 bytes"))
}

/// A refusal as JSON.
fn refusal(refused: &tacit_run::Refused) -> String {
    let again = match refused.code {
        "busy" => Some(0.1),
        "not-ready" | "draining" => Some(1.0),
        _ => None,
    };
    serde_json::json!({"code": refused.code, "message": refused.message, "retry_after": again})
        .to_string()
}

/// One served model at one party.
#[pyclass(frozen)]
pub(crate) struct Service {
    service: tacit_run::Service,
}

#[pymethods]
impl Service {
    #[new]
    #[pyo3(signature = (config, model, version=None))]
    fn new(py: Python<'_>, config: PathBuf, model: &str, version: Option<&str>) -> PyResult<Self> {
        let service = py.detach(|| tacit_run::Service::new(&config, model, version));
        let service = service.map_err(error)?;
        Ok(Service { service })
    }

    /// One life of the service.
    fn run(&self, py: Python<'_>, notice: Py<PyAny>) -> PyResult<()> {
        let mut tell = |words: &str| {
            Python::attach(|py| {
                // What listens has failed: the service goes on.
                let _ = notice.call1(py, (words,));
            });
        };
        py.detach(|| self.service.run(&mut tell)).map_err(error)
    }

    fn standing(&self) -> String {
        self.service.state()
    }

    fn described<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        let described = self.service.described();
        described.map(|json| PyBytes::new(py, &json))
    }

    fn offered<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let offered = self.service.offered().map_err(error)?;
        Ok(offered.map(|json| PyBytes::new(py, &json)))
    }

    fn submit(
        &self,
        py: Python<'_>,
        client: &str,
        session: &str,
        request: &[u8],
        items: usize,
        share: &[u8],
    ) -> PyResult<Option<String>> {
        let (number, body) = ((session, id(request)?), share.to_vec());
        let taken = py.detach(|| self.service.submit(client, number, items, body));
        Ok(taken.err().map(|refused| refusal(&refused)))
    }

    fn decline(&self, request: &[u8], code: &str) -> PyResult<()> {
        self.service.decline(id(request)?, code);
        Ok(())
    }

    fn answer<'py>(
        &self,
        py: Python<'py>,
        request: &[u8],
        seconds: f64,
    ) -> PyResult<Option<(&'static str, Bound<'py, PyBytes>)>> {
        let id = id(request)?;
        let patience = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        let answer = py.detach(|| self.service.answer(&id, patience));
        Ok(answer.map(|answer| match answer {
            Ok(share) => ("answered", PyBytes::new(py, &share)),
            Err(refused) => ("refused", PyBytes::new(py, refusal(&refused).as_bytes())),
        }))
    }

    fn bell(&self) -> PyResult<i32> {
        Ok(self.service.bell()?.into_raw_fd())
    }

    fn ended<'py>(&self, py: Python<'py>) -> Vec<Bound<'py, PyBytes>> {
        let ended = self.service.ended();
        ended.iter().map(|id| PyBytes::new(py, id)).collect()
    }

    fn times(&self, request: &[u8]) -> PyResult<Option<(f64, f64)>> {
        let times = self.service.times(&id(request)?);
        Ok(times.map(|times| (times.waited.as_secs_f64(), times.computed.as_secs_f64())))
    }

    fn forget(&self, request: &[u8]) -> PyResult<bool> {
        Ok(self.service.forget(&id(request)?))
    }

    fn leave(&self) {
        self.service.leave();
    }
}

/// A client's side of one model.
#[pyclass(frozen)]
pub(crate) struct Sharing {
    sharing: tacit_run::Sharing,
}

#[pymethods]
impl Sharing {
    #[new]
    fn new(described: &[u8]) -> PyResult<Self> {
        let sharing = tacit_run::Sharing::new(described).map_err(error)?;
        Ok(Sharing { sharing })
    }

    #[pyo3(signature = (array, named=None))]
    fn split<'py>(
        &self,
        py: Python<'py>,
        array: Option<Bytes>,
        named: Option<Vec<(String, Bytes)>>,
    ) -> PyResult<(usize, Vec<Bound<'py, PyBytes>>)> {
        let read = |(values, shape): Bytes| (floats(&values), shape);
        let array = array.map(read);
        let named: Option<Vec<(String, Array)>> = named.map(|named| {
            let each = named.into_iter();
            each.map(|(name, array)| (name, read(array))).collect()
        });
        let all = named.iter().flatten().map(|(_, array)| array);
        for (values, shape) in array.iter().chain(all) {
            check_given(Tensor { values, shape }).map_err(error)?;
        }
        let held = |(name, (values, shape))| (name, (Held::Numbers(values), shape));
        let named = named.map(|named| named.into_iter().map(held).collect::<Vec<_>>());
        let rows = array.as_ref();
        let rows = rows.map(|(values, shape)| Given::Rows(Tensor { values, shape }));
        let given = named.as_deref().map(Given::Named).or(rows);
        let given = given.ok_or_else(|| TacitError::new_err("there is no input"))?;
        let (items, bodies) = py.detach(|| self.sharing.split(given)).map_err(error)?;
        let bodies = bodies.iter().map(|body| PyBytes::new(py, body));
        Ok((items, bodies.collect()))
    }

    fn join<'py>(
        &self,
        py: Python<'py>,
        items: usize,
        shares: Vec<Vec<u8>>,
    ) -> PyResult<(Bound<'py, PyBytes>, Vec<usize>)> {
        let answers: Vec<&[u8]> = shares.iter().map(Vec::as_slice).collect();
        let joined = py.detach(|| self.sharing.join(items, &answers));
        let (values, shape) = joined.map_err(error)?;
        Ok((bytes(py, &values), shape))
    }
}
