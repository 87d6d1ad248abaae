//! The tiles' arithmetic by a machine that every processor emulates, and by the processor's own where it
//! has tiles.

use super::*;
use crate::gemm::Dense;
use crate::{MatMul, Prg, isa, matmul_acc};

/// Tiles in memory: what `tdpbuud` and its loads are documented to do.
struct Emulated {
    rows: usize,
    sums: [Sums; SUMS],
    left: [Tile; SLOTS],
    right: Tile,
}

impl Tiles for Emulated {
    fn new() -> Self {
        // What a register was left with is no zero: whoever forgets to clear it sees that.
        let tile = Tile([0xa5; SIDE * STEP]);
        Emulated {
            rows: SIDE,
            sums: [[7; SIDE * SIDE]; SUMS],
            left: [tile; SLOTS],
            right: tile,
        }
    }

    fn set_rows(&mut self, rows: usize) {
        *self = Emulated {
            rows,
            ..Emulated::new()
        };
    }

    fn clear(&mut self, sum: usize) {
        self.sums[sum] = [0; SIDE * SIDE];
    }

    fn left<const SLOT: usize>(&mut self, tile: &Tile) {
        let len = self.rows * STEP;
        self.left[SLOT].0[..len].copy_from_slice(&tile.0[..len]);
    }

    fn right(&mut self, tile: &Tile) {
        self.right = *tile;
    }

    fn multiply<const SUM: usize, const SLOT: usize>(&mut self) {
        for row in 0..self.rows {
            for col in 0..SIDE {
                let out = &mut self.sums[SUM][row * SIDE + col];
                for k in 0..STEP {
                    let a = self.left[SLOT].0[row * STEP + k];
                    let b = self.right.0[(k / 4 * SIDE + col) * 4 + k % 4];
                    *out = out.wrapping_add(u32::from(a) * u32::from(b));
                }
            }
        }
    }

    fn store(&mut self, sum: usize, out: &mut Sums) {
        let len = self.rows * SIDE;
        out[..len].copy_from_slice(&self.sums[sum][..len]);
    }
}

/// Products by tiles `T` are those of words.
fn check<R: Ring, T: Tiles>(isa: Isa, shape: MatMul, a: &[R], b: &[R]) {
    let MatMul { m, k, n } = shape;
    let acc = Prg::new([3; 16]).ring::<R>(m * n);
    let (mut found, mut expected) = (acc.clone(), acc);
    isa::with(Isa::Portable, || matmul_acc(&mut expected, a, b, shape));
    let out = Output::new(&mut found, n, n, 0);
    block::<R, T, _>(isa, &out, a, &Dense { data: b, cols: n }, k, 0..m, 0..n);
    assert!(found == expected, "{shape:?}, {} bits", R::BITS);
}

fn shapes() -> impl Iterator<Item = MatMul> {
    let sizes = [
        (1, 1, 1),
        (16, 64, 16),
        (15, 63, 17),
        (17, 65, 15),
        (3, 300, 40),
        (33, 7, 1),
        (20, 257, 33),
    ];
    sizes.into_iter().map(|(m, k, n)| MatMul { m, k, n })
}

fn check_shapes<R: Ring, T: Tiles>(isa: Isa) {
    for shape in shapes() {
        let mut prg = Prg::new([5; 16]);
        let (a, b) = (prg.ring(shape.m * shape.k), prg.ring(shape.k * shape.n));
        check::<R, T>(isa, shape, &a, &b);
        // The largest digits, of which sums are largest.
        let most = |n| vec![R::ZERO.sub(R::ONE); n];
        check::<R, T>(isa, shape, &most(a.len()), &most(b.len()));
    }
}

#[test]
fn products_by_emulated_tiles_are_those_of_words() {
    check_shapes::<u8, Emulated>(Isa::Portable);
    check_shapes::<u16, Emulated>(Isa::Portable);
    check_shapes::<u32, Emulated>(Isa::Portable);
    check_shapes::<u64, Emulated>(Isa::Portable);
}

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
#[test]
fn products_by_tiles_of_the_processor_are_those_of_words() {
    use crate::kernel::amx::Registers;
    if isa::current() < Isa::Amx {
        eprintln!("skipped: this processor has no AMX");
        return;
    }
    check_shapes::<u32, Registers>(Isa::Amx);
    check_shapes::<u64, Registers>(Isa::Amx);
}

/// A sum that stays longer in its register than `DEPTH` allows is another number: the bound is needed.
#[test]
fn sums_of_too_many_steps_overflow() {
    let steps = (u32::MAX as usize / (MOST_DIGITS * 255 * 255 * STEP) + 1) * MOST_DIGITS;
    let most = vec![Tile([255; SIDE * STEP]); steps];
    let mut sums = [[0; SIDE * SIDE]; MOST_DIGITS];
    let mut tiles = Emulated::new();
    tiles.set_rows(1);
    multiply(&mut tiles, &most, &most, &mut sums);
    let expected = (steps / MOST_DIGITS * STEP * 255 * 255) as u64;
    assert_eq!(u64::from(sums[0][0]), expected);
    assert_ne!(u64::from(sums[7][0]), 8 * expected);
}
