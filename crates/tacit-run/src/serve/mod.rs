//! A party that stays up and answers clients that are no party: private prediction as a service.
//!
//! A [`Service`] is one model at one party. [`Service::run`] is one life of it: this party meets the
//! others (`config.rs` says with whom), they agree on the plan, the owner shares its weights, and then
//! they predict what clients ask, batch after batch (`rounds.rs`), until the service is drained or fails.
//! Clients share their inputs among the parties (`tacit_client`), and each party keeps what it got in a
//! bounded `Queue` under the number that the client chose. What speaks HTTP is above this floor.
//!
//! After an error a service may begin another life, with new keys and none of the old material, unless the
//! error means that a party cheats (`blame.rs`): then it stands still until a person starts it anew.

mod approval;
mod blame;
mod client;
mod commitment;
mod config;
mod queue;
mod rounds;
mod standing;
mod tables;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use tacit_client::Scheme;
use tacit_net::{Party, Phase};
use tacit_nn::Plan;

use crate::agreement::Agreement;
use crate::digest::hash;
use crate::given::Numbers;
use crate::job::{Host, Load, Model, Served, Serving, settle_model};
use crate::local::guarded;
use crate::record::Trace;
use crate::terms::Terms;
use crate::{Compiled, Error};
use approval::Offer;
use client::described;
pub use client::{Sharing, check_given};
pub use config::ServeConfig;
use queue::Queue;
pub use queue::{Id, Refused};
use rounds::{Pool, Round, Rounds};
use standing::Standing;

/// What clients are told of a model that is served, and what a body must fit.
struct Told {
    json: Vec<u8>,
    scheme: Scheme,
    party: usize,
    /// Numbers that are shared of an item.
    item_len: usize,
}

/// One model that the parties of a config serve, at one of them.
pub struct Service {
    config: ServeConfig,
    /// Where the model stands among those of the config.
    at: usize,
    model: Option<Compiled>,
    /// The owner's commitment to its file.
    commitment: Option<String>,
    queue: Queue,
    standing: Mutex<Standing>,
    described: Mutex<Option<Arc<Told>>>,
    /// What the owner offered last, whether or not this party approves it.
    offered: Mutex<Option<Vec<u8>>>,
    /// A drain that was asked for while the parties were not yet together.
    leaving: AtomicBool,
    /// What a cheater makes of the shares that it computes on, to show that the others notice.
    #[cfg(test)]
    tamper: Option<fn(&mut Vec<u8>)>,
}

impl Service {
    /// Reads the config, and compiles the model at its owner. The version may be left out if there is one.
    pub fn new(path: &Path, name: &str, version: Option<&str>) -> Result<Self, Error> {
        let config = ServeConfig::load(path)?;
        let at = config.find(name, version)?;
        let table = config.table(at);
        let model = match &table.file {
            Some(file) => {
                let samples = table.samples.as_deref().map(Numbers::read).transpose()?;
                let samples = samples.as_ref().map(Numbers::given);
                let protocol = config.run.protocol;
                let model = Compiled::planned(file, &table.plan, samples, protocol)?;
                model.planned_for(protocol)?;
                Some(model)
            }
            None => None,
        };
        let commitment = table.file.as_deref();
        let commitment = commitment.map(|file| commitment::commitment(file, &config.salt(table)));
        Ok(Service {
            commitment: commitment.transpose()?,
            queue: Queue::new(config.limits()),
            at,
            model,
            standing: Mutex::new(Standing {
                state: "new",
                ..Standing::default()
            }),
            described: Mutex::new(None),
            offered: Mutex::new(None),
            leaving: AtomicBool::new(false),
            #[cfg(test)]
            tamper: None,
            config,
        })
    }

    /// One life: meets the others, shares the model, and answers requests until [`Service::drain`] has
    /// ended it, or an error has. After an error that means cheating there is no other life.
    pub fn run(&self, on_notice: &mut dyn FnMut(&str)) -> Result<(), Error> {
        if self.standing().state == "quarantined" {
            let why = "it stands still, since a party broke the protocol; find out which, by the errors of all \
                       parties beside each other, and start this service anew without it";
            return Err(Error::setting("service", why));
        }
        self.leaving.store(false, Ordering::Relaxed);
        self.stand("connecting", None);
        let ended = self.live(on_notice);
        let ready = self
            .described
            .lock()
            .is_ok_and(|mut told| told.take().is_some());
        let state = match &ended {
            Ok(()) => "drained",
            Err(error) => match blame::suspects(error, ready) {
                Some(suspects) => {
                    self.standing().suspects = suspects;
                    "quarantined"
                }
                None => "failed",
            },
        };
        self.stand(state, ended.as_ref().err().map(Error::words));
        let refused = match &ended {
            Ok(()) => Refused::new(
                "drained",
                "this party has stopped serving; ask again when it is back",
            ),
            Err(_) if state == "quarantined" => Refused::new(
                "failed",
                "a party broke the protocol and the service stands still; this party gave out nothing of this request",
            ),
            Err(_) => Refused::new(
                "failed",
                "the parties lost one another while this request waited; ask anew, with a new number",
            ),
        };
        self.queue
            .close(Refused::new("not-ready", refused.message.clone()));
        self.queue.refuse_all(&refused);
        ended
    }

