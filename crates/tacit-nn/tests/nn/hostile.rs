//! Files that lie: each gives an error that says where, none a panic or a huge
//! allocation.

use std::collections::HashMap;

use crate::common::*;
use proptest::prelude::*;
use prost::Message;
use tacit_nn::onnx::proto::*;
use tacit_nn::onnx::{ImportError, ImportOptions, import, load};
use tacit_nn::plan::{PlanOptions, plan};

fn refused(model: &ModelProto) -> String {
    match imported(model) {
        Ok(_) => panic!("the model must be refused"),
        Err(error) => error.to_string(),
    }
}

fn refuses(model: &ModelProto, part: &str) {
    let text = refused(model);
    assert!(text.contains(part), "'{text}' does not say '{part}'");
}

fn graph_of(model: &mut ModelProto) -> &mut GraphProto {
    model.graph.as_mut().expect("a graph")
}

#[test]
fn the_network_itself_is_fine() {
    imported(&network()).unwrap_or_else(|e| panic!("{e}"));
    for model in [recurrent_network(), attention_network(), newer_network()] {
        let graph = imported(&model).unwrap_or_else(|e| panic!("{e}"));
        let options = PlanOptions::default();
        plan(&graph.optimise(), &options).unwrap_or_else(|e| panic!("{e}"));
    }
}

#[test]
fn not_onnx_at_all() {
    let error = import(
        b"\x08\x07 this is no model",
        None,
        &ImportOptions::default(),
    )
    .unwrap_err();
    assert!(
        error.to_string().contains("not a usable ONNX model"),
        "{error}"
    );
    assert!(import(&[], None, &ImportOptions::default()).is_err());
    assert!(
        load(
            "/nonexistent/model.onnx".as_ref(),
            &ImportOptions::default()
        )
        .unwrap_err()
        .to_string()
        .contains("/nonexistent")
    );
}

#[test]
fn operator_sets_outside_the_known_ones() {
    for version in [6, 29] {
        let mut model = network();
        model.opset_import[0].version = version;
        refuses(
            &model,
            &format!("operator set {version}; 7 to 28 are supported"),
        );
    }
}

#[test]
fn tensors_that_lie() {
    let with = |change: &dyn Fn(&mut TensorProto), part: &str| {
        let mut model = network();
        change(&mut graph_of(&mut model).initializer[0]);
        let text = refused(&model);
        assert!(text.contains(part), "'{text}' does not say '{part}'");
    };
    with(&|t| t.dims = vec![1 << 40, 1, 3, 3], "more than");
    with(&|t| t.dims = vec![i64::MAX, i64::MAX], "more than");
    with(&|t| t.dims[0] = -2, "negative dimension -2");
    with(&|t| t.dims[0] = 3, "72 bytes of data, its shape needs 108");
    with(&|t| t.data_type = 17, "data type 17");
    with(&|t| t.raw_data = None, "0 values, its shape needs 18");
    let begin = |t: &mut TensorProto, first: f32| {
        let rest = &t.raw_data.take().unwrap()[4..];
        t.raw_data = Some([&first.to_le_bytes(), rest].concat().into());
    };
    with(&|t| begin(t, f32::INFINITY), "weights must be finite");
    with(&|t| begin(t, f32::NAN), "holds NaN at element 0");
    with(&|t| t.dims = vec![2, 1, 9], "[2, 1, 9], 4 axes are needed");
}

/// Tools append what they insert, and onnxruntime takes what they write.
#[test]
fn nodes_may_stand_in_any_order() {
    let sorted = imported(&network()).unwrap_or_else(|e| panic!("{e}"));
    let mut model = network();
    graph_of(&mut model).node.reverse();
    let reversed = imported(&model).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(format!("{sorted:?}"), format!("{reversed:?}"));
}

