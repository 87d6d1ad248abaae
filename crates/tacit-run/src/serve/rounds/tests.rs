//! A party that lies in a round: no two honest parties ever predict different batches.

use std::sync::{Arc, Mutex};

use tacit_net::testing::{Fate, mesh_with, run};

use super::*;
use crate::serve::queue::Limits;

const PARTIES: usize = 3;
const PATIENCE: Duration = Duration::from_secs(5);
const SCHEME: Scheme = Scheme::Replicated { bits: 64 };

/// A message of a round.
#[derive(Clone, Debug)]
struct Said {
    from: usize,
    to: usize,
    step: &'static str,
    payload: Vec<u8>,
}

/// Queues of all parties with these requests, of one number each.
fn queues(ids: &[u8]) -> Vec<Queue> {
    let limits = Limits {
        waiting: 16,
        batch: 16,
        wait: Duration::ZERO,
        keep: PATIENCE,
        keep_bytes: 1 << 20,
        patience: PATIENCE,
    };
    let queues: Vec<Queue> = (0..PARTIES).map(|_| Queue::new(limits)).collect();
    for queue in &queues {
        queue.open();
    }
    for &id in ids {
        let bodies = SCHEME.split(&[i64::from(id)]).expect("it fits");
        for (queue, body) in queues.iter().zip(bodies) {
            assert_eq!(queue.submit("lab", [id; 16], 1, body), Ok(()));
        }
    }
    queues
}

type End = Result<Vec<Id>, Error>;

/// One round of three parties; `change` may change what is sent.
fn round(
    queues: &[Queue],
    forgets: bool,
    mut change: impl FnMut(&Said) -> Option<Vec<u8>> + Send + 'static,
) -> (Vec<End>, Vec<Said>) {
    let log = Arc::new(Mutex::new(Vec::new()));
    let kept = log.clone();
    let mesh = mesh_with(PARTIES, PATIENCE, move |envelope| {
        let said = Said {
            from: envelope.from,
            to: envelope.to,
            step: envelope.step,
            payload: envelope.payload.clone(),
        };
        if let Some(payload) = change(&said) {
            *envelope.payload = payload;
        }
        kept.lock().expect("no panic").push(said);
        Fate::Deliver
    });
    let ends = run(mesh, |mut party| {
        let mut rounds = Rounds {
            queue: &queues[party.id()],
            session: (0, 1),
            scheme: SCHEME,
            number: 0,
            told: Instant::now(),
            pool: Pool::default(),
            forgets,
            lies: None,
        };
        match rounds.next(&mut party)? {
            Round::Batch(ids) => Ok(ids),
            Round::Fill | Round::Nothing | Round::Over => Ok(Vec::new()),
        }
    });
    let said = std::mem::take(&mut *log.lock().expect("no panic"));
    (ends, said)
}

#[test]
fn honest_parties_predict_the_same() {
    let queues = queues(&[1, 2, 3]);
    let (ends, _) = round(&queues, false, |_| None);
    for end in ends {
        assert_eq!(end.expect("honest"), [[1; 16], [2; 16], [3; 16]]);
    }
}

/// A request that one party's policy does not allow is refused at all of them in the same round, with the
/// code; the others of its batch are predicted. A code that is none is a lie.
#[test]
fn what_one_party_declines_all_refuse() {
    let found = queues(&[1, 3]);
    let bodies = SCHEME.split(&[2]).expect("it fits");
    for (queue, body) in found.iter().zip(bodies).take(2) {
        assert_eq!(queue.submit("lab", [2; 16], 1, body), Ok(()));
    }
    found[2].decline([2; 16], "budget");
    let (ends, _) = round(&found, false, |_| None);
    for end in ends {
        assert_eq!(end.expect("honest"), [[1; 16], [3; 16]]);
    }
    for queue in &found[..2] {
        let answer = queue.answer(&[2; 16], Duration::ZERO).expect("at once");
        let refused = answer.expect_err("declined");
        assert_eq!(refused.code, "declined-elsewhere");
        assert!(
            refused
                .message
                .contains("party 2 does not allow this request (budget)")
        );
    }
    for code in ["", "Budget", "a b", &"x".repeat(CODE + 1)] {
        assert!(!is_code(code), "{code}");
        found[0].decline([4; 16], code);
    }
    assert_eq!(found[0].declined(&[4; 16]), None);
}

