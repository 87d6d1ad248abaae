//! All parties as threads of this process.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use tacit_net::{Party, memory};

use crate::compiled::finite;
use crate::job::{self, Contribution, Planned};
use crate::log::logged;
use crate::record::Trace;
use crate::terms::Terms;
use crate::{Compiled, Error, Outcome, Progress, Settings, Tensor};

/// Predicts `x`, a batch of inputs, with all parties in this process, joined by memory links.
///
/// A simulation: whoever runs it sees every party's secrets; it computes and sends exactly what
/// parties apart would. `observe` is called on this thread and cancels the run by `false`.
pub fn run_local(
    compiled: &Compiled,
    settings: &Settings,
    x: Tensor,
    observe: &mut dyn FnMut(Progress) -> bool,
) -> Result<Outcome, Error> {
    finite("input", &x)?;
    let planned = compiled.planned_for(settings.protocol)?;
    let terms = local_terms(planned, settings)?;
    let observe = &mut logged(observe);
    let mesh = memory::mesh(
        terms.instance.parties,
        &terms.instance.link,
        settings.timeout,
    );
    let roles = &terms.roles;
    let outcomes = in_threads(mesh, observe, |party, observe| {
        let brings = Contribution {
            model: (party.id() == roles.model_owner).then_some(planned),
            input: (party.id() == roles.data_owner).then_some(x),
            labels: None,
        };
        job::run(party, &terms, brings, &mut Trace::default(), observe)
    })?;
    let mut outcomes: Vec<Outcome> = outcomes.into_iter().map(|(outcome, _)| outcome).collect();
    let mut outcome = outcomes.swap_remove(roles.data_owner);
    outcome.report.warnings = planned.plan.warnings_for(settings.protocol.key_bits);
    Ok(outcome)
}

/// The terms of a run of all parties on this machine.
pub(crate) fn local_terms(planned: Planned, settings: &Settings) -> Result<Terms, Error> {
    let plan = planned.plan;
    let terms = Terms::new(
        settings,
        Some(plan.ring_bits),
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

/// Runs `program` as every party: party 0 on this thread with `observe`, the others on threads of
/// their own. Of several errors the one nearest to the cause is returned; a panic is an error.
pub(crate) fn in_threads<T: Send>(
    mesh: Vec<Party>,
    observe: &mut dyn FnMut(Progress) -> bool,
    program: impl Fn(Party, &mut dyn FnMut(Progress) -> bool) -> Result<T, Error> + Sync,
) -> Result<Vec<T>, Error> {
    let guarded = |party: Party, observe: &mut dyn FnMut(Progress) -> bool| {
        guarded(party.id(), || program(party, observe))
    };
    let guarded = &guarded;
    let ended: Vec<Result<T, Error>> = thread::scope(|scope| {
        let mut mesh = mesh.into_iter();
        let first = mesh.next();
        let threads: Vec<_> = mesh
            .map(|party| scope.spawn(move || guarded(party, &mut |_| true)))
            .collect();
        let first = first.map(|party| guarded(party, observe));
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
