//! What only Bicoptor 2.0 promises, in both settings.

mod faults;
mod fixed;
mod opening;
mod privacy;
mod refusals;
mod rows;
mod signs;
mod truncation;
mod views;

use std::marker::PhantomData;

use crate::common::{RssOver, Subject, UblOver, apply};
use tacit_algebra::Ring;
use tacit_protocols::bicoptor::Options;
use tacit_protocols::machine::{Call, KeyBits, Machine};

/// Runs a check in both settings over 32 bits.
macro_rules! in_both_settings {
    (|$subject:ident| $check:expr) => {{
        let (ubl, rss) = settings::<u32>(bicoptor_options(Truncation::Gap));
        {
            let $subject = &ubl;
            $check;
        }
        let $subject = &rss;
        $check;
    }};
}
use in_both_settings;

/// Both settings over the ring `R`.
fn settings<R: Ring>(options: Options) -> (UblOver<R>, RssOver<R>) {
    let (ubl, rss) = (PhantomData, PhantomData);
    (
        UblOver { options, ring: ubl },
        RssOver { options, ring: rss },
    )
}

/// ReLU and DReLU of `x` by its key bits, of the same shares.
fn signs_of<S, H>(subject: &S, keys: KeyBits, x: &[i64]) -> [Vec<i64>; 2]
where
    S: Subject,
    S::Machine: Machine<Share = H, Bits = H>,
{
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
