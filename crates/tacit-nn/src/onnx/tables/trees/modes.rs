//! The tests of branches, as comparisons that are right of every number that a plan holds.

use super::forest::{Branch, Child, Comparison, Place};
use crate::onnx::call::{Fault, bad, unsupported};

/// What a branch asks of its feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    AtMost,
    Below,
    AtLeast,
    Above,
    Equal,
    Unequal,
    /// One of several numbers.
    Member,
}

impl Mode {
    /// The mode of this name, as before operator set 5; `None` for a leaf.
    pub(super) fn named(name: &str) -> Result<Option<Mode>, Fault> {
        Ok(Some(match name {
            "BRANCH_LEQ" => Mode::AtMost,
            "BRANCH_LT" => Mode::Below,
            "BRANCH_GTE" => Mode::AtLeast,
            "BRANCH_GT" => Mode::Above,
            "BRANCH_EQ" => Mode::Equal,
            "BRANCH_NEQ" => Mode::Unequal,
            "LEAF" => return Ok(None),
            other => return bad(format!("its node mode '{other}' is not known")),
        }))
    }

    /// The mode of this number, as from operator set 5 on.
    pub(super) fn numbered(number: i64) -> Result<Mode, Fault> {
        use Mode::{Above, AtLeast, AtMost, Below, Equal, Member, Unequal};
        let all = [AtMost, Below, AtLeast, Above, Equal, Unequal, Member];
        let mode = usize::try_from(number).ok().and_then(|i| all.get(i));
        mode.copied()
            .ok_or_else(|| Fault::Bad(format!("its node mode {number} is not known")))
    }

    /// The branch of a feature that asks so of `numbers`: several of a member, else one. `tracks` says whether a missing
    /// feature leads where one does of which the answer is yes.
    pub(super) fn branch(
        self,
        place: Place,
        (feature, tracks): (i64, bool),
        numbers: &[f64],
        [yes, no]: [Child; 2],
    ) -> Result<Branch, Fault> {
        let (comparisons, told) = match (self, numbers) {
            (Mode::Member, _) => (members(place, numbers)?, true),
            (Mode::Equal | Mode::Unequal, _) => (members(place, numbers)?, self == Mode::Equal),
            (_, &[number]) => {
                let (comparison, told) = self.one(place, number)?;
                (vec![comparison], told)
            }
            _ => return bad(format!("its {place} has no threshold")),
        };
        let leads = if told { [yes, no] } else { [no, yes] };
        // NaN differs from every number, and no other comparison with it is right.
        let missing = (tracks || self == Mode::Unequal) == told;
        Ok(Branch {
            place,
            feature,
            comparisons,
            leads,
            missing,
        })
    }

    /// The comparison whose answer, or whose opposite, this is.
    fn one(self, place: Place, number: f64) -> Result<(Comparison, bool), Fault> {
        let told = matches!(self, Mode::AtMost | Mode::AtLeast);
        let at_least = matches!(self, Mode::AtLeast | Mode::Below);
        // Every number that a plan holds is on the same side of what is infinite: LightGBM writes so of columns
        // with missing values.
        if (number as f32).is_infinite() {
            let always = Comparison {
                at_least: false,
                threshold: 0.0,
                always: true,
            };
            let holds = (number > 0.0) == matches!(self, Mode::AtMost | Mode::Below);
            return Ok((always, holds));
        }
        let beyond = if at_least { number > 0.0 } else { number < 0.0 };
        // What is nearer to 0 than any number that a plan holds is told from it by strictness alone.
        if beyond && number.abs() < LEAST {
            let zero = Comparison {
                at_least: !at_least,
                threshold: 0.0,
                always: false,
            };
            return Ok((zero, !told));
        }
        let threshold = near(place, number, at_least)?;
        let comparison = Comparison {
            at_least,
            threshold,
            always: false,
        };
        Ok((comparison, told))
    }
}

/// Less than the last place of any plan.
const LEAST: f64 = 1.0 / (1u128 << 64) as f64;

/// A pair of comparisons for each number: one of both is right, or both are.
fn members(place: Place, numbers: &[f64]) -> Result<Vec<Comparison>, Fault> {
    let mut known: Vec<f64> = numbers.to_vec();
    known.sort_by(f64::total_cmp);
    known.dedup();
    let mut pairs = Vec::new();
    for number in known {
        if number != 0.0 && number.abs() < LEAST {
            return unsupported(format!(
                "its {place} asks for {number}, which no plan holds"
            ));
        }
        for at_least in [true, false] {
            let threshold = near(place, number, at_least)?;
            pairs.push(Comparison {
                at_least,
                threshold,
                always: false,
            });
        }
    }
    match pairs.is_empty() {
        true => bad(format!("its {place} asks for none of no numbers")),
        false => Ok(pairs),
    }
}

/// The least float that is at least `number`, or the largest that is at most: of floats it tells the same.
fn near(place: Place, number: f64, up: bool) -> Result<f32, Fault> {
    let nearest = number as f32;
    let float = match (up, f64::from(nearest).partial_cmp(&number)) {
        (true, Some(std::cmp::Ordering::Less)) => nearest.next_up(),
        (false, Some(std::cmp::Ordering::Greater)) => nearest.next_down(),
        _ => nearest,
    };
    match float.is_finite() {
        true => Ok(float),
        false => unsupported(format!(
            "its {place} compares with {number}; thresholds must be finite floats"
        )),
    }
}
