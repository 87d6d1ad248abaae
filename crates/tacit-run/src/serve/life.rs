//! One life of a service, from where the parties meet until it is drained or fails: its sessions, which are
//! side by side, agree on the same model, and take their batches from one queue.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

use tacit_net::{Party, Phase};
use tacit_nn::Plan;

use super::approval::Offer;
use super::client::described;
use super::queue::Refused;
use super::rounds::{Pool, Round, Rounds};
use super::{Service, Told, blame, commitment, failed};
use crate::Error;
use crate::agreement::Agreement;
use crate::digest::hash;
use crate::job::{Host, Load, Model, Served, Serving, agree_on_model};
use crate::local::guarded;
use crate::provenance::Encounter;
use crate::record::Trace;
use crate::terms::Terms;

impl Service {
    /// All sessions of a life. The first that ends, ends the others.
    ///
    /// The parties meet for the first one, and only then for the others: so none of these ever waits for a
    /// party that is in another life.
    pub(super) fn live(&self, on_notice: &mut (dyn FnMut(&str) + Send)) -> Result<(), Error> {
        let sessions = self.config.table(self.at).sessions;
        let notice = Mutex::new(on_notice);
        let one = |session: usize, met: Vec<Sender<()>>| {
            let mut tell = |words: &str| {
                if let Ok(mut notice) = notice.lock() {
                    notice(words);
                }
            };
            let ended = self.session(session, met, &mut tell);
            self.over(&ended);
            ended
        };
        let mut ended: Vec<Result<(), Error>> = thread::scope(|scope| {
            let one = &one;
            let (met, others): (Vec<_>, Vec<_>) = (1..sessions)
                .map(|session| {
                    let (tell, heard) = channel();
                    let other = scope.spawn(move || match heard.recv() {
                        Ok(()) => one(session, Vec::new()),
                        Err(_) => Ok(()),
                    });
                    (tell, other)
                })
                .unzip();
            let first = one(0, met);
            let others = others.into_iter().map(|other| other.join());
            let others = others.map(|end| end.unwrap_or(Err(Error::Cancelled)));
            [first].into_iter().chain(others).collect()
        });
        // Cheating counts, whatever else there was.
        let ready = self.standing().was_ready;
        ended.sort_by_key(|end| match end {
            Err(error) => (
                blame::suspects(error, ready).is_none(),
                false,
                error.distance(),
            ),
            Ok(()) => (true, true, 0),
        });
        ended.into_iter().next().unwrap_or(Ok(()))
    }

    /// A session has ended: no request is taken any more, and the other sessions end, too.
    fn over(&self, ended: &Result<(), Error>) {
        let ready = self.tell(None).is_some();
        let was_ready = {
            let mut standing = self.standing();
            standing.was_ready |= ready;
            standing.was_ready
        };
        let refused = match ended {
            Err(error) => failed(error, was_ready),
            Ok(()) => Refused::new("drained", "a party has stopped serving"),
        };
        if self.queue.is_open() {
            self.queue
                .close(Refused::new("not-ready", refused.message.clone()));
        }
        if ended.is_err() {
            self.queue.refuse_waiting(&refused);
        }
    }

    /// A session, from where the parties meet for it.
    fn session(
        &self,
        session: usize,
        met: Vec<Sender<()>>,
        on_notice: &mut dyn FnMut(&str),
    ) -> Result<(), Error> {
        let table = self.config.table(self.at);
        let member = self.config.member(self.at, session)?;
        let peers = self.config.peers(self.at, session)?;
        let (settings, terms) = (self.config.settings(table), self.config.terms(table)?);
        let mut record = member.record(&peers, &settings, on_notice)?;
        let party = member.connect(&peers, &settings, on_notice)?;
        let us = party.id();
        if let Some(meeting) = party.meeting() {
            self.standing().certificates = meeting.certificates.clone();
        }
        let mut trace = Trace {
            encounter: Encounter::of(&party, &peers),
            ..Trace::default()
        };
        let ended = guarded(us, || self.serve((session, met), party, &terms, &mut trace));
        let who = (us, peers.as_slice());
        let written = record.add(&terms, who, &trace, ended.as_ref().err());
        ended.and(written)
    }

