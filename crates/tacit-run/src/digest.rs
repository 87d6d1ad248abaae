//! Hashes of what parties compare and checkpoints belong to.

use serde::Serialize;

use crate::Error;

/// How [`digest`] writes what it hashes. Raise it when the names or meanings of fields change, so that
/// what was made before is known to be other.
const VERSION: u32 = 5;

/// A hash of a `value` of the kind `what`: of its JSON, whose field names and numbers are the same in
/// every build, after the kind and the version of this encoding.
pub(crate) fn digest(what: &str, value: &impl Serialize) -> Result<String, Error> {
    Ok(hash(encoded(what, value)?.as_bytes()))
}

fn encoded(what: &str, value: &impl Serialize) -> Result<String, Error> {
    let unwritten = |e| Error::setting(what, format!("it cannot be written down: {e}"));
    serde_json::to_string(&(what, VERSION, value)).map_err(unwritten)
}

/// The hash of these bytes in hexadecimal digits.
pub(crate) fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agreement::tests::graph;
    use crate::train::{Identity, TrainOptions};
    use tacit_nn::plan::{PlanOptions, plan};
    use tacit_train::{FixedPoint, LayerSpec, Network};

    /// Whoever changes these changes what two versions agree on, and must raise the version.
    #[test]
    fn encodings_are_the_known_ones() {
        let linear = |outputs, bias| LayerSpec::Linear { outputs, bias };
        let specs = [linear(3, true), LayerSpec::Relu {}, linear(2, false)];
        let network = Network::new(&[4], &specs).expect("a network");
        let layers = r#"{"input":[4],"layers":[{"Linear":{"inputs":4,"outputs":3,"bias":true}},{"Relu":{"len":3}},{"Linear":{"inputs":3,"outputs":2,"bias":false}}],"reads":[[0],[1],[2]],"shapes":[[3],[3],[2]]}"#;
        assert_eq!(
            encoded("network", &network).expect("JSON"),
            format!(r#"["network",5,{layers}]"#)
        );
        assert_eq!(
            digest("network", &network).expect("a hash"),
            "fe63c9f15db558b38ca0b07a5d96f4369cfbc03115943793818c390c9b1330d8"
        );
        let options = r#"{"epochs":1,"batch":128,"loss":"cross-entropy","sgd":{"learning_rate":0.05,"momentum":0.0,"weight_decay":0.0,"schedule":{"type":"constant"}},"adam":null,"seed":1,"ring":null,"fraction_bits":20,"sign_bits":null,"reveal_curve":false,"checkpoint":null,"material_mb":null,"stop_after":null}"#;
        let identity = Identity {
            protocol: "shamir",
            choices: vec![("threshold", 1.into()), ("opening", "auto".into())],
            parties: 3,
            fixed: FixedPoint {
                bits: 61,
                fraction: 20,
            },
            network: &network,
            options: TrainOptions::default(),
            train: vec![(0, 500), (2, 7)],
            test: vec![],
        };
        assert_eq!(
            encoded("checkpoint", &identity).expect("JSON"),
            format!(
                r#"["checkpoint",5,{{"protocol":"shamir","choices":[["threshold",1],["opening","auto"]],"parties":3,"fixed":{{"bits":61,"fraction":20}},"network":{layers},"options":{options},"train":[[0,500],[2,7]],"test":[]}}]"#
            )
        );
    }

    /// The encoding of a prediction's plan, by which digests are compared, is the known one.
    #[test]
    fn a_plans_encoding_is_the_known_one() {
        let plan = plan(&graph(), &PlanOptions::default()).expect("fits");
        assert_eq!(
            encoded("plan", &plan).expect("JSON"),
            r#"["plan",5,{"modulus":64,"fraction_bits":18,"compare_bits":32,"public_model":false,"order":"multiply-then-truncate","functions":"accurate","input_widths":null,"inputs":[{"name":"x","shape":[2],"batch":0,"kind":"numbers","limit":2097152,"ranked":false}],"layers":[{"name":"relu","op":"Relu","weights_of":null,"inputs":[0],"shape":[2],"input_trunc":0,"weight_bits":0,"trunc":0,"keys":{"dropped":0,"kept":22,"width":23},"argument_bits":0,"own_fraction":null,"widths":null}],"output":1,"opening":{"reveal":"logits","scores":[],"keys":{"dropped":0,"kept":4294967295,"width":4294967295}},"outputs":[{"name":"y","start":0,"revealed_shape":[2],"tail":[],"shape":[2],"batch":0,"classes":null}]}]"#
        );
    }
}
