//! A client of a service, for browsers: [`tacit_client::Model`] by wasm-bindgen. The npm package in
//! `clients/browser` is made of it.
//!
//! Randomness is `crypto.getRandomValues`, through getrandom; without it nothing is shared. What needs a
//! browser is built for `wasm32` only.

#![forbid(unsafe_code)]

pub mod agreement;
#[cfg(target_arch = "wasm32")]
mod client;
