//! Peers that die, stall or send what is no message of the protocol: an error that names party
//! and step, never a hang.

use std::time::Duration;

use tacit_conformance::{TIMEOUT, mesh, run_on};
use tacit_net::NetError;
use tacit_net::testing::{Envelope, Fate, mesh_with};
use tacit_protocols::Error;
use tacit_protocols::falcon::{Comparison, Falcon, Options, PARTIES};
use tacit_protocols::machine::{Call, KeyBits, Machine};

/// ReLU of a few values by the paper's comparison, which has steps of every kind, with every message passed through `hook`.
fn relu_through(
    timeout: Duration,
    hook: impl FnMut(Envelope<'_>) -> Fate + Send + 'static,
) -> Vec<Result<(), Error>> {
    let options = Options {
        comparison: Comparison::Falcon,
        ..Options::default()
    };
    run_on(mesh_with(PARTIES, timeout, hook), |party| {
        let mut machine = Falcon::<u32>::new(party, options)?;
        machine.prepare(&[Call::relu(100)])?;
        let x = machine.constant(&[7; 100]);
        machine.relu(&x, KeyBits::ALL).map(drop)
    })
}

#[test]
fn a_key_that_was_not_committed_to_is_refused() {
    let results = relu_through(TIMEOUT, |envelope| {
        if envelope.from == 2 && envelope.step.contains("key opening") {
            envelope.payload[0] ^= 1;
        }
        Fate::Deliver
    });
    let refusals = results
        .iter()
        .filter(
            |r| matches!(r, Err(Error::Peer { party: 2, step, .. }) if step.contains("opening")),
        )
        .count();
    assert!(refusals > 0, "{results:?}");
}

#[test]
fn a_residue_that_is_none_is_refused() {
    let results = relu_through(TIMEOUT, |envelope| {
        if envelope.from == 1 && envelope.step == "falcon compare: product" {
            envelope.payload.fill(0xff);
        }
        Fate::Deliver
    });
    let refused = results
        .iter()
        .any(|r| matches!(r, Err(Error::Peer { party: 1, what, .. }) if what.contains("residues")));
    assert!(refused, "{results:?}");
}

#[test]
fn a_message_of_another_length_is_refused() {
    let results = relu_through(TIMEOUT, |envelope| {
        if envelope.from == 0 && envelope.step == "falcon select: multiply" {
            envelope.payload.pop();
        }
        Fate::Deliver
    });
    assert!(
        results
            .iter()
            .any(|r| matches!(r, Err(Error::Net(NetError::Length { party: 0, .. }))))
    );
}

#[test]
fn a_peer_that_stalls_or_is_cut_off_is_named_with_its_step() {
    for fate in [Fate::Drop, Fate::Cut] {
        let mut gone = false;
        let results = relu_through(Duration::from_millis(300), move |envelope| {
            gone |= envelope.from == 2 && envelope.step.contains("open masked value");
            if gone && envelope.from == 2 {
                fate
            } else {
                Fate::Deliver
            }
        });
        let named = results.iter().any(|r| {
            matches!(r, Err(Error::Net(NetError::PeerLost { party: 2, step, .. })) if step.contains("wrap3"))
        });
        assert!(named, "{fate:?}: {results:?}");
    }
}

#[test]
fn a_party_that_leaves_is_noticed_by_the_others() {
    let results = run_on(mesh(PARTIES), |party| {
        let mut machine = Falcon::<u32>::new(party, Options::default())?;
        machine.prepare(&[Call::relu(100)])?;
        if machine.party().id() == 1 {
            return Ok(()); // its links close
        }
        let x = machine.constant(&[7; 100]);
        machine.relu(&x, KeyBits::ALL).map(drop)
    });
    assert!(results[1].is_ok());
    for lost in [&results[0], &results[2]] {
        assert!(
            matches!(lost, Err(Error::Net(NetError::PeerLost { .. }))),
            "{lost:?}"
        );
    }
}
