//! Every call on every protocol, of one and of several batches.

use super::*;
use crate::subjects::Tested;
use tacit_protocols::bicoptor;
use tacit_protocols::falcon::{self, FalconCost};
use tacit_protocols::machine::Unverified;

fn all_truncations<R: Tested>() {
    for truncation in [Truncation::Gap, Truncation::Exact, Truncation::Aby3] {
        for call in [1, 7, 64, 129].into_iter().flat_map(every_call) {
            let subject = falcon_over::<R>().truncating(truncation);
            declared_equals_metered(&subject, call);
            declared_equals_metered(&subject.with_paper_comparison(), call);
        }
    }
}

#[test]
fn declared_equals_metered_over_8_bits() {
    all_truncations::<u8>();
}

#[test]
fn declared_equals_metered_over_32_bits() {
    all_truncations::<u32>();
}

#[test]
fn declared_equals_metered_over_64_bits() {
    all_truncations::<u64>();
}

/// Both settings of Bicoptor, with every truncation and with key bits.
fn both_settings<R: Tested>(keys: KeyBits) {
    for truncation in [Truncation::Gap, Truncation::Aby3, Truncation::SecureMl] {
        for n in [1, 7, 64, 700] {
            let with_keys = [
                Call::Input { owner: 0, n },
                Call::Reveal {
                    n,
                    to: Audience::One(2),
                },
                Call::drelu(n).by(keys),
                Call::relu(n).by(keys),
            ];
            for call in every_call(n).into_iter().chain(with_keys) {
                declared_equals_metered(&ubl_over::<R>(truncation), call);
                declared_equals_metered(&rss_over::<R>(truncation), call);
            }
            for comparison in [bicoptor::Comparison::Auto, bicoptor::Comparison::Adder] {
                let options = bicoptor::Options {
                    comparison,
                    ..bicoptor_options(truncation)
                };
                let narrow = KeyBits { width: 5, ..keys };
                for call in [Call::drelu(n), Call::relu(n), Call::maxpool(n, 3)] {
                    for subject in settings::<R>(options) {
                        declared_equals_metered(&subject, call.by(keys));
                        declared_equals_metered(&subject, call.by(narrow));
                    }
                }
            }
        }
    }
}

#[test]
fn declared_equals_metered_in_both_settings_of_bicoptor() {
    both_settings::<u8>(KeyBits::of(2, 2));
    both_settings::<u32>(KeyBits::of(11, 7));
    both_settings::<u64>(KeyBits::of(24, 7));
}

/// Blocks of elements, each with messages of its own, take as many hops as one, and have dealers in turn.
/// Seen to fail where a block waited for the one before.
#[test]
fn declared_equals_metered_of_several_blocks() {
    for call in [Call::drelu(140_001), Call::relu(70_001)] {
        declared_equals_metered(&ubl_over::<u32>(Truncation::Gap), call);
    }
    for call in [Call::drelu(200_001), Call::relu(270_001)] {
        declared_equals_metered(&rss_over::<u32>(Truncation::Gap), call);
    }
    // More than are on their way at once.
    declared_equals_metered(&falcon_over::<u32>(), Call::truncate(1_500_001, 9));
}

#[test]
fn curious_parties_have_no_verifications() {
    let waiting = Unverified {
        carries: 5,
        ands: 5,
        choices: 5,
        quotients: 5,
        products: 5,
        entries: [6; 6],
    };
    let cost = FalconCost::<u64>::new(falcon::Options::default());
    let cost = cost.online(&Call::Verify(waiting));
    assert_eq!(cost, Cost::each(PARTIES, 0, 0));
}

#[test]
fn declared_equals_metered_with_narrow_signs() {
    for call in [1, 7, 64, 129].into_iter().flat_map(every_call) {
        let subject = falcon_over::<u64>().truncating(Truncation::Exact);
        declared_equals_metered(&subject.with_sign_bits(25), call);
        let subject = falcon_over::<u64>().truncating(Truncation::Exact);
        declared_equals_metered(&subject.with_paper_comparison().with_sign_bits(25), call);
    }
}

/// The larger sizes run over the larger field, where no draw is ever made again; that costs more
/// than declared.
#[test]
fn declared_equals_metered_between_many_parties() {
    for parties in [3, 4, 7] {
        for comparison in [Comparison::Tree, Comparison::Rot, Comparison::Auto] {
            for opening in [Opening::King, Opening::Direct, Opening::Auto] {
                let small = shamir_over::<F31>(parties, comparison, opening);
                let large = shamir_over::<F61>(parties, comparison, opening);
                for call in [1, 7].into_iter().flat_map(every_call) {
                    declared_equals_metered(&small, call);
                }
                for call in every_call(300) {
                    declared_equals_metered(&large, call);
                }
            }
        }
    }
}

/// Several blocks of dealings, and several pieces that a king opens.
#[test]
fn declared_equals_metered_of_several_blocks_of_dealings() {
    for opening in [Opening::King, Opening::Direct] {
        let subject = shamir_over::<F61>(7, Comparison::Tree, opening);
        declared_equals_metered(&subject, Call::elementwise(300_001, 0));
    }
}

/// Declared costs are metered ones between as many parties as there can be: fewer kings than parties, and as many.
#[test]
fn declared_equals_metered_between_as_many_parties_as_there_can_be() {
    for opening in [Opening::King, Opening::Direct] {
        let subject = shamir_over::<F61>(MAX_PARTIES, Comparison::Rot, opening);
        for call in [Call::relu(3), Call::elementwise(20_001, 0)] {
            declared_equals_metered(&subject, call);
        }
        for parties in [31, MAX_PARTIES] {
            let subject = shamir_over::<F61>(parties, Comparison::Tree, opening);
            declared_equals_metered(&subject, Call::relu(70));
        }
    }
}

#[test]
fn declared_equals_metered_with_thresholds_below_the_greatest() {
    for call in [7, 300].into_iter().flat_map(every_call) {
        for (parties, threshold) in [(5, 1), (7, 1), (7, 2)] {
            for comparison in [Comparison::Tree, Comparison::Rot] {
                for opening in [Opening::King, Opening::Direct] {
                    let subject = shamir_over::<F61>(parties, comparison, opening);
                    declared_equals_metered(&subject.with_threshold(threshold), call);
                }
            }
        }
    }
}

#[test]
fn a_demand_of_several_batches_is_declared_too() {
    several_batches(&falcon_over::<u32>(), 400_000);
    several_batches(&falcon_over::<u32>().with_paper_comparison(), 400_000);
    for sign_bits in [32, 64] {
        for n in [9_000, 20_000, 40_000] {
            let subject = malicious_over::<u64>().with_sign_bits(sign_bits);
            several_batches(&subject.with_paper_comparison(), n);
            several_batches(&malicious_over::<u64>().with_sign_bits(sign_bits), n);
        }
    }
}

#[test]
fn wide_spans_cost_what_the_specification_says() {
    spans(&falcon_over::<u64>(), "falcon, 64 bits");
    spans(&ubl_over::<u64>(Truncation::Gap), "bicoptor ubl, 64 bits");
    spans(&rss_over::<u64>(Truncation::Gap), "bicoptor rss, 64 bits");
    let shamir = shamir_over::<F61>(3, Comparison::Tree, Opening::King);
    spans(&shamir, "shamir, 61 bits");
}
