//! What JavaScript sees. What a party says of a model is the text of its `/v2/models/{model}`.

use js_sys::Uint8Array;
use tacit_client::Model;
use wasm_bindgen::prelude::*;

use crate::agreement;

/// Something that parties say differently of a model.
#[wasm_bindgen]
pub struct Difference(agreement::Difference);

#[wasm_bindgen]
impl Difference {
    /// What, such as `digest`.
    #[wasm_bindgen(getter)]
    pub fn key(&self) -> String {
        self.0.key.into()
    }

    /// Who says otherwise than most, by their places among the texts.
    #[wasm_bindgen(getter)]
    pub fn who(&self) -> Vec<u32> {
        self.0.who.iter().map(|&place| place as u32).collect()
    }
}

/// The first thing that parties say differently, if there is one.
#[wasm_bindgen]
pub fn difference(texts: Vec<String>) -> Result<Option<Difference>, JsError> {
    let told: Option<Vec<_>> = texts.iter().map(|text| agreement::read(text)).collect();
    let told = told.ok_or_else(|| JsError::new("a party does not describe a model"))?;
    Ok(agreement::difference(&told).map(Difference))
}

/// A client of one model.
#[wasm_bindgen]
pub struct Client {
    model: Model,
}

#[wasm_bindgen]
impl Client {
    /// Reads what a party says of a model.
    #[wasm_bindgen(constructor)]
    pub fn new(described: &str) -> Result<Client, JsError> {
        let told = agreement::read(described).map(serde_json::from_value);
        let told = told.ok_or_else(|| JsError::new("a party does not describe a model"))?;
        let refused = |e| {
            let why = "the parties describe a model that this client cannot ask";
            JsError::new(&format!("{why}: {e}"))
        };
        Ok(Client {
            model: Model::new(told.map_err(refused)?)?,
        })
    }

    /// Numbers of one item of the input.
    #[wasm_bindgen(getter, js_name = inputLength)]
    pub fn input_length(&self) -> usize {
        self.model.given_len()
    }

    /// Numbers of one item of the answer.
    #[wasm_bindgen(getter, js_name = outputLength)]
    pub fn output_length(&self) -> usize {
        self.model.answer_len()
    }

    /// A body for each party, of items one behind the other.
    pub fn split(&self, x: &[f32]) -> Result<Vec<Uint8Array>, JsError> {
        let (_, bodies) = self.model.split(x)?;
        let copied = |body: &Vec<u8>| Uint8Array::from(&body[..]);
        Ok(bodies.iter().map(copied).collect())
    }

    /// The answer of so many items, of one answer of every party.
    pub fn join(&self, items: usize, answers: Vec<Uint8Array>) -> Result<Vec<f32>, JsError> {
        let answers: Vec<Vec<u8>> = answers.iter().map(Uint8Array::to_vec).collect();
        let answers: Vec<&[u8]> = answers.iter().map(Vec::as_slice).collect();
        Ok(self.model.join(items, &answers)?)
    }
}
