//! One party's end of a run.

mod cause;
mod unsent;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::count::Trace;
use crate::emulate::LinkModel;
use crate::frame;
use crate::link::{Farewell, Link, Parcel, Size};
use crate::meeting::Meeting;
use crate::meter::{Meter, Phase};
use crate::queue::{NoPart, Queue};
use crate::{Loss, NetError, interrupt};

/// How long a party that gives up waits for the others to hear of it.
const FAREWELL_TIME: Duration = Duration::from_secs(2);
/// How long a party that Ctrl-C stopped waits for the others to hear of it.
const INTERRUPTED_TIME: Duration = Duration::from_millis(300);
/// How long a party waits for one peer's message before it looks whether another peer has stopped.
const ELSEWHERE: Duration = Duration::from_secs(1);
/// No time limit is longer, so that none overflows a clock.
pub(crate) const LONGEST_WAIT: Duration = Duration::from_secs(366 * 24 * 3600);

/// The flag of a party that goes on until its run ends: never raised.
static STAYS: AtomicBool = AtomicBool::new(false);

/// One party's end of a run: who it is, its links to the others, its meters.
///
/// `send` queues and returns at once, `recv` blocks: so no order of calls can deadlock as long as
/// every message is sent before it is waited for. After an error the party must not be used
/// again; dropping it closes its links, and the others see that at once.
pub struct Party {
    id: usize,
    links: Vec<Option<Link>>,
    /// What comes in on each link.
    queues: Vec<Option<Arc<Queue>>>,
    meter: Meter,
    model: LinkModel,
    timeout: Duration,
    steps: Steps,
    /// What stopped this party, for the others to know.
    failure: Option<Farewell>,
    /// What a party that counts would have done so far; `None` at a party that runs.
    trace: Option<Trace>,
    /// The session with parties that are apart.
    meeting: Option<Meeting>,
}

impl std::fmt::Debug for Party {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Party")
            .field("id", &self.id)
            .field("parties", &self.links.len())
            .finish_non_exhaustive()
    }
}

impl Party {
    pub(crate) fn new(
        id: usize,
        links: Vec<Option<Link>>,
        model: LinkModel,
        timeout: Duration,
    ) -> Self {
        let meter = Meter::new(links.len());
        let timeout = timeout.min(LONGEST_WAIT);
        let queue = |link: &Option<Link>| link.as_ref().map(|link| link.queue.clone());
        Party {
            id,
            queues: links.iter().map(queue).collect(),
            links,
            meter,
            model,
            timeout,
            steps: Steps::default(),
            failure: None,
            trace: None,
            meeting: None,
        }
    }

    /// A party that only counts: party `id` of `parties`, without links. It notes what it would send and
    /// wait for; what it receives are zeros, or placeholders that have a size and no elements.
    pub fn counting(id: usize, parties: usize) -> Self {
        let links = (0..parties).map(|_| None).collect();
        let mut party = Party::new(id, links, LinkModel::LOCAL, Duration::ZERO);
        party.trace = Some(Trace::default());
        party
    }

    /// Notes the session in which this party is with others that are apart.
    pub(crate) fn has_met(&mut self, meeting: Meeting) {
        self.meeting = Some(meeting);
    }

    /// The session with parties that are apart; none in one process.
    pub fn meeting(&self) -> Option<&Meeting> {
        self.meeting.as_ref()
    }

    /// Whether this party counts.
    pub fn counts(&self) -> bool {
        self.trace.is_some()
    }

