//! Hashes of what parties compare and checkpoints belong to.

use serde::Serialize;
use serde_json::error::Result;

/// How [`digest`] writes what it hashes. Raise it when the names or meanings of fields change, so that
/// what was made before is known to be other.
const VERSION: u32 = 1;

/// A hash of a `value` of the kind `what`: of its JSON, whose field names and numbers are the same in
/// every build, after the kind and the version of this encoding.
pub(crate) fn digest(what: &str, value: &impl Serialize) -> Result<String> {
    let bytes = serde_json::to_vec(&(what, VERSION, value))?;
    Ok(hash(&bytes))
}

/// The hash of these bytes in hexadecimal digits.
pub(crate) fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::TrainOptions;
    use tacit_train::{LayerSpec, Network};

    /// Whoever changes these changes what two versions agree on, and must raise the version.
    #[test]
    fn encodings_are_the_known_ones() {
        let specs = [
            LayerSpec::Linear {
                outputs: 3,
                bias: true,
            },
            LayerSpec::Relu,
            LayerSpec::Linear {
                outputs: 2,
                bias: false,
            },
        ];
        let network = Network::new(&[4], &specs).expect("a network");
        let json = serde_json::to_string(&network).expect("JSON");
        assert_eq!(
            json,
            r#"{"input":[4],"layers":[{"Linear":{"inputs":4,"outputs":3,"bias":true}},{"Relu":{"len":3}},{"Linear":{"inputs":3,"outputs":2,"bias":false}}],"shapes":[[3],[3],[2]]}"#
        );
        let options = serde_json::to_string(&TrainOptions::default()).expect("JSON");
        assert_eq!(
            options,
            r#"{"epochs":1,"batch":128,"loss":"cross-entropy","sgd":{"learning_rate":0.05,"momentum":0.0,"weight_decay":0.0,"schedule":{"type":"constant"}},"seed":1,"ring":null,"fraction_bits":20,"sign_bits":null,"reveal_curve":false,"checkpoint":null,"material_mb":null,"stop_after":null}"#
        );
        let first = digest("network", &network).expect("a hash");
        assert_eq!(
            first,
            "2a07c44f9cea3ba0689b07ebe173172b90ce5950dfefa90d5733ddc8a5845622"
        );
        assert_ne!(first, digest("other", &network).expect("a hash"));
    }
}
