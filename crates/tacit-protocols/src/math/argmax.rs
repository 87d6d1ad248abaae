//! Where the largest of several values stands, for every protocol that compares
//! (docs/spec/functions.md, section 9).

use super::top_k::Widths;
use crate::Error;
use crate::machine::{Call, KeyBits, Machine};
use crate::pool;

/// The place, from 0, of the largest element of each window; of equal ones the first. Element `j`
/// of window `i` is `x[j * windows + i]`, differences within a window have the key bits `keys`.
///
/// A balanced tree of `ceil(log2 size)` levels, each with one DReLU and two selections of half of
/// what is left; the last selects no value. Neighbours meet, so that what stands to the left is
/// always earlier: it stays unless the other is larger.
pub(super) fn argmax<M: Machine>(
    machine: &mut M,
    x: &M::Share,
    [windows, size]: [usize; 2],
    keys: KeyBits,
    widths: Widths,
) -> Result<M::Share, Error> {
    let all: Vec<i64> = (0..size as i64)
        .flat_map(|place| std::iter::repeat_n(place, windows))
        .collect();
    let mut places = widths.places(machine, &all)?;
    let mut values = x.clone();
    for (pairs, odd) in pool::levels(size) {
        let sides = [0, 1].map(|side| rows(windows, (0..pairs).map(|pair| 2 * pair + side)));
        let [a, b] = sides.each_ref().map(|side| machine.gather(&values, side));
        let difference = machine.sub(&a, &b);
        let first = machine.drelu(&difference, keys)?;
        let half = pairs * windows;
        let odd = odd.then_some(2 * half..2 * half + windows);
        if pairs > 1 || odd.is_some() {
            let larger = machine.select(&first, &b, &a)?;
            values = match odd.clone() {
                None => larger,
                Some(odd) => {
                    let carried = machine.slice(&values, odd);
                    machine.concat(&[&larger, &carried])
                }
            };
        }
        let [a, b] = sides.each_ref().map(|side| machine.gather(&places, side));
        let nearer = machine.select(&first, &b, &a)?;
        places = match odd {
            None => nearer,
            Some(odd) => {
                let carried = machine.slice(&places, odd);
                machine.concat(&[&nearer, &carried])
            }
        };
    }
    Ok(places)
}

/// The calls of [`argmax`], in their order.
pub(super) fn argmax_calls(
    [windows, size]: [usize; 2],
    keys: KeyBits,
    widths: Widths,
) -> Vec<Call> {
    let level = |(pairs, odd): (usize, bool)| {
        let n = pairs * windows;
        let values = (pairs > 1 || odd).then(|| widths.select_values(n));
        let compare = [widths.compare_values(n, keys)];
        let places = [widths.select_places(n)];
        compare.into_iter().chain(values).chain(places)
    };
    pool::levels(size).flat_map(level).collect()
}

/// The elements of some rows of `windows` elements.
pub(super) fn rows(windows: usize, rows: impl Iterator<Item = usize>) -> Vec<u32> {
    rows.flat_map(|row| row * windows..(row + 1) * windows)
        .map(|element| element as u32)
        .collect()
}
