use proptest::prelude::*;

use super::*;

/// Every kind of scheme.
fn schemes() -> Vec<Scheme> {
    let rings = [32, 64].into_iter();
    let rings = rings.flat_map(|bits| [Scheme::Replicated { bits }, Scheme::Holders { bits }]);
    let pairs = [1, 17, 37, 64].map(|bits| Scheme::Pair { bits });
    let fields = [31, 61].into_iter().flat_map(|bits| {
        let of = move |(parties, threshold)| Scheme::Shamir {
            bits,
            parties,
            threshold,
        };
        [(3, 1), (4, 1), (7, 3), (63, 31)].map(of)
    });
    rings.chain(pairs).chain(fields).collect()
}

/// The numbers at the ends of what the scheme takes, and some within.
fn edges(scheme: &Scheme) -> Vec<i64> {
    let bits = scheme.bits();
    let top = 1i128 << (bits - 1);
    let (least, most) = match scheme {
        Scheme::Shamir { .. } => (1 - top, top - 1),
        _ => (-top, top - 1),
    };
    let all = [least, least + 1, -1, 0, 1, most - 1, most];
    let within = all.into_iter().filter(|v| (least..=most).contains(v));
    within.map(|v| v as i64).collect()
}

fn answers(scheme: &Scheme, bodies: &[Vec<u8>]) -> Vec<Vec<u8>> {
    bodies.iter().map(|body| scheme.share(body)).collect()
}

fn joined(scheme: &Scheme, n: usize, answers: &[Vec<u8>]) -> Result<Vec<i64>, Refusal> {
    let answers: Vec<&[u8]> = answers.iter().map(Vec::as_slice).collect();
    scheme.join(n, &answers)
}

#[test]
fn what_is_shared_is_put_together() {
    for scheme in schemes() {
        let values = edges(&scheme);
        let bodies = scheme.split(&values).expect("they fit");
        for (party, body) in bodies.iter().enumerate() {
            assert_eq!(
                body.len(),
                scheme.body_len(party, values.len()),
                "{scheme:?}"
            );
        }
        let found = joined(&scheme, values.len(), &answers(&scheme, &bodies));
        assert_eq!(found.as_ref(), Ok(&values), "{scheme:?}");
    }
}

/// Every two parties that can be told apart from a third hold a secret that is in no other body, and in no other
/// request.
#[test]
fn two_parties_hold_what_tells_a_request_from_others() {
    for scheme in schemes() {
        let n = 5;
        let [bodies, others] = [(); 2].map(|()| scheme.split(&vec![0; n]).expect("they fit"));
        let part = |bodies: &[Vec<u8>], party: usize, part: usize| {
            let common = scheme.common(party, &bodies[party]);
            let mut found = common.into_iter().filter(|(number, _)| *number == part);
            let first = found.next().map(|(_, bytes)| bytes.to_vec());
            assert!(found.next().is_none(), "{scheme:?}");
            first
        };
        let mut met = std::collections::HashSet::new();
        for (number, holders) in scheme.twice() {
            let [one, other] = holders.map(|party| part(&bodies, party, number));
            assert!(one == other && one.as_ref().is_some_and(|bytes| bytes.len() >= SALT));
            assert_ne!(one, part(&others, holders[0], number), "{scheme:?}");
            assert!(met.insert(holders), "{scheme:?}");
            for third in (0..scheme.parties()).filter(|party| !holders.contains(party)) {
                assert_eq!(part(&bodies, third, number), None, "{scheme:?}");
            }
        }
        let parties = scheme.parties();
        assert_eq!(met.len(), parties * (parties - 1) / 2, "{scheme:?}");
    }
}

