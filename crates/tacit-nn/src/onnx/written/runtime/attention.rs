//! Attention of several heads: scaled products of queries and keys, a softmax, and the values by its shares.

use super::super::super::call::{Fault, bad, unsupported};
use super::{Definition, Written, int, ints};

/// Attention: of queries, keys and values that one product with weights gives, side by side.
pub(super) fn packed(written: &Written) -> Result<Definition, Fault> {
    let names = [
        "input",
        "weights",
        "bias",
        "mask_index",
        "past",
        "attention_bias",
    ];
    let mut d = Definition::new(&names, &["output"]);
    refuse(written, &[(4, "a cache"), (6, "a cache")], 1)?;
    if written.int("do_rotary", 0) != 0 {
        return unsupported("its 'do_rotary' is not 0");
    }
    let Some(&[_, all]) = written.sizes(1) else {
        return unsupported("its weights are no matrix of the file");
    };
    d.lines("product = MatMul input weights");
    let bias = written.has_input(5).then_some("attention_bias");
    of_product(&mut d, written, all, (3, bias))?;
    Ok(d)
}

/// QAttention: attention of queries, keys and values that one product of integers gives.
pub(super) fn quantised(written: &Written) -> Result<Definition, Fault> {
    let names = ["A", "B", "bias", "As", "Bs", "mask_index", "Az", "Bz"];
    let mut d = Definition::new(&names, &["output"]);
    refuse(written, &[(8, "a cache")], 1)?;
    if written.int("do_rotary", 0) != 0 {
        return unsupported("its 'do_rotary' is not 0");
    }
    let Some(&[_, all]) = written.sizes(1) else {
        return unsupported("its weights are no matrix of the file");
    };
    super::quantised::product(&mut d, "product");
    of_product(&mut d, written, all, (5, None))?;
    Ok(d)
}

/// Attention from the `product` of rows with weights of so many columns, a mask of keys being that input.
fn of_product(
    d: &mut Definition,
    written: &Written,
    columns: i64,
    (mask, bias): (usize, Option<&str>),
) -> Result<(), Fault> {
    let given = written.attribute("qkv_hidden_sizes");
    let sizes = match given.map(|a| a.ints.as_slice()) {
        None if columns % 3 == 0 => [columns / 3; 3],
        Some(&[q, k, v])
            if q > 0 && q == k && v > 0 && q.checked_mul(2) == columns.checked_sub(v) =>
        {
            [q, k, v]
        }
        _ => {
            return bad(format!(
                "its {columns} columns are no queries, keys and values"
            ));
        }
    };
    d.lines(match written.has_input(2) {
        true => "all = Add product bias",
        false => "all = Identity product",
    });
    split(d, written, ("all", -1), ["query", "key", "value"], sizes);
    let mask = written.has_input(mask).then_some((mask, "mask_index"));
    heads(d, written, None, (mask, bias))
}

/// MultiHeadAttention: of queries, keys and values that are given, each of them with all heads of a row side by side,
/// or keys and values by heads.
pub(super) fn apart(written: &Written) -> Result<Definition, Fault> {
    let names = [
        "of queries",
        "of keys",
        "of values",
        "bias",
        "key_padding_mask",
        "attention_bias",
        "past_key",
        "past_value",
    ];
    let mut d = Definition::new(&names, &["output", "present_key", "present_value"]);
    let shared = [(8, "a buffer for its cache"), (9, "beams")];
    refuse(written, &shared, 3)?;
    if !written.has_input(1) || !written.has_input(2) {
        return unsupported("its keys or values are packed with its queries");
    }
    let rows = ["of queries", "of keys", "of values"];
    let biases = ["query bias", "key bias", "value bias"];
    let biased = written.has_input(3);
    if biased {
        let Some(&[all]) = written.sizes(3) else {
            return unsupported("its bias is no list of the file");
        };
        split(&mut d, written, ("bias", -1), biases, [all / 3; 3]);
    }
    for (row, to) in rows.into_iter().zip(["query", "key", "value"]) {
        d.op("Identity", &[row], to, vec![]);
    }
    let mask = written.has_input(4).then_some((4, "key_padding_mask"));
    let bias = written.has_input(5).then_some("attention_bias");
    heads(&mut d, written, biased.then_some(biases), (mask, bias))?;
    Ok(d)
}

/// Refuses what a file gives among inputs that are not read, and outputs from one on.
pub(super) fn refuse(
    written: &Written,
    inputs: &[(usize, &str)],
    outputs: usize,
) -> Result<(), Fault> {
    if let Some((_, what)) = inputs.iter().find(|(i, _)| written.has_input(*i)) {
        return unsupported(format!("it has {what}"));
    }
    match (outputs..4).any(|i| written.has_output(i)) {
        true => unsupported("it gives keys and values out"),
        false => Ok(()),
    }
}

/// Three parts of an axis, of these sizes.
pub(super) fn split(
    d: &mut Definition,
    written: &Written,
    (of, axis): (&str, i64),
    to: [&str; 3],
    sizes: [i64; 3],
) {
    let along = int("axis", axis);
    let (inputs, attribute) = match written.opset {
        ..13 => (vec![of], vec![along, ints("split", &sizes)]),
        _ => {
            d.integers("widths", &sizes);
            (vec![of, "widths"], vec![along])
        }
    };
    d.op("Split", &inputs, to[0], attribute);
    let made = d.nodes.last_mut().map(|node| &mut node.output);
    made.into_iter()
        .for_each(|output| output.extend(to[1..].iter().map(|name| name.to_string())));
}

