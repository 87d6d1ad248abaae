//! Operations of the domain `ai.onnx.ml`, on the rows of a table.

use super::{
    Attribute, Float, Floats, Int, Ints, MANY, NOW, Operation, Tensor, Text, Texts, from, op,
};

const LABELS: &str =
    "class labels are integers or texts; post transforms NONE, LOGISTIC and SOFTMAX";
const VALUES: &str = "post transform NONE";
const KERNELS: &str = "kernels LINEAR, POLY, RBF and SIGMOID";
const TREES: &str = "thresholds and leaves are weights; which feature a node reads and where its branches lead is public";

/// All that are supported, by name.
pub(super) const OPERATIONS: &[Operation] = &[
    op(
        "ArrayFeatureExtractor",
        2,
        &[],
        "constant indices; or a list by places that ArgMax or TopK find; or columns of constants by computed places",
    ),
    op("Binarizer", 1, &[("threshold", Float, 0, NOW)], ""),
    op(
        "CategoryMapper",
        1,
        &[
            ("cats_int64s", Ints, 0, NOW),
            ("cats_strings", Texts, 0, NOW),
            ("default_int64", Int, 0, NOW),
            ("default_string", Text, 0, NOW),
        ],
        "of texts of an input to integers",
    ),
    op(
        "FeatureVectorizer",
        MANY,
        &[("inputdimensions", Ints, 0, NOW)],
        "",
    ),
    op(
        "Imputer",
        1,
        &[
            ("imputed_value_floats", Floats, 0, NOW),
            ("imputed_value_int64s", Ints, 0, NOW),
            ("replaced_value_float", Float, 0, NOW),
            ("replaced_value_int64", Int, 0, NOW),
        ],
        "of NaN it replaces numbers of inputs that are missing; no number that a party has is infinite",
    ),
    op(
        "LabelEncoder",
        1,
        &[
            ("classes_strings", Texts, 0, 1),
            ("default_float", Float, 0, NOW),
            ("default_int64", Int, 0, NOW),
            ("default_string", Text, 0, NOW),
            ("default_tensor", Tensor, 4, NOW),
            ("keys_floats", Floats, 0, NOW),
            ("keys_int64s", Ints, 0, NOW),
            ("keys_strings", Texts, 2, NOW),
            ("keys_tensor", Tensor, 4, NOW),
            ("values_floats", Floats, 0, NOW),
            ("values_int64s", Ints, 0, NOW),
            ("values_strings", Texts, 2, NOW),
            ("values_tensor", Tensor, 4, NOW),
        ],
        "of texts of an input to numbers or texts; of numbers to numbers: of those that are no leaves of a tree, nor places that ArgMax or TopK find, by comparisons with the keys",
    ),
    op(
        "LinearClassifier",
        1,
        &[
            ("classlabels_ints", Ints, 0, NOW),
            ("classlabels_strings", Texts, 0, NOW),
            ("coefficients", Floats, 0, NOW),
            ("intercepts", Floats, 0, NOW),
            ("multi_class", Int, 0, NOW),
            ("post_transform", Text, 0, NOW),
        ],
        LABELS,
    ),
    op(
        "LinearRegressor",
        1,
        &[
            ("coefficients", Floats, 0, NOW),
            ("intercepts", Floats, 0, NOW),
            ("post_transform", Text, 0, NOW),
            ("targets", Int, 0, NOW),
        ],
        VALUES,
    ),
    op(
        "Normalizer",
        1,
        &[("norm", Text, 0, NOW)],
        "of rows that are not all 0",
    ),
    op(
        "OneHotEncoder",
        1,
        &[
            ("cats_int64s", Ints, 0, NOW),
            ("cats_strings", Texts, 0, NOW),
            ("zeros", Int, 0, NOW),
        ],
        "of texts of an input, or of whole numbers, of which one that is no category has zeros, whatever 'zeros' says",
    ),
    op(
        "SVMClassifier",
        1,
        &[
            ("classlabels_ints", Ints, 0, NOW),
            ("classlabels_strings", Texts, 0, NOW),
            ("coefficients", Floats, 0, NOW),
            ("kernel_params", Floats, 0, NOW),
            ("kernel_type", Text, 0, NOW),
            ("post_transform", Text, 0, NOW),
            ("prob_a", Floats, 0, NOW),
            ("prob_b", Floats, 0, NOW),
            ("rho", Floats, 0, NOW),
            ("support_vectors", Floats, 0, NOW),
            ("vectors_per_class", Ints, 0, NOW),
        ],
        KERNELS,
    ),
    op(
        "SVMRegressor",
        1,
        &[
            ("coefficients", Floats, 0, NOW),
            ("kernel_params", Floats, 0, NOW),
            ("kernel_type", Text, 0, NOW),
            ("n_supports", Int, 0, NOW),
            ("one_class", Int, 0, NOW),
            ("post_transform", Text, 0, NOW),
            ("rho", Floats, 0, NOW),
            ("support_vectors", Floats, 0, NOW),
        ],
        KERNELS,
    ),
    op(
        "Scaler",
        1,
        &[("offset", Floats, 0, NOW), ("scale", Floats, 0, NOW)],
        "",
    ),
    from(5, op("TreeEnsemble", 1, TREE, TREES)),
    op("TreeEnsembleClassifier", 1, &CLASSES, TREES),
    op("TreeEnsembleRegressor", 1, &TARGETS, TREES),
    op(
        "ZipMap",
        1,
        &[
            ("classlabels_int64s", Ints, 0, NOW),
            ("classlabels_strings", Texts, 0, NOW),
        ],
        "its values as an array, in the order of its keys",
    ),
];

