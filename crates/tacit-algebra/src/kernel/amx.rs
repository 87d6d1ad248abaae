//! Tiles of bytes in the processor's tile registers (AMX-INT8), by inline assembly: the intrinsics are not
//! stable. Must run only under [`Isa::Amx`](crate::isa::Isa::Amx).
//!
//! The compiler uses no tile register, so what one holds stays between two pieces of assembly.

use std::arch::asm;
use std::arch::x86_64::*;

use crate::Ring;
use crate::gemm::digits::{SIDE, STEP, SUMS, Sums, Tile, Tiles};

/// `arch_prctl`, by which a process asks Linux for registers that take much room in signal frames.
const ARCH_PRCTL: usize = 158;
const ARCH_REQ_XCOMP_PERM: usize = 0x1023;
/// The component that holds tiles.
const XFEATURE_XTILEDATA: usize = 18;

/// Whether this processor multiplies tiles of bytes and the system lets this process do so.
pub fn available() -> bool {
    let has = |bit: u32| __cpuid_count(7, 0).edx & (1 << bit) != 0;
    let (tile, int8) = (has(24), has(25));
    tile && int8 && permitted()
}

fn permitted() -> bool {
    let result: isize;
    // SAFETY: the call takes two numbers and writes no memory; `syscall` changes these registers alone.
    unsafe {
        asm!(
            "syscall",
            inout("rax") ARCH_PRCTL => result,
            in("rdi") ARCH_REQ_XCOMP_PERM,
            in("rsi") XFEATURE_XTILEDATA,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack)
        );
    }
    result == 0
}

/// What `ldtilecfg` reads: rows and bytes a row of every register.
#[repr(C, align(64))]
struct Config {
    palette: u8,
    start_row: u8,
    reserved: [u8; 14],
    bytes: [u16; 16],
    rows: [u8; 16],
}

/// Registers 0 to 3 hold results, 4 to 6 tiles of the left operand, 7 that of the right.
pub struct Registers {
    rows: usize,
}

/// One arm for every register: an instruction names its registers.
macro_rules! by_register {
    ($number:expr, $($register:literal)+ => |$name:ident| $do:expr) => {
        match $number {
            $($register => { macro_rules! $name { () => { $register } } $do })+
            other => unreachable!("no register {other}"),
        }
    };
}

impl Tiles for Registers {
    #[inline(always)]
    fn transpose<R: Ring>(rows: &mut [R]) {
        let rows = bytemuck::cast_slice_mut(rows);
        match size_of::<R>() {
            // SAFETY: a processor with tiles has AVX-512.
            4 => unsafe { transpose_rows::<4>(rows) },
            // SAFETY: as above.
            8 => unsafe { transpose_rows::<8>(rows) },
            bytes => unreachable!("elements of {bytes} bytes are multiplied as words"),
        }
    }

    fn new() -> Self {
        let mut registers = Registers { rows: 0 };
        registers.set_rows(SIDE);
        registers
    }

    #[inline(always)]
    fn set_rows(&mut self, rows: usize) {
        assert!((1..=SIDE).contains(&rows));
        if self.rows == rows {
            return;
        }
        self.rows = rows;
        let mut config = Config {
            palette: 1,
            start_row: 0,
            reserved: [0; 14],
            bytes: [0; 16],
            rows: [0; 16],
        };
        config.bytes[..8].fill(STEP as u16);
        config.rows[..7].fill(rows as u8);
        config.rows[7] = (STEP / 4) as u8;
        // SAFETY: the processor has tiles, and the configuration is one of palette 1.
        unsafe { asm!("ldtilecfg [{}]", in(reg) &config, options(nostack, readonly)) }
    }

    #[inline(always)]
    fn clear(&mut self, sum: usize) {
        // SAFETY: the processor has tiles, and they are configured.
        by_register!(sum, 0 1 2 3 => |c| unsafe {
            asm!(concat!("tilezero tmm", c!()), options(nostack, nomem, preserves_flags))
        })
    }

