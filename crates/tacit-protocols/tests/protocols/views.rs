//! What each party sees of every call and function.

use crate::subjects::*;
use tacit_algebra::mersenne::{F5, F31, Field};
use tacit_conformance::views;
use tacit_conformance::views::*;
use tacit_protocols::falcon::Truncation;
use tacit_protocols::shamir::{Comparison, Opening};

const RING: Look = Look {
    sharing: Sharing::Replicated,
    words: Words::Ring,
    generators: |_| vec![],
    planes: false,
    slow: false,
};

fn field(subject: &ShamirOver<F5>) -> Look {
    Look {
        sharing: Sharing::Polynomial(subject.options.threshold),
        words: Words::Field(F5::P as u8),
        slow: true,
        ..RING
    }
}

/// The views of holders, with the streams in common with the assistant.
const DEALT: Look = Look {
    sharing: Sharing::Holders,
    generators: |party| match party {
        2 => vec![(0, b"bicoptor pair"), (1, b"bicoptor pair")],
        _ => vec![(2, b"bicoptor pair")],
    },
    ..RING
};

/// The views of parties, with the components' streams.
const COMPONENTS: Look = Look {
    generators: |party| {
        let label = b"bicoptor component";
        vec![((party + 2) % 3, label), ((party + 1) % 3, label)]
    },
    ..RING
};

/// Every comparison between so many parties.
fn shamirs(parties: usize, opening: Opening) -> [ShamirOver<F5>; 2] {
    [Comparison::Tree, Comparison::Rot].map(|c| shamir_over::<F5>(parties, c, opening))
}

mod falcon {
    use super::*;
    views!(|check| check(&falcon_over::<u8>().with_paper_comparison(), RING));
}

mod falcon_malicious {
    use super::*;
    views!(|check| {
        let look = Look { slow: true, ..RING };
        check(&malicious_over::<u8>().with_paper_comparison(), look);
    });
}

mod bicoptor_ubl {
    use super::*;
    views!(|check| check(&ubl_over::<u8>(Truncation::Gap), DEALT));
}

mod bicoptor_rss {
    use super::*;
    views!(|check| check(&rss_over::<u8>(Truncation::Gap), COMPONENTS));
}

/// Each number of parties and opening by itself, since these tests take longest.
mod shamir {
    macro_rules! of {
        ($name:ident, $parties:literal, $opening:ident) => {
            mod $name {
                use super::super::*;
                views!(
                    |check| for subject in &shamirs($parties, Opening::$opening) {
                        check(subject, field(subject));
                    }
                );
            }
        };
    }

    of!(three_by_a_king, 3, King);
    of!(three_directly, 3, Direct);
    of!(five_by_a_king, 5, King);
    of!(five_directly, 5, Direct);
}

/// What each party sees of signs that are added up bit by bit does not depend on the values: under
/// Falcon, and under Bicoptor without a promise.
fn exact_signs(whoever: bool) {
    let planes = true;
    let look = Look {
        planes,
        generators: |party| {
            let label = b"falcon component";
            vec![((party + 2) % 3, label), ((party + 1) % 3, label)]
        },
        ..RING
    };
    exact_signs_hide(&falcon_over::<u8>(), look, whoever);
    exact_signs_hide(&malicious_over::<u8>(), look, whoever);
    let look = Look { planes, ..DEALT };
    exact_signs_hide(&ubl_over::<u8>(Truncation::Gap), look, whoever);
    let look = Look {
        planes,
        ..COMPONENTS
    };
    exact_signs_hide(&rss_over::<u8>(Truncation::Gap), look, whoever);
}

/// Seen to fail with each mask of the adder and of the products left out, or used twice.
#[test]
fn a_view_of_an_exact_sign_depends_on_the_result_alone() {
    exact_signs(false);
}

#[test]
#[ignore = "every owner for every audience, see make test-long"]
fn a_view_of_an_exact_sign_depends_on_the_result_alone_whoever_owns_the_secrets() {
    exact_signs(true);
}

#[test]
fn raw_summands_sent_to_the_assistant_are_found_to_leak() {
    raw_summands_sent_to_the_assistant_leak(&ubl_over::<u8>(Truncation::Gap), DEALT);
}

#[test]
fn random_rows_break_no_relations() {
    rows_without_relations_break_none_by_chance();
}

#[test]
fn rows_of_a_field_are_added_as_whole_numbers() {
    multiples_are_added_modulo();
}

mod functions {
    use super::*;

    #[test]
    fn falcon() {
        functions_hide(&falcon_over::<u32>(), Sharing::Replicated);
    }

    #[test]
    fn falcon_malicious() {
        functions_hide(&malicious_over::<u32>(), Sharing::Replicated);
    }

    #[test]
    fn bicoptor() {
        functions_hide(&ubl_over::<u64>(Truncation::Gap), Sharing::Holders);
        functions_hide(&rss_over::<u64>(Truncation::Gap), Sharing::Replicated);
    }

    #[test]
    fn shamir() {
        for (parties, comparison, opening) in [
            (3, Comparison::Tree, Opening::King),
            (3, Comparison::Rot, Opening::Direct),
            (5, Comparison::Rot, Opening::King),
            (5, Comparison::Tree, Opening::Direct),
        ] {
            let subject = shamir_over::<F31>(parties, comparison, opening);
            functions_hide(&subject, Sharing::Polynomial((parties - 1) / 2));
        }
    }
}
