//! What the branches of trees compare: features, and what stands for those that are missing.

use super::forest::{Comparison, Forest};
use crate::graph::{FILL, Op, ValueId};
use crate::onnx::call::Fault;
use crate::onnx::compose::Composer;
use crate::onnx::missing::marks::marks_of;

/// Features side by side with copies of them, where some may be missing: below all thresholds and above them where they
/// are, and their marks.
pub(super) struct Features {
    pub id: ValueId,
    /// Which features may be missing, if any may.
    pub marked: Option<Vec<bool>>,
    len: usize,
}

impl Features {
    /// The features `x` of a forest. Asks for the marks of those that are numbers of inputs, if the file or its user knows
    /// of missing ones.
    pub(super) fn of(c: &mut Composer, x: ValueId, forest: &Forest) -> Result<Self, Fault> {
        let len = c.builder.len(x);
        let alone = Features {
            id: x,
            marked: None,
            len,
        };
        if !forest.knows_missing && !c.builder.has_missing {
            return Ok(alone);
        }
        let origins = c.builder.origins(x);
        let thresholds = forest
            .branches
            .iter()
            .flat_map(|branch| &branch.comparisons)
            .filter(|of| !of.is_far());
        let farthest = |numbers: &mut dyn Iterator<Item = f32>| {
            numbers.fold(0.0, |most, number| f64::max(most, number.abs().into()))
        };
        let beyond = farthest(&mut thresholds.map(|of| of.threshold))
            + farthest(&mut origins.zeros.iter().copied());
        // A mark takes what a missing feature stands for beyond twice every threshold, however both are rounded.
        let bits = beyond.max(0.5).log2().floor() as u32 + 2;
        if bits > MOST_BITS {
            return Ok(alone);
        }
        c.builder.want_marks(&origins.places, bits);
        let shape = c.builder.shape(x);
        let Some((marks, marked)) = marks_of(c, &origins, shape)? else {
            return Ok(alone);
        };
        let least = c.each("least", Op::Sub, &[x, marks])?;
        let most = c.each("most", Op::Add, &[x, marks])?;
        let all = [x, least, most, marks];
        let id = c.node("with marks", Op::Concat { outer: 1 }, &all, vec![4 * len])?;
        Ok(Features {
            id,
            marked: Some(marked),
            len,
        })
    }

    /// What is compared of a feature, by its place, so that the answer is `missing` if the feature is.
    pub(super) fn compared(
        &self,
        feature: usize,
        of: Comparison,
        missing: bool,
    ) -> (usize, Comparison) {
        let marked = (self.marked.as_ref()).is_some_and(|marked| marked[feature]);
        let place = |copy: usize| copy * self.len + feature;
        let told = |at_least: bool, threshold: f32| Comparison {
            at_least,
            threshold,
            always: of.always,
        };
        // A mark is 0 unless the feature is missing.
        let mark = place(3);
        match (marked, of.of_numbers()) {
            (false, _) if of.always => (FILL as usize, of),
            (false, _) => (feature, of),
            (true, Some(true)) if missing => (FILL as usize, told(false, 0.0)),
            (true, Some(true)) => (mark, told(false, 0.0)),
            (true, Some(false)) if missing => (mark, told(true, 0.5)),
            (true, Some(false)) => (FILL as usize, told(true, 0.5)),
            (true, None) if of.at_least == missing => (place(2), of),
            (true, None) => (place(1), of),
        }
    }
}

/// The most bits of a mark, which is a finite float.
const MOST_BITS: u32 = 126;
