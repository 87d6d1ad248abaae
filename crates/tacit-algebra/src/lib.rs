//! Local arithmetic of Tacit: rings `Z_2^k`, Mersenne primes, small primes, packed bits, matrix
//! products, convolutions and the expansion of seeds.
//!
//! # The seam for other processors
//!
//! Everything here works on whole buffers and returns whole buffers. Shares are held in a
//! [`Buffer`], which does not say where its elements lie: in this machine's memory, or nowhere, where
//! only sizes are counted. Its kernels ([`buffer::kernels`], [`mersenne::buffer`]) are the seam where another processor
//! (CUDA) replaces the arithmetic: it becomes another place, takes over these functions, and nothing
//! above them changes. Parts and copies share memory until one is written.
//! Protocol code therefore never loops over elements itself; a local step that no kernel here covers
//! becomes a new kernel here. SiRnn still holds plain vectors.
//!
//! On x86-64 the kernels are compiled for AVX-512, AVX2 and the baseline, and the best one is
//! chosen at run time (see [`isa`]); other processors run the portable path. Long buffers are
//! split over rayon's threads. All paths give the same results, bit by bit.
//!
//! Lengths are the caller's business: a mismatch is a bug of the protocol and panics. Only
//! [`prime::unpack`], [`mersenne::from_wire`], [`extension::Extension::from_wire`], [`mersenne::rot_zero`], [`window::zero_entries`],
//! [`BitRows::from_bytes`] and [`Bits::from_bytes`] read bytes from outside, and they refuse with `None` what is malformed.
//!
//! # Kernels
//!
//! The kernels of floor 1 are one portable loop each, compiled for AVX-512, AVX2 and the baseline,
//! chosen at run time; matrix products have micro-kernels of their own. Tests force each instruction
//! set and compare. Where a processor multiplies tiles of bytes (AMX), matrices over `Z_2^32` and
//! `Z_2^64` are multiplied by bytes (`gemm/digits.rs`); tests emulate the tiles, so that every
//! processor checks that program. Long vectors are split over threads inside the kernel; callers cut
//! very long ones into blocks so that intermediate values stay in cache and sending overlaps
//! computing, without more hops.

#[cfg(target_endian = "big")]
compile_error!("tacit-algebra casts buffers to little-endian bytes and needs such a processor");

pub mod bits;
pub mod buffer;
pub mod compare;
pub mod conv;
mod dots;
pub mod extension;
pub mod flip;
mod fresh;
mod gemm;
pub mod isa;
mod kernel;
pub mod matmul;
pub mod mersenne;
pub mod ot;
mod par;
pub use par::sharing_cores;
mod patches;
pub mod planes;
pub mod prg;
pub mod prime;
pub mod quotient;
pub mod ring;
pub mod rows;
pub mod sliced;
pub mod triple;
pub mod truncate;
pub mod vec;
pub mod window;
pub mod wipe;
mod words;
pub mod wrap;

pub use bits::Bits;
pub use buffer::Buffer;
pub use conv::{Conv2d, conv2d_acc};
pub use matmul::{BatchMatMul, MatMul, batch_matmul_acc, matmul_acc};
pub use prg::Prg;
pub use ring::Ring;
pub use rows::BitRows;
