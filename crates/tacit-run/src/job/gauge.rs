//! How far a prediction is between the steps that its observer hears of: by what this party has sent of all that it
//! will send, as its protocol declares it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tacit_protocols::Cost;

use super::host::Demanded;
use crate::Error;
use crate::instance::Instance;
use crate::predict::{of_layer, verifications};
use crate::settings::EmulatedNetwork;

/// Seconds that a byte of the busiest party and a hop take beside the network, roughly and on no machine in
/// particular.
const BYTE: f64 = 4e-9;
const HOP: f64 = 2e-5;

/// The bytes that a party has sent by the end of each part of a batch, and the seconds that went by.
pub(crate) struct Curve(Vec<(u64, f64)>);

/// How far one batch of a prediction is, and with it the prediction.
pub struct Gauge {
    pub(super) instance: Instance,
    pub(super) network: EmulatedNetwork,
    /// This party.
    pub(super) party: usize,
    pub(super) demanded: Demanded,
    /// The bytes that the party has sent, and had when the batch began.
    pub(super) sent: Arc<AtomicU64>,
    pub(super) before: u64,
    /// The first input of the batch, the one behind its last, and all.
    pub(super) inputs: [usize; 3],
}

impl Gauge {
    /// Counts the program's cost, which takes a while; [`Gauge::done`] knows nothing before.
    pub fn count(&self) -> Result<(), Error> {
        if self.demanded.curve.get().is_none() {
            let curve = self.curve()?;
            // Another thread may have been quicker.
            let _ = self.demanded.curve.set(curve);
        }
        Ok(())
    }

    /// Whether the batch is the first of its prediction.
    pub fn is_first(&self) -> bool {
        self.inputs[0] == 0
    }

    /// What part of the prediction is done, from 0 to 1, by its expected time; `None` until it is counted.
    pub fn done(&self) -> Option<f64> {
        let curve = self.demanded.curve.get()?;
        let [first, end, all] = self.inputs.map(|n| n as f64);
        let sent = self.sent.load(Ordering::Relaxed) - self.before;
        Some((first + (end - first) * curve.at(sent)) / all.max(1.0))
    }

    fn curve(&self) -> Result<Curve, Error> {
        let model = self.instance.cost()?;
        let (mut bytes, mut seconds, mut points) = (0, 0.0, Vec::new());
        let mut add = |cost: &Cost, encrypted: f64| {
            let busiest = cost.bytes.iter().copied().max().unwrap_or(0);
            bytes += cost.bytes.get(self.party).copied().unwrap_or(0);
            let here = BYTE * busiest as f64 + HOP * f64::from(cost.rounds) + 1e-9 * encrypted;
            seconds += self.network.seconds(cost.rounds, busiest) + here;
            points.push((bytes, seconds));
        };
        let Demanded { portions, .. } = &self.demanded;
        let mut portions = portions.stages().zip(portions.calls()).peekable();
        for (at, stage) in self.demanded.stages.iter().enumerate() {
            if let Some((_, calls)) = portions.next_if(|&(first, _)| first == at) {
                add(&model.offline(calls), 0.0);
                verifications(calls, &*model).for_each(|cost| add(&cost, 0.0));
            }
            let (calls, cost) = of_layer(&stage.calls, &*model)?;
            let encrypted = calls.iter().filter_map(|call| model.encrypted(call)).sum();
            add(&cost, encrypted);
        }
        Ok(Curve(points))
    }
}

impl Curve {
    /// What part of the seconds has gone by when so many bytes are sent.
    fn at(&self, sent: u64) -> f64 {
        let all = self.0.last().map_or(0.0, |&(_, seconds)| seconds);
        let next = self.0.partition_point(|&(bytes, _)| bytes <= sent);
        let before = match next {
            0 => (0, 0.0),
            _ => self.0[next - 1],
        };
        let here = match self.0.get(next) {
            Some(&(bytes, seconds)) => {
                let part = (sent - before.0) as f64 / (bytes - before.0) as f64;
                before.1 + part * (seconds - before.1)
            }
            None => all,
        };
        if all > 0.0 { here / all } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::Curve;

    #[test]
    fn time_goes_by_with_the_bytes_of_a_part() {
        let curve = Curve(vec![(10, 1.0), (10, 3.0), (30, 4.0)]);
        let at = [0, 5, 10, 20, 30, 40].map(|sent| curve.at(sent));
        assert_eq!(at, [0.0, 0.125, 0.75, 0.875, 1.0, 1.0]);
        assert_eq!(Curve(Vec::new()).at(7), 0.0);
        assert_eq!(Curve(vec![(0, 2.0)]).at(0), 1.0);
    }
}
