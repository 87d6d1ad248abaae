//! What of an output is opened: what the receiver learns of each choice, on Falcon and in clear text,
//! and the choices that a model does not allow.

mod several;

use std::time::Duration;

use crate::common::*;
use tacit_net::testing::{Fate, Recorder, mesh_with, run};
use tacit_net::{LinkModel, Party, memory};
use tacit_nn::Graph;
use tacit_nn::encode::EncodeError;
use tacit_nn::execute::{execute, reveal_output, share_input, share_weights};
use tacit_nn::onnx::proto::NodeProto;
use tacit_nn::plan::{
    KeyBitsChoice, Keys, Modulus, Plan, PlanOptions, RANKING, Reveal, Roles, plan,
};
use tacit_nn::reference;
use tacit_protocols::Error;
use tacit_protocols::clear;
use tacit_protocols::falcon::{self, Options, PARTIES, Security, Truncation};
use tacit_protocols::machine::{Audience, Erased, Machine};

const ROLES: Roles = Roles {
    model_owner: 0,
    data_owner: 1,
    receiver: Audience::One(1),
};
const CLASSES: usize = 10;
const INPUTS: usize = 64;
const PATIENCE: Duration = Duration::from_secs(60);

/// Ten logits of 64 inputs, and the nodes behind them.
fn classifier(tail: Vec<NodeProto>) -> Graph {
    let weight = |i: usize| ((i * 7919 % 201) as f32 - 100.0) / 100.0;
    let weights: Vec<f32> = (0..INPUTS * CLASSES).map(weight).collect();
    let mut nodes = vec![node("MatMul", &["x", "w"], "y", vec![])];
    if !tail.is_empty() {
        nodes[0].output = vec!["logits".into()];
    }
    nodes[0].name = "scores".into();
    nodes.extend(tail);
    let tensors = vec![tensor("w", &[INPUTS as i64, CLASSES as i64], &weights)];
    let made = imported(&model(&[INPUTS as i64], nodes, tensors));
    made.unwrap_or_else(|e| panic!("{e}")).optimise()
}

fn arg_max() -> Vec<NodeProto> {
    vec![node("ArgMax", &["logits"], "y", vec![int("axis", 1)])]
}

fn softmax() -> Vec<NodeProto> {
    vec![node("Softmax", &["logits"], "y", vec![int("axis", 1)])]
}

fn inputs(n: usize) -> Vec<f32> {
    let value = |i: usize| (i * 104_729 % 1999) as f32 / 1000.0 - 1.0;
    (0..INPUTS * n).map(value).collect()
}

fn planned(graph: &Graph, reveal: Option<Reveal>) -> Plan {
    let options = PlanOptions {
        input_range: Some(1.0),
        reveal,
        ..PlanOptions::default()
    };
    plan(graph, &options).unwrap_or_else(|e| panic!("{e}"))
}

/// One party's end of a prediction.
fn party(
    machine: &mut Erased,
    graph: &Graph,
    plan: &Plan,
    x: &[f32],
) -> Result<Option<Vec<i64>>, Error> {
    let (id, n) = (machine.party().id(), x.len() / plan.given_len());
    let shape = [&[n], &plan.given_shape()[..]].concat();
    let weights = plan.encode_weights(graph).expect("weights that fit");
    let values = plan.encode_input(x, &shape).expect("inputs that fit");
    let stages = plan.calls(n, &ROLES)?.into_iter();
    let calls: Vec<_> = plan
        .weight_calls(&ROLES)?
        .into_iter()
        .chain(stages.flat_map(|stage| stage.calls))
        .collect();
    machine.prepare(&tacit_protocols::lowered(&calls, machine.cost_model())?)?;
    let own = (id == ROLES.model_owner).then_some(&weights[..]);
    let weights = share_weights(plan, machine, &ROLES, own)?;
    let own = (id == ROLES.data_owner).then_some(&values[..]);
    let input = share_input(plan, machine, &ROLES, n, own)?;
    let output = execute(plan, machine, &weights, input, &n.into(), &mut |_| Ok(()))?;
    reveal_output(plan, machine, &ROLES, &output)
}

