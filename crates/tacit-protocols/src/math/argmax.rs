//! Where the largest of several values stands, for every protocol that compares
//! (docs/spec/functions.md, section 9).

use super::top_k::known_places;
use crate::Error;
use crate::machine::{Erased, Handle, KeyBits, Machine};
use crate::pool;

/// The place, from 0, of the largest element of each window; of equal ones the first. Element `j`
/// of window `i` is `x[j * windows + i]`, differences within a window have the key bits `keys`.
///
/// A balanced tree of `ceil(log2 size)` levels, each with one DReLU and two selections of half of
/// what is left; the last selects no value. Neighbours meet, so that what stands to the left is
/// always earlier: it stays unless the other is larger.
pub(super) fn argmax(
    machine: &mut Erased,
    x: &Handle,
    [windows, size]: [usize; 2],
    keys: KeyBits,
    place_bits: Option<u32>,
) -> Result<Handle, Error> {
    let of_place = |place| std::iter::repeat_n(place, windows);
    let all = || (0..size as i64).flat_map(of_place).collect();
    let mut places = known_places(machine, place_bits, windows * size, all)?;
    let mut values = x.clone();
    for (pairs, odd) in pool::levels(size) {
        let half = pairs * windows;
        let sides = |machine: &mut Erased, of: &Handle| {
            [0, 1].map(|side| {
                let rows = || rows(windows, (0..pairs).map(|pair| 2 * pair + side));
                machine.gather_by(of, half, rows)
            })
        };
        let [a, b] = sides(machine, &values);
        let difference = machine.sub(&a, &b);
        let first = machine.drelu(&difference, keys)?;
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
        let [a, b] = sides(machine, &places);
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

/// The elements of some rows of `windows` elements.
pub(super) fn rows(windows: usize, rows: impl Iterator<Item = usize>) -> Vec<u32> {
    rows.flat_map(|row| row * windows..(row + 1) * windows)
        .map(|element| element as u32)
        .collect()
}
