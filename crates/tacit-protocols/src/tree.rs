//! Products of many factors as a balanced tree.

/// The levels of a product tree over `leaves` factors but for the last, each with its pairs.
pub(crate) fn levels(leaves: usize) -> impl Iterator<Item = usize> {
    let mut left = leaves;
    std::iter::from_fn(move || {
        (left > 2).then(|| {
            let pairs = left / 2;
            left -= pairs;
            pairs
        })
    })
}
