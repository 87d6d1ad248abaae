//! The options of Shamir sharing.

use tacit_net::LinkModel;

/// How signs are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Comparison {
    /// The faster one for the network and the number of elements.
    #[default]
    Auto,
    /// Signs by a tree of products: fewest bytes.
    Tree,
    /// Signs by a rotation: fewest rounds.
    Rot,
}

/// How values are opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Opening {
    /// The faster one for the network and the number of elements.
    #[default]
    Auto,
    /// Through a party that collects, adds up and tells: fewest bytes, two hops.
    King,
    /// Everyone to everyone: one hop.
    Direct,
}

/// What all parties of a run have in common beside their number and the field.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The most parties that may collude, `t`.
    pub threshold: usize,
    /// How signs are taken.
    pub comparison: Comparison,
    /// How values are opened.
    pub opening: Opening,
    /// The network that the choices above are made for.
    pub link: LinkModel,
}

impl Options {
    /// The most collusion that `parties` allow, and everything else chosen for `link`.
    pub fn new(parties: usize, link: LinkModel) -> Self {
        Options {
            threshold: parties.saturating_sub(1) / 2,
            comparison: Comparison::Auto,
            opening: Opening::Auto,
            link,
        }
    }
}