/// Writes attention from queries, keys and values, all heads of a row side by side, to the output.
fn heads(
    d: &mut Definition,
    written: &Written,
    biases: Option<[&str; 3]>,
    (mask, bias): (Option<(usize, &str)>, Option<&str>),
) -> Result<(), Fault> {
    let count = written.int("num_heads", 0);
    if count < 1 {
        return bad(format!("its 'num_heads' is {count}"));
    }
    for (i, name) in ["query", "key", "value"].into_iter().enumerate() {
        let each = vec![int("num_heads", count)];
        let bias = biases.map_or("", |all| all[i]);
        d.made("ByHeads", &[name, bias], &[&format!("{name} turned")], each);
    }
    let [keys, values] = all(d, written);
    let order = vec![ints("perm", &[0, 1, 3, 2])];
    d.op("Transpose", &[keys], "columns", order);
    d.op("MatMul", &["query turned", "columns"], "products", vec![]);
    match written.float("scale", 0.0) {
        0.0 => {
            size(d, "query turned", 3, "width");
            d.op("Cast", &["width"], "wide", vec![int("to", 1)]);
            d.lines("root = Sqrt wide\n scale = Reciprocal root");
        }
        given => d.number("scale", given),
    }
    d.lines("scaled = Mul products scale");
    let mut scores = "scaled";
    if let Some(bias) = bias {
        d.op("Add", &[scores, bias], "biased", vec![]);
        scores = "biased";
    }
    if let Some(mask) = mask {
        of_keys(d, written, mask);
        d.op("Add", &[scores, "hidden"], "masked", vec![]);
        scores = "masked";
    }
    if written.int("unidirectional", 0) != 0 {
        causal(d, written);
        d.op("Add", &[scores, "later"], "causal", vec![]);
        scores = "causal";
    }
    d.op("Softmax", &[scores], "shares", vec![int("axis", -1)]);
    d.op("MatMul", &["shares", values], "mixed", vec![]);
    let back = vec![ints("perm", &[0, 2, 1, 3])];
    d.op("Transpose", &["mixed"], "rows mixed", back);
    d.integers("side by side", &[0, 0, -1]);
    d.op("Reshape", &["rows mixed", "side by side"], "output", vec![]);
    Ok(())
}

/// Keys and values by heads, after those of a cache, and as they are given out.
fn all(d: &mut Definition, written: &Written) -> [&'static str; 2] {
    let own = ["key turned", "value turned"];
    if written.node.op_type != "MultiHeadAttention" {
        return own;
    }
    for (i, name) in ["key", "value"].into_iter().enumerate() {
        let given = format!("present_{name}");
        match written.has_input(6 + i) {
            true => {
                let past = format!("past_{name}");
                let both = [past.as_str(), own[i]];
                d.op("Concat", &both, &given, vec![int("axis", 2)]);
            }
            false => d.op("Identity", &[own[i]], &given, vec![]),
        }
    }
    ["present_key", "present_value"]
}

/// What is added to the scores of keys by a mask of 1 for those that count, one for each of an item; or by their
/// count, where those that count come first.
fn of_keys(d: &mut Definition, written: &Written, (input, mask): (usize, &str)) {
    let given = written.node.input.get(input);
    if given.is_some_and(|name| written.tensors.lengths.contains(name)) {
        d.integers("of all keys", &[0, 1, 1, 1]);
        d.op("Reshape", &[mask, "of all keys"], "count", vec![]);
        size(d, "scaled", 3, "keys");
        d.op("Constant", &[], "0", vec![int("value_int", 0)]);
        d.op("Constant", &[], "step", vec![int("value_int", 1)]);
        d.lines("end = Squeeze keys\n places = Range 0 end step");
        d.op("Cast", &["places"], "place", vec![int("to", 1)]);
        d.lines("first = Less place count");
        d.op("Cast", &["first"], "kept", vec![int("to", 1)]);
    } else {
        // Only a mask of keys has two axes: one of queries has three.
        let same = vec![ints("perm", &[0, 1])];
        d.op("Transpose", &[mask], "mask of keys", same);
        d.integers("of all queries", &[0, 1, 1, -1]);
        d.op(
            "Reshape",
            &["mask of keys", "of all queries"],
            "apart",
            vec![],
        );
        d.op("Cast", &["apart"], "kept", vec![int("to", 1)]);
    }
    d.number("1", 1.0);
    d.number("hiding", written.float("mask_filter_value", -10_000.0));
    d.lines("gone = Sub 1 kept\n hidden = Mul gone hiding");
}

/// What is added to the scores of keys that come after the query; those of a cache come before the first.
fn causal(d: &mut Definition, written: &Written) {
    size(d, "scaled", 2, "query size");
    size(d, "scaled", 3, "key size");
    d.op(
        "Concat",
        &["query size", "key size"],
        "square",
        vec![int("axis", 0)],
    );
    d.number(
        "hiding later",
        written.float("mask_filter_value", -10_000.0),
    );
    d.op("Expand", &["hiding later", "square"], "all hidden", vec![]);
    d.op("Constant", &[], "next", vec![int("value_int", 1)]);
    if written.node.op_type == "MultiHeadAttention" && written.has_input(6) {
        size(d, "past_key", 2, "cached");
        d.lines("behind = Add cached next\n above = Squeeze behind");
    } else {
        d.lines("above = Identity next");
    }
    d.op(
        "Trilu",
        &["all hidden", "above"],
        "later",
        vec![int("upper", 1)],
    );
}

/// The size of an axis, as a list of one.
pub(super) fn size(d: &mut Definition, of: &str, axis: i64, to: &str) {
    let [sizes, place] = ["sizes", "place"].map(|what| format!("{to} of {what}"));
    d.op("Shape", &[of], &sizes, vec![]);
    d.integers(&place, &[axis]);
    d.op("Gather", &[&sizes, &place], to, vec![int("axis", 0)]);
}
