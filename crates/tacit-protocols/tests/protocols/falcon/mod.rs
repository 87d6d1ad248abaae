//! What only Falcon promises.

mod faults;
mod malicious;
mod privacy;
mod tampering;
mod truncation;

use crate::subjects::{FalconOver, falcon_over};
use tacit_conformance::{noise, run};
use tacit_protocols::falcon::{Falcon, Security};
use tacit_protocols::machine::{Audience, Call, KeyBits, Machine};

/// Narrow signs are exact over their whole range, and beyond it they are those of the low word:
/// what the planner must keep values from.
#[test]
fn narrow_signs_are_exact_within_32_bits() {
    narrow_signs_are_exact(Security::SemiHonest);
    narrow_signs_are_exact(Security::Malicious);
}

fn narrow_signs_are_exact(security: Security) {
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
    let subject = FalconOver {
        configure: Falcon::with_narrow_signs,
        security,
        ..falcon_over::<u64>()
    };
    let opened = run(&subject, |machine| {
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
