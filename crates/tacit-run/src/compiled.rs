//! A model, imported and planned.

mod checks;
mod cost;
mod summary;

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use serde::Deserialize;
use tacit_nn::graph::{Input, Output};
use tacit_nn::onnx::{self, Fixed, ImportOptions, MissingValues};
use tacit_nn::plan::{
    Functions, KeyBitsChoice, MODULI, Modulus, Order, PlanError, PlanOptions, Precision, Reveal,
    plan,
};
use tacit_nn::{Graph, Plan, reference};

use crate::given::Given;
use crate::job::Planned;
use crate::key_bits;
use crate::report::{memory_now, peak_memory};
use crate::settings::asked_width;
use crate::{Error, Protocol, Tensor, options, protocols, systems};
pub(crate) use checks::finite;
use checks::{check_inputs, check_kinds};
pub use summary::PlanSummary;

/// How a model is planned. Deserialises from a map with these keys, all of them optional.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CompileOptions {
    /// Bits of the ring, 32 or 64. If neither this nor `field` is given, the model is planned for
    /// what a run's protocol computes in by default.
    pub ring: Option<u32>,
    /// Bits of the prime field, 31 or 61.
    pub field: Option<u32>,
    /// Fraction bits of every value; the planner's choice if not given.
    pub fraction_bits: Option<u32>,
    /// Gives every tensor a width and a scale of its own, values that share a scale up to so many
    /// bits. A protocol that gains by it does so unasked where neither a ring nor fraction bits are
    /// given, with 16 bits or as many more as the values' ranges need.
    pub precision: Option<u32>,
    /// Whether products are truncated after (`multiply-then-truncate`) or their factors before
    /// (`truncate-then-multiply`).
    pub order: Order,
    /// How near exponentials, sigmoids, roots and the like are: `accurate`, to a few units of the last
    /// place, or `fast`, to about `2^-10`, by fewer products.
    pub functions: Functions,
    /// Whether every party may know the weights.
    pub public_model: bool,
    /// The largest magnitude of an input.
    pub input_range: Option<f64>,
    /// The bits that signs are taken from, where the protocol gains by fewer: `full`, as if not
    /// given; so many before and after the point, such as `5.2`; or `auto`, found on the samples.
    pub key_bits: Option<String>,
    /// The share of the samples whose class `auto` may change.
    pub key_bits_loss: Option<f64>,
    /// What of the outputs is opened to the data owner: `logits`, `probabilities`, `top-K` such as
    /// `top-3`, or `class`; what the file's last operation says if not given.
    pub reveal: Option<Reveal>,
    /// Values of symbolic dimensions.
    pub dims: HashMap<String, usize>,
    /// The outputs to compute, by name; all that the file has if none are given.
    pub outputs: Vec<String>,
    /// Inputs that every party knows, by name: one number everywhere, or those of every item.
    pub fix: HashMap<String, Fixed>,
}

impl CompileOptions {
    /// Reads JSON; see [`CompileOptions`].
    pub fn from_json(text: &str) -> Result<Self, Error> {
        options::read("compile options", text)
    }

    /// The options that the import of a file takes.
    fn import(&self, missing: MissingValues) -> ImportOptions {
        ImportOptions {
            dims: self.dims.clone(),
            outputs: self.outputs.clone(),
            fix: self.fix.clone(),
            missing,
        }
    }

    /// The width that is insisted on, if any.
    pub(crate) fn width(&self) -> Result<Option<u32>, Error> {
        asked_width(self.ring, self.field)
    }

    /// Bits of values with widths of their own in a run of the protocol, if they have them there.
    pub(crate) fn precision_for(&self, protocol: &Protocol) -> Option<Precision> {
        let asked = self.ring.is_some() || self.field.is_some() || self.fraction_bits.is_some();
        let plain = !asked && self.order == Order::default();
        let own = (protocol.mixed && plain).then_some(Precision::Auto);
        self.precision.map(Precision::Bits).or(own)
    }

