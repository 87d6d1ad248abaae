//! Tries a plan's rounding in the clear.

use std::ops::{Range, RangeInclusive};

use super::PlanError;
use super::bounds::Inputs;
use super::ranges::Random;
use super::rounding::{Manner, Rounding, Signs};
use super::spread::Spread;
use crate::graph::{Function, Graph, Node, Op, Tail, ValueId, Weights, len};
use crate::reference::run;
use crate::tail;

/// Multiply-adds that one trial may cost.
pub(super) const TRIAL_WORK: usize = 1_000_000_000;
/// The fewest and the most items of a trial.
const TRIAL_ITEMS: RangeInclusive<usize> = 4..=64;

/// How a trial is repeated, of small models in all of these ways.
const MANNERS: [Manner; 5] = [
    Manner::ByChance,
    Manner::Down(Signs::Negative),
    Manner::Down(Signs::Positive),
    Manner::Down(Signs::Mixed),
    Manner::ByChance,
];

/// So many of them have to do for a choice.
const TO_CHOOSE: usize = 2;

/// So many values are tried one by one.
const ONE_BY_ONE: usize = 32;

/// Inputs with their outputs in float32.
struct Cases {
    x: Vec<f32>,
    exact: Vec<f32>,
}

impl Cases {
    fn new(graph: &Graph, x: Vec<f32>) -> Result<Self, PlanError> {
        let exact = run(graph, &x, |_, _| {})?;
        Ok(Cases { x, exact })
    }

    fn items(&self, graph: &Graph) -> usize {
        self.x.len() / len(&graph.input_shape).max(1)
    }

    fn of_item(&self, graph: &Graph, item: usize) -> Self {
        let one = |values: &[f32]| {
            let each = values.len() / self.items(graph).max(1);
            values[item * each..(item + 1) * each].to_vec()
        };
        Cases {
            x: one(&self.x),
            exact: one(&self.exact),
        }
    }
}

/// The inputs that plans are tried on.
pub(super) struct Trial {
    first: Cases,
    /// These and others, for the plan that is chosen.
    more: Cases,
    repeats: usize,
}

/// The largest error that a trial shows.
pub(super) struct Shown<'a> {
    /// The item that has it.
    item: usize,
    /// What the receiver computes before the error is seen.
    tail: &'a [Tail],
    pub error: f64,
    pub spread: Spread,
    /// The last place of the outputs.
    unit: f64,
}

impl Shown<'_> {
    /// Of what it is held against.
    pub(super) fn share(&self) -> f64 {
        self.spread.share(self.error)
    }

    /// Whether a user must hear of it.
    pub(super) fn is_rough(&self) -> bool {
        self.spread.is_rough(self.error, self.unit)
    }
}

impl Trial {
    pub(super) fn new(graph: &Graph, inputs: &Inputs) -> Result<Self, PlanError> {
        let items = affordable(graph, TRIAL_WORK, TRIAL_ITEMS);
        let first = Cases::new(graph, inputs.trial(len(&graph.input_shape), items))?;
        let more = [&first.x[..], &inputs.others(graph, items)?].concat();
        Ok(Trial {
            repeats: affordable(graph, TRIAL_WORK / items, 1..=MANNERS.len()),
            first,
            more: Cases::new(graph, more)?,
        })
    }

    /// The largest error of an output when everything is rounded as planned, of what it is held against.
    /// Deterministic, so that every plan of one model is the same.
    pub(super) fn error(&self, graph: &Graph, rounding: &Rounding) -> Result<f64, PlanError> {
        let repeats = self.repeats.min(TO_CHOOSE);
        let sight = (self.first.items(graph), &[][..]);
        Ok(looked(graph, rounding, &self.first, &[sight], repeats)?[0].share())
    }

