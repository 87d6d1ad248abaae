//! Activations, and normalisations of sums.

use super::{Definition, Written, float, int, quantised, sum_over};

/// Gelu, and BiasGelu of a sum: `x (1 + erf(x / sqrt(2))) / 2`.
pub(super) fn gelu(written: &Written) -> Definition {
    let biased = written.node.op_type == "BiasGelu";
    let mut d = match biased {
        true => Definition::new(&["A", "B"], &["Y"]),
        false => Definition::new(&["X"], &["Y"]),
    };
    let of = if biased { "Add A B" } else { "Identity X" };
    d.number("root", std::f32::consts::FRAC_1_SQRT_2);
    d.number("half", 0.5);
    d.lines(&format!("x = {of}"));
    d.lines(
        "inner = Mul x root
         bent = Erf inner
         halved = Mul bent half
         weight = Add halved half
         Y = Mul weight x",
    );
    d
}

/// FastGelu, of a sum where there is a bias: `x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2`.
pub(super) fn fast_gelu(written: &Written) -> Definition {
    let mut d = Definition::new(&["X", "bias"], &["Y"]);
    let factor = (2.0 / std::f32::consts::PI).sqrt();
    d.number("steep", 0.044_715 * factor);
    d.number("factor", factor);
    d.number("half", 0.5);
    d.lines(match written.has_input(1) {
        true => "x = Add X bias",
        false => "x = Identity X",
    });
    d.lines(
        "square = Mul x x
         grown = Mul square steep
         slope = Add grown factor
         inner = Mul slope x
         bent = Tanh inner
         halved = Mul bent half
         weight = Add halved half
         Y = Mul weight x",
    );
    d
}

/// QuickGelu: `x sigmoid(alpha x)`.
pub(super) fn quick_gelu(written: &Written) -> Definition {
    let mut d = Definition::new(&["X"], &["Y"]);
    d.number("alpha", written.float("alpha", 1.702));
    d.lines(
        "inner = Mul X alpha
         weight = Sigmoid inner
         Y = Mul weight X",
    );
    d
}

/// A normalisation of rows by the operation `op`, of what `x` names; `beta` may be left out.
fn normalised(d: &mut Definition, written: &Written, op: &str, inputs: &[&str], to: &str) {
    let epsilon = float("epsilon", written.float("epsilon", 1e-12));
    d.op(op, inputs, to, vec![int("axis", -1), epsilon]);
}

/// SkipLayerNormalization and SkipSimplifiedLayerNormalization: a normalisation, by the operation `op`, of a sum of
/// two values and a bias. Its mean and its inverse deviation exist only in training.
pub(super) fn skipped(written: &Written, op: &str) -> Definition {
    let simple = op != "LayerNormalization";
    let (inputs, scales): (&[&str], &[&str]) = match simple {
        true => (&["input", "skip", "gamma", "bias"], &["sum", "gamma"]),
        false => (
            &["input", "skip", "gamma", "beta", "bias"],
            &["sum", "gamma", "beta"],
        ),
    };
    let mut d = Definition::new(inputs, &["output", "mean", "deviation", "sum"]);
    match written.has_input(inputs.len() - 1) {
        true => d.lines("both = Add input skip\n sum = Add both bias"),
        false => d.lines("sum = Add input skip"),
    }
    normalised(&mut d, written, op, scales, "output");
    d
}

/// EmbedLayerNormalization: a normalisation of the sum of the embeddings of tokens, of their places and of their
/// segments; and how many of an item's tokens the mask keeps.
pub(super) fn embedded(written: &Written) -> Definition {
    let inputs = [
        "input_ids",
        "segment_ids",
        "word_embedding",
        "position_embedding",
        "segment_embedding",
        "gamma",
        "beta",
        "mask",
        "position_ids",
    ];
    let mut d = Definition::new(&inputs, &["output", "mask_index", "sum"]);
    embeddings(&mut d, written, written.has_input(8));
    d
}

/// QEmbedLayerNormalization: a normalised sum of embeddings that are integers, as are its scale and its bias.
pub(super) fn embedded_integers(written: &Written) -> Definition {
    const TABLES: [&str; 5] = [
        "word_embedding",
        "position_embedding",
        "segment_embedding",
        "gamma",
        "beta",
    ];
    let mut d = Definition::new(&["input_ids", "segment_ids"], &["output", "mask_index"]);
    let named = |what: &str| TABLES.map(|table| format!("{table} {what}"));
    d.input.extend(named("integers"));
    d.input.push("mask".into());
    d.input.extend(named("scale"));
    d.input.extend(named("zero"));
    for (i, table) in TABLES.into_iter().enumerate() {
        if written.has_input(2 + i) {
            let [x, scale, zero] =
                ["integers", "scale", "zero"].map(|what| format!("{table} {what}"));
            quantised::real(&mut d, [&x, &scale, &zero], table);
        }
    }
    embeddings(&mut d, written, false);
    d
}

/// The normalised sum of embeddings, whose places are given or those of a row.
fn embeddings(d: &mut Definition, written: &Written, placed: bool) {
    d.lines("words = Gather word_embedding input_ids");
    match placed {
        true => d.lines("places = Gather position_embedding position_ids"),
        false => {
            d.integers("first", &[0]);
            d.integers("second", &[1]);
            d.lines(
                "sizes = Shape input_ids
                 length = Gather sizes second
                 places = Slice position_embedding first length first",
            );
        }
    }
    d.lines(match written.has_input(1) {
        true => {
            "placed = Add words places
             segments = Gather segment_embedding segment_ids
             sum = Add placed segments"
        }
        false => "sum = Add words places",
    });
    if written.has_input(7) && written.has_output(1) {
        d.op("Cast", &["mask"], "kept", vec![int("to", 1)]);
        sum_over(d, written, 1, ["kept", "mask_index"]);
    }
    let inputs = ["sum", "gamma", "beta"];
    normalised(d, written, "LayerNormalization", &inputs, "output");
}
