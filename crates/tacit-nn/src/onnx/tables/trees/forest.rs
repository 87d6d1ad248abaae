//! Trees as branches, level by level.

use std::collections::{HashMap, HashSet};
use std::fmt;

use super::super::scores::Second;
use crate::onnx::call::{Call, Fault, bad, unsupported};

/// What a branch leads to: another branch, or a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Child {
    Branch(usize),
    Leaf(usize),
}

/// Where a branch stands in the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub node: i64,
    pub tree: Option<i64>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "node {}", self.node)?;
        self.tree
            .map_or(Ok(()), |tree| write!(f, " of tree {tree}"))
    }
}

/// A branch by one feature.
#[derive(Clone, Debug)]
pub(super) struct Branch {
    pub place: Place,
    pub feature: i64,
    /// Comparisons whose sum, less 1 for every pair of them, is the branch's bit.
    pub comparisons: Vec<Comparison>,
    /// Where the branch leads if its bit is 1, and if it is 0.
    pub leads: [Child; 2],
    /// The branch's bit of a feature that is missing.
    pub missing: bool,
}

impl Branch {
    /// The comparisons, each with its answer to a feature that is missing.
    pub fn with_missing(&self) -> impl Iterator<Item = (Comparison, bool)> + '_ {
        let pairs = self.asks_for_numbers();
        let of = move |(at, &of): (usize, &Comparison)| match pairs {
            // One of each pair is right, and both of one if the feature counts as one of the numbers.
            true => (of, !of.at_least || self.missing && at < 2),
            false => (of, self.missing),
        };
        self.comparisons.iter().enumerate().map(of)
    }

    /// Whether the branch's bit says that the feature is one of some numbers.
    fn asks_for_numbers(&self) -> bool {
        self.comparisons.len().is_multiple_of(2)
    }
}

/// A question about a feature: whether it is at least, or at most, a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Comparison {
    pub at_least: bool,
    pub threshold: f32,
    /// Whether every number passes, so that 0 stands for the feature and the threshold.
    pub always: bool,
}

impl Comparison {
    /// Whether the threshold is the largest of all floats, or the least.
    pub fn is_far(&self) -> bool {
        self.threshold.abs() == f32::MAX
    }

    /// The answer to every number, where that is one: no plan with marks takes the largest of all floats.
    pub fn of_numbers(&self) -> Option<bool> {
        match self.always {
            true => Some(true),
            false => self
                .is_far()
                .then_some(self.at_least == (self.threshold < 0.0)),
        }
    }
}

/// Trees, and what their leaves say of every target.
#[derive(Clone, Debug)]
pub(super) struct Forest {
    /// Branches of all trees, in order of their levels once they are checked.
    pub branches: Vec<Branch>,
    /// How many branches every level has.
    pub levels: Vec<usize>,
    pub roots: Vec<Child>,
    /// The targets of every leaf with their weights.
    pub leaves: Vec<Vec<(usize, f32)>>,
    pub targets: usize,
    /// Whether the file says of missing features where they lead.
    pub knows_missing: bool,
}

/// How the trees' results become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aggregate {
    Average,
    Sum,
    Min,
    Max,
}

impl Aggregate {
    /// The aggregate of a node's attribute, which is a text or, from operator set 5 on, a number.
    pub(super) fn of(call: &Call) -> Result<Aggregate, Fault> {
        let name = match call.attribute("aggregate_function").and_then(|a| a.i) {
            None => call.text("aggregate_function", "SUM"),
            Some(number) => number.to_string(),
        };
        match name.as_str() {
            "AVERAGE" | "0" => Ok(Aggregate::Average),
            "SUM" | "1" => Ok(Aggregate::Sum),
            "MIN" | "2" => Ok(Aggregate::Min),
            "MAX" | "3" => Ok(Aggregate::Max),
            other => bad(format!("its aggregate function is {other}")),
        }
    }
}

