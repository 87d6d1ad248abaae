//! The harness itself: what its hooks see and do.

use std::time::{Duration, Instant};

use tacit_net::testing::tampering::{Extent, Tampered};
use tacit_net::testing::{Envelope, Fate, Recorder, Seen, mesh_with, run};
use tacit_net::{NetError, Party};

const PATIENT: Duration = Duration::from_secs(60);

/// Everyone sends its number to everyone, and then to the next one.
fn program(party: &mut Party) -> Result<Vec<u8>, NetError> {
    let (me, n) = (party.id(), party.parties());
    for peer in (0..n).filter(|&peer| peer != me) {
        party.send(peer, "open", vec![me as u8])?;
    }
    party.send((me + 1) % n, "reshare", vec![me as u8; 2])?;
    let mut seen = Vec::new();
    for peer in (0..n).filter(|&peer| peer != me) {
        seen.extend(party.recv(peer, "open", 1)?);
    }
    seen.extend(party.recv((me + n - 1) % n, "reshare", 2)?);
    Ok(seen)
}

fn outcomes(
    timeout: Duration,
    hook: impl FnMut(Envelope<'_>) -> Fate + Send + 'static,
) -> Vec<Result<Vec<u8>, NetError>> {
    run(mesh_with(3, timeout, hook), |mut party| program(&mut party))
}

fn is_first_reshare(envelope: &Envelope<'_>) -> bool {
    (envelope.from, envelope.to, envelope.step) == (0, 1, "reshare")
}

#[test]
fn a_recorder_keeps_the_views() {
    let recorder = Recorder::new();
    let its = recorder.clone();
    let outcomes = outcomes(PATIENT, move |envelope| {
        its.record(&envelope);
        Fate::Deliver
    });
    assert!(outcomes.iter().all(Result::is_ok));
    let seen = |from, step, payload: &[u8]| Seen {
        from,
        step,
        payload: payload.to_vec(),
    };
    let expected = [
        seen(0, "open", &[0]),
        seen(0, "reshare", &[0, 0]),
        seen(2, "open", &[2]),
    ];
    assert_eq!(recorder.view(1), expected);
    assert_eq!(recorder.view(3), []);
}

#[test]
fn a_changed_message_arrives_changed() {
    let outcomes = outcomes(PATIENT, |envelope| {
        if is_first_reshare(&envelope) {
            envelope.payload[1] = 77;
        }
        Fate::Deliver
    });
    assert_eq!(outcomes[1], Ok(vec![0, 2, 0, 77]));
    assert_eq!(outcomes[0], Ok(vec![1, 2, 2, 2]));
}

#[test]
fn a_changed_length_is_refused() {
    let outcomes = outcomes(PATIENT, |envelope| {
        if is_first_reshare(&envelope) {
            envelope.payload.push(0);
        }
        Fate::Deliver
    });
    assert!(
        matches!(
            outcomes[1],
            Err(NetError::Length {
                party: 0,
                got: 3,
                ..
            })
        ),
        "{outcomes:?}"
    );
}

#[test]
fn a_dropped_message_is_missed() {
    let outcomes = outcomes(Duration::from_secs(1), |envelope| {
        if is_first_reshare(&envelope) {
            Fate::Drop
        } else {
            Fate::Deliver
        }
    });
    assert!(
        matches!(
            outcomes[1],
            Err(NetError::PeerLost {
                party: 0,
                step: "reshare",
                ..
            })
        ),
        "{outcomes:?}"
    );
}

#[test]
fn a_delayed_message_is_late_or_too_late() {
    let delay = Duration::from_millis(50);
    let started = Instant::now();
    let hook = move |by| {
        move |envelope: Envelope<'_>| {
            if is_first_reshare(&envelope) {
                Fate::Delay(by)
            } else {
                Fate::Deliver
            }
        }
    };
    assert!(outcomes(PATIENT, hook(delay)).iter().all(Result::is_ok));
    assert!(started.elapsed() >= delay);
    let outcomes = outcomes(delay, hook(PATIENT));
    assert!(
        matches!(outcomes[1], Err(NetError::PeerLost { .. })),
        "{outcomes:?}"
    );
}

#[test]
fn a_cut_link_is_seen_at_both_ends() {
    let parties = mesh_with(2, PATIENT, |envelope| {
        if is_first_reshare(&envelope) {
            Fate::Cut
        } else {
            Fate::Deliver
        }
    });
    let outcomes = run(parties, |mut party| program(&mut party));
    assert!(
        matches!(
            outcomes[0],
            Err(NetError::PeerLost {
                party: 1,
                step: "reshare",
                ..
            })
        ),
        "{outcomes:?}"
    );
    assert!(
        matches!(outcomes[1], Err(NetError::PeerLost { party: 0, .. })),
        "{outcomes:?}"
    );
}

/// Of what nobody checks three of six changes give a wrong answer; the others end in an error, of a
/// message that is missing, empty or of another step.
#[test]
fn every_change_of_every_message_is_judged() {
    let honest: Vec<_> = (outcomes(PATIENT, |_| Fate::Deliver).into_iter())
        .map(|outcome| outcome.expect("nothing is changed"))
        .collect();
    let tampered = Tampered {
        parties: 3,
        chosen: &["reshare"],
        program: |mut party: Party| program(&mut party),
    };
    for (extent, runs) in [(Extent::Sample, 6), (Extent::Ends, 36), (Extent::All, 36)] {
        let totals = tampered.tamper(extent, |answer| honest.contains(answer));
        let half = runs / 2;
        assert_eq!((totals.messages, totals.runs), (6, runs), "{totals}");
        assert_eq!(
            (totals.wrong.len(), totals.aborts),
            (half, half),
            "{totals}"
        );
        assert_eq!(totals.unnoticed, totals.wrong, "{totals}");
    }
}
