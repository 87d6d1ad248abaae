//! A client of a service, for browsers: [`tacit_client::Model`] by wasm-bindgen. The npm package in
//! `clients/browser` is made of it.
//!
//! Randomness is `crypto.getRandomValues`, through getrandom; without it nothing is shared. On other
//! targets this crate is empty.

#![forbid(unsafe_code)]
#![cfg(target_arch = "wasm32")]

use js_sys::Uint8Array;
use tacit_client::Model;
use wasm_bindgen::prelude::*;

/// A client of one model.
#[wasm_bindgen]
pub struct Client {
    model: Model,
}

#[wasm_bindgen]
impl Client {
    /// Reads what the parties describe of a model, as JSON.
    #[wasm_bindgen(constructor)]
    pub fn new(described: &str) -> Result<Client, JsError> {
        let told = serde_json::from_str(described).map_err(|e| {
            JsError::new(&format!(
                "the parties describe a model that this client cannot ask: {e}"
            ))
        })?;
        Ok(Client {
            model: Model::new(told)?,
        })
    }

    /// How many parties there are.
    #[wasm_bindgen(getter)]
    pub fn parties(&self) -> usize {
        self.model.scheme().parties()
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
        Ok(bodies
            .iter()
            .map(|body| Uint8Array::from(&body[..]))
            .collect())
    }

    /// The answer of so many items, of one answer of every party.
    pub fn join(&self, items: usize, answers: Vec<Uint8Array>) -> Result<Vec<f32>, JsError> {
        let answers: Vec<Vec<u8>> = answers.iter().map(Uint8Array::to_vec).collect();
        let answers: Vec<&[u8]> = answers.iter().map(Vec::as_slice).collect();
        Ok(self.model.join(items, &answers)?)
    }
}
