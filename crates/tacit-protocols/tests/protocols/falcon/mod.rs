//! What only Falcon promises.

mod faults;
mod malicious;
mod privacy;
mod tampering;
mod truncation;

use crate::subjects::{FalconOver, falcon_over, malicious_over};
use tacit_conformance::{noise, run};
use tacit_protocols::machine::{Audience, Call, KeyBits, Machine};

/// Narrow signs are exact over their whole range, and beyond it they are those of the low word:
/// what the planner must keep values from.
#[test]
fn narrow_signs_are_exact_within_32_bits() {
    for subject in [falcon_over, malicious_over] {
        narrow_signs_are_exact(&subject().with_sign_bits(32));
        narrow_signs_are_exact(&subject().with_sign_bits(32).with_paper_comparison());
    }
}

fn narrow_signs_are_exact(subject: &FalconOver<u64>) {
    let edge = 1i64 << 31;
    let mut x = vec![
        0,
        1,
        -1,
        edge - 1,
        -edge,
        edge - 2,
        1 - edge,
        edge,
        -edge - 1,
    ];
    x.extend(noise(11, 20_000).into_iter().map(|v| v >> 32));
    let n = x.len();
    let opened = run(subject, |machine| {
        machine.prepare(&[Call::relu(n), Call::drelu(n), Call::select(n)])?;
        let own = (machine.party().id() == 0).then_some(&x[..]);
        let share = machine.input(0, n, own)?;
        let relu = machine.relu(&share, KeyBits::ALL)?;
        let bit = machine.drelu(&share, KeyBits::ALL)?;
        let (zero, one) = (machine.constant(&vec![0; n]), machine.constant(&vec![1; n]));
        let sign = machine.select(&bit, &zero, &one)?;
        let both = machine.concat(&[&relu, &sign]);
        machine.reveal(&both, Audience::All)
    });
    let opened = opened[0].as_ref().expect("all parties hear");
    for (i, &v) in x.iter().enumerate() {
        let positive = v as i32 >= 0;
        let want = (if positive { v } else { 0 }, i64::from(positive));
        assert_eq!((opened[i], opened[n + i]), want, "of {v}");
    }
}
