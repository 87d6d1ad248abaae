//! What a party sent, received and waited for, by phase, layer and peer.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// The part of a run that traffic belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Greeting, agreement and seeds.
    Setup,
    /// Making correlated randomness, before any data.
    Offline,
    /// Computing on data, with the material made before.
    Online,
}

/// Traffic and time of one party.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Traffic {
    /// Payload bytes sent.
    pub bytes_sent: u64,
    /// Payload bytes received.
    pub bytes_received: u64,
    /// Messages sent.
    pub messages_sent: u64,
    /// Messages received.
    pub messages_received: u64,
    /// Bytes of framing sent, beside `bytes_sent`; what TLS and TCP add is not counted.
    pub overhead: u64,
    /// Hops by which the longest causal path to this party grew; 0 in the traffic of one peer.
    pub rounds: u32,
    /// Wall time in seconds; 0 in the traffic of one peer.
    pub seconds: f64,
}

impl Traffic {
    fn add(&mut self, other: &Traffic) {
        self.bytes_sent += other.bytes_sent;
        self.bytes_received += other.bytes_received;
        self.messages_sent += other.messages_sent;
        self.messages_received += other.messages_received;
        self.overhead += other.overhead;
        self.rounds += other.rounds;
        self.seconds += other.seconds;
    }

    fn count_sent(&mut self, bytes: usize, overhead: usize) {
        self.bytes_sent += bytes as u64;
        self.messages_sent += 1;
        self.overhead += overhead as u64;
    }

    fn count_received(&mut self, bytes: usize) {
        self.bytes_received += bytes as u64;
        self.messages_received += 1;
    }
}

/// The layer of everything that happens in a phase before its first layer is named.
pub const NO_LAYER: &str = "-";

struct Ledger {
    /// Layers in order of first use, each with its traffic; the first is [`NO_LAYER`].
    layers: Vec<(String, Traffic)>,
    current: usize,
    peers: Vec<Traffic>,
}

impl Ledger {
    fn new(parties: usize) -> Self {
        Ledger {
            layers: vec![(NO_LAYER.to_string(), Traffic::default())],
            current: 0,
            peers: vec![Traffic::default(); parties],
        }
    }

    fn now(&mut self) -> &mut Traffic {
        &mut self.layers[self.current].1
    }
}

/// The meters of one party.
///
/// Rounds are counted by a Lamport clock: a message carries its sender's depth, and its receiver
/// is at least one deeper. So parallel messages count once, whatever the order of the calls. The
/// clock starts anew with every layer and phase, so that the rounds of a layer are the longest
/// path within it, wherever the parties stood when they entered it; what a program sends in a
/// layer it must receive in that layer.
pub struct Meter {
    ledgers: [Ledger; 3],
    phase: Phase,
    since: Instant,
    depth: u32,
    sent: Arc<AtomicU64>,
}

impl Meter {
    pub(crate) fn new(parties: usize) -> Self {
        Meter {
            ledgers: std::array::from_fn(|_| Ledger::new(parties)),
            phase: Phase::Setup,
            since: Instant::now(),
            depth: 0,
            sent: Arc::default(),
        }
    }

    /// The payload bytes sent so far, for whoever looks from another thread. It is another number after
    /// [`crate::Party::restart_meter`].
    pub fn all_sent(&self) -> Arc<AtomicU64> {
        self.sent.clone()
    }

    /// Forgets all that was counted: what follows is another run over the same links.
    pub(crate) fn restart(&mut self) {
        *self = Meter::new(self.ledgers[0].peers.len());
    }

    /// The phase that counts now.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// The layer that counts now.
    pub fn layer(&self) -> &str {
        let ledger = &self.ledgers[self.phase as usize];
        &ledger.layers[ledger.current].0
    }

    /// Everything of one phase.
    pub fn total(&self, phase: Phase) -> Traffic {
        let mut sum = Traffic::default();
        for (_, traffic) in &self.ledgers[phase as usize].layers {
            sum.add(traffic);
        }
        sum.seconds += self.running(phase);
        sum
    }

    /// The layers of one phase in order of first use. What happened before a layer was named is
    /// listed under [`NO_LAYER`] if it moved anything.
    pub fn layers(&self, phase: Phase) -> Vec<(String, Traffic)> {
        let ledger = &self.ledgers[phase as usize];
        let mut layers = ledger.layers.clone();
        layers[ledger.current].1.seconds += self.running(phase);
        let first = &layers[0].1;
        if first.messages_sent + first.messages_received == 0 {
            layers.remove(0);
        }
        layers
    }

    /// The traffic of one phase with each party, by its number; all zero with oneself.
    pub fn peers(&self, phase: Phase) -> Vec<Traffic> {
        self.ledgers[phase as usize].peers.clone()
    }

    /// Wall time in seconds spent in a layer of a phase; 0 for a layer that was never entered.
    pub fn seconds(&self, phase: Phase, layer: &str) -> f64 {
        self.layers(phase)
            .iter()
            .find(|(name, _)| name == layer)
            .map_or(0.0, |(_, t)| t.seconds)
    }

    fn running(&self, phase: Phase) -> f64 {
        if phase == self.phase {
            self.since.elapsed().as_secs_f64()
        } else {
            0.0
        }
    }

    fn stop_clock(&mut self) {
        let now = Instant::now();
        self.ledger().now().seconds += (now - self.since).as_secs_f64();
        self.since = now;
    }

    fn ledger(&mut self) -> &mut Ledger {
        &mut self.ledgers[self.phase as usize]
    }

    pub(crate) fn set_phase(&mut self, phase: Phase) {
        self.stop_clock();
        self.phase = phase;
        self.depth = 0;
    }

    pub(crate) fn set_layer(&mut self, name: &str) {
        self.stop_clock();
        self.depth = 0;
        let ledger = self.ledger();
        ledger.current = match ledger.layers.iter().position(|(known, _)| known == name) {
            Some(at) => at,
            None => {
                ledger.layers.push((name.to_string(), Traffic::default()));
                ledger.layers.len() - 1
            }
        };
    }

    pub(crate) fn depth(&self) -> u32 {
        self.depth
    }

    pub(crate) fn sent(&mut self, to: usize, bytes: usize, overhead: usize) {
        self.sent.fetch_add(bytes as u64, Ordering::Relaxed);
        let ledger = self.ledger();
        ledger.now().count_sent(bytes, overhead);
        ledger.peers[to].count_sent(bytes, overhead);
    }

    pub(crate) fn received(&mut self, from: usize, bytes: usize, depth: u32) {
        let deeper = self.depth.max(depth.saturating_add(1));
        let hops = deeper - self.depth;
        self.depth = deeper;
        let ledger = self.ledger();
        ledger.now().count_received(bytes);
        ledger.now().rounds += hops;
        ledger.peers[from].count_received(bytes);
    }
}
