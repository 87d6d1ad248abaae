//! Bounds on the sizes that a plan from another party may name.

/// The most axes of a shape.
pub(super) const MAX_AXES: usize = 16;
/// The largest of the numbers that describe a geometry.
const MAX_SIZE: usize = 1 << 24;
/// The most elements of one value, weight or set of windows.
pub(super) const MAX_ELEMENTS: usize = 1 << 28;

/// The result of a check: the error says what is wrong.
pub(super) type Check = Result<(), String>;

/// An error with the reason `why` unless the condition holds.
pub(super) fn ensure(condition: bool, why: impl FnOnce() -> String) -> Check {
    if condition { Ok(()) } else { Err(why()) }
}

/// The product, if it is positive and at most [`MAX_ELEMENTS`].
pub(super) fn product(sizes: &[usize]) -> Result<usize, String> {
    let product = sizes
        .iter()
        .try_fold(1usize, |product, &d| product.checked_mul(d));
    product
        .filter(|&n| n > 0 && n <= MAX_ELEMENTS)
        .ok_or_else(|| format!("the sizes {sizes:?} are out of bounds"))
}

/// The elements of a shape.
pub(super) fn shape(shape: &[usize]) -> Result<usize, String> {
    ensure(shape.len() <= MAX_AXES, || {
        format!("a shape has {} axes", shape.len())
    })?;
    product(shape)
}

/// Refuses sizes of a geometry that are below `smallest` or too large.
pub(super) fn check_sizes(sizes: &[usize], smallest: usize) -> Check {
    ensure(
        sizes.iter().all(|s| (smallest..=MAX_SIZE).contains(s)),
        || format!("the sizes {sizes:?} are out of bounds"),
    )
}
