//! Material is made in batches: hops are paid per batch, and so is memory.

/// Groups wants of `len` elements into batches of at most `most` elements. A want of more is a
/// batch by itself; one of no elements is left out.
pub(crate) fn group<W>(
    wants: impl Iterator<Item = W>,
    len: impl Fn(&W) -> usize,
    most: usize,
) -> Vec<Vec<W>> {
    let mut batches: Vec<Vec<W>> = Vec::new();
    let mut elements = 0;
    for want in wants.filter(|want| len(want) > 0) {
        if batches.is_empty() || elements + len(&want) > most {
            batches.push(Vec::new());
            elements = 0;
        }
        elements += len(&want);
        batches.last_mut().expect("a batch was pushed").push(want);
    }
    batches
}