const TREE: &[Attribute] = &[
    ("aggregate_function", Int, 0, NOW),
    ("leaf_targetids", Ints, 0, NOW),
    ("leaf_weights", Tensor, 0, NOW),
    ("membership_values", Tensor, 0, NOW),
    ("n_targets", Int, 0, NOW),
    ("nodes_falseleafs", Ints, 0, NOW),
    ("nodes_falsenodeids", Ints, 0, NOW),
    ("nodes_featureids", Ints, 0, NOW),
    ("nodes_hitrates", Tensor, 0, NOW),
    ("nodes_missing_value_tracks_true", Ints, 0, NOW),
    ("nodes_modes", Tensor, 0, NOW),
    ("nodes_splits", Tensor, 0, NOW),
    ("nodes_trueleafs", Ints, 0, NOW),
    ("nodes_truenodeids", Ints, 0, NOW),
    ("post_transform", Int, 0, NOW),
    ("tree_roots", Ints, 0, NOW),
];

/// What the nodes of trees have before operator set 5.
const NODES: [Attribute; 14] = [
    ("base_values", Floats, 0, NOW),
    ("base_values_as_tensor", Tensor, 3, NOW),
    ("nodes_falsenodeids", Ints, 0, NOW),
    ("nodes_featureids", Ints, 0, NOW),
    ("nodes_hitrates", Floats, 0, NOW),
    ("nodes_hitrates_as_tensor", Tensor, 3, NOW),
    ("nodes_missing_value_tracks_true", Ints, 0, NOW),
    ("nodes_modes", Texts, 0, NOW),
    ("nodes_nodeids", Ints, 0, NOW),
    ("nodes_treeids", Ints, 0, NOW),
    ("nodes_truenodeids", Ints, 0, NOW),
    ("nodes_values", Floats, 0, NOW),
    ("nodes_values_as_tensor", Tensor, 3, NOW),
    ("post_transform", Text, 0, NOW),
];

const CLASSES: [Attribute; 21] = and_seven([
    ("class_ids", Ints, 0, NOW),
    ("class_nodeids", Ints, 0, NOW),
    ("class_treeids", Ints, 0, NOW),
    ("class_weights", Floats, 0, NOW),
    ("class_weights_as_tensor", Tensor, 3, NOW),
    ("classlabels_int64s", Ints, 0, NOW),
    ("classlabels_strings", Texts, 0, NOW),
]);

const TARGETS: [Attribute; 21] = and_seven([
    ("aggregate_function", Text, 0, NOW),
    ("n_targets", Int, 0, NOW),
    ("target_ids", Ints, 0, NOW),
    ("target_nodeids", Ints, 0, NOW),
    ("target_treeids", Ints, 0, NOW),
    ("target_weights", Floats, 0, NOW),
    ("target_weights_as_tensor", Tensor, 3, NOW),
]);

/// The attributes of all nodes of trees, and seven more.
const fn and_seven(more: [Attribute; 7]) -> [Attribute; 21] {
    let [a, b, c, d, e, f, g, h, i, j, k, l, m, n] = NODES;
    let [o, p, q, r, s, t, u] = more;
    [
        a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u,
    ]
}
