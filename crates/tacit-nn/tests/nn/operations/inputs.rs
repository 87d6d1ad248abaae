//! Models with several inputs, and inputs of whole numbers, truths and tokens.

use prost::Message;

use super::*;
use tacit_nn::Graph;
use tacit_nn::encode::EncodeError;
use tacit_nn::graph::{InputKind, Op};
use tacit_nn::onnx::{Fixed, ImportError, ImportOptions, import};
use tacit_nn::plan::{PlanOptions, plan};

/// An input with a free axis `N` where a size is 0.
fn input(name: &str, elem_type: i32, dims: &[i64]) -> ValueInfoProto {
    let dim = |&size: &i64| DimensionProto {
        dim_value: Some(size).filter(|&size| size > 0),
        dim_param: (size == 0).then(|| "N".into()),
    };
    let shape = Some(ShapeProto {
        dim: dims.iter().map(dim).collect(),
    });
    let tensor_type = Some(TensorTypeProto { elem_type, shape });
    ValueInfoProto {
        name: name.into(),
        r#type: Some(TypeProto { tensor_type }),
    }
}

fn of_inputs(
    inputs: Vec<ValueInfoProto>,
    nodes: Vec<NodeProto>,
    tensors: Vec<TensorProto>,
) -> ModelProto {
    let mut model = model(&[], nodes, tensors);
    model.graph.as_mut().expect("a graph").input = inputs;
    model
}

fn with_options(model: &ModelProto, options: &ImportOptions) -> Result<Graph, ImportError> {
    import(&model.encode_to_vec(), None, options)
}

fn kinds(model: &ModelProto) -> Vec<InputKind> {
    let graph = imported(model).unwrap_or_else(|e| panic!("{e}"));
    graph.inputs.iter().map(|input| input.kind).collect()
}

const FLOAT: i32 = data_type::FLOAT;
const INT: i32 = data_type::INT64;

/// `x + 2 state`, where the batch is the second axis of the state's file; one item a row.
#[test]
fn inputs_stand_behind_each_other_in_a_row() {
    let inputs = vec![input("x", FLOAT, &[0, 2]), input("state", FLOAT, &[3, 0])];
    let nodes = vec![
        node("Transpose", &["state"], "s", vec![list("perm", &[1, 0])]),
        node("ReduceSum", &["s", "axis"], "t", vec![]),
        node("Mul", &["t", "two"], "u", vec![]),
        node("Add", &["x", "u"], "y", vec![]),
    ];
    let tensors = vec![ints("axis", &[1], &[1]), tensor("two", &[], &[2.0])];
    let model = of_inputs(inputs, nodes, tensors);
    let graph = imported(&model).unwrap();
    let batches: Vec<usize> = graph.inputs.iter().map(|input| input.batch).collect();
    assert_eq!((batches, graph.input_shape()), (vec![0, 1], vec![5]));
    let x = [1.0, -1.0, 0.5, 0.25, 1.0, 2.0, 3.0, -1.0, 0.0, 1.0];
    follows(&model, &x, &[4.5, 2.5, 2.0, 3.0]);
}

/// Rows of two tables by one input of tokens, moved before; one of them chosen by a comparison of the token.
#[test]
fn tokens_choose_rows_of_tables() {
    let inputs = vec![input("ids", INT, &[0, 3]), input("x", FLOAT, &[0, 2])];
    let nodes = vec![
        node("Slice", &["ids", "from", "to", "axes"], "some", vec![]),
        node("Gather", &["table", "some"], "rows", vec![]),
        node("ReduceSum", &["rows", "one"], "sum", vec![]),
        node("Equal", &["ids", "pad"], "pads", vec![]),
        node("Cast", &["pads"], "padding", vec![int("to", 1)]),
        node("ReduceSum", &["padding", "one"], "count", vec![]),
        node("Add", &["sum", "x"], "z", vec![]),
        node("Sub", &["z", "count"], "y", vec![]),
    ];
    let table = tensor("table", &[4, 2], &[1., 2., 3., 4., 5., -6., 7., 8.]);
    let tensors = vec![
        table,
        ints("from", &[1], &[1]),
        ints("to", &[1], &[3]),
        ints("axes", &[1], &[1]),
        ints("one", &[1], &[1]),
        ints("pad", &[], &[3]),
    ];
    let mut nodes = nodes;
    // The sum of padding keeps its axis, to meet both columns.
    nodes[2].attribute = vec![int("keepdims", 0)];
    let model = of_inputs(inputs, nodes, tensors);
    let tokens = InputKind::Tokens { classes: 4 };
    assert_eq!(kinds(&model), [InputKind::Numbers, tokens]);
    // Tokens stand last: x, then ids.
    let x = [0.5, -0.5, 0.0, 1.0, 2.0, 1.0, 1.0, 3.0, 3.0, 0.0];
    follows(&model, &x, &[8.5, -2.5, 7.0, 9.0]);
}

