//! Operations on integers that stand for numbers, by scales and zero points: what they mean, between
//! DequantizeLinear and QuantizeLinear.

use super::super::super::call::{Fault, bad, unsupported};
use super::{Definition, Written, int, ints, others};

/// QuantizeLinear and DequantizeLinear, which the standard has too.
pub(super) fn of_standard(written: &Written) -> Definition {
    let mut d = Definition::new(&["x", "scale", "zero"], &["y"]);
    let own = others(written, &[]);
    d.op(&written.node.op_type, &["x", "scale", "zero"], "y", own);
    d
}

/// The numbers that integers stand for.
pub(super) fn real(d: &mut Definition, [x, scale, zero]: [&str; 3], to: &str) {
    d.op("DequantizeLinear", &[x, scale, zero], to, vec![]);
}

/// An operation whose name is that of one on floats after `QLinear`: of one value, or of two.
pub(super) fn of_floats(written: &Written) -> Result<Definition, Fault> {
    let name = written.node.op_type.as_str();
    let op = name.trim_start_matches("QLinear");
    let two = matches!(op, "Add" | "Mul");
    let (inputs, zero): (&[&str], usize) = match two {
        true => (&["A", "As", "Az", "B", "Bs", "Bz", "Ys", "Yz"], 7),
        false => (&["A", "As", "Az", "Ys", "Yz"], 4),
    };
    if !written.has_input(zero) {
        return unsupported("it has no zero point of its result, which tells its type");
    }
    if written.int("channels_last", 0) != 0 {
        return unsupported("its 'channels_last' is not 0");
    }
    // Before operator set 13 a softmax is over all axes from one on.
    let since = written.int("opset", written.opset);
    if (since < 13) != (written.opset < 13) {
        return unsupported(format!(
            "it is a softmax of operator set {since} in a file of {}",
            written.opset
        ));
    }
    let mut d = Definition::new(inputs, &["Y"]);
    real(&mut d, ["A", "As", "Az"], "a");
    let own = others(written, &["channels_last", "opset"]);
    match two {
        true => {
            real(&mut d, ["B", "Bs", "Bz"], "b");
            d.op(op, &["a", "b"], "y", own);
        }
        false => d.op(op, &["a"], "y", own),
    }
    d.lines("Y = QuantizeLinear y Ys Yz");
    Ok(d)
}

/// QLinearConcat: values of scales of their own, one after the other.
pub(super) fn concat(written: &Written) -> Result<Definition, Fault> {
    let given = written.node.input.len();
    if given < 5 || !(given - 2).is_multiple_of(3) {
        return bad(format!(
            "its {given} inputs are no values with their scales"
        ));
    }
    let count = (given - 2) / 3;
    let named = |kind: &str, i: usize| format!("{kind}{i}");
    let of_each = |i| ["X", "s", "z"].map(|kind| named(kind, i));
    let mut d = Definition::new(&["Ys", "Yz"], &["Y"]);
    d.input.extend((0..count).flat_map(of_each));
    let numbers: Vec<String> = (0..count).map(|i| named("x", i)).collect();
    for (i, to) in numbers.iter().enumerate() {
        let [x, scale, zero] = &of_each(i);
        real(&mut d, [x, scale, zero], to);
    }
    let numbers: Vec<&str> = numbers.iter().map(String::as_str).collect();
    d.op("Concat", &numbers, "y", others(written, &[]));
    d.lines("Y = QuantizeLinear y Ys Yz");
    Ok(d)
}

/// QGemm: `alpha A B + C`, where the integers of `C` have the scale of the product; floats, where the result has no
/// scale.
pub(super) fn gemm(written: &Written) -> Result<Definition, Fault> {
    let inputs = ["A", "As", "Az", "B", "Bs", "Bz", "C", "Ys", "Yz"];
    let mut d = Definition::new(&inputs, &["Y"]);
    if written.has_input(7) && !written.has_input(8) {
        return unsupported("it has no zero point of its result, which tells its type");
    }
    real(&mut d, ["A", "As", "Az"], "a");
    let columns = i64::from(written.int("transB", 0) == 0);
    let each = written.sizes(4).is_some_and(|sizes| sizes.len() == 1);
    let along = if each {
        vec![int("axis", columns)]
    } else {
        vec![]
    };
    d.op("DequantizeLinear", &["B", "Bs", "Bz"], "b", along);
    d.number("alpha", written.float("alpha", 1.0));
    if written.has_input(6) {
        d.op("Cast", &["C"], "whole", vec![int("to", 1)]);
        d.lines(
            "scales = Mul As Bs
             scale = Mul scales alpha
             c = Mul whole scale",
        );
    }
    let to = if written.has_input(7) { "y" } else { "Y" };
    let inputs: &[&str] = if written.has_input(6) {
        &["a", "b", "c"]
    } else {
        &["a", "b"]
    };
    d.op("Gemm", inputs, to, others(written, &[]));
    if written.has_input(7) {
        d.lines("Y = QuantizeLinear y Ys Yz");
    }
    Ok(d)
}

