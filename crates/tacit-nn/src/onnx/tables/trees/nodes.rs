//! Trees of lists of nodes, as before operator set 5.

use std::collections::HashMap;

use super::super::attributes::{doubles, ints, texts, weights};
use super::forest::{Child, Forest, Place};
use super::lists::knows_missing;
use super::modes::Mode;
use crate::onnx::call::{Call, Fault, bad};

/// The lists of a node's attributes, all of one length.
struct Lists<'a> {
    trees: &'a [i64],
    nodes: &'a [i64],
    features: &'a [i64],
    yes: &'a [i64],
    no: &'a [i64],
    thresholds: Vec<f64>,
    modes: Vec<Option<Mode>>,
    tracks: &'a [i64],
}

/// The forest of a node whose weights stand in `{what}_ids` and its like.
pub(super) fn read(call: &Call, what: &str, targets: usize) -> Result<Forest, Fault> {
    let lists = Lists::new(call)?;
    let mut places: HashMap<(i64, i64), Child> = HashMap::new();
    let (mut branches, mut leaves) = (0, 0);
    for i in 0..lists.nodes.len() {
        let (child, counter) = match lists.modes[i] {
            None => (Child::Leaf(leaves), &mut leaves),
            Some(_) => (Child::Branch(branches), &mut branches),
        };
        *counter += 1;
        if places
            .insert((lists.trees[i], lists.nodes[i]), child)
            .is_some()
        {
            return bad(format!(
                "it has two nodes {} of tree {}",
                lists.nodes[i], lists.trees[i]
            ));
        }
    }
    let mut forest = Forest {
        branches: Vec::with_capacity(branches),
        levels: vec![],
        roots: vec![],
        leaves: said(call, what, targets, &places, leaves)?,
        targets,
        knows_missing: knows_missing(lists.tracks, &lists.thresholds),
    };
    for (i, mode) in lists.modes.iter().enumerate() {
        let Some(mode) = mode else { continue };
        let tree = lists.trees[i];
        let place = Place {
            node: lists.nodes[i],
            tree: Some(tree),
        };
        let lead = |node: i64| match places.get(&(tree, node)) {
            Some(&child) => Ok(child),
            None => bad(format!(
                "its {place} leads to node {node}, which there is not"
            )),
        };
        let leads = [lead(lists.yes[i])?, lead(lists.no[i])?];
        let tracks = lists.tracks.get(i).is_some_and(|&tracks| tracks != 0);
        let feature = (lists.features[i], tracks);
        let branch = mode.branch(place, feature, &lists.thresholds[i..=i], leads)?;
        forest.branches.push(branch);
    }
    forest.roots = lists.roots(&places)?;
    Ok(forest)
}

impl<'a> Lists<'a> {
    fn new(call: &Call<'a>) -> Result<Self, Fault> {
        let modes = texts(call, "nodes_modes");
        let lists = Lists {
            trees: ints(call, "nodes_treeids"),
            nodes: ints(call, "nodes_nodeids"),
            features: ints(call, "nodes_featureids"),
            yes: ints(call, "nodes_truenodeids"),
            no: ints(call, "nodes_falsenodeids"),
            thresholds: doubles(call, "nodes_values")?,
            modes: modes
                .iter()
                .map(|name| Mode::named(name))
                .collect::<Result<_, _>>()?,
            tracks: ints(call, "nodes_missing_value_tracks_true"),
        };
        let n = modes.len();
        let lengths = [
            ("nodes_treeids", lists.trees.len()),
            ("nodes_nodeids", lists.nodes.len()),
            ("nodes_featureids", lists.features.len()),
            ("nodes_truenodeids", lists.yes.len()),
            ("nodes_falsenodeids", lists.no.len()),
            ("nodes_values", lists.thresholds.len()),
        ];
        match lengths.into_iter().find(|&(_, len)| len != n) {
            Some((name, len)) => bad(format!("its '{name}' has {len} entries, 'nodes_modes' {n}")),
            None if n == 0 => bad("it has no nodes"),
            None => Ok(lists),
        }
    }

    /// The root of every tree: the node that no branch of it leads to.
    fn roots(&self, places: &HashMap<(i64, i64), Child>) -> Result<Vec<Child>, Fault> {
        let mut led: HashMap<(i64, i64), bool> = HashMap::new();
        for (i, tree) in self.trees.iter().enumerate() {
            if self.modes[i].is_some() {
                led.insert((*tree, self.yes[i]), true);
                led.insert((*tree, self.no[i]), true);
            }
        }
        let mut root_of: HashMap<i64, i64> = HashMap::new();
        let mut roots = Vec::new();
        for (&tree, &node) in self.trees.iter().zip(self.nodes) {
            if led.contains_key(&(tree, node)) {
                continue;
            }
            if let Some(first) = root_of.insert(tree, node) {
                return bad(format!(
                    "no branch leads to nodes {first} and {node} of tree {tree}"
                ));
            }
            roots.extend(places.get(&(tree, node)).copied());
        }
        match self.trees.iter().find(|tree| !root_of.contains_key(tree)) {
            Some(tree) => bad(format!(
                "tree {tree} has no root: its branches lead in a circle"
            )),
            None => Ok(roots),
        }
    }
}

/// What every leaf says.
fn said(
    call: &Call,
    what: &str,
    targets: usize,
    places: &HashMap<(i64, i64), Child>,
    leaves: usize,
) -> Result<Vec<Vec<(usize, f32)>>, Fault> {
    let [trees, nodes, ids] =
        ["treeids", "nodeids", "ids"].map(|list| ints(call, &format!("{what}_{list}")));
    let values = weights(call, &format!("{what}_weights"))?;
    if [trees.len(), nodes.len(), ids.len()] != [values.len(); 3] {
        return bad(format!(
            "its '{what}_treeids', '{what}_nodeids', '{what}_ids' and '{what}_weights' have {}, {}, {} and {} entries",
            trees.len(),
            nodes.len(),
            ids.len(),
            values.len()
        ));
    }
    let mut said = vec![Vec::new(); leaves];
    for (i, &weight) in values.iter().enumerate() {
        let Some(&Child::Leaf(leaf)) = places.get(&(trees[i], nodes[i])) else {
            return bad(format!(
                "it has a weight of node {} of tree {}, which is no leaf",
                nodes[i], trees[i]
            ));
        };
        match usize::try_from(ids[i]) {
            // Of one target onnxruntime takes the first weight of a leaf, of several it adds all.
            Ok(0) if what == "target" && targets == 1 && !said[leaf].is_empty() => {}
            Ok(target) if target < targets => said[leaf].push((target, weight)),
            _ => {
                return bad(format!(
                    "its '{what}_ids' names {}; there are {targets}",
                    ids[i]
                ));
            }
        }
    }
    Ok(said)
}