/// Columns of one input choose from tables of their own, each up to its size: embeddings of categories.
#[test]
fn columns_choose_from_tables_of_their_own() {
    let column = |at: i64| {
        node(
            "Gather",
            &["ids", &format!("{at}")],
            &format!("c{at}"),
            vec![int("axis", 1)],
        )
    };
    let nodes = vec![
        column(0),
        column(1),
        node("Gather", &["small", "c0"], "a", vec![]),
        node("Gather", &["large", "c1"], "b", vec![]),
        node("Add", &["a", "b"], "y", vec![]),
    ];
    let tensors = || {
        vec![
            tensor("small", &[2, 1], &[1., 2.]),
            tensor("large", &[4, 1], &[10., 20., 30., 40.]),
            ints("0", &[], &[0]),
            ints("1", &[], &[1]),
        ]
    };
    let model = of_inputs(vec![input("ids", INT, &[0, 3])], nodes, tensors());
    let graph = imported(&model).unwrap_or_else(|e| panic!("{e}"));
    let ids = &graph.inputs[0];
    assert_eq!(ids.kind, InputKind::Tokens { classes: 4 });
    // The third column is not read.
    assert_eq!(ids.limits, [2, 4, 4]);
    follows(&model, &[0., 3., 3., 1., 0., 0.], &[41., 12.]);
    let plan = plan(&graph, &PlanOptions::default()).expect("it fits");
    assert!(plan.encode_input(&[1., 3., 0.], &[1, 3]).is_ok());
    let error = plan
        .encode_input(&[2., 3., 0.], &[1, 3])
        .expect_err("no such row");
    let told = error.to_string();
    assert!(
        told.contains("position [0]") && told.contains("from 0 to 1"),
        "{told}"
    );
    // Only the tokens of a column are looked up for it.
    let looked_up = graph.nodes.iter().filter_map(|node| match &node.op {
        Op::Lookup(lookup) if lookup.n == 1 && node.name.contains("rows") => Some(lookup.tokens),
        _ => None,
    });
    assert_eq!(looked_up.collect::<Vec<_>>(), [1, 1]);
}

/// Columns that share a table, each from a row of its own on.
#[test]
fn columns_begin_at_rows_of_one_table() {
    let nodes = vec![
        node("Add", &["ids", "starts"], "rows", vec![]),
        node("Gather", &["table", "rows"], "chosen", vec![]),
        node(
            "ReduceSum",
            &["chosen", "one"],
            "y",
            vec![int("keepdims", 0)],
        ),
    ];
    let model = |starts: &[i64]| {
        let tensors = vec![
            tensor("table", &[5, 2], &[1., 2., 3., 4., 5., 6., 7., 8., 9., 10.]),
            ints("starts", &[2], starts),
            ints("one", &[1], &[1]),
        ];
        of_inputs(vec![input("ids", INT, &[0, 2])], nodes.clone(), tensors)
    };
    let graph = imported(&model(&[0, 2])).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(graph.inputs[0].limits, [5, 3]);
    follows(&model(&[0, 2]), &[1., 0., 4., 2.], &[8., 10., 18., 20.]);
    let refused = imported(&model(&[0, 5]))
        .expect_err("no row is there")
        .to_string();
    assert!(
        refused.contains("begin at 5, beyond a table of 5 rows"),
        "{refused}"
    );
}

