//! Attention without a softmax, and attention with graphs for scores and shares.

use super::super::call::{Fault, bad};
use super::{Definition, GRAFT, Written, int, ints};

/// LinearAttention: a state for every head of keys, to which every step adds a product of its key and its value.
///
/// Steps are turns of a Scan. A state that starts at 0 has a batch of 1, which stretches to any.
pub(super) fn linear(written: &Written) -> Result<Definition, Fault> {
    let rule = written.text("update_rule", "gated_delta");
    let (gated, delta) = match rule.as_str() {
        "linear" => (false, false),
        "gated" => (true, false),
        "delta" => (false, true),
        "gated_delta" => (true, true),
        other => return bad(format!("its 'update_rule' is '{other}'")),
    };
    for (i, name, needed) in [(4, "decay", gated), (5, "beta", delta)] {
        if needed && !written.has_input(i) {
            return bad(format!("it has no {name}, which '{rule}' needs"));
        }
    }
    let heads = Heads::of(written, ["q_num_heads", "kv_num_heads"])?;
    let mut d = Definition::new(
        &["query", "key", "value", "past_state", "decay", "beta"],
        &["output", "present_state"],
    );
    d.integers("of queries", &[0, 0, heads.queries, -1]);
    d.integers("of keys", &[0, 0, heads.keys, -1]);
    d.integers("of rates", &[0, 0, -1, 1]);
    let mut scanned = vec![];
    let mut scan = |d: &mut Definition, name: &'static str, shape: &str| {
        let apart = format!("{name} apart");
        let float = format!("{name} as float");
        d.op("Cast", &[name], &float, vec![int("to", 1)]);
        d.op("Reshape", &[&float, shape], &apart, vec![]);
        scanned.push((apart, name));
    };
    scan(&mut d, "query", "of queries");
    scan(&mut d, "key", "of keys");
    scan(&mut d, "value", "of keys");
    if gated {
        scan(&mut d, "decay", "of keys");
    }
    if delta {
        scan(&mut d, "beta", "of rates");
    }
    match written.has_input(3) {
        true => d.op("Cast", &["past_state"], "state", vec![int("to", 1)]),
        false => no_state(&mut d),
    }
    scale(&mut d, written, "query apart");
    let body = step(&heads, gated, delta, &scanned);
    turns(&mut d, body, &scanned);
    d.integers("side by side", &[0, 0, -1]);
    d.op("Reshape", &["read", "side by side"], "output", vec![]);
    Ok(d)
}

/// How many heads an attention has.
pub(super) struct Heads {
    pub(super) queries: i64,
    pub(super) keys: i64,
}

impl Heads {
    /// What the attributes of these names say.
    pub(super) fn of(written: &Written, names: [&str; 2]) -> Result<Heads, Fault> {
        let [queries, keys] = names.map(|name| written.int(name, 0));
        match keys > 0 && queries > 0 && queries <= 1 << 20 && queries % keys == 0 {
            true => Ok(Heads { queries, keys }),
            false => bad(format!(
                "its {queries} heads of queries do not fit {keys} of keys"
            )),
        }
    }
}

/// A state of zeros for every head of keys, in the sizes of a key and a value.
fn no_state(d: &mut Definition) {
    let ends = |first: i64| vec![int("start", first), int("end", first + 1)];
    d.integers("one", &[1]);
    d.op("Shape", &["key apart"], "heads", ends(2));
    d.op("Shape", &["key apart"], "rows", ends(3));
    d.op("Shape", &["value apart"], "columns", ends(3));
    let sizes = ["one", "heads", "rows", "columns"];
    d.op("Concat", &sizes, "sizes", vec![int("axis", 0)]);
    d.op("ConstantOfShape", &["sizes"], "state", vec![]);
}

/// The number by which scores are scaled: that of the node, or `1 / sqrt(d)` of the last axis of `x`.
fn scale(d: &mut Definition, written: &Written, x: &str) {
    match written.float("scale", 0.0) {
        0.0 => {
            d.op("Shape", &[x], "width", vec![int("start", -1)]);
            d.op("Cast", &["width"], "wide", vec![int("to", 1)]);
            d.op("Sqrt", &["wide"], "root", vec![]);
            d.op("Reciprocal", &["root"], "scale", vec![]);
        }
        given => d.number("scale", given),
    }
}

