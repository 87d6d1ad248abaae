//! Pooling and its derivative (Falcon, Algorithm 4, section 3.6).
//!
//! Differs from the paper, which keeps the one-hot place of the maximum: the tree's comparisons are
//! kept, and the gradient goes back through them, one selection for each comparison. To the place of
//! the maximum comes the gradient, to the others 0, as their product with the one-hot place.

use tacit_nn::graph::Pool;
use tacit_protocols::machine::{Erased, Handle, KeyBits, Machine, PAD};
use tacit_protocols::pool::levels;

use super::{Mode, Saved, mean_of};
use crate::{Error, FixedPoint};

/// A factor of so many units is off by a thousandth at most.
const EXACT: i64 = 512;

/// The maximum of every window.
pub(super) fn max_forward(
    machine: &mut Erased,
    x: &Handle,
    pool: &Pool,
    batch: usize,
    mode: Mode,
) -> Result<(Handle, Saved), Error> {
    let (windows, size) = (batch * pool.out_len(), pool.window());
    let mut level = machine.gather(x, &taps(pool, batch));
    if mode == Mode::Predict {
        let y = machine.maxpool(&level, windows, size, KeyBits::ALL)?;
        return Ok((y, Saved::Nothing));
    }
    let mut tree = Vec::new();
    for (pairs, odd) in levels(size) {
        let half = pairs * windows;
        let a = machine.slice(&level, 0..half);
        let b = machine.slice(&level, half..2 * half);
        let difference = machine.sub(&a, &b);
        let first = machine.drelu(&difference, KeyBits::ALL)?;
        let mut larger = machine.select(&first, &b, &a)?;
        if odd {
            let carried = machine.slice(&level, 2 * half..2 * half + windows);
            larger = machine.concat(&[&larger, &carried]);
        }
        tree.push(first);
        level = larger;
    }
    Ok((level, Saved::Tree(tree)))
}

/// The gradient at the places of the maxima.
pub(super) fn max_backward(
    machine: &mut Erased,
    tree: &[Handle],
    dy: &Handle,
    pool: &Pool,
    batch: usize,
) -> Result<Handle, Error> {
    let windows = batch * pool.out_len();
    let all: Vec<_> = levels(pool.window()).collect();
    let mut level = dy.clone();
    for ((pairs, odd), first) in all.into_iter().zip(tree).rev() {
        let half = pairs * windows;
        let larger = machine.slice(&level, 0..half);
        let zero = machine.constant(&vec![0; half]);
        let a = machine.select(first, &zero, &larger)?;
        let b = machine.sub(&larger, &a);
        level = match odd {
            true => {
                let carried = machine.slice(&level, half..half + windows);
                machine.concat(&[&a, &b, &carried])
            }
            false => machine.concat(&[&a, &b]),
        };
    }
    Ok(scatter(machine, &level, pool, batch))
}

/// The mean of every window ([`divided`]).
pub(super) fn mean_forward(
    machine: &mut Erased,
    fixed: FixedPoint,
    x: &Handle,
    pool: &Pool,
    batch: usize,
) -> Result<Handle, Error> {
    let windows = batch * pool.out_len();
    let taps = machine.gather(x, &taps(pool, batch));
    let sum = super::row_sums(machine, &taps, pool.window(), windows);
    divided(machine, fixed, &sum, pool)
}

/// The gradient shared by all places of a window ([`divided`]).
pub(super) fn mean_backward(
    machine: &mut Erased,
    fixed: FixedPoint,
    dy: &Handle,
    pool: &Pool,
    batch: usize,
) -> Result<Handle, Error> {
    let each = divided(machine, fixed, dy, pool)?;
    let parts = vec![&each; pool.window()];
    let taps = machine.concat(&parts);
    Ok(scatter(machine, &taps, pool, batch))
}

/// A number over the elements of a window. 1 truncation; 2 where few fraction bits are left of the factor.
fn divided(
    machine: &mut Erased,
    fixed: FixedPoint,
    x: &Handle,
    pool: &Pool,
) -> Result<Handle, Error> {
    let factor = fixed.encode(1.0 / pool.window() as f64);
    if factor < EXACT {
        return mean_of(machine, fixed, (x.clone(), pool.window()));
    }
    let scaled = machine.scale(x, factor);
    Ok(machine.truncate(&scaled, fixed.fraction)?)
}

/// Element `j` of window `i` at place `j windows + i`.
fn taps(pool: &Pool, batch: usize) -> Vec<u32> {
    let (item, out) = (pool.in_len(), pool.out_len());
    let mut index = Vec::with_capacity(pool.window() * batch * out);
    for tap in 0..pool.window() {
        for first in (0..batch).map(|i| i * item) {
            let places = (0..out).map(|e| pool.tap(e, tap).map_or(PAD, |at| (first + at) as u32));
            index.extend(places);
        }
    }
    index
}

/// The sum, for each element of the input, of what stands at its places in the windows. Where windows
/// overlap an element has several: as many gathers as the most have.
fn scatter(machine: &mut Erased, level: &Handle, pool: &Pool, batch: usize) -> Handle {
    let (item, out) = (pool.in_len(), pool.out_len());
    let mut places: Vec<Vec<u32>> = Vec::new();
    let mut used = vec![0; item];
    for tap in 0..pool.window() {
        for e in 0..out {
            let Some(at) = pool.tap(e, tap) else { continue };
            if places.len() == used[at] {
                places.push(vec![PAD; batch * item]);
            }
            for i in 0..batch {
                places[used[at]][i * item + at] = ((tap * batch + i) * out + e) as u32;
            }
            used[at] += 1;
        }
    }
    let mut sum = None;
    for index in &places {
        let part = machine.gather(level, index);
        sum = Some(match sum {
            Some(sum) => machine.add(&sum, &part),
            None => part,
        });
    }
    sum.unwrap_or_else(|| machine.constant(&vec![0; batch * item]))
}
