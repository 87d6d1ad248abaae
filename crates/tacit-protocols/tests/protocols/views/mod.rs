//! What each party of each protocol sees of each call, the opening of its result included, does not
//! depend on secrets beyond the result: every party, and all, hear in turn.
//!
//! Two runs on different secrets are compared by everything that a party, or as many as may collude, has: the messages that it
//! was sent and that it sent, its shares, and, in Bicoptor, where one party deals masks, its
//! generators. By chi-square of rows, of pairs of them, of their sums and differences, and by the
//! relations that hold among all rows. `openings.rs` shows that what an opening sends follows from the
//! result and what the receiver has; `functions.rs` looks at the functions of `math`.

mod difference;
mod functions;
mod openings;
mod programs;
mod record;
mod relations;
mod rows;

use crate::common::*;
use crate::histograms::couples;
use difference::difference;
use openings::{Sharing, tells_no_more_than_the_result};
use programs::{ALL, EXACT, Program};
use record::{Look, Roles, Seen, Stream, observe_rows};
use rows::{Row, Words};
use tacit_algebra::mersenne::{F5, Field};
use tacit_protocols::falcon::Truncation;
use tacit_protocols::machine::Audience;
use tacit_protocols::shamir::{Comparison, Opening};

pub use record::raw_opening;

/// Of how many configurations a test takes those.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// One audience for each program, all of them over the programs.
    Few,
    /// Every audience, one owner for each.
    Sample,
    /// Every owner for every audience.
    All,
}

/// Who brings the secrets and who hears; by turns where not all do.
fn roles(parties: usize, turn: usize, reach: Reach) -> Vec<Roles> {
    let audience = |receiver: usize| match receiver == parties {
        true => Audience::All,
        false => Audience::One(receiver),
    };
    let mut all = Vec::new();
    for receiver in 0..=parties {
        let owners: Vec<usize> = match reach {
            Reach::Few if turn % (parties + 1) != receiver => vec![],
            Reach::All => (0..parties).filter(|owner| *owner != receiver).collect(),
            _ if receiver == parties => vec![turn % parties],
            _ => vec![(receiver + 1 + turn % (parties - 1)) % parties],
        };
        for owner in owners {
            let one = Roles {
                owner,
                to: audience(receiver),
                joint: (turn + receiver).is_multiple_of(2),
                mutant: false,
            };
            all.push(one);
            if reach == Reach::All {
                let joint = !one.joint;
                all.push(Roles { joint, ..one });
            }
        }
    }
    all
}

/// Who may put together what they see: any `t` parties under Shamir sharing, else one; the owner of
/// the secrets is none of them.
fn curious(sharing: Sharing, parties: usize, owner: usize) -> Vec<Vec<usize>> {
    let others = (0..parties).filter(|party| *party != owner);
    match sharing {
        Sharing::Polynomial(2) => couples(parties)
            .filter(|(a, b)| *a != owner && *b != owner)
            .map(|(a, b)| vec![a, b])
            .collect(),
        Sharing::Polynomial(t) if t > 2 => unreachable!("of at most 5 parties"),
        _ => others.map(|party| vec![party]).collect(),
    }
}

/// Holds the views of all but the owner against each other: of secrets with one result, and, where
/// they do not hear it, of others.
fn hides<S: Subject>(subject: &S, look: Look, reach: Reach, programs: &[Program]) {
    for (turn, program) in programs.iter().copied().enumerate() {
        for roles in roles(subject.parties(), turn, reach) {
            let runs = program
                .secrets()
                .map(|secrets| observe_rows(subject, roles, secrets, program));
            let [first, same, other] = &runs;
            for run in &runs {
                tells_no_more_than_the_result(subject, look.sharing, roles, run);
            }
            let rounds = program.rounds() && matches!(look.sharing, Sharing::Polynomial(_));
            for (a, b) in first.ends.iter().zip(&same.ends).filter(|_| !rounds) {
                assert!(a.opened == b.opened, "{program:?} has two results");
            }
            for curious in curious(look.sharing, subject.parties(), roles.owner) {
                let against = match curious.iter().any(|party| roles.hears(*party)) {
                    true => &[same][..],
                    false => &[same, other],
                };
                let view = |run: &Seen| -> Vec<Row> {
                    let views = curious.iter().map(|party| run.rows(&look, *party));
                    views.flatten().collect()
                };
                let rows = view(first);
                for run in against {
                    let difference = difference(program, &rows, &view(run));
                    assert!(
                        !difference.is_seen(),
                        "parties {curious:?} see {difference} of {program:?}, {roles:?}, {}",
                        subject.name()
                    );
                }
            }
        }
    }
}

fn no_generators(_party: usize) -> Vec<Stream> {
    vec![]
}

const RING: Look = Look {
    sharing: Sharing::Replicated,
    words: Words::Ring,
    generators: no_generators,
    planes: false,
};

fn field(subject: &ShamirOver<F5>) -> Look {
    Look {
        sharing: Sharing::Polynomial(subject.options.threshold),
        words: Words::Field(F5::P as u8),
        generators: no_generators,
        planes: false,
    }
}

/// With the streams in common with the assistant.
const DEALT: Look = Look {
    sharing: Sharing::Holders,
    words: Words::Ring,
    generators: |party| match party {
        2 => vec![(0, b"bicoptor pair"), (1, b"bicoptor pair")],
        _ => vec![(2, b"bicoptor pair")],
    },
    planes: false,
};

