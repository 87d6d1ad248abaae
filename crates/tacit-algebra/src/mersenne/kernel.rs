//! Register tiles of products over fields.

use std::marker::PhantomData;

use bytemuck::Zeroable;

use super::{F5, F7, F13, F31, F61, Field};
use crate::kernel::{Kernel, Kernels, MOST_WIDTH, Side};

/// A tile of `ROWS x COLS` sums, folded after as many products as a sum has room for.
pub struct Tile<F, const ROWS: usize, const COLS: usize>(PhantomData<F>);

impl<F: Field, const ROWS: usize, const COLS: usize> Kernel for Tile<F, ROWS, COLS> {
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
        let run = F::RUN.min(64);
        let mut sums = [[F::Sum::zeroed(); COLS]; ROWS];
        for (a, b) in a.chunks(run * ROWS).zip(b.chunks(run * COLS)) {
            for (a, b) in a.as_chunks::<ROWS>().0.iter().zip(b.as_chunks::<COLS>().0) {
                for (sums, a) in sums.iter_mut().zip(a) {
                    for (sum, b) in sums.iter_mut().zip(b) {
                        *sum = F::add_product(*sum, *a, *b);
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

macro_rules! kernels {
    ($($field:ty: $rows:literal x $portable:literal, $avx2:literal, $avx512:literal;)+) => {$(
        impl Kernels for $field {
            type Portable = Tile<$field, $rows, $portable>;
            type Avx2 = Tile<$field, $rows, $avx2>;
            type Avx512 = Tile<$field, $rows, $avx512>;

            #[inline(always)]
            fn plus(self, o: Self) -> Self {
                Field::add(self, o)
            }
            #[inline(always)]
            fn times(self, o: Self) -> Self {
                Field::mul(self, o)
            }
        }
    )+};
}

kernels! {
    F5: 4 x 4, 8, 16;
    F7: 4 x 4, 8, 16;
    F13: 4 x 4, 8, 16;
    F31: 4 x 4, 8, 16;
    F61: 2 x 2, 2, 2;
}
