//! Steps with a dealer: one party knows the sum of two components, the two others know the third one.
//! The parties deal in turn, block by block, so that all carry the same load.

use std::ops::Range;

use super::{PARTIES, Replicated};

/// The most elements of a block: their bits fit a cache.
pub(super) const MOST: usize = 1 << 14;

/// What a party is to a block with the dealer `d`, who holds components `d` and `d + 1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Party `d`. It has a generator in common with `Left` (its own key), of component `d`.
    Dealer,
    /// Party `d - 1`: component `d + 2` is its own, `d` its next.
    Left,
    /// Party `d + 1`: component `d + 1` is its own, `d + 2` its next.
    Right,
}

/// The blocks of `n` elements, each with its dealer: as many for each party. Of few elements some are
/// empty, and their messages, too: so a call has as many hops whatever `n` is.
pub(super) fn dealt(n: usize) -> impl Iterator<Item = (usize, Range<usize>)> + Clone {
    let blocks = n.div_ceil(MOST).next_multiple_of(PARTIES).max(PARTIES);
    let step = n.div_ceil(blocks).next_multiple_of(64);
    (0..blocks).map(move |i| (i % PARTIES, (i * step).min(n)..((i + 1) * step).min(n)))
}

/// The party before `d`.
pub(super) fn left(dealer: usize) -> usize {
    (dealer + PARTIES - 1) % PARTIES
}

/// The party after `d`.
pub(super) fn right(dealer: usize) -> usize {
    (dealer + 1) % PARTIES
}

impl Replicated {
    /// This party's part in a block.
    pub(super) fn part(&self, dealer: usize) -> Part {
        match self.party.id() {
            id if id == dealer => Part::Dealer,
            id if id == left(dealer) => Part::Left,
            _ => Part::Right,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_cover_all_elements_and_load_the_parties_alike() {
        for n in [0, 1, 64, 65, 200, 1000, 3 * MOST, 10 * MOST + 1] {
            let mut load = [0; PARTIES];
            let mut end = 0;
            assert!(dealt(n).count() >= PARTIES);
            for (dealer, range) in dealt(n) {
                assert!(range.start == end && (range.is_empty() || end.is_multiple_of(64)));
                end = range.end;
                load[dealer] += range.len();
            }
            assert_eq!(end, n);
            let most = load.into_iter().max().unwrap_or(0);
            let blocks = dealt(n).count();
            assert!(most <= n / PARTIES + 64 * blocks, "{n}: {load:?}");
        }
    }
}