/// One step: from the state and what stands at a place of each input, the new state and what is read of it.
fn step(
    heads: &Heads,
    gated: bool,
    delta: bool,
    scanned: &[(String, &'static str)],
) -> super::GraphProto {
    let mut d = Definition::default();
    d.integers("last", &[-1]);
    d.integers("last but one", &[-2]);
    let mut state = "state in";
    if gated {
        d.op("Exp", &["at decay"], "kept share", vec![]);
        d.op("Unsqueeze", &["kept share", "last"], "share", vec![]);
        d.op("Mul", &["state in", "share"], "kept", vec![]);
        state = "kept";
    }
    d.op("Unsqueeze", &["at key", "last"], "column", vec![]);
    d.op("Unsqueeze", &["at key", "last but one"], "key row", vec![]);
    let mut row = "at value";
    if delta {
        d.op("MatMul", &["key row", state], "held row", vec![]);
        d.op("Squeeze", &["held row", "last but one"], "held", vec![]);
        d.op("Sub", &["at value", "held"], "missing", vec![]);
        d.op("Mul", &["missing", "at beta"], "added", vec![]);
        row = "added";
    }
    d.op("Unsqueeze", &[row, "last but one"], "row", vec![]);
    d.op("MatMul", &["column", "row"], "product", vec![]);
    d.op("Add", &[state, "product"], "state out", vec![]);
    d.op("Mul", &["at query", "scale"], "scaled", vec![]);
    // Heads of queries that share a state are its rows.
    let rows = [0, heads.keys, heads.queries / heads.keys, -1];
    d.integers("by state", &rows);
    d.op(
        "Reshape",
        &["scaled", "by state"],
        "rows of queries",
        vec![],
    );
    d.op(
        "MatMul",
        &["rows of queries", "state out"],
        "answers",
        vec![],
    );
    d.integers("by query", &[0, heads.queries, -1]);
    d.op("Reshape", &["answers", "by query"], "answer", vec![]);
    let value = |name: &str| super::super::proto::ValueInfoProto {
        name: name.into(),
        r#type: None,
    };
    let places = scanned.iter().map(|(_, name)| value(&format!("at {name}")));
    super::GraphProto {
        node: d.nodes,
        name: "step".into(),
        initializer: vec![],
        input: std::iter::once(value("state in")).chain(places).collect(),
        output: vec![value("state out"), value("answer")],
        ..super::GraphProto::default()
    }
}

/// The Scan over the second axis of all inputs.
fn turns(d: &mut Definition, step: super::GraphProto, scanned: &[(String, &'static str)]) {
    let count = scanned.len();
    let body = super::AttributeProto {
        name: "body".into(),
        g: Some(step),
        r#type: 5,
        ..super::AttributeProto::default()
    };
    let input = std::iter::once("state").chain(scanned.iter().map(|(apart, _)| &apart[..]));
    d.nodes.push(super::NodeProto {
        op_type: "Scan".into(),
        input: input.map(String::from).collect(),
        output: vec!["present_state".into(), "read".into()],
        attribute: vec![
            body,
            int("num_scan_inputs", count as i64),
            ints("scan_input_axes", &vec![1; count]),
            ints("scan_output_axes", &[1]),
        ],
        ..super::NodeProto::default()
    });
}

/// FlexAttention: scaled products of queries and keys, a graph that changes them, a softmax, a graph that changes
/// its shares, and the values by these.
pub(super) fn flexible(written: &Written) -> Result<Definition, Fault> {
    let mut d = Definition::new(&["Q", "K", "V"], &["Y"]);
    scale(&mut d, written, "Q");
    d.op("Mul", &["Q", "scale"], "scaled", vec![]);
    d.integers("each", &[2]);
    let one = |first: i64| vec![int("start", first), int("end", first + 1)];
    d.op("Shape", &["Q"], "heads", one(1));
    d.op("Shape", &["K"], "heads of keys", one(1));
    d.op("Div", &["heads", "heads of keys"], "times", vec![]);
    for name in ["K", "V"] {
        repeated(&mut d, name);
    }
    let order = vec![ints("perm", &[0, 1, 3, 2])];
    d.op("Transpose", &["K for all"], "columns", order);
    d.op("MatMul", &["scaled", "columns"], "scores", vec![]);
    let graft = |d: &mut Definition, name: &str, from: &'static str, to: &'static str| match written
        .attribute(name)
    {
        Some(_) => {
            d.op(GRAFT, &[from], to, vec![int(name, 0)]);
            to
        }
        None => from,
    };
    let scores = graft(&mut d, "score_mod", "scores", "changed scores");
    d.op("Softmax", &[scores], "shares", vec![int("axis", -1)]);
    let shares = graft(&mut d, "prob_mod", "shares", "changed shares");
    d.op("MatMul", &[shares, "V for all"], "Y", vec![]);
    Ok(d)
}

/// Keys or values for every head of queries: each as many times as `times` says.
fn repeated(d: &mut Definition, name: &str) {
    let part = |what: &str| format!("{name} {what}");
    let [rows, apart, sizes, many, back] = ["rows", "apart", "sizes", "many", "back"].map(part);
    d.op("Shape", &[name], &rows, vec![int("start", 2)]);
    d.op("Unsqueeze", &[name, "each"], &apart, vec![]);
    let one = part("one");
    d.integers(&one, &[1]);
    let inputs = [&one, "heads of keys", "times", &rows];
    d.op("Concat", &inputs, &sizes, vec![int("axis", 0)]);
    d.op("Expand", &[&apart, &sizes], &many, vec![]);
    let zero = part("zero");
    d.integers(&zero, &[0]);
    d.op(
        "Concat",
        &[&zero, "heads", &rows],
        &back,
        vec![int("axis", 0)],
    );
    d.op("Reshape", &[&many, &back], &part("for all"), vec![]);
}