    /// A session from when all parties are there; those that wait for it hear when they have agreed.
    fn serve(
        &self,
        (session, met): (usize, Vec<Sender<()>>),
        mut party: Party,
        terms: &Terms,
        trace: &mut Trace,
    ) -> Result<(), Error> {
        party.set_phase(Phase::Setup);
        party.set_layer("agreement");
        let us = party.id();
        let begun = self.begin(session, &mut party, terms);
        let (model, committed, name) = begun.inspect_err(|error| error.tell(&mut party))?;
        for other in met {
            // It waits for nothing else.
            let _ = other.send(());
        }
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
        let mut host = load.start(&terms.instance, party)?;
        let names = [digest, committed, name];
        let announced = self.announce(session, &plan, (terms, us), names);
        announced.inspect_err(|error| error.tell(host.party()))?;
        let (most, ahead) = self.config.pool(material);
        let serving = Serving {
            plan: &plan,
            roles: &terms.roles,
            portion_bytes: terms.portion_bytes,
            ahead,
        };
        let ended = self.answer_all(session, &mut host, serving, (terms, most), trace);
        ended.inspect_err(|error| error.tell(host.party()))
    }

    /// Tells clients what is served, once all sessions are there.
    fn announce(
        &self,
        session: usize,
        plan: &Plan,
        (terms, us): (&Terms, usize),
        names: [String; 3],
    ) -> Result<(), Error> {
        let Some([digest, commitment, whole]) = self.standing().joins(session, names)? else {
            return Ok(());
        };
        let table = self.config.table(self.at);
        let (scheme, item_len) = (terms.instance.scheme()?, plan.input_len());
        let max = self.config.limits().batch;
        let json = described(
            table,
            max,
            (plan, terms),
            us,
            [&digest, &commitment, &whole],
        )?;
        let told = Told {
            json,
            session: whole,
            scheme,
            party: us,
            item_len,
        };
        // A session may have ended meanwhile.
        if self.queue.is_open() {
            self.tell(Some(Arc::new(told)));
            self.standing().is_ready();
        }
        Ok(())
    }

    /// Agrees on the model and on a name for this session.
    fn begin<'a>(
        &'a self,
        session: usize,
        party: &mut Party,
        terms: &Terms,
    ) -> Result<(Model<'a>, String, String), Error> {
        let table = self.config.table(self.at);
        let planned = self.model.as_ref();
        let planned = planned
            .map(|m| m.planned_for(terms.instance.protocol))
            .transpose()?;
        let mut words = format!("{} version {}", table.name, table.version);
        if table.sessions > 1 {
            words += &format!(", session {session} of {}", table.sessions);
        }
        let more = [
            ("model", words),
            ("items of a batch", self.config.limits().batch.to_string()),
            ("material ahead", self.config.pool_words()),
        ];
        let model = agree_on_model(Agreement::new(party), terms, planned, &more)?;
        let mut own = [0u8; 16];
        getrandom::fill(&mut own).map_err(|e| tacit_protocols::Error::Randomness(e.to_string()))?;
        let mut agreement = Agreement::new(party);
        let (owner, told) = (terms.roles.model_owner, self.commitment.clone());
        let told = told.map(String::into_bytes);
        let words = agreement.announced(owner, "commitment", told, commitment::DIGITS)?;
        let all: Vec<[u8; 16]> = agreement.exchanged("session", &own)?;
        agreement.conclude(&[])?;
        let committed = String::from_utf8_lossy(&words).escape_debug().to_string();
        self.judge(Offer::new(table, terms, &model.plan, &committed)?)?;
        Ok((model, committed, hash(&all.concat())[..32].to_string()))
    }

    /// Predicts batch after batch.
    fn answer_all(
        &self,
        session: usize,
        host: &mut Host,
        serving: Serving,
        (terms, most): (&Terms, usize),
        trace: &mut Trace,
    ) -> Result<(), Error> {
        let scheme = terms.instance.scheme()?;
        let mut rounds = Rounds {
            queue: &self.queue,
            session: (session, self.config.table(self.at).sessions),
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
            #[cfg(test)]
            lies: self.lies,
        };
        #[cfg(test)]
        {
            rounds.pool.used = u64::from(self.miscounts);
            rounds.pool.made = rounds.pool.used;
        }
        loop {
            let ids = match rounds.next(host.party())? {
                Round::Over => {
                    self.standing().moved(host.party());
                    return Ok(());
                }
                Round::Nothing => continue,
                Round::Fill => {
                    self.standing().moved(host.party());
                    #[cfg(test)]
                    self.loses(rounds.pool.made);
                    host.fill(serving)?;
                    self.standing()
                        .count(session, host.party(), 0, rounds.pool.ready());
                    continue;
                }
                Round::Batch(ids) => ids,
            };
            self.standing().moved(host.party());
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
                .count(session, host.party(), items, rounds.pool.ready());
            for (id, answer) in ids.iter().zip(answers) {
                self.queue.end(id, Ok(answer));
            }
        }
    }
}
