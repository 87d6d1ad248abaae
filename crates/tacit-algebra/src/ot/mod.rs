//! Kernels of oblivious transfer on blocks of 128 bits.

pub mod lpn;
pub mod marks;
pub mod pprf;
mod transpose;
pub mod vole;