/// What the receiver learns, and the bytes that it hears when it is opened.
fn learnt(graph: &Graph, plan: &Plan, x: &[f32], security: Security) -> (Vec<i64>, usize) {
    let recorder = Recorder::new();
    let tap = recorder.clone();
    let mesh = mesh_with(PARTIES, PATIENCE, move |envelope| {
        tap.record(&envelope);
        Fate::Deliver
    });
    let ends = run(mesh, |p: Party| {
        // Exact: so that every run has the integers of clear text.
        let options = Options {
            truncation: Truncation::Exact,
            security,
            ..Options::default()
        };
        let mut machine = falcon::machine(64, p, options)?;
        party(&mut machine, graph, plan, x)
    });
    let mut opened = ends.into_iter().map(|end| end.expect("an end"));
    assert_eq!(opened.next(), Some(None));
    let opened = opened.next().flatten().expect("the receiver learns it");
    let view = recorder.view(ROLES.data_owner);
    // The message that carries the missing component is the longest: others are hashes.
    let heard = view.iter().filter(|seen| seen.step.contains("reveal"));
    let longest = heard.map(|seen| seen.payload.len()).max();
    (opened, longest.unwrap_or_default())
}

/// What the receiver learns where the plan runs in clear text, on its integers.
fn in_clear(graph: &Graph, plan: &Plan, x: &[f32]) -> Vec<i64> {
    let mesh = memory::mesh(2, &LinkModel::LOCAL, PATIENCE);
    let ends = run(mesh, |p: Party| {
        party(&mut clear::machine(64, p), graph, plan, x)
    });
    let mut ends = ends.into_iter().map(|end| end.expect("an end"));
    ends.nth(1).flatten().expect("opened to party 1")
}

/// How far the logits that the receiver can work out are from the model's, if it can at all.
fn recovered(opened: &[i64], plan: &Plan, logits: &[f32]) -> Option<f32> {
    let unit = f64::from(plan.fraction_bits).exp2();
    let decoded: Vec<f32> = opened.iter().map(|&v| (v as f64 / unit) as f32).collect();
    (decoded.len() == logits.len()).then(|| distance(&decoded, logits))
}

/// The attack: the receiver reads the logits off what is opened to it. It succeeds where they are
/// asked for, and finds 10 times fewer numbers where the file ends in ArgMax.
#[test]
fn an_ending_arg_max_gives_the_receiver_no_logits() {
    let (graph, n) = (classifier(arg_max()), 20);
    let x = inputs(n);
    let logits = reference::outputs(&graph, &x).expect("inputs that fit");
    for security in [Security::SemiHonest, Security::Malicious] {
        let open = planned(&graph, Some(Reveal::Logits));
        let (opened, bytes) = learnt(&graph, &open, &x, security);
        assert_eq!((opened.len(), bytes), (n * CLASSES, n * CLASSES * 8));
        let far = recovered(&opened, &open, &logits).expect("as many numbers as logits");
        assert!(far < 1e-4, "{far}");

        let closed = planned(&graph, None);
        assert_eq!(closed.opening.reveal, Reveal::Class);
        let (opened, bytes) = learnt(&graph, &closed, &x, security);
        assert_eq!((opened.len(), bytes), (n, n * 8));
        assert_eq!(recovered(&opened, &closed, &logits), None);
        let float = reference::predict(&graph, &x).expect("inputs that fit");
        assert_eq!(closed.finish(&opened).expect("classes"), float);
    }
}

/// Inputs of one class leave the receiver the same thing, whatever their logits.
#[test]
fn two_inputs_of_a_class_open_the_same() {
    let graph = classifier(arg_max());
    let x = inputs(1);
    let half: Vec<f32> = x.iter().map(|v| v / 2.0).collect();
    let of = |reveal, x: &[f32]| learnt(&graph, &planned(&graph, reveal), x, Security::Malicious);
    assert_eq!(of(None, &x), of(None, &half));
    let logits = Some(Reveal::Logits);
    assert_ne!(of(logits, &x), of(logits, &half));
}

#[test]
fn the_best_classes_are_those_of_clear_text() {
    let graph = classifier(vec![]);
    let x = inputs(8);
    for k in [1, 2, 3, 10] {
        let reveal: Reveal = format!("top-{k}").parse().expect("a choice");
        let plan = planned(&graph, Some(reveal));
        let (opened, _) = learnt(&graph, &plan, &x, Security::Malicious);
        assert_eq!(opened, in_clear(&graph, &plan, &x));
        let logits = in_clear(&graph, &planned(&graph, Some(Reveal::Logits)), &x);
        let best = logits.chunks(CLASSES).flat_map(|item| {
            let mut places: Vec<i64> = (0..CLASSES as i64).collect();
            places.sort_by_key(|&place| (-item[place as usize], place));
            places.truncate(k);
            places
        });
        assert!(opened.iter().copied().eq(best), "top-{k}");
        assert_eq!(plan.outputs[0].shape, if k == 1 { vec![] } else { vec![k] });
    }
}

