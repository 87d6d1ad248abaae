//! Columns of texts: which ones a model knows, what stands for each, and what is refused.

use super::*;
use tacit_nn::graph::{InputKind, Texts};

/// A model of inputs of texts of so many columns each.
fn of_texts(inputs: &[(&str, i64)], nodes: Vec<NodeProto>) -> ModelProto {
    let mut model = with_tables(model(&[1], nodes, vec![]), 4);
    let graph = model.graph.as_mut().expect("a graph");
    let like = graph.input.remove(0);
    for &(name, columns) in inputs {
        let mut input = like.clone();
        input.name = name.into();
        let of = input.r#type.as_mut().expect("a type");
        let tensor = of.tensor_type.as_mut().expect("a tensor");
        tensor.elem_type = 8;
        tensor.shape.as_mut().expect("a shape").dim[1].dim_value = Some(columns);
        graph.input.push(input);
    }
    model
}

fn table(op: &str, from: &str, to: &str, attributes: Vec<AttributeProto>) -> NodeProto {
    let mut node = node(op, &[from], to, attributes);
    node.domain = "ai.onnx.ml".into();
    node
}

/// Adds a tensor of one text to the file.
fn add_text(model: &mut ModelProto, name: &str, dims: &[i64], text: &str) {
    let graph = model.graph.as_mut().expect("a graph");
    graph.initializer.push(TensorProto {
        dims: dims.into(),
        data_type: 8,
        name: name.into(),
        string_data: vec![text.into()],
        ..Default::default()
    });
}

/// What a model knows of its inputs.
fn known(model: &ModelProto) -> Vec<Texts> {
    let graph = imported(model).unwrap_or_else(|e| panic!("{e}"));
    let texts = |input: &tacit_nn::graph::Input| {
        let texts = input.texts.clone().expect("texts");
        let classes = texts.classes();
        assert_eq!(input.kind, InputKind::Tokens { classes });
        texts
    };
    graph.inputs.iter().map(texts).collect()
}

fn of(texts: &[&str], others: bool) -> Texts {
    let known = texts.iter().map(|text| text.to_string()).collect();
    Texts { known, others }
}

