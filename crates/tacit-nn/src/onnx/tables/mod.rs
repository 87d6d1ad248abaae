//! Operations of the domain `ai.onnx.ml`: scalers, linear models, machines of support vectors and trees,
//! as converters of scikit-learn, LightGBM and XGBoost write them.

mod attributes;
mod categories;
mod compare;
mod encoder;
mod features;
mod linear;
mod scores;
mod trees;
mod vectors;

use super::builder::Builder;
use super::call::{Call, Fault, Value, unsupported};
use super::lower::refuse;
pub(super) use compare::{above, below, not};
pub(super) use encoder::{default, numbers_of, whole_default};

/// The outputs of a node.
pub(super) fn lower(call: &Call, builder: &mut Builder) -> Result<Vec<Value>, Fault> {
    match call.node.op_type.as_str() {
        "LinearClassifier" => linear::classifier(call, builder),
        "SVMClassifier" => vectors::classifier(call, builder),
        "TreeEnsembleClassifier" => trees::classifier(call, builder),
        _ => one(call, builder).map(|value| vec![value]),
    }
}

/// The output of a node that has one.
fn one(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    match call.node.op_type.as_str() {
        "ArrayFeatureExtractor" => features::extractor(call, builder),
        "Binarizer" => features::binarizer(call, builder),
        "CategoryMapper" => {
            unsupported("it gives texts of numbers: it is supported of texts of an input")
        }
        "FeatureVectorizer" => features::vectorizer(call, builder),
        "Imputer" => features::imputer(call, builder),
        "LabelEncoder" => encoder::label_encoder(call, builder),
        "LinearRegressor" => linear::regressor(call, builder),
        "OneHotEncoder" => categories::one_hot(call, builder),
        "Normalizer" => features::normalizer(call, builder),
        "SVMRegressor" => vectors::regressor(call, builder),
        "Scaler" => features::scaler(call, builder),
        "TreeEnsemble" | "TreeEnsembleRegressor" => trees::regressor(call, builder),
        "ZipMap" => scores::by_name(call),
        _ => refuse(call.node),
    }
}
