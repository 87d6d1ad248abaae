//! What parties send is what the wire version stands for.

use std::path::Path;

use crate::subjects::*;
use tacit_algebra::mersenne::F61;
use tacit_conformance::Subject;
use tacit_conformance::wire::{held, sent};
use tacit_protocols::falcon::Truncation;
use tacit_protocols::shamir::{Comparison, Opening};

/// Seen to fail where a file had a byte more in one message.
fn check(name: &str, subject: &dyn Subject) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wire");
    held(&folder.join(format!("{name}.txt")), &sent(subject));
}

#[test]
fn falcon() {
    check("falcon-64", &falcon_over::<u64>());
    check("falcon-32", &falcon_over::<u32>().with_sign_bits(17));
    let paper = falcon_over::<u64>().with_paper_comparison();
    check("falcon-paper", &paper.truncating(Truncation::Exact));
    check("falcon-malicious", &malicious_over::<u64>());
    check(
        "falcon-malicious-paper",
        &malicious_over::<u32>().with_paper_comparison(),
    );
}

#[test]
fn bicoptor() {
    check("bicoptor-ubl", &ubl_over::<u64>(Truncation::Gap));
    check("bicoptor-rss", &rss_over::<u64>(Truncation::Gap));
}

#[test]
fn shamir() {
    let over = |comparison, opening| shamir_over::<F61>(5, comparison, opening);
    check("shamir-tree", &over(Comparison::Tree, Opening::King));
    check("shamir-rotation", &over(Comparison::Rot, Opening::Direct));
}
