//! Rehearses a prediction before it is asked for: the plan's own program, between threads without a network, on inputs
//! that are all 0. No step depends on numbers, so that it takes as long as any other.

use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tacit_protocols::machine::Call;
use tracing::dispatcher::{Dispatch, with_default};

use crate::instance::Instance;
use crate::options;
use crate::report::{PredictedCost, Report, Seconds};
use crate::speeds::multiplications;
use crate::{Compiled, Error, Progress, Session, Settings, Tensor, interrupt};

/// How many predictions are rehearsed, and after how long no further one begins: of short ones more.
const RUNS: [(usize, Duration); 2] = [(40, Duration::from_secs(1)), (4, Duration::from_secs(8))];
/// The threads answer at once, or are at work.
const TIMEOUT: Duration = Duration::from_secs(600);

/// The most that a rehearsed prediction may take.
struct Limits {
    /// Bytes that all parties send.
    bytes: u64,
    /// Bytes of memory of a process with all parties.
    memory: u64,
    /// Multiplications of matrix products and convolutions.
    products: f64,
    /// How long predictions may take, of several items and of one: those that have not ended then are given up.
    several: Duration,
    one: Duration,
}

/// What takes a machine seconds.
const MOST: Limits = Limits {
    bytes: 1_000_000_000,
    memory: 3_000_000_000,
    products: 4e9,
    several: Duration::from_secs(10),
    one: Duration::from_secs(30),
};

/// What predictions of one batch took on this machine, all parties together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rehearsal {
    /// Items of the batch.
    pub items: usize,
    /// Seconds of the first prediction's set-up, and the medians of both phases of those after it.
    pub seconds: Seconds,
}

impl Rehearsal {
    /// Reads JSON, as it was kept.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        options::read("rehearsal", text)
    }

    /// What the reports of the predictions tell together.
    fn of(items: usize, reports: &[Report]) -> Self {
        let later = &reports[1.min(reports.len() - 1)..];
        let median = |of: fn(&Report) -> f64| {
            let mut seconds: Vec<f64> = later.iter().map(of).collect();
            seconds.sort_by(f64::total_cmp);
            seconds[seconds.len() / 2]
        };
        Rehearsal {
            items,
            seconds: Seconds {
                setup: reports.first().map(|first| first.setup.seconds),
                offline: median(|report| report.offline.seconds),
                online: median(|report| report.online.seconds),
            },
        }
    }

    /// The seconds of another number of items, of which the calls by themselves take `told`, where those of this one
    /// take `here`.
    pub(crate) fn scaled(&self, here: &Seconds, told: &Seconds) -> Seconds {
        let seconds = |took: f64, here: f64, told: f64| match here > 0.0 {
            true => took * told / here,
            false => told,
        };
        Seconds {
            setup: self.seconds.setup,
            offline: seconds(self.seconds.offline, here.offline, told.offline),
            online: seconds(self.seconds.online, here.online, told.online),
        }
    }
}

/// A part of several items.
fn fewer(items: usize) -> Option<usize> {
    (items > 1).then(|| items.div_ceil(4))
}

impl Compiled {
    /// Rehearses predictions of `items` at a time, or of as many fewer as it takes seconds to; `None` where one item
    /// alone takes longer or more memory, or where zeros lead to an error: then nothing is known.
    pub fn rehearse(
        &self,
        settings: &Settings,
        items: usize,
        observe: &mut dyn FnMut(Progress) -> bool,
    ) -> Result<Option<Rehearsal>, Error> {
        self.rehearse_within(&MOST, settings, items, observe)
    }

