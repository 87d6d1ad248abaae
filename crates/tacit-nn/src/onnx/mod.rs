//! Import of ONNX models: the file is read as hostile, resolved and reduced to a [`Graph`]; and files
//! of trained networks.

mod absorb;
mod activation;
mod along;
mod apart;
mod attention;
mod batch;
mod bucketized;
mod builder;
mod call;
mod centred;
mod choice;
mod chosen;
mod columns;
mod compare;
mod compose;
mod constant;
mod conv;
mod counts;
mod einsum;
mod element;
mod empty;
mod ended;
mod factors;
mod flattened;
mod fold;
mod fourier;
mod function;
mod grid;
mod guarded;
mod halves;
mod importer;
mod inline;
mod input;
mod kind;
mod left_out;
mod linear;
mod loss;
mod lower;
mod lowest;
mod made;
mod makers;
mod many;
mod mask;
mod missing;
mod moved;
mod moves;
mod nary;
mod negative_index;
mod nested;
mod norm;
mod output;
mod padded;
mod pairs;
mod picked;
mod places;
mod pool;
mod power;
mod product;
pub mod proto;
mod quantise;
mod quotient;
mod rearrange;
mod recurrent;
mod reduce;
mod remarks;
mod resize;
mod rotary;
mod rounding;
mod row_by_row;
mod sampled;
mod scatter;
mod scatter_found;
mod selection;
mod sequence;
mod shape;
mod sorted;
mod steps;
mod structure;
mod table;
mod tables;
mod tail;
mod texts;
mod threshold;
mod token;
mod top;
mod traced;
mod trigonometric;
mod turned;
mod typed;
mod weighed;
mod which;
mod whole;
mod wrapped;
mod write;
mod written;

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::Read;
use std::path::Path;

use prost::bytes::{Buf, Bytes};

use crate::graph::Graph;
use constant::{Large, Reader};
use importer::Importer;
use nested::captured;
use structure::decoded;
use table::Opsets;
pub use table::operations_page;
use typed::Types;
pub use write::{Attribute, Writer};

/// The longest model file that is read; protobuf itself allows no more.
const MAX_FILE: u64 = (1 << 31) - 1;

/// Choices that the file leaves open.
#[derive(Clone, Debug, Default)]
pub struct ImportOptions {
    /// Values for symbolic dimensions, by name.
    pub dims: HashMap<String, usize>,
    /// The outputs to compute, by name; all that the file has if there are none here.
    pub outputs: Vec<String>,
    /// Inputs that every party knows, by name.
    pub fix: HashMap<String, Fixed>,
    /// Whether numbers of inputs may be missing.
    pub missing: MissingValues,
}

/// Whether numbers of inputs may be missing, where a file says what becomes of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MissingValues {
    /// Numbers may be missing; of trees where some branch says which way they take.
    #[default]
    Told,
    /// Numbers are missing, so that trees take them, also where nothing in the file says so.
    Given,
    /// No number may be missing.
    Never,
}

/// What an input is that every party knows.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(untagged, expecting = "a number, or a list of numbers")]
pub enum Fixed {
    /// One number everywhere.
    Everywhere(f64),
    /// The numbers of every item, in their order.
    Each(Vec<f64>),
}

impl Fixed {
    /// The numbers, of which one stands for all.
    fn numbers(&self) -> &[f64] {
        match self {
            Fixed::Everywhere(number) => std::slice::from_ref(number),
            Fixed::Each(numbers) => numbers,
        }
    }
}

/// A node that cannot be run privately.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsupportedNode {
    /// The node's name.
    pub node: String,
    /// The node's operation, as the file names it.
    pub op: String,
    /// Why, and what could take its place.
    pub why: String,
}

/// Why a model was not imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The file cannot be read.
    #[error("the model '{path}' cannot be read: {source}")]
    Io {
        /// The file.
        path: String,
        /// The system's reason.
        source: std::io::Error,
    },
    /// Not an ONNX file, or more than is read.
    #[error("{}not a usable ONNX model: {why}", path.as_ref().map(|path| format!("{path}: ")).unwrap_or_default())]
    File {
        /// The file, of a model that was read from one.
        path: Option<String>,
        /// What is wrong.
        why: String,
    },
    /// A constant tensor is broken.
    #[error("the tensor '{tensor}' cannot be read: {why}")]
    Tensor {
        /// The tensor's name.
        tensor: String,
        /// What is wrong.
        why: String,
    },
    /// A node breaks ONNX's rules.
    #[error("the node '{node}' ({op}) is not valid: {why}")]
    Node {
        /// The node's name.
        node: String,
        /// The node's operation, as the file names it.
        op: String,
        /// What is wrong.
        why: String,
    },
    /// Nodes that cannot be run privately, all of them.
    #[error("{}", list(.0))]
    Unsupported(Vec<UnsupportedNode>),
    /// A size was given for a dimension that the model does not have.
    #[error(
        "dimension '{name}': the model's inputs have no free dimension of this name; beside the batch {known}"
    )]
    Dimension {
        /// The name that was given.
        name: String,
        /// The names that the model has.
        known: String,
    },
    /// An output of the model does not fit, or is none.
    #[error("the output '{output}' cannot be computed: {why}")]
    Output {
        /// The output's name.
        output: String,
        /// What is wrong.
        why: String,
    },
    /// The model's input does not fit.
    #[error("the input '{input}' cannot be used: {why}")]
    Input {
        /// The input's name.
        input: String,
        /// What is wrong.
        why: String,
    },
}