/// Words that are none of the field, or of another width, would end a service for all.
#[test]
fn bodies_of_no_such_words_are_known() {
    for scheme in schemes() {
        let bodies = scheme.split(&edges(&scheme)).expect("they fit");
        assert!(bodies.iter().all(|body| scheme.holds(body)), "{scheme:?}");
        let any = matches!(scheme, Scheme::Replicated { .. } | Scheme::Holders { .. });
        let strange = vec![0xff; bodies[0].len()];
        assert_eq!(scheme.holds(&strange), any, "{scheme:?}");
        if let Scheme::Pair { bits } = scheme {
            for mark in (0..=255).filter(|&mark| u32::from(mark) != bits) {
                let mut other = bodies[0].clone();
                other[0] = mark;
                assert!(!scheme.holds(&other), "{bits} as {mark}");
            }
            assert!(!scheme.holds(&[]));
        }
    }
}

#[test]
fn numbers_beyond_the_ends_are_refused() {
    for scheme in schemes().into_iter().filter(|scheme| scheme.bits() < 64) {
        let ends = edges(&scheme);
        let (least, most) = (ends[0], ends[ends.len() - 1]);
        for beyond in [least - 1, most + 1, i64::MIN, i64::MAX] {
            let refused = scheme.split(&[0, beyond]);
            let bits = scheme.bits();
            assert_eq!(refused, Err(Refusal::Range { at: 1, bits }), "{scheme:?}");
        }
    }
}

/// A bit that one party changes is found wherever answers are redundant.
#[test]
fn a_changed_answer_is_refused_where_answers_are_redundant() {
    for scheme in schemes() {
        let redundant = matches!(scheme, Scheme::Replicated { .. } | Scheme::Shamir { .. });
        let given = answers(&scheme, &scheme.split(&[0, -1]).expect("they fit"));
        for party in (0..scheme.parties()).filter(|_| redundant) {
            for at in [0, given[party].len() - 1] {
                let mut changed = given.clone();
                changed[party][at] ^= 1;
                let refused = joined(&scheme, 2, &changed).expect_err("it contradicts");
                assert!(
                    matches!(refused, Refusal::Contradiction { .. }),
                    "{scheme:?}: {refused}"
                );
            }
        }
    }
}

#[test]
fn answers_of_another_size_or_number_are_refused() {
    for scheme in schemes() {
        let given = answers(&scheme, &scheme.split(&[0]).expect("it fits"));
        for party in 0..scheme.parties() {
            let mut longer = given.clone();
            longer[party].push(0);
            let refused = joined(&scheme, 1, &longer).expect_err("too long");
            assert!(matches!(refused, Refusal::Length { party: p, .. } if p == party));
        }
        let refused = joined(&scheme, 1, &given[1..]).expect_err("one is missing");
        assert!(matches!(refused, Refusal::Parties { .. }));
    }
}

#[test]
fn schemes_that_no_protocol_has_are_refused() {
    for text in [
        r#"{"kind": "replicated", "bits": 63}"#,
        r#"{"kind": "holders", "bits": 0}"#,
        r#"{"kind": "pair", "bits": 65}"#,
        r#"{"kind": "pair", "bits": 0}"#,
        r#"{"kind": "shamir", "bits": 31, "parties": 3, "threshold": 2}"#,
        r#"{"kind": "shamir", "bits": 61, "parties": 100000000, "threshold": 1}"#,
        r#"{"kind": "shamir", "bits": 60, "parties": 3, "threshold": 1}"#,
    ] {
        let scheme: Scheme = serde_json::from_str(text).expect("well formed");
        let refused = scheme.split(&[1]).expect_err(text);
        assert!(matches!(refused, Refusal::Scheme(_)), "{text}");
        assert!(scheme.join(1, &[]).is_err(), "{text}");
    }
}

