//! What a run may choose.

/// How signs are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Comparison {
    /// The better one for the network.
    #[default]
    Auto,
    /// By a tree of products: fewest bytes.
    Tree,
    /// By a rotation: fewest rounds.
    Rot,
}

/// How values are opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Opening {
    /// The better one for the network and the number of parties.
    #[default]
    Auto,
    /// Through one party: fewest bytes.
    King,
    /// Everyone to everyone: fewest hops.
    Direct,
}
