//! Steps of optimisers: Momentum, Adagrad and Adam, of any number of tensors.

use super::super::call::{Fault, bad};
use super::{Definition, Written, int};

/// Momentum: a sum of slopes, by which a tensor moves.
pub(super) fn momentum(written: &Written) -> Result<Definition, Fault> {
    let moves = match written.text("mode", "standard").as_str() {
        "standard" => "step_ = Mul R V_new_",
        "nesterov" => "ahead_ = Mul V_new_ alpha \n to_ = Add slope_ ahead_ \n step_ = Mul R to_",
        other => return bad(format!("its 'mode' is '{other}'")),
    };
    let mut d = Definition::default();
    numbers(&mut d, written, &[("alpha", 0.0), ("beta", 1.0)]);
    // The first step takes all of the slope.
    d.lines("taken = Where later beta one");
    let of_each = "
        kept_ = Mul V_ alpha
        part_ = Mul slope_ taken
        V_new_ = Add kept_ part_";
    let text = format!("{SLOPE}{of_each}\n{moves}\n X_new_ = Sub X_ step_");
    each(d, written, &["X", "G", "V"], &["X_new", "V_new"], &text)
}

/// Adagrad: steps by the slope over the root of the sum of its squares.
pub(super) fn adagrad(written: &Written) -> Result<Definition, Fault> {
    let mut d = Definition::default();
    numbers(&mut d, written, &[("decay_factor", 0.0), ("epsilon", 1e-6)]);
    let rate = "
        decayed = Mul steps decay_factor
        divisor = Add decayed one
        rate = Div R divisor";
    d.lines(rate);
    let of_each = "
        square_ = Mul slope_ slope_
        H_new_ = Add H_ square_
        root_ = Sqrt H_new_
        size_ = Add root_ epsilon
        unit_ = Div slope_ size_
        step_ = Mul rate unit_
        X_new_ = Sub X_ step_";
    let text = format!("{SLOPE}{of_each}");
    each(d, written, &["X", "G", "H"], &["X_new", "H_new"], &text)
}

/// Adam: steps by the mean of slopes over the root of the mean of their squares.
pub(super) fn adam(written: &Written) -> Result<Definition, Fault> {
    let mut d = Definition::default();
    let given = [("alpha", 0.9), ("beta", 0.999), ("epsilon", 1e-6)];
    numbers(&mut d, written, &given);
    numbers(&mut d, written, &[("norm_coefficient_post", 0.0)]);
    // Means that began at 0 are too small, but for the step numbered 0.
    let rate = "
        new = Sub one alpha
        new_square = Sub one beta
        alphas = Pow alpha steps
        betas = Pow beta steps
        mean = Sub one alphas
        mean_square = Sub one betas
        spread = Sqrt mean_square
        factor = Div spread mean
        chosen = Where later factor one
        rate = Mul R chosen
        left = Sub one norm_coefficient_post";
    d.lines(rate);
    let of_each = "
        old_ = Mul V_ alpha
        part_ = Mul slope_ new
        V_new_ = Add old_ part_
        square_ = Mul slope_ slope_
        old_square_ = Mul H_ beta
        part_square_ = Mul square_ new_square
        H_new_ = Add old_square_ part_square_
        root_ = Sqrt H_new_
        size_ = Add root_ epsilon
        unit_ = Div V_new_ size_
        step_ = Mul rate unit_
        moved_ = Sub X_ step_
        X_new_ = Mul moved_ left";
    let text = format!("{SLOPE}{of_each}");
    let outputs = ["X_new", "V_new", "H_new"];
    each(d, written, &["X", "G", "V", "H"], &outputs, &text)
}

/// The slope of every tensor, with that of its own square.
const SLOPE: &str = "
    pull_ = Mul X_ norm_coefficient
    slope_ = Add pull_ G_";

/// The numbers of attributes, or their defaults.
fn numbers(d: &mut Definition, written: &Written, attributes: &[(&str, f32)]) {
    for &(name, default) in attributes {
        d.number(name, written.float(name, default));
    }
}

/// Nodes by lines. Names that end in `_` are those of tensor `i`.
fn lines_of(d: &mut Definition, text: &str, i: usize) {
    let name = |name: &str| match name.ends_with('_') {
        true => format!("{name}{i}"),
        false => name.to_string(),
    };
    for line in text.lines() {
        let words: Vec<String> = line.split_whitespace().map(name).collect();
        d.lines(&words.join(" "));
    }
}

/// The definition with these lines for every tensor. Inputs and outputs are all tensors of one kind after those of
/// another; before the inputs stand the rate and the number of steps.
fn each(
    shared: Definition,
    written: &Written,
    inputs: &[&str],
    outputs: &[&str],
    text: &str,
) -> Result<Definition, Fault> {
    let given = written.node.input.len().saturating_sub(2);
    let count = given / inputs.len();
    if count == 0 || !given.is_multiple_of(inputs.len()) {
        return bad(format!(
            "its {given} tensors are not of {} kinds, as many of each",
            inputs.len()
        ));
    }
    let named = |kinds: &[&str]| -> Vec<String> {
        let of = |kind: &&str| {
            (0..count)
                .map(|i| format!("{kind}_{i}"))
                .collect::<Vec<_>>()
        };
        kinds.iter().flat_map(of).collect()
    };
    let mut d = Definition {
        input: ["R", "T"].map(String::from).into(),
        output: named(outputs),
        nodes: vec![],
    };
    d.input.extend(named(inputs));
    d.number("one", 1.0);
    d.number("zero", 0.0);
    numbers(&mut d, written, &[("norm_coefficient", 0.0)]);
    d.op("Cast", &["T"], "steps", vec![int("to", 1)]);
    d.op("Greater", &["steps", "zero"], "later", vec![]);
    d.nodes.extend(shared.nodes);
    (0..count).for_each(|i| lines_of(&mut d, text, i));
    Ok(d)
}
