//! Trees of lists of branches and of leaves, as from operator set 5 on.

use super::super::attributes::{doubles, ints, tensor, weights};
use super::forest::{Child, Forest, Place};
use super::modes::Mode;
use crate::onnx::call::{Call, Fault, bad};
use crate::onnx::constant::Data;

/// The forest of a TreeEnsemble.
pub(super) fn read(call: &Call, targets: usize) -> Result<Forest, Fault> {
    let leaves = leaves(call, targets)?;
    let modes = match tensor(call, "nodes_modes")? {
        Some(Data::Int(modes)) => modes,
        _ => return bad("its 'nodes_modes' is no tensor of integers"),
    };
    let n = modes.len();
    let thresholds = doubles(call, "nodes_splits")?;
    let named = |name: &str| {
        let values = ints(call, name);
        match values.len() == n {
            true => Ok(values),
            false => bad(format!(
                "its '{name}' has {} entries, 'nodes_modes' {n}",
                values.len()
            )),
        }
    };
    if thresholds.len() != n {
        return bad(format!(
            "its 'nodes_splits' has {} entries, 'nodes_modes' {n}",
            thresholds.len()
        ));
    }
    let features = named("nodes_featureids")?;
    let yes = (named("nodes_truenodeids")?, named("nodes_trueleafs")?);
    let no = (named("nodes_falsenodeids")?, named("nodes_falseleafs")?);
    let lead = |i: usize, (ids, are_leaves): (&[i64], &[i64])| {
        let (id, is_leaf) = (ids[i], are_leaves[i] != 0);
        let known = usize::try_from(id).ok();
        match known.filter(|&id| id < if is_leaf { leaves.len() } else { n }) {
            Some(id) if is_leaf => Ok(Child::Leaf(id)),
            Some(id) => Ok(Child::Branch(id)),
            None => bad(format!("its node {i} leads to {id}, which there is not")),
        }
    };
    let tracks = ints(call, "nodes_missing_value_tracks_true");
    let mut members = Members::new(call)?;
    let mut branches = Vec::with_capacity(n);
    for (i, &mode) in modes.iter().enumerate() {
        let mode = Mode::numbered(mode)?;
        let place = Place {
            node: i as i64,
            tree: None,
        };
        let own = match mode {
            Mode::Member => members.next(place)?,
            _ => &thresholds[i..=i],
        };
        let feature = (
            features[i],
            tracks.get(i).is_some_and(|&tracks| tracks != 0),
        );
        branches.push(mode.branch(place, feature, own, [lead(i, yes)?, lead(i, no)?])?);
    }
    members.end()?;
    let root = |&id: &i64| match usize::try_from(id) {
        Ok(id) if id < n => Ok(Child::Branch(id)),
        _ => bad(format!(
            "its 'tree_roots' names node {id}, which there is not"
        )),
    };
    let roots = ints(call, "tree_roots")
        .iter()
        .map(root)
        .collect::<Result<_, _>>()?;
    Ok(Forest {
        branches,
        levels: vec![],
        roots,
        leaves,
        targets,
        knows_missing: knows_missing(tracks, &thresholds),
    })
}

/// Whether trees say of missing features where they lead: with those of the answer yes, or of a column where they alone
/// are told from numbers, as LightGBM writes it.
pub(super) fn knows_missing(tracks: &[i64], thresholds: &[f64]) -> bool {
    tracks.iter().any(|&tracks| tracks != 0)
        || (thresholds.iter()).any(|&number| (number as f32).is_infinite())
}

/// The target of every leaf with its weight.
fn leaves(call: &Call, targets: usize) -> Result<Vec<Vec<(usize, f32)>>, Fault> {
    let (ids, values) = (ints(call, "leaf_targetids"), weights(call, "leaf_weights")?);
    if ids.len() != values.len() {
        return bad(format!(
            "its 'leaf_targetids' has {} entries, 'leaf_weights' {}",
            ids.len(),
            values.len()
        ));
    }
    let leaf = |(&id, &weight): (&i64, &f32)| match usize::try_from(id) {
        Ok(target) if target < targets => Ok(vec![(target, weight)]),
        _ => bad(format!(
            "its 'leaf_targetids' names {id}; there are {targets}"
        )),
    };
    ids.iter().zip(&values).map(leaf).collect()
}

/// The sets of numbers that branches ask for, one behind the other, each ended by NaN.
struct Members {
    values: Vec<f64>,
    at: usize,
}

impl Members {
    fn new(call: &Call) -> Result<Self, Fault> {
        let values = doubles(call, "membership_values")?;
        Ok(Members { values, at: 0 })
    }

    fn next(&mut self, place: Place) -> Result<&[f64], Fault> {
        let rest = &self.values[self.at.min(self.values.len())..];
        if rest.is_empty() {
            return bad(format!("its 'membership_values' has no set for {place}"));
        }
        let len = rest.iter().position(|v| v.is_nan()).unwrap_or(rest.len());
        self.at += len + 1;
        Ok(&rest[..len])
    }

    fn end(self) -> Result<(), Fault> {
        match self.at >= self.values.len() {
            true => Ok(()),
            false => bad("its 'membership_values' has more sets than branches ask for"),
        }
    }
}
