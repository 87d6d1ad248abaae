//! Progress out of a running call, Ctrl-C into it.

use pyo3::prelude::*;
use tacit_run::{Error, Progress};

use crate::error;

/// A Python callable: `progress(phase, layer, done, total)`.
pub(crate) type Callback = Py<PyAny>;

/// Runs `work` without the interpreter's lock. What it observes goes to `callback`; an exception
/// there, or a signal, cancels the work and is what the caller gets.
pub(crate) fn observed<T: Send>(
    py: Python<'_>,
    callback: Option<Callback>,
    work: impl FnOnce(&mut dyn FnMut(Progress) -> bool) -> Result<T, Error> + Send,
) -> PyResult<T> {
    let mut raised = None;
    let result = py.detach(|| {
        work(&mut |progress| {
            raised = Python::attach(|py| tell(py, callback.as_ref(), &progress)).err();
            raised.is_none()
        })
    });
    match (raised, result) {
        (Some(raised), _) => Err(raised),
        (None, result) => result.map_err(error),
    }
}

fn tell(py: Python<'_>, callback: Option<&Callback>, progress: &Progress) -> PyResult<()> {
    py.check_signals()?;
    let Some(callback) = callback else {
        return Ok(());
    };
    let (done, total) = progress.steps();
    callback.call1(py, (progress.phase, progress.layer, done, total))?;
    Ok(())
}

/// Hands what a party waits for to a Python callable. An exception there is shown and ends nothing.
pub(crate) fn told(notice: &Py<PyAny>) -> impl FnMut(&str) {
    |text: &str| {
        Python::attach(|py| {
            if let Err(raised) = notice.call1(py, (text,)) {
                raised.write_unraisable(py, None);
            }
        });
    }
}
