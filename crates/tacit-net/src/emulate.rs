//! Emulated links: a delay and a rate that every transport enforces for real.

use std::time::{Duration, Instant};

use crate::{NetError, interrupt};

/// The link between two parties: each direction has the whole rate, and half the round trip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkModel {
    /// The time of a round trip.
    pub rtt: Duration,
    /// Bits per second in each direction; unlimited if `None`.
    pub rate: Option<u64>,
}

impl LinkModel {
    /// The model that emulates nothing: no latency, no limit of the rate.
    pub const LOCAL: LinkModel = LinkModel {
        rtt: Duration::ZERO,
        rate: None,
    };
    /// The LAN of the Falcon paper: 0.2 ms round trip, 625 MB/s.
    pub const LAN: LinkModel = LinkModel {
        rtt: Duration::from_micros(200),
        rate: Some(5_000_000_000),
    };
    /// The WAN of the Falcon paper: 70 ms round trip, 40 MB/s.
    pub const WAN: LinkModel = LinkModel {
        rtt: Duration::from_millis(70),
        rate: Some(320_000_000),
    };

    /// Reads `local`, `lan`, `wan`, or a round trip in ms and a rate in Mbit/s such as
    /// `0.6ms,1000Mbps` or `0.6,1000`.
    pub fn parse(text: &str) -> Result<LinkModel, NetError> {
        let invalid = |why: &str| NetError::Invalid {
            what: format!("network '{}'", text.escape_debug()),
            why: format!(
                "{why}; give local, lan, wan, or a round trip and a rate such as 0.6ms,1000Mbps"
            ),
        };
        match text.trim().to_ascii_lowercase().as_str() {
            "local" => Ok(Self::LOCAL),
            "lan" => Ok(Self::LAN),
            "wan" => Ok(Self::WAN),
            other => {
                let (rtt, rate) = other
                    .split_once(',')
                    .ok_or_else(|| invalid("no network has this name"))?;
                let number = |text: &str, unit: &str| {
                    let text = text.trim();
                    text.strip_suffix(unit)
                        .unwrap_or(text)
                        .trim()
                        .parse::<f64>()
                        .ok()
                };
                let rtt = number(rtt, "ms")
                    .filter(|ms| (0.0..=3_600_000.0).contains(ms))
                    .ok_or_else(|| {
                        invalid("the round trip is not a number of ms from 0 to 3600000")
                    })?;
                let rate = number(rate, "mbps")
                    .filter(|mbps| (0.001..=1e9).contains(mbps))
                    .ok_or_else(|| {
                        invalid("the rate is not a number of Mbit/s from 0.001 to 1e9")
                    })?;
                Ok(LinkModel {
                    rtt: Duration::from_secs_f64(rtt / 1e3),
                    rate: Some((rate * 1e6) as u64),
                })
            }
        }
    }

    /// The time that one message of `bytes` needs from end to end.
    pub fn time(&self, bytes: usize) -> Duration {
        self.rtt / 2 + self.transfer(bytes)
    }

    fn transfer(&self, bytes: usize) -> Duration {
        match self.rate {
            None => Duration::ZERO,
            Some(rate) => {
                let nanos = bytes as u128 * 8_000_000_000 / u128::from(rate.max(1));
                Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
            }
        }
    }
}

/// The time at which the bytes of one message may arrive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    start: Instant,
    model: LinkModel,
}

impl Slot {
    /// The time at which the message's first `bytes` bytes have arrived.
    pub(crate) fn due(&self, bytes: usize) -> Instant {
        self.start + self.model.time(bytes)
    }

    /// This slot, begun later by `by`.
    pub(crate) fn delayed(self, by: Duration) -> Slot {
        Slot {
            start: self.start + by,
            ..self
        }
    }
}

/// One direction of an emulated link: messages queue for its rate one after the other, while
/// their latencies overlap.
pub(crate) struct Shaper {
    model: LinkModel,
    free: Instant,
}

impl Shaper {
    pub(crate) fn new(model: LinkModel) -> Self {
        Shaper {
            model,
            free: Instant::now(),
        }
    }

    /// Takes the next slot for a message of `bytes`, framing included.
    pub(crate) fn slot(&mut self, bytes: usize) -> Slot {
        let start = self.free.max(Instant::now());
        self.free = start + self.model.transfer(bytes);
        Slot {
            start,
            model: self.model,
        }
    }

    /// The time at which everything queued so far has arrived.
    pub(crate) fn idle(&self) -> Instant {
        self.free + self.model.rtt / 2
    }
}

/// Sleeps until `due`; returns false if an interrupt ended the sleep. It spins through the last
/// moments, because a plain sleep oversleeps by more than the latency of a LAN.
pub(crate) fn sleep_until(due: Instant) -> bool {
    const AWAKE: Duration = Duration::from_micros(100);
    loop {
        let left = due.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return true;
        }
        if interrupt::raised() {
            return false;
        }
        match left.checked_sub(AWAKE) {
            Some(asleep) if !asleep.is_zero() => std::thread::sleep(asleep.min(interrupt::POLL)),
            _ => std::thread::yield_now(),
        }
    }
}