/// What the largest group says of a whole batch is taken from every party, also by one that has nothing of it.
#[test]
fn what_all_have_of_a_batch_is_within_the_bound() {
    let (parties, requests) = (63, 100);
    let scheme = Scheme::Shamir {
        bits: 61,
        parties,
        threshold: 31,
    };
    let bodies = scheme.split(&[1]).expect("it fits");
    let last = parties - 1;
    let common = scheme.common(last, &bodies[last]);
    let hashes = common
        .iter()
        .map(|(part, bytes)| (*part, hash(*part, bytes)));
    let one = Held {
        has: true,
        hashes: hashes.collect(),
        declined: Some("x".repeat(CODE)),
    };
    let answer = Answer {
        leaves: false,
        held: vec![one; requests],
    };
    let words = serde_json::to_vec(&answer).expect("JSON");
    let most = most_said(requests, parties);
    assert!(words.len() <= most && most < 2 * words.len());
}

/// What a liar may say instead of a message: fewer, other, turned or more words.
fn lies(said: &Said) -> Vec<Vec<u8>> {
    let mut lies = vec![
        Vec::new(),
        b"waits".to_vec(),
        b"over".to_vec(),
        b"fills".to_vec(),
    ];
    if let Ok(proposal) = serde_json::from_slice::<Proposal>(&said.payload) {
        let proposed = &proposal.requests;
        let mut turned = proposed.clone();
        turned.reverse();
        let mut other = proposed.clone();
        other[0].id = [9; 16];
        let mut more = proposed.clone();
        more[0].items = usize::MAX;
        let twice = [&proposed[..], &proposed[..1]].concat();
        let fewer = proposed[1..].to_vec();
        for requests in [turned, other, more, twice, fewer] {
            let all = !proposal.all;
            lies.push(serde_json::to_vec(&Proposal { requests, all }).expect("JSON"));
        }
    }
    if let Ok(answer) = serde_json::from_slice::<Answer>(&said.payload) {
        let held = &answer.held;
        let mut without = held.clone();
        without[1] = Held {
            has: false,
            hashes: Vec::new(),
            declined: None,
        };
        let mut declines = held.clone();
        declines[1].declined = Some("budget".into());
        let mut shouts = held.clone();
        shouts[1].declined = Some("<b>No".into());
        let mut wrong = held.clone();
        wrong[0].hashes = vec![(0, "0".into()), (7, "1".into())];
        let fewer = held[1..].to_vec();
        for held in [without, declines, shouts, wrong, fewer, Vec::new()] {
            let leaves = !answer.leaves;
            lies.push(serde_json::to_vec(&Answer { leaves, held }).expect("JSON"));
        }
    }
    lies
}

/// How many lies led two honest parties to different batches, and how many there were.
fn divided(forgets: bool) -> (usize, usize) {
    let (_, said) = round(&queues(&[1, 2]), false, |_| None);
    let (mut divided, mut all) = (0, 0);
    for (at, honest) in said.iter().enumerate() {
        // One message of each kind is enough of the many.
        let first = said[..at]
            .iter()
            .all(|s| (s.from, s.to, s.step) != (honest.from, honest.to, honest.step));
        for lie in lies(honest).into_iter().filter(|_| first) {
            let Said { from, to, step, .. } = *honest;
            let mut left = true;
            let (ends, _) = round(&queues(&[1, 2]), forgets, move |said| {
                let here = left && (said.from, said.to, said.step) == (from, to, step);
                left &= !here;
                here.then(|| lie.clone())
            });
            let honest = ends.into_iter().enumerate();
            let honest: Vec<_> = (honest.filter(|(party, _)| *party != from))
                .filter_map(|(_, end)| end.ok())
                .collect();
            divided += usize::from(honest.windows(2).any(|pair| pair[0] != pair[1]));
            all += 1;
        }
    }
    (divided, all)
}

#[test]
fn a_liar_does_not_divide_the_honest() {
    let (found, all) = divided(false);
    assert_eq!(found, 0);
    assert!(all > 50, "{all}");
    // Parties that do not compare what they heard are divided.
    assert!(divided(true).0 > 0);
}

/// However many requests wait, what the leader proposes is shorter than what the others read: else they
/// would take it for a cheater.
#[test]
fn the_longest_proposal_is_read() {
    let one = Proposed {
        id: [255; 16],
        items: usize::MAX,
        first: false,
        last: false,
    };
    let proposal = Proposal {
        requests: vec![one; crate::serve::queue::REQUESTS],
        all: false,
    };
    assert!(serde_json::to_vec(&proposal).expect("JSON").len() < MOST);
}
