//! `tacit._tacit`: the private extension module under the Python package `tacit`.

use pyo3::prelude::*;

/// The extension module; its contract is `python/tacit/_tacit.pyi`.
#[pymodule]
mod _tacit {
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
