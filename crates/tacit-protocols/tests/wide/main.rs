//! The common mathematics over the widest domains: spans of many powers of two, arguments with
//! fraction bits of their own, and what lies outside, within the stated errors on every protocol.
//! A binary of its own, since most of it is needed for one subject at a time.

#[allow(dead_code)]
#[path = "../protocols/common.rs"]
mod common;
mod domain;
mod functions;
mod promises;

use common::*;
use domain::*;
use tacit_algebra::mersenne::{F31, F61};
use tacit_protocols::shamir::{Comparison, Opening};

/// Runs a generic check on every subject with the fraction bits that suit it.
macro_rules! on_every_subject {
    ($($file:ident: $($check:ident)+;)+) => { mod clear {
        use super::*;
        $($(#[test] fn $check() {
            for fraction in [10, 12, 13] {
                let subject = ClearOver::<u32> { parties: 1, ring: Default::default() };
                $file::$check(&subject, Format::new(32, fraction).expect("it fits"), DENSE);
            }
            for fraction in [16, 18, 20, 24, 26] {
                let subject = ClearOver::<u64> { parties: 1, ring: Default::default() };
                $file::$check(&subject, Format::new(64, fraction).expect("it fits"), DENSE);
            }
        })+)+
    } mod falcon {
        use super::*;
        $($(#[test] fn $check() {
            for fraction in [10, 13] {
                let format = Format::new(32, fraction).expect("it fits");
                $file::$check(&falcon_over::<u32>(), format, SPARSE);
            }
            for fraction in [16, 20, 26] {
                let format = Format::new(64, fraction).expect("it fits");
                $file::$check(&falcon_over::<u64>(), format, SPARSE);
            }
        })+)+
    } mod shamir {
        use super::*;
        $($(#[test] fn $check() {
            for fraction in [10, 13] {
                let subject = shamir_over::<F31>(3, Comparison::Auto, Opening::Auto);
                $file::$check(&subject, Format::new(31, fraction).expect("it fits"), SPARSE);
            }
            for fraction in [16, 20, 26] {
                let subject = shamir_over::<F61>(3, Comparison::Auto, Opening::Auto);
                $file::$check(&subject, Format::new(61, fraction).expect("it fits"), SPARSE);
            }
        })+)+
    }};
}

/// The one protocol whose signs are as good as the promise. Seen to fail where that left out how far away
/// thresholds are.
mod bicoptor {
    use super::*;
    use tacit_protocols::falcon::Truncation;

    #[test]
    fn promised_bits() {
        for fraction in [10, 16, 20, 26] {
            let format = Format::new(64, fraction).expect("it fits");
            promises::promised_bits(&ubl_over::<u64>(Truncation::Gap), format, SPARSE);
            promises::promised_bits(&rss_over::<u64>(Truncation::Gap), format, SPARSE);
        }
    }
}

on_every_subject! {
    functions:
    reciprocals
    inverse_square_roots
    square_roots
    bounding_powers
    logarithms
    exponentials
    quotients
    batch_norms;
    promises:
    promised_bits
    costs;
}