#[test]
fn graphs_that_lie() {
    let with = |change: &dyn Fn(&mut GraphProto), part: &str| {
        let mut model = network();
        change(graph_of(&mut model));
        refuses(&model, part);
    };
    with(
        &|g| g.node[1].input[0] = "m".into(),
        "none has this name, or the graph has a cycle",
    );
    with(
        &|g| g.node[1].output[0] = "c".into(),
        "the value 'c' is computed twice",
    );
    with(
        &|g| (g.node[1].output[0], g.node[2].input[0]) = ("w".into(), "w".into()),
        "'w' is already the name",
    );
    with(&|g| drop(g.initializer.remove(1)), "reads 'b'");
    with(
        &|g| g.initializer[1].name = "w".into(),
        "two tensors have this name",
    );
    with(&|g| g.initializer[1].name = "x".into(), "0 inputs");
    with(&|g| g.input.clear(), "0 inputs");
    with(&|g| g.output.push(g.output[0].clone()), "it is named twice");
    with(&|g| g.output.clear(), "it has no output");
    with(
        &|g| g.output[0].name = "w".into(),
        "the output 'w' cannot be computed: it does not depend on the model's input",
    );
    with(
        &|g| g.output[0].name = "nothing".into(),
        "the output 'nothing' cannot be computed: no node computes it",
    );
    with(
        &|g| g.node[0].attribute[0].ints = vec![1 << 40; 4],
        "'pads' holds",
    );
    with(
        &|g| g.node[0].attribute[0].ints = vec![1],
        "'pads' has 1 numbers, 4 are needed",
    );
    with(
        &|g| g.node[2].attribute[0].ints = vec![9, 9],
        "spans 9 of 4",
    );
    with(&|g| g.node[2].attribute[1].ints = vec![0, 1], "at least 1");
    with(
        &|g| g.node[2].attribute.push(list("pads", &[3, 3, 3, 3])),
        "wholly in the padding",
    );
    with(
        &|g| g.initializer[2].int64_data[1] = 5,
        "items of 2 elements do not fit its target shape [0, 5]",
    );
    with(&|g| g.initializer[3].dims = vec![3, 2], "take 3 numbers");
}

#[test]
fn inputs_that_do_not_fit() {
    let with = |change: &dyn Fn(&mut TensorTypeProto), part: &str| {
        let mut model = network();
        let input = graph_of(&mut model).input[0]
            .r#type
            .as_mut()
            .unwrap()
            .tensor_type
            .as_mut()
            .unwrap();
        change(input);
        refuses(&model, part);
    };
    with(
        &|t| t.elem_type = 8,
        "it reads texts; of these only categories are numbered",
    );
    with(&|t| t.shape = None, "has no shape");
    with(
        &|t| t.shape.as_mut().unwrap().dim[2].dim_value = Some(-1),
        "axis 2 has the size -1",
    );
    with(
        &|t| t.shape.as_mut().unwrap().dim[2].dim_value = Some(1 << 50),
        "more than",
    );
}

#[test]
fn free_dimensions_need_a_value() {
    let mut model = network();
    let input = graph_of(&mut model).input[0]
        .r#type
        .as_mut()
        .unwrap()
        .tensor_type
        .as_mut()
        .unwrap();
    input.shape.as_mut().unwrap().dim[2] = free("H");
    refuses(
        &model,
        "axis 2 is the free dimension 'H'; only the batch (axis 0) may be free: give its size with --dim H=SIZE",
    );
    let options = ImportOptions {
        dims: HashMap::from([("H".to_string(), 4)]),
        ..ImportOptions::default()
    };
    assert!(import(&model.encode_to_vec(), None, &options).is_ok());
    graph_of(&mut model).input[0]
        .r#type
        .as_mut()
        .and_then(|t| t.tensor_type.as_mut()?.shape.as_mut())
        .unwrap()
        .dim[3] = free("");
    let with = |name: &str| {
        let sizes = [("H", 4), ("x.3", 4), (name, 4)];
        let options = ImportOptions {
            dims: HashMap::from(sizes.map(|(name, size)| (name.to_string(), size))),
            ..ImportOptions::default()
        };
        import(&model.encode_to_vec(), None, &options)
    };
    let error = with("W").unwrap_err().to_string();
    assert!(
        error.starts_with("dimension 'W': the model's inputs have no free dimension")
            && error.ends_with("beside the batch it has 'H', 'x.3'"),
        "{error}"
    );
    // A first axis of four that keeps every item by itself is a batch, of any size.
    assert_eq!(with("N").expect("is imported").inputs[0].shape, [1, 4, 4]);
}

/// A dimension of this name, without a size.
fn free(name: &str) -> DimensionProto {
    DimensionProto {
        dim_value: None,
        dim_param: Some(name.into()),
    }
}

