//! `tacit._tacit`: the private extension module under the Python package `tacit`.
//!
//! Settings and reports cross as JSON, arrays as little-endian float32 bytes; the contract is
//! `python/tacit/_tacit.pyi`. Calls release the interpreter's lock while they work, and look for
//! Ctrl-C whenever they report progress.

mod cert;
mod log;
mod observe;
mod serve;
mod session;
mod train;

use std::path::{Path, PathBuf};

use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tacit_bench::{AnalysisOptions, BenchOptions};
use tacit_run::speeds::Speeds;
use tacit_run::{
    Array, CompileOptions, Given, Held, InitOptions, Outcome, PartyConfig, Protocol, Rehearsal,
    Requests, Settings, Tensor,
};

use crate::observe::{Callback, observed, told};

/// Shares are long vectors that live shortly: an allocator that keeps their pages saves the
/// kernel from clearing them anew each time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

create_exception!(
    tacit,
    TacitError,
    PyException,
    "What went wrong, where, and what to do next."
);

/// A run's error as Python's, with its parts as attributes.
pub(crate) fn error(error: tacit_run::Error) -> PyErr {
    let raised = TacitError::new_err(error.words());
    let fields = error.fields();
    Python::attach(|py| {
        let value = raised.value(py);
        // An exception takes any attribute: there is nothing to report of one that does not.
        let _ = value.setattr("code", fields.code);
        let _ = value.setattr("party", fields.party);
        let _ = value.setattr("step", fields.step);
        let _ = value.setattr("layer", fields.layer);
        if let Some(place) = fields.given {
            let _ = value.setattr("place", (place.input, place.item, place.position));
        }
    });
    raised
}

/// An array as Python gives it: little-endian float32 bytes, and its shape.
type Bytes = (Vec<u8>, Vec<usize>);

/// The numbers of little-endian float32 bytes.
fn floats(bytes: &[u8]) -> Vec<f32> {
    let words = bytes.chunks_exact(size_of::<f32>());
    words
        .map(|word| f32::from_le_bytes([word[0], word[1], word[2], word[3]]))
        .collect()
}

/// The little-endian bytes of numbers.
fn bytes<'py>(py: Python<'py>, values: &[f32]) -> Bound<'py, PyBytes> {
    let words: Vec<[u8; 4]> = values.iter().map(|v| v.to_le_bytes()).collect();
    PyBytes::new(py, bytemuck::cast_slice(&words))
}

fn settings(json: &str) -> PyResult<Settings> {
    Settings::from_json(json).map_err(error)
}

/// A model with its plan.
#[pyclass(frozen)]
struct Compiled {
    pub(crate) model: tacit_run::Compiled,
}