    /// Takes a request of a client: its number, how many items it has, and this party's body of it.
    pub fn submit(&self, client: &str, id: Id, items: usize, body: Vec<u8>) -> Result<(), Refused> {
        let Some(told) = self.told() else {
            return Err(self.not_ready());
        };
        let max = self.config.limits().batch;
        if !(1..=max).contains(&items) {
            let why = format!(
                "a request has 1 to {max} items here, not {items}; ask for fewer at a time"
            );
            return Err(Refused::new("too-many-items", why));
        }
        let n = items.saturating_mul(told.item_len);
        let len = told.scheme.body_len(told.party, n);
        if body.len() != len {
            let why = format!(
                "a body of {items} items has {len} bytes at this party, not {}",
                body.len()
            );
            return Err(Refused::new("malformed", why));
        }
        if !told.scheme.holds(&body) {
            let why =
                "a body holds words as the sharing has them: these are none of its ring or field";
            return Err(Refused::new("malformed", why));
        }
        self.queue.submit(client, id, items, body)
    }

    /// Waits for this party's part of an answer, at most so long.
    pub fn answer(&self, id: &Id, patience: Duration) -> Option<Result<Vec<u8>, Refused>> {
        self.queue.answer(id, patience)
    }

    /// Frees the place of a request whose client is gone, if it has not begun; whether it had not.
    pub fn forget(&self, id: &Id) -> bool {
        self.queue.forget(id)
    }

    /// Takes no new requests; [`Service::run`] ends at all parties once those taken are answered.
    pub fn drain(&self) {
        self.leaving.store(true, Ordering::Relaxed);
        self.queue.close(Refused::new(
            "draining",
            "this party takes no more requests; ask again when it is back",
        ));
        let mut standing = self.standing();
        if standing.state == "ready" {
            standing.state = "draining";
        }
    }

    /// What it is doing, as JSON.
    pub fn state(&self) -> String {
        self.standing().clone().to_json(&self.queue)
    }

    /// What clients need to know of the model, once it is served, as JSON.
    pub fn described(&self) -> Option<Vec<u8>> {
        self.told().map(|told| told.json.clone())
    }

    fn told(&self) -> Option<Arc<Told>> {
        self.described.lock().ok().and_then(|told| told.clone())
    }

    fn standing(&self) -> MutexGuard<'_, Standing> {
        self.standing
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn stand(&self, state: &'static str, why: Option<String>) {
        let mut standing = self.standing();
        (standing.state, standing.why) = (state, why);
    }

    fn not_ready(&self) -> Refused {
        let standing = self.standing();
        match standing.state {
            "quarantined" => Refused::new(
                "quarantined",
                "a party broke the protocol; the service stands still",
            ),
            state => Refused::new(
                "not-ready",
                format!("the parties are not together (this one is {state})"),
            ),
        }
    }

    fn live(&self, on_notice: &mut dyn FnMut(&str)) -> Result<(), Error> {
        let table = self.config.table(self.at);
        let (member, peers) = (self.config.member(self.at)?, self.config.peers(self.at)?);
        let (settings, terms) = (self.config.settings(table), self.config.terms(table)?);
        let mut record = member.record(&peers, &settings, on_notice)?;
        let party = member.connect(&peers, &settings, on_notice)?;
        let us = party.id();
        let mut trace = Trace::default();
        let ended = guarded(us, || self.serve(party, &terms, &mut trace));
        let who = (us, peers.as_slice());
        let written = record.add(&terms, who, &trace, ended.as_ref().err());
        ended.and(written)
    }

    /// A life from when all parties are there.
    fn serve(&self, mut party: Party, terms: &Terms, trace: &mut Trace) -> Result<(), Error> {
        party.set_phase(Phase::Setup);
        party.set_layer("agreement");
        let us = party.id();
        let begun = self.begin(&mut party, terms);
        let (model, committed, session) = begun.inspect_err(|error| error.tell(&mut party))?;
        let Model {
            plan,
            digest,
            material,
        } = model;
        trace.plan = Some(digest.clone());
        let weights = self
            .model
            .as_ref()
            .map(|m| plan.encode_weights(&m.graph))
            .transpose();
        let weights = weights
            .map_err(Error::from)
            .inspect_err(|e| e.tell(&mut party))?;
        let load = Load {
            plan: &plan,
            roles: &terms.roles,
            weights: weights.as_deref(),
            ledger: &mut trace.ledger,
        };
        let instance = terms.instance.comparing(plan.compare_bits);
        let mut host = instance.make(party, load)?;
        let announced = self.announce(&plan, terms, us, [&digest, &committed, &session]);
        announced.inspect_err(|error| error.tell(host.party()))?;
        let (most, ahead) = self.config.pool(material);
        let serving = Serving {
            plan: &plan,
            roles: &terms.roles,
            portion: terms.portion,
            ahead,
        };
        self.queue.open();
        if self.leaving.load(Ordering::Relaxed) {
            self.drain();
        }
        let ended = self.answer_all(&mut *host, serving, (terms, most), trace);
        ended.inspect_err(|error| error.tell(host.party()))
    }

