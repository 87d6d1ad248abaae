//! Bicoptor 2.0: three parties, semi-honest (Zhou, Wang, Song, Chen, Chen: "Bicoptor 2.0:
//! Addressing Challenges in Probabilistic Truncation for Enhanced Privacy-Preserving Machine
//! Learning"), in the corrected form of docs/spec/bicoptor2.md.
//!
//! Parties 0 and 1 hold shares, party 2 assists: it learns from the comparison of a value one bit
//! that is uniform for every value within its key bits. There are two settings. UBL: 2-out-of-2 shares,
//! the assistant has none. RSS: replicated shares.
//!
//! Signs are taken by the paper's comparison where the caller promises key bits, and exactly, by a binary
//! adder (docs/spec/adder.md), where it promises none or where the adder is declared to take less time:
//! then the assistant learns nothing.
//!
//! | file | what |
//! |---|---|
//! | `options.rs` | what is chosen, and by which comparison a sign is taken |
//! | `role.rs` | the pairs' generators, dealing by the assistant, exchange between the holders |
//! | `drelu.rs` | DReLU up to the assistant's bit (Algorithms 4 to 7, corrected) |
//! | `truncate.rs` | truncation: one-bit gap (T1), ABY3's (Algorithm 2), SecureML's (Algorithm 1) |
//! | `ubl/`, `rss/` | the two settings: sharing, products, ReLU (Algorithms 8 and 9), costs |
//! | `ubl/adder.rs`, `../replicated/adder.rs` | exact signs |
//!
//! Differs from the paper: Algorithm 7 gives wrong signs near `(2/3) 2^lx` and tells the assistant
//! how many inputs are near 0; the corrected form has one bit of headroom and compares `2 x + 1`
//! (docs/spec/bicoptor2.md, sections 5 and 9). The printed form is an option for comparing costs
//! and for the tests that show its leak.
//!
//! # Two settings, one comparison
//!
//! Replicated sharing is written once, in `replicated/`, for Falcon and for Bicoptor's RSS setting.
//! Bicoptor's comparison and truncation work on summands of the two holders, whatever the setting:
//! `bicoptor/drelu.rs` and `bicoptor/truncate.rs` know only a holder's summand, its role and its
//! generators; `ubl/` and `rss/` turn shares into summands and back. Signs without a promise have no
//! such common part: the holders' adder is `ubl/adder.rs`, the replicated one `replicated/adder.rs`. A
//! product's call names its sizes, since the assistant multiplies the masks of the operands; an operand
//! that every batch meets again, the weights, is opened under its mask once (`Machine::reusable`) and named
//! by its number.

mod drelu;
mod options;
mod role;
pub mod rss;
mod truncate;
pub mod ubl;

use std::collections::VecDeque;

pub use options::{Comparison, Options};
use tacit_algebra::Ring;
pub use tacit_algebra::window::Form;
use tacit_algebra::window::Window;

use crate::Error;
use crate::machine::{Call, KeyBits};
use crate::signs::Signs;

/// The number of parties.
pub const PARTIES: usize = 3;

/// The party that assists the two holders.
const ASSISTANT: usize = 2;

/// Signs from key bits, corrected.
pub const SIGNS: Signs = Signs {
    key_bits: Some(|keys| Form::Corrected.room(keys.dropped, keys.kept)),
    narrow: None,
};

/// The window of bits that a comparison looks at for these key bits; an error where it does not fit the ring.
fn window<R: Ring>(keys: KeyBits, form: Form) -> Result<Window, Error> {
    let KeyBits { dropped, kept, .. } = keys;
    Window::new::<R>(dropped, kept, form).ok_or_else(|| {
        Error::Invalid(format!(
            "the sign of {kept} bits above {dropped} does not fit the {}-bit ring: dropped + 2 kept + 2 must be at most {}; choose fewer key bits or a wider ring, or promise nothing",
            R::BITS,
            R::BITS
        ))
    })
}

/// Refuses a plan with key bits that do not fit, before anything is sent.
fn check_windows<R: Ring>(calls: &[Call], options: &Options) -> Result<(), Error> {
    let asked = options.comparison == Comparison::Bicoptor || options.form == Form::Printed;
    calls.iter().try_for_each(|call| match *call {
        Call::Drelu { keys, .. } | Call::Relu { keys, .. } | Call::Maxpool { keys, .. }
            if asked && !keys.is_all() =>
        {
            window::<R>(keys, options.form).map(drop)
        }
        _ => Ok(()),
    })
}

/// The next material in store, which must be what is wanted.
fn take<W: PartialEq + Copy, M>(
    store: &mut VecDeque<(W, M)>,
    want: W,
    describe: fn(W) -> String,
) -> Result<M, Error> {
    let next = store.front().is_some_and(|(prepared, _)| *prepared == want);
    let material = if next { store.pop_front() } else { None };
    match material {
        Some((_, material)) => Ok(material),
        None => Err(Error::NotPrepared {
            call: describe(want),
        }),
    }
}