#[pymethods]
impl Compiled {
    #[new]
    #[pyo3(signature = (path, options, samples, protocol=None, named=None))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        options: &str,
        samples: Option<Bytes>,
        protocol: Option<&str>,
        named: Option<Vec<(String, Bytes)>>,
    ) -> PyResult<Self> {
        let protocol = protocol.map(|name| Protocol::of_name(name).map_err(error));
        let protocol = protocol.transpose()?;
        let options = CompileOptions::from_json(options).map_err(error)?;
        let read = |(values, shape): Bytes| (floats(&values), shape);
        let samples = samples.map(read);
        let named = named.map(|named| {
            let held = |array| {
                let (values, shape) = read(array);
                (Held::Numbers(values), shape)
            };
            let arrays = named.into_iter().map(|(name, array)| (name, held(array)));
            arrays.collect::<Vec<(String, Array<Held>)>>()
        });
        let rows = samples.as_ref();
        let rows = rows.map(|(values, shape)| Given::Rows(Tensor { values, shape }));
        let given = named.as_deref().map(Given::Named).or(rows);
        py.detach(|| match protocol {
            Some(protocol) => tacit_run::Compiled::planned(&path, &options, given, protocol),
            None => tacit_run::Compiled::of_any(&path, &options, given),
        })
        .map(|model| Compiled { model })
        .map_err(error)
    }

    /// The inputs of a file, as plans have them.
    #[staticmethod]
    fn inputs(py: Python<'_>, path: PathBuf, options: &str) -> PyResult<String> {
        let options = CompileOptions::from_json(options).map_err(error)?;
        let inputs = py.detach(|| tacit_run::Compiled::inputs(&path, &options));
        json(&inputs.map_err(error)?)
    }

    /// The inputs that a file declares and nothing in it reads.
    #[staticmethod]
    fn unread(py: Python<'_>, path: PathBuf) -> PyResult<Vec<String>> {
        py.detach(|| tacit_run::Compiled::unread(&path))
            .map_err(error)
    }

    #[pyo3(signature = (run=None))]
    fn plan(&self, run: Option<&str>) -> PyResult<String> {
        let protocol = run.map(|run| settings(run).map(|run| run.protocol));
        json(&self.model.summary(protocol.transpose()?).map_err(error)?)
    }

    #[pyo3(signature = (run, items, speeds=None, rehearsed=None))]
    fn predict_cost(
        &self,
        run: &str,
        items: usize,
        speeds: Option<&str>,
        rehearsed: Option<&str>,
    ) -> PyResult<String> {
        let speeds = speeds.map(Speeds::from_json).transpose().map_err(error)?;
        let rehearsed = rehearsed.map(Rehearsal::from_json).transpose();
        let (run, speeds) = (&settings(run)?, speeds.as_ref());
        let cost = match rehearsed.map_err(error)? {
            Some(rehearsed) => (self.model).predict_rehearsed(run, items, &rehearsed, speeds),
            None => self.model.predict_time(run, items, speeds),
        };
        json(&cost.map_err(error)?)
    }

    /// What predictions of so many items took on this machine, as JSON that `predict_cost` takes; null where one item
    /// takes too long.
    #[pyo3(signature = (run, items, progress=None))]
    fn rehearse(
        &self,
        py: Python<'_>,
        run: &str,
        items: usize,
        progress: Option<Callback>,
    ) -> PyResult<String> {
        let run = settings(run)?;
        let took = observed(py, progress, |observe| {
            self.model.rehearse(&run, items, observe)
        })?;
        json(&took)
    }

    fn reference<'py>(&self, py: Python<'py>, x: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        let x = floats(x);
        let y = py.detach(|| self.model.reference(&x)).map_err(error)?;
        Ok(bytes(py, &y))
    }

    fn accuracy(&self, output: &[u8], labels: Vec<i64>) -> PyResult<f64> {
        (self.model.accuracy(&floats(output), &labels)).map_err(error)
    }

    fn analyze_truncation(
        &self,
        py: Python<'_>,
        x: (Vec<u8>, Vec<usize>),
        labels: Vec<i64>,
        options: &str,
        progress: Option<Callback>,
    ) -> PyResult<String> {
        let options = AnalysisOptions::from_json(options).map_err(error)?;
        let (values, shape) = (floats(&x.0), x.1);
        let x = Tensor {
            values: &values,
            shape: &shape,
        };
        let analysis = observed(py, progress, |observe| {
            tacit_bench::analyze_truncation(&self.model, &options, x, &labels, observe)
        })?;
        json(&analysis)
    }
}

#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "private, and called by keyword")]
fn bench(
    py: Python<'_>,
    op: &str,
    n: usize,
    chunk: Option<usize>,
    ring: Option<u32>,
    field: Option<u32>,
    fraction_bits: Option<u32>,
    precision: Option<u32>,
    key_bits: Option<&str>,
    functions: &str,
    as_printed_insecure: bool,
    paper_leakage: bool,
    repeat: usize,
    run: &str,
    progress: Option<Callback>,
) -> PyResult<String> {
    let refused = |why: String| error(tacit_run::Error::setting("functions", why));
    let options = BenchOptions {
        op,
        n,
        chunk,
        ring,
        field,
        fraction_bits,
        precision,
        key_bits,
        functions: functions.parse().map_err(refused)?,
        as_printed_insecure,
        paper_leakage,
        repeat,
    };
    let run = settings(run)?;
    observed(py, progress, |observe| {
        tacit_bench::bench(&options, &run, observe)
    })
    .map(|report| report.to_json())
}

/// How fast this machine runs a protocol, as JSON that `predict_cost` takes.
#[pyfunction]
#[pyo3(signature = (run, width=None, progress=None))]
fn speeds(
    py: Python<'_>,
    run: &str,
    width: Option<u32>,
    progress: Option<Callback>,
) -> PyResult<String> {
    let run = settings(run)?;
    let found = observed(py, progress, |observe| {
        tacit_bench::speeds(&run, width, observe)
    })?;
    json(&found)
}

#[pyfunction]
fn tables_liu24(py: Python<'_>, parties: Vec<usize>, field: u32) -> PyResult<String> {
    let table = py.detach(|| tacit_bench::liu24(&parties, field));
    json(&table.map_err(error)?)
}

