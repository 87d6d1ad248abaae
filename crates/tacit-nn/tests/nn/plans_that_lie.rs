//! Plans that lie: each is refused when it is read, by an error that says where.

use crate::common::*;
use tacit_nn::Graph;
use tacit_nn::graph::{Input, InputKind, Lookup, Missing, Node, Op, Output, Texts};
use tacit_nn::plan::{Keys, LayerOp, Modulus, Plan, PlanOptions, Precision, plan};
use tacit_protocols::signs::SIGNS;

fn a_plan() -> Plan {
    let graph = imported(&network())
        .unwrap_or_else(|e| panic!("{e}"))
        .optimise();
    plan(&graph, &PlanOptions::default()).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn plans_travel_without_weights_or_ranges() {
    let plan = a_plan();
    let bytes = plan.to_bytes();
    let back = Plan::from_bytes(&bytes).expect("its own bytes");
    assert_eq!(back.to_bytes(), bytes);
    let text = String::from_utf8(bytes).unwrap();
    assert!(
        !text.contains("range") && !text.contains("warnings") && !text.contains('.'),
        "{text}"
    );
}

/// A row of a table for each of two tokens beside a number.
fn with_tokens() -> Plan {
    let input = |name: &str, len, kind| Input {
        kind,
        ..Input::numbers(name, &[len])
    };
    let tokens = InputKind::Tokens { classes: 3 };
    let lookup = Lookup {
        input: 1,
        start: 1,
        tokens: 2,
        classes: 3,
        n: 2,
        table: vec![0.5; 6].into(),
    };
    let graph = Graph {
        inputs: vec![input("x", 1, InputKind::Numbers), input("ids", 2, tokens)],
        nodes: vec![Node {
            name: "rows".into(),
            op: Op::Lookup(lookup),
            inputs: vec![0],
            shape: vec![2, 2],
        }],
        output: 1,
        outputs: vec![Output::whole("y", &[2, 2])],
        remarks: vec![],
    };
    plan(&graph, &PlanOptions::default()).expect("it fits")
}

#[test]
fn inputs_that_lie() {
    let plan = with_tokens();
    assert_eq!((plan.given_len(), plan.input_len()), (3, 7));
    assert!(Plan::from_bytes(&plan.to_bytes()).is_ok());
    let with = |change: &dyn Fn(&mut Plan), part: &str| {
        let mut plan = with_tokens();
        change(&mut plan);
        let read = Plan::from_bytes(&plan.to_bytes());
        let text = read.expect_err("must be refused").to_string();
        assert!(text.contains(part), "'{text}' does not say '{part}'");
    };
    let lookup = |start, tokens, k| {
        move |p: &mut Plan| {
            p.layers[0].op = LayerOp::Lookup {
                start,
                tokens,
                k,
                n: 2,
            };
        }
    };
    with(&lookup(0, 2, 3), "no tokens of an input");
    with(&lookup(2, 2, 3), "tokens do not fit");
    with(&lookup(1, 2, 2), "no tokens of an input");
    with(&lookup(usize::MAX, 2, 3), "tokens do not fit");
    with(&lookup(1, usize::MAX, 3), "out of bounds");
    with(&lookup(1, 2, 0), "out of bounds");
    let tokens = |classes| InputKind::Tokens { classes };
    with(&|p| p.inputs[1].input.kind = tokens(2), "tokens do not fit");
    with(
        &|p| p.inputs[1].input.kind = tokens(4),
        "no tokens of an input",
    );
    with(&|p| p.inputs[1].input.kind = tokens(0), "out of bounds");
    with(
        &|p| p.inputs[1].input.kind = tokens(usize::MAX),
        "out of bounds",
    );
    with(
        &|p| p.inputs[1].input.kind = InputKind::Integers,
        "do not fit",
    );
    for limits in [vec![3], vec![3, 4], vec![0, 3], vec![3; 3]] {
        with(
            &|p| p.inputs[1].input.limits.clone_from(&limits),
            "limits of an input",
        );
    }
    // Of numbers a limit says how many categories one of them is, 0 of every other.
    let mut plan = with_tokens();
    plan.inputs[0].input.limits = vec![2];
    assert!(Plan::from_bytes(&plan.to_bytes()).is_ok());
    for limits in [vec![1; 2], vec![(1 << 20) + 1], vec![usize::MAX]] {
        with(
            &|p| p.inputs[0].input.limits.clone_from(&limits),
            "limits of an input",
        );
    }
    // A mark is a number more, and fits the ring with its fraction bits.
    let missing = |places: &[usize], bits| {
        let places = places.to_vec();
        move |p: &mut Plan| {
            p.inputs[0].input.missing = Some(Missing {
                places: places.clone(),
                bits,
            })
        }
    };
    let mut plan = with_tokens();
    plan.layers[0].op = LayerOp::Lookup {
        start: 2,
        tokens: 2,
        k: 3,
        n: 2,
    };
    missing(&[0], 3)(&mut plan);
    assert_eq!((plan.given_len(), plan.input_len()), (3, 8));
    let fraction = plan.fraction_bits;
    let read = Plan::from_bytes(&plan.to_bytes());
    assert!(read.is_ok(), "{read:?}");
    for (places, bits) in [
        (&[][..], 0),
        (&[1], 0),
        (&[0, 0], 0),
        (&[usize::MAX], 0),
        (&[0], 63 - fraction),
        (&[0], u32::MAX),
    ] {
        with(&missing(places, bits), "may be missing");
    }
    with(
        &|p| {
            p.inputs[1].input.missing = Some(Missing {
                places: vec![0],
                bits: 0,
            })
        },
        "may be missing",
    );
    with(
        &|p| {
            missing(&[0], 0)(p);
            p.inputs[0].input.limits = vec![2];
        },
        "may be missing",
    );
    with(
        &|p| p.inputs[0].input.kind = InputKind::Marks { bits: 0 },
        "marks alone",
    );
    let texts = |known: &'static [&str], others| {
        let known = known.iter().map(|text| text.to_string()).collect();
        move |p: &mut Plan| p.inputs[1].input.texts = Some(Texts { known, others })
    };
    let mut plan = with_tokens();
    texts(&["a", "b"], true)(&mut plan);
    assert!(Plan::from_bytes(&plan.to_bytes()).is_ok());
    for (known, others) in [
        (&["a", "b"][..], false),
        (&["b", "a", "c"], false),
        (&["a", "a"], true),
        (&[], true),
    ] {
        let change = |p: &mut Plan| texts(known, others)(p);
        with(&change, "texts of an input do not fit");
    }
    let escape = |p: &mut Plan| texts(&["a", "\u{1b}"], true)(p);
    with(&escape, "control characters");
    with(&|p| p.inputs[0].input.batch = 2, "the batch as axis 2");
    with(&|p| p.inputs[1].limit = 1 << 63, "input limit");
    with(&|p| p.inputs.clear(), "it has 0 inputs");
    let many = |p: &mut Plan| p.inputs = vec![p.inputs[0].clone(); 1000];
    with(&many, "it has 1000 inputs");
    with(
        &|p| p.inputs[0].input.name = "\n".into(),
        "a name is too long",
    );
}

