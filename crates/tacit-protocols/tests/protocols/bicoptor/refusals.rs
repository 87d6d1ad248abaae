//! What cannot be is refused, at every party alike.

use super::{in_both_settings, settings};
use crate::subjects::bicoptor_options;
use tacit_conformance::{Subject, mesh, run};
use tacit_net::Party;
use tacit_protocols::Error;
use tacit_protocols::bicoptor::rss::BicoptorRss;
use tacit_protocols::bicoptor::ubl::Ubl;
use tacit_protocols::bicoptor::{Form, Options};
use tacit_protocols::falcon::Truncation;
use tacit_protocols::machine::{Audience, Bilinear, Call, KeyBits, Machine, Operand};

#[test]
fn material_of_another_size_or_for_another_call_is_none() {
    let product = |n, reused, trunc| Call::Product {
        map: Bilinear::Elementwise(n),
        reused,
        known_to: None,
        trunc,
        bits: None,
    };
    let plans = [
        (vec![], "a product of 4 outputs"),
        (vec![product(3, None, 2)], "a product of 4 outputs"),
        (vec![product(4, None, 3)], "a product of 4 outputs"),
        (vec![product(4, Some(0), 2)], "a product of 4 outputs"),
        (vec![Call::relu(4)], "a product of 4 outputs"),
    ];
    for (i, (plan, words)) in plans.iter().enumerate() {
        // Of replicated shares `gap` takes nothing from beforehand.
        in_both_settings::<u32>(Truncation::Aby3, |s| {
            let refused = run(s, |machine| {
                let x = machine.constant(&[1, 2, 3, 4]);
                machine.reusable(x.clone())?;
                machine.prepare(plan)?;
                Ok(machine.mul(&x, &Operand::Secret(x.clone()), 2).err())
            });
            // Replicated shares need no triples and know no reusable operands.
            let replicated = s.name().contains("Rss");
            for error in refused {
                match error {
                    Some(Error::NotPrepared { call }) => {
                        let truncation = "the truncation of 4 elements by 2 bits";
                        let words = if replicated { truncation } else { words };
                        assert!(call.contains(words), "{call}");
                    }
                    None if replicated && i == 3 => {}
                    other => panic!("{plan:?}, {}: {other:?}", s.name()),
                }
            }
        });
    }
}

/// Every party refuses alike, before anything is sent.
#[test]
fn an_operand_that_was_not_made_reusable_or_has_another_size_is_refused() {
    let [ubl, _] = settings::<u32>(bicoptor_options(Truncation::Gap));
    for (id, n, words) in [(0, 4, ""), (1, 4, "operand 1"), (0, 5, "5")] {
        let plan = [Call::Product {
            map: Bilinear::Elementwise(n),
            reused: Some(id),
            known_to: None,
            trunc: 0,
            bits: None,
        }];
        let refused = run(&ubl, |machine| {
            let x = machine.constant(&[1, 2, 3, 4]);
            machine.reusable(x)?;
            Ok(machine.prepare(&plan).err())
        });
        for error in refused {
            match error {
                None => assert!(words.is_empty(), "{plan:?} is refused"),
                Some(error) => {
                    let told = error.to_string();
                    assert!(!words.is_empty() && told.contains(words), "{told}");
                }
            }
        }
    }
}

/// A shift that no truncation can make, planned or called.
#[test]
fn a_shift_of_nearly_all_bits_is_refused() {
    for kind in [Truncation::Gap, Truncation::Aby3, Truncation::SecureMl] {
        for trunc in [31, 32, 33, u32::MAX] {
            let [ubl, rss] = settings::<u32>(bicoptor_options(kind));
            for call in [Call::truncate(4, trunc), Call::elementwise(4, trunc)] {
                shift_is_refused(&ubl, call, trunc);
                shift_is_refused(&rss, call, trunc);
            }
        }
    }
}

fn shift_is_refused(subject: &dyn Subject, call: Call, trunc: u32) {
    let refused = run(subject, |machine| {
        let planned = machine.prepare(&[call]).err();
        let x = machine.constant(&[1, 2, 3, 4]);
        let called = match call {
            Call::Truncate { .. } => machine.truncate(&x, trunc),
            _ => machine.mul(&x, &Operand::Secret(x.clone()), trunc),
        };
        Ok([planned, called.err()])
    });
    for error in refused.into_iter().flatten() {
        let words = error.map_or(String::new(), |error| error.to_string());
        assert!(words.contains("1 to 30"), "'{words}', {}", subject.name());
    }
}

/// The error of joining, which must be one.
fn refused<M>(joined: Result<M, Error>) -> String {
    match joined {
        Ok(_) => panic!("it cannot be"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn other_numbers_of_parties_and_exact_truncations_are_refused() {
    let first = |parties| -> Party { mesh(parties).swap_remove(0) };
    let gap = bicoptor_options(Truncation::Gap);
    for parties in [1, 2, 4, 5] {
        for words in [
            refused(Ubl::<u32>::new(first(parties), gap)),
            refused(BicoptorRss::<u32>::new(first(parties), gap)),
        ] {
            let named = words.contains("between 3 parties") && words.contains(&parties.to_string());
            assert!(named, "{words}");
        }
    }
    for form in [Form::Corrected, Form::Printed] {
        let truncation = Truncation::Exact;
        let exact = Options {
            form,
            ..bicoptor_options(truncation)
        };
        for words in [
            refused(Ubl::<u32>::new(first(3), exact)),
            refused(BicoptorRss::<u32>::new(first(3), exact)),
        ] {
            assert!(words.contains("gap, aby3 and secureml"), "{words}");
        }
    }
}

/// A batch of nothing is none to fail on.
#[test]
fn no_elements_are_no_trouble() {
    in_both_settings::<u32>(Truncation::Gap, |s| {
        let opened = run(s, |machine| {
            let calls = [
                Call::relu(0),
                Call::drelu(0),
                Call::truncate(0, 3),
                Call::elementwise(0, 3),
            ];
            machine.prepare(&calls)?;
            let x = machine.constant(&[]);
            let x = machine.relu(&x, KeyBits::ALL)?;
            machine.drelu(&x, KeyBits::ALL)?;
            let x = machine.truncate(&x, 3)?;
            let x = machine.mul(&x, &Operand::Secret(x.clone()), 3)?;
            machine.reveal(&x, Audience::All)
        });
        assert_eq!(opened[0], Some(vec![]));
    });
}
