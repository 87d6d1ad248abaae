//! Register tiles of the matrix product: the innermost loops.

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub(crate) mod amx;
pub mod polynomials;
#[cfg(target_arch = "x86_64")]
pub(crate) mod x86;

use std::marker::PhantomData;

use bytemuck::Pod;

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
use crate::gemm::digits::Digits;
use crate::gemm::{Block, Packed};
use crate::{Conv2d, MatMul, Ring};

/// Bounds on the sizes of every [`Kernel`].
pub const MOST_ROWS: usize = 8;
pub const MOST_COLS: usize = 32;
pub const MOST_STEP: usize = 2;
pub const MOST_WIDTH: usize = 3;

/// Operand of a matrix product that is packed: the left or the right matrix.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Left,
    Right,
}

/// How a tile of `ROWS x COLS` results is computed from packed operands.
///
/// The inner dimension is walked in steps of `STEP`; a step takes `WIDTH` packed words for each
/// row of the left and each column of the right operand.
pub trait Kernel {
    type Word: Kernels;
    const ROWS: usize;
    const COLS: usize;
    const STEP: usize;
    const WIDTH: usize;

    /// The packed words, `WIDTH` of them, of one row or column in one step: from its elements
    /// in the step's first and, where `STEP` is 2, second place.
    fn words(side: Side, first: Self::Word, second: Self::Word) -> [Self::Word; MOST_WIDTH];

    /// Overwrites `tile`, row-major, with the product of two packed panels.
    fn tile(a: &[Self::Word], b: &[Self::Word], tile: &mut [Self::Word]);
}

/// Elements of matrices: the kernels of a ring or field for each instruction set.
pub trait Kernels: Pod + Send + Sync {
    type Portable: Kernel<Word = Self>;
    type Avx2: Kernel<Word = Self>;
    type Avx512: Kernel<Word = Self>;
    /// Where the processor has tiles of bytes.
    type Amx: Block<Self>;

    /// `self + o`.
    fn plus(self, o: Self) -> Self;
    /// `self * o`.
    fn times(self, o: Self) -> Self;

    /// `a b` added to `acc`: compiled here once, with this crate's optimisation.
    fn add_matrix_product(acc: &mut [Self], a: &[Self], b: &[Self], shape: MatMul);
    /// A convolution added to `acc`, likewise.
    fn add_convolution(acc: &mut [Self], x: &[Self], w: &[Self], shape: &Conv2d);
}

/// The products of [`Kernels`], of one type of elements.
macro_rules! products {
    () => {
        fn add_matrix_product(acc: &mut [Self], a: &[Self], b: &[Self], shape: $crate::MatMul) {
            $crate::matmul::add_product(acc, a, b, shape);
        }

        fn add_convolution(acc: &mut [Self], x: &[Self], w: &[Self], shape: &$crate::Conv2d) {
            $crate::conv::add_convolution(acc, x, w, shape);
        }
    };
}
pub(crate) use products;

macro_rules! kernels {
    ($word:ty, $avx2:ty, $avx512:ty, $amx:ty) => {
        impl Kernels for $word {
            type Portable = Portable<$word>;
            #[cfg(target_arch = "x86_64")]
            type Avx2 = $avx2;
            #[cfg(target_arch = "x86_64")]
            type Avx512 = $avx512;
            #[cfg(not(target_arch = "x86_64"))]
            type Avx2 = Portable<$word>;
            #[cfg(not(target_arch = "x86_64"))]
            type Avx512 = Portable<$word>;
            #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
            type Amx = $amx;
            #[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
            type Amx = Packed<Self::Avx512>;

            #[inline(always)]
            fn plus(self, o: Self) -> Self {
                Ring::add(self, o)
            }
            #[inline(always)]
            fn times(self, o: Self) -> Self {
                Ring::mul(self, o)
            }

            products!();
        }
    };
}

kernels!(u8, Portable<u8>, Portable<u8>, Packed<Portable<u8>>);
kernels!(u16, Portable<u16>, Portable<u16>, Packed<Portable<u16>>);
kernels!(u32, x86::Digits32Avx2, x86::Digits32Avx512, Digits<u32, amx::Registers>);
kernels!(u64, x86::Words64Avx2, x86::Words64Avx512, Digits<u64, amx::Registers>);

/// A vector register of `LEN` words.
///
/// # Safety
/// The methods may be called only where the processor has the implementor's instructions.
trait Lanes: Copy {
    type Word: Ring;
    const LEN: usize;

