//! What the end of a model's file says of its opening, and allows.

use super::keys::{Keys, of_places};
use super::ranges::Bound;
use super::{Opening, PlanError, PlanOptions, Reveal, Scores};
use crate::graph::{Graph, Tail, TailFunction, len};

/// An opening with the shapes and the functions that follow from it.
pub(super) struct Opened {
    pub reveal: Reveal,
    pub scores: Option<Scores>,
    pub tail: Vec<Tail>,
    pub revealed_shape: Vec<usize>,
    pub output_shape: Vec<usize>,
}

/// The largest class that float32 numbers hold, as which results are given out.
pub(super) const MOST_CLASSES: usize = 1 << 24;

/// What is opened of the model's output: what is asked for, or what its file's last operation says.
pub(super) fn resolve(graph: &Graph, asked: Option<Reveal>) -> Result<Opened, PlanError> {
    let end = End(graph);
    let refused = |reveal: Reveal| {
        move |why: String| PlanError::Reveal {
            layer: end.layer(),
            reveal,
            why,
        }
    };
    let reveal = asked.unwrap_or_else(|| end.default());
    let found = match reveal {
        Reveal::Logits => Ok(end.logits()),
        Reveal::Probabilities => end.probabilities(),
        Reveal::TopK(k) => end.places(reveal, k),
        Reveal::Class => end.places(reveal, 1),
    };
    found.map_err(refused(reveal))
}

/// The end of a model.
#[derive(Clone, Copy)]
struct End<'a>(&'a Graph);

fn is_arg_max(tail: &Tail) -> bool {
    matches!(
        tail.function,
        TailFunction::ArgMax | TailFunction::ArgMaxLast
    )
}

fn is_softmax(tail: &Tail) -> bool {
    matches!(
        tail.function,
        TailFunction::Softmax | TailFunction::LogSoftmax
    )
}

impl<'a> End<'a> {
    /// The layer that makes the output, for messages.
    fn layer(self) -> String {
        match self.0.output.checked_sub(1) {
            Some(layer) => format!("layer '{}'", self.0.nodes[layer].name),
            None => format!("input '{}'", self.0.input_name),
        }
    }

    fn default(self) -> Reveal {
        match self.0.tail.last() {
            None => Reveal::Logits,
            Some(_) if self.0.tail.iter().any(is_arg_max) => Reveal::Class,
            Some(_) => Reveal::Probabilities,
        }
    }

    fn logits(self) -> Opened {
        let Graph {
            tail,
            revealed_shape,
            output_shape,
            ..
        } = self.0;
        let shape = match tail.is_empty() {
            true => output_shape,
            false => revealed_shape,
        };
        Opened {
            reveal: Reveal::Logits,
            scores: None,
            tail: vec![],
            revealed_shape: revealed_shape.clone(),
            output_shape: shape.clone(),
        }
    }

    fn probabilities(self) -> Result<Opened, String> {
        let Graph {
            tail,
            revealed_shape,
            output_shape,
            ..
        } = self.0;
        let functions = tail.iter().position(is_arg_max).unwrap_or(tail.len());
        if functions == 0 {
            return Err(
                "no Softmax, LogSoftmax or Sigmoid follows it in the file: export the model with one at \
                 its end, or ask for logits, top-K or class"
                    .into(),
            );
        }
        let shape = match functions == tail.len() {
            true => output_shape,
            false => revealed_shape,
        };
        let scores = is_softmax(&tail[0]).then(|| Scores::of(&tail[0]));
        Ok(Opened {
            reveal: Reveal::Probabilities,
            scores,
            tail: tail[..functions].to_vec(),
            revealed_shape: revealed_shape.clone(),
            output_shape: shape.clone(),
        })
    }

    /// The classes of the largest scores.
    fn places(self, reveal: Reveal, k: usize) -> Result<Opened, String> {
        let (scores, before) = self.scores()?;
        for function in before {
            let keeps_order = match function.function {
                TailFunction::Sigmoid => true,
                TailFunction::Softmax | TailFunction::LogSoftmax | TailFunction::UnitSum => {
                    let Scores {
                        outer, size, inner, ..
                    } = scores;
                    [function.outer, function.size, function.inner] == [outer, size, inner]
                }
                TailFunction::ArgMax | TailFunction::ArgMaxLast => false,
            };
            if !keeps_order {
                return Err(format!(
                    "the file computes {:?} between it and the classes, which can change what is \
                     largest: end the file in ArgMax alone, or ask for logits",
                    function.function
                ));
            }
        }
        if scores.size < 2 || scores.size > MOST_CLASSES {
            return Err(format!(
                "it gives {} number for each answer; classes are found among 2 to {MOST_CLASSES} \
                 numbers: ask for logits, or for probabilities where the file ends in them",
                scores.size
            ));
        }
        if k > scores.size {
            return Err(format!(
                "it tells {} classes apart: ask for top-{} at most, or for class",
                scores.size, scores.size
            ));
        }
        let given = self.0.tail.last().is_some_and(is_arg_max) && k == 1;
        let output_shape = match given {
            true => Some(self.0.output_shape.clone()),
            false => scores
                .of_shape(&self.0.output_shape, k)
                .or_else(|| scores.of_shape(&self.0.revealed_shape, k)),
        };
        let output_shape = output_shape.ok_or(
            "its classes are no axis of its own: leave the reshapes between it and the file's end out, \
             or ask for logits",
        )?;
        Ok(Opened {
            reveal,
            revealed_shape: match scores.windows() {
                1 => vec![k],
                windows => vec![windows, k],
            },
            scores: Some(scores),
            tail: vec![],
            output_shape,
        })
    }

    /// The axis of the classes, and the functions of the file before they are compared.
    fn scores(self) -> Result<(Scores, &'a [Tail]), String> {
        let (tail, shape) = (&self.0.tail, &self.0.output_shape);
        if let Some((last, before)) = tail.split_last()
            && (is_arg_max(last) || is_softmax(last))
        {
            return Ok((Scores::of(last), before));
        }
        let mut axes = (0..shape.len()).filter(|&axis| shape[axis] > 1);
        match (axes.next(), axes.next()) {
            (Some(_), Some(_)) => Err(format!(
                "it gives outputs of the shape {shape:?}, and the file does not say along which axis the \
                 classes stand: end it in ArgMax along that axis, or ask for logits"
            )),
            _ => {
                let scores = Scores {
                    outer: 1,
                    size: len(shape),
                    inner: 1,
                    last: false,
                };
                Ok((scores, tail))
            }
        }
    }
}

impl Opened {
    /// The opening at `f` fraction bits.
    pub(super) fn opening(
        &self,
        graph: &Graph,
        bounds: &[Bound],
        f: u32,
        options: &PlanOptions,
    ) -> Opening {
        let keys = match self.reveal.places() {
            Some(_) => of_places(bounds[graph.output], f, options),
            None => Keys::ALL,
        };
        Opening {
            reveal: self.reveal,
            scores: self.scores.clone(),
            keys,
        }
    }
}
