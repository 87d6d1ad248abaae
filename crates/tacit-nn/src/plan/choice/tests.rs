use super::super::graphs::{graph, node, pool};
use super::super::rounding::Step;
use super::super::trial::tests::{trial_of, with_samples};
use super::pick::Measures;
use super::*;
use crate::graph::{Affine, Function, Weights};

/// Two numbers of an item, each times its factor: of the second, 0.3, much is lost in few bits.
fn factors() -> Graph {
    let affine = Affine {
        inner: 1,
        scale: vec![1.0, 0.3].into(),
        shift: Weights::default(),
    };
    graph(&[2], vec![node(Op::Affine(affine), &[0], &[2])])
}

/// A candidate whose own numbers have `bits` fraction bits, as a plan has them, and factors of others `weights`.
fn candidate(bits: u32, weights: u32, doubts: usize) -> Candidate<()> {
    Candidate {
        bits,
        bounds: Rc::new([]),
        made: (),
        doubts: vec![String::new(); doubts],
        rounding: Rounding {
            fractions: vec![bits; 2],
            weights: vec![weights],
            steps: vec![Step::Encoded, Step::Truncated(2)],
            field: None,
            exact: false,
            ranks: None,
        },
    }
}

/// Inputs whose second numbers are all `second`.
fn inputs(second: f32) -> Vec<f32> {
    let firsts = [-1.0, -0.6, -0.2, 0.3, 0.7, 1.0];
    firsts.iter().flat_map(|&first| [first, second]).collect()
}

/// Distances that neighbours are chosen by: signs between sums of squares of what inputs are off by, not of products
/// with what a root makes of them.
#[test]
fn signs_between_distances_are_of_the_finest() {
    let of = |factors: [usize; 2]| {
        let root = Op::Function {
            function: Function::InverseSqrt,
            domain: (0.0, f32::INFINITY),
        };
        let nodes = vec![
            node(Op::Sub, &[0, 0], &[2]),
            node(root, &[1], &[2]),
            node(Op::Mul, &factors, &[2]),
            node(Op::SumPool(pool(1, [1, 2], [1, 2])), &[3], &[1]),
            node(Op::Sub, &[4, 4], &[1]),
            node(Op::NonNegative, &[5], &[1]),
        ];
        compares_inputs(&graph(&[2], nodes))
    };
    assert!(of([1, 1]));
    assert!(!of([1, 2]) && !of([2, 2]));
}

/// The bits of what is chosen, and of its factors; `more` are the second numbers of more samples.
fn chosen(candidates: Vec<Candidate<()>>, first: bool, more: Option<f32>) -> (u32, u32) {
    let more = more.map(inputs);
    let trial = trial_of(&factors(), &inputs(0.0), more.as_deref());
    chosen_by(trial, candidates, first)
}

fn chosen_by(trial: Trial, candidates: Vec<Candidate<()>>, first: bool) -> (u32, u32) {
    measured(trial, candidates, OF_ALL, first)
}

fn measured(
    trial: Trial,
    candidates: Vec<Candidate<()>>,
    measures: Measures,
    first: bool,
) -> (u32, u32) {
    let (graph, options) = (factors(), PlanOptions::default());
    let choice = Choice {
        graph: &graph,
        options: &options,
        ranges: std::array::from_fn(|_| Rc::from([])),
        inputs: vec![1.0],
        ends: vec![1.0; graph.row_len()],
        largest: vec![[0.0; 2]; graph.nodes.len()],
        trial,
        ranks: None,
    };
    let best = choice
        .best(candidates, measures, LITTLE, first)
        .expect("there are some")
        .candidate;
    (best.bits, best.rounding.weights[0])
}

#[test]
fn the_first_of_little_error_is_taken_or_the_finest() {
    let all = || [14, 18, 22].map(|bits| candidate(bits, 20, 0)).into();
    assert_eq!(chosen(all(), true, None), (14, 20));
    assert_eq!(chosen(all(), false, None), (22, 20));
    // An error of a sixteenth is much.
    let rough = || vec![candidate(4, 20, 0), candidate(14, 20, 0)];
    assert_eq!(chosen(rough(), true, None), (14, 20));
}

#[test]
fn fewer_doubts_are_worth_an_error_that_is_borne() {
    let both = |bits, doubts| vec![candidate(20, 20, 1 + doubts), candidate(bits, 20, doubts)];
    assert_eq!(chosen(both(9, 0), true, None), (9, 20));
    assert_eq!(chosen(both(6, 0), true, None), (20, 20));
    // Where there are doubts at any rate, less is borne for fewer.
    assert_eq!(chosen(both(7, 0), true, None), (7, 20));
    assert_eq!(chosen(both(7, 1), true, None), (20, 20));
    // About as many are no worse.
    let many = vec![candidate(14, 20, 30), candidate(5, 20, 20)];
    assert_eq!(chosen(many, true, None), (14, 20));
}

/// Of a trial's few inputs none has a second number: factors of four bits do, until more samples are looked at.
#[test]
fn what_more_samples_show_counts() {
    let all = || vec![candidate(16, 4, 0), candidate(16, 14, 0)];
    assert_eq!(chosen(all(), true, None), (16, 4));
    assert_eq!(chosen(all(), true, Some(0.0)), (16, 4));
    assert_eq!(chosen(all(), true, Some(10.0)), (16, 14));
    // Nor do fewer doubts help it.
    let doubtful = vec![candidate(16, 4, 0), candidate(16, 14, 1)];
    assert_eq!(chosen(doubtful, true, Some(10.0)), (16, 14));
}

/// Factors of one bit or none are wrong wherever the second number is not 0, as it is in no sample: the one of more
/// bits for what the samples show is taken, though the other errs less of all.
#[test]
fn where_all_err_without_hope_the_samples_count() {
    let both = || vec![candidate(6, 1, 0), candidate(16, 0, 0)];
    let all = [inputs(0.0), inputs(100.0)].concat();
    let trial = || trial_of(&factors(), &all, None);
    assert_eq!(chosen_by(trial(), both(), true), (6, 1));
    let sampled = || with_samples(trial(), 6);
    assert_eq!(chosen_by(sampled(), both(), true), (16, 0));
    // A factor of 0.25 for 0.3 is hope enough.
    let hopeful = vec![candidate(6, 3, 0), candidate(16, 0, 0)];
    assert_eq!(chosen_by(sampled(), hopeful, true), (6, 3));
}

/// A factor of 10 bits errs by a 900th of what outputs of inputs unlike the samples differ by: that is little where bits
/// cost bytes, and were it of samples it would not be.
#[test]
fn inputs_unlike_the_samples_may_err_more_where_bits_cost_bytes() {
    let both = || vec![candidate(16, 10, 0), candidate(16, 14, 0)];
    let all = [inputs(0.0), inputs(100.0)].concat();
    let sampled = |samples| with_samples(trial_of(&factors(), &all, None), samples);
    assert_eq!(measured(sampled(6), both(), OF_ALL, true), (16, 14));
    assert_eq!(measured(sampled(6), both(), OF_SAMPLES, true), (16, 10));
    assert_eq!(measured(sampled(12), both(), OF_SAMPLES, true), (16, 14));
    let rough = vec![candidate(16, 7, 0), candidate(16, 14, 0)];
    assert_eq!(measured(sampled(6), rough, OF_SAMPLES, true), (16, 14));
}
