//! Local steps of oblivious transfer and of what is built on it.

mod code;
mod correlate;
mod gate;
mod hash;
pub mod lpn;
pub mod marks;
pub mod pack;
pub mod pprf;
mod transpose;
pub mod vole;
pub mod words;

pub use code::{Code, WIDEST};
pub use correlate::{Products, correlate, correlated};
pub use gate::{Offsets, Table, choose, combined, offer, taken};
pub use hash::{Hash, PADS, Transfers, bit_pads};

/// 128 bits.
pub type Block = u128;
