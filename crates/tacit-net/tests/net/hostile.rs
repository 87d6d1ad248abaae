//! Frames that no honest party sends, one kind after the other, written below the parser.

use std::time::Duration;

use tacit_net::testing::{RawPeer, raw_peer};
use tacit_net::{FrameFault, NetError, Party};

const PATIENT: Duration = Duration::from_secs(60);

fn fault(error: NetError) -> FrameFault {
    match error {
        NetError::Frame {
            party: 1,
            step: "open",
            fault,
            ..
        } => fault,
        other => panic!("{other}"),
    }
}

/// What party 0 makes of one good frame and then this one.
fn after(bytes: &[u8]) -> (Party, RawPeer) {
    let (mut party, mut peer) = raw_peer(PATIENT);
    peer.write(&RawPeer::frame("open", 0, b"good"));
    peer.write(bytes);
    assert_eq!(party.recv(1, "open", 4).unwrap(), b"good");
    (party, peer)
}

fn spoilt(spoil: impl Fn(&mut Vec<u8>)) -> NetError {
    let mut frame = RawPeer::frame("open", 1, b"next");
    spoil(&mut frame);
    let (mut party, _peer) = after(&frame);
    party.recv(1, "open", 4).unwrap_err()
}

#[test]
fn a_good_frame_passes_in_any_pieces() {
    let (mut party, mut peer) = raw_peer(PATIENT);
    for byte in RawPeer::frame("open", 0, b"good") {
        peer.write(&[byte]);
    }
    assert_eq!(party.recv(1, "open", 4).unwrap(), b"good");
}

#[test]
fn garbage_is_refused() {
    assert_eq!(fault(spoilt(|frame| frame[0] = b'X')), FrameFault::Magic);
    let (mut party, _peer) = after(&[0xff; 4096]);
    assert_eq!(
        fault(party.recv(1, "open", 4).unwrap_err()),
        FrameFault::Magic
    );
}

#[test]
fn another_version_is_refused() {
    let error = spoilt(|frame| frame[5] = 1);
    let theirs = tacit_net::WIRE_VERSION + 256;
    assert!(
        error.to_string().contains(&format!("version {theirs}")),
        "{error}"
    );
    assert_eq!(fault(error), FrameFault::Version { theirs });
}

#[test]
fn unknown_flags_are_refused() {
    assert_eq!(fault(spoilt(|frame| frame[7] = 0x80)), FrameFault::Header);
}

#[test]
fn a_part_of_a_message_must_be_a_full_frame() {
    assert_eq!(fault(spoilt(|frame| frame[6] = 1)), FrameFault::Header);
}

#[test]
fn a_foreign_session_is_refused() {
    assert_eq!(
        fault(spoilt(|frame| frame[8] ^= 1)),
        FrameFault::ForeignSession
    );
    assert_eq!(
        fault(spoilt(|frame| frame[23] ^= 1)),
        FrameFault::ForeignSession
    );
}

#[test]
fn a_replayed_frame_is_refused() {
    let (mut party, _peer) = after(&RawPeer::frame("open", 0, b"good"));
    let found = fault(party.recv(1, "open", 4).unwrap_err());
    assert_eq!(
        found,
        FrameFault::Sequence {
            expected: 1,
            got: 0
        }
    );
}

#[test]
fn a_gap_is_refused() {
    let (mut party, _peer) = after(&RawPeer::frame("open", 2, b"good"));
    let found = fault(party.recv(1, "open", 4).unwrap_err());
    assert_eq!(
        found,
        FrameFault::Sequence {
            expected: 1,
            got: 2
        }
    );
}

#[test]
fn an_oversized_frame_is_refused_before_its_payload() {
    for len in [(1u32 << 20) + 1, u32::MAX] {
        let error = spoilt(|frame| {
            frame.truncate(44);
            frame[40..44].copy_from_slice(&len.to_le_bytes());
        });
        assert_eq!(fault(error), FrameFault::Oversized { len });
    }
}

#[test]
fn a_truncated_frame_is_refused() {
    let whole = RawPeer::frame("open", 1, b"next");
    for cut in 1..whole.len() {
        let (mut party, peer) = after(&whole[..cut]);
        peer.close();
        assert_eq!(
            fault(party.recv(1, "open", 4).unwrap_err()),
            FrameFault::Truncated,
            "{cut}"
        );
    }
    let (mut party, peer) = after(&[]);
    peer.close();
    let error = party.recv(1, "open", 4).unwrap_err();
    assert!(
        matches!(error, NetError::PeerLost { party: 1, .. }),
        "{error}"
    );
}

#[test]
fn half_a_frame_and_silence_is_a_stall() {
    let (mut party, mut peer) = raw_peer(Duration::from_millis(50));
    peer.write(&RawPeer::frame("open", 0, b"good")[..20]);
    let error = party.recv(1, "open", 4).unwrap_err();
    assert!(
        matches!(
            error,
            NetError::PeerLost {
                party: 1,
                step: "open",
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn another_step_or_size_is_refused() {
    let (mut party, _peer) = after(&RawPeer::frame("close", 1, b"next"));
    let error = party.recv(1, "open", 4).unwrap_err();
    assert!(
        matches!(
            error,
            NetError::Step {
                party: 1,
                ours: "open",
                ..
            }
        ),
        "{error}"
    );
    for payload in [&b"nex"[..], b"next!", b""] {
        let (mut party, _peer) = after(&RawPeer::frame("open", 1, payload));
        let error = party.recv(1, "open", 4).unwrap_err();
        assert!(
            matches!(error, NetError::Length { party: 1, .. }),
            "{error}"
        );
    }
}

#[test]
fn a_message_that_never_ends_is_refused_at_its_size() {
    let (mut party, mut peer) = raw_peer(PATIENT);
    for sequence in 0..3 {
        let mut frame = RawPeer::frame("open", sequence, &vec![0; 1 << 20]);
        frame[6] = 1;
        peer.write(&frame);
    }
    match party.recv(1, "open", 1_500_000).unwrap_err() {
        NetError::Length { party: 1, got, .. } => assert_eq!(got, 2 << 20),
        other => panic!("{other}"),
    }
}

#[test]
fn a_greatest_depth_does_not_overflow_the_meter() {
    let (mut party, mut peer) = raw_peer(PATIENT);
    for sequence in 0..2 {
        let mut frame = RawPeer::frame("open", sequence, b"good");
        frame[36..40].fill(0xff);
        peer.write(&frame);
        party.recv(1, "open", 4).unwrap();
    }
    assert_eq!(party.meter().total(party.meter().phase()).rounds, u32::MAX);
}

#[test]
fn last_words_are_shown_without_control_characters() {
    let mut frame = RawPeer::frame("", 1, b"\x1b[31mfire\n\xff");
    frame[6] = 2;
    let (mut party, _peer) = after(&frame);
    let shown = party.recv(1, "open", 4).unwrap_err().to_string();
    assert!(
        shown.contains(" [31mfire ") && !shown.contains('\x1b'),
        "{shown}"
    );
}
