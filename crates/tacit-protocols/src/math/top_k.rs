//! The places of the largest of several values in their order, for every protocol that compares
//! (docs/spec/functions.md, section 9).
//!
//! One place is that of a tree ([`argmax`]). For more, every two elements of a group are compared at
//! once: how many beat an element is its rank, and the place of rank `r` is the sum of the places of
//! all with a rank up to `r` less the same for `r - 1`. Of many elements groups are ranked first, and
//! then the best of all groups.
//!
//! Of equal values the first comes first: an element beats the later ones that equal it. The best of
//! a group are in order, groups stand in the order of their elements, and so an equal value that
//! stands to the left is always earlier.

use std::ops::Range;

use super::argmax::argmax;
use crate::Error;
use crate::machine::{Erased, Handle, KeyBits, Machine, MatMul, Operand};

/// The places of the `k` largest elements of each window, from 0: the largest first, of equal ones the
/// first first.
///
/// Hops: for `k` = 1 those of `ceil(log2 size)` comparisons and twice as many selections, less one; for
/// more those of 2 comparisons and 2 or 3 selections for each level of groups, one up to 32 elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopK {
    /// Windows; each has `size` elements, one after the other.
    pub windows: usize,
    /// Elements of a window.
    pub size: usize,
    /// Places of a window that are found.
    pub k: usize,
    /// Where the signs of differences within a window are. No low bit may be dropped: places of
    /// values that are nearly equal would not be places.
    pub keys: KeyBits,
    /// Bits of the values, where tensors have widths of their own.
    pub bits: Option<u32>,
}

/// Elements that are ranked together at least.
const GROUP: usize = 32;

impl TopK {
    /// The most places that can be asked for.
    pub const MOST: usize = 32;

    /// The elements that each element of a window becomes at most on the way.
    pub fn copies(&self) -> usize {
        self.group().min(self.size)
    }

    /// The places: `k` of the first window in order, then those of the next.
    pub fn apply(&self, machine: &mut Erased, x: &Handle) -> Result<Handle, Error> {
        self.check(machine.len(x))?;
        let &TopK { windows, size, .. } = self;
        if self.k == 1 {
            let column = |j: usize| (0..windows).map(move |i| (i * size + j) as u32);
            let columns = || (0..size).flat_map(column).collect();
            let x = machine.gather_by(x, windows * size, columns);
            return argmax(machine, &x, [windows, size], self.keys, self.place_bits());
        }
        let all = || (0..size as i64).collect::<Vec<_>>().repeat(windows);
        let mut places = known_places(machine, self.place_bits(), windows * size, all)?;
        let mut values = x.clone();
        for level in self.levels() {
            if level.last {
                return Ok(self.best(machine, [&values, &places], level)?.0);
            }
            let grouped = level.groups * level.size;
            let first = |all| {
                let n = windows * grouped;
                machine.gather_by(all, n, || level.part(windows, 0..grouped))
            };
            let [v, p] = [&values, &places].map(first);
            let (p, v) = self.best(machine, [&v, &p], level)?;
            let mut join = |best: Handle, all: &Handle| {
                let rest = || level.part(windows, grouped..grouped + level.rest);
                let rest = machine.gather_by(all, windows * level.rest, rest);
                let both = machine.concat(&[&best, &rest]);
                let n = machine.len(&both);
                machine.gather_by(&both, n, || level.joined(windows, self.k))
            };
            places = join(p, &places);
            values = match v {
                Some(v) => join(v, &values),
                None => unreachable!("only the last level leaves the values"),
            };
        }
        unreachable!("the last of the levels ends the search")
    }

    fn check(&self, given: usize) -> Result<(), Error> {
        let TopK {
            windows, size, k, ..
        } = *self;
        let fits = windows.checked_mul(size) == Some(given) && (1..=size).contains(&k);
        if fits && k <= Self::MOST && self.keys.dropped == 0 {
            return Ok(());
        }
        Err(Error::Invalid(format!(
            "the places of the {k} largest in {windows} windows of {size} elements, {given} in all, by \
             signs of {:?}: 1 to {} of a window are found, by signs without a dropped bit",
            self.keys,
            Self::MOST
        )))
    }

    fn group(&self) -> usize {
        GROUP.max(4 * self.k)
    }

    fn place_bits(&self) -> Option<u32> {
        self.bits.map(|_| bits(self.size) + 1)
    }

    /// The levels; whole groups are ranked, what is left over goes on to the next.
    fn levels(&self) -> Vec<Level> {
        let (group, mut left, mut all) = (self.group(), self.size, Vec::new());
        while left > group {
            let (groups, rest) = (left / group, left % group);
            all.push(Level {
                groups,
                size: group,
                rest,
                last: false,
            });
            left = groups * self.k + rest;
        }
        all.push(Level {
            groups: 1,
            size: left,
            rest: 0,
            last: true,
        });
        all
    }