/// What as many parties hold as may be corrupt is spread alike whatever the number is: each of 256
/// first bytes about as often. A wrong variant, whose first component is the number itself, fails this.
#[test]
fn shares_of_the_corrupt_tell_nothing() {
    const DRAWS: usize = 1 << 14;
    for scheme in schemes()
        .into_iter()
        .filter(|s| s.bits() >= 31 && s.parties() < 8)
    {
        for party in 0..scheme.parties() {
            let mut counts = [[0f64; 256]; 2];
            for (counts, value) in counts.iter_mut().zip([0, (1 << 30) - 1]) {
                let bodies = scheme.split(&vec![value; DRAWS]).expect("they fit");
                let share = scheme.share(&bodies[party]);
                let at = usize::from(matches!(scheme, Scheme::Pair { .. }));
                let width = (share.len() / DRAWS).max(1);
                let first = share[at.min(share.len())..].chunks(width).take(DRAWS);
                first.for_each(|word| counts[usize::from(word[0])] += 1.0);
            }
            let apart = |a: f64, b: f64| (a - b) * (a - b) / (a + b).max(1.0);
            let chi: f64 = (0..256).map(|i| apart(counts[0][i], counts[1][i])).sum();
            // 255 degrees of freedom: above 400 once in 10^8.
            assert!(chi < 400.0, "{scheme:?}, party {party}: {chi}");
        }
    }
}

/// How often as many parties as may be corrupt, together, have a number of 2,000 by what adds up to it for
/// them: the components that they hold, or the polynomial of one degree less through their shares.
fn found_by_the_corrupt(scheme: &Scheme, bodies: &[Vec<u8>], values: &[i64]) -> usize {
    let n = values.len();
    let shares = answers(scheme, bodies);
    let guesses: Vec<i64> = match *scheme {
        Scheme::Replicated { bits } => {
            let (own, next) = shares[0].split_at(shares[0].len() / 2);
            ring::join(bits, ring::width(bits), &[own, next])
        }
        Scheme::Shamir {
            bits, threshold, ..
        } => {
            let shares: Vec<&[u8]> = shares[..threshold].iter().map(Vec::as_slice).collect();
            shamir::join(bits, threshold - 1, &shares).expect("they lie on one")
        }
        _ => return 0,
    };
    assert_eq!(guesses.len(), n);
    guesses.iter().zip(values).filter(|(a, b)| a == b).count()
}

/// As many parties as may be corrupt find none of the numbers together, even where they know all of a sharing that is
/// one party short.
#[test]
fn the_corrupt_together_do_not_find_the_numbers() {
    let values: Vec<i64> = (0..2000).map(|v| v * 1_048_573 % 1_000_003).collect();
    for scheme in schemes() {
        if matches!(scheme, Scheme::Replicated { .. } | Scheme::Shamir { .. }) {
            let bodies = scheme.split(&values).expect("they fit");
            let found = found_by_the_corrupt(&scheme, &bodies, &values);
            assert_eq!(found, 0, "{scheme:?}");
        }
    }
    let (bits, parties) = (61, 7);
    let short = shamir::split(bits, parties, 2, &values).expect("they fit");
    let sealed = |share: &Vec<u8>| [&share[..], &vec![0; (parties - 1) * SALT]].concat();
    let short: Vec<Vec<u8>> = short.iter().map(sealed).collect();
    let scheme = Scheme::Shamir {
        bits,
        parties,
        threshold: 3,
    };
    assert_eq!(found_by_the_corrupt(&scheme, &short, &values), values.len());
    let scheme = Scheme::Replicated { bits: 64 };
    let [one, other] = ring::split(64, &values, 8)
        .expect("they fit")
        .try_into()
        .expect("two");
    let salted = |words: &[u8]| [&[0; SALT][..], words].concat();
    let short = [salted(&one), salted(&other)].concat();
    let found = found_by_the_corrupt(&scheme, &[short], &values);
    assert_eq!(found, values.len());
}

proptest! {
    /// Hostile descriptions and answers are errors.
    #[test]
    fn hostile_answers_are_refused(n in 0usize..4, answers in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..64), 0..4)) {
        for scheme in schemes() {
            let _ = joined(&scheme, n, &answers);
        }
    }
}
