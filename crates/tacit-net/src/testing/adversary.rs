//! A party that cheats below serialisation: everything that it sends and hears passes through a
//! program of the test's, which may send other bytes in its place, to whom and when it likes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::emulate::{LinkModel, Shaper};
use crate::frame;
use crate::link::{Outbound, Parcel};
use crate::memory::mesh_over;
use crate::party::Party;
use crate::queue::Gone;

/// What a cheating party does with the messages of the program that it pretends to run.
pub trait Strategy: Send {
    /// Called when the program sends a message. Only what this gives to `wires` leaves the party.
    fn sends(&mut self, wires: &mut Wires, to: usize, step: &'static str, payload: Vec<u8>) {
        wires.send(to, step, payload);
    }

    /// Called when the cheater receives another party's message, before its program does.
    fn hears(&mut self, _wires: &mut Wires, _from: usize, _step: &'static str, _payload: &[u8]) {}
}

/// The cheater's links to the others, through which it can send at any time.
pub struct Wires {
    out: Vec<Option<Box<dyn Outbound>>>,
    shaper: Shaper,
    /// The depth of the program's last message.
    depth: u32,
}

impl Wires {
    /// Sends bytes as a message of `step`.
    pub fn send(&mut self, to: usize, step: &'static str, payload: Vec<u8>) {
        let parcel = Parcel {
            step,
            tag: frame::tag(step),
            depth: self.depth,
            slot: self
                .shaper
                .slot(payload.len() + frame::overhead(payload.len())),
            payload,
            farewell: false,
        };
        self.pass(to, parcel);
    }

    /// A peer that has gone needs no message.
    fn pass(&mut self, to: usize, parcel: Parcel) {
        if let Some(out) = self.out.get_mut(to).and_then(Option::as_mut) {
            let _ = out.send(parcel);
        }
    }
}

/// `n` parties over memory links of which `cheater` follows `strategy`.
pub fn mesh_against(
    n: usize,
    timeout: Duration,
    cheater: usize,
    strategy: impl Strategy + 'static,
) -> Vec<Party> {
    let shared = Arc::new(Mutex::new(Cheater {
        wires: Wires {
            out: (0..n).map(|_| None).collect(),
            shaper: Shaper::new(LinkModel::LOCAL),
            depth: 0,
        },
        strategy: Box::new(strategy),
    }));
    mesh_over(n, &LinkModel::LOCAL, timeout, |from, to, out| {
        let cheater_is = |party: usize| party == cheater;
        if cheater_is(from) {
            lock(&shared).wires.out[to] = Some(out);
            let shared = shared.clone();
            Box::new(Leaving { to, shared })
        } else if cheater_is(to) {
            let shared = shared.clone();
            Box::new(Coming { from, out, shared })
        } else {
            out
        }
    })
}

struct Cheater {
    wires: Wires,
    strategy: Box<dyn Strategy>,
}

fn lock(shared: &Mutex<Cheater>) -> MutexGuard<'_, Cheater> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A link of the cheater's program.
struct Leaving {
    to: usize,
    shared: Arc<Mutex<Cheater>>,
}

impl Outbound for Leaving {
    fn send(&mut self, mut parcel: Parcel) -> Result<(), Gone> {
        let mut cheater = lock(&self.shared);
        let Cheater { wires, strategy } = &mut *cheater;
        if parcel.farewell {
            wires.pass(self.to, parcel);
        } else {
            wires.depth = parcel.depth;
            let payload = std::mem::take(&mut parcel.payload);
            strategy.sends(wires, self.to, parcel.step, payload);
        }
        Ok(())
    }

    fn close(&mut self, hurry: bool) {
        if let Some(out) = &mut lock(&self.shared).wires.out[self.to] {
            out.close(hurry);
        }
    }

    fn flushed(&mut self, _until: Instant) -> Result<(), String> {
        Ok(())
    }
}

/// A link to the cheater.
struct Coming {
    from: usize,
    out: Box<dyn Outbound>,
    shared: Arc<Mutex<Cheater>>,
}

impl Outbound for Coming {
    fn send(&mut self, parcel: Parcel) -> Result<(), Gone> {
        if !parcel.farewell {
            let mut cheater = lock(&self.shared);
            let Cheater { wires, strategy } = &mut *cheater;
            strategy.hears(wires, self.from, parcel.step, &parcel.payload);
        }
        self.out.send(parcel)
    }

    fn close(&mut self, hurry: bool) {
        self.out.close(hurry);
    }

    fn flushed(&mut self, until: Instant) -> Result<(), String> {
        self.out.flushed(until)
    }
}
