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

use crate::histograms::couples;
use crate::*;
use difference::difference;
use openings::tells_no_more_than_the_result;
use programs::{ALL, EXACT, PRODUCTS, Program};
use record::{Roles, Seen, observe_rows};
use rows::Row;

pub use functions::functions_hide;
pub use openings::Sharing;
pub use record::{Look, Stream, raw_opening};
pub use relations::{multiples_are_added_modulo, rows_without_relations_break_none_by_chance};
pub use rows::Words;

/// Tests of what a party sees of every call; the subject comes with what is looked at.
#[macro_export]
macro_rules! views {
    (|$check:ident| $on:expr) => {
        $crate::tests! { |$check| $on, views:
            a_view_depends_on_the_result_alone
            the_views_tell_different_results
            #[ignore = "every owner for every audience: minutes, see make test-long"]
            a_view_depends_on_the_result_alone_whoever_owns_the_secrets
        }
    };
}

/// How many of the configurations a test takes.
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
fn hides(subject: &dyn Subject, look: Look, reach: Reach, programs: &[Program]) {
    for (turn, program) in programs.iter().copied().enumerate() {
        for roles in roles(subject.parties(), turn, reach) {
            let runs = program
                .secrets()
                .map(|secrets| observe_rows(subject, roles, secrets, program));
            let [first, same, other] = &runs;
            for run in &runs {
                tells_no_more_than_the_result(subject, look.sharing, roles, run);
            }
            let by_chance =
                subject.rounding().0 < 0 || matches!(look.sharing, Sharing::Polynomial(_));
            let rounds = program.rounds() && by_chance;
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

/// What takes longer is seen by every audience, but in every program by one only.
pub fn a_view_depends_on_the_result_alone(subject: &dyn Subject, look: Look) {
    let reach = if look.slow { Reach::Few } else { Reach::Sample };
    hides(subject, look, reach, &ALL);
}

/// What each party sees of every call and function depends on the result alone, for every audience and owner.
pub fn a_view_depends_on_the_result_alone_whoever_owns_the_secrets(
    subject: &dyn Subject,
    look: Look,
) {
    hides(subject, look, Reach::All, &ALL);
}

/// What each party sees of signs without a promise, where these are computed in another way, depends on the result
/// alone: for every owner of the secrets if `whoever`, else by turns.
pub fn exact_signs_hide(subject: &dyn Subject, look: Look, whoever: bool) {
    let reach = if whoever { Reach::All } else { Reach::Sample };
    hides(subject, look, reach, &EXACT);
}

/// What each party sees of matrix products, where these are computed in another way, depends on the result alone.
pub fn products_hide(subject: &dyn Subject, look: Look) {
    hides(subject, look, Reach::Few, &PRODUCTS);
}

/// The tests are not blind: whoever hears a result sees that secrets with other results are others.
pub fn the_views_tell_different_results(subject: &dyn Subject, look: Look) {
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

/// The tests are not blind: they find what an assistant makes of raw summands and of its masks, by relations of degree
/// 3.
pub fn raw_summands_sent_to_the_assistant_leak(subject: &dyn Subject, look: Look) {
    let roles = Roles {
        owner: 0,
        to: Audience::One(2),
        joint: false,
        mutant: true,
    };
    let leaks = |program: &Program| {
        let [first, same, _] = program
            .secrets()
            .map(|secrets| observe_rows(subject, roles, secrets, *program));
        let [a, b] = [first, same].map(|run| run.rows(&look, 2));
        difference(*program, &a, &b).is_seen()
    };
    let products = [
        Program::Saved,
        Program::Product,
        Program::Reused,
        Program::Known,
    ];
    for program in products.iter().chain([&Program::Relu]) {
        assert!(leaks(program), "{program:?}");
    }
}