    /// The same of more inputs, too: of the outputs, and of what the receiver computes of them, but for
    /// places of the largest: an error that is little among numbers up to 100 is much in a softmax of
    /// them. The largest share, and the largest error of an output.
    pub(super) fn shown<'a>(
        &self,
        graph: &'a Graph,
        rounding: &Rounding,
    ) -> Result<(Shown<'a>, f64), PlanError> {
        let steps = graph
            .tail
            .iter()
            .position(|step| step.function.is_arg_max());
        let tail = &graph.tail[..steps.unwrap_or(graph.tail.len())];
        let [few, all] = [&self.first, &self.more].map(|cases| cases.items(graph));
        let sights = [
            (all, &tail[..0]),
            (few, &tail[..0]),
            (few, tail),
            (all, tail),
        ];
        let shown = looked(graph, rounding, &self.more, &sights, self.repeats)?;
        let error = shown[0].error;
        let larger = |a: Shown<'a>, b: Shown<'a>| if b.share() > a.share() { b } else { a };
        let worst = shown.into_iter().reduce(larger);
        Ok((worst.expect("there are four"), error))
    }

    /// The value whose rounding alone disturbs most the item of which an error is shown: of many values
    /// one of the half that does more, again and again.
    pub(super) fn worst(
        &self,
        graph: &Graph,
        rounding: &Rounding,
        shown: &Shown,
    ) -> Result<ValueId, PlanError> {
        let one = self.more.of_item(graph, shown.item);
        let error = |ids: Range<ValueId>| {
            let alone = rounding.alone(&ids);
            let sight = (1, shown.tail);
            Ok::<_, PlanError>(looked(graph, &alone, &one, &[sight], self.repeats)?[0].error)
        };
        let mut ids = 0..graph.nodes.len() + 1;
        while ids.len() > ONE_BY_ONE {
            let middle = ids.start + ids.len() / 2;
            let halves = [ids.start..middle, middle..ids.end];
            let [first, second] = [error(halves[0].clone())?, error(halves[1].clone())?];
            ids = halves[usize::from(second > first)].clone();
        }
        let mut worst = (0, f64::NEG_INFINITY);
        for id in ids {
            let alone = error(id..id + 1)?;
            if alone > worst.1 {
                worst = (id, alone);
            }
        }
        Ok(worst.0)
    }
}

/// The largest errors when all is rounded, of each sight: of so many of the first items, after these steps
/// of the receiver's.
fn looked<'a>(
    graph: &Graph,
    rounding: &Rounding,
    cases: &Cases,
    sights: &[(usize, &'a [Tail])],
    repeats: usize,
) -> Result<Vec<Shown<'a>>, PlanError> {
    let all = cases.items(graph).max(1);
    let seen = |outputs: &[f32], (items, tail): (usize, &[Tail])| {
        let mut some = outputs[..outputs.len() / all * items].to_vec();
        tail::apply(tail, &mut some);
        some
    };
    let exact: Vec<Vec<f32>> = sights.iter().map(|&s| seen(&cases.exact, s)).collect();
    let mut largest = vec![(0.0, 0); sights.len()];
    rounded_runs(graph, rounding, &cases.x, repeats, |outputs| {
        for ((&sight, exact), largest) in sights.iter().zip(&exact).zip(&mut largest) {
            let found = farthest(&seen(outputs, sight), exact);
            if found.0 > largest.0 {
                *largest = found;
            }
        }
    })?;
    let shown = sights.iter().zip(&exact).zip(&largest);
    let shown = shown.map(|((&(items, tail), exact), &(error, at))| Shown {
        item: at * items / exact.len().max(1),
        tail,
        error,
        spread: Spread::of(exact),
        unit: (-f64::from(rounding.fractions[graph.output])).exp2(),
    });
    Ok(shown.collect())
}

