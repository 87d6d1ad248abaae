//! Scores of classifiers, and what is refused of them.

use super::*;

fn linear(weights: &[f32], post: &str) -> ModelProto {
    let attributes = vec![
        floats("coefficients", weights),
        floats("intercepts", &vec![0.25; weights.len() / 2]),
        list("classlabels_ints", &[5, 6]),
        text("post_transform", post),
    ];
    of_one(2, "LinearClassifier", &["l", "y"], attributes)
}

fn near(found: &[f32], wanted: &[f32]) {
    assert!(
        distance(found, wanted) < 1e-6,
        "{found:?} instead of {wanted:?}"
    );
}

#[test]
fn one_row_of_two_classes_is_both_of_them() {
    let logistic = |v: f32| 1.0 / (1.0 + (-v).exp());
    let x = [1.0, 2.0];
    near(&answers(&linear(&[2.0, -1.0], "NONE"), &x), &[0.75, 0.25]);
    near(
        &answers(&linear(&[2.0, -1.0], "LOGISTIC"), &x),
        &[logistic(-0.25), logistic(0.25)],
    );
    let both = linear(&[2.0, -1.0, 1.0, 0.5], "SOFTMAX");
    near(
        &answers(&both, &x),
        &[1.0 / (1.0 + 2f32.exp()), 2f32.exp() / (1.0 + 2f32.exp())],
    );
}

#[test]
fn transforms_that_rounding_does_not_keep_are_refused() {
    refused(
        &linear(&[1.0, 1.0], "SOFTMAX_ZERO"),
        "exactly 0, which rounding does not keep",
    );
    refused(
        &linear(&[1.0, 1.0], "PROBIT"),
        "its post transform is PROBIT",
    );
    refused(&linear(&[1.0, 1.0], "CUBE"), "its post transform is CUBE");
}

#[test]
fn classes_and_weights_must_fit() {
    refused(
        &linear(&[1.0, 1.0, 1.0], "NONE"),
        "its 'coefficients' has 3 numbers, 4 are needed",
    );
    let with = |labels: Vec<AttributeProto>| {
        let attributes = [labels, vec![floats("coefficients", &[1.0, 1.0])]].concat();
        of_one(2, "LinearClassifier", &["l", "y"], attributes)
    };
    refused(&with(vec![]), "it has no class labels");
    refused(
        &with(vec![list("classlabels_ints", &[1])]),
        "it has one class",
    );
    let both = vec![
        list("classlabels_ints", &[1, 2]),
        words("classlabels_strings", &["a", "b"]),
    ];
    refused(
        &with(both),
        "both 'classlabels_ints' and 'classlabels_strings'",
    );
    let endless = vec![
        list("classlabels_ints", &[1, 2]),
        floats("intercepts", &[f32::INFINITY]),
    ];
    refused(&with(endless), "its 'intercepts' holds inf");
}

/// Four vectors of three classes.
fn machine(more: Vec<AttributeProto>) -> ModelProto {
    let attributes = vec![
        floats("support_vectors", &[0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0]),
        list("vectors_per_class", &[2, 1, 1]),
        floats("coefficients", &[1.0, 0.5, -1.0, 0.25, 1.0, 2.0, 0.5, -0.5]),
        floats("rho", &[0.1, 0.2, 0.3]),
        list("classlabels_ints", &[5, 6, 7]),
        text("kernel_type", "LINEAR"),
    ];
    of_one(2, "SVMClassifier", &["l", "y"], [attributes, more].concat())
}

/// By hand: of a row (1, 2) the products with the vectors are 2, 1, 3 and 0.
#[test]
fn machines_weigh_every_pair_of_classes() {
    // Coefficients of the second class stand in the first row for the first class, else in the second.
    let pairs = [
        1.0 * 2.0 + 0.5 * 1.0 - 1.0 * 3.0 + 0.1,
        1.0 * 2.0 + 2.0 * 1.0 + 0.25 * 0.0 + 0.2,
        0.5 * 3.0 - 0.5 * 0.0 + 0.3,
    ];
    near(&answers(&machine(vec![]), &[1.0, 2.0]), &pairs);
    let calibrated = vec![floats("prob_a", &[1.0; 3]), floats("prob_b", &[1.0; 3])];
    refused(
        &machine(calibrated),
        "its probabilities come of an iteration",
    );
    refused(
        &machine(vec![floats("kernel_params", &[1.0])]),
        "its 'kernel_params' are not 3",
    );
    refused(
        &machine(vec![text("post_transform", "LOGISTIC")]),
        "not NONE",
    );
}
