//! All parties of this machine, between predictions.

use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tacit_run::{Tensor, interrupt};

use crate::observe::{Callback, is_callback, observed};
use crate::{Compiled, TacitError, bytes, error, floats, settings};

/// How often a thread that waits for another's prediction looks for Ctrl-C.
const PAUSE: Duration = Duration::from_millis(5);

/// A session, one prediction at a time.
#[pyclass(frozen)]
pub(crate) struct Session {
    session: Mutex<tacit_run::Session>,
}

#[pymethods]
impl Session {
    #[new]
    #[pyo3(signature = (run, command=None))]
    fn new(run: &str, command: Option<Vec<String>>) -> PyResult<Self> {
        let session = tacit_run::Session::new(settings(run)?, command);
        let session = Mutex::new(session);
        Ok(Session { session })
    }

    #[expect(clippy::too_many_arguments, reason = "private, and called by keyword")]
    fn predict<'py>(
        &self,
        py: Python<'py>,
        model: &Compiled,
        x: (Vec<u8>, Vec<usize>),
        batch: Option<NonZeroUsize>,
        labels: Option<Vec<i64>>,
        check: bool,
        progress: Option<Callback>,
    ) -> PyResult<(Bound<'py, PyBytes>, String)> {
        let (values, shape) = (floats(&x.0), x.1);
        let x = Tensor {
            values: &values,
            shape: &shape,
        };
        if is_callback() && self.session.try_lock().is_err() {
            let why = "the parties are at another prediction, whose progress callback this is; use parties of \
                       its own, or predict when it has ended";
            return Err(TacitError::new_err(why));
        }
        let model = &model.model;
        if let Some(labels) = &labels {
            let items = shape.first().copied().unwrap_or(0);
            model.check_labels(labels, items).map_err(error)?;
        }
        let outcome = observed(py, progress, |observe| {
            let mut outcome = self.lock()?.predict(model, x, batch, observe)?;
            model.score(&mut outcome, &values, labels.as_deref(), check)?;
            Ok(outcome)
        })?;
        let output = outcome.output.unwrap_or_default();
        Ok((bytes(py, &output), outcome.report.to_json()))
    }

    /// Lets the parties go.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        observed(py, None, |observe| self.lock()?.close(observe))
    }
}

impl Session {
    /// The session once no other thread predicts in it.
    fn lock(&self) -> Result<MutexGuard<'_, tacit_run::Session>, tacit_run::Error> {
        loop {
            match self.session.try_lock() {
                Ok(session) => return Ok(session),
                Err(TryLockError::Poisoned(poisoned)) => return Ok(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) if interrupt::raised() => {
                    return Err(tacit_run::Error::Cancelled);
                }
                Err(TryLockError::WouldBlock) => thread::sleep(PAUSE),
            }
        }
    }
}