    /// How the key bits are chosen.
    pub(crate) fn key_bits(&self) -> Result<KeyBitsChoice, Error> {
        key_bits::choice(self.key_bits.as_deref(), self.key_bits_loss)
    }
}

/// A model with its plan. It holds the weights, so it belongs to the model's owner.
#[derive(Clone, Debug)]
pub struct Compiled {
    pub(crate) graph: Graph,
    pub(crate) plan: Plan,
    /// The plans for other widths, each made by the first run that needs it.
    others: [OnceLock<Plan>; MODULI.len()],
    /// The plan in which every tensor has a width of its own.
    mixed: OnceLock<Plan>,
    pub(crate) source: Source,
    /// Bytes by which compiling it enlarged this process; of what is freed the allocator keeps most.
    compiling: u64,
    /// A mark that all copies of this model share, and no other model.
    pub(crate) identity: Arc<()>,
}

/// What a model was compiled from, for another process to do the same.
#[derive(Clone)]
pub(crate) struct Source {
    pub path: PathBuf,
    pub options: CompileOptions,
    pub samples: Option<(Vec<f32>, Vec<usize>)>,
    /// The only protocol that it may run on, if that was said.
    pub protocol: Option<&'static Protocol>,
    /// The hash of the file.
    pub hash: blake3::Hash,
}

impl Source {
    /// Refuses a file that is no longer what was compiled.
    pub fn check(&self) -> Result<(), Error> {
        match hash_of(&self.path)? == self.hash {
            true => Ok(()),
            false => {
                let why = "the file has changed since it was compiled; compile it again";
                Err(Error::file(&self.path, why))
            }
        }
    }
}

fn hash_of(path: &Path) -> Result<blake3::Hash, Error> {
    let gone = |e| Error::file(path, format!("the model is no longer there ({e})"));
    let mut hasher = blake3::Hasher::new();
    File::open(path)
        .and_then(|file| hasher.update_reader(file).map(|hasher| hasher.finalize()))
        .map_err(gone)
}