    /// Returns what a counting party has noted since the last call.
    pub fn take_trace(&mut self) -> Trace {
        self.trace.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Notes that a counting party would send `bytes` bytes to party `to`.
    ///
    /// # Panics
    ///
    /// At a party that runs: the message would silently not be sent.
    pub fn note_sent(&mut self, to: usize, bytes: usize) {
        self.notes().sends(to, bytes);
    }

    /// Notes that a counting party would wait for a message from party `from`.
    ///
    /// # Panics
    ///
    /// At a party that runs: the message would silently not be received.
    pub fn note_heard(&mut self, from: usize) {
        self.notes().hears(from);
    }

    fn notes(&mut self) -> &mut Trace {
        self.trace.as_mut().expect("a party that counts")
    }

    /// This party's number, from 0.
    pub fn id(&self) -> usize {
        self.id
    }

    /// The number of parties.
    pub fn parties(&self) -> usize {
        self.links.len()
    }

    /// How long a peer may be silent while it is waited for.
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// What was sent, received and waited for.
    pub fn meter(&self) -> &Meter {
        &self.meter
    }

    /// Counts from 0 again, in [`Phase::Setup`]: what follows is another run over the same links.
    pub fn restart_meter(&mut self) {
        self.meter.restart();
    }

    /// Counts what follows to `phase`, and to the layer that this phase was in last.
    pub fn set_phase(&mut self, phase: Phase) {
        self.meter.set_phase(phase);
    }

    /// Counts what follows to the layer `name` of the current phase.
    pub fn set_layer(&mut self, name: &str) {
        self.meter.set_layer(name);
    }

    /// Queues a message for party `to` and returns at once.
    pub fn send(
        &mut self,
        to: usize,
        step: &'static str,
        payload: Vec<u8>,
    ) -> Result<(), NetError> {
        if self.counts() {
            self.note_sent(to, payload.len());
            return Ok(());
        }
        if interrupt::raised() {
            return Err(self.interrupted());
        }
        let parties = self.links.len();
        let link = link(&mut self.links, to).ok_or(NetError::NoSuchParty { party: to, parties })?;
        let (bytes, overhead) = (payload.len(), frame::overhead(payload.len()));
        let parcel = Parcel {
            step,
            tag: self.steps.tag(step),
            depth: self.meter.depth(),
            payload,
            slot: link.shaper.slot(bytes + overhead),
            farewell: false,
        };
        if link.out.send(parcel).is_err() {
            let trouble = link.last_words();
            return Err(self.fail(to, step, Size::Exactly(0), Instant::now(), trouble));
        }
        self.meter.sent(to, bytes, overhead);
        Ok(())
    }

    /// Waits for the next message of party `from`, which must be of this step and have exactly
    /// `len` bytes.
    pub fn recv(
        &mut self,
        from: usize,
        step: &'static str,
        len: usize,
    ) -> Result<Vec<u8>, NetError> {
        if self.counts() {
            self.note_heard(from);
            return Ok(vec![0; len]);
        }
        self.receive(from, step, Size::Exactly(len), (self.timeout, &STAYS))
    }

    /// Waits for the next message of party `from`, which must be of this step and have at most
    /// `max` bytes: for control messages whose length only the sender knows.
    pub fn recv_at_most(
        &mut self,
        from: usize,
        step: &'static str,
        max: usize,
    ) -> Result<Vec<u8>, NetError> {
        assert!(!self.counts(), "a party that counts must know the length");
        self.receive(from, step, Size::AtMost(max), (self.timeout, &STAYS))
    }

    /// Waits until every party is linked with every other, or this one is to leave.
    pub(crate) fn meet(&mut self, patience: Duration, leave: &AtomicBool) -> Result<(), NetError> {
        let me = self.id;
        let others = (0..self.links.len()).filter(|&peer| peer != me);
        for peer in others.clone() {
            self.send(peer, "meet", Vec::new())?;
        }
        for peer in others {
            self.receive(peer, "meet", Size::Exactly(0), (patience, leave))?;
        }
        Ok(())
    }

    fn receive(
        &mut self,
        from: usize,
        step: &'static str,
        size: Size,
        (patience, leave): (Duration, &AtomicBool),
    ) -> Result<Vec<u8>, NetError> {
        let started = Instant::now();
        let parties = self.links.len();
        let link = link(&mut self.links, from).ok_or(NetError::NoSuchParty {
            party: from,
            parties,
        })?;
        let tag = self.steps.tag(step);
        let bytes = size.max().saturating_add(frame::overhead(size.max()));
        let patience = patience + self.model.time(bytes);
        let (me, queues) = (self.id, &self.queues);
        let vain = || {
            if interrupt::raised() || leave.load(Ordering::Relaxed) {
                return Some(NoPart::Interrupted);
            }
            let late = started.elapsed() >= ELSEWHERE;
            (late && told_elsewhere(me, queues)).then_some(NoPart::Elsewhere)
        };
        match link.message(tag, size, patience, &vain) {
            Ok((payload, depth)) => {
                self.meter.received(from, payload.len(), depth);
                Ok(payload)
            }
            Err(trouble) => Err(self.fail(from, step, size, started, trouble)),
        }
    }

    /// Says why this party is going to stop: its check `check` failed, so one of `suspects` broke the
    /// protocol. The others hear of it when this party is dropped. The first accusation stays.
    pub fn accuse(&mut self, suspects: [usize; 2], check: &'static str) {
        if !matches!(self.failure, Some(Farewell::Accusation { .. })) {
            self.failure = Some(Farewell::Accusation {
                suspects: suspects.to_vec(),
                check: check.to_string(),
            });
        }
    }

    /// Says why this party is going to stop, so that those who wait for it hear more than that it
    /// left. They hear it when this party is dropped; what was said before stays. Nothing secret may
    /// be in it.
    pub fn give_up(&mut self, why: &str) {
        self.say(Farewell::Words(why.to_string()));
    }

    /// Keeps `farewell` for the others, who hear it when this party is dropped. An earlier one stays.
    pub(crate) fn say(&mut self, farewell: Farewell) {
        self.failure.get_or_insert(farewell);
    }

    /// What the others hear when this party is dropped, if it is to stop.
    pub(crate) fn said(&self) -> Option<&Farewell> {
        self.failure.as_ref()
    }

    /// Tells the others, when this party is dropped, that its user stopped it. Returns the error with
    /// which this party's own run ends. An earlier farewell stays.
    pub fn interrupted(&mut self) -> NetError {
        self.failure.get_or_insert(Farewell::Interrupted);
        NetError::Interrupted
    }

    /// Sends what is queued, closes the links in good order and returns the meters. Fails if a
    /// peer takes no more within the time limit.
    pub fn finish(mut self) -> Result<Meter, NetError> {
        let started = Instant::now();
        let closed = self.close();
        // Stops the clock of the last layer.
        self.meter.set_phase(self.meter.phase());
        let meter = std::mem::replace(&mut self.meter, Meter::new(0));
        match closed {
            Ok(()) => Ok(meter),
            Err((party, why)) => Err(NetError::PeerLost {
                party,
                how: Loss::Lost,
                step: "finish",
                layer: meter.layer().to_string(),
                waited: started.elapsed(),
                why,
            }),
        }
    }

    fn close(&mut self) -> Result<(), (usize, String)> {
        let failure = self.failure.take();
        if let Some(said) = &failure {
            self.farewell(said);
        }
        for link in self.links.iter_mut().flatten() {
            link.out.close(failure.is_some());
            link.queue.abandon();
        }
        let now = Instant::now();
        let mut first = Ok(());
        for (peer, link) in self.links.iter_mut().enumerate() {
            let Some(mut link) = link.take() else {
                continue;
            };
            let until = match failure {
                Some(Farewell::Interrupted) => now + INTERRUPTED_TIME,
                Some(_) => now + FAREWELL_TIME.min(self.timeout),
                None => link.shaper.idle().max(now) + self.timeout,
            };
            first = first.and(link.out.flushed(until).map_err(|why| (peer, why)));
        }
        first
    }

    /// Tells every peer why this party stops; one that is gone cannot be told.
    fn farewell(&mut self, said: &Farewell) {
        let (tag, payload) = said.encode();
        for link in self.links.iter_mut().flatten() {
            let payload = payload.clone();
            let slot = link.shaper.slot(payload.len() + frame::HEADER);
            let parcel = Parcel {
                step: "",
                tag,
                depth: 0,
                payload,
                slot,
                farewell: true,
            };
            let _ = link.out.send(parcel);
        }
    }
}

impl Drop for Party {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.give_up("a defect of its program; its own message says which");
        }
        // An error on the way out has nobody left to be told to.
        let _ = self.close();
    }
}

