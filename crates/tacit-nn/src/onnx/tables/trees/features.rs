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
            .flat_map(|branch| &branch.comparisons);
        let farthest = |numbers: &mut dyn Iterator<Item = f32>| {
            numbers.fold(0.0, |most, number| f64::max(most, number.abs().into()))
        };
        let beyond = farthest(&mut thresholds.map(|of| of.threshold))
            + farthest(&mut origins.zeros.iter().copied());
        // A mark takes what a missing feature stands for beyond every threshold.
        let bits = beyond.max(0.5).log2().floor() as u32 + 1;
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

    /// The place of what a comparison compares of a feature, so that it answers `missing` if that is missing.
    pub(super) fn place(&self, feature: usize, of: Comparison, missing: bool) -> usize {
        let marked = (self.marked.as_ref()).is_some_and(|marked| marked[feature]);
        let copy = match (marked, of.always) {
            (_, true) if missing || !marked => return FILL as usize,
            (false, _) => 0,
            // A mark is at most 0 unless the feature is missing.
            (true, true) => 3,
            (true, false) if of.at_least == missing => 2,
            (true, false) => 1,
        };
        copy * self.len + feature
    }
}

/// The most bits of a mark, which is a finite float.
const MOST_BITS: u32 = 126;
