//! What a service is doing, counted over all of its lives.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::json;
use tacit_net::{Party, Phase};

use super::queue::Queue;
use crate::Error;
use crate::digest::hash;
use crate::totals::Metered;

/// What a service is doing.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Standing {
    pub state: &'static str,
    pub why: Option<String>,
    /// The code of the error that ended the last life.
    pub code: Option<&'static str>,
    /// What another party did that ended the life before, until all sessions are there again.
    pub before: Option<String>,
    pub suspects: Vec<usize>,
    pub digest: Option<String>,
    pub commitment: Option<String>,
    pub session: Option<String>,
    /// The fingerprints of the certificates that the parties of this life have shown, by their numbers.
    #[serde(skip)]
    pub certificates: Vec<String>,
    /// The names of the sessions of this life that are there.
    pub sessions: Vec<Option<String>>,
    /// Whether all were there.
    #[serde(skip)]
    pub was_ready: bool,
    pub lives: u64,
    pub batches: u64,
    pub items: u64,
    pub online_seconds: f64,
    pub offline_seconds: f64,
    /// Bytes to and from every party by its number, batches and their agreement, and material.
    #[serde(skip)]
    pub sent: Vec<u64>,
    #[serde(skip)]
    pub received: Vec<u64>,
    pub rounds: u64,
    /// How often material lies ready, in all sessions together.
    pub pool: usize,
    #[serde(skip)]
    pub pools: Vec<usize>,
    /// How many batches each session has taken.
    pub taken: Vec<u64>,
}

impl Standing {
    /// A life of so many sessions begins.
    pub fn begins(&mut self, sessions: usize) {
        (self.state, self.why, self.was_ready) = ("connecting", None, false);
        (self.code, self.pool) = (None, 0);
        self.certificates.clear();
        (self.digest, self.commitment, self.session) = (None, None, None);
        self.sessions = vec![None; sessions];
        self.pools = vec![0; sessions];
        self.taken.resize(sessions, 0);
    }

    /// A session is there, by its digest, commitment and name; the same of all together, once all are. All
    /// must have one model: its owner could offer another in each.
    pub fn joins(
        &mut self,
        session: usize,
        [digest, commitment, name]: [String; 3],
    ) -> Result<Option<[String; 3]>, Error> {
        for (what, own, one) in [
            ("digest", &mut self.digest, &digest),
            ("commitment", &mut self.commitment, &commitment),
        ] {
            let first = own.get_or_insert_with(|| one.clone());
            if first != one {
                let why = format!(
                    "its owner offers {first} in one session and {one} in another; ask it why"
                );
                return Err(Error::setting(format!("models.{what}"), why));
            }
        }
        if let Some(here) = self.sessions.get_mut(session) {
            *here = Some(name);
        }
        let all: Option<Vec<&str>> = self.sessions.iter().map(Option::as_deref).collect();
        let whole = match all.as_deref() {
            None => return Ok(None),
            Some([one]) => one.to_string(),
            Some(several) => hash(several.concat().as_bytes())[..32].to_string(),
        };
        self.session = Some(whole.clone());
        Ok(Some([digest, commitment, whole]))
    }

    /// All sessions are there: requests are taken.
    pub fn is_ready(&mut self) {
        (self.state, self.why, self.was_ready) = ("ready", None, true);
        self.before = None;
        self.lives += 1;
    }

    /// Counts a session's batch of so many items, or material of which so much lies ready now, by the
    /// party's meter, with what was sent to agree on it.
    pub fn count(&mut self, session: usize, party: &mut Party, items: usize, ready: usize) {
        let [offline, online] = [Phase::Offline, Phase::Online].map(|p| Metered::phase(party, p));
        self.batches += u64::from(items > 0);
        self.items += items as u64;
        if let Some(pool) = self.pools.get_mut(session) {
            *pool = ready;
        }
        if let Some(taken) = self.taken.get_mut(session) {
            *taken += u64::from(items > 0);
        }
        self.pool = self.pools.iter().sum();
        self.offline_seconds += offline.seconds;
        self.online_seconds += online.seconds;
        self.rounds += u64::from(online.rounds + offline.rounds);
        self.moved(party);
    }

    /// Counts what a party's meter has of its links, and begins anew.
    pub fn moved(&mut self, party: &mut Party) {
        let parties = party.parties();
        self.sent.resize(parties, 0);
        self.received.resize(parties, 0);
        for phase in [Phase::Setup, Phase::Offline, Phase::Online] {
            for (peer, traffic) in party.meter().peers(phase).iter().enumerate() {
                self.sent[peer] += traffic.bytes_sent;
                self.received[peer] += traffic.bytes_received;
            }
        }
        party.restart_meter();
    }

    /// The service's state and counters with the queue's levels, as JSON; `names` are the parties', in their
    /// order.
    pub fn to_json(&self, queue: &Queue, names: &[String]) -> String {
        let (waiting, items, running, counts) = queue.levels();
        let count = |what| counts.get(what).copied().unwrap_or(0);
        let not = ["answered", "busy"];
        let refused: u64 = (counts.iter().filter(|(what, _)| !not.contains(what)))
            .map(|(_, n)| n)
            .sum();
        let by_name = |bytes: &[u64]| -> BTreeMap<String, u64> {
            let named = names.iter().cloned().zip(bytes.iter().copied());
            named.filter(|(_, bytes)| *bytes > 0).collect()
        };
        let shown = names.iter().zip(&self.certificates);
        let certificates: BTreeMap<&String, &String> = shown.collect();
        let mut all = json!(self);
        let levels = json!({"waiting": waiting, "waiting_items": items, "running": running,
            "answered": count("answered"), "busy": count("busy"), "refused": refused, "by_code": counts,
            "sent": self.sent.iter().sum::<u64>(), "received": self.received.iter().sum::<u64>(),
            "sent_to": by_name(&self.sent), "received_from": by_name(&self.received),
            "certificates": certificates});
        if let (Some(all), Some(levels)) = (all.as_object_mut(), levels.as_object()) {
            all.extend(levels.clone());
        }
        all.to_string()
    }
}
