//! Calls against a malicious party, and the verifications after them.

use super::*;
use crate::subjects::Tested;

/// A call, and the verification and the opening of a result after it.
fn declared_equals_metered_with_a_verification(s: &dyn Subject, call: Call) {
    let reveal = Call::Reveal {
        n: 5,
        to: Audience::All,
    };
    let measured = run(s, |machine| {
        let calls = lowered(&[call, reveal], machine.cost_model())?;
        let sum = |calls: &[Call]| {
            let costs = calls.iter().map(|call| machine.cost_model().online(call));
            costs.fold(Cost::each(PARTIES, 0, 0), |sum, cost| sum + &cost)
        };
        let (before, after) = (sum(&calls[..1]), sum(&calls[1..]));
        machine.prepare(&calls)?;
        machine.party().set_layer("call");
        perform(machine, &call, None)?;
        machine.party().set_layer("reveal");
        perform(machine, &reveal, None)?;
        let layers = machine.party().meter().layers(Phase::Online);
        let of = |name: &str| {
            let layer = layers.iter().find(|(layer, _)| layer == name);
            layer.map_or((0, 0), |(_, t)| (t.rounds, t.bytes_sent))
        };
        Ok((before, after, of("call"), of("reveal")))
    });
    let (before, after, ..) = &measured[0];
    let [made, revealed]: [Vec<_>; 2] = [
        measured.iter().map(|m| m.2).collect(),
        measured.iter().map(|m| m.3).collect(),
    ];
    assert_eq!(&combine(&made), before, "{call:?}, {}", s.name());
    assert_eq!(
        &combine(&revealed),
        after,
        "verification, {call:?}, {}",
        s.name()
    );
}

fn malicious<R: Tested>() {
    for truncation in [Truncation::Gap, Truncation::Exact] {
        let of = || malicious_over::<R>().truncating(truncation);
        let paper = || of().with_paper_comparison();
        for subject in [
            of(),
            of().with_sign_bits(5),
            paper(),
            paper().with_sign_bits(32),
        ] {
            for n in [1, 7, 64, 129] {
                for call in every_call(n) {
                    declared_equals_metered(&subject, call);
                }
                for call in every_call(n)
                    .into_iter()
                    .filter(|call| !matches!(call, Call::Select { .. }))
                {
                    declared_equals_metered_with_a_verification(&subject, call);
                }
            }
        }
    }
}

#[test]
fn declared_equals_metered_against_a_malicious_party() {
    malicious::<u8>();
    malicious::<u32>();
    malicious::<u64>();
}

/// Several chunks and batches.
#[test]
fn declared_equals_metered_of_many_elements_against_a_malicious_party() {
    for subject in [
        malicious_over::<u32>(),
        malicious_over().with_paper_comparison(),
    ] {
        for call in [
            Call::relu(50_000),
            Call::relu(50_000).by(KeyBits::within(25)),
            Call::elementwise(70_000, 9),
        ] {
            declared_equals_metered(&subject, call);
            declared_equals_metered_with_a_verification(&subject, call);
        }
    }
}

/// A call that leaves more to verify than may wait verifies it at once. Seen to fail where a sign did not.
#[test]
fn what_waits_is_bounded() {
    for call in [Call::elementwise(400_000, 0), Call::drelu(400_000)] {
        what_waits_after_is_bounded(call);
    }
}

fn what_waits_after_is_bounded(call: Call) {
    let measured = run(&malicious_over::<u32>(), |machine| {
        let calls = lowered(&[call, call], machine.cost_model())?;
        assert!(matches!(
            calls[..],
            [_, Call::Verify { .. }, _, Call::Verify { .. }]
        ));
        machine.prepare(&calls)?;
        machine.party().set_layer("measured");
        perform(machine, &call, None)?;
        let layers = machine.party().meter().layers(Phase::Online);
        let model = machine.cost_model();
        let (_, traffic) = layers.last().expect("a layer was named");
        Ok((
            model.online(&calls[0]) + &model.online(&calls[1]),
            (traffic.rounds, traffic.bytes_sent),
        ))
    });
    let metered = combine(&measured.iter().map(|m| m.1).collect::<Vec<_>>());
    assert_eq!(metered, measured[0].0);
}
