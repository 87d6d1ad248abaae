//! One party's engine: what every building block is made of.
//!
//! Three primitives consume OTs and send messages: [`Engine::gates`], [`Engine::products`] and
//! [`Engine::ands`]; `Engine::encrypted` multiplies under keys of a session; [`Engine::open`] opens. An engine made by [`Engine::counting`] runs the same
//! program without data or peers, and only counts what it would take.
//!
//! | file | what |
//! |---|---|
//! | `gates.rs` | 1-of-N OT that carries a function of both parties' numbers |
//! | `products.rs` | correlated OT that carries products of bits and numbers |
//! | `ands.rs` | AND of shared bits by triples out of correlated OTs; opening |
//! | `rlwe/` | products of numbers that one party has encrypted |
//! | `stock.rs` | the OTs made ahead |
//! | `tally.rs` | what a counting engine counts |

mod ands;
mod gates;
mod products;
mod rlwe;
mod stock;
mod tally;
#[cfg(test)]
mod tests;

use tacit_algebra::ot::{Hash, Offsets};
use tacit_algebra::wipe;
use tacit_net::Party;
use tacit_protocols::Error;
use tacit_protocols::message::{Length, Message};

use crate::ot::{Block, Demand, KINDS, RandomOt};
pub use gates::Gate;
pub use products::Correlation;
pub(crate) use rlwe::{Encrypted, Wanted, Way, keys_len};
use stock::{Incoming, Outgoing};
use tally::Counter;
pub use tally::Tally;

/// The stock of correlated OTs.
const COT: usize = 0;

const NONCE: Message<[u8; 16]> = Message::new("sirnn: nonce of the session's hash");

/// One party's engine.
pub struct Engine(Mode);

enum Mode {
    Live(Box<Live>),
    Counting(Counter),
}

/// An engine that runs.
struct Live {
    party: Party,
    source: Box<dyn RandomOt>,
    hash: Hash,
    /// The offsets of OTs by their kind, as the stocks.
    offsets: Vec<Offsets>,
    outgoing: Vec<Outgoing>,
    incoming: Vec<Incoming>,
    keys: rlwe::Keys,
}

impl Drop for Live {
    /// What kernels were given of the offsets is on the stacks of this thread and of theirs.
    fn drop(&mut self) {
        wipe::stacks();
    }
}

impl Live {
    fn peer(&self) -> usize {
        1 - self.party.id()
    }

    /// What the two blocks of a correlated OT that this party sends differ by.
    fn delta(&self) -> Block {
        self.offsets[COT].delta()
    }

    /// Waits for a message of the peer that a kernel reads.
    fn recv<E: Length>(&mut self, message: Message<E>, len: E::Len) -> Result<Vec<u8>, Error> {
        let peer = self.peer();
        message.recv_made(&mut self.party, peer, len)
    }

    /// Queues a message that a kernel made.
    fn send<E: Length>(
        &mut self,
        message: Message<E>,
        len: E::Len,
        made: Vec<u8>,
    ) -> Result<(), Error> {
        let peer = self.peer();
        message.send_made(&mut self.party, peer, len, || made)
    }
}

/// The kinds of OTs, as bits of an index.
fn kinds() -> impl Iterator<Item = u32> {
    1..=KINDS as u32
}

impl Engine {
    /// An engine over a link to the other party and a source of OTs. 1 hop, 16 bytes each.
    pub fn new(mut party: Party, source: Box<dyn RandomOt>) -> Result<Self, Error> {
        let peer = 1 - party.id();
        let mut nonce = [0; 16];
        getrandom::fill(&mut nonce).map_err(|e| Error::Randomness(e.to_string()))?;
        NONCE.send(&mut party, peer, &nonce)?;
        for (ours, theirs) in nonce.iter_mut().zip(NONCE.recv(&mut party, peer, ())?) {
            *ours ^= theirs;
        }
        Ok(Engine(Mode::Live(Box::new(Live {
            party,
            hash: Hash::new(nonce),
            offsets: kinds().map(|m| source.offsets(m)).collect(),
            source,
            outgoing: kinds().map(|m| Outgoing::new(1 - peer, m)).collect(),
            incoming: kinds().map(|m| Incoming::new(peer, m)).collect(),
            keys: rlwe::Keys::default(),
        }))))
    }

    /// An engine that counts for both parties at once and computes with zeros. It stands for
    /// party 0.
    pub fn counting() -> Self {
        Engine(Mode::Counting(Counter::default()))
    }

    /// What a counting engine has counted; at a real engine, the OTs that it has consumed.
    pub fn tally(&self) -> Tally {
        match &self.0 {
            Mode::Counting(counter) => counter.tally(),
            Mode::Live(live) => {
                let mut ots = [Demand::default(); 2];
                let stocks = kinds().zip(&live.outgoing).zip(&live.incoming);
                for ((m, outgoing), incoming) in stocks {
                    ots[live.party.id()] += Demand::of(m, outgoing.consumed());
                    ots[live.peer()] += Demand::of(m, incoming.consumed());
                }
                Tally {
                    ots,
                    ..Tally::default()
                }
            }
        }
    }

    /// This party's number: 0, the server, or 1, the client.
    pub fn id(&self) -> usize {
        match &self.0 {
            Mode::Live(live) => live.party.id(),
            Mode::Counting(_) => 0,
        }
    }

    /// Whether this engine only counts.
    pub fn counts(&self) -> bool {
        matches!(self.0, Mode::Counting(_))
    }

    /// The link of an engine that does not count.
    pub fn party(&mut self) -> Option<&mut Party> {
        match &mut self.0 {
            Mode::Live(live) => Some(&mut live.party),
            Mode::Counting(_) => None,
        }
    }

    /// Makes and exchanges the keys that products of encrypted numbers take, once a session. At most
    /// 1 hop.
    pub(crate) fn exchange_keys(&mut self, wanted: &Wanted) -> Result<(), Error> {
        match &mut self.0 {
            Mode::Live(live) => live.exchange_keys(wanted),
            Mode::Counting(_) => Ok(()),
        }
    }

    /// Makes OTs, `ots[i]` that party `i` sends, to be consumed by later calls.
    pub fn prepare(&mut self, ots: [Demand; 2]) -> Result<(), Error> {
        if let Mode::Live(live) = &mut self.0 {
            // First, so that old and new ones do not take memory together.
            live.outgoing.iter_mut().for_each(Outgoing::forget);
            live.incoming.iter_mut().for_each(Incoming::forget);
            let (send, recv) = (ots[live.party.id()], ots[live.peer()]);
            let mut made = live.source.extend(&mut live.party, &send, &recv)?;
            for (stock, sent) in live.outgoing.iter_mut().zip(&mut made.sent) {
                stock.add(std::mem::take(sent));
            }
            for (stock, received) in live.incoming.iter_mut().zip(&mut made.received) {
                stock.add(std::mem::take(received));
            }
        }
        Ok(())
    }
}
