//! Index maps: which element of a row-major tensor each element of a rearranged one is.

use crate::graph::FILL;

/// The offset in the input for each position along one output axis; `None` is padding.
type Axis = Vec<Option<usize>>;

/// Row-major strides.
fn strides(shape: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; shape.len()];
    for i in (1..shape.len()).rev() {
        strides[i - 1] = strides[i] * shape[i];
    }
    strides
}

/// The index map whose offset is the sum of one offset per output axis.
fn separable(axes: &[Axis]) -> Vec<u32> {
    let mut index = vec![0];
    for axis in axes {
        let offset = |offset: &Option<usize>| offset.map_or(FILL, |offset| offset as u32);
        let offsets: Vec<u32> = axis.iter().map(offset).collect();
        let filled = index.contains(&FILL) || offsets.contains(&FILL);
        let mut longer = Vec::with_capacity(index.len() * offsets.len());
        for base in index {
            match filled {
                false => longer.extend(offsets.iter().map(|offset| base + offset)),
                true => longer.extend(offsets.iter().map(|&offset| match offset {
                    FILL => FILL,
                    _ if base == FILL => FILL,
                    _ => base + offset,
                })),
            }
        }
        index = longer;
    }
    index
}

/// The map that takes along each axis the positions given; `None` is padding.
pub(crate) fn pick(shape: &[usize], positions: &[Axis]) -> Vec<u32> {
    let scale =
        |(axis, stride): (&Axis, usize)| axis.iter().map(|p| p.map(|p| p * stride)).collect();
    separable(
        &positions
            .iter()
            .zip(strides(shape))
            .map(scale)
            .collect::<Vec<Axis>>(),
    )
}

/// All positions of an axis in order.
pub(crate) fn whole(size: usize) -> Axis {
    (0..size).map(Some).collect()
}

/// Whether a map leaves all of so many elements in their places.
pub(crate) fn is_whole(index: &[u32], len: usize) -> bool {
    index.len() == len && index.iter().copied().eq(0..len as u32)
}

/// The map that makes axis `i` of the output from axis `order[i]` of the input.
pub(crate) fn transpose(shape: &[usize], order: &[usize]) -> Vec<u32> {
    let strides = strides(shape);
    let axis = |&a: &usize| (0..shape[a]).map(|p| Some(p * strides[a])).collect();
    separable(&order.iter().map(axis).collect::<Vec<Axis>>())
}

/// The map whose output axis `i`, of `out[i]` places, runs along axis `order[i]` of the input, or repeats it.
pub(crate) fn arranged(shape: &[usize], order: &[Option<usize>], out: &[usize]) -> Vec<u32> {
    let strides = strides(shape);
    let axis = |(from, &size): (&Option<usize>, &usize)| {
        let step = from.map_or(0, |a| strides[a]);
        (0..size).map(|p| Some(p * step)).collect()
    };
    separable(&order.iter().zip(out).map(axis).collect::<Vec<Axis>>())
}

/// The map whose output axis `i` runs along all input axes of `along[i]`, which have one size, at once.
pub(crate) fn diagonal(shape: &[usize], along: &[Vec<usize>]) -> Vec<u32> {
    let strides = strides(shape);
    let axis = |axes: &Vec<usize>| {
        let step: usize = axes.iter().map(|&a| strides[a]).sum();
        let size = axes.first().map_or(1, |&a| shape[a]);
        (0..size).map(|p| Some(p * step)).collect()
    };
    separable(&along.iter().map(axis).collect::<Vec<Axis>>())
}

/// The map that stretches `from` to `to` by numpy's rule; `None` where it does not fit.
pub(crate) fn broadcast(from: &[usize], to: &[usize]) -> Option<Vec<u32>> {
    let missing = to.len().checked_sub(from.len())?;
    let strides = strides(from);
    let axis = |(i, &size): (usize, &usize)| match i.checked_sub(missing) {
        None => Some(vec![Some(0); size]),
        Some(i) if from[i] == size => Some((0..size).map(|p| Some(p * strides[i])).collect()),
        Some(i) if from[i] == 1 => Some(vec![Some(0); size]),
        _ => None,
    };
    Some(separable(
        &to.iter()
            .enumerate()
            .map(axis)
            .collect::<Option<Vec<Axis>>>()?,
    ))
}

/// The shape that both can be stretched to.
pub(crate) fn common_shape(a: &[usize], b: &[usize]) -> Option<Vec<usize>> {
    let rank = a.len().max(b.len());
    let at =
        |shape: &[usize], i: usize| (i + shape.len()).checked_sub(rank).map_or(1, |i| shape[i]);
    (0..rank)
        .map(|i| match (at(a, i), at(b, i)) {
            (x, y) if x == y || y == 1 => Some(x),
            (1, y) => Some(y),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_by_hand() {
        assert_eq!(transpose(&[2, 3], &[1, 0]), [0, 3, 1, 4, 2, 5]);
        assert_eq!(
            broadcast(&[2, 1], &[2, 2, 2]),
            Some(vec![0, 0, 1, 1, 0, 0, 1, 1])
        );
        assert_eq!(broadcast(&[3], &[2]), None);
        assert_eq!(
            pick(&[2, 2], &[vec![Some(1), None], vec![Some(1), Some(0)]]),
            [3, 2, FILL, FILL]
        );
        assert_eq!(
            arranged(&[2, 3], &[Some(1), None, Some(0)], &[3, 2, 2]),
            [0, 3, 0, 3, 1, 4, 1, 4, 2, 5, 2, 5]
        );
        assert_eq!(
            diagonal(&[2, 3, 2], &[vec![1], vec![0, 2]]),
            [0, 7, 2, 9, 4, 11]
        );
        assert_eq!(common_shape(&[2, 1], &[3]), Some(vec![2, 3]));
        assert_eq!(common_shape(&[2], &[3]), None);
    }
}
