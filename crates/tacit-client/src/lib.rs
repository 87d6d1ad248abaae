//! What a client that is no party does: it shares its input among the parties of a service, and puts
//! the answer together from what each of them gives it. No party sees either.
//!
//! A [`Scheme`] says how the parties' protocol shares numbers. [`Scheme::split`] makes a *body* for each
//! party, [`Scheme::join`] makes numbers of one *answer* of each. A [`Model`] does the same with floats, by
//! what the parties describe. Nothing here knows layers, sockets or protocols, so that it runs in a
//! browser, too.
//!
//! # Bytes
//!
//! Words are little-endian, of as many bytes as the ring or field takes.
//!
//! | scheme | body at a party | answer of a party |
//! |---|---|---|
//! | replicated | for each of its two components (own, next): a salt of 16 bytes, the words | both components' words |
//! | holders | the words of its summand, nothing at the assistant; seals | the words |
//! | pair | the bits of a word in a byte, the words (8 bytes each) of its summand; seals | the bits and the words |
//! | shamir | the words of its share; seals | the words |
//!
//! Two parties hold each component of a replicated sharing. They compare a hash of salt and words before
//! they use it: who does not know the salt learns nothing by the hash, however few the words are. Of other
//! sharings they compare a hash of their seal: 16 random bytes for each other party, in the parties' order,
//! the same at both. So what belongs to two clients is not computed together.

#![forbid(unsafe_code)]

mod field;
mod model;
mod random;
mod replicated;
mod ring;
mod seals;
mod shamir;
pub mod tail;

pub use model::{Described, Model};
use serde::{Deserialize, Serialize};

/// The bytes of a component's salt.
pub const SALT: usize = 16;

/// How numbers are shared among the parties.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Scheme {
    /// Three components that sum up to the number modulo `2^bits`; party `i` of three holds those of
    /// number `i` and `i + 1` (Falcon, Bicoptor over replicated shares).
    Replicated {
        /// Bits of the ring, 32 or 64.
        bits: u32,
    },
    /// Two summands modulo `2^bits` at parties 0 and 1; party 2 assists and holds nothing (Bicoptor).
    Holders {
        /// Bits of the ring, 32 or 64.
        bits: u32,
    },
    /// Two summands modulo `2^bits` at two parties (SiRnn).
    Pair {
        /// Bits of the ring, 1 to 64.
        bits: u32,
    },
    /// Values at `i + 1` of a polynomial over the integers modulo `2^bits - 1`, a prime (Liu et al.).
    Shamir {
        /// Bits of the field's order: 31 or 61.
        bits: u32,
        /// How many parties there are.
        parties: usize,
        /// The polynomial's degree: so many parties together learn nothing.
        threshold: usize,
    },
}

/// Why numbers cannot be shared or put together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The scheme is none that is known.
    #[error("the parties describe a sharing that this client does not know: {0}")]
    Scheme(String),
    /// The system gave no randomness, without which nothing can be shared.
    #[error("the system's random generator failed ({0}); nothing was shared")]
    Randomness(String),
    /// A number does not fit.
    #[error("number {at} of the input does not fit {bits} bits; nothing was shared")]
    Range {
        /// Place of the number in the input, from 0.
        at: usize,
        /// Bits of the ring or field.
        bits: u32,
    },
    /// An answer of another size than asked for.
    #[error(
        "party {party} gave an answer of {got} bytes where {expected} were expected; ask again, and if it happens again tell that party"
    )]
    Length {
        /// The party that gave the answer, from 0.
        party: usize,
        /// The bytes that it gave.
        got: usize,
        /// The bytes that an answer has.
        expected: usize,
    },
    /// Answers that contradict one another: a party cheats, or they are of different requests.
    #[error(
        "the answers of parties {one} and {other} contradict each other, so one of them is false; the answer is refused"
    )]
    Contradiction {
        /// One of the two parties whose answers contradict each other.
        one: usize,
        /// The second of the two parties whose answers contradict each other.
        other: usize,
    },
    /// What the parties describe is no model that this client can ask.
    #[error("the parties describe a model that this client cannot ask: {0}")]
    Model(String),
    /// An input that the model does not take.
    #[error("{0}; nothing was shared")]
    Input(String),
    /// A class that there is not.
    #[error(
        "the answer names class {class} of {classes}: a value was beyond the plan's range, or a party did not follow the protocol"
    )]
    Class {
        /// The number that was opened in place of a class.
        class: i64,
        /// How many classes there are.
        classes: usize,
    },
    /// Answers of fewer or more parties than there are.
    #[error("there are {expected} parties, and {got} answers")]
    Parties {
        /// How many answers came.
        got: usize,
        /// How many parties there are.
        expected: usize,
    },
}

