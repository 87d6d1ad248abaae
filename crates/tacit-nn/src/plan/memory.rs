//! How much memory a plan asks for, before any is taken.

use super::{Layer, LayerOp, Plan};

/// Bytes of an element that a layer touches: a share of two words, its index, and copies of them.
const ELEMENT_BYTES: u64 = 64;
/// Copies of every element that a function makes at most: one for each power of a polynomial.
pub(crate) const FUNCTION_COPIES: usize = 64;

impl Layer {
    /// Elements of one item that the layer touches, its own weights among them; saturating, since
    /// the plan may be a peer's.
    fn elements(&self, inputs: usize) -> u64 {
        let (factors, terms) = self.shared_lens();
        let n = self.out_len();
        let within = match &self.op {
            LayerOp::Conv { geometry: g, .. } => {
                let places = g.out().iter().product::<usize>();
                places.saturating_mul(g.channels * g.kernel[0] * g.kernel[1])
            }
            LayerOp::MaxPool(pool) | LayerOp::AveragePool(pool) | LayerOp::SumPool(pool) => {
                pool.window().saturating_mul(n)
            }
            LayerOp::Function(_) => FUNCTION_COPIES.saturating_mul(n),
            _ => 2 * n,
        };
        let all = [factors, terms, inputs, n, within];
        all.iter()
            .fold(0, |sum: u64, &part| sum.saturating_add(part as u64))
    }
}

impl Plan {
    /// About how many bytes predicting one item takes at a party, as if no value were ever freed,
    /// without the correlated randomness, which is its protocol's.
    pub fn item_bytes(&self) -> u64 {
        let layers = self.bytes_by_layer().last().copied().unwrap_or(0);
        layers.saturating_add(self.opening_bytes())
    }

    /// What the search for classes takes of that.
    fn opening_bytes(&self) -> u64 {
        let copies = self.top(1).map_or(0, |top| top.copies());
        let elements = copies.saturating_mul(self.value_len(self.output));
        (elements as u64).saturating_mul(ELEMENT_BYTES)
    }

    /// About how many bytes one item has taken at a party by the end of each layer, if no value is
    /// freed.
    fn bytes_by_layer(&self) -> Vec<u64> {
        let mut elements = self.input_len() as u64;
        let up_to = |layer: &Layer| {
            let inputs = layer.inputs.iter().map(|&id| self.value_len(id)).sum();
            elements = elements.saturating_add(layer.elements(inputs));
            elements.saturating_mul(ELEMENT_BYTES)
        };
        self.layers.iter().map(up_to).collect()
    }

    /// Refuses a plan of which one item takes more than `most` bytes, and names the layer with which
    /// it does.
    pub(super) fn check_memory(&self, most: u64) -> Result<(), String> {
        let all = self.bytes_by_layer();
        match all.iter().position(|&bytes| bytes > most) {
            None if self.item_bytes() > most => Err(format!(
                "the search for classes: with it one item takes {}, and at most {} are allowed",
                gigabytes(self.item_bytes()),
                gigabytes(most)
            )),
            None => Ok(()),
            Some(i) => Err(format!(
                "layer '{}': with it one item takes {}, and at most {} are allowed",
                self.layers[i].name,
                gigabytes(all[i]),
                gigabytes(most)
            )),
        }
    }
}

/// `438.00 GB`, or in a smaller unit what is less.
pub fn gigabytes(bytes: u64) -> String {
    let units = [(1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    let bytes = bytes as f64;
    let (size, unit) = units
        .into_iter()
        .find(|(size, _)| bytes >= *size)
        .unwrap_or(units[2]);
    format!("{:.2} {unit}", bytes / size)
}
