//! Requests that this party's policy did not allow, for the others to hear when they propose them.

use std::collections::VecDeque;

use super::{Id, Inner, Queue};

/// Requests that were declined, each with a code; the oldest first.
pub(super) type Declined = VecDeque<(Id, String)>;

/// How many are remembered. They stand apart from the numbers that are not taken again, which nobody can
/// have forgotten by asking for what he may not.
const REMEMBERED: usize = 1024;

/// The most letters of a code.
pub(in crate::serve) const CODE: usize = 32;

/// Whether words are a code: few small letters and hyphens.
pub(in crate::serve) fn is_code(words: &str) -> bool {
    let letters = words.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
    letters && (1..=CODE).contains(&words.len())
}

impl Queue {
    /// Notes why this party's policy does not allow a request, by a code. Words that are none are not noted: the
    /// other parties would take this one for a liar.
    pub fn decline(&self, id: Id, code: &str) {
        if !is_code(code) {
            return;
        }
        let mut inner = self.lock();
        if !inner.entries.contains_key(&id) && inner.declined(&id).is_none() {
            inner.declined.push_back((id, code.into()));
        }
        while inner.declined.len() > REMEMBERED {
            inner.declined.pop_front();
        }
        self.changed.notify_all();
    }

    /// Why this party's policy does not allow a request, by a code; `None` if it was not declined.
    pub fn declined(&self, id: &Id) -> Option<String> {
        self.lock().declined(id).map(String::from)
    }
}

impl Inner {
    /// The code by which a request was declined.
    pub fn declined(&self, id: &Id) -> Option<&str> {
        let found = self.declined.iter().find(|(known, _)| known == id);
        found.map(|(_, code)| code.as_str())
    }
}