/// Shows the path and the options, not the samples.
impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Source")
            .field("path", &self.path)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl Compiled {
    /// Imports an ONNX file and plans it, for the first of [`protocols`] unless the options insist
    /// on a ring or a field. `samples`, typical inputs that need not be secret, show how large
    /// values become.
    pub fn from_file(
        path: &Path,
        options: &CompileOptions,
        samples: Option<Tensor>,
    ) -> Result<Self, Error> {
        Self::of_any(path, options, samples.map(Given::from))
    }

    /// A model of a file that may run on any protocol; samples may be given by the inputs' names.
    pub fn of_any(
        path: &Path,
        options: &CompileOptions,
        samples: Option<Given>,
    ) -> Result<Self, Error> {
        Self::load(path, options, samples, None)
    }

    /// Imports an ONNX file and plans it as [`Compiled::from_file`] does, for one protocol: the
    /// warnings are those of a run on it, and a run on another protocol is refused.
    pub fn for_protocol(
        path: &Path,
        options: &CompileOptions,
        samples: Option<Tensor>,
        protocol: &'static Protocol,
    ) -> Result<Self, Error> {
        Self::planned(path, options, samples.map(Given::from), protocol)
    }

    /// A model of a file, planned for one protocol; samples may be given by the inputs' names.
    pub fn planned(
        path: &Path,
        options: &CompileOptions,
        samples: Option<Given>,
        protocol: &'static Protocol,
    ) -> Result<Self, Error> {
        let compiled = Self::load(path, options, samples, Some(protocol))?;
        compiled.plan_for(protocol)?;
        Ok(compiled)
    }

    /// The inputs that a model of a file has, with the texts that it knows of those that take texts.
    pub fn inputs(path: &Path, options: &CompileOptions) -> Result<Vec<Input>, Error> {
        Ok(onnx::load(path, &options.import(MissingValues::Told))?.inputs)
    }

    /// The inputs that a model's file declares and nothing in it reads.
    pub fn unread(path: &Path) -> Result<Vec<String>, Error> {
        Ok(onnx::unread(path)?)
    }

    fn load(
        path: &Path,
        options: &CompileOptions,
        samples: Option<Given>,
        protocol: Option<&'static Protocol>,
    ) -> Result<Self, Error> {
        let (before, peak) = (memory_now(), peak_memory());
        let asked = options.width()?;
        let (width, precision) = match protocol {
            Some(protocol) => (protocol.width(asked)?, options.precision_for(protocol)),
            None => (
                asked.unwrap_or(protocols()[0].default_width()),
                options.precision.map(Precision::Bits),
            ),
        };
        let missing = match samples.is_some_and(|samples| samples.has_missing()) {
            true => MissingValues::Given,
            false => MissingValues::Told,
        };
        let import = options.import(missing);
        let (graph, hash) = rayon::join(|| onnx::load(path, &import), || hash_of(path));
        let mut graph = graph?.optimise();
        let inputs: Vec<&Input> = graph.inputs.iter().collect();
        let samples = samples.map(|samples| samples.rows(&inputs)).transpose()?;
        if let Some((values, shape)) = &samples {
            check_inputs("samples", &graph, &Tensor { values, shape })?;
        }
        let source = Source {
            path: path.to_path_buf(),
            options: options.clone(),
            samples,
            protocol,
            hash: hash?,
        };
        let plan = match source.plan_of_signs(&mut graph, width, precision) {
            // What does not fit with marks of missing numbers may without.
            Err(Error::Plan(why)) if missing == MissingValues::Told && graph.has_marks() => {
                graph = onnx::load(path, &options.import(MissingValues::Never))?.optimise();
                let mut plan = source.plan_of_signs(&mut graph, width, precision)?;
                let told = format!(
                    "NaN is refused, though the file replaces it: with marks of what is missing, {why}"
                );
                plan.warnings.push(told);
                Ok(plan)
            }
            planned => planned,
        }?;
        Ok(Compiled {
            plan,
            others: Default::default(),
            mixed: OnceLock::new(),
            compiling: grown(before, peak).unwrap_or(0),
            identity: Arc::default(),
            graph,
            source,
        })
    }

    /// The plan that was made first. Its ranges and warnings are for the model owner's eyes.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The plan that a run of the protocol follows: over the ring or field that the options insist
    /// on, or else the protocol's own, for which the model is planned again where need be.
    pub fn plan_for(&self, protocol: &Protocol) -> Result<&Plan, Error> {
        let options = &self.source.options;
        if let Some(only) = self.source.protocol
            && only.name != protocol.name
        {
            let why = format!(
                "the model was compiled for {}; compile it for this one, or for none",
                only.name
            );
            return Err(Error::setting(format!("protocol '{}'", protocol.name), why));
        }
        let width = protocol.width(options.width()?)?;
        protocol.check_key_bits(options.key_bits()?)?;
        // Compiled for this protocol alone, it was planned so at once.
        if self.source.protocol.is_some() {
            return Ok(&self.plan);
        }
        let precision = options.precision_for(protocol);
        let has_widths = self.plan.input_widths.is_some();
        if width == self.plan.modulus.bits() && precision.is_some() == has_widths {
            return Ok(&self.plan);
        }
        let mut slots = MODULI.iter().zip(&self.others);
        let of_width = slots.find(|(known, _)| known.bits() == width);
        let slot = match (precision, of_width) {
            (Some(_), _) => &self.mixed,
            (None, Some((_, slot))) => slot,
            (None, None) => {
                let why = "models cannot be planned for it";
                return Err(Error::setting(Modulus::of_bits(width).to_string(), why));
            }
        };
        if let Some(plan) = slot.get() {
            return Ok(plan);
        }
        let plan = self.source.plan(&self.graph, width, precision)?;
        Ok(slot.get_or_init(|| plan))
    }

    /// The plan of a run of the protocol in short; without one, of the only protocol that it may run
    /// on, or else the plan that was made first, with key bits if they were asked for.
    pub fn summary(&self, protocol: Option<&Protocol>) -> Result<PlanSummary, Error> {
        Ok(match protocol.or(self.source.protocol) {
            Some(protocol) => {
                PlanSummary::new(self.plan_for(protocol)?, protocol.signs.key_bits.is_some())
            }
            None => {
                let asked = self.source.options.key_bits()? != KeyBitsChoice::Full;
                PlanSummary::new(&self.plan, asked)
            }
        })
    }

    /// The options that the model was compiled with.
    pub fn options(&self) -> &CompileOptions {
        &self.source.options
    }

    /// The operations of the model, and its weights.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Refuses `x` unless it is a batch of finite inputs; `what` names it in the error.
    pub fn check_inputs(&self, what: &str, x: &Tensor) -> Result<(), Error> {
        check_inputs(what, &self.graph, x)
    }

    /// The part of the model's owner in a run of the protocol: the model with its plan.
    pub(crate) fn planned_for(&self, protocol: &Protocol) -> Result<Planned<'_>, Error> {
        Ok(Planned {
            graph: &self.graph,
            plan: self.plan_for(protocol)?,
        })
    }

    /// The shape of one item of what is given: flat where there are several inputs.
    pub fn input_shape(&self) -> Vec<usize> {
        self.plan.given_shape()
    }

    /// The outputs.
    pub fn outputs(&self) -> &[Output] {
        &self.plan.outputs
    }

    /// What a run reveals, from the outputs of the model in clear-text float32 for a batch of inputs.
    pub fn reference(&self, x: &[f32]) -> Result<Vec<f32>, Error> {
        check_kinds("input", &self.graph, x)?;
        let outputs = reference::outputs(&self.graph, &self.graph.rows(x))?;
        Ok(self.plan.finish_floats(outputs))
    }
}

