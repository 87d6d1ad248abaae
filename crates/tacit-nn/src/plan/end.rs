//! Decides what of a model's output is opened: what is asked for, or what the end of its file says.

mod several;

use super::keys::{Keys, of_places};
use super::ranges::Bound;
use super::{Opening, PlanError, PlanOptions, Reveal, Scores};
use crate::graph::{Graph, Output, Tail, TailFunction, len};

/// An opening with the shapes and the functions of the outputs that follow from it.
pub(super) struct Opened {
    pub reveal: Reveal,
    pub scores: Vec<Scores>,
    pub outputs: Vec<Output>,
}

/// The largest class that float32 numbers hold, as which results are given out.
pub(super) const MOST_CLASSES: usize = 1 << 24;

/// What is opened of the model's outputs: what is asked for, or what its file's last operations say.
pub(super) fn resolve(graph: &Graph, asked: Option<Reveal>) -> Result<Opened, PlanError> {
    let (layer, found) = match graph.outputs.as_slice() {
        [output] => {
            let end = End { graph, output };
            (end.layer(), end.opened(asked.unwrap_or(end.default())))
        }
        outputs => (several::layer(outputs), several::opened(outputs, asked)),
    };
    found.map_err(|(reveal, why)| PlanError::Reveal { layer, reveal, why })
}

/// The end of a model of one output.
#[derive(Clone, Copy)]
struct End<'a> {
    graph: &'a Graph,
    output: &'a Output,
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
        match self.graph.output.checked_sub(1) {
            Some(layer) => format!("layer '{}'", self.graph.nodes[layer].name),
            None => self.graph.inputs_name(),
        }
    }

    fn default(self) -> Reveal {
        match self.output.tail.last() {
            None => Reveal::Logits,
            Some(_) if self.output.is_places() => Reveal::Class,
            Some(_) => Reveal::Probabilities,
        }
    }

    /// What is opened, or what stands in the way of it.
    fn opened(self, reveal: Reveal) -> Result<Opened, (Reveal, String)> {
        let found = match reveal {
            Reveal::Logits => Ok((vec![], logits(self.output))),
            Reveal::Probabilities => self.probabilities(),
            Reveal::TopK(k) => self.places(k),
            Reveal::Class => self.places(1),
        };
        let (scores, output) = found.map_err(|why| (reveal, why))?;
        Ok(Opened {
            reveal,
            scores,
            outputs: vec![output],
        })
    }

    fn probabilities(self) -> Result<(Vec<Scores>, Output), String> {
        let tail = &self.output.tail;
        let functions = tail.iter().position(|step| step.function.is_arg_max());
        let functions = functions.unwrap_or(tail.len());
        if functions == 0 {
            return Err(
                "no Softmax, LogSoftmax or Sigmoid follows it in the file: export the model with one at \
                 its end, or ask for logits, top-K or class"
                    .into(),
            );
        }
        let scores = is_softmax(&tail[0]).then(|| Scores::of(0, &tail[0]));
        Ok((
            Vec::from_iter(scores),
            match functions == tail.len() {
                true => self.output.clone(),
                false => Output {
                    tail: tail[..functions].to_vec(),
                    ..logits(self.output)
                },
            },
        ))
    }

    /// The classes of the largest scores.
    fn places(self, k: usize) -> Result<(Vec<Scores>, Output), String> {
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
        let output = self.output;
        let given = output.is_places() && k == 1;
        let shape = match given {
            true => Some(output.shape.clone()),
            false => scores
                .of_shape(&output.shape, k)
                .or_else(|| scores.of_shape(&output.revealed_shape, k)),
        };
        let shape = shape.ok_or(
            "its classes are no axis of its own: leave the reshapes between it and the file's end out, \
             or ask for logits",
        )?;
        let revealed_shape = match scores.windows() {
            1 => vec![k],
            windows => vec![windows, k],
        };
        let places = Output {
            revealed_shape,
            tail: vec![],
            shape,
            batch: 0,
            ..output.clone()
        };
        Ok((vec![scores], places))
    }

    /// The axis of the classes, and the functions of the file before they are compared.
    fn scores(self) -> Result<(Scores, &'a [Tail]), String> {
        let (tail, shape) = (&self.output.tail, &self.output.shape);
        if let Some((last, before)) = tail.split_last()
            && (last.function.is_arg_max() || is_softmax(last))
        {
            return Ok((Scores::of(0, last), before));
        }
        let mut axes = (0..shape.len()).filter(|&axis| shape[axis] > 1);
        match (axes.next(), axes.next()) {
            (Some(_), Some(_)) => Err(format!(
                "it gives outputs of the shape {shape:?}, and the file does not say along which axis the \
                 classes stand: end it in ArgMax along that axis, or ask for logits"
            )),
            _ => {
                let scores = Scores {
                    start: 0,
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

/// An output before any function that ends the file.
fn logits(output: &Output) -> Output {
    let shape = match output.tail.is_empty() {
        true => &output.shape,
        false => &output.revealed_shape,
    };
    Output {
        tail: vec![],
        shape: shape.clone(),
        classes: None,
        ..output.clone()
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
