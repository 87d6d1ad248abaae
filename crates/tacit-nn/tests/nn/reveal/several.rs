//! Models of several outputs: what is opened of each, that nothing is opened twice, and plans of another
//! party that lie about it.

use prost::Message;
use tacit_nn::graph::{Classes, Output};
use tacit_nn::onnx::proto::{ModelProto, ValueInfoProto};
use tacit_nn::onnx::{ImportOptions, import};

use super::*;

/// Nodes that end in the outputs of these names, of four numbers `x` and of `w`, their product with weights.
fn with_outputs(names: &[&str], nodes: Vec<NodeProto>) -> ModelProto {
    let weights: Vec<f32> = (0..12).map(|i| (i * 5 % 7) as f32 / 8.0 - 0.25).collect();
    let scores = node("MatMul", &["x", "weights"], "w", vec![]);
    let nodes = [vec![scores], nodes].concat();
    let mut file = model(&[4], nodes, vec![tensor("weights", &[4, 3], &weights)]);
    let output = |name: &&str| ValueInfoProto {
        name: name.to_string(),
        r#type: None,
    };
    let graph = file.graph.as_mut().expect("a graph");
    graph.output = names.iter().map(output).collect();
    file
}

fn made(names: &[&str], nodes: Vec<NodeProto>) -> Graph {
    let file = with_outputs(names, nodes);
    let graph = imported(&file).unwrap_or_else(|e| panic!("{e}"));
    graph.optimise()
}

/// The label and the probabilities of a classifier.
fn label_and_probabilities() -> Vec<NodeProto> {
    vec![
        node(
            "ArgMax",
            &["w"],
            "label",
            vec![int("axis", 1), int("keepdims", 0)],
        ),
        node("Softmax", &["w"], "probabilities", vec![int("axis", 1)]),
    ]
}

const X: [f32; 8] = [0.5, -1.0, 0.75, 0.25, -0.5, 1.0, -0.25, 0.125];

/// The outputs of two items by their names, as the receiver has them from Falcon and from clear text; they
/// are those of float32, but for rounding.
fn answers(graph: &Graph, reveal: Option<Reveal>) -> (Plan, Vec<f32>, usize) {
    let plan = planned(graph, reveal);
    let (opened, _) = learnt(graph, &plan, &X, Security::SemiHonest);
    assert_eq!(opened, in_clear(graph, &plan, &X));
    let found = plan.finish(&opened).expect("numbers");
    (plan, found, opened.len() / 2)
}

/// Numbers that have nothing in common are opened one behind the other, each as its end says.
#[test]
fn outputs_are_opened_side_by_side() {
    let nodes = vec![
        node("Relu", &["w"], "hidden", vec![]),
        node("Softmax", &["w"], "probabilities", vec![int("axis", 1)]),
        node("Sigmoid", &["x"], "odds", vec![]),
    ];
    let graph = made(&["hidden", "probabilities", "odds"], nodes);
    let (plan, found, opened) = answers(&graph, None);
    let expected = reference::predict(&graph, &X).expect("it fits");
    assert_eq!((opened, found.len()), (3 + 3 + 4, 20));
    assert!(distance(&found, &expected) < 1e-3, "{found:?} {expected:?}");
    assert_eq!(plan.opening.reveal, Reveal::Probabilities);
    assert_eq!(plan.opening.scores.len(), 1, "only of the softmax's part");
    assert_eq!(plan.opening.scores[0].start, 3);
    let words = plan.opened();
    for part in [
        "of 'hidden' all numbers as they are",
        "of 'probabilities' probabilities, which tell the logits up to a constant",
        "of 'odds' probabilities, which tell the logits: so these",
    ] {
        assert!(words.contains(part), "{words}");
    }
    let (plan, found, _) = answers(&graph, Some(Reveal::Logits));
    let expected = reference::outputs(&graph, &X).expect("it fits");
    assert!(distance(&found, &expected) < 1e-4 && plan.outputs.iter().all(|o| o.tail.is_empty()));
}

