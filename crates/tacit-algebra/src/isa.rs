//! Choice of the instruction set at run time.

use std::cell::Cell;
use std::sync::OnceLock;

/// An instruction set that the kernels are compiled for, in increasing order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Isa {
    /// What the target guarantees.
    Portable,
    /// AVX2 with BMI.
    Avx2,
    /// AVX-512 F, BW, DQ, VL and VNNI.
    Avx512,
    /// AVX-512 as `Avx512` needs it and AMX-INT8, where Linux lets a process use it: products of matrices by tiles of
    /// bytes.
    Amx,
}

impl Isa {
    /// Every instruction set that this processor has.
    pub fn available() -> impl Iterator<Item = Isa> {
        [Isa::Portable, Isa::Avx2, Isa::Avx512, Isa::Amx]
            .into_iter()
            .filter(|isa| *isa <= detected())
    }
}

thread_local! {
    static FORCED: Cell<Option<Isa>> = const { Cell::new(None) };
}

/// The instruction set that kernels called from this thread use.
pub fn current() -> Isa {
    FORCED.get().unwrap_or_else(detected)
}

/// Runs `f` with its kernel calls on `isa`; for tests and measurements.
///
/// # Panics
/// If this processor lacks `isa`.
pub fn with<T>(isa: Isa, f: impl FnOnce() -> T) -> T {
    assert!(isa <= detected(), "this processor has no {isa:?}");
    struct Restore(Option<Isa>);
    impl Drop for Restore {
        fn drop(&mut self) {
            FORCED.set(self.0);
        }
    }
    let _restore = Restore(FORCED.replace(Some(isa)));
    f()
}

fn detected() -> Isa {
    static DETECTED: OnceLock<Isa> = OnceLock::new();
    *DETECTED.get_or_init(detect)
}

#[cfg(target_arch = "x86_64")]
fn detect() -> Isa {
    let avx2 = is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2");
    let avx512 = avx2
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512vnni");
    match (avx2, avx512) {
        (_, true) if has_tiles() => Isa::Amx,
        (_, true) => Isa::Avx512,
        (true, _) => Isa::Avx2,
        _ => Isa::Portable,
    }
}

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
use crate::kernel::amx::available as has_tiles;

#[cfg(all(target_arch = "x86_64", not(target_os = "linux")))]
fn has_tiles() -> bool {
    false
}

#[cfg(not(target_arch = "x86_64"))]
fn detect() -> Isa {
    Isa::Portable
}

/// A loop that crates above run as fast as their kernels here: compiled for every instruction set if [`Loop::run`] is
/// `#[inline(always)]`, as [`run`] calls it.
pub trait Loop {
    /// What the loop returns.
    type Made;
    /// The portable loop.
    fn run(self) -> Self::Made;
}

/// Runs a loop on the instruction set that [`current`] names.
pub fn run<L: Loop>(work: L) -> L::Made {
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2")]
    fn avx2<L: Loop>(work: L) -> L::Made {
        work.run()
    }
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
    fn avx512<L: Loop>(work: L) -> L::Made {
        work.run()
    }
    match current() {
        // SAFETY: `current` names only what this processor has.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 | Isa::Amx => unsafe { avx512(work) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => unsafe { avx2(work) },
        _ => work.run(),
    }
}

/// Compiles one portable loop for every instruction set. The function gets a first parameter,
/// the [`Isa`] to run on, which must come from [`current`].
macro_rules! simd {
    ($($(#[$meta:meta])* $vis:vis fn $name:ident $(<$($g:ident: $bound:path),+>)? (
        $($arg:ident: $ty:ty),* $(,)?
    ) $(-> $ret:ty)? $body:block)+) => {$(
        $(#[$meta])*
        #[allow(clippy::too_many_arguments)]
        $vis fn $name $(<$($g: $bound),+>)? (isa: $crate::isa::Isa, $($arg: $ty),*) $(-> $ret)? {
            #[inline(always)]
            fn portable $(<$($g: $bound),+>)? ($($arg: $ty),*) $(-> $ret)? $body
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,bmi1,bmi2")]
            fn avx2 $(<$($g: $bound),+>)? ($($arg: $ty),*) $(-> $ret)? { portable $(::<$($g),+>)? ($($arg),*) }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(
                enable = "avx2,bmi1,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni"
            )]
            fn avx512 $(<$($g: $bound),+>)? ($($arg: $ty),*) $(-> $ret)? { portable $(::<$($g),+>)? ($($arg),*) }
            match isa {
                // SAFETY: `isa::current` names only what this processor has.
                #[cfg(target_arch = "x86_64")]
                $crate::isa::Isa::Avx512 | $crate::isa::Isa::Amx => unsafe { avx512 $(::<$($g),+>)? ($($arg),*) },
                // SAFETY: as above.
                #[cfg(target_arch = "x86_64")]
                $crate::isa::Isa::Avx2 => unsafe { avx2 $(::<$($g),+>)? ($($arg),*) },
                _ => portable $(::<$($g),+>)? ($($arg),*),
            }
        }
    )+};
}
pub(crate) use simd;

/// Asserts that `f` gives the same on every instruction set, and returns that.
#[cfg(test)]
pub(crate) fn same_everywhere<T: PartialEq>(f: impl Fn() -> T) -> T {
    let reference = with(Isa::Portable, &f);
    for isa in Isa::available() {
        assert!(
            with(isa, &f) == reference,
            "{isa:?} differs from the portable path"
        );
    }
    reference
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forcing_is_scoped_and_nests() {
        let outer = current();
        with(Isa::Portable, || {
            for isa in Isa::available() {
                with(isa, || assert_eq!(current(), isa));
            }
            assert_eq!(current(), Isa::Portable);
        });
        assert_eq!(current(), outer);
    }
}
