//! Stochastic gradient descent.

use serde::{Deserialize, Serialize};
use tacit_protocols::machine::{Erased, Handle, Machine};

use crate::{Error, FixedPoint};

/// The optimiser (as PyTorch's `SGD`): `v = momentum v + g + decay w`, `w -= rate v`, with `g` the
/// mean gradient of a mini-batch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sgd {
    /// The learning rate of the first epoch.
    pub learning_rate: f64,
    /// How much of the last step is kept.
    pub momentum: f64,
    /// How much weights are drawn to 0.
    pub weight_decay: f64,
    /// How the learning rate changes.
    pub schedule: Schedule,
}

impl Default for Sgd {
    fn default() -> Self {
        Sgd {
            learning_rate: 0.05,
            momentum: 0.0,
            weight_decay: 0.0,
            schedule: Schedule::Constant,
        }
    }
}

/// How the learning rate changes from epoch to epoch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Schedule {
    /// The rate stays as it is.
    #[default]
    Constant,
    /// The rate changes by a factor every so many epochs.
    Step {
        /// After how many epochs the rate changes, each time.
        every: usize,
        /// The factor that the rate is multiplied by.
        factor: f64,
    },
    /// The rate falls to 0 along half a cosine.
    Cosine {
        /// The epochs after which the rate is 0.
        epochs: usize,
    },
}

/// The learning rate over the batch's size, as a factor and a truncation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rate {
    factor: i64,
    trunc: u32,
}

/// Bits of the factor: with as many, a rate is wrong by 0.1 % at most.
pub(crate) const RATE_BITS: i32 = 10;
/// Learning rates are below this.
pub(crate) const LARGEST_RATE: f64 = 16.0;

/// Refuses a setting that is not from 0 to below `most`.
pub(crate) fn unit(what: &'static str, value: f64, most: f64) -> Result<(), Error> {
    match (0.0..most).contains(&value) {
        true => Ok(()),
        false => Err(Error::setting(
            what,
            format!("{value} is not between 0 and {most}"),
        )),
    }
}

impl Schedule {
    /// Refuses settings outside their ranges.
    pub(crate) fn check(&self) -> Result<(), Error> {
        match *self {
            Schedule::Step { every: 0, .. } => Err(Error::setting("schedule", "every 0 epochs")),
            Schedule::Step { factor, .. } => unit("schedule factor", factor, 16.0),
            Schedule::Cosine { epochs: 0 } => Err(Error::setting("schedule", "over 0 epochs")),
            Schedule::Cosine { .. } | Schedule::Constant => Ok(()),
        }
    }

    /// The factor of the learning rate in an epoch, from 0.
    pub(crate) fn factor(&self, epoch: usize) -> f64 {
        match *self {
            Schedule::Constant => 1.0,
            Schedule::Step { every, factor } => factor.powi((epoch / every) as i32),
            Schedule::Cosine { epochs } => {
                let part = epoch.min(epochs) as f64 / epochs as f64;
                (1.0 + (std::f64::consts::PI * part).cos()) / 2.0
            }
        }
    }
}

impl Sgd {
    /// Refuses settings outside their ranges.
    pub fn check(&self) -> Result<(), Error> {
        unit("learning_rate", self.learning_rate, LARGEST_RATE)?;
        unit("momentum", self.momentum, 1.0)?;
        unit("weight_decay", self.weight_decay, 1.0)?;
        self.schedule.check()
    }

