//! Splitting of long buffers over threads. What splits is compiled once for all closures.

use std::cell::Cell;
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

/// Buffers up to this many elements stay on the calling thread.
const GRAIN: usize = 1 << 15;

thread_local! {
    /// How many threads compute at the same time, this one among them.
    static SHARED: Cell<usize> = const { Cell::new(1) };
}

/// Runs `f`, one of so many that compute at the same time and share the processor's cores: handing a
/// buffer to threads that are busy costs more than it saves.
pub fn sharing_cores<T>(parties: usize, f: impl FnOnce() -> T) -> T {
    struct Restore(usize);
    impl Drop for Restore {
        fn drop(&mut self) {
            SHARED.set(self.0);
        }
    }
    let _restore = Restore(SHARED.replace(parties.max(1)));
    f()
}

/// Threads that this one may hand parts of a buffer to.
pub(crate) fn threads() -> usize {
    (rayon::current_num_threads() / SHARED.get()).max(1)
}

/// Elements per task for a buffer of `n`: a multiple of 64 unless one task takes all.
fn task_len(n: usize) -> usize {
    let threads = threads();
    if n <= GRAIN || threads == 1 {
        return n.max(1);
    }
    n.div_ceil(4 * threads).max(GRAIN / 2).next_multiple_of(64)
}

/// Calls `f(i, part)` for every part, in as many tasks.
fn each<P: Send>(parts: impl Iterator<Item = P>, f: &(dyn Fn(usize, P) + Sync)) {
    let parts: Vec<_> = parts.map(|part| Mutex::new(Some(part))).collect();
    tasks(parts.len(), &|i| {
        let part = parts[i]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        part.into_iter().for_each(|part| f(i, part));
    });
}

/// Calls `f(i)` for every `i` below `n`, each in a task.
pub(crate) fn tasks(n: usize, f: &(dyn Fn(usize) + Sync)) {
    match n {
        1 => f(0),
        n if threads() == 1 => (0..n).for_each(f),
        n => (0..n).into_par_iter().for_each(f),
    }
}

/// Calls `f(start, part)` on parts that cover `out`; `start` is a multiple of 64.
pub(crate) fn for_each<T: Send>(out: &mut [T], f: impl Fn(usize, &mut [T]) + Sync) {
    units(out.len(), out, 64, &f);
}

/// Like [`for_each`] for `out` with `unit` entries for every 64 of `n` elements.
pub(crate) fn for_each_unit<T: Send>(
    n: usize,
    out: &mut [T],
    unit: usize,
    f: impl Fn(usize, &mut [T]) + Sync,
) {
    units(n, out, unit, &f);
}

fn units<T: Send>(n: usize, out: &mut [T], unit: usize, f: &(dyn Fn(usize, &mut [T]) + Sync)) {
    let task = task_len(n);
    if n <= task {
        return f(0, out);
    }
    let parts = out.chunks_mut(task / 64 * unit);
    each(parts, &|i, part| f(i * task, part));
}

type OnPairs<'a, T, U> = dyn Fn(usize, &mut [T], &mut [U]) + Sync + 'a;

/// Calls `f(start, a, b)` on parts of `n` elements where 64 elements make `a_unit` entries of
/// `a` and `b_unit` entries of `b`; `start` counts elements and is a multiple of 64.
pub(crate) fn for_each_pair<T: Send, U: Send>(
    n: usize,
    (a, a_unit): (&mut [T], usize),
    (b, b_unit): (&mut [U], usize),
    f: impl Fn(usize, &mut [T], &mut [U]) + Sync,
) {
    let f: &OnPairs<T, U> = &f;
    let task = task_len(n);
    if n <= task {
        return f(0, a, b);
    }
    let units = task / 64;
    let parts = a
        .chunks_mut(units * a_unit)
        .zip(b.chunks_mut(units * b_unit));
    each(parts, &|i, (a, b)| f(i * task, a, b));
}

/// Calls `f(i, strip)` on strips of `len` entries that cover `out`, the last one perhaps shorter.
/// A strip stands for `weight` elements of work.
pub(crate) fn for_each_strip<T: Send>(
    out: &mut [T],
    len: usize,
    weight: usize,
    f: impl Fn(usize, &mut [T]) + Sync,
) {
    let task = task_len(out.len().div_ceil(len) * weight).div_ceil(weight);
    let part = |i: usize, part: &mut [T]| {
        let strips = part.chunks_mut(len).enumerate();
        strips.for_each(|(j, strip)| f(i * task + j, strip));
    };
    match out.len() <= task * len {
        true => part(0, out),
        false => each(out.chunks_mut(task * len), &part),
    }
}

/// Splits the columns of a row-major matrix of `cols` columns over threads: `f(start, rows)`
/// gets the rows' parts from column `start` on. A column stands for `weight` elements of work.
pub(crate) fn for_each_columns<T: Send>(
    out: &mut [T],
    cols: usize,
    weight: usize,
    f: impl Fn(usize, &mut [&mut [T]]) + Sync,
) {
    if !out.is_empty() {
        for_each_part(out.chunks_mut(cols), cols, weight, f);
    }
}

/// Like [`for_each_columns`] for rows that lie apart, each of `cols` elements.
pub(crate) fn for_each_part<'a, T: Send + 'a>(
    rows: impl Iterator<Item = &'a mut [T]>,
    cols: usize,
    weight: usize,
    f: impl Fn(usize, &mut [&mut [T]]) + Sync,
) {
    let weight = weight.max(1);
    let task = task_len(cols * weight).div_ceil(weight);
    let mut parts: Vec<Vec<&mut [T]>> = Vec::new();
    parts.resize_with(cols.div_ceil(task), Vec::new);
    for row in rows {
        for (part, columns) in parts.iter_mut().zip(row.chunks_mut(task)) {
            part.push(columns);
        }
    }
    let f: &(dyn Fn(usize, &mut [&mut [T]]) + Sync) = &f;
    match parts.as_mut_slice() {
        [rows] => f(0, rows),
        parts => each(parts.iter_mut(), &|i, rows| f(i * task, rows)),
    }
}