    /// Tells clients from now on what is served.
    fn announce(
        &self,
        plan: &Plan,
        terms: &Terms,
        us: usize,
        names: [&str; 3],
    ) -> Result<(), Error> {
        let table = self.config.table(self.at);
        let (scheme, item_len) = (terms.instance.scheme()?, plan.input_len());
        let max = self.config.limits().batch;
        let json = described(table, max, (plan, terms), us, names)?;
        let told = Told {
            json,
            scheme,
            party: us,
            item_len,
        };
        if let Ok(mut described) = self.described.lock() {
            *described = Some(Arc::new(told));
        }
        let mut standing = self.standing();
        let [digest, commitment, session] = names.map(|name| Some(name.into()));
        standing.lives += 1;
        (standing.digest, standing.commitment, standing.session) = (digest, commitment, session);
        (standing.state, standing.why) = ("ready", None);
        Ok(())
    }

    /// Agrees on the model and on a name for this life.
    fn begin<'a>(
        &'a self,
        party: &mut Party,
        terms: &Terms,
    ) -> Result<(Model<'a>, String, String), Error> {
        let table = self.config.table(self.at);
        let planned = self.model.as_ref();
        let planned = planned
            .map(|m| m.planned_for(terms.instance.protocol))
            .transpose()?;
        let more = [
            ("model", format!("{} version {}", table.name, table.version)),
            ("items of a batch", self.config.limits().batch.to_string()),
            ("material ahead", self.config.pool_words()),
        ];
        let model = settle_model(Agreement::new(party), terms, planned, &more)?;
        let mut own = [0u8; 16];
        getrandom::fill(&mut own).map_err(|e| tacit_protocols::Error::Randomness(e.to_string()))?;
        let mut agreement = Agreement::new(party);
        let (owner, told) = (terms.roles.model_owner, self.commitment.clone());
        let told = told.map(String::into_bytes);
        let words = agreement.announced(owner, "commitment", told, commitment::DIGITS)?;
        let all: Vec<[u8; 16]> = agreement.exchanged("session", &own)?;
        agreement.settle(&[])?;
        let committed = String::from_utf8_lossy(&words).escape_debug().to_string();
        self.judge(Offer::new(table, terms, &model.plan, &committed)?)?;
        Ok((model, committed, hash(&all.concat())[..32].to_string()))
    }

    /// Predicts batch after batch.
    fn answer_all(
        &self,
        host: &mut dyn Host,
        serving: Serving,
        (terms, most): (&Terms, usize),
        trace: &mut Trace,
    ) -> Result<(), Error> {
        let scheme = terms.instance.scheme()?;
        let mut rounds = Rounds {
            queue: &self.queue,
            scheme,
            number: 0,
            told: Instant::now(),
            pool: Pool {
                most,
                items: serving.ahead,
                ..Pool::default()
            },
            #[cfg(test)]
            forgets: false,
        };
        loop {
            let ids = match rounds.next(host.party())? {
                Round::Over => return Ok(()),
                Round::Nothing => continue,
                Round::Fill => {
                    host.party().restart_meter();
                    host.fill(serving)?;
                    self.standing().count(host.party(), 0, rounds.pool.ready());
                    continue;
                }
                Round::Batch(ids) => ids,
            };
            host.party().restart_meter();
            let taken: Option<Vec<_>> = ids.iter().map(|id| self.queue.begin(id)).collect();
            let gone = || Error::Data("a request that was agreed on is no longer there".into());
            let taken = taken.ok_or_else(gone)?;
            let shares: Vec<_> = taken
                .iter()
                .map(|taken| (taken.items, scheme.share(&taken.body)))
                .collect();
            #[cfg(test)]
            let shares = self.tampered(shares);
            let requests: Vec<_> = shares.iter().map(|(n, share)| (*n, &share[..])).collect();
            let items: usize = taken.iter().map(|taken| taken.items).sum();
            let served = Served {
                serving,
                requests: &requests,
                ready: rounds.pool.take(items),
            };
            let ended = trace
                .ledger
                .watch(("answers", items), vec![], || host.serve(served));
            let answers = ended.map_err(|e| e.after(&trace.ledger))?;
            trace.inputs = Some(trace.inputs.unwrap_or(0) + items);
            self.standing()
                .count(host.party(), items, rounds.pool.ready());
            for (id, answer) in ids.iter().zip(answers) {
                self.queue.end(id, Ok(answer));
            }
        }
    }
}

#[cfg(test)]
mod tests;
