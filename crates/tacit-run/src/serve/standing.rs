//! What a service is doing, counted over all of its lives.

use serde::Serialize;
use serde_json::json;
use tacit_net::{Party, Phase};

use super::queue::Queue;
use crate::totals::Metered;

/// What a service is doing.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Standing {
    pub state: &'static str,
    pub why: Option<String>,
    pub suspects: Vec<usize>,
    pub digest: Option<String>,
    pub commitment: Option<String>,
    pub session: Option<String>,
    pub lives: u64,
    pub batches: u64,
    pub items: u64,
    pub online_seconds: f64,
    pub sent: u64,
    pub rounds: u64,
    pub pool: usize,
    pub offline_seconds: f64,
}

impl Standing {
    /// Counts a batch of so many items, or material of which so much lies ready now, by the party's meter.
    pub fn count(&mut self, party: &Party, items: usize, ready: usize) {
        let [offline, online] = [Phase::Offline, Phase::Online].map(|p| Metered::phase(party, p));
        self.batches += u64::from(items > 0);
        self.items += items as u64;
        self.pool = ready;
        self.offline_seconds += offline.seconds;
        self.online_seconds += online.seconds;
        self.sent += online.bytes + offline.bytes;
        self.rounds += u64::from(online.rounds + offline.rounds);
    }

    /// All of it beside the queue's levels, as JSON.
    pub fn to_json(&self, queue: &Queue) -> String {
        let (waiting, items, running, counts) = queue.levels();
        let count = |what| counts.get(what).copied().unwrap_or(0);
        let not = ["answered", "busy"];
        let refused: u64 = (counts.iter().filter(|(what, _)| !not.contains(what)))
            .map(|(_, n)| n)
            .sum();
        let mut all = json!(self);
        let levels = json!({"waiting": waiting, "waiting_items": items, "running": running,
            "answered": count("answered"), "busy": count("busy"), "refused": refused, "by_code": counts});
        if let (Some(all), Some(levels)) = (all.as_object_mut(), levels.as_object()) {
            all.extend(levels.clone());
        }
        all.to_string()
    }
}