#[test]
fn plans_that_lie() {
    let with = |change: &dyn Fn(&mut Plan), part: &str| {
        let mut plan = a_plan();
        change(&mut plan);
        let text = Plan::from_bytes(&plan.to_bytes())
            .expect_err("must be refused")
            .to_string();
        assert!(text.contains(part), "'{text}' does not say '{part}'");
    };
    with(&|p| p.modulus = Modulus::PowerOfTwo(48), "48 bits");
    with(&|p| p.fraction_bits = 63, "63 fraction bits");
    with(&|p| p.compare_bits = 8, "compares 8 bits");
    with(
        &|p| (p.modulus, p.compare_bits) = (Modulus::Mersenne(61), 32),
        "compares 32 bits",
    );
    with(&|p| p.inputs[0].limit = -1, "input limit");
    with(&|p| p.output = 99, "output");
    with(&|p| p.outputs[0].revealed_shape = vec![7], "revealed shape");
    with(&|p| p.outputs[0].shape = vec![7], "output shape");
    with(
        &|p| p.inputs[0].input.shape = vec![usize::MAX, 2],
        "out of bounds",
    );
    with(&|p| p.layers[0].inputs = vec![5], "no earlier layer");
    with(&|p| p.layers[0].inputs = vec![], "0 inputs");
    with(&|p| p.layers[1].inputs = vec![2], "no earlier layer");
    with(&|p| p.layers[0].trunc = 70, "scales");
    let lie = |layer: usize, keys: Keys| {
        with(&|p| p.layers[layer].keys = keys, "it has the key bits");
    };
    let keys = |layer: usize, dropped, kept| {
        let width = u32::MAX;
        lie(
            layer,
            Keys {
                dropped,
                kept,
                width,
            },
        );
    };
    keys(0, 0, 5); // a convolution takes no signs
    keys(1, 0, 0);
    keys(1, 0, 32);
    keys(1, 60, 2);
    keys(1, u32::MAX, u32::MAX - 1);
    for (layer, width) in [(0, 20), (1, 0), (1, 65), (1, u32::MAX - 1)] {
        let (dropped, kept) = (0, u32::MAX);
        lie(
            layer,
            Keys {
                dropped,
                kept,
                width,
            },
        );
    }
    with(
        &|p| (p.modulus, p.compare_bits) = (Modulus::Mersenne(61), 61),
        "it has the key bits",
    );
    with(&|p| p.layers[0].name = "a\nb".into(), "a name");
    with(
        &|p| p.layers[1].name = p.layers[0].name.clone(),
        "two layers have the name",
    );
    with(&|p| p.layers[0].shape = vec![3], "stands between");
    with(&|p| p.outputs[0].tail[0].size = 0, "out of bounds");
    let conv = |change: &dyn Fn(&mut tacit_nn::graph::ConvGeometry), part: &str| {
        with(
            &|p| {
                if let LayerOp::Conv { geometry, .. } = &mut p.layers[0].op {
                    change(geometry);
                }
            },
            part,
        );
    };
    conv(&|g| g.stride[0] = 0, "out of bounds");
    conv(&|g| g.kernel[1] = 1 << 24, "larger than its input");
    conv(&|g| g.groups = 3, "groups");
    conv(&|g| g.pad[0] = usize::MAX, "out of bounds");
    conv(&|g| g.filters = 1 << 24, "stands between");
    conv(&|g| g.filters = 1 << 25, "out of bounds");
    with(
        &|p| {
            if let LayerOp::MaxPool(pool) = &mut p.layers[1].op {
                pool.pad[0] = 1 << 20;
            }
        },
        "one of its windows is empty",
    );
    with(
        &|p| {
            if let LayerOp::Conv { geometry, .. } = &mut p.layers[0].op {
                (geometry.channels, geometry.groups) = (0, 0);
            }
        },
        "out of bounds",
    );
    assert!(Plan::from_bytes(b"{}").is_err());
    assert!(Plan::from_bytes(b"[1e999").is_err());
}

