//! Parties that count: each runs its program alone, sends nothing, and notes what it would send and wait for.
//! The notes of all parties together tell what a run would cost.

use std::collections::VecDeque;

/// What one party would do, in order.
#[derive(Clone, Debug, Default)]
pub struct Trace(Vec<Event>);

#[derive(Clone, Copy, Debug)]
enum Event {
    Sends { to: usize, bytes: usize },
    Hears { from: usize },
}

impl Trace {
    pub(crate) fn sends(&mut self, to: usize, bytes: usize) {
        self.0.push(Event::Sends { to, bytes });
    }

    pub(crate) fn hears(&mut self, from: usize) {
        self.0.push(Event::Hears { from });
    }
}

/// Hops on the longest path and bytes sent by each party, if all parties begin together and party `i` does
/// what `traces[i]` says.
///
/// # Panics
/// If a party waits for a message that nobody sends: then the program is wrong at every party.
pub fn longest_path(traces: &[Trace]) -> (u32, Vec<u64>) {
    let parties = traces.len();
    let (mut depths, mut bytes) = (vec![0; parties], vec![0; parties]);
    let mut links = vec![VecDeque::new(); parties * parties];
    let mut rest: Vec<&[Event]> = traces.iter().map(|trace| &trace.0[..]).collect();
    while rest.iter().any(|rest| !rest.is_empty()) {
        let before: usize = rest.iter().map(|rest| rest.len()).sum();
        for party in 0..parties {
            while let Some((event, later)) = rest[party].split_first() {
                match *event {
                    Event::Sends { to, bytes: len } => {
                        links[party * parties + to].push_back(depths[party]);
                        bytes[party] += len as u64;
                    }
                    Event::Hears { from } => match links[from * parties + party].pop_front() {
                        Some(depth) => depths[party] = depths[party].max(depth + 1),
                        None => break,
                    },
                }
                rest[party] = later;
            }
        }
        let after: usize = rest.iter().map(|rest| rest.len()).sum();
        assert!(after < before, "a party waits for what nobody sends");
    }
    (depths.into_iter().max().unwrap_or(0), bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Party;

    /// Runs a program at parties that count.
    fn count(parties: usize, program: impl Fn(&mut Party)) -> (u32, Vec<u64>) {
        let trace = |id| {
            let mut party = Party::counting(id, parties);
            program(&mut party);
            party.take_trace()
        };
        longest_path(&(0..parties).map(trace).collect::<Vec<_>>())
    }

    fn send(party: &mut Party, to: usize, bytes: usize) {
        party.send(to, "step", vec![1; bytes]).expect("a note");
    }

    fn hear(party: &mut Party, from: usize, bytes: usize) {
        let heard = party.recv(from, "step", bytes).expect("zeros");
        assert_eq!(heard, vec![0; bytes]);
    }

    /// Around a ring of three every hop waits for the one before; to all at once there is one.
    #[test]
    fn hops_are_those_of_the_longest_path() {
        let ring = count(3, |party| {
            let id = party.id();
            if id > 0 {
                hear(party, id - 1, 5);
            }
            send(party, (id + 1) % 3, 5);
            if id == 0 {
                hear(party, 2, 5);
            }
        });
        assert_eq!(ring, (3, vec![5, 5, 5]));
        let at_once = count(3, |party| {
            let others = (0..3).filter(|&peer| peer != party.id());
            let others: Vec<usize> = others.collect();
            others.iter().for_each(|&peer| send(party, peer, 7));
            others.iter().for_each(|&peer| hear(party, peer, 7));
        });
        assert_eq!(at_once, (1, vec![14, 14, 14]));
    }

    #[test]
    #[should_panic(expected = "nobody sends")]
    fn a_message_that_nobody_sends_is_no_hop() {
        count(2, |party| hear(party, 1 - party.id(), 1));
    }

    /// A size without elements at a party that runs would be a message that its peer waits for in vain.
    #[test]
    #[should_panic(expected = "a party that counts")]
    fn a_party_that_runs_notes_nothing() {
        let mut mesh = crate::memory::mesh(
            2,
            &crate::LinkModel::LOCAL,
            std::time::Duration::from_secs(1),
        );
        mesh[0].note_sent(1, 8);
    }
}
