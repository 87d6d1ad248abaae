//! Tells who waits for many requests at once which of them have ended.

use std::io::Write;
use std::os::unix::net::UnixStream;

use super::{Id, Queue, REMEMBERED};

/// Requests that have ended, and a socket that says so.
pub(super) struct Bell {
    rope: UnixStream,
    ended: Vec<Id>,
}

impl Bell {
    /// A bell, and the end of its socket that can be read from whenever some have ended.
    pub fn new() -> std::io::Result<(Bell, UnixStream)> {
        let (rope, heard) = UnixStream::pair()?;
        rope.set_nonblocking(true)?;
        heard.set_nonblocking(true)?;
        let ended = Vec::new();
        Ok((Bell { rope, ended }, heard))
    }

    /// Notes that a request has ended, and rings if none was noted before: once for all that end before somebody looks.
    pub fn ring(&mut self, id: Id) {
        if self.ended.is_empty() {
            // Nobody may listen any more.
            let _ = self.rope.write(&[0]);
        }
        if self.ended.len() < REMEMBERED {
            self.ended.push(id);
        }
    }

    /// What has ended since this was asked last.
    pub fn ended(&mut self) -> Vec<Id> {
        std::mem::take(&mut self.ended)
    }
}

impl Queue {
    /// The end of a socket that can be read from whenever requests have ended since [`Queue::ended`] was asked. An
    /// earlier one is closed.
    pub fn bell(&self) -> std::io::Result<UnixStream> {
        let (bell, heard) = Bell::new()?;
        self.lock().bell = Some(bell);
        Ok(heard)
    }

    /// The requests that have ended since this was asked last, as far as they are remembered; none without a bell.
    pub fn ended(&self) -> Vec<Id> {
        let mut inner = self.lock();
        inner.bell.as_mut().map(Bell::ended).unwrap_or_default()
    }
}
