//! All parties of this machine, which stay up between requests.

use std::num::NonZeroUsize;
use std::sync::Arc;

use tacit_net::{LinkModel, memory};

use crate::compiled::finite;
use crate::instance::Instance;
use crate::job::{Contribution, Joined, Observer, Planned, Request};
use crate::local::{in_threads, local_terms};
use crate::log::logged;
use crate::processes::Running;
use crate::record::Trace;
use crate::terms::Terms;
use crate::{Compiled, Error, Outcome, Progress, Settings, Tensor};

/// All parties on this machine, between predictions: threads of this process, joined by memory links, or
/// processes joined by TLS.
///
/// A simulation: whoever runs it sees every party's secrets; it computes and sends exactly what
/// parties apart would. The first prediction of a model agrees, makes keys and shares the weights; those
/// that follow of the same model agree on their number and size alone. Another model begins anew, and so
/// does what follows an error.
pub struct Session {
    settings: Settings,
    /// What joins the parties, if they are threads.
    links: LinkModel,
    /// What starts a party, if they are processes.
    command: Option<Vec<String>>,
    open: Option<Open>,
}

/// The parties that hold a model.
struct Open {
    model: Arc<()>,
    parties: Parties,
}

impl Open {
    /// Whether the open parties can predict `batch` items of this model at a time.
    fn holds(&self, compiled: &Compiled, batch: Option<NonZeroUsize>) -> bool {
        let same = match &self.parties {
            Parties::Threads(_) => true,
            Parties::Processes(_, set) => *set == batch,
        };
        same && Arc::ptr_eq(&self.model, &compiled.identity)
    }
}

enum Parties {
    Threads(Vec<Joined>),
    /// Processes, with the items that they predict at a time.
    Processes(Running, Option<NonZeroUsize>),
}

impl Session {
    /// Parties that are not joined yet: threads, or processes of `command`, which runs a party from the
    /// config file whose path follows as its last argument, as [`crate::run_party_for`] does.
    pub fn new(settings: Settings, command: Option<Vec<String>>) -> Self {
        Session {
            links: settings.network.link,
            settings,
            command,
            open: None,
        }
    }

    /// Threads whose messages take no time; what is chosen by the network is chosen by that of the settings.
    pub(crate) fn without_network(settings: Settings) -> Self {
        Session {
            links: LinkModel::LOCAL,
            ..Session::new(settings, None)
        }
    }

    /// Predicts `x`, a batch of inputs, so many at a time; `observe` is called on this thread and cancels
    /// the run by `false`.
    pub fn predict(
        &mut self,
        compiled: &Compiled,
        x: Tensor,
        batch: Option<NonZeroUsize>,
        observe: &mut dyn FnMut(Progress) -> bool,
    ) -> Result<Outcome, Error> {
        finite("input", &x)?;
        let planned = compiled.planned_for(self.settings.protocol)?;
        let settings = Settings {
            batch,
            ..self.settings.clone()
        };
        let terms = local_terms(planned, &settings)?;
        // What is refused leaves the parties as they are.
        planned.plan.encode_input(x.values, x.shape)?;
        let observe = &mut logged(observe);
        let same = self.open.take_if(|open| open.holds(compiled, batch));
        // Others are of no use any more, however they end.
        let _ = self.close(observe);
        let (parties, mut outcome) = match (same.map(|open| open.parties), &self.command) {
            (Some(Parties::Threads(parties)), _) => again(parties, &terms, x, observe)?,
            (Some(Parties::Processes(mut running, _)), _) => {
                let outcome = running.again(planned.plan, x, observe)?;
                (Parties::Processes(running, batch), outcome)
            }
            (None, None) => self.begin(planned, &terms, x, observe)?,
            (None, Some(command)) => {
                let terms = (&settings, &terms);
                let (running, outcome) =
                    Running::begin((compiled, planned), terms, x, command, observe)?;
                (Parties::Processes(running, batch), outcome)
            }
        };
        let model = compiled.identity.clone();
        self.open = Some(Open { model, parties });
        let answers = outcome.output.as_deref().unwrap_or_default();
        outcome.report.doubt = planned.plan.doubt_of(answers);
        outcome.report.warnings = planned
            .plan
            .warnings_for(settings.protocol.signs.key_bits.is_some());
        Ok(outcome)
    }

    /// Lets the parties go: what is asked for later begins anew.
    pub fn close(&mut self, observe: &mut dyn FnMut(Progress) -> bool) -> Result<(), Error> {
        match self.open.take().map(|open| open.parties) {
            Some(Parties::Processes(running, _)) => running.close(observe),
            Some(Parties::Threads(_)) | None => Ok(()),
        }
    }

    fn begin(
        &self,
        planned: Planned,
        terms: &Terms,
        x: Tensor,
        observe: Observer,
    ) -> Result<(Parties, Outcome), Error> {
        let Instance { parties, .. } = terms.instance;
        let mesh = memory::mesh(parties, &self.links, self.settings.timeout);
        let ended = in_threads(mesh, observe, |party, observe| {
            let brings = Contribution {
                model: (party.id() == terms.roles.model_owner).then_some(planned),
                input: (party.id() == terms.roles.data_owner).then_some(x.into()),
                labels: None,
                into: None,
            };
            Joined::begin(party, terms, brings, &mut Trace::default(), observe)
        })?;
        Ok(of_owner(ended, terms))
    }
}

/// The parties, and what the data's owner ends with.
fn of_owner(ended: Vec<(Joined, Outcome)>, terms: &Terms) -> (Parties, Outcome) {
    let (parties, mut outcomes): (Vec<_>, Vec<_>) = ended.into_iter().unzip();
    let outcome = outcomes.swap_remove(terms.roles.data_owner);
    (Parties::Threads(parties), outcome)
}

/// Runs another prediction by the parties that are already joined, as threads.
fn again(
    parties: Vec<Joined>,
    terms: &Terms,
    x: Tensor,
    observe: Observer,
) -> Result<(Parties, Outcome), Error> {
    let parties = parties.into_iter().enumerate().collect();
    let program = |(us, mut joined): (usize, Joined), observe: Observer| {
        let request = Request {
            input: (us == terms.roles.data_owner).then_some(x.into()),
            batch: terms.batch,
        };
        let outcome = joined.again(request, &mut Trace::default(), observe)?;
        Ok((joined, outcome))
    };
    Ok(of_owner(in_threads(parties, observe, program)?, terms))
}

/// Predicts `x` once, with all parties as threads, as [`Session::predict`] does.
pub fn run_local(
    compiled: &Compiled,
    settings: &Settings,
    x: Tensor,
    observe: &mut dyn FnMut(Progress) -> bool,
) -> Result<Outcome, Error> {
    Session::new(settings.clone(), None).predict(compiled, x, settings.batch, observe)
}
