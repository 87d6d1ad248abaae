//! Progress out of a running call, Ctrl-C into it.

use std::cell::Cell;
use std::panic::resume_unwind;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use tacit_run::{Error, Gauge, Progress, interrupt};

use crate::error;

/// A Python callable: `progress(phase, layer, done, total)`.
pub(crate) type Callback = Py<PyAny>;

/// How often a call looks for signals.
const POLL: Duration = Duration::from_millis(50);
/// How long a run takes at least before the time that its parts take is counted.
const LONG: Duration = Duration::from_millis(500);
/// In so many parts a prediction is told.
const PARTS: usize = 1000;
/// Bytes of stack, as much as a program's first thread has.
const STACK: usize = 8 << 20;

/// Runs `work` on a thread of its own, without the interpreter's lock, while this one looks for
/// signals. What it observes goes to `callback`, and between its steps what a prediction sends; an exception there, or
/// Ctrl-C, ends the work, wherever it waits, and is what the caller gets.
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
    let listener = callback.map(|callback| Listener {
        callback,
        heard: Mutex::default(),
    });
    let listener = listener.as_ref();
    let began = Instant::now();
    let mut observe = |progress: Progress| {
        let told = listener.map_or(Ok(()), |listener| listener.hear(&progress));
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
                let long = listener.filter(|_| began.elapsed() >= LONG);
                let told = long.map_or(Ok(()), Listener::look);
                if let Err(exception) = told.and_then(|()| Python::attach(|py| py.check_signals()))
                {
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

/// Who hears how far a run is.
struct Listener {
    callback: Callback,
    heard: Mutex<Heard>,
}

/// The last step that was told.
#[derive(Default)]
struct Heard {
    phase: &'static str,
    layer: String,
    /// How many of [`PARTS`] are done.
    done: usize,
    gauge: Option<Arc<Gauge>>,
    /// Whether the gauge is counted, or will be.
    counted: bool,
}

impl Listener {
    /// Tells of a step: of a prediction in parts, of others as they count their steps.
    fn hear(&self, progress: &Progress) -> PyResult<()> {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        let (done, total) = progress.steps();
        let told = match progress.gauge {
            None => (done, total),
            Some(gauge) => {
                heard.take(gauge);
                let steps = done as f64 / total.max(1) as f64;
                (heard.advance(gauge.done().unwrap_or(steps)), PARTS)
            }
        };
        (heard.phase, heard.layer) = (progress.phase, progress.layer.to_string());
        self.tell(heard, told)
    }

    /// Tells how far a prediction is within a step, if it is further than before.
    fn look(&self) -> PyResult<()> {
        let mut heard = match self.heard.try_lock() {
            Ok(heard) => heard,
            Err(TryLockError::Poisoned(heard)) => heard.into_inner(),
            // A step is told just now.
            Err(TryLockError::WouldBlock) => return Ok(()),
        };
        let Some(gauge) = heard.gauge.clone() else {
            return Ok(());
        };
        if !std::mem::replace(&mut heard.counted, true) {
            // Without a count there are the steps alone.
            let _ = thread::Builder::new().spawn(move || gauge.count().ok());
            return Ok(());
        }
        let before = heard.done;
        match gauge.done().map(|done| heard.advance(done)) {
            Some(done) if done > before => self.tell(heard, (done, PARTS)),
            _ => Ok(()),
        }
    }

    /// Calls the callable while no other thread does.
    fn tell(&self, heard: MutexGuard<Heard>, (done, total): (usize, usize)) -> PyResult<()> {
        Python::attach(|py| {
            let before = TELLING.replace(true);
            let told = self
                .callback
                .call1(py, (heard.phase, &heard.layer[..], done, total));
            TELLING.set(before);
            told.map(|_| ())
        })
    }
}

impl Heard {
    /// Takes the gauge of the batch that is predicted now.
    fn take(&mut self, gauge: &Arc<Gauge>) {
        let known = self.gauge.as_ref();
        if !known.is_some_and(|known| Arc::ptr_eq(known, gauge)) {
            self.counted = false;
            // A run may be of several predictions.
            self.done *= usize::from(!gauge.is_first());
            self.gauge = Some(gauge.clone());
        }
    }

    /// The parts that are done, which are never fewer than before.
    fn advance(&mut self, done: f64) -> usize {
        self.done = self.done.max((done * PARTS as f64) as usize).min(PARTS);
        self.done
    }
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
