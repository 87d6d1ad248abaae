//! Whether a party may meet the others again after an error.

use tacit_net::{FrameFault, NetError};

use crate::Error;

/// The parties one of which broke the protocol by this error; `None` if a link or a program ended as they
/// do. After cheating nothing may begin again by itself: every try is another chance for the cheater, and
/// what is missed once in 2^40 tries is soon not rare any more.
pub(super) fn suspects(error: &Error, ready: bool) -> Option<Vec<usize>> {
    match error {
        Error::Early { cause, .. } => suspects(cause, ready),
        Error::Net(net) => of_net(net, ready),
        Error::Protocol(tacit_protocols::Error::Cheating {
            checked, vouched, ..
        }) => Some(vec![*checked, *vouched]),
        Error::Protocol(tacit_protocols::Error::Peer { party, .. }) => Some(vec![*party]),
        Error::Malformed { party, .. } => Some(vec![*party]),
        // A config that differs is corrected by a person, and read again at a restart.
        Error::PeerPlan { party, .. } if ready => Some(vec![*party]),
        _ => None,
    }
}

/// Whether another party, or the way to it, ended a life: its words name nothing of this party's own.
pub(super) fn is_of_others(error: &Error) -> bool {
    match error {
        Error::Early { cause, .. } => is_of_others(cause),
        Error::Net(_) => true,
        _ => false,
    }
}

fn of_net(error: &NetError, ready: bool) -> Option<Vec<usize>> {
    match error {
        NetError::Accused {
            party, suspects, ..
        } => Some(suspects.iter().chain([party]).copied().collect()),
        // A party that comes again, or tells two others different nonces, makes links of two sessions: these two are
        // not to blame for it.
        NetError::Frame {
            fault: FrameFault::ForeignSession,
            ..
        } if !ready => None,
        NetError::Frame { party, .. }
        | NetError::Step { party, .. }
        | NetError::Length { party, .. } => Some(vec![*party]),
        NetError::Disagreement {
            us, party, teller, ..
        } if ready => {
            let teller = teller.filter(|teller| teller != us && teller != party);
            Some([*party].into_iter().chain(teller).collect())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_cheats_is_not_met_again() {
        let cheating = || {
            Error::Protocol(tacit_protocols::Error::Cheating {
                checked: 1,
                vouched: 2,
                step: "check",
            })
        };
        assert_eq!(suspects(&cheating(), true), Some(vec![1, 2]));
        let early = Error::Early {
            cause: Box::new(cheating()),
            given: String::new(),
        };
        assert_eq!(suspects(&early, true), Some(vec![1, 2]));
        let accused = Error::Net(NetError::Accused {
            party: 0,
            step: "s",
            layer: String::new(),
            check: "c".into(),
            suspects: vec![2],
        });
        assert_eq!(suspects(&accused, true), Some(vec![2, 0]));
        let differs = |teller| {
            Error::Net(NetError::Disagreement {
                item: "batch".into(),
                us: 0,
                party: 2,
                ours: "a".into(),
                theirs: "b".into(),
                teller,
            })
        };
        assert_eq!(suspects(&differs(None), true), Some(vec![2]));
        // Either may lie of what a third told; of what this party told the other lies.
        assert_eq!(suspects(&differs(Some(1)), true), Some(vec![2, 1]));
        for known in [0, 2] {
            assert_eq!(suspects(&differs(Some(known)), true), Some(vec![2]));
        }
        // Before anything is served it is a config that differs.
        assert_eq!(suspects(&differs(None), false), None);
        let frame = |fault| {
            Error::Net(NetError::Frame {
                party: 1,
                step: "meet",
                layer: String::new(),
                fault,
            })
        };
        assert_eq!(
            suspects(&frame(FrameFault::Truncated), false),
            Some(vec![1])
        );
        assert_eq!(
            suspects(&frame(FrameFault::ForeignSession), true),
            Some(vec![1])
        );
        // Of links of two sessions a third party may be the cause.
        assert_eq!(suspects(&frame(FrameFault::ForeignSession), false), None);
    }

    #[test]
    fn who_is_lost_may_come_again() {
        for error in [
            Error::Cancelled,
            Error::Net(NetError::Interrupted),
            Error::Net(NetError::PeerLost {
                party: 1,
                how: tacit_net::Loss::Lost,
                step: "s",
                layer: String::new(),
                waited: std::time::Duration::ZERO,
                why: "closed".into(),
            }),
            Error::setting("model", "is missing"),
        ] {
            assert_eq!(suspects(&error, true), None, "{error}");
        }
    }
}
