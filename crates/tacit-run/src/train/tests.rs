//! How a training agrees, as words: for the tests of agreements.

use super::agree::Parts;
use super::begin;
use super::checkpoint::{Place, Position};
use super::{Task, TrainOptions};
use crate::Error;
use crate::agreement::Agreement;
use crate::terms::Terms;

/// Who brings how many items.
pub(crate) fn sizes(
    agreement: Agreement,
    terms: &Terms,
    options: &TrainOptions,
    task: &Task,
) -> Result<String, Error> {
    let parts = Parts::agree(agreement, terms, options, task)?;
    let all = parts.train.iter().chain(&parts.test);
    let sizes: Vec<_> = all.map(|part| (part.owner, part.items)).collect();
    Ok(format!("{sizes:?}"))
}

/// Where a training goes on, of checkpoints after so many mini-batches.
pub(crate) fn place(agreement: Agreement, done: &[usize]) -> Result<String, Error> {
    let at = |&done: &usize| Position {
        place: Place {
            training: "t".into(),
            run: "r".into(),
            session: "s".into(),
            party: agreement.us(),
            done,
        },
        epochs: Vec::new(),
    };
    let found: Vec<Position> = done.iter().map(at).collect();
    let (now, _) = begin::place(agreement, &found)?;
    Ok(format!(
        "{} {} {}",
        now.place.run, now.place.session, now.place.done
    ))
}
