//! The log of runs, as lines on stderr: the time in UTC, the level, and what happens.

use std::io::stderr;
use std::sync::OnceLock;

use pyo3::prelude::*;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::prelude::*;
use tracing_subscriber::reload::{self, Handle};
use tracing_subscriber::{Registry, fmt};

use crate::TacitError;

/// Writes what is of this level or more important from now on: `off`, `warn`, `info`, `debug` or
/// `trace`. Before the first call nothing is.
#[pyfunction]
pub(crate) fn log(level: &str) -> PyResult<()> {
    static HANDLE: OnceLock<Handle<LevelFilter, Registry>> = OnceLock::new();
    let unknown = |_| TacitError::new_err(format!("{level:?} is no level of the log"));
    let level: LevelFilter = level.parse().map_err(unknown)?;
    let handle = HANDLE.get_or_init(|| {
        let (filter, handle) = reload::Layer::new(level);
        let lines = fmt::layer()
            .with_writer(stderr)
            .with_ansi(false)
            .with_target(false);
        // Whoever loaded the module may have a subscriber already, which then has the events.
        let _ = tracing_subscriber::registry()
            .with(filter)
            .with(lines)
            .try_init();
        handle
    });
    let changed = handle.modify(|filter| *filter = level);
    changed.map_err(|e| TacitError::new_err(e.to_string()))
}