fn list(nodes: &[UnsupportedNode]) -> String {
    let mut text = format!(
        "{} of the model's nodes cannot be run privately:\n",
        nodes.len()
    );
    for UnsupportedNode { node, op, why } in nodes {
        text += &format!("  '{node}' ({op}): {why}\n");
    }
    match nodes
        .iter()
        .any(|node| node.why.starts_with(lower::UNKNOWN))
    {
        true => text + "Supported are: " + &table::names(),
        false => text + "docs/operations.md tells what is supported of each operation",
    }
}

/// The error of a model that is none, wherever it comes from.
fn unusable(why: impl Into<String>) -> ImportError {
    ImportError::File {
        path: None,
        why: why.into(),
    }
}

impl ImportError {
    /// This error with the path of the file that the model was read from.
    fn of(self, path: &Path) -> Self {
        match self {
            ImportError::File { why, .. } => ImportError::File {
                path: Some(path.display().to_string()),
                why,
            },
            other => other,
        }
    }
}

/// Reads a model's file, and external data from the file's folder only.
pub fn load(path: &Path, options: &ImportOptions) -> Result<Graph, ImportError> {
    let folder = path.parent().map(|p| {
        if p.as_os_str().is_empty() {
            ".".into()
        } else {
            p.to_path_buf()
        }
    });
    let made = read(contents(path)?, folder.as_deref(), options);
    made.map_err(|error| error.of(path))
}

/// The inputs that a model's file declares, though no node reads them and no output is one of them.
pub fn unread(path: &Path) -> Result<Vec<String>, ImportError> {
    let model = decoded(contents(path)?).map_err(|error| error.of(path))?;
    let graph = model.graph.unwrap_or_default();
    let own = graph.node.iter().flat_map(|node| &node.input);
    let inside = graph.node.iter().flat_map(|node| &node.attribute);
    let inside = inside.filter_map(|a| a.g.as_ref()).flat_map(captured);
    let ends = graph.output.iter().map(|output| output.name.clone());
    let used: HashSet<String> = own.cloned().chain(inside).chain(ends).collect();
    let declared = graph.input.into_iter().map(|input| input.name);
    Ok(declared.filter(|name| !used.contains(name)).collect())
}

/// The bytes of a model's file.
fn contents(path: &Path) -> Result<Bytes, ImportError> {
    let io = |source| ImportError::Io {
        path: path.display().to_string(),
        source,
    };
    let file = File::open(path).map_err(io)?;
    let length = file.metadata().map_err(io)?.len().min(MAX_FILE);
    let mut bytes = Vec::with_capacity(length as usize + 1);
    file.take(MAX_FILE + 1)
        .read_to_end(&mut bytes)
        .map_err(io)?;
    if bytes.len() as u64 > MAX_FILE {
        let why = "it is longer than 2 GiB; store its weights as external data";
        return Err(unusable(why).of(path));
    }
    Ok(Bytes::from(bytes))
}

/// The names of a file's nodes of an operation: those of the graph and of its functions.
pub fn named_nodes(bytes: &[u8], op: &str) -> Result<Vec<String>, ImportError> {
    let model = decoded(bytes)?;
    let graph = model.graph.iter().flat_map(|graph| &graph.node);
    let inside = model.functions.iter().flat_map(|function| &function.node);
    let found = graph.chain(inside).filter(|node| node.op_type == op);
    Ok(found.map(|node| node.name.clone()).collect())
}

/// Imports a model from its bytes; `folder` is where external data may lie.
pub fn import(
    bytes: &[u8],
    folder: Option<&Path>,
    options: &ImportOptions,
) -> Result<Graph, ImportError> {
    read(bytes, folder, options)
}

/// Imports a model; of [`Bytes`] its tensors are not copied on the way.
fn read(
    bytes: impl Buf,
    folder: Option<&Path>,
    options: &ImportOptions,
) -> Result<Graph, ImportError> {
    let model = decoded(bytes)?;
    let opsets = Opsets::new(&model.opset_import).map_err(unusable)?;
    let torch = model.producer_name == "pytorch";
    let remarks = remarks::of(&model);
    let graph = inline::inlined(model, opsets)?;
    let mut graph = graph.ok_or_else(|| unusable("it holds no graph"))?;
    nested::trim(&mut graph);
    nested::name_captures(&mut graph)?;
    lowest::write(&mut graph);
    let opset = opsets.standard.unwrap_or(0);
    left_out::write(&mut graph, opset);
    scatter_found::write(&mut graph, opset);
    pairs::write(&mut graph, opset);
    flattened::write(&mut graph, opset);
    ended::write(&mut graph, opset);
    bucketized::write(&mut graph, opset);
    padded::write(&mut graph);
    row_by_row::write(&mut graph);
    sorted::sort(&mut graph);
    guarded::write(&mut graph);
    sorted::sort(&mut graph);
    negative_index::take_plain(&mut graph);
    empty::drop_parts(&mut graph);
    let dims = input::size_first_axes(&mut graph, &options.dims);
    let options = &ImportOptions {
        dims,
        ..options.clone()
    };
    let imported = Importer {
        graph: &graph,
        opsets,
        reader: Reader {
            folder: folder.map(Path::to_path_buf),
        },
        options,
        torch,
        types: Types::of(&graph),
        large: Large::default(),
    }
    .run()?;
    Ok(Graph {
        remarks,
        ..imported
    })
}