/// Columns of several inputs meet and are parted again; every input knows its own texts, in order.
#[test]
fn categories_become_columns() {
    let nodes = |zeros| {
        vec![
            node("Concat", &["sex", "port"], "all", vec![int("axis", 1)]),
            node("Split", &["all"], "a", vec![int("axis", 1)]),
            table(
                "OneHotEncoder",
                "a",
                "of a",
                vec![words("cats_strings", &["m", "f"])],
            ),
            table(
                "OneHotEncoder",
                "b",
                "of b",
                vec![words("cats_strings", &["S", "C"]), int("zeros", zeros)],
            ),
            node("Concat", &["of a", "of b"], "y", vec![int("axis", 2)]),
        ]
    };
    let with = |zeros| {
        let mut nodes = nodes(zeros);
        nodes[1].output.push("b".into());
        of_texts(&[("sex", 1), ("port", 1)], nodes)
    };
    let model = with(1);
    assert_eq!(
        known(&model),
        [of(&["f", "m"], true), of(&["C", "S"], true)]
    );
    // m and S; f and another; another and C.
    let found = answers(&model, &[1.0, 1.0, 0.0, 2.0, 2.0, 0.0]);
    assert_eq!(
        found,
        [1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    );
    // Where the file makes it an error, no other is taken.
    assert_eq!(known(&with(0))[1], of(&["C", "S"], false));
}

/// What is missing gets another text before categories are told apart; unknown texts stay what they are.
#[test]
fn texts_in_place_of_others() {
    let is_missing = vec![
        words("keys_strings", &[""]),
        list("values_int64s", &[1]),
        int("default_int64", 0),
    ];
    let classes = vec![
        words("keys_strings", &["S", "C", "S"]),
        floats("values_floats", &[3.0, 4.0, 9.0]),
        float("default_float", -1.0),
    ];
    let mut model = of_texts(
        &[("port", 2)],
        vec![
            node("Gather", &["port", "second"], "one", vec![int("axis", 1)]),
            table("LabelEncoder", "one", "whole", is_missing),
            node("Cast", &["whole"], "missing", vec![int("to", 9)]),
            node("Where", &["missing", "fill", "one"], "full", vec![]),
            table("LabelEncoder", "full", "y", classes),
        ],
    );
    add_text(&mut model, "fill", &[1], "C");
    let graph = model.graph.as_mut().expect("a graph");
    graph.initializer.push(TensorProto {
        dims: vec![1],
        data_type: 7,
        name: "second".into(),
        int64_data: vec![1],
        ..Default::default()
    });
    assert_eq!(known(&model), [of(&["", "C", "S"], true)]);
    // The first column is not read.
    let found = answers(&model, &[1.0, 0.0, 0.0, 1.0, 3.0, 2.0, 2.0, 3.0]);
    assert_eq!(found, [4.0, 4.0, 3.0, -1.0]);
}

/// Texts are renamed, of which two become one, and compared with one that the file gives.
#[test]
fn renamed_texts_are_compared() {
    let renamed = vec![
        words("keys_strings", &["a", "b"]),
        words("values_strings", &["x", "x"]),
        AttributeProto {
            name: "default_string".into(),
            s: Some(b"rest".to_vec()),
            ..Default::default()
        },
    ];
    let model = |with: &str| {
        let mut model = of_texts(
            &[("t", 1)],
            vec![
                table("LabelEncoder", "t", "new", renamed.clone()),
                node("Equal", &["new", "one"], "is", vec![]),
                node("Cast", &["is"], "y", vec![int("to", 1)]),
            ],
        );
        add_text(&mut model, "one", &[], with);
        model
    };
    assert_eq!(known(&model("x")), [of(&["a", "b"], true)]);
    assert_eq!(answers(&model("x"), &[0.0, 1.0, 2.0]), [1.0, 1.0, 0.0]);
    assert_eq!(answers(&model("rest"), &[0.0, 1.0, 2.0]), [0.0, 0.0, 1.0]);
    // "a" itself is never there again.
    assert_eq!(answers(&model("a"), &[0.0, 1.0, 2.0]), [0.0; 3]);
}

/// No arithmetic sees a text's number, and files that lie about texts are refused.
#[test]
fn what_is_made_of_texts_is_refused() {
    let cast = node("Cast", &["t"], "y", vec![int("to", 1)]);
    refused(&of_texts(&[("t", 1)], vec![cast]), "it reads texts");
    let sum = node("Add", &["t", "t"], "y", vec![]);
    refused(&of_texts(&[("t", 1)], vec![sum]), "it reads texts");
    let moved = node("Identity", &["t"], "y", vec![]);
    refused(
        &of_texts(&[("t", 1)], vec![moved]),
        "'y' cannot be computed: it is texts",
    );
    let encoder = |attributes| {
        of_texts(
            &[("t", 1)],
            vec![table("OneHotEncoder", "t", "y", attributes)],
        )
    };
    refused(&encoder(vec![]), "no categories of texts");
    refused(&encoder(vec![words("cats_strings", &["a", "a"])]), "twice");
    let long = "a".repeat(257);
    refused(&encoder(vec![words("cats_strings", &[&long])]), "256 bytes");
    refused(
        &encoder(vec![words("cats_strings", &["a\u{1b}[2J"])]),
        "control",
    );
    let labels = |keys: &[&str], values: &[f32]| {
        let attributes = vec![words("keys_strings", keys), floats("values_floats", values)];
        of_texts(
            &[("t", 1)],
            vec![table("LabelEncoder", "t", "y", attributes)],
        )
    };
    refused(&labels(&["a", "b"], &[1.0]), "2 keys of texts and 1 values");
    refused(&labels(&["a"], &[f32::NAN]), "finite");
    let equal = node("Equal", &["t", "u"], "y", vec![]);
    refused(
        &of_texts(&[("t", 1), ("u", 1)], vec![equal]),
        "with each other",
    );
}

/// A small file that asks for very many texts, or pairs of them, is refused before they are made.
#[test]
fn too_many_texts_are_refused() {
    let moved = || vec![node("Identity", &["t"], "y", vec![])];
    refused(
        &of_texts(&[("t", 1 << 26)], moved()),
        "more than 65536 texts",
    );
    let many: Vec<String> = (0..100).map(|i| i.to_string()).collect();
    let many: Vec<&str> = many.iter().map(|text| &text[..]).collect();
    let encoders = [
        ("OneHotEncoder", vec![words("cats_strings", &many)]),
        (
            "LabelEncoder",
            vec![words("keys_strings", &many), words("values_strings", &many)],
        ),
    ];
    for (op, attributes) in encoders {
        let model = of_texts(&[("t", 1 << 16)], vec![table(op, "t", "y", attributes)]);
        refused(&model, "more than 4194304 pairs");
    }
}
