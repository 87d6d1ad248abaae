use super::super::PlanOptions;
use super::super::graphs::{graph, node};
use super::super::rounding::Step;
use super::*;
use crate::graph::{Affine, Tail, TailFunction, Weights};

fn affine(channels: usize) -> Node {
    let affine = Affine {
        inner: 1,
        scale: vec![1.0; channels].into(),
        shift: Weights::default(),
    };
    node(Op::Affine(affine), &[0], &[channels])
}

/// A rounding of a graph of so many layers, all with few fraction bits.
fn rounding(layers: usize) -> Rounding {
    Rounding {
        fractions: vec![4; layers + 1],
        weights: vec![12; layers],
        steps: vec![Step::Truncated(2); layers + 1],
        field: None,
        exact: false,
        ranks: None,
    }
}

/// A trial of these inputs in all manners, so many of which a plan is chosen by and none is called a sample.
fn trial(graph: &Graph, first: usize, all: &[f32]) -> Trial {
    Trial {
        small: vec![vec![]; graph.outputs.len()],
        cases: Cases::new(graph, all.to_vec()).unwrap(),
        first,
        samples: 0,
        sampled: None,
        repeats: MANNERS.len(),
        last: RefCell::default(),
    }
}

/// A trial of these inputs, and of more samples if there are any.
pub(in crate::plan) fn trial_of(graph: &Graph, first: &[f32], sampled: Option<&[f32]>) -> Trial {
    let sampled = sampled.map(|items| Cases::new(graph, items.to_vec()).unwrap());
    Trial {
        sampled,
        ..trial(graph, first.len() / graph.given_len(), first)
    }
}

/// A trial of which so many of the first inputs are samples.
pub(in crate::plan) fn with_samples(trial: Trial, samples: usize) -> Trial {
    Trial { samples, ..trial }
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
    let trial = Trial::new(&graph, &inputs, true).unwrap();
    for rough in [0, 1, 49, 50, 51, 99, 100] {
        let mut rounding = rounding(100);
        rounding.fractions.fill(12);
        rounding.fractions[rough] = 4;
        let Tried { shown, .. } = trial.shown(&graph, &rounding, false).unwrap();
        let worst = shown.worst(&graph, &rounding).unwrap();
        assert_eq!(worst, rough, "an error of {}", shown.error);
    }
}

/// Two outputs that are nearly as large, beside an item whose outputs differ by far more: the error
/// is judged by the first item alone, and by a softmax of it if the receiver computes one.
#[test]
fn an_error_is_judged_by_what_the_receiver_makes_of_it() {
    let graph = graph(&[2], vec![affine(2)]);
    let rounding = rounding(1);
    let trial = trial(&graph, 1, &[40.03, 40.53, 0.03, 60.03]);
    let of_outputs = trial.shown(&graph, &rounding, false).unwrap();
    let (before, error) = (of_outputs.shown, of_outputs.errors[0][0]);
    assert!(before.item == 0 && before.spread.farthest < 1.0);
    let tail = vec![Tail {
        function: TailFunction::Softmax,
        outer: 1,
        size: 2,
        inner: 1,
    }];
    let mut with_softmax = graph.clone();
    with_softmax.outputs[0].tail = tail;
    let of_softmax = trial.shown(&with_softmax, &rounding, false).unwrap();
    let (after, [same, of_softmax]) = (of_softmax.shown, of_softmax.errors[0]);
    assert!(after.sight.tail.len() == 1 && after.share() > before.share());
    assert!(
        after.error < error && same == error,
        "an output's is stated"
    );
    assert_eq!(of_softmax, after.error);
}

/// Bits are chosen by the probabilities of a softmax, too: of many classes, of which one in a hundred is likely, an
/// error that is little among the scores is much among them. Of a sigmoid the scores say enough.
#[test]
fn bits_are_chosen_by_the_probabilities_of_many_classes() {
    const CLASSES: usize = 500;
    let graph = graph(&[CLASSES], vec![affine(CLASSES)]);
    let scores: Vec<f32> = (0..CLASSES)
        .map(|i| if i % 100 == 0 { 20.03 } else { i as f32 / 50.0 })
        .collect();
    let trial = with_samples(trial(&graph, 1, &scores), 1);
    let error = |functions: &[TailFunction]| {
        let step = |&function| Tail {
            function,
            outer: 1,
            size: CLASSES,
            inner: 1,
        };
        let mut graph = graph.clone();
        graph.outputs[0].tail = functions.iter().map(step).collect();
        trial.error(&graph, &rounding(1)).unwrap().of_samples
    };
    let of_scores = error(&[]);
    let of_softmax = error(&[TailFunction::Softmax]);
    assert!(of_softmax > 2.0 * of_scores, "{of_softmax} {of_scores}");
    assert_eq!(error(&[TailFunction::Sigmoid]), of_scores);
}

