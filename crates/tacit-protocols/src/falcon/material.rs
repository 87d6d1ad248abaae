//! Correlated randomness as it lies in store between the offline and the online phase.
//!
//! One batch serves many calls; a call's [`View`] is a range of its elements.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use bytemuck::Pod;
use tacit_algebra::{Bits, Buffer, Ring};
use zeroize::Zeroize;

use crate::replicated::Rss;

/// A range of the elements of a batch.
pub(super) struct View<B> {
    pub batch: Arc<B>,
    pub range: Range<usize>,
}

impl<B: Zeroize> View<B> {
    /// Wipes the batch, if this is the last view of it.
    fn wipe(mut self) {
        if let Some(batch) = Arc::get_mut(&mut self.batch) {
            batch.zeroize();
        }
    }
}

impl<B> View<B> {
    /// The number of elements.
    pub fn len(&self) -> usize {
        self.range.len()
    }

    /// The view's part of a vector of the batch.
    pub fn slice<T: Pod>(&self, v: &Rss<Buffer<T>>) -> Rss<Buffer<T>> {
        v.part(self.range.clone())
    }

    /// The view's part of packed bits of the batch.
    pub fn bits(&self, v: &Rss<Bits>) -> Rss<Bits> {
        v.map(|component| component.slice(self.range.start, self.len()))
    }
}

/// What a private compare of a secret `x` of `rows` bits with a public number consumes
/// (docs/spec/falcon.md, section 3): everything but `beta_bit` lives in Z_p.
#[derive(Zeroize)]
pub(super) struct CompareBatch {
    /// Elements, and so the stride between the rows.
    pub stride: usize,
    /// Bits of `x`, lowest first, one row of `stride` residues each.
    pub bits: Rss<Buffer<u8>>,
    /// `beta` times each bit.
    pub products: Rss<Buffer<u8>>,
    /// The random bit that chooses the direction of the test.
    pub beta: Rss<Buffer<u8>>,
    /// `beta` as a bit over Z_2.
    pub beta_bit: Rss<Bits>,
    /// A random non-zero factor.
    pub m: Rss<Buffer<u8>>,
}

/// What a sign consumes (docs/spec/falcon.md, section 4.1): a random `x` of `l - 1` bits as three
/// summands, the parity of their wraps, and its bits.
#[derive(Zeroize)]
#[zeroize(bound = "R: bytemuck::Pod")]
pub(super) struct SignBatch<R> {
    pub x: Rss<Buffer<R>>,
    pub alpha: Rss<Bits>,
    pub compare: CompareBatch,
}

/// A random bit over Z_2 and over Z_L: what a selection consumes.
#[derive(Zeroize)]
#[zeroize(bound = "R: bytemuck::Pod")]
pub(super) struct SelectBatch<R> {
    pub bit: Rss<Bits>,
    pub word: Rss<Buffer<R>>,
}

/// What a truncation by `trunc` bits consumes: `r = low + 2^{l-1} msb`, uniform.
#[derive(Zeroize)]
#[zeroize(bound = "R: bytemuck::Pod")]
pub(super) struct TruncateBatch<R> {
    pub r: Rss<Buffer<R>>,
    /// `low >> trunc`.
    pub low_shifted: Rss<Buffer<R>>,
    /// The top bit of `r` over Z_L.
    pub msb: Rss<Buffer<R>>,
    /// Material for truncation without any error.
    pub exact: Option<ExactBatch<R>>,
}

/// The low `trunc` bits of a truncation's `r`, ready to be compared, with `beta` over Z_L as well.
#[derive(Zeroize)]
#[zeroize(bound = "R: bytemuck::Pod")]
pub(super) struct ExactBatch<R> {
    pub compare: CompareBatch,
    pub beta_word: Rss<Buffer<R>>,
}

/// Prepared material in the order in which the plan's calls consume it.
pub(super) struct Store<R> {
    pub signs: VecDeque<View<SignBatch<R>>>,
    /// Signs over 32 bits, where comparisons are narrower than the ring.
    pub narrow_signs: VecDeque<View<SignBatch<u32>>>,
    pub selects: VecDeque<View<SelectBatch<R>>>,
    pub truncations: VecDeque<(u32, View<TruncateBatch<R>>)>,
    /// What wipes all of it: a store is dropped without knowing more of `R`.
    wipe: fn(&mut Store<R>),
}

impl<R: Ring> Store<R> {
    pub fn new() -> Self {
        Store {
            signs: VecDeque::new(),
            narrow_signs: VecDeque::new(),
            selects: VecDeque::new(),
            truncations: VecDeque::new(),
            wipe: Store::wipe,
        }
    }

    fn wipe(&mut self) {
        self.signs.drain(..).for_each(View::wipe);
        self.narrow_signs.drain(..).for_each(View::wipe);
        self.selects.drain(..).for_each(View::wipe);
        let truncations = self.truncations.drain(..);
        truncations.for_each(|(_, view)| view.wipe());
    }
}

/// Wipes what was not consumed: after a service's last request, or after cheating.
impl<R> Drop for Store<R> {
    fn drop(&mut self) {
        (self.wipe)(self);
    }
}

/// Takes the next view of exactly `n` elements. `None` if the next is of another size: material is
/// never stretched or reused.
pub(super) fn take<B>(queue: &mut VecDeque<View<B>>, n: usize) -> Option<View<B>> {
    if queue.front()?.len() == n {
        queue.pop_front()
    } else {
        None
    }
}

/// Takes the next view of exactly `n` truncations by `trunc` bits; `None` if the next is another
/// one.
pub(super) fn take_truncation<R>(
    queue: &mut VecDeque<(u32, View<TruncateBatch<R>>)>,
    n: usize,
    trunc: u32,
) -> Option<View<TruncateBatch<R>>> {
    let (prepared, view) = queue.front()?;
    if *prepared == trunc && view.len() == n {
        queue.pop_front().map(|(_, view)| view)
    } else {
        None
    }
}
