//! A party that stays up and answers clients that are no party: private prediction as a service.
//!
//! A [`Service`] is one model at one party. [`Service::run`] is one life of it (`life.rs`): this party meets
//! the others (`config.rs` says with whom), they agree on the plan, the owner shares its weights, and then
//! they predict what clients ask, batch after batch (`rounds.rs`), until the service is drained or fails.
//! A life has one session or several side by side, each with links, keys and material of its own.
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
mod life;
mod queue;
mod rounds;
mod standing;
mod tables;

use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

use tacit_client::Scheme;
use tacit_net::NetError;

use crate::given::Numbers;
use crate::{Compiled, Error};
pub use client::{Sharing, check_given};
pub use config::ServeConfig;
use queue::Queue;
pub use queue::{Id, Refused, Times};
use standing::Standing;

/// The refusal of all requests that `error` has ended; `ready` says whether the service was ready before.
fn failed(error: &Error, ready: bool) -> Refused {
    let why = match blame::suspects(error, ready) {
        Some(_) => {
            "a party broke the protocol and the service stands still; this party gave out nothing of this request"
        }
        None => {
            "the parties lost one another while this request waited; ask anew, with a new number"
        }
    };
    Refused::new("failed", why)
}

/// What clients are told of a model that is served, and what a body must fit.
struct Told {
    json: Vec<u8>,
    /// The name of the sessions that these parties have together.
    session: String,
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
    described: RwLock<Option<Arc<Told>>>,
    /// What the owner offered last, whether or not this party approves it.
    offered: Mutex<Option<Vec<u8>>>,
    /// What a cheater makes of the shares that it computes on, to show that the others notice.
    #[cfg(test)]
    tamper: Option<fn(&mut Vec<u8>)>,
    /// What a leader that lies tells the last party instead of what it proposes.
    #[cfg(test)]
    lies: Option<crate::agreement::Lie>,
    /// Whether this party counts material that there is not.
    #[cfg(test)]
    miscounts: bool,
    /// The number of the material that this party is lost in making, once; none if it is 0.
    #[cfg(test)]
    lost_at: std::sync::atomic::AtomicU64,
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
            described: RwLock::new(None),
            offered: Mutex::new(None),
            #[cfg(test)]
            tamper: None,
            #[cfg(test)]
            lies: None,
            #[cfg(test)]
            miscounts: false,
            #[cfg(test)]
            lost_at: 0.into(),
            config,
        })
    }

    /// One life: meets the others, shares the model, and answers requests until [`Service::drain`] or
    /// [`Service::leave`] has ended it, or an error has. After an error that means cheating there is no other life.
    pub fn run(&self, on_notice: &mut (dyn FnMut(&str) + Send)) -> Result<(), Error> {
        if self.standing().state == "quarantined" {
            let why = "it stands still, since a party broke the protocol; find out which, by the errors of all \
                       parties beside each other, and start this service anew without it";
            return Err(Error::setting("service", why));
        }
        self.queue.open();
        self.standing().begins(self.config.table(self.at).sessions);
        if self.leaves() {
            self.drain();
        }
        let ended = match self.live(on_notice) {
            Err(Error::Net(NetError::Interrupted)) if self.leaves_early() => Ok(()),
            ended => ended,
        };
        self.tell(None);
        let mut standing = self.standing();
        let ready = standing.was_ready;
        standing.state = match &ended {
            Ok(()) => "drained",
            Err(error) => match blame::suspects(error, ready) {
                Some(suspects) => {
                    standing.suspects = suspects;
                    "quarantined"
                }
                None => "failed",
            },
        };
        standing.why = ended.as_ref().err().map(Error::words);
        standing.code = ended.as_ref().err().map(|error| error.fields().code);
        if ended.as_ref().is_err_and(blame::is_of_others) {
            standing.before = standing.why.clone();
        }
        drop(standing);
        let refused = match &ended {
            Ok(()) => Refused::new(
                "drained",
                "this party has stopped serving; ask again when it is back",
            ),
            Err(error) => failed(error, ready),
        };
        self.queue
            .close(Refused::new("not-ready", refused.message.clone()));
        self.queue.refuse_all(&refused);
        ended
    }

    /// Takes a request of a client, made for a session: its number, how many items it has, and this party's body of it.
    /// Another session than that may compute another model, and reveal more.
    pub fn submit(
        &self,
        client: &str,
        (session, id): (&str, Id),
        items: usize,
        body: Vec<u8>,
    ) -> Result<(), Refused> {
        // Held until the request is taken: the session does not end before.
        let described = self.describing();
        let Some(told) = &*described else {
            return Err(self.not_ready());
        };
        if session != told.session {
            let why = "the parties have met anew since: describe the model again, and share anew";
            return Err(Refused::new("other-session", why));
        }
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

    /// Notes why this party does not take a request, by a code, for the other parties to hear.
    pub fn decline(&self, id: Id, code: &str) {
        self.queue.decline(id, code);
    }

    /// Waits for this party's part of an answer, at most so long.
    pub fn answer(&self, id: &Id, patience: Duration) -> Option<Result<Vec<u8>, Refused>> {
        self.queue.answer(id, patience)
    }

    /// The end of a socket that can be read from whenever requests have ended since [`Service::ended`] was asked; whoever
    /// waits for many requests needs no thread for each. An earlier one is closed.
    pub fn bell(&self) -> std::io::Result<std::os::unix::net::UnixStream> {
        self.queue.bell()
    }

    /// The requests that have ended since this was asked last; none before [`Service::bell`].
    pub fn ended(&self) -> Vec<Id> {
        self.queue.ended()
    }

    /// Where the time of a request went whose answer is here.
    pub fn times(&self, id: &Id) -> Option<Times> {
        self.queue.times(id)
    }

    /// Frees the place of a request whose client is gone, if it has not begun; whether it had not.
    pub fn forget(&self, id: &Id) -> bool {
        self.queue.forget(id)
    }

    /// Takes no new requests; [`Service::run`] ends at all parties once those taken are answered.
    pub fn drain(&self) {
        self.queue.close(Refused::new(
            "draining",
            "this party takes no more requests; ask again when it is back",
        ));
        let mut standing = self.standing();
        if standing.state == "ready" {
            standing.state = "draining";
        }
    }

    /// Ends this life as [`Service::drain`] does, and every later one; while the other parties are waited for,
    /// at once, so that the port is free.
    pub fn leave(&self) {
        self.config.party.leave.store(true, Ordering::Relaxed);
        self.drain();
    }

    /// Whether the party leaves before it has answered anybody in this life.
    fn leaves_early(&self) -> bool {
        self.leaves() && !self.standing().was_ready
    }

    fn leaves(&self) -> bool {
        self.config.party.leave.load(Ordering::Relaxed)
    }

    /// What the service is doing, as JSON.
    pub fn state(&self) -> String {
        let standing = self.standing().clone();
        standing.to_json(&self.queue, &self.config.names())
    }

    /// What clients need to know of the model, once it is served, as JSON.
    pub fn described(&self) -> Option<Vec<u8>> {
        self.told().map(|told| told.json.clone())
    }

    fn told(&self) -> Option<Arc<Told>> {
        self.describing().clone()
    }

    fn describing(&self) -> RwLockReadGuard<'_, Option<Arc<Told>>> {
        self.described
            .read()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Has clients told of what is served from now on; what they were told before, if anything.
    fn tell(&self, told: Option<Arc<Told>>) -> Option<Arc<Told>> {
        let described = self.described.write();
        let mut described = described.unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *described, told)
    }

    fn standing(&self) -> MutexGuard<'_, Standing> {
        self.standing
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
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
}

#[cfg(test)]
mod tests;