impl Forest {
    /// The forest of rows of so many features with its branches in order; every branch and leaf must be
    /// reached from a root, every branch by one way alone.
    pub(super) fn checked(mut self, features: usize) -> Result<Forest, Fault> {
        let joined = self.join_chains();
        let mut order: Vec<usize> = Vec::new();
        let mut numbers: Vec<Option<usize>> = vec![None; self.branches.len()];
        let mut reached = vec![false; self.leaves.len()];
        let mut level = self.roots.clone();
        loop {
            let before = order.len();
            for &child in &level {
                match child {
                    Child::Leaf(leaf) => reached[leaf] = true,
                    Child::Branch(at) if numbers[at].is_some() => {
                        let place = self.branches[at].place;
                        return unsupported(format!(
                            "its {place} is reached by two ways: that is no tree"
                        ));
                    }
                    Child::Branch(at) => {
                        numbers[at] = Some(order.len());
                        order.push(at);
                    }
                }
            }
            if order.len() == before {
                break;
            }
            self.levels.push(order.len() - before);
            let branches = || order[before..].iter().map(|&at| &self.branches[at]);
            let ones = branches().map(|branch| branch.leads[0]);
            level = ones
                .chain(branches().map(|branch| branch.leads[1]))
                .collect();
        }
        let mut unreached = (0..numbers.len()).filter(|&at| numbers[at].is_none() && !joined[at]);
        if let Some(at) = unreached.next() {
            return bad(format!(
                "its {} is reached from no root",
                self.branches[at].place
            ));
        }
        if let Some(leaf) = reached.iter().position(|reached| !reached) {
            return bad(format!("its leaf {leaf} is reached from no root"));
        }
        self.sort(&order, &numbers);
        self.check_features(features)?;
        Ok(self)
    }

    /// Joins chains of branches each of which asks a feature for a number and leads to the same place if it is that:
    /// as converters write a branch by several categories. Returns which branches have become part of another.
    fn join_chains(&mut self) -> Vec<bool> {
        let mut ways = vec![0; self.branches.len()];
        let leads = self.branches.iter().flat_map(|branch| branch.leads);
        for child in self.roots.iter().copied().chain(leads) {
            if let Child::Branch(at) = child {
                ways[at] += 1;
            }
        }
        let mut joined = vec![false; self.branches.len()];
        for at in 0..self.branches.len() {
            while let Child::Branch(next) = self.branches[at].leads[1] {
                let [first, second] = [at, next].map(|at| &self.branches[at]);
                let goes_on = first.feature == second.feature
                    && first.leads[0] == second.leads[0]
                    && first.asks_for_numbers()
                    && second.asks_for_numbers();
                if !goes_on || ways[next] != 1 || next == at || joined[next] {
                    break;
                }
                let more = second.comparisons.chunks(2);
                let more =
                    more.filter(|pair| !first.comparisons.chunks(2).any(|known| known == *pair));
                let more = more.flatten().copied().collect::<Vec<_>>();
                let after = second.leads[1];
                let missing = second.missing;
                self.branches[at].comparisons.extend(more);
                self.branches[at].leads[1] = after;
                self.branches[at].missing |= missing;
                joined[next] = true;
            }
        }
        joined
    }

    fn sort(&mut self, order: &[usize], numbers: &[Option<usize>]) {
        let renamed = |child: Child| match child {
            Child::Branch(at) => Child::Branch(numbers[at].unwrap_or_default()),
            leaf => leaf,
        };
        let sorted = order.iter().map(|&at| Branch {
            leads: self.branches[at].leads.map(renamed),
            ..self.branches[at].clone()
        });
        self.branches = sorted.collect();
        self.roots = self.roots.iter().copied().map(renamed).collect();
    }

