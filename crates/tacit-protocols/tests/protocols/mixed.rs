//! Numbers with widths of their own give what the ring gives.

use crate::subjects::*;
use tacit_conformance::mixed::*;
use tacit_protocols::falcon::Truncation;

#[test]
fn resizing_over_a_ring_is_a_truncation() {
    let x = small(24, 50, 1);
    let y = resized(&falcon_over::<u64>(), &x, (24, 7, 17));
    for (x, y) in x.iter().zip(y) {
        assert!((y - (x >> 7)).abs() <= 1, "{x}: {y}");
    }
}

#[test]
fn products() {
    products_of_different_widths_are_exact(&falcon_over::<u64>());
}

#[test]
fn functions() {
    functions_between_widths_are_near(&falcon_over::<u64>());
}

#[test]
fn exponentials() {
    exponentials_end_at_their_bound(&falcon_over::<u64>());
    exponentials_end_at_their_bound(&ubl_over::<u64>(Truncation::Gap));
}
