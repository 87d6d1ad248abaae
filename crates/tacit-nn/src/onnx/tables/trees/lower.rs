//! From trees to operations of the graph.

use super::super::compare::{above, below, constant, shifts};
use super::features::Features;
use super::forest::{Aggregate, Branch, Child, Comparison, Forest};
use crate::graph::{Conv, ConvGeometry, FILL, Op, ValueId, Weights};
use crate::onnx::call::{Fault, unsupported};
use crate::onnx::compose::Composer;
use crate::onnx::constant::bounded_len;
use crate::onnx::missing::marks::Settled;
use crate::onnx::pool::whole;

/// The leaves that a row reaches.
pub(super) struct Reached {
    /// 1 for every leaf that is reached, else 0; leaves in the order of `leaves`.
    id: ValueId,
    leaves: Vec<usize>,
}

/// Which leaves a row reaches, each of its trees just one.
pub(super) fn reached(c: &mut Composer, x: ValueId, forest: &Forest) -> Result<Reached, Fault> {
    let bits = bits(c, x, forest)?;
    let mut below_all: Vec<ValueId> = Vec::new();
    let (mut places, mut leaves) = (Vec::new(), Vec::new());
    let (mut first, mut offset) = (0, 0);
    let mut above: Option<(ValueId, Vec<u32>)> = None;
    for &width in &forest.levels {
        let own = c.part("bits", bits, first..first + width)?;
        let from = match &above {
            None => constant(c, "roots", own, 1.0)?,
            Some((children, index)) => c.moved("level", *children, index.clone(), vec![width])?,
        };
        // A root is always reached.
        let one = match &above {
            None => own,
            Some(_) => c.each("one", Op::Mul, &[from, own])?,
        };
        let other = c.each("other", Op::Sub, &[from, one])?;
        let children = c.node(
            "children",
            Op::Concat { outer: 1 },
            &[one, other],
            vec![2 * width],
        )?;
        let branches = &forest.branches[first..first + width];
        let leads = [0, 1]
            .into_iter()
            .flat_map(|bit| branches.iter().map(move |b| b.leads[bit]));
        let mut inner = Vec::new();
        for (at, child) in leads.enumerate() {
            match child {
                Child::Branch(_) => inner.push(at as u32),
                Child::Leaf(leaf) => {
                    places.push((offset + at) as u32);
                    leaves.push(leaf);
                }
            }
        }
        below_all.push(children);
        above = Some((children, inner));
        (first, offset) = (first + width, offset + 2 * width);
    }
    let all = match below_all[..] {
        [one] => one,
        _ => c.node(
            "all levels",
            Op::Concat { outer: 1 },
            &below_all,
            vec![offset],
        )?,
    };
    let id = c.moved("leaves", all, places, vec![leaves.len()])?;
    if let [Child::Branch(_)] = forest.roots[..] {
        c.builder.marks.insert(id);
    }
    Ok(Reached { id, leaves })
}

/// The bit of every branch.
fn bits(c: &mut Composer, x: ValueId, forest: &Forest) -> Result<ValueId, Fault> {
    let branches = &forest.branches;
    let features = Features::of(c, x, forest)?;
    let all: Vec<(usize, Comparison)> = (branches.iter())
        .flat_map(|branch| {
            let each = branch.with_missing();
            each.map(|(of, missing)| features.compared(branch.feature as usize, of, missing))
        })
        .collect();
    bounded_len(&[all.len()])?;
    let [least, most] = [true, false].map(|kind| {
        let own = all
            .iter()
            .enumerate()
            .filter(move |(_, (_, of))| of.at_least == kind);
        own.map(move |(at, &(place, of))| (at, place, of.threshold))
            .collect::<Vec<_>>()
    });
    let mut sides = Vec::new();
    for (side, at_least) in [(&least, true), (&most, false)] {
        if side.is_empty() {
            continue;
        }
        let part = if at_least { "least" } else { "most" };
        let compared = c.spread(part, features.id, vec![side.len()], |e| side[e].1)?;
        let thresholds: Weights = side.iter().map(|&(_, _, threshold)| threshold).collect();
        sides.push(match at_least {
            true => above(c, compared, thresholds)?,
            false => below(c, compared, thresholds)?,
        });
    }
    let differences = match sides[..] {
        [one] => one,
        _ => c.node(
            "differences",
            Op::Concat { outer: 1 },
            &sides,
            vec![all.len()],
        )?,
    };
    let signs = c.each("compared", Op::NonNegative, &[differences])?;
    let mut place = vec![0; all.len()];
    for (to, (at, ..)) in least.iter().chain(&most).enumerate() {
        place[*at] = to as u32;
    }
    let bits = sums(c, signs, branches, &place)?;
    if let Some(marked) = features.marked {
        let settled = Settled {
            of: x,
            done: marked,
            each: false,
        };
        c.builder.settle(bits, settled);
    }
    Ok(bits)
}