/// Of probabilities the receiver learns what they tell: logits up to a constant.
#[test]
fn probabilities_open_logits_up_to_a_constant() {
    let graph = classifier(softmax());
    let x = inputs(4);
    let plan = planned(&graph, None);
    assert_eq!(plan.opening.reveal, Reveal::Probabilities);
    let (opened, _) = learnt(&graph, &plan, &x, Security::SemiHonest);
    let logits = in_clear(&graph, &planned(&graph, Some(Reveal::Logits)), &x);
    for (opened, logits) in opened.chunks(CLASSES).zip(logits.chunks(CLASSES)) {
        let differences: Vec<i64> = logits.iter().map(|v| v - logits[0]).collect();
        assert_eq!(opened, differences);
    }
    let expected = reference::predict(&graph, &x).expect("inputs that fit");
    assert!(distance(&plan.finish(&opened).expect("numbers"), &expected) < 1e-4);
    assert!(
        plan.opened().contains("up to a constant"),
        "{}",
        plan.opened()
    );
}

/// Axes in the middle of an item, the last of equal scores, functions that keep the order.
#[test]
fn classes_stand_along_any_axis() {
    let x = [1., 4., 3., 4., 1., 3., 1., 4., 2., -1., -2., -2.];
    let arg_max = |attributes| vec![node("ArgMax", &["x"], "y", attributes)];
    for (nodes, shape) in [
        (arg_max(vec![int("axis", 1)]), vec![1, 2]),
        (arg_max(vec![int("axis", 1), int("keepdims", 0)]), vec![2]),
        (
            arg_max(vec![int("axis", 2), int("select_last_index", 1)]),
            vec![3, 1],
        ),
        (
            vec![
                node("Softmax", &["x"], "p", vec![int("axis", 2)]),
                node("Sigmoid", &["p"], "s", vec![]),
                node("ArgMax", &["s"], "y", vec![int("axis", 2)]),
            ],
            vec![3, 1],
        ),
    ] {
        let graph = imported(&model(&[3, 2], nodes, vec![])).unwrap_or_else(|e| panic!("{e}"));
        let plan = plan(&graph, &PlanOptions::default()).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(plan.outputs[0].shape, shape);
        let found = plan.finish(&in_clear(&graph, &plan, &x)).expect("classes");
        assert_eq!(found, reference::predict(&graph, &x).expect("it fits"));
        let (opened, _) = learnt(&graph, &plan, &x, Security::SemiHonest);
        assert_eq!(plan.finish(&opened).expect("classes"), found);
    }
    let nodes = arg_max(vec![int("axis", 1), int("select_last_index", 1)]);
    let graph = imported(&model(&[3, 2], nodes, vec![])).unwrap_or_else(|e| panic!("{e}"));
    let options = PlanOptions {
        reveal: Some(Reveal::TopK(2)),
        ..PlanOptions::default()
    };
    let plan = plan(&graph, &options).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(plan.outputs[0].shape, [2, 2]);
    let expected = [1., 1., 2., 0., 1., 0., 0., 1.];
    assert_eq!(
        plan.finish(&in_clear(&graph, &plan, &x)).expect("classes"),
        expected
    );
    let floats = reference::outputs(&graph, &x).expect("it fits");
    assert_eq!(plan.finish_floats(floats), expected);
}

fn refused(item: &[i64], nodes: Vec<NodeProto>, reveal: Option<Reveal>) -> String {
    let graph = imported(&model(item, nodes, vec![])).unwrap_or_else(|e| panic!("{e}"));
    let options = PlanOptions {
        reveal,
        ..PlanOptions::default()
    };
    plan(&graph, &options).expect_err("refused").to_string()
}

