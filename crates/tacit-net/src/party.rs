//! One party's end of a run.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::emulate::LinkModel;
use crate::frame;
use crate::link::{Farewell, Link, Parcel, Size, Trouble};
use crate::meter::{Meter, Phase};
use crate::queue::{End, NoPart, Queue};
use crate::{FrameFault, Loss, NetError, interrupt};

/// How long a party that gives up waits for the others to hear of it.
const FAREWELL_TIME: Duration = Duration::from_secs(2);
/// The same after Ctrl-C.
const INTERRUPTED_TIME: Duration = Duration::from_millis(300);
/// How long a party waits in silence for one peer before it asks whether another has stopped: in a
/// run that goes well nothing takes so long that could be known sooner.
const ELSEWHERE: Duration = Duration::from_secs(1);
/// How long a party waits for another's own word when it hears that it has stopped.
const CONFIRM: Duration = Duration::from_secs(1);
const CONFIRM_PAUSE: Duration = Duration::from_millis(5);
/// No time limit is longer, so that none overflows a clock.
pub(crate) const LONGEST_WAIT: Duration = Duration::from_secs(366 * 24 * 3600);

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
        }
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
        self.receive(from, step, Size::Exactly(len), self.timeout)
    }

    /// Waits for the next message of party `from`, which must be of this step and have at most
    /// `max` bytes: for control messages whose length only the sender knows.
    pub fn recv_at_most(
        &mut self,
        from: usize,
        step: &'static str,
        max: usize,
    ) -> Result<Vec<u8>, NetError> {
        self.receive(from, step, Size::AtMost(max), self.timeout)
    }

    /// Waits until every party is linked with every other.
    pub(crate) fn meet(&mut self, patience: Duration) -> Result<(), NetError> {
        let me = self.id;
        let others = (0..self.links.len()).filter(|&peer| peer != me);
        for peer in others.clone() {
            self.send(peer, "meet", Vec::new())?;
        }
        for peer in others {
            self.receive(peer, "meet", Size::Exactly(0), patience)?;
        }
        Ok(())
    }

    fn receive(
        &mut self,
        from: usize,
        step: &'static str,
        size: Size,
        patience: Duration,
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
            if interrupt::raised() {
                return Some(NoPart::Interrupted);
            }
            let others = || queues.iter().flatten();
            let late = started.elapsed() >= ELSEWHERE;
            let of_another = |said: Farewell| !said.is_of(me);
            let told = |queue: &Queue| queue.farewell().is_some_and(of_another);
            (late && others().any(|queue| told(queue))).then_some(NoPart::Elsewhere)
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

    /// The same in any way; what was said before stays.
    pub(crate) fn say(&mut self, farewell: Farewell) {
        self.failure.get_or_insert(farewell);
    }

    /// What the others hear when this party is dropped, if it is to stop.
    pub(crate) fn said(&self) -> Option<&Farewell> {
        self.failure.as_ref()
    }

    /// The same of a party whose user stops it.
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

    /// The error of a peer that said that it stops, or whose link ended, while this party waits for
    /// something else.
    pub(crate) fn gone(&mut self, party: usize, step: &'static str) -> NetError {
        let trouble = match &self.queues[party] {
            Some(queue) => match (queue.farewell(), queue.ended()) {
                (Some(said), _) => Trouble::Farewell(said),
                (None, Some(end)) => Trouble::Missing(NoPart::Ended(end)),
                (None, None) => Trouble::Missing(NoPart::Late),
            },
            None => Trouble::Missing(NoPart::Ended(End::Closed)),
        };
        self.fail(party, step, Size::Exactly(0), Instant::now(), trouble)
    }

    /// The error of a message that did not come as it should. What the others are told of it names
    /// the first cause, and is said once: who hears it asks its own links whether it is so.
    fn fail(
        &mut self,
        party: usize,
        step: &'static str,
        size: Size,
        started: Instant,
        trouble: Trouble,
    ) -> NetError {
        let layer = self.meter.layer().to_string();
        let waited = started.elapsed();
        let (party, trouble) = self.cause(party, trouble);
        let loss = |how: Loss, why: String, told: String| {
            let words = Farewell::Because { party, words: told };
            let layer = layer.clone();
            let error = NetError::PeerLost {
                party,
                how,
                step,
                layer,
                waited,
                why,
            };
            (error, Some(words))
        };
        let lost = |why: String| {
            let told = format!("was lost: {why}");
            loss(Loss::Lost, why, told)
        };
        let fault = |fault: FrameFault| NetError::Frame {
            party,
            step,
            layer: layer.clone(),
            fault,
        };
        let (error, words) = match trouble {
            Trouble::Missing(NoPart::Interrupted) => return self.interrupted(),
            Trouble::Missing(NoPart::Late | NoPart::Elsewhere) => {
                lost("it sent nothing for too long".into())
            }
            Trouble::Missing(NoPart::Ended(End::Closed)) => lost("it closed the link".into()),
            Trouble::Missing(NoPart::Ended(End::Broken(why))) => lost(why),
            Trouble::Missing(NoPart::Ended(End::Fault(found))) | Trouble::Fault(found) => {
                (fault(found), None)
            }
            Trouble::Farewell(Farewell::Words(said)) => {
                let why = format!("it says \"{}\"", said.replace('"', "'"));
                let told = format!("stopped: {why}");
                loss(Loss::Stopped, why, told)
            }
            Trouble::Farewell(Farewell::Because { party, words }) => {
                let why = format!("it says that party {party} {words}");
                loss(Loss::Stopped, why, "stopped".into())
            }
            Trouble::Farewell(Farewell::Interrupted) => {
                let told = "was interrupted".to_string();
                loss(Loss::Interrupted, told.clone(), told)
            }
            Trouble::Farewell(Farewell::Accusation { suspects, check }) => {
                let suspects = suspects.into_iter().filter(|s| *s != self.id).collect();
                let error = NetError::Accused {
                    party,
                    step,
                    layer,
                    check,
                    suspects,
                };
                (error, None)
            }
            Trouble::OtherStep(tag) => {
                let error = NetError::Step {
                    party,
                    ours: step,
                    theirs: self.steps.name(tag),
                    layer,
                };
                (error, None)
            }
            Trouble::Length(got) => {
                let error = NetError::Length {
                    party,
                    step,
                    layer,
                    expected: size.to_string(),
                    got,
                };
                (error, None)
            }
        };
        let words = words.unwrap_or_else(|| Farewell::Words(error.to_string()));
        self.failure.get_or_insert(words);
        error
    }

    /// Whose trouble it is that `party` is in trouble with this one, and what: that of another if it
    /// has said so itself, or its link broke. What a party says of another and this one cannot see
    /// stays with who says it.
    fn cause(&self, party: usize, trouble: Trouble) -> (usize, Trouble) {
        let accuses = |said: &Farewell| matches!(said, Farewell::Accusation { .. });
        if matches!(&trouble, Trouble::Farewell(said) if accuses(said)) {
            return (party, trouble);
        }
        let said = |peer: usize| self.queues[peer].as_ref().and_then(|q| q.farewell());
        let peers = || (0..self.queues.len()).filter(|&peer| peer != party);
        let accusation = peers().find_map(|p| said(p).filter(accuses).map(|said| (p, said)));
        if let Some((peer, accusation)) = accusation {
            return (peer, Trouble::Farewell(accusation));
        }
        let (mut party, mut trouble) = (party, trouble);
        let alone = matches!(
            trouble,
            Trouble::Missing(NoPart::Late | NoPart::Ended(End::Closed))
        );
        if alone || matches!(trouble, Trouble::Missing(NoPart::Elsewhere)) {
            // Who says that it lost the same party says nothing new.
            let same = |said: &Farewell| matches!(said, Farewell::Because { party: of, .. } if *of == party);
            // Nor does who waited for this party, which waits for another.
            let old = |said: &Farewell| said.is_of(self.id) || alone && same(said);
            let news = |peer| said(peer).filter(|said| !old(said));
            if let Some((peer, words)) = peers().find_map(|peer| Some((peer, news(peer)?))) {
                (party, trouble) = (peer, Trouble::Farewell(words));
            }
        }
        let mut seen = vec![self.id];
        while let Trouble::Farewell(Farewell::Because { party: of, .. }) = trouble {
            seen.push(party);
            match (!seen.contains(&of)).then(|| self.own_word(of)).flatten() {
                Some(own) => (party, trouble) = (of, own),
                None => break,
            }
        }
        (party, trouble)
    }

    /// What this party sees by itself of one that is said to have stopped.
    fn own_word(&self, party: usize) -> Option<Trouble> {
        let queue = self.queues.get(party)?.as_ref()?;
        let until = Instant::now() + CONFIRM.min(self.timeout);
        loop {
            // In this order: a farewell comes before the end.
            let end = queue.ended();
            if let Some(said) = queue.farewell() {
                return Some(Trouble::Farewell(said));
            }
            match end {
                Some(end @ (End::Broken(_) | End::Fault(_))) => {
                    return Some(Trouble::Missing(NoPart::Ended(end)));
                }
                Some(End::Closed) => return None,
                None if Instant::now() >= until || interrupt::raised() => return None,
                None => std::thread::sleep(CONFIRM_PAUSE),
            }
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

    /// Party 2 stops and tells party 0 alone, in words as if party 0 had found party 1 out.
    #[test]
    fn words_that_are_passed_on_name_who_said_them() {
        let patience = Duration::from_secs(10);
        let mut parties = mesh(3, &LinkModel::LOCAL, patience);
        let mut liar = parties.pop().expect("party 2");
        let kept = liar.links[1].take();
        liar.failure = Some(Farewell::Words(
            "party 0: party 1 broke the protocol".into(),
        ));
        drop(liar);
        let mut hears = |from: usize, me: usize| {
            let error = parties[me].recv(from, "a step", 1);
            error.expect_err("party 2 has stopped").to_string()
        };
        let error = hears(2, 0);
        assert!(
            error.contains("party 2 stopped: it says \"party 0: party 1 broke"),
            "{error}"
        );
        parties.remove(0);
        let error = parties[0].recv(0, "a step", 1).expect_err("party 0 left");
        let error = error.to_string();
        assert!(
            error.contains(
                "party 0 stopped: it says that party 2 stopped: it says \"party 0: party 1"
            ),
            "{error}"
        );
        drop(kept);
    }
}