/// A classifier's label and probabilities are made of the same logits, which are opened once, and but for
/// a constant; with the logits as an output of their own they are opened as they are.
#[test]
fn what_outputs_share_is_opened_once() {
    let graph = made(&["label", "probabilities"], label_and_probabilities());
    let (plan, found, opened) = answers(&graph, None);
    assert_eq!((opened, plan.layers.len()), (3, 1), "no step joins them");
    let expected = reference::predict(&graph, &X).expect("it fits");
    assert!(distance(&found, &expected) < 1e-4, "{found:?} {expected:?}");
    assert_eq!(plan.outputs[0].shape, [0usize; 0]);
    let first = in_clear(&graph, &plan, &X)[0];
    assert_eq!(first, 0, "the first logit less itself");
    assert!(
        plan.opened()
            .contains("of 'label' the class, of what is opened for another")
    );

    let graph = made(&["probabilities", "w"], label_and_probabilities());
    let (plan, _, opened) = answers(&graph, None);
    assert_eq!((opened, plan.opening.scores.len()), (3, 0));
}

/// A place of numbers that no other output opens is found on shares, since the file reveals no more.
#[test]
fn a_label_beside_other_outputs_opens_no_logits() {
    let nodes = [
        label_and_probabilities(),
        vec![node("Relu", &["x"], "hidden", vec![])],
    ]
    .concat();
    let graph = made(&["label", "hidden"], nodes);
    let (plan, found, opened) = answers(&graph, None);
    assert_eq!((opened, plan.outputs_len()), (1 + 4, 5));
    let expected = reference::predict(&graph, &X).expect("it fits");
    assert!(distance(&found, &expected) < 1e-3, "{found:?} {expected:?}");
}

/// A graph made elsewhere that would open logits for nothing but a place is refused, and so are classes of
/// several outputs.
#[test]
fn what_several_outputs_cannot_reveal_is_refused() {
    let mut graph = made(&["label", "probabilities"], label_and_probabilities());
    let refused = |graph: &Graph, reveal| {
        let options = PlanOptions {
            reveal,
            ..PlanOptions::default()
        };
        plan(graph, &options).expect_err("refused").to_string()
    };
    let why = refused(&graph, Some(Reveal::Class));
    assert!(
        why.contains("outputs 'label', 'probabilities': 'class'"),
        "{why}"
    );
    assert!(why.contains("classes are found of one output"), "{why}");
    graph.outputs[1] = Output {
        name: "again".into(),
        ..graph.outputs[0].clone()
    };
    let why = refused(&graph, None);
    assert!(why.contains("'label' is the place of the largest"), "{why}");
    let hidden = made(&["w", "x2"], vec![node("Relu", &["x"], "x2", vec![])]);
    let why = refused(&hidden, Some(Reveal::Probabilities));
    assert!(why.contains("no Softmax"), "{why}");
}

/// An output that is a list of tensors is these, by their own names.
#[test]
fn a_list_of_outputs_is_its_parts() {
    let mut nodes = label_and_probabilities();
    nodes.push(node("Sigmoid", &["x"], "odds", vec![]));
    let list = node(
        "SequenceConstruct",
        &["probabilities", "odds"],
        "all",
        vec![],
    );
    nodes.push(list);
    let file = with_outputs(&["label", "all"], nodes);
    let names = |outputs: &[&str]| {
        let options = ImportOptions {
            outputs: outputs.iter().map(|name| name.to_string()).collect(),
            ..ImportOptions::default()
        };
        let graph = import(&file.encode_to_vec(), None, &options).expect("outputs");
        let of = |output: &Output| output.name.clone();
        graph.outputs.iter().map(of).collect::<Vec<_>>()
    };
    assert_eq!(names(&[]), ["label", "probabilities", "odds"]);
    assert_eq!(names(&["all"]), ["probabilities", "odds"]);
}

