//! What an opening sends follows from the result and what the receiver has: then it tells no more than
//! the result, whatever the receiver has seen before.

use super::record::{Roles, Seen};
use crate::Subject;

/// How results are shared, that is what follows from a result and some of its shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// Two holders' summands, and an assistant who is sent others of the same sum.
    Holders,
    /// Three components, of which a party has two.
    Replicated,
    /// Values of polynomials of this degree.
    Polynomial(usize),
    /// Two parties' summands.
    Two,
}

const REVEAL: &str = "reveal";
const COPY: &str = "falcon reveal: second copy";
const COPY_CONTEXT: &str = "tacit 2026 falcon openings";

/// One opening with its numbers.
struct Opened<'a> {
    seen: &'a Seen,
    modulus: u128,
    /// Bytes of a number on the wire.
    size: usize,
}

/// Holds the opening at the end of a run against what it may tell.
pub fn tells_no_more_than_the_result(
    subject: &dyn Subject,
    sharing: Sharing,
    roles: Roles,
    seen: &Seen,
) {
    let modulus = subject.modulus() as u128;
    let bits = 128 - (modulus - 1).leading_zeros() as usize;
    let opened = Opened {
        seen,
        modulus,
        size: bits.next_power_of_two().max(8) / 8,
    };
    for party in (0..subject.parties()).filter(|party| roles.hears(*party)) {
        let told = seen.ends[party].opened.as_ref().expect("who hears is told");
        let result: Vec<u128> = told.iter().map(|v| opened.residue(*v)).collect();
        match sharing {
            Sharing::Holders if party < 2 => opened.rest_is_sent(party, 1 - party, &result, 0),
            Sharing::Holders => opened.is_shared_anew(&result),
            Sharing::Replicated => opened.rest_is_sent(party, (party + 2) % 3, &result, 0),
            Sharing::Polynomial(degree) => opened.is_a_polynomial(party, degree, &result),
            Sharing::Two => opened.rest_is_sent(party, 1 - party, &result, 1),
        }
    }
}

impl Opened<'_> {
    fn residue(&self, v: i64) -> u128 {
        i128::from(v).rem_euclid(self.modulus as i128) as u128
    }

    fn numbers(&self, bytes: &[u8], size: usize) -> Vec<u128> {
        let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |v, b| v << 8 | u128::from(*b));
        bytes.chunks_exact(size).map(number).collect()
    }

    /// A party's saved numbers of the result, after a header.
    fn held(&self, party: usize, header: usize) -> Vec<u128> {
        let size = if header > 0 { 8 } else { self.size };
        self.numbers(&self.seen.ends[party].result[header..], size)
    }

    /// What a party was sent in the opening.
    fn sent(&self, from: usize, to: usize) -> Vec<u128> {
        let view = self.seen.recorder.view(to).into_iter();
        let reveals = view.filter(|seen| {
            seen.from == from
                && seen.step.contains(REVEAL)
                && seen.step != COPY
                && !seen.step.contains("reveal: value")
        });
        let bytes: Vec<u8> = reveals.flat_map(|seen| seen.payload).collect();
        self.numbers(&bytes, self.size)
    }

    /// The message is the result less all that the receiver holds of it; of malicious security the
    /// second copy's hash is that of the message.
    fn rest_is_sent(&self, to: usize, from: usize, result: &[u128], header: usize) {
        let held = self.held(to, header);
        let rest = |(i, y): (usize, &u128)| {
            let own = held.iter().skip(i).step_by(result.len());
            own.fold(*y, |rest, own| (rest + self.modulus - own) % self.modulus)
        };
        let rest: Vec<u128> = result.iter().enumerate().map(rest).collect();
        assert!(self.sent(from, to) == rest, "{from} sent {to} more");
        for copy in self.seen.recorder.view(to) {
            if copy.step == COPY {
                let bytes: Vec<u8> = rest
                    .iter()
                    .flat_map(|v| v.to_le_bytes()[..self.size].to_vec())
                    .collect();
                assert_eq!(copy.payload, blake3::derive_key(COPY_CONTEXT, &bytes));
            }
        }
    }

    /// The assistant is sent two vectors that add up to the result, neither of them what a holder has:
    /// equal at as few places as chance has it.
    fn is_shared_anew(&self, result: &[u128]) {
        let [first, second] = [0, 1].map(|holder| self.sent(holder, 2));
        let sum = first
            .iter()
            .zip(&second)
            .map(|(a, b)| (a + b) % self.modulus);
        assert!(
            sum.eq(result.iter().copied()),
            "the summands have no such sum"
        );
        for (holder, sent) in [(0, first), (1, second)] {
            let held = self.held(holder, 0);
            let same = sent.iter().zip(&held).filter(|(a, b)| a == b).count();
            assert!(
                same * 16 <= result.len(),
                "{holder} sent {same} as they are"
            );
        }
    }

    /// What the others send follows from the result and the shares of any `degree` parties, of which
    /// the receiver is one: of any who may collude with it.
    fn is_a_polynomial(&self, to: usize, degree: usize, result: &[u128]) {
        let parties = self.seen.ends.len();
        let shares: Vec<Vec<u128>> = (0..parties).map(|party| self.held(party, 0)).collect();
        for offset in 1..parties {
            let colluding: Vec<usize> = std::iter::once(to)
                .chain((0..degree - 1).map(|i| (to + offset + i) % parties))
                .collect();
            if colluding[1..].contains(&to) {
                continue;
            }
            for from in (0..parties).filter(|from| !colluding.contains(from)) {
                let points: Vec<u128> = std::iter::once(0)
                    .chain(colluding.iter().map(|party| *party as u128 + 1))
                    .collect();
                let weights = self.lagrange(&points, from as u128 + 1);
                let follows = |i: usize| {
                    let rest = colluding.iter().zip(&weights[1..]);
                    rest.fold(weights[0] * result[i], |sum, (party, weight)| {
                        (sum + weight * shares[*party][i]) % self.modulus
                    }) % self.modulus
                };
                let follows: Vec<u128> = (0..result.len()).map(follows).collect();
                let sent = self.sent(from, to);
                let part = sent.is_empty() || follows.windows(sent.len()).any(|part| part == sent);
                assert!(part, "{from} sent {to} what does not follow");
            }
        }
    }

    /// The coefficients of the values at `points` in the value at `at`.
    fn lagrange(&self, points: &[u128], at: u128) -> Vec<u128> {
        let p = self.modulus;
        let less = |a: u128, b: u128| (a + p - b) % p;
        let coefficient = |i: usize| {
            let others = points.iter().enumerate().filter(|(k, _)| *k != i);
            others.fold(1, |product, (_, other)| {
                let divided = less(at, *other) * self.inverse(less(points[i], *other)) % p;
                product * divided % p
            })
        };
        (0..points.len()).map(coefficient).collect()
    }

    /// `v^(p - 2)` modulo the prime.
    fn inverse(&self, v: u128) -> u128 {
        let (mut power, mut base, mut left) = (1, v, self.modulus - 2);
        while left > 0 {
            if left & 1 == 1 {
                power = power * base % self.modulus;
            }
            base = base * base % self.modulus;
            left >>= 1;
        }
        power
    }
}
