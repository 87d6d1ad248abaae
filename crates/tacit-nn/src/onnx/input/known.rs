//! What looks at a file tell of its inputs beside their types: each later look begins with it.

use std::collections::HashMap;

use crate::graph::{Input, InputKind, Texts};
use crate::onnx::MissingValues;
use crate::onnx::builder::Builder;
use crate::onnx::missing::known::{KnownMissing, learn_missing};

/// What is known of inputs, by their names, beside their types.
#[derive(Default)]
pub(in crate::onnx) struct Known {
    pub kinds: HashMap<String, InputKind>,
    pub texts: HashMap<String, Texts>,
    /// Which numbers may be missing.
    pub missing: KnownMissing,
    /// How many rows tokens and categories may choose from; 0 of what is no category, or not limited yet.
    pub limits: HashMap<String, Vec<usize>>,
}

/// What a look at a file told of its inputs, which the next look needs.
pub(in crate::onnx) enum Learnt {
    /// Numbers of an input turned out to be of this kind.
    Kind(String, InputKind),
    /// Numbers of inputs choose rows of tables of so many.
    Limits(Vec<(Input, Vec<(usize, usize)>)>),
    /// More is needed of what inputs of texts may hold.
    Texts(Vec<(String, Texts)>),
    /// Which numbers of inputs may be missing turned out to be others.
    Missing(KnownMissing),
}

impl Learnt {
    /// What the nodes that were read asked of these inputs, if they did.
    pub(in crate::onnx) fn of(
        builder: &mut Builder,
        inputs: &[Input],
        known: &Known,
    ) -> Option<Learnt> {
        if let Some((at, kind)) = builder.wanted {
            return Some(Learnt::Kind(inputs[at].name.clone(), kind));
        }
        if !builder.wanted_limits.is_empty() {
            let wanted = std::mem::take(&mut builder.wanted_limits).into_iter();
            let of = wanted.map(|(at, places)| (inputs[at].clone(), places));
            return Some(Learnt::Limits(of.collect()));
        }
        if !builder.wanted_texts.is_empty() {
            let wanted = std::mem::take(&mut builder.wanted_texts).into_iter();
            let named = wanted.map(|(at, texts)| (inputs[at].name.clone(), texts));
            return Some(Learnt::Texts(named.collect()));
        }
        learn_missing(builder, &known.missing, None).map(Learnt::Missing)
    }
}

impl Known {
    /// Nothing yet, but whether numbers may be missing.
    pub(in crate::onnx) fn new(missing: MissingValues) -> Self {
        let missing = match missing {
            MissingValues::Never => KnownMissing::none(),
            _ => KnownMissing::default(),
        };
        Known {
            missing,
            ..Known::default()
        }
    }

    /// Notes what a look told.
    pub(in crate::onnx) fn learn(&mut self, learnt: Learnt) {
        match learnt {
            Learnt::Kind(name, kind) => drop(self.kinds.insert(name, kind)),
            Learnt::Limits(limits) => {
                let all = limits.iter();
                all.for_each(|(input, places)| self.limit(input, places));
            }
            Learnt::Texts(texts) => self.texts.extend(texts),
            Learnt::Missing(missing) => self.missing = missing,
        }
    }

    /// Whether the look after this may do without marks of missing numbers: what they do not help with is read as if
    /// nothing may be missing.
    pub(in crate::onnx) fn drop_marks(&mut self) -> bool {
        let has_marks = !self.missing.inputs.is_empty();
        if has_marks {
            self.missing = KnownMissing::none();
        }
        has_marks
    }

    /// Notes that numbers of an input choose rows of a table of so many.
    fn limit(&mut self, input: &Input, places: &[(usize, usize)]) {
        let limits = self.limits.entry(input.name.clone()).or_default();
        limits.resize(input.given_len(), 0);
        for &(place, classes) in places {
            limits[place] = match limits[place] {
                0 => classes,
                known => known.min(classes),
            };
        }
        let classes = limits.iter().copied().max().unwrap_or(1);
        let kind = InputKind::Tokens { classes };
        // Beside other numbers, categories stay numbers.
        if input.kind != InputKind::Numbers || !limits.contains(&0) {
            self.kinds.insert(input.name.clone(), kind);
        }
    }
}

/// Inputs as plans have them: limits stand only where not all tokens may choose all rows, and where numbers are
/// categories.
pub(in crate::onnx) fn finished(mut inputs: Vec<Input>) -> Vec<Input> {
    for input in &mut inputs {
        if input.kind == InputKind::Numbers {
            continue;
        }
        let classes = input.kind.shared();
        let limits = &mut input.limits;
        let free = limits.iter_mut().filter(|limit| **limit == 0);
        free.for_each(|limit| *limit = classes);
        if limits.iter().all(|&limit| limit == classes) {
            limits.clear();
        }
    }
    inputs
}
