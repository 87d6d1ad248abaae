//! Tests of runs. One binary, so that the protocols are compiled for it once.

mod common;
mod cost;
mod insists;
mod local;
mod parties;
mod processes;
mod reasons;
mod record;
mod recurrent;
mod reveal;
mod train;
mod train_apart;