    /// The first `LEN` of `words`.
    unsafe fn load(words: &[Self::Word]) -> Self;
    /// `word` in every lane.
    unsafe fn splat(word: Self::Word) -> Self;
    /// `self` plus the lanes' products of `a` and `b`.
    unsafe fn add_product(self, a: Self, b: Self) -> Self;
    /// `self + o`.
    unsafe fn plus(self, o: Self) -> Self;
    /// `self - o`.
    unsafe fn less(self, o: Self) -> Self;
    /// Into the first `LEN` of `words`.
    unsafe fn store(self, words: &mut [Self::Word]);
}

/// `c += a b` in registers over all packed words `a` (`ROWS` per step) and `b` (`VECTORS` vectors
/// per step). `part(step)` names the one of `PARTS` accumulators that the step goes to.
///
/// # Safety
/// That of [`Lanes`].
#[inline(always)]
unsafe fn accumulate<
    L: Lanes,
    const ROWS: usize,
    const VECTORS: usize,
    const WIDTH: usize,
    const PARTS: usize,
>(
    a: &[L::Word],
    b: &[L::Word],
) -> [[[L; VECTORS]; ROWS]; PARTS] {
    // SAFETY: the caller's promise.
    unsafe {
        let mut c = [[[L::splat(L::Word::ZERO); VECTORS]; ROWS]; PARTS];
        let cols = VECTORS * L::LEN;
        for (a, b) in a
            .chunks_exact(WIDTH * ROWS)
            .zip(b.chunks_exact(WIDTH * cols))
        {
            for word in 0..WIDTH {
                let c = &mut c[word.min(PARTS - 1)];
                let mut columns = [L::splat(L::Word::ZERO); VECTORS];
                for (v, columns) in columns.iter_mut().enumerate() {
                    *columns = L::load(&b[word * cols + v * L::LEN..]);
                }
                for i in 0..ROWS {
                    let row = L::splat(a[word * ROWS + i]);
                    for v in 0..VECTORS {
                        c[i][v] = c[i][v].add_product(row, columns[v]);
                    }
                }
            }
        }
        c
    }
}

/// Stores registers row by row.
///
/// # Safety
/// That of [`Lanes`].
#[inline(always)]
unsafe fn store<L: Lanes, const ROWS: usize, const VECTORS: usize>(
    c: [[L; VECTORS]; ROWS],
    tile: &mut [L::Word],
) {
    for (c, tile) in c.into_iter().flatten().zip(tile.chunks_exact_mut(L::LEN)) {
        // SAFETY: the caller's promise.
        unsafe { c.store(tile) }
    }
}

/// One ring multiplication per term.
///
/// # Safety
/// That of [`Lanes`].
#[inline(always)]
unsafe fn direct<L: Lanes, const ROWS: usize, const VECTORS: usize>(
    a: &[L::Word],
    b: &[L::Word],
    tile: &mut [L::Word],
) {
    // SAFETY: the caller's promise.
    unsafe {
        let [c] = accumulate::<L, ROWS, VECTORS, 1, 1>(a, b);
        store(c, tile);
    }
}

/// Portable vectors: what the compiler makes of four words.
#[derive(Clone, Copy)]
struct Four<R>([R; 4]);

impl<R: Ring> Lanes for Four<R> {
    type Word = R;
    const LEN: usize = 4;

    #[inline(always)]
    unsafe fn load(words: &[R]) -> Self {
        Four([words[0], words[1], words[2], words[3]])
    }
    #[inline(always)]
    unsafe fn splat(word: R) -> Self {
        Four([word; 4])
    }
    #[inline(always)]
    unsafe fn add_product(mut self, a: Self, b: Self) -> Self {
        for i in 0..4 {
            self.0[i] = self.0[i].add(a.0[i].mul(b.0[i]));
        }
        self
    }
    #[inline(always)]
    unsafe fn plus(mut self, o: Self) -> Self {
        for i in 0..4 {
            self.0[i] = self.0[i].add(o.0[i]);
        }
        self
    }
    #[inline(always)]
    unsafe fn less(mut self, o: Self) -> Self {
        for i in 0..4 {
            self.0[i] = self.0[i].sub(o.0[i]);
        }
        self
    }
    #[inline(always)]
    unsafe fn store(self, words: &mut [R]) {
        words[..4].copy_from_slice(&self.0);
    }
}

/// The product for every ring and processor.
pub struct Portable<R>(PhantomData<R>);

impl<R: Ring> Kernel for Portable<R> {
    type Word = R;
    const ROWS: usize = 4;
    const COLS: usize = 8;
    const STEP: usize = 1;
    const WIDTH: usize = 1;

    #[inline(always)]
    fn words(_: Side, first: R, _: R) -> [R; MOST_WIDTH] {
        [first, R::ZERO, R::ZERO]
    }

    fn tile(a: &[R], b: &[R], tile: &mut [R]) {
        // SAFETY: `Four` needs no instructions beyond the target's.
        unsafe { direct::<Four<R>, 4, 2>(a, b, tile) }
    }
}
