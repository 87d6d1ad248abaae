use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// A model of two inputs and two outputs, in ring 64 with 4 fraction bits of the input and 3 of the answer.
fn described() -> Value {
    let input = |name, shape, kind, limit| {
        json!({"name": name, "shape": shape, "batch": 0, "kind": kind, "limit": limit, "ranked": false,
               "missing": null})
    };
    json!({
        "name": "m", "parties": 3, "scheme": {"kind": "holders", "bits": 64}, "max_items": 2,
        "input_fraction": 4, "output_fraction": 3,
        "plan": {
            "modulus": 64, "layers": "of no interest here",
            "inputs": [input("x", json!([2, 1]), json!("numbers"), 64),
                       input("n", json!([1]), json!("integers"), 160),
                       input("t", json!([1]), json!("truths"), 16)],
            "opening": {"reveal": "logits", "scores": []},
            "outputs": [
                {"name": "a", "start": 0, "revealed_shape": [2], "shape": [2], "tail": []},
                {"name": "b", "start": 2, "revealed_shape": [2], "shape": [1],
                 "tail": [{"function": "ArgMax", "outer": 1, "size": 2, "inner": 1}]},
            ],
        },
    })
}

fn model(told: Value) -> Result<Model, Refusal> {
    Model::new(serde_json::from_value(told).expect("well formed"))
}

fn changed(path: &str, value: Value) -> Value {
    let mut told = described();
    *told.pointer_mut(path).expect(path) = value;
    told
}

#[test]
fn numbers_are_encoded_as_by_hand() {
    let model = model(described()).expect("a model");
    assert_eq!((model.given_len(), model.answer_len()), (4, 3));
    // In sixteenths; halves are rounded away from 0.
    let (items, shared) = model
        .encode(&[1.0, -0.09375, -3.0, 1.0, 4.0, 0.03, 10.0, 0.0])
        .expect("it fits");
    assert_eq!(items, 2);
    assert_eq!(shared, [16, -2, -48, 16, 64, 0, 160, 0]);
}

/// A number that may be missing is 0 where it is, with a mark behind its input's numbers; NaN elsewhere is refused.
#[test]
fn missing_numbers_have_marks() {
    let mut told = described();
    told["plan"]["inputs"][0]["missing"] = json!({"places": [1], "bits": 3});
    let model = model(told).expect("a model");
    assert_eq!(model.given_len(), 4);
    let x = [1.0, f32::NAN, -3.0, 1.0, 4.0, 0.25, 10.0, 0.0];
    let (items, shared) = model.encode(&x).expect("it fits");
    assert_eq!(items, 2);
    assert_eq!(shared, [16, 0, 128, -48, 16, 64, 4, 0, 160, 0]);
    for at in [0, 2, 3] {
        let mut x = x;
        x[at] = f32::NAN;
        assert!(matches!(model.encode(&x), Err(Refusal::Input(_))), "{at}");
    }
}

#[test]
fn answers_are_decoded_as_by_hand() {
    let found = model(described())
        .expect("a model")
        .finish(&[8, -4, 1, 2, 0, 1, 7, 7]);
    assert_eq!(found, Ok(vec![1.0, -0.5, 1.0, 0.0, 0.125, 0.0]));
}

#[test]
fn an_input_is_shared_and_an_answer_put_together() {
    let model = model(described()).expect("a model");
    let (items, bodies) = model.split(&[1.0, 2.0, 3.0, 1.0]).expect("it fits");
    assert_eq!((items, bodies.len()), (1, 3));
    let share = |body: &Vec<u8>| model.scheme().share(body);
    let shares: Vec<Vec<u8>> = bodies.iter().map(share).collect();
    let answers: Vec<&[u8]> = shares.iter().map(Vec::as_slice).collect();
    // As if the model gave its input: 16, 32, 48, 16 in eighths, and of the last two the larger.
    assert_eq!(model.join(items, &answers), Ok(vec![2.0, 4.0, 0.0]));
    assert!(model.join(2, &answers).is_err());
    for items in [0, 3, usize::MAX] {
        assert!(matches!(
            model.join(items, &answers),
            Err(Refusal::Input(_))
        ));
    }
}

