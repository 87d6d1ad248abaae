//! The inputs of a model's file: which ones, the shape of an item of each, and where their values begin.

mod axes;
mod fixed;
mod known;

use std::collections::{HashMap, HashSet};

use axes::{BatchAxes, dims, free_name, shape_of};

use super::builder::Builder;
use super::call::{Fault, Value};
use super::constant::{Constant, bounded_len};
use super::importer::Importer;
use super::kind::DataType;
use super::missing::marks::Marks;
use super::proto::{DimensionProto, ValueInfoProto, data_type};
use super::{Fixed, ImportError, texts, unusable};
use crate::graph::{Input, InputKind, Lookup, Op, Texts, len};
pub(super) use axes::size_first_axes;
pub(super) use known::{Known, Learnt, finished};

impl<'a> Importer<'a> {
    /// The inputs that something reads, initialisers aside.
    fn inputs(&self, used: &HashSet<&str>) -> Result<Vec<&'a ValueInfoProto>, ImportError> {
        let initial = self.graph.initializer.iter().map(|t| &t.name[..]);
        let initial: HashSet<&str> = initial.collect();
        let given = self.graph.input.iter();
        let given = given.filter(|i| !initial.contains(&i.name[..]));
        let given: Vec<_> = given.collect();
        let known = |name: &String| given.iter().any(|input| input.name == *name);
        if let Some(name) = self.options.fix.keys().find(|name| !known(name)) {
            return Err(fail(name, "the model has no input of this name to fix"));
        }
        let mut names = HashSet::new();
        if let Some(twice) = given.iter().find(|i| !names.insert(&i.name[..])) {
            return Err(fail(&twice.name, "two inputs have this name"));
        }
        if given.is_empty() {
            return Err(unusable("it has 0 inputs; one or more are needed"));
        }
        let read = given.iter().copied();
        let read: Vec<_> = read.filter(|i| used.contains(&i.name[..])).collect();
        // What is wrong with a graph that reads none of them is said of its nodes and outputs.
        Ok(if read.is_empty() { given } else { read })
    }

    /// Defines the inputs, those that are fixed as constants; tokens stand last in an item's row.
    pub(super) fn define_inputs(
        &self,
        used: &HashSet<&str>,
        known: &Known,
        env: &mut HashMap<&'a str, Value>,
        builder: &mut Builder,
    ) -> Result<Vec<Input>, ImportError> {
        let (fixed, given): (Vec<_>, Vec<_>) = self
            .inputs(used)?
            .into_iter()
            .partition(|input| self.is_fixed(input));
        self.check_dims(&[&given[..], &fixed].concat(), builder.whole)?;
        let axes = self.batch_axes(&given, builder.whole && builder.items.is_none());
        let mut inputs = Vec::new();
        for proto in &given {
            let (mut input, size) = self.read(proto, &axes, builder)?;
            if builder.batch.is_some() && size.is_some() && builder.batch != size {
                let why = "its batch differs from that of another input";
                return Err(fail(&proto.name, why));
            }
            builder.batch = builder.batch.or(size);
            builder.rounds |= elements(proto)? == Some(DataType::Double);
            if let Some(&kind) = known.kinds.get(&input.name) {
                input.kind = kind;
            }
            if let Some(limits) = known.limits.get(&input.name) {
                input.limits.clone_from(limits);
            }
            input.missing = known.missing.inputs.get(&input.name).cloned();
            if input.texts.is_some() {
                let texts = known.texts.get(&input.name).cloned().unwrap_or_default();
                let classes = texts.classes().max(1);
                input.kind = InputKind::Tokens { classes };
                input.texts = Some(texts);
            }
            inputs.push(input);
        }
        if inputs.is_empty() {
            return Err(unusable(
                "all its inputs are fixed: nothing is left to predict",
            ));
        }
        inputs.sort_by_key(|input| input.kind.shared() > 1);
        let row = crate::graph::row_shape(&inputs);
        builder
            .count(&row)
            .map_err(|why| fail(&inputs[0].name, &why))?;
        let mut start = 0;
        for (at, input) in inputs.iter().enumerate() {
            let value = begin(&inputs, at, start, builder);
            start += input.row_len();
            let value = value.map_err(|why| fail(&input.name, &why))?;
            let name = given.iter().find(|proto| proto.name == input.name);
            env.extend(name.map(|proto| (&proto.name[..], value)));
        }
        for proto in fixed {
            let constant = self.fixed(proto, &axes, builder)?;
            env.insert(&proto.name, Value::Constant(constant));
        }
        let short = |(at, input): (usize, &Input)| {
            let kind = self.types.get(&input.name).filter(|kind| kind.is_short())?;
            let (least, most) = kind.holds_within();
            Some((at, f64::from(most.max(-least))))
        };
        builder.reach = inputs.iter().enumerate().filter_map(short).collect();
        builder.absent = Marks::new(&inputs);
        builder.inputs = inputs.clone();
        Ok(inputs)
    }

    /// An input of a file, and the size of its batch axis, where the file gives one.
    fn read(
        &self,
        proto: &ValueInfoProto,
        axes: &BatchAxes,
        builder: &Builder,
    ) -> Result<(Input, Option<i64>), ImportError> {
        let of = elements(proto)?;
        let kind = match of {
            Some(DataType::Bool) => InputKind::Truths,
            Some(kind) if kind.is_float() => InputKind::Numbers,
            _ => InputKind::Integers,
        };
        if shape_of(proto).is_none() {
            let why = "it has no shape; export the model with one";
            return Err(fail(&proto.name, why));
        }
        let dims = dims(proto);
        let batch = axes.of(proto);
        let mut item: Vec<(usize, &DimensionProto)> = dims.iter().enumerate().collect();
        let mut size = None;
        if !builder.whole {
            if batch >= item.len() {
                let why = "it has no batch axis; fix it with --fix, or export the model with one";
                return Err(fail(&proto.name, why));
            }
            // Some exporters write a free batch as 0 or -1.
            size = item.remove(batch).1.dim_value.filter(|&items| items > 0);
        }
        let shape = item
            .into_iter()
            .map(|(axis, dim)| match builder.items {
                Some(items) if axis == batch => Ok(items),
                _ => self.dimension(proto, axis, dim),
            })
            .collect::<Result<Vec<_>, _>>()?;
        match bounded_len(&shape) {
            Ok(0) => {
                let why = format!("the item shape {shape:?} has no elements");
                return Err(fail(&proto.name, &why));
            }
            Ok(_) => {}
            Err(why) => return Err(fail(&proto.name, &why)),
        }
        let input = Input {
            name: proto.name.clone(),
            shape,
            batch,
            kind,
            limits: vec![],
            texts: of.is_none().then(Texts::default),
            missing: None,
        };
        Ok((input, size))
    }

    /// Refuses sizes for dimensions that the model does not have.
    fn check_dims(&self, inputs: &[&ValueInfoProto], whole: bool) -> Result<(), ImportError> {
        let axes = self.batch_axes(inputs, whole);
        let mut free = Vec::new();
        for input in inputs {
            let dims = dims(input).iter().enumerate();
            let open =
                dims.filter(|(i, d)| d.dim_value.is_none() && (whole || *i != axes.of(input)));
            free.extend(open.map(|(i, d)| free_name(input, i, d)));
        }
        free.sort();
        free.dedup();
        let given = self.options.dims.keys();
        let Some(name) = given.filter(|name| !free.contains(name)).min() else {
            return Ok(());
        };
        let known = match free.as_slice() {
            [] => "it has none".to_string(),
            names => format!("it has '{}'", names.join("', '")),
        };
        Err(ImportError::Dimension {
            name: name.clone(),
            known,
        })
    }

    fn dimension(
        &self,
        input: &ValueInfoProto,
        axis: usize,
        dim: &DimensionProto,
    ) -> Result<usize, ImportError> {
        if let Some(size) = dim.dim_value {
            let fits = usize::try_from(size).ok().filter(|&d| d > 0);
            return fits
                .ok_or_else(|| fail(&input.name, &format!("its axis {axis} has the size {size}")));
        }
        let name = free_name(input, axis, dim);
        let given = self.options.dims.get(&name).copied().filter(|&d| d > 0);
        given.ok_or_else(|| {
            let mut why = format!("its axis {axis} is the free dimension '{name}'; only the batch (axis 0) may be free: give its size with --dim {name}=SIZE");
            let others = self.other_names(&name);
            if !others.is_empty() {
                why += &format!("; sizes are missing of '{}', too", others.join("', '"));
            }
            fail(&input.name, &why)
        })
    }

    /// The names of free dimensions behind the first axis without a size, but for one.
    fn other_names(&self, but: &str) -> Vec<String> {
        let mut names = Vec::new();
        for input in &self.graph.input {
            let later = dims(input).iter().enumerate().skip(1);
            let free = later.filter(|(_, dim)| dim.dim_value.is_none());
            names.extend(free.map(|(axis, dim)| free_name(input, axis, dim)));
        }
        names.retain(|name| name != but && !self.options.dims.contains_key(name));
        names.sort();
        names.dedup();
        names
    }

    /// Where the batch stands in these inputs.
    fn batch_axes(&self, inputs: &[&ValueInfoProto], whole: bool) -> BatchAxes {
        BatchAxes::new(inputs, whole, &self.options.dims)
    }

    /// Whether the batch axis of every input has a fixed size, or there is none.
    pub(super) fn has_fixed_sizes(&self, used: &HashSet<&str>) -> Result<bool, ImportError> {
        let inputs = self.inputs(used)?;
        let axes = self.batch_axes(&inputs, false);
        let fixed = |input: &&ValueInfoProto| {
            if shape_of(input).is_none() {
                return false;
            }
            let batch = dims(input).get(axes.of(input)).map(|dim| dim.dim_value);
            batch.is_none_or(|size| size.is_some_and(|n| n > 0))
        };
        let mut given = inputs.iter();
        Ok(given.all(|input| fixed(input) || self.is_fixed(input)))
    }
}