#[test]
fn what_is_not_supported_is_listed_at_once() {
    let nodes = vec![
        node("Bernoulli", &["x"], "a", vec![]),
        node("Relu", &["a"], "b", vec![]),
        node("Mystery", &["b"], "c", vec![]),
        node("Range", &["x", "x", "x"], "d", vec![]),
        node("Add", &["d", "x"], "e", vec![]),
        NodeProto {
            domain: "com.example".into(),
            ..node("Relu", &["x"], "f", vec![])
        },
        node("Concat", &["c", "e", "f"], "y", vec![int("axis", 1)]),
    ];
    let Err(error @ ImportError::Unsupported(_)) = imported(&model(&[3], nodes, vec![])) else {
        panic!("must be refused")
    };
    let text = error.to_string();
    assert!(text.starts_with("4 of the model's nodes"), "{text}");
    for part in [
        "'the Bernoulli' (Bernoulli): not supported: it draws random numbers\n",
        "'the Mystery' (Mystery): not supported\n",
        "'the Range' (Range): how many numbers it makes is computed",
        "(com.example::Relu)",
    ] {
        assert!(text.contains(part), "'{text}' does not say '{part}'");
    }
}

#[test]
fn constants_cannot_grow_without_bound() {
    let huge = |size: &[i64], parts: &[&str]| {
        let nodes = vec![
            node("ConstantOfShape", &["s"], "w", vec![]),
            node("Concat", parts, "c", vec![int("axis", 0)]),
            node("MatMul", &["x", "c"], "y", vec![]),
        ];
        refuses(
            &model(&[3], nodes, vec![ints("s", &[size.len() as i64], size)]),
            "more than",
        );
    };
    huge(&[1 << 30, 1 << 30, 1 << 10], &["w"]);
    huge(&[1 << 26, 1], &["w", "w", "w"]);
}

#[test]
fn external_data_stays_in_the_folder() {
    let folder = std::env::temp_dir().join(format!("tacit-external-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("inside")).expect("a folder");
    let weights: Vec<u8> = [9.0f32, 2.0, 3.0]
        .iter()
        .flat_map(|v| v.to_le_bytes())
        .collect();
    std::fs::write(folder.join("inside/weights.bin"), &weights).expect("weights");
    let run = |entries: &[(&str, &str)]| {
        let entry = |&(key, value): &(&str, &str)| StringStringEntryProto {
            key: key.into(),
            value: value.into(),
        };
        let w = TensorProto {
            raw_data: None,
            data_location: 1,
            external_data: entries.iter().map(entry).collect(),
            ..tensor("w", &[2, 1], &[])
        };
        let model = model(
            &[2],
            vec![node("MatMul", &["x", "w"], "y", vec![])],
            vec![w],
        );
        import(
            &model.encode_to_vec(),
            Some(&folder),
            &ImportOptions::default(),
        )
    };
    let graph = run(&[
        ("location", "inside/weights.bin"),
        ("offset", "4"),
        ("length", "8"),
    ])
    .unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(
        tacit_nn::reference::predict(&graph, &[1.0, 1.0]).unwrap(),
        [5.0]
    );
    for (entries, part) in [
        (&[("location", "../weights.bin")][..], "only files inside"),
        (
            &[("location", "inside/../../weights.bin")],
            "only files inside",
        ),
        (&[("location", "/etc/hostname")], "only files inside"),
        (&[("location", "missing.bin")], "cannot be read"),
        (
            &[("location", "inside/weights.bin"), ("offset", "8")],
            "12 bytes",
        ),
        (
            &[
                ("location", "inside/weights.bin"),
                ("offset", "18446744073709551615"),
            ],
            "12 bytes",
        ),
        (
            &[("location", "inside/weights.bin"), ("length", "12")],
            "12 bytes, its shape needs 8",
        ),
        (
            &[("location", "inside/weights.bin"), ("offset", "four")],
            "not a number",
        ),
        (&[], "no 'location'"),
    ] {
        let text = run(entries).unwrap_err().to_string();
        assert!(
            text.contains("'w'") && text.contains(part),
            "'{text}' does not say '{part}'"
        );
    }
    std::fs::remove_dir_all(&folder).expect("clean up");
}

proptest! {
    #[test]
    fn damaged_models_never_panic(cuts in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6), end in any::<prop::sample::Index>(), cut in any::<bool>(), which in 0usize..4) {
        let models = [network, recurrent_network, attention_network, newer_network];
        let model = models[which]();
        let mut bytes = model.encode_to_vec();
        for (at, value) in cuts {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if cut {
            bytes.truncate(end.index(bytes.len()));
        }
        if let Ok(graph) = import(&bytes, None, &ImportOptions::default()) {
            let _ = plan(&graph.optimise(), &PlanOptions::default());
        }
    }
}