    /// The places of the best of every group in their order, and but for the last level their values.
    fn best(
        &self,
        machine: &mut Erased,
        [values, places]: [&Handle; 2],
        level: Level,
    ) -> Result<(Handle, Option<Handle>), Error> {
        let (rows, size, k) = (self.windows * level.groups, level.size, self.k);
        let ranks = self.ranks(machine, values, [rows, size])?;
        let of_row = |row: usize| (0..k * size).map(move |i| (row * size + i % size) as u32);
        let n = rows * k * size;
        let index = || (0..rows).flat_map(of_row).collect();
        let thresholds = || (0..k * size).map(|i| (i / size) as i64).collect::<Vec<_>>();
        let thresholds = machine.constant_by(n, || thresholds().repeat(rows));
        let ranks = machine.gather_by(&ranks, n, index);
        let below = machine.sub(&thresholds, &ranks);
        let reached = machine.drelu(&below, rank_keys(size))?;
        let zeros = machine.constant_by(n, || vec![0; n]);
        // Row (r, element): what has a rank up to r counts for r, and not for r + 1.
        let sums = machine.public_by(|| {
            let mut sums = vec![0; k * size * k];
            for i in 0..k * size {
                let r = i / size;
                sums[i * k + r] = 1;
                if r + 1 < k {
                    sums[i * k + r + 1] = -1;
                }
            }
            sums
        });
        let shape = MatMul {
            m: rows,
            k: k * size,
            n: k,
        };
        let mut chosen = |of: &Handle| {
            let of = machine.gather_by(of, n, index);
            let reached = machine.select(&reached, &zeros, &of)?;
            machine.matmul(&reached, &sums, None, shape, 0)
        };
        let places = chosen(places)?;
        let values = match level.last {
            true => None,
            false => Some(chosen(values)?),
        };
        Ok((places, values))
    }

    /// How many elements of its group beat each.
    fn ranks(
        &self,
        machine: &mut Erased,
        values: &Handle,
        [rows, size]: [usize; 2],
    ) -> Result<Handle, Error> {
        let each = pairs(size).count();
        let n = rows * each;
        let mut side = |of: fn((usize, usize)) -> usize| {
            let of_row = |row: usize| pairs(size).map(move |pair| (row * size + of(pair)) as u32);
            machine.gather_by(values, n, || (0..rows).flat_map(of_row).collect())
        };
        let (a, b) = (side(|pair| pair.0), side(|pair| pair.1));
        let difference = machine.sub(&a, &b);
        let first = machine.drelu(&difference, self.keys)?;
        let bits = self.place_bits();
        let zeros = known_places(machine, bits, n, || vec![0; n])?;
        let ones = known_places(machine, bits, n, || vec![1; n])?;
        let first = machine.select(&first, &zeros, &ones)?;
        // Whoever stands first beats the other, or else is beaten by it.
        let beaten = machine.public_by(|| {
            let mut beaten = vec![0; each * size];
            for (row, (a, b)) in beaten.chunks_mut(size).zip(pairs(size)) {
                (row[a], row[b]) = (-1, 1);
            }
            beaten
        });
        let later: Vec<i64> = (0..size).map(|i| (size - 1 - i) as i64).collect();
        let shape = MatMul {
            m: rows,
            k: each,
            n: size,
        };
        let later = Operand::Public(later.into());
        machine.matmul(&first, &beaten, Some(&later), shape, 0)
    }
}

/// The pairs of elements of a group, the earlier one first.
fn pairs(size: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..size).flat_map(move |a| (a + 1..size).map(move |b| (a, b)))
}

/// Bits of the magnitudes below `size`.
fn bits(size: usize) -> u32 {
    usize::BITS - (size.max(2) - 1).leading_zeros()
}

/// Where the signs of differences of two ranks are.
fn rank_keys(size: usize) -> KeyBits {
    let kept = bits(size);
    KeyBits {
        kept,
        ..KeyBits::within(kept + 1)
    }
}

/// Groups of a window that are ranked at once.
#[derive(Clone, Copy)]
struct Level {
    groups: usize,
    size: usize,
    /// Elements after the last group.
    rest: usize,
    last: bool,
}

impl Level {
    /// The elements of `part` of all windows.
    fn part(self, windows: usize, part: Range<usize>) -> Vec<u32> {
        let all = self.groups * self.size + self.rest;
        let of_window = |i: usize| part.clone().map(move |j| (i * all + j) as u32);
        (0..windows).flat_map(of_window).collect()
    }

    /// The places of the best of all groups of all windows, and then of what was left over: window by window.
    fn joined(self, windows: usize, k: usize) -> Vec<u32> {
        let (best, rest) = (self.groups * k, self.rest);
        let of_window = |i: usize| {
            let left_over = windows * best + i * rest;
            (i * best..(i + 1) * best).chain(left_over..left_over + rest)
        };
        let all = (0..windows).flat_map(of_window);
        all.map(|element| element as u32).collect()
    }
}

/// Places that everybody knows, in so many bits where tensors have widths of their own.
pub(super) fn known_places(
    machine: &mut Erased,
    bits: Option<u32>,
    n: usize,
    places: impl FnOnce() -> Vec<i64>,
) -> Result<Handle, Error> {
    let places = machine.constant_by(n, places);
    match bits {
        Some(bits) => machine.resize(&places, 0, bits),
        None => Ok(places),
    }
}