/// Runs a party: for one prediction or, with two callables, for the report of each and the words of each
/// request that cannot be used, for as many as standard input asks for at the data's owner.
#[pyfunction]
#[pyo3(signature = (config, notice, progress, reveal=None, answered=None))]
fn party(
    py: Python<'_>,
    config: PathBuf,
    notice: Py<PyAny>,
    progress: Option<Callback>,
    reveal: Option<&str>,
    answered: Option<(Py<PyAny>, Py<PyAny>)>,
) -> PyResult<Option<Part>> {
    let ended = observed(py, progress, |observe| {
        let loaded = PartyConfig::load(&config).and_then(|config| config.insisting(reveal));
        let loaded = loaded.inspect_err(|e| tacit_run::refuse(&config, e, &mut told(&notice)))?;
        let on_notice = &mut told(&notice);
        let Some((answered, refused)) = answered else {
            let outcome = tacit_run::run_party(&loaded, on_notice, observe)?;
            return Ok(Some((outcome, loaded.output)));
        };
        let mut requests = Requests::of_lines(|| std::io::stdin().lock());
        let (mut report, mut refused) = (told(&answered), told(&refused));
        let answered = &mut |ended: Result<&Outcome, &tacit_run::Error>| match ended {
            Ok(outcome) => report(&outcome.report.to_json()),
            Err(error) => refused(&error.words()),
        };
        tacit_run::run_party_for(&loaded, &mut requests, on_notice, observe, answered)?;
        Ok(None)
    })?;
    let told = |(outcome, path): (Outcome, Option<PathBuf>)| {
        let outputs = json(&outcome.outputs)?;
        let learned = outcome.output.map(|output| bytes(py, &output).unbind());
        Ok((outcome.report.to_json(), outputs, learned, path))
    };
    ended.map(told).transpose()
}

/// What a prediction ends with at one party: the report, the outputs of the model, their numbers where the party
/// learns them, and the file that its config asks for.
type Part = (String, String, Option<Py<PyBytes>>, Option<PathBuf>);

/// Ends every run of this process, as Ctrl-C does, or lets them begin again; may be called from any
/// thread.
#[pyfunction]
#[pyo3(signature = (raised=true))]
fn interrupt(raised: bool) {
    match raised {
        true => tacit_run::interrupt::raise(),
        false => tacit_run::interrupt::clear(),
    }
}

#[pyfunction]
fn check_settings(run: &str) -> PyResult<()> {
    settings(run)?.check().map_err(error)
}

#[pyfunction]
fn check_outputs(outputs: Vec<PathBuf>, inputs: Vec<PathBuf>) -> PyResult<()> {
    let [outputs, inputs] = [&outputs, &inputs]
        .map(|paths| -> Vec<&Path> { paths.iter().map(PathBuf::as_path).collect() });
    tacit_run::check_outputs(&outputs, &inputs).map_err(error)
}

#[pyfunction]
fn write_output(path: PathBuf, content: &[u8]) -> PyResult<()> {
    tacit_run::write_output(&path, content).map_err(error)
}

#[pyfunction]
fn protocols() -> PyResult<String> {
    let all = tacit_run::protocols().iter();
    let each = all.map(|protocol| (protocol.name, (protocol.options)()));
    json(&each.collect::<Vec<_>>())
}

#[pyfunction]
fn init(folder: PathBuf, options: &str) -> PyResult<Vec<String>> {
    let options = InitOptions::from_json(options).map_err(error)?;
    tacit_run::init(&folder, &options).map_err(error)
}

/// JSON of what always has one.
fn json(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|e| TacitError::new_err(e.to_string()))
}

#[pymodule]
mod _tacit {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::{
        Compiled, TacitError, bench, check_outputs, check_settings, init, interrupt, party,
        protocols, speeds, tables_liu24, write_output,
    };
    #[pymodule_export]
    use crate::cert::{certificates, members, next_certificate, secret};
    #[pymodule_export]
    use crate::log::log;
    #[pymodule_export]
    use crate::serve::{Service, Sharing, check_offer, serve_config};
    #[pymodule_export]
    use crate::session::Session;
    #[pymodule_export]
    use crate::train::{
        train, train_config, train_cost, train_outputs, train_party, train_reference, train_refuse,
        train_start,
    };

    #[pymodule_init]
    fn version(module: &Bound<'_, PyModule>) -> PyResult<()> {
        // Of errors that are found in Python.
        let class = module.getattr("TacitError")?;
        class.setattr("code", "tacit-error")?;
        for part in ["party", "step", "layer"] {
            class.setattr(part, module.py().None())?;
        }
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