/// A plan with widths is read no less carefully: its groups, by which the taps are divided.
#[test]
fn a_division_by_no_groups_is_refused_before_it_is_made() {
    let graph = imported(&network()).unwrap_or_else(|e| panic!("{e}"));
    let options = PlanOptions {
        precision: Some(Precision::Auto),
        ..PlanOptions::default()
    };
    let plan = plan(&graph.optimise(), &options).unwrap_or_else(|e| panic!("{e}"));
    let text = String::from_utf8(plan.to_bytes()).expect("JSON");
    let hostile = text.replace("\"groups\":1", "\"groups\":0");
    assert_ne!(text, hostile);
    let error = Plan::from_bytes(hostile.as_bytes()).expect_err("refused");
    assert!(error.to_string().contains("layer 'the Conv'"), "{error}");
}

/// Some 2 KB that ask for hundreds of gigabytes: a window as large as what it slides over.
#[test]
fn a_small_plan_that_asks_for_much_memory_is_refused_when_it_is_read() {
    let pool = vec![list("kernel_shape", &[2, 2]), list("strides", &[2, 2])];
    let nodes = vec![node("MaxPool", &["x"], "y", pool)];
    let graph = imported(&model(&[1, 8, 8], nodes, vec![])).unwrap_or_else(|e| panic!("{e}"));
    let mut plan = plan(&graph, &PlanOptions::default()).unwrap_or_else(|e| panic!("{e}"));
    assert!(Plan::from_bytes(&plan.to_bytes()).is_ok());
    // 3 x 3 windows of 5000 x 5000 each: 225 million elements, of every one of which a sign is taken.
    let (side, window) = (5002, 5000);
    (plan.inputs[0].input.shape, plan.layers[0].shape) = (vec![1, side, side], vec![1, 3, 3]);
    (plan.outputs[0].revealed_shape, plan.outputs[0].shape) = (vec![1, 3, 3], vec![1, 3, 3]);
    if let LayerOp::MaxPool(pool) = &mut plan.layers[0].op {
        (pool.height, pool.width) = (side, side);
        (pool.kernel, pool.stride, pool.out) = ([window; 2], [1; 2], [3; 2]);
    }
    let bytes = plan.to_bytes();
    assert!(bytes.len() < 2_000, "{}", bytes.len());
    let error = Plan::from_bytes_within(&bytes, 1 << 30, SIGNS).expect_err("refused");
    let error = error.to_string();
    for words in ["layer 'the MaxPool'", "GB", "at most 1.07 GB"] {
        assert!(error.contains(words), "{error}");
    }
    let most = plan.item_bytes();
    assert!(Plan::from_bytes_within(&bytes, most, SIGNS).is_ok());
    assert!(Plan::from_bytes_within(&bytes, most - 1, SIGNS).is_err());
}

