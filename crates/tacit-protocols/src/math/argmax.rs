//! The largest of several values and where it stands, for every protocol that compares.

use crate::Error;
use crate::machine::{Call, KeyBits, Machine};
use crate::pool;

/// The maximum of each window and its number within the window, from 0: element `j` of window `i`
/// is `x[j * windows + i]`, differences within a window have the key bits `keys`. Of equal values
/// any may be named.
///
/// A balanced tree of `ceil(log2 size)` levels, each with one DReLU and two selections of half of
/// what is left.
pub fn argmax<M: Machine>(
    machine: &mut M,
    x: &M::Share,
    windows: usize,
    size: usize,
    keys: KeyBits,
) -> Result<[M::Share; 2], Error> {
    let given = machine.len(x);
    if given != windows * size || size == 0 {
        return Err(Error::Invalid(format!(
            "argmax of {windows} windows of {size} elements was given {given} elements"
        )));
    }
    let places: Vec<i64> = (0..size as i64)
        .flat_map(|place| std::iter::repeat_n(place, windows))
        .collect();
    let mut level = [x.clone(), machine.constant(&places)];
    for (pairs, odd) in pool::levels(size) {
        let half = pairs * windows;
        let a = level.each_ref().map(|v| machine.slice(v, 0..half));
        let b = level.each_ref().map(|v| machine.slice(v, half..2 * half));
        let difference = machine.sub(&a[0], &b[0]);
        let first = machine.drelu(&difference, keys)?;
        let mut larger = Vec::with_capacity(2);
        for (a, b) in a.iter().zip(&b) {
            larger.push(machine.select(&first, b, a)?);
        }
        if odd {
            for (larger, v) in larger.iter_mut().zip(&level) {
                let carried = machine.slice(v, 2 * half..2 * half + windows);
                *larger = machine.concat(&[larger, &carried]);
            }
        }
        let [max, place] = larger.try_into().unwrap_or_else(|_| unreachable!("two"));
        level = [max, place];
    }
    Ok(level)
}

/// The calls of [`argmax`], in their order.
pub fn argmax_calls(windows: usize, size: usize, keys: KeyBits) -> Vec<Call> {
    let level = |(pairs, _): (usize, bool)| {
        let n = pairs * windows;
        [
            Call::Drelu { n, keys },
            Call::Select { n },
            Call::Select { n },
        ]
    };
    pool::levels(size).flat_map(level).collect()
}
