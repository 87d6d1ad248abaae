//! Refuses truncations with large errors where these would be frequent.

use tacit_nn::Plan;

use crate::Error;
use crate::instance::Instance;

/// Refuses truncations with large errors for a plan with functions. The products of functions fill the
/// ring, where such an error is as likely as not, whatever the ranges of the layers.
pub(crate) fn check_truncation(instance: &Instance, plan: &Plan) -> Result<(), Error> {
    let large = instance.tolerance().large_errors;
    match plan.layers.iter().find(|layer| layer.op.is_function()) {
        Some(layer) if large => Err(Error::setting(
            format!("truncation '{}'", instance.truncation()),
            format!(
                "layer '{}' computes {}, whose products are so large that many of its results would be \
                 wrong by far; use truncation 'gap'",
                layer.name,
                layer.op.kind()
            ),
        )),
        _ => Ok(()),
    }
}
