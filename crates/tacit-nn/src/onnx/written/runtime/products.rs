//! Products with what follows them, and distances.

use super::super::super::call::{Fault, unsupported};
use super::{Definition, Written, activated, ints, others, sum_over};

/// FusedMatMul: `alpha A B`, either turned in its last two axes.
pub(super) fn matmul(written: &Written) -> Result<Definition, Fault> {
    for name in ["transBatchA", "transBatchB"] {
        if written.int(name, 0) != 0 {
            return unsupported(format!("its '{name}' is not 0"));
        }
    }
    let mut d = Definition::new(&["A", "B"], &["Y"]);
    let mut operands = ["A", "B"];
    let mut turned = ["transA", "transB"].map(|name| written.int(name, 0) != 0);
    for (i, to) in ["A turned", "B turned"].into_iter().enumerate() {
        let sizes = written.sizes(i).map_or(0, <[i64]>::len);
        if turned[i] && sizes >= 2 {
            let mut order: Vec<i64> = (0..sizes as i64).collect();
            order.swap(sizes - 2, sizes - 1);
            d.op("Transpose", &[operands[i]], to, vec![ints("perm", &order)]);
            (operands[i], turned[i]) = (to, false);
        }
    }
    match turned {
        [false, false] => d.op("MatMul", &operands, "product", vec![]),
        [a, b] => {
            let left = if a { "...ji" } else { "...ij" };
            let right = if b { "...kj" } else { "...jk" };
            let equation = format!("{left},{right}->...ik");
            let equation = super::text("equation", &equation);
            d.op("Einsum", &operands, "product", vec![equation]);
        }
    }
    match written.float("alpha", 1.0) {
        1.0 => d.lines("Y = Identity product"),
        alpha => {
            d.number("alpha", alpha);
            d.lines("Y = Mul product alpha");
        }
    }
    Ok(d)
}

/// FusedGemm: a Gemm, then an activation.
pub(super) fn gemm(written: &Written) -> Result<Definition, Fault> {
    const NUMBERS: [&str; 3] = ["activation_alpha", "activation_beta", "activation_gamma"];
    let mut d = Definition::new(&["A", "B", "C"], &["Y"]);
    let own = others(written, &[&["activation"], &NUMBERS[..]].concat());
    d.op("Gemm", &["A", "B", "C"], "product", own);
    let given = NUMBERS.map(|name| written.attribute(name).and_then(|a| a.f));
    let numbers: Vec<f32> = given.into_iter().map_while(|number| number).collect();
    activated(&mut d, written, &numbers, ["product", "Y"])?;
    Ok(d)
}

/// FusedConv: a Conv, to which a value may be added, then an activation.
pub(super) fn conv(written: &Written) -> Result<Definition, Fault> {
    let mut d = Definition::new(&["X", "W", "B", "Z"], &["Y"]);
    let own = others(written, &["activation", "activation_params"]);
    d.op("Conv", &["X", "W", "B"], "product", own);
    let sum = match written.has_input(3) {
        true => {
            d.lines("sum = Add product Z");
            "sum"
        }
        false => "product",
    };
    let numbers = written.attribute("activation_params");
    let numbers = numbers.map_or(&[][..], |a| &a.floats);
    activated(&mut d, written, numbers, [sum, "Y"])?;
    Ok(d)
}

/// CDist: the distance of every row of `A` from every row of `B`.
pub(super) fn distances(written: &Written) -> Result<Definition, Fault> {
    let mut d = Definition::new(&["A", "B"], &["C"]);
    d.integers("one by one", &[0, 1, -1]);
    d.op("Reshape", &["A", "one by one"], "rows", vec![]);
    d.lines(
        "apart = Sub rows B
         square = Mul apart apart",
    );
    sum_over(&mut d, written, 2, ["square", "sum"]);
    match written.text("metric", "sqeuclidean").as_str() {
        "sqeuclidean" => d.lines("C = Identity sum"),
        "euclidean" => d.lines("C = Sqrt sum"),
        other => return unsupported(format!("its 'metric' is '{other}'")),
    }
    Ok(d)
}
