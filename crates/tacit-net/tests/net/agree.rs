//! Parties with the same and with different settings.

use std::time::Duration;

use tacit_net::testing::{RawPeer, raw_peer, run};
use tacit_net::{LinkModel, NetError, Party, agree, memory};

type Items = Vec<(&'static str, String)>;

fn items() -> Items {
    vec![
        ("version", "0.1.0".into()),
        ("ring", "64".into()),
        ("model", "a3f1".into()),
    ]
}

/// What three parties make of their lists.
fn outcomes(lists: [Items; 3]) -> Vec<Result<(), NetError>> {
    let parties = memory::mesh(3, &LinkModel::LOCAL, Duration::from_secs(60));
    run(parties, |mut party: Party| {
        let list = lists[party.id()].clone();
        agree(&mut party, &list)
    })
}

#[test]
fn equal_lists_agree_in_any_order() {
    let mut other = items();
    other.reverse();
    assert_eq!(
        outcomes([items(), other, items()]),
        [Ok(()), Ok(()), Ok(())]
    );
    assert_eq!(outcomes([vec![], vec![], vec![]]), [Ok(()), Ok(()), Ok(())]);
}

#[test]
fn a_difference_is_refused_at_every_party_with_both_values() {
    let mut other = items();
    other[1].1 = "32".into();
    let errors = outcomes([items(), items(), other])
        .into_iter()
        .map(Result::unwrap_err);
    let errors: Vec<_> = errors.map(|e| e.to_string()).collect();
    assert!(
        errors[0].starts_with(
            "parties 0 and 2 differ in 'ring': 64 here at party 0, 32 there at party 2"
        ),
        "{}",
        errors[0]
    );
    assert!(
        errors[1].starts_with(
            "parties 1 and 2 differ in 'ring': 64 here at party 1, 32 there at party 2"
        ),
        "{}",
        errors[1]
    );
    assert!(
        errors[2].starts_with(
            "parties 0 and 2 differ in 'ring': 32 here at party 2, 64 there at party 0"
        ),
        "{}",
        errors[2]
    );
}

#[test]
fn an_item_of_one_party_only_is_a_difference() {
    let mut more = items();
    more.push(("batch", "16".into()));
    for error in outcomes([items(), more, items()])
        .into_iter()
        .map(Result::unwrap_err)
    {
        assert!(
            matches!(&error, NetError::Disagreement { item, .. } if item == "batch"),
            "{error}"
        );
        assert!(error.to_string().contains("(nothing)"), "{error}");
    }
}

#[test]
fn malformed_lists_are_refused() {
    let lists: [&[u8]; 4] = [
        b"short",
        &[0xff; 64],
        &[5, 0, 0, 0, 0, 0, 0, 0, b'r'],
        &[0; 8],
    ];
    for list in lists {
        let (mut party, mut peer) = raw_peer(Duration::from_secs(60));
        peer.write(&RawPeer::frame("agree", 0, list));
        let error = agree(&mut party, &items()).unwrap_err();
        assert!(
            matches!(error, NetError::Disagreement { party: 1, .. }),
            "{error}"
        );
    }
    let (mut party, mut peer) = raw_peer(Duration::from_secs(60));
    peer.write(&RawPeer::frame("agree", 0, &[0; 70_000]));
    let error = agree(&mut party, &items()).unwrap_err();
    assert!(
        matches!(
            error,
            NetError::Length {
                party: 1,
                got: 70_000,
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn a_list_that_is_too_long_is_refused_here() {
    let (mut party, _peer) = raw_peer(Duration::from_secs(60));
    let error = agree(&mut party, &[("model", "x".repeat(70_000))]).unwrap_err();
    assert!(matches!(error, NetError::Invalid { .. }), "{error}");
}
