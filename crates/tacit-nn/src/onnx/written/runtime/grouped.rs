//! Attention of decoders, whose heads of queries share heads of keys, and angles by places.

use super::super::super::call::{Fault, bad, unsupported};
use super::super::super::rotary::ANY;
use super::super::attention::Heads;
use super::attention::{refuse, size, split};
use super::{Definition, Written, float, int, plain};

/// What of its inputs is not read.
const NOT_READ: [(usize, &str); 6] = [
    (11, "a sink of scores"),
    (12, "a cache of integers"),
    (13, "a cache of integers"),
    (14, "a normalisation of its queries"),
    (15, "a normalisation of its keys"),
    (16, "counts of queries"),
];

/// GroupQueryAttention: of queries, keys and values of a row, each after those of a cache, no query with later keys.
pub(super) fn attention(written: &Written) -> Result<Definition, Fault> {
    let names = [
        "query",
        "key",
        "value",
        "past_key",
        "past_value",
        "seqlens_k",
        "total_sequence_length",
        "cos_cache",
        "sin_cache",
        "position_ids",
        "attention_bias",
    ];
    let outputs = ["output", "present_key", "present_value"];
    let mut d = Definition::new(&names, &outputs);
    refuse(written, &NOT_READ, 3)?;
    // A width of 0 or less is that of floats.
    let bits = written.int("kv_cache_bit_width", 0);
    if bits > 0 {
        return unsupported(format!("its 'kv_cache_bit_width' is {bits}"));
    }
    plain(
        written,
        [("causal", 1), ("qk_output", 0), ("smooth_softmax", 0)],
    )?;
    for name in ["k_quant_type", "v_quant_type"] {
        let given = written.text(name, "NONE");
        if given != "NONE" {
            return unsupported(format!("its '{name}' is '{given}'"));
        }
    }
    let heads = Heads::of(written, ["num_heads", "kv_num_heads"])?;
    let mut rows = parts(&mut d, written, &heads)?;
    if written.int("do_rotary", 0) != 0 {
        turned(&mut d, written, &heads, &mut rows)?;
    }
    let counted = [rows[0], "seqlens_k", "past_key"];
    d.made("Unpadded", &counted, &["counted"], vec![]);
    rows[0] = "counted";
    let mut attribute = vec![
        int("is_causal", 1),
        int("q_num_heads", heads.queries),
        int("kv_num_heads", heads.keys),
        float("softcap", written.float("softcap", 0.0)),
    ];
    let scale = written.float("scale", 0.0);
    if scale != 0.0 {
        attribute.push(float("scale", scale));
    }
    let window = written.int("local_window_size", -1);
    if window != -1 {
        if !(1..=i64::from(i32::MAX)).contains(&window) {
            return unsupported(format!("its 'local_window_size' is {window}"));
        }
        // A window counts the query itself.
        attribute.push(int("left_window_size", window - 1));
    }
    let inputs = [
        rows[0],
        rows[1],
        rows[2],
        "attention_bias",
        "past_key",
        "past_value",
    ];
    let of_window = written.int("sliding_window_cache", 0) != 0;
    let given = if of_window { &outputs[..1] } else { &outputs };
    d.made("Attention", &inputs, given, attribute);
    if of_window {
        d.made("WindowCache", &[rows[1], rows[2]], &outputs[1..], vec![]);
    }
    Ok(d)
}

/// Queries, keys and values with all heads of a row side by side.
fn parts(d: &mut Definition, written: &Written, heads: &Heads) -> Result<[&'static str; 3], Fault> {
    if written.has_input(1) != written.has_input(2) {
        return unsupported("its keys or its values are not given");
    }
    if written.has_input(1) {
        return Ok(["query", "key", "value"]);
    }
    let sizes = [heads.queries, heads.keys, heads.keys];
    d.integers("by heads", &[0, 0, sizes.iter().sum(), -1]);
    d.op("Reshape", &["query", "by heads"], "all", vec![]);
    let apart = ["query apart", "key apart", "value apart"];
    split(d, written, ("all", 2), apart, sizes);
    d.integers("side by side", &[0, 0, -1]);
    let rows = ["query rows", "key rows", "value rows"];
    for (from, to) in apart.into_iter().zip(rows) {
        d.op("Reshape", &[from, "side by side"], to, vec![]);
    }
    Ok(rows)
}

/// Turns queries and keys by the angles of their places, which follow those of the cache where none are given.
fn turned(
    d: &mut Definition,
    written: &Written,
    heads: &Heads,
    rows: &mut [&'static str; 3],
) -> Result<(), Fault> {
    let width = 2 * half(written, 7)?;
    match written.has_input(3) {
        true => size(d, "past_key", 2, "first"),
        false => d.integers("first", &[0]),
    }
    match written.has_input(9) {
        // Before a cache holds any key the first place alone counts.
        true => d.made("Places", &["position_ids", "first"], &["places"], vec![]),
        false => {
            size(d, rows[0], 1, "new");
            counted(d);
        }
    }
    let each = [(heads.queries, "query turned"), (heads.keys, "key turned")];
    for (row, (count, to)) in rows.iter_mut().zip(each) {
        let attribute = vec![
            int("num_heads", count),
            int("interleaved", written.int("rotary_interleaved", 0)),
            int("rotary_embedding_dim", width),
        ];
        let inputs = [*row, "cos_cache", "sin_cache", "places"];
        d.made("RotaryEmbedding", &inputs, &[to], attribute);
        *row = to;
    }
    Ok(())
}

/// The `places` from `first` on of as many as `new` says.
fn counted(d: &mut Definition) {
    d.lines(
        "behind = Add first new
         from = Squeeze first
         to = Squeeze behind",
    );
    d.op("Constant", &[], "step", vec![int("value_int", 1)]);
    d.lines("row = Range from to step");
    d.integers("one row", &[1, -1]);
    d.op("Reshape", &["row", "one row"], "places", vec![]);
}

/// How many angles a place has: the columns of the tensor that is input `i`.
fn half(written: &Written, i: usize) -> Result<i64, Fault> {
    match written.sizes(i) {
        Some(&[_, half]) if (1..1 << 20).contains(&half) => Ok(half),
        _ => unsupported("its angles are no matrix of the file"),
    }
}

/// RotaryEmbedding: with places before angles, unlike that of the standard; a single place is the first of a row.
pub(super) fn rotary(written: &Written) -> Result<Definition, Fault> {
    if written.float("scale", 1.0) != 1.0 || written.int("is_packed_batching", 0) != 0 {
        return unsupported("its 'scale' is not 1, or its 'is_packed_batching' not 0");
    }
    let names = ["input", "position_ids", "cos_cache", "sin_cache"];
    let mut d = Definition::new(&names, &["output"]);
    let given = written.sizes(1);
    let places = match given {
        Some(&[1]) => {
            d.lines("first = Identity position_ids");
            // Rows stand before the last axis, of heads side by side or not.
            size(&mut d, "input", -2, "new");
            counted(&mut d);
            "places"
        }
        _ => "position_ids",
    };
    let inputs = ["input", "cos_cache", "sin_cache", places];
    let turned = written.int("rotary_embedding_dim", 0);
    let heads = match written.int("num_heads", 0) {
        0 if turned == 0 => ANY,
        given if given < 0 => return bad(format!("its 'num_heads' is {given}")),
        given => given,
    };
    let attribute = vec![
        int("num_heads", heads),
        int("interleaved", written.int("interleaved", 0)),
        int("rotary_embedding_dim", turned),
    ];
    d.made("RotaryEmbedding", &inputs, &["output"], attribute);
    Ok(d)
}
