//! Fused local steps of Bicoptor 2.0 (Zhou et al.): the sign of a sum from entries that are made of
//! each summand alone, and truncations of summands (docs/spec/bicoptor2.md, sections 2 to 5).
//!
//! A value `x` is the sum of two summands modulo `2^l`: the first, `x + R`, and the second, `-R`.
//! `cut(a, k)` is `a >> k`, and `cut(a, k1, k2)` drops the `k1` low and the `k2` high bits.
//!
//! # DReLU (Algorithm 7) and its mend
//!
//! As printed, with `lx` kept bits above `k` dropped ones: `t` is a common random bit, and both
//! summands are negated where it is set; `u_i = trc(x, k + i, l - lx - k - i)` for `i = 0..=lx`, of
//! `lx` bits each (Algorithm 5); `v_i = u_i + u_{i+1} - 1` and `v_lx = u_lx - 1`. The `v_i` of both
//! are switched to `Z_p` (Algorithm 6), permuted, multiplied by common random `r_i != 0`, and a
//! common sharing of zero is added; their sums have a zero where `x > 0`, that is, `DReLU xor t`.
//!
//! That gives wrong signs near `abs(x) = (2/3) 2^(k+lx)`, a random sign at 0, and the sums show whether
//! `x` is almost 0 ([`Form::Printed`]). Mended ([`Form::Mended`]), the entries are made of
//! `x' = 2 y + 1` for `y = trc(x, k, 0)`, which is odd and never 0, and have one bit more than
//! `abs(x')`: for `kappa` key bits `m = kappa + 2`, `u_i = trc(x', i, l' - m - i)` with
//! `l' = l - k + 1` and `i = 0..=kappa + 1`. Of the sums then one is zero or none, each with probability
//! 1/2 whatever `x` is. The sign is right where `abs(x) <= 2^(k+kappa) - 2^k`, but that
//! `-2^k < x < 0` counts as positive except with probability `abs(x) / 2^k`.
//!
//! The permutation is a random rotation: which of the entries are where does not show, as all but
//! the zero are uniform.

#[cfg(test)]
mod check;
mod entries;
mod lane;
mod pack;
mod truncate;
mod window;
mod zero;

pub use entries::masked_entries;
pub use truncate::{split_mask, truncate_share};
pub use window::{Form, Window};
pub use zero::zero_entries;

/// Elements whose entries are made at once: these stay in the second-level cache.
const STRIP: usize = 512;