    fn rehearse_within(
        &self,
        most: &Limits,
        settings: &Settings,
        items: usize,
        observe: &mut dyn FnMut(Progress) -> bool,
    ) -> Result<Option<Rehearsal>, Error> {
        let mut few = self.affordable(settings, items, most)?;
        while let Some(items) = few {
            tracing::info!("rehearsal with batches of {items}");
            let limit = if items == 1 { most.one } else { most.several };
            let (mut is_over, begun) = (false, Instant::now());
            let mut look = |progress: Progress| {
                is_over = begun.elapsed() > limit;
                let phase = "rehearsal";
                !is_over && observe(Progress { phase, ..progress })
            };
            // Its steps are none of a run that was asked for.
            let unlogged = Dispatch::none();
            let reports = with_default(&unlogged, || self.rehearsed(settings, items, &mut look));
            few = match reports {
                Ok(reports) => return Ok(Some(Rehearsal::of(items, &reports))),
                Err(Error::Cancelled) if is_over => fewer(items),
                Err(error) if matches!(error, Error::Cancelled) || interrupt::raised() => {
                    return Err(error);
                }
                Err(error) => {
                    tracing::warn!("the rehearsal ended: {error}; it tells no seconds");
                    None
                }
            };
        }
        Ok(None)
    }

    /// As many of `items` as take no more than `most`, found by quarters; `None` if one alone takes more.
    fn affordable(
        &self,
        settings: &Settings,
        items: usize,
        most: &Limits,
    ) -> Result<Option<usize>, Error> {
        let mut few = Some(items.max(1));
        while let Some(items) = few
            && !self.is_within(settings, items, most)?
        {
            few = fewer(items);
        }
        Ok(few)
    }

    fn is_within(&self, settings: &Settings, items: usize, most: &Limits) -> Result<bool, Error> {
        let PredictedCost {
            offline,
            online,
            memory,
            ..
        } = self.predict_cost(settings, items)?;
        let bytes = offline.bytes_sent.iter().chain(&online.bytes_sent);
        let memory = memory.map_or(0, |memory| memory.together);
        Ok(bytes.sum::<u64>() <= most.bytes
            && memory <= most.memory
            && self.products(settings, items)? <= most.products)
    }

    /// The multiplications of matrix products and convolutions.
    fn products(&self, settings: &Settings, items: usize) -> Result<f64, Error> {
        let plan = self.plan_for(settings.protocol)?;
        let instance = Instance::new(settings, Some(plan.modulus.bits()))?;
        let roles = settings.roles(instance.parties)?;
        let stages = plan.calls(items, &roles)?;
        let of = |call: &Call| match call {
            Call::Product { map, .. } => multiplications(map).iter().sum(),
            _ => 0.0,
        };
        Ok(stages.iter().flat_map(|stage| &stage.calls).map(of).sum())
    }