/// Runs inputs `x` as rounded, in several manners, and gives away the outputs of each.
fn rounded_runs(
    graph: &Graph,
    rounding: &Rounding,
    x: &[f32],
    repeats: usize,
    mut see: impl FnMut(&[f32]),
) -> Result<(), PlanError> {
    let rounded = rounded_weights(graph, rounding);
    let means = rounded_means(graph, rounding);
    let inverted = inverted(graph);
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    // Of a large model one has to do.
    let first = usize::from(rounding.exact);
    for manner in MANNERS.iter().cycle().skip(first).take(repeats) {
        let output = run(&rounded, x, |id, values| {
            let unit = f64::from(rounding.fractions[id]).exp2();
            let mean = id.checked_sub(1).map_or(&[][..], |layer| &means[layer]);
            for (i, v) in values.iter_mut().enumerate() {
                let factor = mean.get(i % mean.len().max(1)).unwrap_or(&1.0);
                let exact = f64::from(*v) * factor * unit;
                let units = rounding.round(id, exact, unit, *manner, &mut random);
                let units = if inverted[id] { units.max(1.0) } else { units };
                *v = (units / unit) as f32;
            }
        })?;
        see(&output);
    }
    Ok(())
}

/// The values of which a function takes the inverse: of less than their last place it is bounded.
pub(super) fn inverted(graph: &Graph) -> Vec<bool> {
    let mut inverted = vec![false; graph.nodes.len() + 1];
    for node in &graph.nodes {
        if let Op::Function {
            function: Function::Reciprocal | Function::InverseSqrt,
            ..
        } = node.op
        {
            inverted[node.inputs[0]] = true;
        }
    }
    inverted
}

/// How far an output is from the exact one at most, and which. Where float32 itself has no finite answer
/// there is nothing to compare.
fn farthest(outputs: &[f32], exact: &[f32]) -> (f64, usize) {
    let error = |(found, exact): (&f32, &f32)| match (found.is_finite(), exact.is_finite()) {
        (_, false) => 0.0,
        (true, true) => f64::from(found - exact).abs(),
        (false, true) => f64::INFINITY,
    };
    let errors = outputs.iter().zip(exact).map(error).enumerate();
    errors.fold(
        (0.0, 0),
        |most, (i, error)| if error > most.0 { (error, i) } else { most },
    )
}

/// By what each element of a mean is off, for its public factor is rounded; nothing of other layers.
fn rounded_means(graph: &Graph, rounding: &Rounding) -> Vec<Vec<f64>> {
    let of = |(node, &bits): (&Node, &u32)| match &node.op {
        Op::AveragePool(pool) => {
            let unit = f64::from(bits).exp2();
            let off = |size: f64| (unit / size).round() / unit * size;
            (0..pool.out_len())
                .map(|e| off(pool.divisor(e) as f64))
                .collect()
        }
        _ => Vec::new(),
    };
    graph.nodes.iter().zip(&rounding.weights).map(of).collect()
}

/// The items of a trial that costs `work` multiply-adds, within bounds.
pub(super) fn affordable(graph: &Graph, work: usize, bounds: RangeInclusive<usize>) -> usize {
    let of_op = |op: &Op| match op {
        Op::Conv(c) => c.geometry.out_len() * c.geometry.taps(),
        Op::Linear(l) => l.rows * l.k * l.n,
        _ => 0,
    };
    let per_item: usize = graph.nodes.iter().map(|n| of_op(&n.op)).sum();
    (work / per_item.max(1)).clamp(*bounds.start(), *bounds.end())
}

fn rounded_weights(graph: &Graph, rounding: &Rounding) -> Graph {
    let mut graph = graph.clone();
    for (i, node) in graph.nodes.iter_mut().enumerate() {
        let unit = f64::from(rounding.weights[i]).exp2();
        let round = |values: &mut Weights, unit: f64| {
            let rounded = |v: &f32| ((f64::from(*v) * unit).round() / unit) as f32;
            *values = values.iter().map(rounded).collect();
        };
        match &mut node.op {
            Op::Conv(c) => round(&mut c.weight, unit),
            Op::Linear(l) => round(&mut l.weight, unit),
            Op::Affine(a) => {
                round(&mut a.scale, unit);
                round(&mut a.shift, f64::from(rounding.fractions[i + 1]).exp2());
            }
            _ => {}
        }
    }
    graph
}