/// The bytes by which this process grew at most since it had `before`, where `peak` was the most until then; `None`
/// where the system does not tell.
fn grown(before: Option<u64>, peak: Option<u64>) -> Option<u64> {
    let now = match peak_memory()? {
        most if most > peak? => most,
        _ => memory_now()?,
    };
    Some(now.saturating_sub(before?))
}

impl Source {
    /// Plans the model, whose divisors may turn out to have both signs: only its samples tell.
    fn plan_of_signs(
        &self,
        graph: &mut Graph,
        width: u32,
        precision: Option<Precision>,
    ) -> Result<Plan, Error> {
        loop {
            match self.plan(graph, width, precision) {
                Err(Error::Plan(PlanError::Function { layer, why })) => {
                    let Some(signed) = graph.with_either_sign(&layer) else {
                        return Err(PlanError::Function { layer, why }.into());
                    };
                    *graph = signed;
                }
                planned => return planned,
            }
        }
    }

    /// Plans the model for so many bits, and with widths of their own for so precise values.
    fn plan(&self, graph: &Graph, width: u32, precision: Option<Precision>) -> Result<Plan, Error> {
        let options = &self.options;
        let samples = self.samples.as_ref();
        let samples = samples.map(|(values, _)| graph.sample_rows(values));
        Ok(plan(
            graph,
            &PlanOptions {
                modulus: Modulus::of_bits(width),
                fraction_bits: options.fraction_bits,
                precision,
                public_model: options.public_model,
                order: options.order,
                functions: options.functions,
                samples: samples.as_deref(),
                input_range: options.input_range,
                key_bits: options.key_bits()?,
                signs: systems::SIGNS,
                reveal: options.reveal,
                ..PlanOptions::default()
            },
        )?)
    }
}