    /// Refuses rates and decays that leave the ring, or become 0 in it, in a training of so many epochs
    /// with mini-batches of so many items.
    pub fn check_fixed(&self, fixed: FixedPoint, epochs: usize, batch: usize) -> Result<(), Error> {
        // Rates grow or fall from epoch to epoch, so these two are the largest and the smallest.
        for epoch in [0, epochs.saturating_sub(1)] {
            let rate = self.rate(epoch);
            let is = || format!("it is {rate:e} in epoch {} of {epochs}", epoch + 1);
            if !(0.0..LARGEST_RATE).contains(&rate) {
                let why = format!("{}; it must be below {LARGEST_RATE}", is());
                return Err(Error::setting("learning_rate", why));
            }
            let falls = matches!(self.schedule, Schedule::Cosine { .. }) && epoch > 0;
            if rate > 0.0 && !falls && self.step_rate(fixed, epoch, batch).factor == 0 {
                let why = format!(
                    "{}, which over a batch of {batch} becomes 0 in {} bits: raise it, or take smaller batches",
                    is(),
                    fixed.bits
                );
                return Err(Error::setting("learning_rate", why));
            }
        }
        let decay = self.weight_decay * batch as f64;
        if decay >= fixed.limit() {
            let why = format!(
                "{} times a batch of {batch} is not below {}",
                self.weight_decay,
                fixed.limit()
            );
            return Err(Error::setting("weight_decay", why));
        }
        if fixed.encode(self.momentum) as f64 >= fixed.one() {
            let why = format!(
                "{} becomes 1 with {} fraction bits, and no step would end",
                self.momentum, fixed.fraction
            );
            return Err(Error::setting("momentum", why));
        }
        for (what, value) in [("momentum", self.momentum), ("weight_decay", decay)] {
            if value > 0.0 && fixed.encode(value) == 0 {
                let why = format!("{value:e} becomes 0 with {} fraction bits", fixed.fraction);
                return Err(Error::setting(what, why));
            }
        }
        Ok(())
    }

    /// The learning rate of an epoch, from 0.
    pub fn rate(&self, epoch: usize) -> f64 {
        self.learning_rate * self.schedule.factor(epoch)
    }

    /// The items over whose number the sums of a mini-batch of `batch` are, where a whole one has `whole`: a velocity that
    /// is kept from batch to batch counts all of them as whole ones.
    pub(crate) fn counted(&self, [batch, whole]: [usize; 2]) -> usize {
        match self.momentum {
            0.0 => batch,
            _ => whole,
        }
    }

    /// The rate of an epoch over a batch's size, in so few bits that the step stays in the ring.
    pub(crate) fn step_rate(&self, fixed: FixedPoint, epoch: usize, batch: usize) -> Rate {
        let rate = self.rate(epoch) / batch as f64;
        let most = (fixed.bits - 4 - fixed.fraction) as i32;
        let trunc = RATE_BITS
            .saturating_sub(rate.log2().ceil() as i32)
            .clamp(0, most);
        Rate {
            factor: (rate * f64::from(trunc).exp2()).round() as i64,
            trunc: trunc as u32,
        }
    }

    /// One step of a parameter from the sum `g` of its gradients over a batch of `sizes[0]` items, where a whole one
    /// has `sizes[1]`; `g` has `2 f` fraction bits. Two truncations; three with momentum in a batch that is not whole.
    pub(crate) fn update(
        &self,
        machine: &mut Erased,
        fixed: FixedPoint,
        (weight, velocity): (&mut Handle, &mut Handle),
        g: &Handle,
        (epoch, sizes): (usize, [usize; 2]),
    ) -> Result<(), Error> {
        let counted = self.counted(sizes);
        let rate = self.step_rate(fixed, epoch, counted);
        let mut sum = g.clone();
        if counted != sizes[0] {
            // As many gradients as a whole batch has. There is no room for the factor beside all of the sum's bits.
            let part = machine.truncate(&sum, fixed.fraction)?;
            sum = machine.scale(&part, fixed.encode(counted as f64 / sizes[0] as f64));
        }
        for (part, of) in [
            (self.momentum, &*velocity),
            (self.weight_decay * counted as f64, &*weight),
        ] {
            if part != 0.0 {
                let scaled = machine.scale(of, fixed.encode(part));
                sum = machine.add(&sum, &scaled);
            }
        }
        *velocity = machine.truncate(&sum, fixed.fraction)?;
        let step = machine.scale(velocity, rate.factor);
        let step = machine.truncate(&step, rate.trunc)?;
        *weight = machine.sub(weight, &step);
        Ok(())
    }
}

