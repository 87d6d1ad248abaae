//! One party's end of a run.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::emulate::LinkModel;
use crate::frame;
use crate::link::{Farewell, Link, Parcel, Size, Trouble};
use crate::meter::{Meter, Phase};
use crate::queue::{End, NoPart};
use crate::{FrameFault, NetError};

/// How long a party that gives up waits for the others to hear of it.
const FAREWELL_TIME: Duration = Duration::from_secs(2);
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
        Party {
            id,
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
        match link.message(tag, size, patience) {
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
        let words = format!("party {}: {why}", self.id);
        self.failure.get_or_insert(Farewell::Words(words));
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

    /// The error of a message that did not come as it should.
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
        let lost = |why: String| NetError::PeerLost {
            party,
            step,
            layer: layer.clone(),
            waited,
            why,
        };
        let fault = |fault: FrameFault| NetError::Frame {
            party,
            step,
            layer: layer.clone(),
            fault,
        };
        let (accuser, trouble) = self.accuser(party, trouble);
        let mut words = None;
        let error = match trouble {
            Trouble::Missing(NoPart::Late) => lost("it sent nothing for too long".into()),
            Trouble::Missing(NoPart::Ended(End::Closed)) => lost("it closed the link".into()),
            Trouble::Missing(NoPart::Ended(End::Broken(why))) => lost(why),
            Trouble::Missing(NoPart::Ended(End::Fault(found))) | Trouble::Fault(found) => {
                fault(found)
            }
            Trouble::Farewell(Farewell::Words(said)) => {
                let error = lost(format!("it stopped, saying \"{said}\""));
                words = Some(repeated(party, said));
                error
            }
            Trouble::Farewell(Farewell::Accusation { suspects, check }) => NetError::Accused {
                party: accuser,
                step,
                layer,
                check,
                suspects: suspects.into_iter().filter(|s| *s != self.id).collect(),
            },
            Trouble::OtherStep(tag) => NetError::Step {
                party,
                ours: step,
                theirs: self.steps.name(tag),
                layer,
            },
            Trouble::Length(got) => NetError::Length {
                party,
                step,
                layer,
                expected: size.to_string(),
                got,
            },
        };
        // The first cause is what the others should hear, not who heard it from whom.
        let words = words.unwrap_or_else(|| format!("party {}: {error}", self.id));
        self.failure.get_or_insert(Farewell::Words(words));
        error
    }

    /// What to report of trouble with `party`: that a check failed at another one, if it has said so,
    /// for then `party` may have left because of it.
    fn accuser(&self, party: usize, trouble: Trouble) -> (usize, Trouble) {
        if let Trouble::Farewell(Farewell::Accusation { .. }) = &trouble {
            return (party, trouble);
        }
        let links = self.links.iter().enumerate();
        let mut said = links.filter_map(|(peer, link)| Some((peer, link.as_ref()?.accusation()?)));
        match said.next() {
            Some((peer, accusation)) => (peer, Trouble::Farewell(accusation)),
            None => (party, trouble),
        }
    }
}

impl Drop for Party {
    fn drop(&mut self) {
        // An error on the way out has nobody left to be told to.
        let _ = self.close();
    }
}

/// The words of `party` for the others, with its name before them unless it gives it itself: else it
/// could put words into the mouth of another.
fn repeated(party: usize, said: String) -> String {
    let name = format!("party {party}: ");
    if said.starts_with(&name) {
        said
    } else {
        name + &said
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
        assert!(hears(2, 0).contains("party 2 was lost"));
        parties.remove(0);
        let error = parties[0].recv(0, "a step", 1).expect_err("party 0 left");
        let error = error.to_string();
        assert!(
            error.contains("saying \"party 2: party 0: party 1"),
            "{error}"
        );
        drop(kept);
    }
}
