//! Which of the candidates is taken.

use super::super::PlanError;
use super::super::rounding::Rounding;
use super::super::trial::{Erred, TRIAL_WORK};
use super::Choice;
use super::candidate::{Candidate, are_as_few};

/// The error that is little where there is no room to spare.
pub(super) const ENOUGH: f64 = 1.0 / 64.0;
/// The error that is better borne than any doubt, and that which is better borne than more of them: inputs that were
/// not tried may err a little more, and a hundredth is warned of.
pub(super) const ENOUGH_SURE: f64 = 1.0 / 256.0;
const ENOUGH_DOUBTFUL: f64 = 1.0 / 512.0;
/// The error of a trial that tells candidates apart by chance: rounding alone answers some of its inputs.
const HOPELESS: f64 = 0.25;
/// Multiply-adds after which of bits to spare only the most that fit each range are tried.
const CHOICE_WORK: usize = 600 * TRIAL_WORK;

/// What is asked of a choice.
#[derive(Clone, Copy)]
struct Asked {
    little: f64,
    /// Whether the first of little error is taken, or that of the least.
    first: bool,
    of: Measure,
}

/// The measure of what a candidate erred, by which choices are made.
pub(super) type Measure = fn(&Erred) -> f64;

/// Measures one after the other, should every candidate err without hope by those before.
pub(super) type Measures = [Measure; 3];

/// What counts where bits cost little: the errors of all inputs.
pub(super) const OF_ALL: Measures = [
    |erred| erred.with_columns,
    |erred| erred.all,
    |erred| erred.of_samples,
];

/// What counts where fewer bits mean fewer bytes: the errors of samples, and a fifth of those of inputs unlike them.
pub(super) const OF_SAMPLES: Measures = [
    |erred| erred.of_samples.max(erred.with_columns / UNLIKE),
    |erred| erred.of_samples.max(erred.all / UNLIKE),
    |erred| erred.of_samples,
];

/// By how much more inputs unlike the samples may err: with it, an error is still less than what is warned of.
const UNLIKE: f64 = 5.0;

/// The candidate that is taken, and its error by the measure that it was taken by.
pub(super) struct Best<T> {
    pub(super) candidate: Candidate<T>,
    pub(super) error: f64,
    pub(super) of: Measure,
}

/// A candidate by its place, and its error.
type Picked = Option<(usize, f64)>;

/// How much is known of roundings that were tried. Ranges that differ may well be rounded alike.
type Known = Vec<(Rounding, Erred)>;

impl Choice<'_> {
    /// The candidate of the fewest doubts whose error is small enough, and its error; else that of the
    /// least. Of those with about as many doubts the first of little error if `first` is asked for, else that
    /// of the least. A small error among a trial's few inputs is looked for among more samples, too.
    ///
    /// Where every candidate errs without hope less counts: not the small columns of outputs, for bits that do not save
    /// one may cost the others theirs; then the samples alone, for a normalisation makes anything of an input of zeros,
    /// and which rounding makes less of it says nothing of other inputs.
    pub(super) fn best<T>(
        &self,
        mut candidates: Vec<Candidate<T>>,
        measures: Measures,
        little: f64,
        first: bool,
    ) -> Result<Best<T>, PlanError> {
        let fewest = fewest_doubts(&candidates);
        candidates.sort_by_key(|of| doubtful(of, fewest));
        let mut tried = Known::new();
        let without_columns = usize::from(!self.trial.has_columns());
        let mut best = None;
        for of in measures.into_iter().skip(without_columns) {
            let asked = Asked { little, first, of };
            best = self
                .pick(&candidates, asked, &mut tried)?
                .map(|(at, error)| (at, error, of));
            if best.is_none_or(|(_, error, _)| error <= HOPELESS) {
                break;
            }
        }
        let nothing = || PlanError::Option("there is nothing to choose from".into());
        let (at, error, of) = best.ok_or_else(nothing)?;
        Ok(Best {
            candidate: candidates.swap_remove(at),
            error,
            of,
        })
    }

    /// [`Choice::best`] by the errors that count. If the first is asked for, of a model so large that
    /// [`CHOICE_WORK`] is spent only the most bits that fit each range are tried from then on; and of ranges where more bits
    /// err too much, and fewer more, still fewer are not tried.
    fn pick<T>(
        &self,
        candidates: &[Candidate<T>],
        asked: Asked,
        tried: &mut Known,
    ) -> Result<Picked, PlanError> {
        let fewest = fewest_doubts(candidates);
        let is_enough = |picked: Picked, next: &Candidate<T>, little| {
            picked.is_some_and(|(at, error)| {
                let known = &candidates[at];
                let enough = match known.doubts.is_empty() {
                    true => ENOUGH_SURE,
                    false => ENOUGH_DOUBTFUL,
                };
                doubtful(known, fewest) < doubtful(next, fewest) && error <= enough
                    || asked.first && error <= little
            })
        };
        // The largest of many errors is larger than that of few.
        let little_of_many = asked.little.max(ENOUGH_DOUBTFUL);
        let (mut sure, mut best, mut spent) = (None, None, 0);
        let mut errors = Vec::new();
        for (at, candidate) in candidates.iter().enumerate() {
            if is_enough(best, candidate, asked.little) {
                sure = self.less(sure, best.take(), candidates, (asked.of, tried))?;
                spent += self.trial.work_of_samples(self.graph);
            }
            if is_enough(sure, candidate, little_of_many) {
                break;
            }
            let error = match tried.iter().find(|(known, _)| *known == candidate.rounding) {
                Some((_, erred)) => (asked.of)(erred),
                None if asked.first
                    && (spent > CHOICE_WORK && !candidate.has_most_bits(candidates)
                        || candidate.is_rougher(&errors, asked.little)) =>
                {
                    continue;
                }
                None => {
                    spent += self.trial.work(self.graph);
                    let erred = self.trial.error(self.graph, &candidate.rounding)?;
                    tried.push((candidate.rounding.clone(), erred));
                    (asked.of)(&erred)
                }
            };
            errors.push((candidate, error));
            if best.is_none_or(|(_, least)| error < least) {
                best = Some((at, error));
            }
        }
        self.less(sure, best, candidates, (asked.of, tried))
    }

    /// The one of two candidates that errs less. The first has been tried on more samples before, the second is now;
    /// its error is kept among those of what was `tried`.
    fn less<T>(
        &self,
        one: Picked,
        other: Picked,
        candidates: &[Candidate<T>],
        (of, tried): (Measure, &mut Known),
    ) -> Result<Picked, PlanError> {
        let Some((at, few)) = other else {
            return Ok(one);
        };
        let rounding = &candidates[at].rounding;
        let of_more = self.trial.of_samples(self.graph, rounding)?;
        let same = tried.iter_mut().filter(|(tried, _)| tried == rounding);
        same.for_each(|(_, erred)| *erred = erred.or(of_more));
        let error = few.max(of(&of_more));
        Ok(match one {
            Some((_, least)) if least <= error => one,
            _ => Some((at, error)),
        })
    }
}

fn fewest_doubts<T>(candidates: &[Candidate<T>]) -> usize {
    let doubts = candidates.iter().map(|candidate| candidate.doubts.len());
    doubts.min().unwrap_or(0)
}

/// The doubts about a candidate, none if they are about as few as the fewest.
fn doubtful<T>(of: &Candidate<T>, fewest: usize) -> usize {
    match of.doubts.len() {
        doubts if are_as_few(doubts, fewest) => 0,
        doubts => doubts,
    }
}