impl Scheme {
    /// How many parties there are.
    pub fn parties(&self) -> usize {
        match self {
            Scheme::Replicated { .. } | Scheme::Holders { .. } => 3,
            Scheme::Pair { .. } => 2,
            Scheme::Shamir { parties, .. } => *parties,
        }
    }

    /// Bits of the ring or field.
    pub fn bits(&self) -> u32 {
        match *self {
            Scheme::Replicated { bits }
            | Scheme::Holders { bits }
            | Scheme::Pair { bits }
            | Scheme::Shamir { bits, .. } => bits,
        }
    }

    /// Refuses what no protocol has.
    pub fn check(&self) -> Result<(), Refusal> {
        let known = match *self {
            Scheme::Replicated { bits } | Scheme::Holders { bits } => matches!(bits, 32 | 64),
            Scheme::Pair { bits } => (1..=64).contains(&bits),
            Scheme::Shamir {
                bits,
                parties,
                threshold,
            } => {
                let most = parties.saturating_sub(1) / 2;
                matches!(bits, 31 | 61)
                    && (3..=63).contains(&parties)
                    && (1..=most).contains(&threshold)
            }
        };
        match known {
            true => Ok(()),
            false => Err(Refusal::Scheme(format!("{self:?}"))),
        }
    }

    /// Shares numbers: a body for each party, of which as many as the protocol allows to be corrupt
    /// tell nothing about the numbers. Randomness is the system's; without it nothing is shared.
    pub fn split(&self, values: &[i64]) -> Result<Vec<Vec<u8>>, Refusal> {
        self.check()?;
        self.check_range(values)?;
        let shares = match *self {
            // Its components have salts that two parties hold already.
            Scheme::Replicated { bits } => return replicated::split(bits, values),
            Scheme::Holders { bits } => {
                let mut bodies = ring::split(bits, values, ring::width(bits))?;
                bodies.push(Vec::new());
                bodies
            }
            Scheme::Pair { bits } => {
                let bodies = ring::split(bits, values, size_of::<u64>())?;
                let marked = |body: Vec<u8>| [&[bits as u8], &body[..]].concat();
                bodies.into_iter().map(marked).collect()
            }
            Scheme::Shamir {
                bits,
                parties,
                threshold,
            } => shamir::split(bits, parties, threshold, values)?,
        };
        let sealed = shares.into_iter().zip(seals::split(self.parties())?);
        Ok(sealed
            .map(|(share, seals)| [share, seals].concat())
            .collect())
    }

    /// The numbers of which each party gave its answer. Answers that are redundant are compared.
    pub fn join(&self, n: usize, answers: &[&[u8]]) -> Result<Vec<i64>, Refusal> {
        self.check()?;
        if answers.len() != self.parties() {
            return Err(Refusal::Parties {
                got: answers.len(),
                expected: self.parties(),
            });
        }
        for (party, answer) in answers.iter().enumerate() {
            self.check_length(party, answer.len(), self.answer_len(party, n))?;
        }
        match *self {
            Scheme::Replicated { bits } => replicated::join(bits, answers),
            Scheme::Holders { bits } => Ok(ring::join(bits, ring::width(bits), &answers[..2])),
            Scheme::Pair { .. } => {
                let bits = answers.iter().map(|answer| u32::from(answer[0]));
                let [one, other] = [0, 1].map(|i| bits.clone().nth(i).unwrap_or(0));
                if one != other || !(1..=64).contains(&one) {
                    return Err(Refusal::Contradiction { one: 0, other: 1 });
                }
                Ok(ring::join(one, 8, &[&answers[0][1..], &answers[1][1..]]))
            }
            Scheme::Shamir {
                bits, threshold, ..
            } => shamir::join(bits, threshold, answers),
        }
    }

