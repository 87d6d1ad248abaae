//! Measures how much outputs differ, so that errors can be judged beside it.

/// How much the size of the outputs counts beside how they differ: functions state relative errors of
/// 2^-10, which are 1/64 of so much.
const SIZE: f64 = 1.0 / 16.0;

/// The share that a user must hear of: a 64th of how outputs differ, 2^-10 of their size. Beyond it so many
/// units of the last place are borne, as long as they are less than such a share of the size, or where
/// outputs are all alike: these would be called rough for what no number of so few fraction bits can tell.
const ROUGH: f64 = 1.0 / 64.0;
const LAST_PLACES: f64 = 4.0;
const OF_SIZE: f64 = 1.0 / 256.0;
/// The share of answers that came, and the units of their last place: a little more than of a trial, for the
/// largest error of that is seldom theirs.
const ROUGH_ANSWERS: f64 = 1.0 / 50.0;
const PLACES_OF_ANSWERS: f64 = 8.0;
/// How much of their deviation the outputs of samples differ by, of which an error may be [`ROUGH`]: a 320th of the
/// deviation, for among many answers some err three times as much as a trial's few. Answers are like them, so
/// neither their size nor a last place excuses an error.
const OF_SAMPLES: f64 = 0.2;
/// Outputs that differ by no more of their size are alike but for float32's rounding.
const ALIKE: f64 = 1e-6;

/// Numbers that deviate by no more of their size may be float32's rounding in the layers before.
const NOISE: f64 = 1.0 / (1 << 18) as f64;

/// How much outputs differ.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spread {
    /// The largest distance of an output from their mean.
    pub farthest: f64,
    /// The largest magnitude of an output.
    largest: f64,
    /// The deviation of the outputs, if they are those of samples.
    pub deviation: Option<f64>,
}

impl Spread {
    /// The spread of outputs that are finite.
    pub fn of(outputs: &[f32]) -> Self {
        let finite = outputs.iter().filter(|v| v.is_finite());
        let finite = finite.map(|&v| f64::from(v));
        let n = finite.clone().count().max(1) as f64;
        let mean = finite.clone().sum::<f64>() / n;
        Spread {
            farthest: finite.clone().fold(0.0, |m, v| m.max((v - mean).abs())),
            largest: finite.fold(0.0, |m, v| m.max(v.abs())),
            deviation: None,
        }
    }

    /// The spread of the outputs of samples, which have a deviation unless they are alike.
    pub fn of_samples(outputs: &[f32]) -> Self {
        let spread = Spread::of(outputs);
        let finite = outputs.iter().filter(|v| v.is_finite());
        let finite = finite.map(|&v| f64::from(v));
        let n = finite.clone().count().max(1) as f64;
        let mean = finite.clone().sum::<f64>() / n;
        let variance = finite.map(|v| (v - mean) * (v - mean)).sum::<f64>() / n;
        Spread {
            deviation: (!spread.is_of_alike()).then(|| variance.sqrt()),
            ..spread
        }
    }

    /// The deviation of samples, if that is more than the noise of float32 in the layers before.
    pub fn beyond_noise(self) -> Option<f64> {
        self.deviation
            .filter(|&deviation| deviation > NOISE * self.largest)
    }

    /// How large a share an error is.
    pub fn share(self, error: f64) -> f64 {
        error / self.all().max(f64::from(f32::MIN_POSITIVE))
    }

    /// Whether the outputs do not differ.
    pub fn is_of_alike(self) -> bool {
        self.farthest <= ALIKE * self.largest
    }

    fn all(self) -> f64 {
        match self.deviation {
            Some(deviation) => OF_SAMPLES * deviation,
            None => self.farthest + SIZE * self.largest,
        }
    }

    /// Whether a user must hear of an error in outputs with such a last place.
    pub fn is_rough(self, error: f64, unit: f64) -> bool {
        let places = match self.is_of_alike() {
            false if self.deviation.is_some() => 0.0,
            true => LAST_PLACES * unit,
            false => (LAST_PLACES * unit).min(OF_SIZE * self.largest),
        };
        error > ROUGH * self.all() + places
    }

    /// Whether a user must hear of an error beside answers with such a last place.
    pub fn is_rough_for_answers(self, error: f64, unit: f64) -> bool {
        error > ROUGH_ANSWERS * self.all() + PLACES_OF_ANSWERS * unit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of outputs that hardly differ a few last places are no matter, but a hundredth of them is.
    #[test]
    fn a_few_last_places_of_equal_outputs_are_borne() {
        let is_rough = |farthest: f64, largest: f64, units: f64| {
            let unit = (-12f64).exp2();
            let spread = Spread {
                farthest,
                largest,
                deviation: None,
            };
            spread.is_rough(units * unit, unit)
        };
        // 2^-10 of 1 is a 4096th four times.
        assert!(!is_rough(0.0, 1.0, 7.9) && is_rough(0.0, 1.0, 8.1));
        assert!(!is_rough(0.25, 1.0, 23.9) && is_rough(0.25, 1.0, 24.1));
        assert!(!is_rough(0.0, 0.0, 3.9) && is_rough(0.0, 0.0, 4.1));
        // Of small outputs that differ a place is much.
        assert!(!is_rough(0.001, 0.01, 0.26) && is_rough(0.001, 0.01, 0.27));
    }

    /// A 320th of the deviation of samples' outputs is borne, however large they are; of outputs that are
    /// alike some last places.
    #[test]
    fn the_outputs_of_samples_bear_a_share_of_their_deviation() {
        let spread = Spread::of_samples(&[152.001, 151.999, 152.001, 151.999]);
        assert!(!spread.is_rough(3.1e-6, 1.0) && spread.is_rough(3.2e-6, 1e-9));
        let alike = Spread::of_samples(&[152.0; 4]);
        assert!(!alike.is_rough(0.1, 1e-9) && alike.is_rough(0.2, 1e-9));
    }

    /// Numbers around 1000 that differ by as much as float32 rounds them to are one number; those of 1e-6 that differ
    /// as much as they are large are not.
    #[test]
    fn noise_is_no_deviation() {
        let of = |samples: &[f32]| Spread::of_samples(samples).beyond_noise();
        assert_eq!(of(&[1000.0, 1000.001, 999.999]), None);
        assert!(of(&[1000.0, 1000.01, 999.99]).is_some());
        assert!(of(&[1e-6, -1e-6]).is_some());
        assert_eq!(of(&[0.0; 3]), None);
    }
}