/// Windows that all have something in them are found to without a look at every tap of every window. Taps that step over the input, so that windows in between may be empty, are of few windows.
#[test]
fn empty_windows_are_found_without_a_look_at_each() {
    let pool = vec![list("kernel_shape", &[2, 1]), list("strides", &[1, 1])];
    let nodes = vec![node("MaxPool", &["x"], "y", pool)];
    let graph = imported(&model(&[1, 4, 1], nodes, vec![])).unwrap_or_else(|e| panic!("{e}"));
    let plan = plan(&graph, &PlanOptions::default()).unwrap_or_else(|e| panic!("{e}"));
    let read = |height: usize, kernel: usize, dilation: usize, pad: usize, out: usize| {
        let mut plan = plan.clone();
        (plan.inputs[0].input.shape, plan.layers[0].shape) = (vec![1, height, 1], vec![1, out, 1]);
        (plan.outputs[0].revealed_shape, plan.outputs[0].shape) =
            (vec![1, out, 1], vec![1, out, 1]);
        if let LayerOp::MaxPool(pool) = &mut plan.layers[0].op {
            (pool.height, pool.kernel[0], pool.out[0]) = (height, kernel, out);
            (pool.dilation[0], pool.pad) = (dilation, [pad, 0, pad, 0]);
        }
        let read = Plan::from_bytes_within(&plan.to_bytes(), u64::MAX, SIGNS);
        read.map(|_| ()).map_err(|error| error.to_string())
    };
    let side = 1 << 14;
    assert_eq!(read(side, side, 1, side - 1, side), Ok(()));
    let refused = read(side, side, 1, side, side).expect_err("the first has nothing");
    assert!(refused.contains("one of its windows is empty"), "{refused}");
    assert_eq!(read(3, 2, 4, 3, 2), Ok(()));
    let refused = read(1 << 17, 2, 1 << 18, 1 << 17, 1 << 17).expect_err("too many");
    assert!(
        refused.contains("further apart than its input"),
        "{refused}"
    );
}

/// Ranks are of numbers, not of tokens, and none is beyond that of the largest float.
#[test]
fn ranks_that_cannot_be_are_refused() {
    let refused = |plan: Plan| {
        let error = Plan::from_bytes(&plan.to_bytes()).expect_err("it lies");
        assert!(error.to_string().contains("ranks"), "{error}");
    };
    let mut of_tokens = with_tokens();
    of_tokens.inputs[1].ranked = true;
    refused(of_tokens);
    let mut beyond = a_plan();
    beyond.inputs[0].ranked = true;
    beyond.inputs[0].limit = i64::from(f32::MAX.to_bits());
    assert!(Plan::from_bytes(&beyond.to_bytes()).is_ok());
    beyond.inputs[0].limit += 1;
    refused(beyond);
}

/// An inverse may have fraction bits of its own, more than the plan's and fewer than the ring's; another function has
/// those of the plan.
#[test]
fn functions_with_scales_that_they_cannot_have_are_refused() {
    let planned = |function: &str| {
        let nodes = vec![
            node("Relu", &["x"], "p", vec![]),
            node("Add", &["p", "c"], "s", vec![]),
            node(function, &["s"], "r", vec![]),
            node("Mul", &["x", "r"], "y", vec![]),
        ];
        let model = model(&[2], nodes, vec![tensor("c", &[], &[1.0])]);
        let graph = imported(&model).unwrap_or_else(|e| panic!("{e}"));
        plan(&graph, &PlanOptions::default()).unwrap_or_else(|e| panic!("{e}"))
    };
    let with = |function: &str, more: i32| {
        let mut plan = planned(function);
        let own = plan.fraction_bits.checked_add_signed(more);
        plan.layers[2].own_fraction = own;
        assert!(matches!(plan.layers[2].op, LayerOp::Function(_)));
        Plan::from_bytes(&plan.to_bytes()).map_err(|error| error.to_string())
    };
    assert!(with("Reciprocal", 1).is_ok());
    for (function, more) in [
        ("Reciprocal", 0),
        ("Reciprocal", -1),
        ("Reciprocal", 64),
        ("Sigmoid", 1),
        ("Exp", 1),
        ("Tanh", 8),
        ("Sqrt", 1),
    ] {
        let error = with(function, more).expect_err("it lies");
        assert!(
            error.contains("its results have Some"),
            "{function}: {error}"
        );
    }
}