/// With the components' streams.
const COMPONENTS: Look = Look {
    sharing: Sharing::Replicated,
    words: Words::Ring,
    generators: |party| {
        let label = b"bicoptor component";
        vec![((party + 2) % 3, label), ((party + 1) % 3, label)]
    },
    planes: false,
};

const WIDE: Look = Look {
    sharing: Sharing::Two,
    words: Words::Wide,
    generators: no_generators,
    planes: false,
};

/// Between 3 and 5 parties, every comparison and every opening in each.
fn shamirs() -> Vec<ShamirOver<F5>> {
    let comparisons = [Comparison::Tree, Comparison::Rot];
    let openings = [Opening::King, Opening::Direct];
    let of = |parties| comparisons.map(|c| openings.map(|o| shamir_over::<F5>(parties, c, o)));
    [3, 5].into_iter().flat_map(of).flatten().collect()
}

/// Runs a check on every protocol, in a test for each.
macro_rules! on_every_protocol {
    ($name:ident, $(#[$attribute:meta])? |$subject:ident, $look:ident| $check:expr) => {
        mod $name {
            use super::*;

            #[test]
            $(#[$attribute])?
            fn falcon() {
                let ($subject, $look) = (&falcon_over::<u8>(), RING);
                $check;
            }

            #[test]
            $(#[$attribute])?
            fn falcon_malicious() {
                let ($subject, $look) = (&malicious_over::<u8>(), RING);
                $check;
            }

            #[test]
            $(#[$attribute])?
            fn bicoptor_ubl() {
                let ($subject, $look) = (&ubl_over::<u8>(Truncation::Gap), DEALT);
                $check;
            }

            #[test]
            $(#[$attribute])?
            fn bicoptor_rss() {
                let ($subject, $look) = (&rss_over::<u8>(Truncation::Gap), COMPONENTS);
                $check;
            }

            #[test]
            $(#[$attribute])?
            fn shamir() {
                for subject in &shamirs() {
                    let ($subject, $look) = (subject, field(subject));
                    $check;
                }
            }

            #[test]
            $(#[$attribute])?
            fn sirnn() {
                let ($subject, $look) = (&sirnn_over(8), WIDE);
                $check;
            }
        }
    };
}

on_every_protocol!(a_view_depends_on_the_result_alone, |subject, look| {
    // What takes longer is seen by every audience, but in every program by one only.
    let name = subject.name();
    let slow = ["Malicious", "Shamir", "SiRnn"]
        .iter()
        .any(|part| name.contains(part));
    hides(
        subject,
        look,
        if slow { Reach::Few } else { Reach::Sample },
        &ALL,
    )
});

on_every_protocol!(
    a_view_depends_on_the_result_alone_whoever_owns_the_secrets,
    #[ignore = "every owner for every audience: minutes, see make test-long"]
    |subject, look| hides(subject, look, Reach::All, &ALL)
);

/// The same of signs without a promise, where these are computed in another way: under Bicoptor.
fn exact_signs_hide(reach: Reach) {
    let planes = true;
    let look = Look { planes, ..DEALT };
    hides(&ubl_over::<u8>(Truncation::Gap), look, reach, &EXACT);
    let look = Look {
        planes,
        ..COMPONENTS
    };
    hides(&rss_over::<u8>(Truncation::Gap), look, reach, &EXACT);
}

/// Seen to fail with each mask of the adder and of the products left out, or used twice.
#[test]
fn a_view_of_an_exact_sign_depends_on_the_result_alone() {
    exact_signs_hide(Reach::Sample);
}

#[test]
#[ignore = "every owner for every audience, see make test-long"]
fn a_view_of_an_exact_sign_depends_on_the_result_alone_whoever_owns_the_secrets() {
    exact_signs_hide(Reach::All);
}

/// The tests bite: who hears a result sees that secrets with other results are others.
fn results_are_seen<S: Subject>(subject: &S, look: Look) {
    let roles = Roles {
        owner: 0,
        to: Audience::All,
        joint: false,
        mutant: false,
    };
    let program = Program::Relu;
    let [hidden, _, shown] = program
        .secrets()
        .map(|secrets| observe_rows(subject, roles, secrets, program));
    for party in 1..subject.parties() {
        let [a, b] = [&hidden, &shown].map(|run| run.rows(&look, party));
        let difference = difference(program, &a, &b);
        assert!(
            difference.is_seen(),
            "only {difference}, {party}, {}",
            subject.name()
        );
    }
}

on_every_protocol!(the_views_tell_different_results, |subject, look| {
    results_are_seen(subject, look)
});

/// The same: what Bicoptor's assistant makes of raw summands and of its masks, by relations of degree 3,
/// is found.
#[test]
fn raw_summands_sent_to_the_assistant_are_found_to_leak() {
    let subject = ubl_over::<u8>(Truncation::Gap);
    let roles = Roles {
        owner: 0,
        to: Audience::One(2),
        joint: false,
        mutant: true,
    };
    let leaks = |program: &Program| {
        let [first, same, _] = program
            .secrets()
            .map(|secrets| observe_rows(&subject, roles, secrets, *program));
        let [a, b] = [first, same].map(|run| run.rows(&DEALT, 2));
        difference(*program, &a, &b).is_seen()
    };
    let products = [
        Program::Saved,
        Program::Product,
        Program::Fixed,
        Program::Known,
    ];
    for program in products.iter().chain([&Program::Relu]) {
        assert!(leaks(program), "{program:?}");
    }
}
