//! Register tiles of products over fields.

#[cfg(target_arch = "x86_64")]
mod x86;

use std::marker::PhantomData;

use super::{F5, F7, F13, F31, F61, Field};
use crate::gemm::Packed;
use crate::kernel::{Kernel, Kernels, MOST_WIDTH, Side};

/// What the compiler makes of sums that are folded after as many products as they have room for.
pub struct Portable<F>(PhantomData<F>);

const ROWS: usize = 4;
const COLS: usize = 4;

impl<F: Field> Kernel for Portable<F> {
    type Word = F;
    const ROWS: usize = ROWS;
    const COLS: usize = COLS;
    const STEP: usize = 1;
    const WIDTH: usize = 1;

    #[inline(always)]
    fn words(_: Side, first: F, _: F) -> [F; MOST_WIDTH] {
        [first, F::ZERO, F::ZERO]
    }

    #[inline(always)]
    fn tile(a: &[F], b: &[F], tile: &mut [F]) {
        let mut sums = [[0; COLS]; ROWS];
        for (a, b) in a.chunks(F::RUN * ROWS).zip(b.chunks(F::RUN * COLS)) {
            let steps = a.as_chunks::<ROWS>().0.iter().zip(b.as_chunks::<COLS>().0);
            for (a, b) in steps {
                for i in 0..ROWS {
                    for j in 0..COLS {
                        sums[i][j] = F::add_product(sums[i][j], a[i], b[j]);
                    }
                }
            }
            for sum in sums.as_flattened_mut() {
                *sum = F::fold(*sum);
            }
        }
        for (tile, sum) in tile.iter_mut().zip(sums.as_flattened()) {
            *tile = F::close(*sum);
        }
    }
}

/// Sums of 128 bits, by the processor's widening multiplication.
pub struct Scalar61;

/// Products of 122 bits that a sum of 128 has room for.
const RUN: usize = 63;

impl Kernel for Scalar61 {
    type Word = F61;
    const ROWS: usize = 2;
    const COLS: usize = 2;
    const STEP: usize = 1;
    const WIDTH: usize = 1;

    #[inline(always)]
    fn words(_: Side, first: F61, _: F61) -> [F61; MOST_WIDTH] {
        [first, F61::ZERO, F61::ZERO]
    }

    #[inline(always)]
    fn tile(a: &[F61], b: &[F61], tile: &mut [F61]) {
        let fold = |sum: u128| (sum & F61::P as u128) + (sum >> 61);
        let product = |a: F61, b: F61| a.to_u64() as u128 * b.to_u64() as u128;
        let [mut c00, mut c01, mut c10, mut c11] = [0; 4];
        for (a, b) in a.chunks(2 * RUN).zip(b.chunks(2 * RUN)) {
            for (&[a0, a1], &[b0, b1]) in a.as_chunks().0.iter().zip(b.as_chunks().0) {
                c00 += product(a0, b0);
                c01 += product(a0, b1);
                c10 += product(a1, b0);
                c11 += product(a1, b1);
            }
            [c00, c01, c10, c11] = [c00, c01, c10, c11].map(fold);
        }
        for (tile, sum) in tile.iter_mut().zip([c00, c01, c10, c11]) {
            *tile = F61::from_u64(fold(fold(sum)) as u64);
        }
    }
}

macro_rules! kernels {
    ($field:ty, $portable:ty, $avx2:ty, $avx512:ty) => {
        impl Kernels for $field {
            type Portable = $portable;
            #[cfg(target_arch = "x86_64")]
            type Avx2 = $avx2;
            #[cfg(target_arch = "x86_64")]
            type Avx512 = $avx512;
            #[cfg(not(target_arch = "x86_64"))]
            type Avx2 = $portable;
            #[cfg(not(target_arch = "x86_64"))]
            type Avx512 = $portable;
            type Amx = Packed<Self::Avx512>;

            #[inline(always)]
            fn plus(self, o: Self) -> Self {
                Field::add(self, o)
            }
            #[inline(always)]
            fn times(self, o: Self) -> Self {
                Field::mul(self, o)
            }

            crate::kernel::products!();
        }
    };
}

kernels!(F5, Portable<F5>, Portable<F5>, Portable<F5>);
kernels!(F7, Portable<F7>, Portable<F7>, Portable<F7>);
kernels!(F13, Portable<F13>, Portable<F13>, Portable<F13>);
kernels!(F31, Portable<F31>, x86::Sums31Avx2, x86::Sums31Avx512);
kernels!(F61, Scalar61, Scalar61, x86::Limbs61Avx512);
