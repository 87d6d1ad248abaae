//! Training from Python.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tacit_run::speeds::Speeds;
use tacit_run::{
    Dataset, Error, ModelTable, Sizes, Supplies, Task, TrainConfig, TrainCost, TrainOptions,
};

use crate::observe::{Callback, observed, told};
use crate::{error, floats, json, settings};

/// An owner's data: its number, items and targets.
type Owned = (usize, Vec<u8>, Vec<u8>);

struct Sets(Vec<(usize, Vec<f32>, Vec<f32>)>);

impl Sets {
    fn new(owned: Vec<Owned>) -> Self {
        let set = |(owner, x, target): Owned| (owner, floats(&x), floats(&target));
        Sets(owned.into_iter().map(set).collect())
    }

    fn datasets(&self) -> Vec<Dataset<'_>> {
        let sets = self.0.iter().map(|(owner, x, target)| Dataset {
            owner: *owner,
            x,
            target,
        });
        sets.collect()
    }
}

fn model(text: &str) -> PyResult<ModelTable> {
    ModelTable::from_json(text).map_err(error)
}

fn options(text: &str) -> PyResult<TrainOptions> {
    TrainOptions::from_json(text).map_err(error)
}

/// What a training gives all parties of one machine: the ONNX file, the bytes of its float32 numbers
/// and the report.
type Made<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>, String);

/// Trains a network. Returns the ONNX file, its numbers and the report.
#[pyfunction]
#[pyo3(signature = (model, options, run, train, test, progress=None))]
pub(crate) fn train<'py>(
    py: Python<'py>,
    model: &str,
    options: &str,
    run: &str,
    train: Vec<Owned>,
    test: Vec<Owned>,
    progress: Option<Callback>,
) -> PyResult<Made<'py>> {
    let (table, options) = (self::model(model)?, self::options(options)?);
    let run = settings(run)?;
    let (train, test) = (Sets::new(train), Sets::new(test));
    let (file, numbers, report) = observed(py, progress, |observe| {
        let (network, start) = table.build()?;
        let task = Task {
            network: &network,
            train: &train.datasets(),
            test: &test.datasets(),
            start: start.as_deref(),
        };
        let trained = tacit_run::train_local(&options, &run, task, observe)?;
        let parameters = trained.parameters.unwrap_or_default();
        let numbers = parameters.iter().flatten();
        let numbers: Vec<u8> = numbers.flat_map(|v| v.to_le_bytes()).collect();
        let file = tacit_run::to_onnx(&network, &parameters);
        Ok((file, numbers, trained.report))
    })?;
    let [file, numbers] = [file, numbers].map(|bytes| PyBytes::new(py, &bytes));
    Ok((file, numbers, report.to_json()))
}

/// One party's part in the training of a config file: the ONNX file, at the network's owner, and the
/// report. `load` gives its training and test data; it is called on another thread while the party
/// connects.
#[pyfunction]
#[pyo3(signature = (config, load, notice, progress=None))]
pub(crate) fn train_party<'py>(
    py: Python<'py>,
    config: PathBuf,
    load: Py<PyAny>,
    notice: Py<PyAny>,
    progress: Option<Callback>,
) -> PyResult<(Option<Bound<'py, PyBytes>>, String)> {
    let (file, report) = observed(py, progress, |observe| {
        let mut notice = told(&notice);
        let loaded = TrainConfig::load(&config);
        let config = loaded.inspect_err(|e| tacit_run::refuse(&config, e, &mut notice))?;
        let model = config.model.clone();
        let supplies = move || {
            let loaded = Python::attach(|py| {
                load.call0(py)
                    .and_then(|loaded| loaded.extract::<(Vec<Owned>, Vec<Owned>)>(py))
                    .map_err(|raised| Error::Data(words(py, &raised)))
            });
            let (train, test) = loaded?;
            Ok(Supplies {
                start: model.build()?,
                train: Sets::new(train).0,
                test: Sets::new(test).0,
            })
        };
        let trained = tacit_run::train_party_with(&config, supplies, &mut notice, observe)?;
        let file = trained.parameters.map(|p| match config.model.build() {
            Ok((network, _)) => Ok(tacit_run::to_onnx(&network, &p)),
            Err(error) => Err(error),
        });
        Ok((file.transpose()?, trained.report))
    })?;
    Ok((file.map(|file| PyBytes::new(py, &file)), report.to_json()))
}

