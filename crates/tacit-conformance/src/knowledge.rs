//! What a party of a recorded run knows beside the messages that it was sent: the generators that it
//! has in common with others, from its own contributions to their keys and the others'.

use tacit_algebra::Prg;
use tacit_net::Party;
use tacit_net::testing::{Fate, Recorder, mesh_with};

use crate::TIMEOUT;

const OPEN: &str = "key opening";
const KEY_CONTEXT: &str = "tacit 2026 pairwise key";

/// Parties of whose messages those are kept that `keeps` says, by sender and step.
pub fn recorded(
    parties: usize,
    keeps: impl Fn(usize, &str) -> bool + Send + 'static,
) -> (Recorder, Vec<Party>) {
    let recorder = Recorder::new();
    let tap = recorder.clone();
    let mesh = mesh_with(parties, TIMEOUT, move |envelope| {
        if keeps(envelope.from, envelope.step) {
            tap.record(&envelope);
        }
        Fate::Deliver
    });
    (recorder, mesh)
}

/// All that `from` sent `to` at a step, one message after the other.
pub fn sent(recorder: &Recorder, from: usize, to: usize, step: &str) -> Vec<u8> {
    let view = recorder.view(to).into_iter();
    view.filter(|seen| seen.from == from && seen.step == step)
        .flat_map(|seen| seen.payload)
        .collect()
}

/// The generator that two parties made for a purpose: each of them knows what both contributed.
pub fn generator(recorder: &Recorder, [a, b]: [usize; 2], label: &[u8]) -> Prg {
    let [ours, theirs] = [(a, b), (b, a)].map(|(from, to)| sent(recorder, from, to, OPEN));
    let secret: Vec<u8> = ours.iter().zip(&theirs).map(|(a, b)| a ^ b).collect();
    let mut hasher = blake3::Hasher::new_derive_key(KEY_CONTEXT);
    hasher.update(&secret).update(label);
    let mut key = [0; 16];
    key.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    Prg::new(key)
}