/// The sums of every branch's comparisons, less 1 for every pair of them; `place` says where they stand.
fn sums(
    c: &mut Composer,
    signs: ValueId,
    branches: &[Branch],
    place: &[u32],
) -> Result<ValueId, Fault> {
    let most = branches
        .iter()
        .map(|b| b.comparisons.len())
        .max()
        .unwrap_or(0);
    let n = branches.len();
    if most == 1 {
        return c.moved("bits of all", signs, place.to_vec(), vec![n]);
    }
    bounded_len(&[n, most])?;
    let mut index = vec![FILL; n * most];
    let mut first = 0;
    for (row, branch) in index.chunks_mut(most).zip(branches) {
        let own = branch.comparisons.len();
        row[..own].copy_from_slice(&place[first..first + own]);
        first += own;
    }
    let op = Op::Rearrange { index, fill: 0.0 };
    let rows = c.node("pairs", op, &[signs], vec![n, most])?;
    let sums = c.node("sums", Op::SumPool(whole(n, [1, most])), &[rows], vec![n])?;
    let less = branches.iter().map(|b| -((b.comparisons.len() / 2) as f32));
    c.each("bits of all", shifts(less.collect()), &[sums])
}

/// What the leaves that are reached say of every target together.
pub(super) fn aggregated(
    c: &mut Composer,
    reached: &Reached,
    forest: &Forest,
    aggregate: Aggregate,
    base: &[f32],
) -> Result<ValueId, Fault> {
    let factor = match aggregate {
        Aggregate::Sum => 1.0,
        Aggregate::Average => 1.0 / forest.roots.len() as f32,
        Aggregate::Min | Aggregate::Max => return farthest(c, reached, forest, aggregate, base),
    };
    bounded_len(&[forest.leaves.len(), forest.targets])?;
    let weights: Vec<f32> = forest.weights().iter().map(|w| w * factor).collect();
    let mut terms = vec![0.0; forest.targets];
    terms
        .iter_mut()
        .zip(base)
        .for_each(|(term, base)| *term = *base);
    for root in &forest.roots {
        if let &Child::Leaf(leaf) = root {
            let row = &weights[leaf * forest.targets..];
            terms.iter_mut().zip(row).for_each(|(term, w)| *term += w);
        }
    }
    selected(c, "scores", reached, [&weights, &terms])
}

/// The weights of the leaves that are reached, `[leaves * n]`, and the terms beside them.
pub(super) fn selected(
    c: &mut Composer,
    part: &str,
    reached: &Reached,
    [weights, terms]: [&[f32]; 2],
) -> Result<ValueId, Fault> {
    let n = terms.len();
    let rows = reached
        .leaves
        .iter()
        .flat_map(|&leaf| &weights[leaf * n..(leaf + 1) * n]);
    let size = [reached.leaves.len(), n];
    c.linear(
        part,
        reached.id,
        size,
        rows.copied().collect(),
        terms.into(),
    )
}

/// The least or the largest number of all trees, for every target: every tree's leaves are a group of their
/// own, as many of all.
fn farthest(
    c: &mut Composer,
    reached: &Reached,
    forest: &Forest,
    aggregate: Aggregate,
    base: &[f32],
) -> Result<ValueId, Fault> {
    let n = forest.targets;
    let all = (0..forest.leaves.len()).all(|leaf| forest.named(leaf).len() == n);
    if !all || forest.roots.iter().any(|r| matches!(r, Child::Leaf(_))) {
        return unsupported(format!(
            "it takes the {aggregate:?} of trees of which some leave out a target, or have one leaf"
        ));
    }
    let trees = forest.leaves_of_trees();
    let most = trees.iter().map(Vec::len).max().unwrap_or(0);
    let groups = trees.len();
    bounded_len(&[groups, most, n])?;
    let mut place = vec![FILL; forest.leaves.len()];
    for (at, &leaf) in reached.leaves.iter().enumerate() {
        place[leaf] = at as u32;
    }
    let sign = if aggregate == Aggregate::Min {
        -1.0
    } else {
        1.0
    };
    let values = forest.weights();
    let (mut index, mut weight) = (Vec::new(), Vec::new());
    for tree in &trees {
        let padding = most - tree.len();
        index.extend(
            tree.iter()
                .map(|&leaf| place[leaf])
                .chain(vec![FILL; padding]),
        );
        for target in 0..n {
            weight.extend(tree.iter().map(|&leaf| sign * values[leaf * n + target]));
            weight.extend(vec![0.0; padding]);
        }
    }
    let op = Op::Rearrange { index, fill: 0.0 };
    let by_tree = c.node("by tree", op, &[reached.id], vec![groups * most, 1, 1])?;
    let geometry = ConvGeometry {
        channels: groups * most,
        height: 1,
        width: 1,
        filters: groups * n,
        kernel: [1, 1],
        stride: [1, 1],
        pad: [0; 4],
        dilation: [1, 1],
        groups,
    };
    let conv = Op::Conv(Conv {
        geometry,
        weight: weight.into(),
        bias: Weights::default(),
    });
    let each = c.node("of trees", conv, &[by_tree], vec![groups * n, 1, 1])?;
    let turned = c.spread("by target", each, vec![n, groups], |e| {
        e % groups * n + e / groups
    })?;
    let max = c.node(
        "farthest",
        Op::MaxPool(whole(n, [1, groups])),
        &[turned],
        vec![n],
    )?;
    let back = if sign < 0.0 {
        c.affine("least", max, -1.0, 0.0)?
    } else {
        max
    };
    match base {
        [] => Ok(back),
        _ => c.each("base values", shifts(base.into()), &[back]),
    }
}
