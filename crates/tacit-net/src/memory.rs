//! Links between parties that are threads of one process.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::emulate::LinkModel;
use crate::frame::Session;
use crate::link::{Link, Outbound, Parcel};
use crate::party::Party;
use crate::queue::{End, Gone, Part, Queue};

/// `n` parties of one process, each linked to every other; a payload is moved, not copied.
///
/// `timeout` bounds every wait beyond the time that `model` itself takes.
pub fn mesh(n: usize, model: &LinkModel, timeout: Duration) -> Vec<Party> {
    mesh_over(n, model, timeout, |_, _, out| out)
}

/// Makes `n` linked parties as [`mesh`] does; each end that sends is replaced by what `wrap(from,
/// to, end)` returns.
pub(crate) fn mesh_over(
    n: usize,
    model: &LinkModel,
    timeout: Duration,
    wrap: impl Fn(usize, usize, Box<dyn Outbound>) -> Box<dyn Outbound>,
) -> Vec<Party> {
    // Nobody else can write into these queues, so a session has nobody to be told apart from.
    let session = Session::default();
    let queues: Vec<Vec<_>> = (0..n)
        .map(|_| (0..n).map(|_| Queue::new()).collect())
        .collect();
    (0..n)
        .map(|me| {
            let links = (0..n).map(|peer| {
                (peer != me).then(|| {
                    let out = MemoryOut {
                        queue: queues[peer][me].clone(),
                        session,
                        sequence: 0,
                    };
                    Link::new(
                        wrap(me, peer, Box::new(out)),
                        queues[me][peer].clone(),
                        session,
                        *model,
                    )
                })
            });
            Party::new(me, links.collect(), *model, timeout)
        })
        .collect()
}

pub(crate) struct MemoryOut {
    queue: Arc<Queue>,
    session: Session,
    sequence: u64,
}

impl Outbound for MemoryOut {
    fn send(&mut self, mut parcel: Parcel) -> Result<(), Gone> {
        let len = parcel.payload.len();
        let header = parcel.header(self.session, self.sequence, len, false);
        self.sequence += 1;
        let due = parcel.slot.due(len + crate::frame::overhead(len));
        let part = Part {
            header,
            payload: std::mem::take(&mut parcel.payload),
            due: Some(due),
        };
        self.queue.push(part).map(|_| ())
    }

    fn close(&mut self, _hurry: bool) {
        self.queue.end(End::Closed);
    }

    fn flushed(&mut self, _until: Instant) -> Result<(), String> {
        Ok(())
    }
}

impl Drop for MemoryOut {
    fn drop(&mut self) {
        self.close(false);
    }
}
