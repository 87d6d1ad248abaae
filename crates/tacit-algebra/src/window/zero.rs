//! The sums of entries: which elements have a zero.

use std::sync::atomic::{AtomicBool, Ordering};

use super::lane::{Lane, Modulus, with_lane};
use super::pack::unpack;
use super::{STRIP, Window};
use crate::isa::{self, simd};
use crate::{Bits, par};

simd! {
    /// Sets the bits of elements with an entry whose shares `a` and `b` cancel; tells whether all
    /// shares are residues.
    fn zeros_into<L: Lane>(out: &mut [u64], n: usize, a: &[L], b: &[L], modulus: Modulus<L>) -> bool {
        let (mut found, mut bad) = ([L::ZERO; STRIP], L::ZERO);
        for (a, b) in a.chunks_exact(n).zip(b.chunks_exact(n)) {
            for ((found, &a), &b) in found.iter_mut().zip(a).zip(b) {
                let of = |condition: bool| L::from_u64(condition as u64);
                *found = found.or(of(modulus.add(a, b) == L::ZERO));
                bad = bad.or(of(a >= modulus.p)).or(of(b >= modulus.p));
            }
        }
        for (word, found) in out.iter_mut().zip(found[..n].chunks(64)) {
            for (j, found) in found.iter().enumerate() {
                *word |= found.to_u64() << j;
            }
        }
        bad == L::ZERO
    }
}

/// Zeros of well-formed messages, in a lane's width.
fn zeros<L: Lane>(window: &Window, n: usize, first: &[u8], second: &[u8]) -> Option<Bits> {
    let isa = isa::current();
    let (entries, bits) = (window.entries(), window.entry_bits());
    let (modulus, strip_bytes) = (Modulus::new(window.prime()), window.wire_len(STRIP));
    let good = AtomicBool::new(true);
    let mut words = vec![0; n.div_ceil(64)];
    par::for_each_strip(&mut words, STRIP / 64, STRIP * entries, |i, out| {
        let n = STRIP.min(n - i * STRIP);
        let read = |message: &[u8]| {
            let bytes = &message[i * strip_bytes..][..window.wire_len(n)];
            unpack::<L>(isa, bytes, entries * n, bits)
        };
        let (a, b) = (read(first), read(second));
        let lanes = |words| &bytemuck::cast_slice(words)[..entries * n];
        if !zeros_into::<L>(isa, out, n, lanes(&a), lanes(&b), modulus) {
            good.store(false, Ordering::Relaxed);
        }
    });
    good.into_inner().then(|| Bits::from_words(n, words))
}

/// Whether some entry of an element is zero, `DReLU xor t`, from both messages for `n`
/// elements (Algorithm 7, step 9).
///
/// `None` if a message has another length than [`Window::wire_len`], an entry is not below
/// [`Window::prime`], or an unused bit is set.
pub fn zero_entries(window: &Window, n: usize, first: &[u8], second: &[u8]) -> Option<Bits> {
    let len = window.wire_len(n);
    let used = (n % 8) * window.entries() * window.entry_bits() as usize % 8;
    let clean = |message: &[u8]| match message.last() {
        Some(last) if used > 0 => last >> used == 0,
        _ => true,
    };
    if [first, second]
        .iter()
        .any(|message| message.len() != len || !clean(message))
    {
        return None;
    }
    with_lane!(window.m(), L => zeros::<L>(window, n, first, second))
}

#[cfg(test)]
mod tests {
    use super::super::{Form, masked_entries};
    use super::*;
    use crate::Prg;
    use crate::isa::same_everywhere;

    fn messages(window: &Window, n: usize) -> [Vec<u8>; 2] {
        let (share, t) = (Prg::new([1; 16]).ring::<u64>(n), Prg::new([3; 16]).bits(n));
        [true, false].map(|first| masked_entries(window, first, &share, &t, &mut Prg::new([2; 16])))
    }

    /// Overwrites the entry at a bit.
    fn put(message: &mut [u8], at: usize, bits: usize, v: u64) {
        for i in 0..bits {
            let bit = 1 << ((at + i) % 8);
            let set = if v >> i & 1 == 1 { bit } else { 0 };
            message[(at + i) / 8] = message[(at + i) / 8] & !bit | set;
        }
    }

    #[test]
    fn what_is_no_message_is_refused() {
        for (kept, n) in [3, 7, 14, 31]
            .into_iter()
            .flat_map(|k| [1, 7, 513, 2000].map(|n| (k, n)))
        {
            let window = Window::new::<u64>(0, kept, Form::Corrected).unwrap();
            let read = |messages: &[Vec<u8>; 2]| {
                same_everywhere(|| zero_entries(&window, n, &messages[0], &messages[1]))
            };
            let good = messages(&window, n);
            assert_eq!(read(&good).unwrap().len(), n);
            let (bits, total) = (window.entry_bits() as usize, window.wire_len(n));
            let used = n * window.entries() * bits;
            for which in [0, 1] {
                let changed = |f: &dyn Fn(&mut Vec<u8>)| {
                    let mut messages = good.clone();
                    f(&mut messages[which]);
                    read(&messages).is_some()
                };
                assert!(!changed(&|m| m.truncate(total - 1)));
                assert!(!changed(&|m| m.push(0)));
                assert!(!changed(&|m| m.clear()));
                for entry in [0, n / 2, n * window.entries() - 1] {
                    for (v, fits) in [
                        (window.prime(), false),
                        ((1 << bits) - 1, false),
                        (window.prime() - 1, true),
                    ] {
                        let read = changed(&|m| put(m, entry * bits, bits, v));
                        assert_eq!(read, fits, "{v} as entry {entry} of {n}, {kept} key bits");
                    }
                }
                for bit in used..8 * total {
                    assert!(!changed(&|m| put(m, bit, 1, 1)), "bit {bit} after {used}");
                }
            }
            assert!(zero_entries(&window, n + 8, &good[0], &good[1]).is_none());
            assert!(zero_entries(&window, usize::MAX, &good[0], &good[1]).is_none());
        }
    }

    #[test]
    fn nothing_is_read_of_nothing() {
        let window = Window::new::<u32>(0, 7, Form::Corrected).unwrap();
        assert!(zero_entries(&window, 0, &[], &[]) == Some(Bits::default()));
        assert!(zero_entries(&window, 0, &[0], &[]).is_none());
    }
}
