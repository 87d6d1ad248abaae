//! What only Bicoptor 2.0 promises, in both settings.

mod faults;
mod opening;
mod privacy;
mod refusals;
mod reused;
mod rows;
mod signs;
mod truncation;
mod views;

use crate::subjects::Tested;
use crate::subjects::{bicoptor_options, settings};
use tacit_conformance::{Subject, apply};
use tacit_protocols::falcon::Truncation;
use tacit_protocols::machine::{Call, KeyBits, Machine};

/// Runs a check in both settings over a ring with a kind of truncation.
fn in_both_settings<R: Tested>(kind: Truncation, check: impl Fn(&dyn Subject)) {
    for subject in settings::<R>(bicoptor_options(kind)) {
        check(&subject);
    }
}

/// ReLU and DReLU of `x` by its key bits, of the same shares.
fn signs_of(subject: &dyn Subject, keys: KeyBits, x: &[i64]) -> [Vec<i64>; 2] {
    let n = x.len();
    let calls = [Call::relu(n).by(keys), Call::drelu(n).by(keys)];
    let mut relu = apply(subject, &calls, x, |machine, x| {
        let relu = machine.relu(x, keys)?;
        let drelu = machine.drelu(x, keys)?;
        Ok(machine.concat(&[&relu, &drelu]))
    });
    let drelu = relu.split_off(n);
    [relu, drelu]
}
