//! Functions on every real ring and field, with the fraction bits that suit it.

mod refusals;

use crate::subjects::*;
use tacit_algebra::mersenne::{F31, F61};
use tacit_conformance::math;
use tacit_protocols::falcon::Truncation;
use tacit_protocols::shamir::{Comparison, Opening};

mod falcon {
    use super::*;
    math!(|check| {
        for fraction in [10, 12, 13] {
            check(&falcon_over::<u32>(), fraction);
        }
        for fraction in [12, 16, 18] {
            check(&falcon_over::<u64>(), fraction);
        }
    });
}

mod bicoptor {
    use super::*;
    math!(|check| {
        for fraction in [10, 12, 13] {
            check(&ubl_over::<u32>(Truncation::Gap), fraction);
            check(&rss_over::<u32>(Truncation::Gap), fraction);
        }
        for fraction in [12, 16, 18] {
            check(&ubl_over::<u64>(Truncation::Gap), fraction);
            check(&rss_over::<u64>(Truncation::Gap), fraction);
        }
    });
}

mod shamir {
    use super::*;
    math!(|check| for parties in [3, 5] {
        for fraction in [10, 12] {
            let subject = shamir_over::<F31>(parties, Comparison::Auto, Opening::Auto);
            check(&subject, fraction);
        }
        for fraction in [16, 18] {
            let subject = shamir_over::<F61>(parties, Comparison::Auto, Opening::Auto);
            check(&subject, fraction);
        }
    });
}

mod clear {
    use super::*;
    math!(|check| {
        for fraction in 8..=13 {
            check(&clear_over::<u32>(2), fraction);
        }
        for fraction in 12..=24 {
            check(&clear_over::<u64>(2), fraction);
        }
    });
}
