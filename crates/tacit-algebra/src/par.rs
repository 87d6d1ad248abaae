//! Splitting of long buffers over threads.

use rayon::prelude::*;

/// Buffers up to this many elements stay on the calling thread.
const GRAIN: usize = 1 << 15;

/// Elements per task for a buffer of `n`: a multiple of 64 unless one task takes all.
fn task_len(n: usize) -> usize {
    let threads = rayon::current_num_threads();
    if n <= GRAIN || threads == 1 {
        return n.max(1);
    }
    n.div_ceil(4 * threads).max(GRAIN / 2).next_multiple_of(64)
}

/// Calls `f(start, part)` on parts that cover `out`; `start` is a multiple of 64.
pub(crate) fn for_each<T: Send>(out: &mut [T], f: impl Fn(usize, &mut [T]) + Sync) {
    let task = task_len(out.len());
    if out.len() <= task {
        return f(0, out);
    }
    out.par_chunks_mut(task)
        .enumerate()
        .for_each(|(i, part)| f(i * task, part));
}

/// Calls `f(start, a, b)` on parts of `n` elements where 64 elements make `a_unit` entries of
/// `a` and `b_unit` entries of `b`; `start` counts elements and is a multiple of 64.
pub(crate) fn for_each_pair<T: Send, U: Send>(
    n: usize,
    (a, a_unit): (&mut [T], usize),
    (b, b_unit): (&mut [U], usize),
    f: impl Fn(usize, &mut [T], &mut [U]) + Sync,
) {
    let task = task_len(n);
    if n <= task {
        return f(0, a, b);
    }
    let units = task / 64;
    a.par_chunks_mut(units * a_unit)
        .zip(b.par_chunks_mut(units * b_unit))
        .enumerate()
        .for_each(|(i, (a, b))| f(i * task, a, b));
}

/// Like [`for_each`] for `out` with `unit` entries for every 64 of `n` elements.
pub(crate) fn for_each_unit<T: Send>(
    n: usize,
    out: &mut [T],
    unit: usize,
    f: impl Fn(usize, &mut [T]) + Sync,
) {
    let task = task_len(n);
    if n <= task {
        return f(0, out);
    }
    out.par_chunks_mut(task / 64 * unit)
        .enumerate()
        .for_each(|(i, part)| f(i * task, part));
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
    if out.len() <= task * len {
        return out.chunks_mut(len).enumerate().for_each(|(i, s)| f(i, s));
    }
    out.par_chunks_mut(len)
        .with_min_len(task)
        .enumerate()
        .for_each(|(i, strip)| f(i, strip));
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
    match parts.as_mut_slice() {
        [rows] => f(0, rows),
        parts => parts
            .par_iter_mut()
            .enumerate()
            .for_each(|(i, rows)| f(i * task, rows)),
    }
}