    fn rehearsed(
        &self,
        settings: &Settings,
        items: usize,
        observe: &mut dyn FnMut(Progress) -> bool,
    ) -> Result<Vec<Report>, Error> {
        let plan = self.plan_for(settings.protocol)?;
        let values = vec![0.0; items * plan.given_len()];
        let shape = [&[items][..], &plan.given_shape()].concat();
        let (values, shape) = (&values[..], &shape[..]);
        let settings = Settings {
            timeout: TIMEOUT,
            ..settings.clone()
        };
        let mut parties = Session::without_network(settings);
        let (mut reports, begun) = (Vec::new(), Instant::now());
        let goes_on =
            |made| made == 0 || RUNS.iter().any(|&(n, t)| made < n && begun.elapsed() < t);
        while goes_on(reports.len()) {
            let x = Tensor { values, shape };
            let outcome = parties.predict(self, x, NonZeroUsize::new(items), observe)?;
            reports.push(outcome.report);
        }
        Ok(reports)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CompileOptions;
    use std::path::Path;

    fn digits() -> Compiled {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/digits/digits.onnx");
        Compiled::of_any(&file, &CompileOptions::default(), None).expect("compiles")
    }

    fn seconds(setup: Option<f64>, offline: f64, online: f64) -> Seconds {
        Seconds {
            setup,
            offline,
            online,
        }
    }

    /// A rehearsal tells seconds under every protocol, on a network that takes no part in it, or the rehearsal would be
    /// too long; the seconds of the cost are those of the rehearsal and of the network.
    #[test]
    fn a_rehearsal_tells_seconds() {
        let model = digits();
        for protocol in crate::protocols() {
            let text = format!(
                r#"{{"protocol": "{}", "network": "10000ms,1Mbps"}}"#,
                protocol.name
            );
            let settings = Settings::from_json(&text).expect("settings");
            let found = model.rehearse(&settings, 2, &mut |_| true);
            let found = found.expect("runs").expect("is short");
            assert_eq!(found.items, 2, "{}", protocol.name);
            let took = found.seconds;
            assert!(
                took.online > 0.0 && took.setup > Some(0.0),
                "{}",
                protocol.name
            );
            let cost = model
                .predict_rehearsed(&settings, 2, &found, None)
                .expect("a cost");
            let network = cost.online.seconds;
            let expected = cost.expected.expect("seconds");
            let name = protocol.name;
            assert!(expected.online > 0.999 * network, "{name}: {expected:?}");
            assert!(expected.setup >= took.setup, "{name}: {expected:?}");
            assert_eq!(cost.computing, Some(took));
            let counted = model.predict_cost(&settings, 2).expect("a cost");
            assert_eq!((cost.online, cost.memory), (counted.online, counted.memory));
        }
    }

    #[test]
    fn what_takes_long_is_rehearsed_with_fewer_items() {
        let (model, settings) = (digits(), Settings::default());
        let cost = model.predict_cost(&settings, 9).expect("a cost");
        let bytes = cost.online.bytes_sent.iter().sum::<u64>()
            + cost.offline.bytes_sent.iter().sum::<u64>();
        let memory = cost.memory.expect("memory").together;
        let products = model.products(&settings, 9).expect("a plan");
        let within = |bytes, memory, products| {
            let most = Limits {
                bytes,
                memory,
                products,
                ..MOST
            };
            model.affordable(&settings, 36, &most).expect("a plan")
        };
        assert_eq!(within(u64::MAX, u64::MAX, f64::INFINITY), Some(36));
        assert_eq!(within(bytes, u64::MAX, f64::INFINITY), Some(9));
        assert_eq!(within(u64::MAX, u64::MAX, products), Some(9));
        assert_eq!(within(u64::MAX, memory, f64::INFINITY), Some(9));
        assert_eq!(within(1, u64::MAX, f64::INFINITY), None);
        assert_eq!(within(u64::MAX, u64::MAX, 1.0), None);
    }

    #[test]
    fn fewer_items_tell_of_more_by_the_speeds() {
        let rehearsal = Rehearsal {
            items: 1,
            seconds: seconds(Some(0.5), 2.0, 3.0),
        };
        let [here, told] = [seconds(None, 1.0, 1.0), seconds(None, 4.0, 5.0)];
        assert_eq!(
            rehearsal.scaled(&here, &told),
            seconds(Some(0.5), 8.0, 15.0)
        );
        let nothing = seconds(None, 0.0, 0.0);
        assert_eq!(
            rehearsal.scaled(&nothing, &told),
            seconds(Some(0.5), 4.0, 5.0)
        );
        let refused = digits().predict_rehearsed(&Settings::default(), 4, &rehearsal, None);
        assert!(
            refused
                .expect_err("of other items")
                .to_string()
                .contains("rehearsal")
        );
    }

    /// A rehearsal that does not end is tried with fewer items: of 36 items 9 are tried next, and so on; one alone is
    /// as long here.
    #[test]
    fn what_does_not_end_is_tried_with_fewer_items() {
        let most = Limits {
            several: Duration::ZERO,
            one: Duration::ZERO,
            ..MOST
        };
        let (model, settings) = (digits(), Settings::default());
        let rehearse = |most: &Limits| {
            let mut look = |_: Progress| true;
            model
                .rehearse_within(most, &settings, 36, &mut look)
                .expect("no error")
        };
        assert_eq!(rehearse(&most), None);
        let one = Limits {
            one: MOST.one,
            ..most
        };
        assert_eq!(rehearse(&one).map(|took| took.items), Some(1));
    }

    #[test]
    fn a_rehearsal_can_be_cancelled() {
        let cancelled = digits().rehearse(&Settings::default(), 1, &mut |_| false);
        assert!(matches!(cancelled, Err(Error::Cancelled)));
    }
}
