//! Waiting for a peer that takes no messages.

use std::thread;
use std::time::Instant;

use super::{ELSEWHERE, Party, link, told_elsewhere};
use crate::NetError;
use crate::interrupt::{self, POLL};
use crate::link::{Size, Trouble};
use crate::queue::NoPart;

impl Party {
    /// Waits until at most so many messages for `to` have not left this party. Whoever answers a peer again and
    /// again waits so before each answer: one that asks without end and reads nothing would fill its memory.
    pub fn wait_until_sent(
        &mut self,
        to: usize,
        step: &'static str,
        most: usize,
    ) -> Result<(), NetError> {
        let started = Instant::now();
        loop {
            let parties = self.links.len();
            let link =
                link(&mut self.links, to).ok_or(NetError::NoSuchParty { party: to, parties })?;
            if link.unsent() <= most {
                return Ok(());
            }
            let ended = link.queue.ended();
            let waited = started.elapsed();
            let late = (waited > self.timeout).then_some(NoPart::Late);
            let elsewhere = waited >= ELSEWHERE && told_elsewhere(self.id, &self.queues);
            let elsewhere = elsewhere.then_some(NoPart::Elsewhere);
            if interrupt::raised() {
                return Err(self.interrupted());
            }
            if let Some(why) = ended.map(NoPart::Ended).or(elsewhere).or(late) {
                let trouble = Trouble::Missing(why);
                return Err(self.fail(to, step, Size::Exactly(0), started, trouble));
            }
            thread::sleep(POLL);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;
    use crate::emulate::LinkModel;
    use crate::frame::Session;
    use crate::link::{Link, Outbound, Parcel};
    use crate::queue::{End, Gone, Queue};

    /// A way out with as many messages as a test says.
    struct Stuck(Arc<AtomicUsize>);

    impl Outbound for Stuck {
        fn send(&mut self, _: Parcel) -> Result<(), Gone> {
            Ok(())
        }
        fn close(&mut self, _: bool) {}
        fn unsent(&self) -> usize {
            self.0.load(Ordering::Relaxed)
        }
        fn flushed(&mut self, _: Instant) -> Result<(), String> {
            Ok(())
        }
    }

    #[test]
    fn who_reads_nothing_is_waited_for_and_given_up() {
        let model = LinkModel::LOCAL;
        let (unsent, queue) = (Arc::new(AtomicUsize::new(3)), Queue::new());
        let out = Box::new(Stuck(unsent.clone()));
        let link = Link::new(out, queue.clone(), Session::default(), model);
        let mut party = Party::new(0, vec![None, Some(link)], model, Duration::ZERO);
        let mut sent = |most| party.wait_until_sent(1, "s", most);
        assert!(sent(3).is_ok());
        assert!(matches!(sent(2), Err(NetError::PeerLost { party: 1, .. })));
        unsent.store(2, Ordering::Relaxed);
        assert!(sent(2).is_ok());
        queue.end(End::Closed);
        assert!(sent(1).is_err());
    }
}