/// MatMulIntegerToFloat: a product of integers by their scales, and a bias.
pub(super) fn matmul_to_float(written: &Written) -> Definition {
    let inputs = ["A", "B", "As", "Bs", "Az", "Bz", "bias"];
    let mut d = Definition::new(&inputs, &["Y"]);
    product(&mut d, "product");
    biased(&mut d, written.has_input(6));
    d
}

/// DynamicQuantizeMatMul: the same of a value that is quantised by its own range.
pub(super) fn dynamic_matmul(written: &Written) -> Definition {
    let mut d = Definition::new(&["X", "B", "Bs", "Bz", "bias"], &["Y"]);
    d.op("DynamicQuantizeLinear", &["X"], "A", vec![]);
    let made = d.nodes.last_mut().map(|node| &mut node.output);
    made.into_iter()
        .for_each(|output| output.extend(["As".into(), "Az".into()]));
    product(&mut d, "product");
    biased(&mut d, written.has_input(4));
    d
}

/// The product of integers, by the scales of both.
pub(super) fn product(d: &mut Definition, to: &str) {
    d.lines("whole = MatMulInteger A B Az Bz");
    d.op("Cast", &["whole"], "numbers", vec![int("to", 1)]);
    d.op("Mul", &["As", "Bs"], "scale of both", vec![]);
    d.op("Mul", &["numbers", "scale of both"], to, vec![]);
}

/// The product with a bias, if there is one.
fn biased(d: &mut Definition, given: bool) {
    d.lines(match given {
        true => "Y = Add product bias",
        false => "Y = Identity product",
    });
}

/// DynamicQuantizeLSTM: an LSTM whose weights are integers, of columns for the rows that others have.
///
/// ONNX Runtime quantises inputs and states too; here they stay exact.
pub(super) fn lstm(written: &Written) -> Definition {
    let inputs = [
        "X",
        "W",
        "R",
        "B",
        "sequence_lens",
        "initial_h",
        "initial_c",
        "P",
        "W scale",
        "W zero",
        "R scale",
        "R zero",
    ];
    let mut d = Definition::new(&inputs, &["Y", "Y_h", "Y_c"]);
    let directions = match written.text("direction", "forward").as_str() {
        "bidirectional" => 2,
        _ => 1,
    };
    d.integers("by direction", &[directions, 1, -1]);
    for name in ["W", "R"] {
        let part = |what: &str| format!("{name} {what}");
        for what in ["scale", "zero"] {
            let [float, shaped] = [part(what) + " as float", part(what) + " by direction"];
            d.op("Cast", &[&part(what)], &float, vec![int("to", 1)]);
            d.op("Reshape", &[&float, "by direction"], &shaped, vec![]);
        }
        let [whole, centred, real, rows] = ["whole", "centred", "real", "rows"].map(part);
        d.op("Cast", &[name], &whole, vec![int("to", 1)]);
        let zero = part("zero by direction");
        d.op("Sub", &[&whole, &zero], &centred, vec![]);
        let scale = part("scale by direction");
        d.op("Mul", &[&centred, &scale], &real, vec![]);
        let turned = vec![ints("perm", &[0, 2, 1])];
        d.op("Transpose", &[&real], &rows, turned);
    }
    let inputs = [&["X", "W rows", "R rows"], &inputs[3..8]].concat();
    d.op("LSTM", &inputs, "Y", others(written, &[]));
    if let Some(node) = d.nodes.last_mut() {
        node.output.extend(["Y_h".into(), "Y_c".into()]);
    }
    d
}
