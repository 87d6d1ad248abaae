//! Weights of a few bits with scales by blocks: what they stand for is a constant.

use super::super::super::call::{Fault, bad, unsupported};
use super::{Definition, Written, int, ints};

/// MatMulNBits: a product with the rows of such weights, and a bias.
///
/// ONNX Runtime may quantise the other factor too, where its `accuracy_level` says so; here that stays exact.
pub(super) fn matmul(written: &Written) -> Result<Definition, Fault> {
    if written.int("weight_prepacked", 0) != 0 {
        return unsupported("its weights are packed for one device; export it without that");
    }
    let [rows, columns] = ["N", "K"].map(|name| written.int(name, 0));
    if rows < 1 || columns < 1 {
        return bad(format!("its weights are {rows} rows of {columns}"));
    }
    let names = ["A", "B", "scales", "zeros", "groups", "bias"];
    let mut d = Definition::new(&names, &["Y"]);
    d.integers("by rows", &[rows, -1]);
    let mut inputs = vec![];
    for (i, name) in [(1, "B"), (2, "scales"), (3, "zeros")] {
        let to = format!("{name} by rows");
        match written.has_input(i) {
            true => {
                d.op("Reshape", &[name, "by rows"], &to, vec![]);
                inputs.push(to);
            }
            false => inputs.push(String::new()),
        }
    }
    inputs.push("groups".into());
    let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
    dequantised(&mut d, written, &inputs, (columns, -1));
    let turned = vec![ints("perm", &[1, 0])];
    d.op("Transpose", &["numbers"], "weights", turned);
    match written.has_input(5) {
        true => d.lines("product = MatMul A weights\n Y = Add product bias"),
        false => d.lines("Y = MatMul A weights"),
    }
    Ok(d)
}

/// GatherBlockQuantized: rows of such weights.
pub(super) fn gather(written: &Written) -> Result<Definition, Fault> {
    let names = ["data", "indices", "scales", "zeros"];
    let mut d = Definition::new(&names, &["output"]);
    let along = written.int("quantize_axis", 1);
    dequantised(&mut d, written, &["data", "scales", "zeros"], (0, along));
    d.op(
        "Gather",
        &["numbers", "indices"],
        "output",
        vec![int("axis", written.int("gather_axis", 0))],
    );
    Ok(d)
}

/// The `numbers` of rows of so many columns, all that are packed if that is 0, with blocks along an axis.
fn dequantised(
    d: &mut Definition,
    written: &Written,
    inputs: &[&str],
    (columns, along): (i64, i64),
) {
    let attribute = vec![
        int("bits", written.int("bits", 4)),
        int("block_size", written.int("block_size", 128)),
        int("columns", columns),
        int("axis", along),
    ];
    d.made("DequantizeBlocks", inputs, &["numbers"], attribute);
}