/// An exception in words; that of a file with its name.
fn words(py: Python<'_>, raised: &PyErr) -> String {
    let value = raised.value(py);
    let of = |name: &str| value.getattr(name).ok().filter(|v| !v.is_none());
    match (of("filename"), of("strerror")) {
        (Some(file), Some(why)) => format!("{file}: {why}"),
        _ => value.to_string(),
    }
}

/// Tells the others of a training why this party cannot run: its config, or what that asks for.
#[pyfunction]
pub(crate) fn train_refuse(py: Python<'_>, config: PathBuf, why: String, notice: Py<PyAny>) {
    let path = config.display().to_string();
    let loaded = TrainConfig::load(&config).err();
    let error = loaded.unwrap_or(Error::File { path, why });
    py.detach(|| tacit_run::refuse(&config, &error, &mut told(&notice)));
}

/// Trains in float32 in the clear. Returns the ONNX file, and how good the network is after every
/// epoch or `every` so many mini-batches.
#[pyfunction]
#[pyo3(signature = (model, options, train, test, every=None, progress=None))]
pub(crate) fn train_reference<'py>(
    py: Python<'py>,
    model: &str,
    options: &str,
    train: Vec<Owned>,
    test: Vec<Owned>,
    every: Option<usize>,
    progress: Option<Callback>,
) -> PyResult<(Bound<'py, PyBytes>, String)> {
    let (table, options) = (self::model(model)?, self::options(options)?);
    let (train, test) = (Sets::new(train), Sets::new(test));
    let (file, moments) = observed(py, progress, |observe| {
        let (network, start) = table.build()?;
        let task = Task {
            network: &network,
            train: &train.datasets(),
            test: &test.datasets(),
            start: start.as_deref(),
        };
        let (moments, parameters) = tacit_run::train_reference(&options, task, every, observe)?;
        Ok((tacit_run::to_onnx(&network, &parameters), moments))
    })?;
    Ok((PyBytes::new(py, &file), json(&moments)?))
}

/// The cost of a training on so many items; with the speeds of this machine, with seconds of computing.
#[pyfunction]
#[pyo3(signature = (model, options, run, items, test, speeds=None))]
pub(crate) fn train_cost(
    py: Python<'_>,
    model: &str,
    options: &str,
    run: &str,
    items: Vec<(usize, usize)>,
    test: Vec<(usize, usize)>,
    speeds: Option<&str>,
) -> PyResult<String> {
    let (table, options, run) = (self::model(model)?, self::options(options)?, settings(run)?);
    let speeds = speeds.map(Speeds::from_json).transpose().map_err(error)?;
    let cost = py.detach(|| {
        let (network, _) = table.build()?;
        let sizes = Sizes {
            train: &items,
            test: &test,
        };
        TrainCost::new(&network, &options, &run, sizes, speeds.as_ref())
    });
    json(&cost.map_err(error)?)
}

/// The network that a training starts from, as an ONNX file.
#[pyfunction]
pub(crate) fn train_start<'py>(
    py: Python<'py>,
    model: &str,
    options: &str,
) -> PyResult<Bound<'py, PyBytes>> {
    let (table, options) = (self::model(model)?, self::options(options)?);
    let (network, start) = table.build().map_err(error)?;
    let start = start.unwrap_or_else(|| options.initial(&network));
    Ok(PyBytes::new(py, &tacit_run::to_onnx(&network, &start)))
}

/// The outputs of a network, which tell how many classes there are.
#[pyfunction]
pub(crate) fn train_outputs(model: &str) -> PyResult<(Vec<usize>, usize)> {
    let (network, _) = self::model(model)?.build().map_err(error)?;
    Ok((network.input.clone(), network.outputs()))
}

/// A config file as JSON, checked.
#[pyfunction]
pub(crate) fn train_config(path: PathBuf) -> PyResult<String> {
    json(&TrainConfig::load(&path).map_err(error)?)
}