/// Whether a peer has said that it stops, for another reason than this party.
fn told_elsewhere(me: usize, queues: &[Option<Arc<Queue>>]) -> bool {
    let of_another = |said: Farewell| !said.is_of(me);
    let mut others = queues.iter().flatten();
    others.any(|queue| queue.farewell().is_some_and(of_another))
}

fn link(links: &mut [Option<Link>], party: usize) -> Option<&mut Link> {
    links.get_mut(party).and_then(Option::as_mut)
}

/// The steps that this party has been at, by their tags.
#[derive(Default)]
struct Steps {
    tags: HashMap<&'static str, u32>,
}

impl Steps {
    fn tag(&mut self, step: &'static str) -> u32 {
        *self.tags.entry(step).or_insert_with(|| frame::tag(step))
    }

    fn name(&self, tag: u32) -> String {
        match self.tags.iter().find(|(_, known)| **known == tag) {
            Some((name, _)) => format!("'{name}'"),
            None => format!("{tag:08x}, which this party has not been at"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::mesh;

    /// A party that is to leave does not wait for one that never says that it is linked with all.
    #[test]
    fn who_leaves_waits_for_no_links_between_others() {
        let met = |patience, leaves| {
            let mut parties = mesh(2, &LinkModel::LOCAL, Duration::ZERO);
            parties[0].meet(patience, &AtomicBool::new(leaves))
        };
        let left = met(Duration::from_secs(5), true);
        assert!(matches!(left, Err(NetError::Interrupted)));
        let waited = met(Duration::ZERO, false);
        assert!(matches!(waited, Err(NetError::PeerLost { .. })));
    }
}
