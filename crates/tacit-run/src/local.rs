//! All parties as threads of this process: their terms, and a program that each of them runs.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use tacit_algebra::sharing_cores;

use crate::job::Planned;
use crate::terms::Terms;
use crate::{Error, Progress, Settings};

/// The terms of a run of all parties on this machine.
pub(crate) fn local_terms(planned: Planned, settings: &Settings) -> Result<Terms, Error> {
    let plan = planned.plan;
    let terms = Terms::new(
        settings,
        Some(plan.modulus.bits()),
        plan.order,
        plan.public_model,
    )?;
    // Nobody else's plan: it may take all the memory that there is.
    let item_bytes = u64::MAX;
    Ok(Terms {
        item_bytes,
        ..terms
    })
}

/// Runs `program` as every party, each with its part: party 0 on this thread with `observe`, the others
/// on threads of their own. Of several errors the one nearest to the cause is returned; a panic is an error.
pub fn in_threads<P: Send, T: Send>(
    parts: Vec<P>,
    observe: &mut dyn FnMut(Progress) -> bool,
    program: impl Fn(P, &mut dyn FnMut(Progress) -> bool) -> Result<T, Error> + Sync,
) -> Result<Vec<T>, Error> {
    let all = parts.len();
    let guarded = |party: usize, part: P, observe: &mut dyn FnMut(Progress) -> bool| {
        guarded(party, || sharing_cores(all, || program(part, observe)))
    };
    let guarded = &guarded;
    let ended: Vec<Result<T, Error>> = thread::scope(|scope| {
        let mut parts = parts.into_iter().enumerate();
        let first = parts.next();
        let threads: Vec<_> = parts
            .map(|(party, part)| scope.spawn(move || guarded(party, part, &mut |_| true)))
            .collect();
        let first = first.map(|(party, part)| guarded(party, part, observe));
        let others = threads.into_iter().enumerate().map(|(i, thread)| {
            thread.join().unwrap_or_else(|panic| {
                Err(Error::Panic {
                    party: i + 1,
                    what: what(panic),
                })
            })
        });
        first.into_iter().chain(others).collect()
    });
    nearest(ended)
}

/// Runs a party's program; a panic is an error.
pub(crate) fn guarded<T>(
    party: usize,
    program: impl FnOnce() -> Result<T, Error>,
) -> Result<T, Error> {
    catch_unwind(AssertUnwindSafe(program)).unwrap_or_else(|panic| {
        let what = what(panic);
        Err(Error::Panic { party, what })
    })
}

/// All results, or the error nearest to the cause.
fn nearest<T>(ended: Vec<Result<T, Error>>) -> Result<Vec<T>, Error> {
    let (mut results, mut errors) = (Vec::new(), Vec::new());
    for end in ended {
        match end {
            Ok(result) => results.push(result),
            Err(error) => errors.push(error),
        }
    }
    match errors.into_iter().min_by_key(Error::distance) {
        Some(error) => Err(error),
        None => Ok(results),
    }
}

fn what(panic: Box<dyn Any + Send>) -> String {
    match panic.downcast::<String>() {
        Ok(words) => *words,
        Err(panic) => panic
            .downcast::<&str>()
            .map_or_else(|_| "a panic".into(), |w| w.to_string()),
    }
}