#[test]
fn what_does_not_fit_is_refused_and_not_told() {
    let model = model(described()).expect("a model");
    let wrong: [(&[f32], &str); 10] = [
        (&[], "0 numbers"),
        (&[1.0; 3], "3 numbers"),
        (&[1.0; 12], "3 items"),
        (&[4.01, 0.0, 0.0, 0.0], "number 0 of 'x' in item 0"),
        (
            &[0.0, 0.0, 0.0, 0.0, 0.0, f32::NAN, 0.0, 0.0],
            "number 1 of 'x' in item 1",
        ),
        (&[f32::NEG_INFINITY, 0.0, 0.0, 0.0], "not finite"),
        (&[0.0, 0.0, 2.5, 0.0], "not a whole number"),
        (&[0.0, 0.0, f32::INFINITY, 0.0], "not a whole number"),
        (&[0.0, 0.0, 11.0, 0.0], "beyond the 10"),
        (&[0.0, 0.0, 0.0, 0.5], "not 0 or 1"),
    ];
    for (x, why) in wrong {
        let refused = model.split(x).expect_err(why).to_string();
        assert!(refused.contains(why), "{refused}");
        assert!(
            !refused.contains("4.01") && !refused.contains("2.5"),
            "{refused}"
        );
    }
}

/// A category among numbers is refused where the table has no row of it, whatever the range.
#[test]
fn categories_are_those_that_there_are() {
    let mut told = described();
    told["plan"]["inputs"][0]["limits"] = json!([0, 3]);
    let model = model(told).expect("a model");
    for taken in [[1.5, 2.0, 0.0, 0.0], [-3.0, 0.0, 0.0, 1.0]] {
        model.split(&taken).expect("categories");
    }
    for category in [3.0, -1.0, 0.5, f32::NAN] {
        let refused = model.split(&[0.0, category, 0.0, 0.0]).expect_err("one");
        let why = "number 1 of 'x' in item 0 is not a whole number from 0 to 2";
        assert!(refused.to_string().contains(why), "{refused}");
    }
}

#[test]
fn classes_are_numbers_that_there_are() {
    for reveal in ["class", "top-2"] {
        let mut told = changed("/plan/opening/reveal", json!(reveal));
        told["plan"]["opening"]["scores"] = json!([{"start": 0, "size": 4}]);
        told["output_fraction"] = Value::Null;
        let model = model(told).expect("a model");
        assert_eq!(model.finish(&[0, 3, 1, 2]), Ok(vec![0.0, 3.0, 1.0, 2.0]));
        for class in [-1, 4] {
            let refused = model.finish(&[0, 0, class, 0]);
            assert_eq!(refused, Err(Refusal::Class { class, classes: 4 }));
        }
    }
}

/// Two lines along the middle axis, each of `ln 1`, `ln 3`.
#[test]
fn functions_that_end_a_model_are_as_by_hand() {
    let end = |function: &str| {
        let mut told = described();
        let size = if function.starts_with("Arg") { 2 } else { 4 };
        told["plan"]["outputs"] = json!([{"name": "y", "start": 0, "revealed_shape": [2, 2], "shape": [size],
            "tail": [{"function": function, "outer": 1, "size": 2, "inner": 2}]}]);
        told["output_fraction"] = json!(40);
        let unit = 40f64.exp2();
        let opened = [0.0, 3f64.ln(), 3f64.ln(), 0.0].map(|v| (v * unit).round() as i64);
        model(told).expect("a model").finish(&opened)
    };
    let near = |function: &str, expected: &[f32]| {
        let found = end(function).expect("it fits");
        let close = found
            .iter()
            .zip(expected)
            .all(|(a, b)| (a - b).abs() < 1e-6);
        assert!(
            close && found.len() == expected.len(),
            "{function}: {found:?}"
        );
    };
    near("Softmax", &[0.25, 0.75, 0.75, 0.25]);
    near(
        "LogSoftmax",
        &[-1.386_294_4, -0.287_682_1, -0.287_682_1, -1.386_294_4],
    );
    near("Sigmoid", &[0.5, 0.75, 0.75, 0.5]);
    near("UnitSum", &[0.0, 1.0, 1.0, 0.0]);
    near("ArgMax", &[1.0, 0.0]);
    near("ArgMaxLast", &[1.0, 0.0]);
}