impl Importer<'_> {
    /// A refusal of a model whose batch was found by its name, or that works across it, with what to do if that axis is
    /// no batch.
    pub(super) fn or_sized(&self, mut refused: ImportError, used: &HashSet<&str>) -> ImportError {
        let ImportError::Unsupported(nodes) = &mut refused else {
            return refused;
        };
        let Ok(inputs) = self.inputs(used) else {
            return refused;
        };
        let axes = self.batch_axes(&inputs, false);
        let name = (inputs.iter()).find_map(|input| {
            let dim = dims(input).first().filter(|dim| dim.dim_value.is_none())?;
            Some(free_name(input, 0, dim))
        });
        if let (Some(name), Some(node)) = (name, nodes.iter_mut().find(|n| n.why.contains("batch")))
        {
            node.why += &format!("; if axis 0 is no batch, give its size with --dim {name}=SIZE");
        }
        let later = |input: &&&ValueInfoProto| axes.of(input) > 0;
        let (Some(input), Some(name), false, Some(first)) = (
            inputs.iter().find(later),
            &axes.name,
            axes.free,
            nodes.first(),
        ) else {
            return refused;
        };
        let why = format!(
            "its axis {} is the free dimension '{name}', and taken as the batch it is refused: '{}' ({}): {}; if it is no batch, give its size with --dim {name}=SIZE",
            axes.of(input),
            first.node,
            first.op,
            first.why
        );
        fail(&input.name, &why)
    }

    /// Whether the batch axis of every input is free.
    pub(super) fn has_free_batch(&self, used: &HashSet<&str>) -> Result<bool, ImportError> {
        let inputs = self.inputs(used)?;
        let given = |input: &&&ValueInfoProto| !self.is_fixed(input);
        let given: Vec<_> = inputs.iter().filter(given).copied().collect();
        let axes = self.batch_axes(&given, false);
        let free = |input: &&ValueInfoProto| {
            let batch = dims(input).get(axes.of(input));
            batch.is_some_and(|dim| dim.dim_value.is_none_or(|size| size <= 0))
        };
        Ok(given.iter().all(free))
    }
}