    fn check_features(&self, features: usize) -> Result<(), Fault> {
        let known = |branch: &&Branch| !(0..features as i64).contains(&branch.feature);
        if let Some(branch) = self.branches.iter().find(known) {
            return bad(format!(
                "its {} compares feature {}, rows have {features}",
                branch.place, branch.feature
            ));
        }
        match self.branches.is_empty() {
            true => {
                unsupported("all of its trees are leaves: its result is the same for every row")
            }
            false => Ok(()),
        }
    }

    /// The weights of every leaf for every target, leaf by leaf.
    pub(super) fn weights(&self) -> Vec<f32> {
        let mut weights = vec![0.0; self.leaves.len() * self.targets];
        for (row, leaf) in weights.chunks_mut(self.targets).zip(&self.leaves) {
            leaf.iter()
                .for_each(|&(target, weight)| row[target] += weight);
        }
        weights
    }

    /// The one target that all leaves speak of, if there is just one.
    pub(super) fn only_target(&self) -> Option<usize> {
        let mut named = self.leaves.iter().flatten().map(|&(target, _)| target);
        let first = named.next()?;
        named.all(|target| target == first).then_some(first)
    }

    /// Whether no weight is below 0.
    pub(super) fn is_positive(&self) -> bool {
        self.leaves
            .iter()
            .flatten()
            .all(|&(_, weight)| weight >= 0.0)
    }

    /// What trees that are one leaf say together, of leaves that speak of one target: of every row the same.
    pub(super) fn always(&self) -> f32 {
        let of_leaf = |leaf: usize| self.leaves[leaf].iter().map(|&(_, weight)| weight);
        let of_root = |root: &Child| match *root {
            Child::Leaf(leaf) => Some(of_leaf(leaf)),
            Child::Branch(_) => None,
        };
        self.roots.iter().filter_map(of_root).flatten().sum()
    }

    /// Both columns of two classes, of leaves that speak of one.
    pub(super) fn of_two(&self, second: Second, base: f32) -> (Vec<f32>, Vec<f32>) {
        let sum = |leaf: &Vec<(usize, f32)>| leaf.iter().map(|&(_, weight)| weight).sum();
        let one: Vec<f32> = self.leaves.iter().map(sum).collect();
        (second.factors(&one), second.terms(base))
    }

    /// Refuses leaves some of which leave out a class while weights are negative: onnxruntime gives no label
    /// to a class that no leaf of a row names, whatever its score of 0 is among the others.
    pub(super) fn check_labels(&self) -> Result<(), Fault> {
        let mut always = vec![false; self.targets];
        for tree in self.leaves_of_trees() {
            let mut named: HashMap<usize, usize> = HashMap::new();
            for &leaf in &tree {
                self.named(leaf)
                    .into_iter()
                    .for_each(|class| *named.entry(class).or_default() += 1);
            }
            let of_all = named
                .into_iter()
                .filter(|&(_, leaves)| leaves == tree.len());
            of_all.for_each(|(class, _)| always[class] = true);
        }
        match always.iter().position(|always| !always) {
            Some(class) if !self.is_positive() => unsupported(format!(
                "leaves leave out class {class} while weights are negative: a row that reaches no weight of a class has no score for it"
            )),
            _ => Ok(()),
        }
    }

    /// The targets that a leaf speaks of.
    pub(super) fn named(&self, leaf: usize) -> HashSet<usize> {
        self.leaves[leaf]
            .iter()
            .map(|&(target, _)| target)
            .collect()
    }

    /// The leaves of every tree.
    pub(super) fn leaves_of_trees(&self) -> Vec<Vec<usize>> {
        let of_tree = |&root: &Child| {
            let (mut leaves, mut open) = (Vec::new(), vec![root]);
            while let Some(child) = open.pop() {
                match child {
                    Child::Leaf(leaf) => leaves.push(leaf),
                    Child::Branch(at) => open.extend(self.branches[at].leads),
                }
            }
            leaves
        };
        self.roots.iter().map(of_tree).collect()
    }
}
