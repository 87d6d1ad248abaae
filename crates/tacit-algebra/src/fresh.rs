//! New buffers that are written part by part.

use std::mem::MaybeUninit;

use bytemuck::Pod;

use crate::par;

/// Bytes that are cleared and then written while they are in the first-level cache: clearing a
/// long buffer as a whole would take it through memory twice.
const STRIP: usize = 8 << 10;

/// A new buffer of `n` elements filled by `f(start, part)`, whose parts enter as zeros; `start`
/// is a multiple of 64.
pub(crate) fn build<T: Pod + Send>(n: usize, f: impl Fn(usize, &mut [T]) + Sync) -> Vec<T> {
    build_units(n, n, 64, f)
}

/// A new buffer of `len` entries, `unit` entries for every 64 of `n` elements, filled by `f(start,
/// part)`, whose parts enter as zeros; `start` counts elements, a multiple of 64.
pub(crate) fn build_units<T: Pod + Send>(
    n: usize,
    len: usize,
    unit: usize,
    f: impl Fn(usize, &mut [T]) + Sync,
) -> Vec<T> {
    let mut out = Vec::with_capacity(len);
    let units = (STRIP / (unit * size_of::<T>())).max(1);
    par::for_each_unit(n, &mut out.spare_capacity_mut()[..len], unit, |s, part| {
        for (i, strip) in part.chunks_mut(units * unit).enumerate() {
            f(s + 64 * units * i, cleared(strip));
        }
    });
    // SAFETY: the parts of `for_each_unit` cover the `len` entries, and each strip was cleared.
    unsafe { out.set_len(len) };
    out
}

/// The strip, all zeros.
fn cleared<T: Pod>(strip: &mut [MaybeUninit<T>]) -> &mut [T] {
    strip.fill(MaybeUninit::new(T::zeroed()));
    let (data, len) = (strip.as_mut_ptr().cast(), strip.len());
    // SAFETY: the same memory, borrowed for as long; every element has just been written.
    unsafe { std::slice::from_raw_parts_mut(data, len) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_zero_and_cover_the_buffer() {
        for n in [0, 1, 63, 64, 65, 1 << 13, 70_001, 200_000] {
            let out = build(n, |s, part: &mut [u32]| {
                assert!(s % 64 == 0 && part.iter().all(|v| *v == 0));
                part.iter_mut().zip(s..).for_each(|(v, i)| *v = i as u32);
            });
            assert!(out.len() == n && out.iter().zip(0..).all(|(v, i)| *v == i));
        }
    }

    #[test]
    fn units_go_with_their_elements() {
        for n in [0usize, 1, 64, 65, 70_001] {
            let len = (3 * n).div_ceil(8);
            let out = build_units(n, len, 24, |s, part: &mut [u8]| {
                part.iter_mut()
                    .zip(s / 8 * 3..)
                    .for_each(|(v, i)| *v = i as u8);
            });
            assert!(out.len() == len && out.iter().zip(0..).all(|(v, i)| *v == i as u8));
        }
    }

    #[test]
    fn what_is_not_written_is_zero() {
        assert!(build(70_001, |_, _: &mut [u64]| ()).iter().all(|v| *v == 0));
    }
}