#[test]
fn outputs_are_chosen_by_name() {
    let file = with_outputs(&["label", "probabilities"], label_and_probabilities());
    let chosen = |names: &[&str]| {
        let options = ImportOptions {
            outputs: names.iter().map(|name| name.to_string()).collect(),
            ..ImportOptions::default()
        };
        import(&file.encode_to_vec(), None, &options)
    };
    let names = |names: &[&str]| {
        let graph = chosen(names).unwrap_or_else(|e| panic!("{e}"));
        let of = |output: &Output| output.name.clone();
        graph.outputs.iter().map(of).collect::<Vec<_>>()
    };
    assert_eq!(names(&[]), ["label", "probabilities"]);
    assert_eq!(
        names(&["probabilities", "label"]),
        ["probabilities", "label"]
    );
    assert_eq!(
        planned(&chosen(&["label"]).expect("one"), None)
            .opening
            .reveal,
        Reveal::Class
    );
    let error = chosen(&["w"]).expect_err("no output").to_string();
    assert!(error.contains("'w' cannot be computed: the model has 'label', 'probabilities'"));
    let error = chosen(&["label", "label"]).expect_err("twice").to_string();
    assert!(error.contains("it is named twice"), "{error}");
}

/// Classes with names, alone and beside probabilities: they are in the plan.
fn named(names: &[&str]) -> Graph {
    let mut graph = made(names, label_and_probabilities());
    graph.outputs[0].classes = Some(Classes::Strings(vec!["a".into(), "b".into(), "c".into()]));
    graph
}

#[test]
fn names_of_classes_are_in_the_plan() {
    for names in [&["label"][..], &["label", "probabilities"]] {
        let plan = planned(&named(names), None);
        let read = Plan::from_bytes(&plan.to_bytes()).expect("its own bytes");
        assert_eq!(
            read.outputs[0].classes.as_ref().map(Classes::count),
            Some(3)
        );
        let logits = planned(&named(names), Some(Reveal::Logits));
        assert_eq!(logits.outputs[0].classes, None, "numbers have no names");
    }
}

#[test]
fn plans_that_lie_about_their_outputs_are_refused() {
    let of = |names: &[&str], change: &dyn Fn(&mut Plan), why: &str| {
        let mut plan = planned(&named(names), None);
        assert!(Plan::from_bytes(&plan.to_bytes()).is_ok());
        change(&mut plan);
        let error = Plan::from_bytes(&plan.to_bytes())
            .expect_err(why)
            .to_string();
        assert!(error.contains(why), "{why}: {error}");
    };
    let both = |change: &dyn Fn(&mut Plan), why: &str| of(&["label", "probabilities"], change, why);
    both(&|p| p.outputs.clear(), "0 outputs");
    both(
        &|p| p.outputs = vec![p.outputs[1].clone(); 1001],
        "1001 outputs",
    );
    both(&|p| p.outputs[1].name = "label".into(), "one name");
    both(&|p| p.outputs[1].name = "\n".into(), "control characters");
    both(&|p| p.outputs[1].start = 1, "revealed shape");
    both(&|p| p.outputs[1].start = usize::MAX, "revealed shape");
    both(&|p| p.outputs[1].revealed_shape = vec![2], "revealed shape");
    both(&|p| p.outputs[1].shape = vec![2], "output shape");
    both(&|p| p.opening.scores[0].start = 1, "classes does not fit");
    both(
        &|p| p.opening.scores[0].start = usize::MAX,
        "classes does not fit",
    );
    both(
        &|p| p.opening.scores.push(p.opening.scores[0].clone()),
        "classes does not fit",
    );
    let few = Some(Classes::Integers(vec![1, 2]));
    both(
        &|p| p.outputs[0].classes = few.clone(),
        "2 classes of Some(3)",
    );
    both(
        &|p| p.outputs[1].classes = p.outputs[0].classes.clone(),
        "classes of None",
    );
    let long = Some(Classes::Strings(vec!["a".repeat(300); 3]));
    both(&|p| p.outputs[0].classes = long.clone(), "too long");
    let alone = |change: &dyn Fn(&mut Plan), why: &str| of(&["label"], change, why);
    alone(&|p| p.opening.scores[0].start = 1, "classes does not fit");
    alone(
        &|p| p.opening.scores.push(p.opening.scores[0].clone()),
        "classes does not fit",
    );
    alone(
        &|p| p.outputs[0].classes = few.clone(),
        "2 classes of Some(3)",
    );
}