#[test]
fn descriptions_that_make_no_sense_are_refused() {
    let huge = json!([1u64 << 31, 1u64 << 31, 1u64 << 31]);
    for (path, value) in [
        ("/parties", json!(2)),
        ("/max_items", json!(0)),
        ("/input_fraction", json!(63)),
        ("/output_fraction", json!(63)),
        ("/output_fraction", Value::Null),
        ("/scheme", json!({"kind": "holders", "bits": 63})),
        ("/plan/modulus", json!(32)),
        ("/plan/inputs/0/shape", huge.clone()),
        ("/plan/inputs/0/kind", json!({"tokens": {"classes": 5}})),
        ("/plan/inputs/0/ranked", json!(true)),
        ("/plan/inputs/0/missing", json!({"places": [2], "bits": 0})),
        (
            "/plan/inputs/0/missing",
            json!({"places": [0, 0], "bits": 0}),
        ),
        ("/plan/inputs/0/missing", json!({"places": [], "bits": 0})),
        ("/plan/inputs/0/missing", json!({"places": [0], "bits": 58})),
        (
            "/plan/inputs/0/missing",
            json!({"places": [0], "bits": u32::MAX}),
        ),
        ("/plan/inputs/1/missing", json!({"places": [0], "bits": 0})),
        ("/plan/inputs", json!([])),
        ("/plan/outputs", json!([])),
        ("/plan/outputs/1/start", json!(u64::MAX >> 1)),
        ("/plan/outputs/0/revealed_shape", huge),
        ("/plan/outputs/0/shape", json!([3])),
        ("/plan/outputs/1/tail/0/size", json!(0)),
        ("/plan/outputs/1/tail/0/inner", json!(2)),
        ("/plan/opening/reveal", json!("everything")),
        ("/plan/opening/reveal", json!("class")),
    ] {
        let refused = model(changed(path, value)).expect_err(path);
        assert!(!refused.to_string().is_empty());
    }
    let mut empty = changed("/plan/inputs", json!([]));
    empty["plan"]["outputs"] = json!([]);
    assert!(model(empty).is_err());
    let unknown = changed("/plan/outputs/1/tail/0/function", json!("Cosine"));
    assert!(serde_json::from_value::<Described>(unknown).is_err());
}

proptest! {
    /// Whatever the parties describe of shapes and points, there is an answer or an error.
    #[test]
    fn hostile_descriptions_do_no_harm(axes in prop::collection::vec(0usize..5, 0..3), start in 0usize..6,
                                       fraction in 0u32..70, limit in any::<i64>(), x in prop::collection::vec(any::<f32>(), 0..9)) {
        let mut told = changed("/plan/inputs/0/shape", json!(axes));
        told["plan"]["outputs"][0]["start"] = json!(start);
        told["plan"]["inputs"][0]["limit"] = json!(limit);
        told["input_fraction"] = json!(fraction);
        if let Ok(model) = model(told) && let Ok((items, bodies)) = model.split(&x) {
            let answers: Vec<&[u8]> = bodies.iter().map(Vec::as_slice).collect();
            let _ = model.join(items, &answers);
        }
    }
}
