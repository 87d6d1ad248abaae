//! Sums along axes and their opposite, which are local, and means, which are not.

use tacit_protocols::machine::{Erased, Handle, Machine};

use crate::{Error, FixedPoint};

/// The sums of the columns of `rows` x `columns`: halves are added again and again.
pub(crate) fn row_sums(
    machine: &mut Erased,
    x: &Handle,
    mut rows: usize,
    columns: usize,
) -> Handle {
    let mut x = x.clone();
    while rows > 1 {
        let half = rows / 2 * columns;
        let (a, b) = (
            machine.slice(&x, 0..half),
            machine.slice(&x, half..2 * half),
        );
        let mut sum = machine.add(&a, &b);
        if rows % 2 == 1 {
            let last = machine.slice(&x, 2 * half..2 * half + columns);
            sum = machine.concat(&[&sum, &last]);
        }
        x = sum;
        rows = rows.div_ceil(2);
    }
    x
}

/// The sums of every channel of `batch` x `channels` x `plane`.
pub(crate) fn channel_sums(
    machine: &mut Erased,
    x: &Handle,
    [batch, channels, plane]: [usize; 3],
) -> Handle {
    if plane == 1 {
        return row_sums(machine, x, batch, channels);
    }
    let items = row_sums(machine, x, batch, channels * plane);
    let last = machine.gather(&items, &transposed(channels, plane));
    row_sums(machine, &last, plane, channels)
}

/// A sum over `m`: without as many bits as `m` has, which is less than twice the mean, times what is left of the
/// factor. So means are below what every product is below. 2 truncations; 1 where `m` is 1.
pub(crate) fn mean_of(
    machine: &mut Erased,
    fixed: FixedPoint,
    (sum, m): (Handle, usize),
) -> Result<Handle, Error> {
    let (whole, trunc) = (m.ilog2(), fixed.fraction.min(20));
    let sum = match whole {
        0 => sum,
        _ => machine.truncate(&sum, whole)?,
    };
    let factor = (f64::from(trunc + whole).exp2() / m as f64).round() as i64;
    let scaled = machine.scale(&sum, factor);
    Ok(machine.truncate(&scaled, trunc)?)
}

/// One value for each channel at all its elements of `batch` x `channels` x `plane`.
pub(crate) fn spread(
    machine: &mut Erased,
    x: &Handle,
    [batch, channels, plane]: [usize; 3],
) -> Handle {
    let item = (0..channels as u32).flat_map(|c| std::iter::repeat_n(c, plane));
    let item: Vec<u32> = item.collect();
    machine.gather(x, &item.repeat(batch))
}

/// The index that gathers `rows` x `columns` in the order of its columns.
pub(crate) fn transposed(rows: usize, columns: usize) -> Vec<u32> {
    let column = |c: usize| (0..rows).map(move |r| (r * columns + c) as u32);
    (0..columns).flat_map(column).collect()
}
