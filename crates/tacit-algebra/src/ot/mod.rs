//! Local steps of oblivious transfer and of what is built on it.

pub mod words;
