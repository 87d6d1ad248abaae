//! Arithmetic on every ring and field, with every number of parties.

use crate::subjects::*;
use tacit_algebra::mersenne::{F5, F7, F13, F31, F61};
use tacit_conformance::arithmetic;
use tacit_protocols::falcon::Truncation;
use tacit_protocols::shamir::{Comparison, Opening};

mod falcon {
    use super::*;
    arithmetic!(|check| {
        check(&falcon_over::<u8>());
        check(&falcon_over::<u32>());
        check(&falcon_over::<u64>());
        check(&falcon_over::<u32>().truncating(Truncation::Exact));
        check(&falcon_over::<u8>().with_paper_comparison());
        check(&falcon_over::<u64>().with_paper_comparison());
    });
}

mod falcon_malicious {
    use super::*;
    arithmetic!(|check| {
        check(&malicious_over::<u8>());
        check(&malicious_over::<u32>());
        check(&malicious_over::<u64>());
        check(&malicious_over::<u32>().truncating(Truncation::Exact));
        check(&malicious_over::<u8>().with_paper_comparison());
        check(&malicious_over::<u64>().with_paper_comparison());
    });
}

mod bicoptor {
    use super::*;
    arithmetic!(|check| {
        check(&ubl_over::<u8>(Truncation::Gap));
        check(&ubl_over::<u32>(Truncation::Gap));
        check(&ubl_over::<u64>(Truncation::Gap));
        check(&rss_over::<u8>(Truncation::Gap));
        check(&rss_over::<u32>(Truncation::Gap));
        check(&rss_over::<u64>(Truncation::Gap));
    });
}

mod shamir {
    use super::*;
    arithmetic!(
        |check| for comparison in [Comparison::Tree, Comparison::Rot] {
            check(&shamir_over::<F5>(3, comparison, Opening::Direct));
            check(&shamir_over::<F5>(4, comparison, Opening::King));
            check(&shamir_over::<F7>(5, comparison, Opening::King));
            check(&shamir_over::<F13>(6, comparison, Opening::Direct));
            check(&shamir_over::<F31>(3, comparison, Opening::King));
            check(&shamir_over::<F31>(7, comparison, Opening::Direct));
            check(&shamir_over::<F61>(3, comparison, Opening::Auto));
            // Thresholds below the greatest.
            let few = |opening| shamir_over::<F5>(7, comparison, opening);
            check(&few(Opening::King).with_threshold(1));
            check(&few(Opening::Direct).with_threshold(2));
        }
    );
}

mod clear {
    use super::*;
    arithmetic!(|check| for parties in [1, 2] {
        check(&clear_over::<u32>(parties));
        check(&clear_over::<u64>(parties));
    });
}