/// Of outputs that are all alike an error is a large share, and may be no more than a last place; that of
/// others is the one to hear of.
#[test]
fn what_a_user_must_hear_of_goes_first() {
    let graph = graph(&[1], vec![affine(1)]);
    let trial = trial(&graph, 2, &[1.07, 1.07, 0.06, 2.12]);
    let Tried { shown, .. } = trial.shown(&graph, &rounding(1), false).unwrap();
    assert!(shown.is_rough() && shown.item >= 2);
    assert!(Spread::of(&trial.cases.exact[..2]).is_of_alike());
}

/// Where the inputs that plans are chosen by have one output, others are taken: the plan of no error
/// there, since all is 0, is not the best.
#[test]
fn a_plan_is_chosen_by_outputs_that_differ() {
    let mut below = affine(1);
    if let Op::Affine(affine) = &mut below.op {
        affine.shift = vec![-0.9].into();
    }
    let relu = node(Op::Relu, &[1], &[1]);
    let graph = graph(&[1], vec![below, relu]);
    let options = PlanOptions {
        samples: Some(&[0.5, 0.25, -0.125]),
        input_range: Some(0.75),
        ..PlanOptions::default()
    };
    let inputs = Inputs::new(&graph, &options).unwrap();
    let trial = Trial::new(&graph, &inputs, true).unwrap();
    assert_eq!(trial.first, trial.cases.items(&graph));
}

/// Of two samples that are tried the squares are exact; that of a third, which only a look at more samples meets,
/// is not.
#[test]
fn an_error_is_looked_for_among_more_samples() {
    let graph = graph(&[1], vec![node(Op::Mul, &[0, 0], &[1])]);
    let rounding = rounding(1);
    let mut trial = trial(&graph, 2, &[1.0, 0.5, 0.25, 2.0]);
    trial.samples = 2;
    assert_eq!(trial.error(&graph, &rounding).unwrap().all, 0.0);
    assert_eq!(trial.of_samples(&graph, &rounding).unwrap().all, 0.0);
    let few = trial.shown(&graph, &rounding, false).unwrap();
    assert!(!few.shown.is_rough() && few.errors == [[0.0; 2]]);
    trial.sampled = Some(Cases::new(&graph, vec![1.0, 0.5, 3.03]).unwrap());
    assert_eq!(trial.error(&graph, &rounding).unwrap().all, 0.0);
    assert!(trial.of_samples(&graph, &rounding).unwrap().all > 0.0);
    let more = trial.shown(&graph, &rounding, false).unwrap();
    assert!(more.shown.is_rough() && more.shown.item == 2 && more.errors[0][0] > 0.1);
    assert!(more.seen[1].iter().all(|seen| seen.1 > 8.0));
    let worst = more.shown.worst(&graph, &rounding).unwrap();
    assert_eq!(worst, 0, "most comes of the input's rounding");
}

/// Of a model of a few multiply-adds all of 100 samples are looked at, and at most 1024.
#[test]
fn a_small_model_is_tried_on_many_samples() {
    let graph = graph(&[1], vec![affine(1)]);
    let looked_at = |n: usize| {
        let samples: Vec<f32> = (0..n).map(|i| i as f32 / n as f32).collect();
        let options = PlanOptions {
            samples: Some(&samples),
            ..PlanOptions::default()
        };
        let inputs = Inputs::new(&graph, &options).unwrap();
        let trial = Trial::new(&graph, &inputs, true).unwrap();
        trial.sampled.map(|cases| cases.items(&graph))
    };
    assert_eq!(looked_at(100), Some(100));
    assert_eq!(looked_at(3000), Some(1024));
}

/// What is kept of the last rounding is what would be computed anew: in more manners, and of another rounding in between;
/// the others' places go on behind those of the first.
#[test]
fn runs_that_are_kept_are_those_that_would_be_made() {
    let graph = graph(&[3], vec![affine(3), node(Op::Mul, &[1, 0], &[3])]);
    let mut finer = rounding(2);
    finer.fractions.fill(7);
    let all: Vec<f32> = (0..18).map(|i| i as f32 / 7.0 - 1.3).collect();
    let whole = |rounding: &Rounding| {
        let made = runs(&graph, rounding, (&all, 0), &manners(rounding, 5)).unwrap();
        made.into_iter().map(|(_, run)| run).collect::<Vec<_>>()
    };
    let trial = trial(&graph, 4, &all);
    for (rounding, repeats) in [
        (rounding(2), 2),
        (rounding(2), 5),
        (finer, 5),
        (rounding(2), 1),
    ] {
        let first = trial.first_runs(&graph, &rounding, repeats).unwrap();
        let made = trial.all_runs(&graph, &rounding, repeats).unwrap();
        for (at, (_, right)) in made.iter().enumerate() {
            assert!(*right == whole(&rounding)[at], "{repeats} repeats, {at}");
            assert!(first[at].1.0 == right.0[..12]);
        }
        assert!(made.len() == repeats && first.len() >= repeats);
    }
}
