//! Ctrl-C: of the whole process, seen by every wait of every party within [`POLL`].

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How often whoever waits looks for an interrupt.
pub(crate) const POLL: Duration = Duration::from_millis(50);

static RAISED: AtomicBool = AtomicBool::new(false);

/// Ends every run of this process: waits end with [`NetError::Interrupted`](crate::NetError), and
/// the peers are told, also by a party that computes and does not look.
pub fn raise() {
    RAISED.store(true, Ordering::Relaxed);
}

/// Lets runs begin again after an interrupt.
pub fn clear() {
    RAISED.store(false, Ordering::Relaxed);
}

/// Whether the process was interrupted.
pub fn raised() -> bool {
    RAISED.load(Ordering::Relaxed)
}
