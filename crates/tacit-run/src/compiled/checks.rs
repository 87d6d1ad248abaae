//! What is given to a model: of its shape, finite or missing, and of the numbers that its inputs have.

use tacit_nn::Graph;
use tacit_nn::encode::{NOT_MISSING, position};

use crate::{Error, Tensor};

/// Refuses infinity, with the place of the first.
pub(crate) fn finite(what: &str, given: &Tensor) -> Result<(), Error> {
    match given.beyond() {
        None => Ok(()),
        Some(why) => Err(Error::setting(what, why)),
    }
}

/// Refuses what is no batch of a model's inputs, finite but for those that may be missing.
pub(super) fn check_inputs(what: &str, graph: &Graph, given: &Tensor) -> Result<(), Error> {
    let refused = |why: String| Err(Error::setting(what, why));
    let items: usize = given.shape.iter().product();
    let item = graph.input_shape();
    if given.shape.is_empty() || given.shape[1..] != item[..] {
        let by_name = match graph.inputs.iter().find(|input| input.batch > 0) {
            Some(input) => format!(
                ", or arrays by their names as the file lays them out, with the items of '{}' along axis {}",
                input.name, input.batch
            ),
            None => String::new(),
        };
        return refused(format!(
            "they have the shape {:?}; items of shape {:?} are needed, stacked along a first axis{by_name}",
            given.shape, item
        ));
    }
    if items != given.values.len() {
        return refused(format!(
            "they have {} numbers, their shape needs {items}",
            given.values.len()
        ));
    }
    finite(what, given)?;
    check_kinds(what, graph, given.values)
}

/// Refuses numbers that an input does not have, and NaN where none may be missing, with the place of the first.
pub(super) fn check_kinds(what: &str, graph: &Graph, values: &[f32]) -> Result<(), Error> {
    for (item, row) in values.chunks_exact(graph.given_len().max(1)).enumerate() {
        let mut rest = row;
        for input in &graph.inputs {
            let part;
            (part, rest) = rest.split_at(input.given_len());
            let places = input.missing.as_ref().map_or(&[][..], |m| &m.places);
            let is_missing = |at: &usize| part[*at].is_nan() && places.binary_search(at).is_err();
            if let Some(at) = (0..part.len()).find(is_missing) {
                let (name, place) = (&input.name, position(&input.shape, at));
                let why =
                    format!("item {item}, position {place:?}, of '{name}' is NaN; {NOT_MISSING}");
                return Err(Error::setting(what, why));
            }
            let beyond = |at: &usize| !input.kind_at(*at).holds(part[*at]);
            if let Some(at) = (0..part.len()).find(beyond) {
                let (name, takes) = (&input.name, input.kind_at(at).described());
                let value = part[at];
                let why = format!("item {item} of '{name}' holds {value}; it takes {takes}");
                return Err(Error::setting(what, why));
            }
        }
    }
    Ok(())
}
