//! Compares the error of a plan's rounding with the answers of a run.

use super::Plan;
use super::end::Opened;
use super::spread::Spread;
use super::told::Told;
use crate::graph::{Output, len};

impl Plan {
    /// A warning if answers, of one item or of several, differ by little beside the error that the plan's
    /// trial showed: a plan is judged by the inputs of its trial, whose outputs may differ by far more.
    /// `None` for places of the largest, for a single number, and for a plan that came from another party,
    /// which has no error.
    pub fn doubt_of(&self, answers: &[f32]) -> Option<String> {
        let mut before = 0;
        let item = self.outputs_len().max(1);
        self.outputs.iter().enumerate().find_map(|(i, output)| {
            let range = before..before + len(&output.shape);
            before = range.end;
            let rows = answers.chunks_exact(item);
            let own: Vec<f32> = rows.flat_map(|row| &row[range.clone()]).copied().collect();
            let error = self.answers_errors.get(i).copied().unwrap_or(0.0);
            self.doubt_of_output(output, error, &own)
        })
    }

    fn doubt_of_output(&self, output: &Output, error: f64, answers: &[f32]) -> Option<String> {
        let places = self.opening.reveal.places().is_some() || output.is_places();
        if places || answers.len() < 2 {
            return None;
        }
        let spread = Spread::of(answers);
        let unit = (-f64::from(self.number(self.output).fraction)).exp2();
        let of = match self.outputs.len() {
            1 => String::new(),
            _ => format!(" of '{}'", output.name),
        };
        spread.is_rough_for_answers(error, unit).then(|| {
            let [error, farthest] = [error, spread.farthest].map(Told);
            format!(
                "these answers{of} differ by up to {farthest} from their mean, and rounding disturbed those of the \
                 plan's trial by up to {error}: compute with more fraction bits, or over a wider ring or field"
            )
        })
    }
}

/// The error of the answers of every output: of the output itself, or of what the receiver computes from
/// it.
pub(super) fn errors(opened: &Opened, shown: &[[f64; 2]]) -> Vec<f64> {
    let error = |(output, &[given, computed]): (&Output, &[f64; 2])| match output.tail.is_empty() {
        true => given,
        false => computed,
    };
    opened.outputs.iter().zip(shown).map(error).collect()
}

#[cfg(test)]
mod tests {
    use super::super::graphs::{graph, node};
    use super::super::{PlanOptions, plan};
    use super::*;
    use crate::graph::{Affine, Op, Tail, TailFunction};

    /// A plan of three numbers that are opened as `functions` leave them.
    fn planned(functions: &[TailFunction]) -> Plan {
        let affine = Affine {
            inner: 1,
            scale: vec![1.0; 3].into(),
            shift: Default::default(),
        };
        let step = |&function: &TailFunction| Tail {
            function,
            outer: 1,
            size: 3,
            inner: 1,
        };
        let mut graph = graph(&[3], vec![node(Op::Affine(affine), &[0], &[3])]);
        graph.outputs[0].tail = functions.iter().map(step).collect();
        let options = PlanOptions {
            fraction_bits: Some(6),
            ..PlanOptions::default()
        };
        plan(&graph, &options).unwrap()
    }

    /// An error of 0.15 beside answers that differ by 10 and by a tenth.
    #[test]
    fn answers_that_hardly_differ_are_doubted() {
        let mut plan = planned(&[]);
        assert_eq!(plan.error, 4.0 * plan.answers_errors[0]);
        plan.answers_errors[0] = 0.15;
        assert!(plan.doubt_of(&[10.0, 0.0, -10.0]).is_none());
        assert!(plan.doubt_of(&[0.1, 0.0, -0.1]).is_some());
        assert!(plan.doubt_of(&[1.0; 6]).is_some());
        assert!(plan.doubt_of(&[1.0]).is_none(), "nothing to differ from");
        plan.answers_errors[0] = 0.01;
        assert!(plan.doubt_of(&[0.1, 0.0, -0.1]).is_none());
    }

    /// The error of probabilities is their own, not that of the logits.
    #[test]
    fn what_the_receiver_computes_has_an_error_of_its_own() {
        let plan = planned(&[TailFunction::Sigmoid]);
        assert!(plan.answers_errors[0] < plan.error / 8.0, "{plan:?}");
    }

    /// Places tell nothing of how near the next one was.
    #[test]
    fn places_are_not_doubted() {
        let mut plan = planned(&[TailFunction::ArgMax]);
        plan.answers_errors[0] = 100.0;
        assert!(plan.doubt_of(&[1.0, 1.0]).is_none());
    }
}