    /// The bytes of a body with `n` numbers at a party.
    pub fn body_len(&self, party: usize, n: usize) -> usize {
        self.answer_len(party, n) + self.secrets() * SALT
    }

    /// The bytes of a party's answer with `n` numbers.
    pub fn answer_len(&self, party: usize, n: usize) -> usize {
        match *self {
            Scheme::Replicated { bits } => 2 * n * ring::width(bits),
            Scheme::Holders { bits } if party < 2 => n * ring::width(bits),
            Scheme::Holders { .. } => 0,
            Scheme::Pair { .. } => 1 + n * size_of::<u64>(),
            Scheme::Shamir { bits, .. } => n * field::width(bits),
        }
    }

    /// How many secrets a body has beside its share.
    fn secrets(&self) -> usize {
        match self {
            Scheme::Replicated { .. } => 2,
            _ => self.parties() - 1,
        }
    }

    /// Whether a body of the right length holds words of the scheme, as `split` makes them.
    pub fn holds(&self, body: &[u8]) -> bool {
        match *self {
            Scheme::Replicated { .. } | Scheme::Holders { .. } => true,
            Scheme::Pair { bits } => {
                let (share, _) = self.unsealed(body);
                let (mark, words) = share.split_at(share.len().min(1));
                let words = ring::read(size_of::<u64>(), words);
                mark == [bits as u8] && words.iter().all(|&word| ring::low(bits, word) == word)
            }
            Scheme::Shamir { bits, .. } => {
                let words = ring::read(field::width(bits), self.unsealed(body).0);
                words.iter().all(|&word| word < field::order(bits))
            }
        }
    }

    /// The parts of a body that another party holds, too, each with its number: what their hashes are
    /// compared of.
    pub fn common<'a>(&self, party: usize, body: &'a [u8]) -> Vec<(usize, &'a [u8])> {
        match self {
            Scheme::Replicated { .. } => {
                let (own, next) = body.split_at(body.len() / 2);
                vec![(party, own), ((party + 1) % 3, next)]
            }
            _ => seals::of(self.parties(), party, self.unsealed(body).1),
        }
    }

    /// Which parts two parties hold, each with its number.
    pub fn twice(&self) -> Vec<(usize, [usize; 2])> {
        match self {
            Scheme::Replicated { .. } => {
                (0..3).map(|part| (part, [part, (part + 2) % 3])).collect()
            }
            _ => seals::pairs(self.parties()),
        }
    }

    /// A body's share and its secrets, of what is shared so.
    fn unsealed<'a>(&self, body: &'a [u8]) -> (&'a [u8], &'a [u8]) {
        body.split_at(body.len().saturating_sub(self.secrets() * SALT))
    }

    /// The share within a body, without what is only compared.
    pub fn share(&self, body: &[u8]) -> Vec<u8> {
        match self {
            Scheme::Replicated { .. } => {
                let (own, next) = body.split_at(body.len() / 2);
                [own, next]
                    .map(|part| part.get(SALT..).unwrap_or_default())
                    .concat()
            }
            _ => self.unsealed(body).0.to_vec(),
        }
    }

    fn check_length(&self, party: usize, got: usize, expected: usize) -> Result<(), Refusal> {
        match got == expected {
            true => Ok(()),
            false => Err(Refusal::Length {
                party,
                got,
                expected,
            }),
        }
    }

    fn check_range(&self, values: &[i64]) -> Result<(), Refusal> {
        let bits = self.bits();
        let most = 1i64 << (bits - 1).min(62);
        let fits = |v: &i64| match self {
            Scheme::Shamir { .. } => v.unsigned_abs() < most.unsigned_abs(),
            _ => bits > 63 || (-most..most).contains(v),
        };
        match values.iter().position(|v| !fits(v)) {
            None => Ok(()),
            Some(at) => Err(Refusal::Range { at, bits }),
        }
    }
}

#[cfg(test)]
mod tests;