impl Rate {
    /// The rate over the batch's size that is really used.
    pub(crate) fn value(self) -> f64 {
        self.factor as f64 / f64::from(self.trunc).exp2()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_change_the_rate() {
        let sgd = |schedule| Sgd {
            learning_rate: 0.4,
            schedule,
            ..Sgd::default()
        };
        let rates = |sgd: &Sgd| [0, 1, 2, 4].map(|epoch| sgd.rate(epoch));
        assert_eq!(rates(&sgd(Schedule::Constant)), [0.4; 4]);
        let step = Schedule::Step {
            every: 2,
            factor: 0.5,
        };
        assert_eq!(rates(&sgd(step)), [0.4, 0.4, 0.2, 0.1]);
        let cosine = rates(&sgd(Schedule::Cosine { epochs: 4 }));
        assert!((cosine[2] - 0.2).abs() < 1e-12 && cosine[3].abs() < 1e-12);
    }

    #[test]
    fn rates_are_kept_to_a_thousandth() {
        let fixed = FixedPoint::new(64, 20).expect("valid");
        for rate in [1e-4, 0.01, 0.05, 0.3, 1.0] {
            for batch in [1, 100, 128] {
                let sgd = Sgd {
                    learning_rate: rate,
                    ..Sgd::default()
                };
                let used = sgd.step_rate(fixed, 0, batch).value() * batch as f64;
                assert!((used / rate - 1.0).abs() < 1e-3, "{rate}: {used}");
            }
        }
    }

    #[test]
    fn rates_that_leave_the_ring_or_become_0_are_refused() {
        let fixed = FixedPoint::new(64, 20).expect("valid");
        let refused = |json: &str, epochs, batch| {
            let sgd: Sgd = serde_json::from_str(json).expect("reads");
            sgd.check().expect("one by one they are fine");
            let checked = sgd.check_fixed(fixed, epochs, batch);
            checked.err().map(|e| e.to_string()).unwrap_or_default()
        };
        for (json, epochs, batch, why) in [
            (r#"{"learning_rate": 1e-11}"#, 1, 128, "becomes 0"),
            (
                r#"{"learning_rate": 8, "schedule": {"type": "step", "every": 1, "factor": 4}}"#,
                2,
                1,
                "epoch 2 of 2",
            ),
            (
                r#"{"schedule": {"type": "step", "every": 1, "factor": 0.001}}"#,
                9,
                1,
                "epoch 9 of 9",
            ),
            (
                r#"{"weight_decay": 0.5}"#,
                1,
                2048,
                "weight_decay: 0.5 times",
            ),
            (
                r#"{"weight_decay": 1e-9}"#,
                1,
                1,
                "weight_decay: 1e-9 becomes 0",
            ),
            (r#"{"momentum": 1e-9}"#, 1, 1, "momentum: 1e-9 becomes 0"),
            (
                r#"{"momentum": 0.9999997}"#,
                1,
                1,
                "momentum: 0.9999997 becomes 1",
            ),
        ] {
            assert!(refused(json, epochs, batch).contains(why), "{json}: {why}");
        }
        assert_eq!(refused(r#"{"weight_decay": 0.5}"#, 1, 2047), "");
        let cosine = r#"{"schedule": {"type": "cosine", "epochs": 5}}"#;
        assert_eq!(refused(cosine, 6, 128), "", "it ends with 0");
    }

    #[test]
    fn nonsense_is_refused() {
        for (json, why) in [
            (r#"{"learning_rate": -1}"#, "learning_rate: -1"),
            (r#"{"learning_rate": 16}"#, "learning_rate: 16"),
            (r#"{"momentum": 1}"#, "momentum: 1"),
            (
                r#"{"schedule": {"type": "step", "every": 0, "factor": 0.5}}"#,
                "every 0",
            ),
        ] {
            let sgd: Sgd = serde_json::from_str(json).expect("reads");
            assert!(sgd.check().expect_err("refused").to_string().contains(why));
        }
    }
}
