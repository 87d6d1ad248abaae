//! Why a message did not come: whose trouble it is, and what the others are told of it.

use std::time::{Duration, Instant};

use super::Party;
use crate::link::{Farewell, Size, Trouble};
use crate::queue::{End, NoPart};
use crate::{FrameFault, Loss, NetError, interrupt};

/// How long a party waits for another's own word when it hears that it has stopped.
const CONFIRM: Duration = Duration::from_secs(1);
const CONFIRM_PAUSE: Duration = Duration::from_millis(5);

impl Party {
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
    pub(super) fn fail(
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
            // The others end as soon as they hear of it, maybe before this party has looked.
            Trouble::Missing(_) if interrupt::raised() => return self.interrupted(),
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
                // Whoever hears of it here first asks the accuser, whose own word may be on its way.
                let words = format!("stopped: its check \"{}\" failed", check.replace('"', "'"));
                let words = Farewell::Because { party, words };
                let error = NetError::Accused {
                    party,
                    step,
                    layer,
                    check,
                    suspects,
                };
                (error, Some(words))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emulate::LinkModel;
    use crate::memory::mesh;

    /// Party 0 accuses party 2, which ends as an honest party does, before the word of party 0 is with
    /// party 1.
    #[test]
    fn an_accusation_that_comes_round_is_asked_for() {
        let patience = Duration::from_secs(10);
        let mut parties = mesh(3, &LinkModel::LOCAL, patience);
        let mut accuser = parties.remove(0);
        let late = accuser.links[1].take();
        accuser.accuse([1, 2], "a check");
        accuser.close().expect("party 2 hears it");
        accuser.links[1] = late;
        accuser.accuse([1, 2], "a check");
        let mut cheater = parties.pop().expect("party 2");
        let hears = |party: &mut Party, from: usize| {
            party.recv(from, "a step", 1).expect_err("it has stopped")
        };
        let accused = |error: &NetError| {
            assert!(
                matches!(error, NetError::Accused { party: 0, .. }),
                "{error}"
            )
        };
        accused(&hears(&mut cheater, 0));
        drop(cheater);
        let word = std::thread::spawn(move || {
            std::thread::sleep(CONFIRM / 4);
            drop(accuser);
        });
        accused(&hears(&mut parties[0], 2));
        word.join().expect("no panic");
    }

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