/// The value of input `at`, which begins at `start` in an item's row.
fn begin(
    inputs: &[Input],
    at: usize,
    start: usize,
    builder: &mut Builder,
) -> Result<Value, String> {
    let Input {
        name,
        shape,
        batch,
        kind,
        texts,
        ..
    } = inputs[at].clone();
    let n = len(&shape);
    let batch = if builder.whole { 0 } else { batch };
    if texts.is_some() {
        return texts::given(at, shape, batch);
    }
    let added = match kind {
        InputKind::Tokens { classes } => {
            builder.reserve(n.saturating_mul(classes))?;
            let table: Vec<f32> = (0..classes).map(|class| class as f32).collect();
            let numbers = Lookup {
                input: at,
                start,
                tokens: n,
                classes,
                n: 1,
                table: table.into(),
            };
            builder.add(name, Op::Lookup(numbers), vec![0], shape.clone())
        }
        _ if inputs.len() == 1 && inputs[0].missing.is_none() => Ok(0),
        _ => {
            let index = (start..start + n).map(|e| e as u32).collect();
            let op = Op::Rearrange { index, fill: 0.0 };
            builder.add(name, op, vec![0], shape.clone())
        }
    };
    let id = added.map_err(|fault| match fault {
        Fault::Bad(why) | Fault::Unsupported(why) => why,
    })?;
    if kind == InputKind::Truths {
        builder.truths.insert(id);
    }
    Ok(Value::Secret { id, shape, batch })
}

fn fail(input: &str, why: &str) -> ImportError {
    ImportError::Input {
        input: input.into(),
        why: why.into(),
    }
}

/// What an input's elements are: numbers of a type, or texts.
fn elements(input: &ValueInfoProto) -> Result<Option<DataType>, ImportError> {
    let tensor = input.r#type.as_ref().and_then(|t| t.tensor_type.as_ref());
    let tensor = tensor.ok_or_else(|| fail(&input.name, "it is not a tensor"))?;
    if tensor.elem_type == data_type::STRING {
        return Ok(None);
    }
    let kind = DataType::of(tensor.elem_type);
    let kind = kind.map_err(|what| fail(&input.name, &format!("it has {what}")))?;
    Ok(Some(kind))
}
