//! Progress out of a running call, Ctrl-C into it.

use std::cell::Cell;
use std::panic::resume_unwind;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use tacit_run::{Error, Progress, interrupt};

use crate::error;

/// A Python callable: `progress(phase, layer, done, total)`.
pub(crate) type Callback = Py<PyAny>;

/// How often a call looks for signals.
const POLL: Duration = Duration::from_millis(50);
/// As much stack as a program's first thread has.
const STACK: usize = 8 << 20;

/// Runs `work` on a thread of its own, without the interpreter's lock, while this one looks for
/// signals. What it observes goes to `callback`; an exception there, or Ctrl-C, ends the work, wherever
/// it waits, and is what the caller gets.
pub(crate) fn observed<T: Send>(
    py: Python<'_>,
    callback: Option<Callback>,
    work: impl FnOnce(&mut dyn FnMut(Progress) -> bool) -> Result<T, Error> + Send,
) -> PyResult<T> {
    let raised = Mutex::new(None);
    let keep = |exception: PyErr| {
        let mut raised = raised.lock().unwrap_or_else(PoisonError::into_inner);
        raised.get_or_insert(exception);
    };
    let mut observe = |progress: Progress| {
        let told = Python::attach(|py| tell(py, callback.as_ref(), &progress));
        let goes_on = told.is_ok();
        told.err().into_iter().for_each(keep);
        goes_on && !interrupt::raised()
    };
    let result = py.detach(|| {
        thread::scope(|scope| {
            let (done, ended) = channel::<()>();
            let run = || {
                let result = work(&mut observe);
                drop(done);
                result
            };
            let named = thread::Builder::new().name("tacit-run".into());
            let worker = named.stack_size(STACK).spawn_scoped(scope, run)?;
            while ended.recv_timeout(POLL) == Err(RecvTimeoutError::Timeout) {
                if let Err(exception) = Python::attach(|py| py.check_signals()) {
                    keep(exception);
                    interrupt::raise();
                    break;
                }
            }
            let result = worker.join().unwrap_or_else(|panic| resume_unwind(panic));
            Ok::<_, std::io::Error>(result)
        })
    });
    let raised = raised.into_inner().unwrap_or_else(PoisonError::into_inner);
    let interrupted = interrupt::raised();
    interrupt::clear();
    if interrupted && raised.is_none() {
        // The signal that another thread has seen first.
        py.check_signals()?;
    }
    match (raised, result?) {
        (Some(raised), _) => Err(raised),
        (None, Err(_)) if interrupted => Err(PyKeyboardInterrupt::new_err(())),
        (None, result) => result.map_err(error),
    }
}

thread_local! {
    /// Whether this thread is in a callback.
    static TELLING: Cell<bool> = const { Cell::new(false) };
}

/// Whether the caller is a callback of a running call.
pub(crate) fn is_callback() -> bool {
    TELLING.get()
}

fn tell(py: Python<'_>, callback: Option<&Callback>, progress: &Progress) -> PyResult<()> {
    let Some(callback) = callback else {
        return Ok(());
    };
    let (done, total) = progress.steps();
    let before = TELLING.replace(true);
    let told = callback.call1(py, (progress.phase, progress.layer, done, total));
    TELLING.set(before);
    told.map(|_| ())
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
