//! Correlated randomness as it lies in store between the offline and the online phase.
//!
//! Rows of bits and the like are laid out `[row][element]`.

use tacit_algebra::Buffer;
use tacit_algebra::sliced::Sliced;
use zeroize::Zeroize;

use super::deal::Double;
use super::demand::Want;
use super::small::{BitDoubles, EdaBits};
use crate::material_queue::MaterialQueue;

/// What a truncation consumes (docs/spec/liu24.md, section 2.2, TruncTriple).
#[derive(Zeroize)]
#[zeroize(bound = "F: bytemuck::Pod")]
pub(super) struct TruncTriple<F> {
    /// The mask: `<r>` for a product, `[r]` for a sharing.
    pub mask: Buffer<F>,
    /// `r >> d`.
    pub shifted: Buffer<F>,
    /// The top bit of `r`.
    pub msb: Buffer<F>,
}

/// What a comparison by the tree over the small field consumes (docs/spec/liu24.md, section 6.1).
#[derive(Zeroize)]
#[zeroize(bound = "F: bytemuck::Pod")]
pub(super) struct SmallTree<F> {
    /// `r` with its bits.
    pub mask: EdaBits<F>,
    /// A random bit, over both fields.
    pub bit: Buffer<F>,
    pub small_bit: Sliced,
    /// Doubles for the products of the comparison.
    pub products: BitDoubles,
    /// Doubles for what follows the comparison.
    pub double: Double<F>,
}

/// What a comparison by the tree over the large field consumes (docs/spec/liu24.md, section 6.2).
#[derive(Zeroize)]
#[zeroize(bound = "F: bytemuck::Pod")]
pub(super) struct Tree<F> {
    /// `r` and its bits.
    pub mask: Buffer<F>,
    pub bits: Buffer<F>,
    /// The random bit that chooses the direction, and `r`'s lowest bit times it.
    pub b: Buffer<F>,
    pub flip: Buffer<F>,
    /// A random factor other than 0.
    pub m: Buffer<F>,
    /// Doubles for the inner nodes, and for what follows the comparison.
    pub double: Double<F>,
    /// Zeros for the opening of the comparison's root.
    pub zero: Buffer<F>,
}

/// What a comparison by the rotation consumes (docs/spec/liu24.md, section 6.3).
#[derive(Zeroize)]
#[zeroize(bound = "F: bytemuck::Pod")]
pub(super) struct Rot<F> {
    /// `r` and its bits.
    pub mask: Buffer<F>,
    pub bits: Buffer<F>,
    /// A secret shift, one-hot.
    pub shift: Buffer<F>,
    /// Random factors other than 0, one for each place.
    pub m: Buffer<F>,
    /// Doubles for the rotation, and for what follows the comparison.
    pub double: Double<F>,
    /// Zeros for the opening.
    pub zero: Buffer<F>,
}

/// Material for one want.
#[derive(Zeroize)]
#[zeroize(bound = "F: bytemuck::Pod")]
pub(super) enum Material<F> {
    Product(Double<F>),
    Truncate(TruncTriple<F>),
    SmallTree(SmallTree<F>),
    Tree(Tree<F>),
    Rot(Rot<F>),
}

/// Prepared material in the order in which the plan's calls consume it.
pub(super) type Store<F> = MaterialQueue<Want, Material<F>>;
