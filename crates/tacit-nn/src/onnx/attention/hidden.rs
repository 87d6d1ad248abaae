//! Which keys every query leaves out, and what is added to the scores of the others.

use crate::onnx::call::{Call, Fault, bad, unsupported};
use crate::onnx::constant::{Constant, Data, bounded_len};
use crate::onnx::element::Stretched;
use crate::onnx::mask::LEAST;

/// The sizes of all scores, and how many of the keys come from a cache.
pub(super) struct Scores {
    pub items: usize,
    pub heads: usize,
    pub queries: usize,
    pub keys: usize,
    pub cached: Option<usize>,
}

/// What is done to scores before their shares are taken; nothing where it is not given.
pub(super) struct Hidden {
    /// One term for each score.
    pub terms: Option<Vec<f32>>,
    /// The scores that are left out, of lines that keep at least one.
    pub places: Option<Vec<bool>>,
    /// The scores of lines that keep none: all their shares are 0.
    pub empty: Option<Vec<bool>>,
}

impl Hidden {
    /// What a constant mask, lengths of sequences, and attributes hide that bound how far a query sees.
    pub(super) fn of(call: &Call, scores: &Scores) -> Result<Hidden, Fault> {
        let all = [scores.items, scores.heads, scores.queries, scores.keys];
        let n = bounded_len(&all)?;
        let mut terms = vec![0.0f32; n];
        let mut places = vec![false; n];
        if let Some(given) = call.optional_constant(3)? {
            let (shape, numbers) = numbers(call, given, scores.keys)?;
            let item = if call.whole { &all[..] } else { &all[1..] };
            let fits = Stretched::new(&shape, &numbers, item, 0)?;
            if fits.out != item {
                return bad(format!("its mask of the shape {shape:?} does not fit"));
            }
            for (e, (term, place)) in terms.iter_mut().zip(&mut places).enumerate() {
                let number = fits.numbers[e / fits.inner % fits.numbers.len()];
                match number <= LEAST {
                    true => *place = true,
                    false => *term = number,
                }
            }
        }
        scores.beyond(call, &mut places)?;
        Ok(scores.sorted(terms, places))
    }
}

/// The mask's shape and numbers: of truths 0 and minus infinity; from operator set 24 on what ends before
/// the keys do leaves the others out.
fn numbers(call: &Call, given: &Constant, keys: usize) -> Result<(Vec<usize>, Vec<f32>), Fault> {
    let numbers: Vec<f32> = match &given.data {
        Data::Int(keep) => keep
            .iter()
            .map(|&v| if v == 0 { f32::NEG_INFINITY } else { 0.0 })
            .collect(),
        data => data.floats().to_vec(),
    };
    if numbers.iter().any(|v| v.is_nan() || *v == f32::INFINITY) {
        return unsupported("its mask holds what is no number");
    }
    let mut shape = given.shape.clone();
    match shape.last().copied() {
        Some(known) if call.opset > 23 && (1..keys).contains(&known) => {
            if let Some(last) = shape.last_mut() {
                *last = keys;
            }
            bounded_len(&shape)?;
            let rest = vec![f32::NEG_INFINITY; keys - known];
            let rows = numbers.chunks(known);
            let padded = rows.flat_map(|row| row.iter().chain(&rest).copied());
            Ok((shape, padded.collect()))
        }
        _ => Ok((shape, numbers)),
    }
}

impl Scores {
    /// Marks the scores of keys that a query does not see from its place, and of those that are none.
    fn beyond(&self, call: &Call, places: &mut [bool]) -> Result<(), Fault> {
        let lengths = self.lengths(call)?;
        let bound = |name: &str| (call.int(name, -1) >= 0).then(|| call.int(name, -1));
        let (left, right) = (bound("left_window_size"), bound("right_window_size"));
        let causal = call.int("is_causal", 0) != 0;
        let right = if causal { Some(0) } else { right };
        let each = self.heads * self.queries * self.keys;
        for (e, place) in places.iter_mut().enumerate() {
            let length = lengths.as_ref().map(|all| all[e / each]);
            let before = match (self.cached, length) {
                (Some(cached), _) => cached as i64,
                (None, Some(length)) => length - self.queries as i64,
                (None, None) => 0,
            };
            let key = (e % self.keys) as i64;
            let own = before + (e / self.keys % self.queries) as i64;
            *place |= length.is_some_and(|length| key >= length)
                || right.is_some_and(|right| key - own > right)
                || left.is_some_and(|left| own - key > left);
        }
        Ok(())
    }

    /// How many keys of each item are no padding, where that is given.
    fn lengths(&self, call: &Call) -> Result<Option<Vec<i64>>, Fault> {
        let Some(given) = call.optional_ints(6)? else {
            return Ok(None);
        };
        let fits = |&length: &i64| (0..=self.keys as i64).contains(&length);
        if given.is_empty() || !given.iter().all(fits) {
            return bad(format!("its lengths {given:?} are not those of its keys"));
        }
        match call.whole {
            true if given.len() == self.items => Ok(Some(given.to_vec())),
            true => bad(format!("it has {} lengths", given.len())),
            false if given.iter().all(|length| *length == given[0]) => Ok(Some(vec![given[0]])),
            false => unsupported("the items of its batch have lengths of their own"),
        }
    }

    /// Terms and places, with the lines apart of which nothing is left.
    fn sorted(&self, mut terms: Vec<f32>, mut places: Vec<bool>) -> Hidden {
        let mut empty = vec![false; places.len()];
        let lines = places
            .chunks_mut(self.keys)
            .zip(empty.chunks_mut(self.keys));
        for ((places, empty), terms) in lines.zip(terms.chunks_mut(self.keys)) {
            if places.iter().all(|&hidden| hidden) {
                places.fill(false);
                terms.fill(0.0);
                empty.fill(true);
            }
        }
        Hidden {
            terms: terms.iter().any(|&term| term != 0.0).then_some(terms),
            places: places.contains(&true).then_some(places),
            empty: empty.contains(&true).then_some(empty),
        }
    }
}