#[cfg(test)]
mod tests {
    use super::super::PlanOptions;
    use super::super::graphs::{graph, node, pool};
    use super::super::rounding::Step;
    use super::*;
    use crate::graph::{Affine, TailFunction};

    fn affine(channels: usize) -> Node {
        let affine = Affine {
            inner: 1,
            scale: vec![1.0; channels].into(),
            shift: Weights::default(),
        };
        node(Op::Affine(affine), &[0], &[channels])
    }

    /// Of so many layers, all with few fraction bits.
    fn rounding(layers: usize) -> Rounding {
        Rounding {
            fractions: vec![4; layers + 1],
            weights: vec![12; layers],
            steps: vec![Step::Truncated; layers + 1],
            field: false,
            exact: false,
        }
    }

    /// Of a hundred layers, which are halved until one by one is quick, the one of the fewest bits.
    #[test]
    fn the_layer_that_disturbs_most_is_found() {
        let mut nodes: Vec<Node> = (0..100).map(|_| affine(3)).collect();
        for (at, node) in nodes.iter_mut().enumerate() {
            node.inputs = vec![at];
        }
        let graph = graph(&[3], nodes);
        let options = PlanOptions::default();
        let inputs = Inputs::new(&graph, &options).unwrap();
        let trial = Trial::new(&graph, &inputs).unwrap();
        for rough in [0, 1, 49, 50, 51, 99, 100] {
            let mut rounding = rounding(100);
            rounding.fractions.fill(12);
            rounding.fractions[rough] = 4;
            let (shown, _) = trial.shown(&graph, &rounding).unwrap();
            let worst = trial.worst(&graph, &rounding, &shown).unwrap();
            assert_eq!(worst, rough, "an error of {}", shown.error);
        }
    }

    /// Two outputs that are nearly as large, beside an item whose outputs differ by far more: the error
    /// is judged by the first item alone, and by a softmax of it if the receiver computes one.
    #[test]
    fn an_error_is_judged_by_what_the_receiver_makes_of_it() {
        let graph = graph(&[2], vec![affine(2)]);
        let rounding = rounding(1);
        let cases = |items: &[f32]| Cases::new(&graph, items.to_vec()).unwrap();
        let trial = Trial {
            first: cases(&[40.03, 40.53]),
            more: cases(&[40.03, 40.53, 0.03, 60.03]),
            repeats: 5,
        };
        let (before, error) = trial.shown(&graph, &rounding).unwrap();
        assert!(before.item == 0 && before.spread.farthest < 1.0);
        let tail = vec![Tail {
            function: TailFunction::Softmax,
            outer: 1,
            size: 2,
            inner: 1,
        }];
        let with_softmax = Graph {
            tail,
            ..graph.clone()
        };
        let (after, same) = trial.shown(&with_softmax, &rounding).unwrap();
        assert!(after.tail.len() == 1 && after.share() > before.share());
        assert!(
            after.error < error && same == error,
            "an output's is stated"
        );
    }

    /// A third in 4 bits is 5/16, so a mean of three is 15/16 of what it should be; of four it is exact.
    #[test]
    fn the_factors_of_means_are_rounded() {
        let mean = |size| {
            let pool = pool(1, [1, size], [1, size]);
            node(Op::AveragePool(pool), &[0], &[1])
        };
        let graph = graph(&[3], vec![mean(3), mean(4)]);
        let mut rounding = rounding(2);
        rounding.weights.fill(4);
        assert_eq!(
            rounded_means(&graph, &rounding),
            [vec![15.0 / 16.0], vec![1.0]]
        );
    }
}