/// Whole numbers that are bounded choose rows, whatever is given.
#[test]
fn bounded_numbers_choose_rows() {
    let nodes = vec![
        node("Clip", &["ids", "least", "most"], "bounded", vec![]),
        node("Gather", &["table", "bounded"], "y", vec![]),
    ];
    let tensors = vec![
        ints("least", &[], &[0]),
        ints("most", &[], &[2]),
        tensor("table", &[3, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
    ];
    let model = of_inputs(vec![input("ids", INT, &[0, 3])], nodes, tensors);
    assert_eq!(kinds(&model), [InputKind::Integers]);
    let expected = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    follows(&model, &[-4.0, 1.0, 9.0], &expected);
}

/// Columns of a matrix of floats that are cast to whole numbers stay numbers beside others, each with its own limit.
#[test]
fn categories_among_numbers_choose_rows() {
    let columns = |name: &str, first: i64| {
        let tensors = [
            ints(&format!("{name} first"), &[1], &[first]),
            ints(&format!("{name} end"), &[1], &[first + 1]),
        ];
        let inputs = ["x", &tensors[0].name, &tensors[1].name, "axis"];
        (node("Slice", &inputs, name, vec![]), tensors)
    };
    let (size, of_size) = columns("size", 0);
    let (a, of_a) = columns("a", 1);
    let (b, of_b) = columns("b", 2);
    let nodes = vec![
        size,
        a,
        b,
        node("Cast", &["a"], "whole a", vec![int("to", i64::from(INT))]),
        node("Cast", &["b"], "whole b", vec![int("to", i64::from(INT))]),
        node("Gather", &["three", "whole a"], "of a", vec![]),
        node("Gather", &["two", "whole b"], "of b", vec![]),
        node("Add", &["of a", "of b"], "of both", vec![]),
        node("Mul", &["of both", "size"], "y", vec![]),
    ];
    let mut tensors = vec![
        ints("axis", &[1], &[1]),
        tensor("three", &[3], &[1.0, 2.0, 4.0]),
        tensor("two", &[2], &[10.0, 20.0]),
    ];
    tensors.extend([of_size, of_a, of_b].into_iter().flatten());
    let model = of_inputs(vec![input("x", FLOAT, &[0, 3])], nodes, tensors);
    let graph = imported(&model).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(graph.inputs[0].kind, InputKind::Numbers);
    assert_eq!(graph.inputs[0].limits, [0, 3, 2]);
    follows(&model, &[0.5, 2.0, 1.0, -1.5, 0.0, 0.0], &[12.0, -16.5]);
    let plan = plan(&graph.optimise(), &PlanOptions::default()).unwrap();
    let error = plan.encode_input(&[0.5, 1.0, 2.0], &[1, 3]).unwrap_err();
    assert!(matches!(error, EncodeError::Kind { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("whole numbers from 0 to 1"), "{text}");
    let read = tacit_nn::Plan::from_bytes(&plan.to_bytes()).unwrap();
    assert_eq!(read.inputs[0].input.limits, [0, 3, 2]);
}

#[test]
fn one_hot_rows_and_the_smaller_of_two_tables() {
    let inputs = vec![input("ids", INT, &[0, 2])];
    let nodes = vec![
        node("OneHot", &["ids", "depth", "values"], "h", vec![]),
        node("Gather", &["table", "ids"], "t", vec![]),
        node("Add", &["h", "t"], "y", vec![]),
    ];
    let tensors = vec![
        ints("depth", &[1], &[3]),
        tensor("values", &[2], &[-1.0, 4.0]),
        tensor("table", &[2, 3], &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]),
    ];
    let model = of_inputs(inputs, nodes, tensors);
    assert_eq!(kinds(&model), [InputKind::Tokens { classes: 2 }]);
    let expected = [2.0, 8.0, 4.0, 4.0, 0.0, 1.0, 4.0, 0.0, 1.0, 4.0, 0.0, 1.0];
    follows(&model, &[1.0, 0.0, 0.0, 0.0], &expected);
}

/// A mask of an input, as exporters write it: minus the largest float where it is 0.
#[test]
fn a_secret_mask_leaves_out_terms_of_a_softmax() {
    let sums = |mask: Vec<NodeProto>| {
        let inputs = vec![input("x", FLOAT, &[0, 3]), input("mask", INT, &[0, 3])];
        let soft = [
            node("Add", &["x", "m"], "s", vec![]),
            node("Softmax", &["s"], "p", vec![int("axis", -1)]),
            node("Mul", &["p", "v"], "y", vec![]),
        ];
        let tensors = vec![
            tensor("one", &[], &[1.0]),
            tensor("least", &[], &[f32::MIN]),
            tensor("zero", &[], &[0.0]),
            tensor("v", &[3], &[1.0, 10.0, 20.0]),
        ];
        of_inputs(inputs, [mask, soft.to_vec()].concat(), tensors)
    };
    let to = |kind| vec![int("to", i64::from(kind))];
    let by_product = sums(vec![
        node("Cast", &["mask"], "f", to(FLOAT)),
        node("Sub", &["one", "f"], "hidden", vec![]),
        node("Mul", &["hidden", "least"], "m", vec![]),
    ]);
    let by_choice = sums(vec![
        node("Cast", &["mask"], "f", to(data_type::BOOL)),
        node("Where", &["f", "zero", "least"], "m", vec![]),
    ]);
    let x = [0.0, 0.0, 7.0, 1.0, 1.0, 0.0, 3.0, 3.0, 3.0, 1.0, 1.0, 1.0];
    let third = 1.0 / 3.0;
    let expected = [0.5, 5.0, 0.0, third, 10.0 * third, 20.0 * third];
    for model in [by_product, by_choice] {
        assert_eq!(kinds(&model), [InputKind::Numbers, InputKind::Truths]);
        let graph = imported(&model).unwrap().optimise();
        let output = reference::predict(&graph, &x).unwrap();
        assert!(distance(&output, &expected) < 1e-5, "{output:?}");
        let options = PlanOptions::default();
        let plan = plan(&graph, &options).unwrap();
        let fixed = run_fixed(&plan, &graph, &x);
        assert!(distance(&fixed, &expected) < 1e-2, "{fixed:?}");
    }
}

/// A mask that something else than a softmax sees is what the file says, which no plan holds.
#[test]
fn a_mask_that_is_an_output_stays_as_it_is() {
    let inputs = vec![input("x", FLOAT, &[0, 3]), input("mask", INT, &[0, 3])];
    let nodes = vec![
        node("Cast", &["mask"], "f", vec![int("to", i64::from(FLOAT))]),
        node("Mul", &["f", "least"], "m", vec![]),
        node("Add", &["x", "m"], "y", vec![]),
    ];
    let model = of_inputs(inputs, nodes, vec![tensor("least", &[], &[-1e30])]);
    let graph = imported(&model).unwrap().optimise();
    let error = plan(&graph, &PlanOptions::default()).unwrap_err();
    assert!(error.to_string().contains("layer"), "{error}");
}

/// Numbers that an input does not have are refused with their place, each by its own kind.
#[test]
fn what_an_input_does_not_take_is_refused() {
    let inputs = vec![
        input("whole", INT, &[0, 1]),
        input("truth", data_type::BOOL, &[0, 1]),
        input("ids", INT, &[0, 2]),
    ];
    let nodes = vec![
        node("Cast", &["whole"], "w", vec![int("to", 1)]),
        node("Cast", &["truth"], "t", vec![int("to", 1)]),
        node("Gather", &["table", "ids"], "r", vec![]),
        node("Add", &["w", "t"], "s", vec![]),
        node("Add", &["r", "s"], "y", vec![]),
    ];
    let model = of_inputs(inputs, nodes, vec![tensor("table", &[3], &[1., 2., 3.])]);
    let graph = imported(&model).unwrap().optimise();
    let plan = plan(&graph, &PlanOptions::default()).unwrap();
    let encoded = |row: [f32; 4]| plan.encode_input(&row, &[1, 4]);
    assert_eq!(encoded([-3.0, 1.0, 0.0, 2.0]).unwrap().len(), 8);
    let refused = |row, takes: &str| {
        let error = encoded(row).unwrap_err();
        assert!(matches!(error, EncodeError::Kind { .. }), "{error}");
        assert!(error.to_string().contains(takes), "{error}");
    };
    refused(
        [0.5, 1.0, 0.0, 2.0],
        "[0], of the input 'whole' is 0.5; it takes whole",
    );
    refused([0.0, 2.0, 0.0, 2.0], "'truth' is 2; it takes 0 or 1");
    refused(
        [0.0, 0.0, 0.0, 3.0],
        "[1], of the input 'ids' is 3; it takes whole numbers from 0 to 2",
    );
    refused([0.0, 0.0, -1.0, 0.0], "'ids' is -1");
    refused([0.0, 0.0, f32::NAN, 0.0], "'ids' is NaN");
    let beyond = encoded([9.0, 1.0, 0.0, 2.0]).unwrap_err();
    assert!(matches!(beyond, EncodeError::Value { .. }), "{beyond}");
}

#[test]
fn inputs_that_are_fixed_are_constants() {
    let inputs = vec![input("x", FLOAT, &[0, 2]), input("scale", INT, &[])];
    let nodes = vec![
        node("Cast", &["scale"], "s", vec![int("to", 1)]),
        node("Mul", &["x", "s"], "y", vec![]),
    ];
    let model = of_inputs(inputs, nodes, vec![]);
    let fix = |name: &str, value| ImportOptions {
        fix: [(name.to_string(), Fixed::Everywhere(value))].into(),
        ..ImportOptions::default()
    };
    let graph = with_options(&model, &fix("scale", 3.0)).unwrap();
    assert_eq!(graph.inputs.len(), 1);
    assert_eq!(reference::predict(&graph, &[1.0, 2.0]).unwrap(), [3.0, 6.0]);
    let refused = |options: &ImportOptions, part: &str| {
        let error = with_options(&model, options).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    };
    refused(&fix("scale", 0.5), "0.5 is no int64");
    let mut both = fix("scale", 1.0);
    both.fix.extend(fix("x", 1.0).fix);
    refused(&both, "all its inputs are fixed");
    refused(&fix("other", 1.0), "no input of this name");
    refused(
        &ImportOptions::default(),
        "'scale' cannot be used: it has no batch axis",
    );
}

#[test]
fn indices_that_no_protocol_has_are_refused() {
    let table = || tensor("table", &[3, 2], &[1., 2., 3., 4., 5., 6.]);
    let refused = |inputs, nodes, part: &str| {
        let model = of_inputs(inputs, nodes, vec![table(), tensor("two", &[], &[2.0])]);
        let error = imported(&model).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    };
    let ids = || input("ids", INT, &[0, 2]);
    let gather = |data, axis| node("Gather", &[data, "ids"], "y", vec![int("axis", axis)]);
    refused(vec![ids()], vec![gather("table", 1)], "along axis 1");
    refused(
        vec![ids(), input("x", FLOAT, &[0, 3])],
        vec![gather("x", 0)],
        "both its data and its indices are computed",
    );
    refused(
        vec![input("x", FLOAT, &[0, 2])],
        vec![node("Relu", &["x"], "ids", vec![]), gather("table", 0)],
        "no whole numbers by how they are made",
    );
    refused(
        vec![input("x", FLOAT, &[0, 2])],
        vec![node("Floor", &["x"], "ids", vec![]), gather("table", 0)],
        "beyond a table of 3 rows",
    );
    refused(
        vec![input("ids", FLOAT, &[0, 2])],
        vec![gather("table", 0)],
        "no whole numbers",
    );
    let twice = vec![ids(), ids()];
    refused(twice, vec![gather("table", 0)], "two inputs have this name");
    // So many tokens of so many rows would be shared as 2^33 numbers.
    let many = vec![input("ids", INT, &[0, 1 << 20])];
    let rows = node("OneHot", &["ids", "depth", "both"], "h", vec![]);
    let first = node("Slice", &["h", "from", "to"], "y", vec![]);
    let tensors = vec![
        ints("depth", &[], &[1 << 13]),
        tensor("both", &[2], &[0.0, 1.0]),
        ints("from", &[2], &[0, 0]),
        ints("to", &[2], &[1, 1]),
    ];
    let error = imported(&of_inputs(many, vec![rows, first], tensors)).unwrap_err();
    assert!(
        error.to_string().contains("more than 268435456 elements"),
        "{error}"
    );
    let nothing = vec![node("Relu", &["two"], "y", vec![])];
    refused(vec![ids()], nothing, "does not depend on the model's input");
}