    #[inline(always)]
    fn left<const SLOT: usize>(&mut self, tile: &Tile) {
        // SAFETY: as above; a tile has at most `SIDE` rows of `STEP` bytes.
        unsafe {
            asm!("tileloadd tmm{a}, [{} + {}]", in(reg) tile, in(reg) STEP, a = const SLOT + SUMS,
                 options(nostack, readonly, preserves_flags))
        }
    }

    #[inline(always)]
    fn right(&mut self, tile: &Tile) {
        // SAFETY: as above.
        unsafe {
            asm!("tileloadd tmm7, [{} + {}]", in(reg) tile, in(reg) STEP,
                 options(nostack, readonly, preserves_flags))
        }
    }

    #[inline(always)]
    fn multiply<const SUM: usize, const SLOT: usize>(&mut self) {
        // SAFETY: the processor has tiles, and they are configured with sizes that fit.
        unsafe {
            asm!("tdpbuud tmm{c}, tmm{a}, tmm7", c = const SUM, a = const SLOT + SUMS,
                 options(nostack, nomem, preserves_flags))
        }
    }

    #[inline(always)]
    fn store(&mut self, sum: usize, out: &mut Sums) {
        // SAFETY: as above; results have at most `SIDE` rows of `SIDE` words.
        by_register!(sum, 0 1 2 3 => |c| unsafe {
            asm!(concat!("tilestored [{} + {}], tmm", c!()), in(reg) out, in(reg) 4 * SIDE,
                 options(nostack, preserves_flags))
        })
    }
}

impl Drop for Registers {
    fn drop(&mut self) {
        // SAFETY: the processor has tiles; nobody reads them after this.
        unsafe { asm!("tilerelease", options(nostack, nomem, preserves_flags)) }
    }
}

/// [`Tiles::transpose`] of `N` rows of elements of `N` bytes, by the 64 bytes of a register.
#[target_feature(enable = "avx512f")]
#[inline]
fn transpose_rows<const N: usize>(rows: &mut [u8]) {
    let row = rows.len() / N;
    assert!(rows.len() == N * row && row.is_multiple_of(64));
    for at in (0..row).step_by(64) {
        let start = rows[at..].as_mut_ptr();
        let mut v = [_mm512_setzero_si512(); N];
        for (i, v) in v.iter_mut().enumerate() {
            // SAFETY: `i < N`, so these 64 bytes are in the slice.
            *v = unsafe { _mm512_loadu_si512(start.add(i * row).cast()) };
        }
        if N == 8 {
            exchange::<32, N>(&mut v, 4, 0x0000_0000_ffff_ffff);
        }
        exchange::<16, N>(&mut v, 2, 0x0000_ffff_0000_ffff);
        exchange::<8, N>(&mut v, 1, 0x00ff_00ff_00ff_00ff);
        for (i, v) in v.iter().enumerate() {
            // SAFETY: as above.
            unsafe { _mm512_storeu_si512(start.add(i * row).cast(), *v) };
        }
    }
}

/// Of rows that are `half` apart, exchanges what is outside `low` in the upper with what is inside in the
/// lower, `SHIFT` bits away.
#[target_feature(enable = "avx512f")]
#[inline]
fn exchange<const SHIFT: u32, const N: usize>(v: &mut [__m512i; N], half: usize, low: i64) {
    /// Bits of the second where the first has ones, of the third where it has zeros.
    const CHOOSE: i32 = 0xca;
    let low = _mm512_set1_epi64(low);
    for i in (0..N).filter(|i| i & half == 0) {
        let (a, b) = (v[i], v[i + half]);
        v[i] = _mm512_ternarylogic_epi64::<CHOOSE>(low, a, _mm512_slli_epi64::<SHIFT>(b));
        v[i + half] = _mm512_ternarylogic_epi64::<CHOOSE>(low, _mm512_srli_epi64::<SHIFT>(a), b);
    }
}