#[test]
fn what_a_model_cannot_reveal_is_refused_by_layer() {
    let relu = || node("Relu", &["x"], "a", vec![]);
    let end = || vec![node("Relu", &["x"], "y", vec![])];
    let after = |op: &str, attributes| vec![relu(), node(op, &["a"], "y", attributes)];
    let axis = |axis| vec![int("axis", axis)];
    for (item, nodes, reveal, why) in [
        (vec![1], end(), Some(Reveal::Class), "it gives 1 number"),
        (vec![4, 5], end(), Some(Reveal::Class), "along which axis"),
        (
            vec![4, 5],
            after("Sigmoid", vec![]),
            Some(Reveal::TopK(2)),
            "along which axis",
        ),
        (vec![5], end(), Some(Reveal::Probabilities), "no Softmax"),
        (
            vec![5],
            after("ArgMax", axis(1)),
            Some(Reveal::Probabilities),
            "no Softmax",
        ),
        (vec![5], end(), Some(Reveal::TopK(6)), "top-5 at most"),
        (vec![1], after("ArgMax", axis(1)), None, "it gives 1 number"),
        (
            vec![4, 5],
            vec![
                relu(),
                node("Softmax", &["a"], "p", axis(2)),
                node("ArgMax", &["p"], "y", axis(1)),
            ],
            None,
            "can change what is largest",
        ),
        (
            vec![4, 5],
            vec![
                relu(),
                node("ArgMax", &["a"], "p", axis(1)),
                node("Softmax", &["p"], "y", axis(2)),
            ],
            None,
            "can change what is largest",
        ),
    ] {
        let text = refused(&item, nodes, reveal);
        assert!(
            text.starts_with("layer 'the Relu': '") && text.contains(why),
            "{text}"
        );
        assert!(text.contains("ask for"), "it says what to do: {text}");
    }
}

/// A comparison of classes drops no low bit and looks at one bit more than the scores have.
#[test]
fn classes_are_compared_exactly_whatever_the_key_bits() {
    let graph = classifier(vec![node("Relu", &["logits"], "y", vec![])]);
    let few = PlanOptions {
        input_range: Some(1.0),
        key_bits: KeyBitsChoice::Fixed {
            integer: 5,
            fraction: 2,
        },
        fraction_bits: Some(18),
        reveal: Some(Reveal::Class),
        ..PlanOptions::default()
    };
    let plan_with = |options: &PlanOptions| plan(&graph, options).unwrap_or_else(|e| panic!("{e}"));
    let narrow = plan_with(&few);
    assert!(narrow.layers[1].keys.dropped > 0);
    assert_eq!(narrow.opening.keys.dropped, 0);
    // Up to 64 times 1: 6 or 7 bits, one more of a difference.
    let kept = narrow.opening.keys.kept - 18;
    assert!((6..=8).contains(&kept), "{kept} bits before the point");
    // Over 32 bits there is no room for them: then nothing is promised.
    let short = plan_with(&PlanOptions {
        modulus: Modulus::PowerOfTwo(32),
        key_bits: KeyBitsChoice::Full,
        fraction_bits: Some(16),
        ..few
    });
    assert_eq!(
        short.opening.keys,
        Keys {
            dropped: 0,
            kept: u32::MAX,
            width: 24,
        }
    );
}

#[test]
fn plans_that_lie_about_what_they_open() {
    let honest = planned(&classifier(arg_max()), None);
    let stages = honest.calls(1, &ROLES).expect("calls");
    let names: Vec<&str> = stages.iter().map(|stage| stage.name.as_str()).collect();
    assert_eq!(names, ["input", "scores", RANKING, "output"]);
    let with = |change: &dyn Fn(&mut Plan), part: &str| {
        let mut plan = honest.clone();
        change(&mut plan);
        let refused = Plan::from_bytes(&plan.to_bytes()).expect_err("must be refused");
        let text = refused.to_string();
        assert!(text.contains(part), "'{text}' does not say '{part}'");
    };
    with(
        &|p| {
            p.opening.reveal = Reveal::Logits;
            p.opening.keys = Keys {
                dropped: 0,
                kept: u32::MAX,
                width: u32::MAX,
            };
        },
        "differences of logits",
    );
    with(&|p| p.opening.reveal = Reveal::TopK(11), "11 of 10 classes");
    with(&|p| p.opening.reveal = Reveal::TopK(0), "top-0");
    with(&|p| p.opening.reveal = Reveal::TopK(1 << 40), "not known");
    with(&|p| p.opening.reveal = Reveal::Probabilities, "key bits");
    with(&|p| p.opening.scores.clear(), "which are classes");
    with(&|p| p.opening.keys.dropped = 1, "key bits");
    with(&|p| p.opening.keys.kept = 60, "key bits");
    with(
        &|p| p.outputs[0].revealed_shape = vec![10],
        "revealed shape",
    );
    for (outer, size) in [(2, 10), (usize::MAX, 10), (10, 1), (0, 10)] {
        with(
            &|p| {
                let scores = &mut p.opening.scores[0];
                (scores.outer, scores.size) = (outer, size);
            },
            "",
        );
    }
}

#[test]
fn classes_that_there_are_not_are_refused() {
    let plan = planned(&classifier(arg_max()), None);
    for class in [-1, 10, i64::MAX] {
        let end = plan.finish(&[3, class]);
        assert!(matches!(end, Err(EncodeError::Class { classes: 10, .. })));
    }
}
