//! What functions promise of the values that they compare, and what wide spans cost.

use super::*;
use tacit_net::Phase;
use tacit_protocols::Cost;
use tacit_protocols::machine::{Call, KeyBits, Machine};
use tacit_protocols::math::*;

/// The key bits of a function's comparisons.
fn keys(function: Elementary) -> Vec<KeyBits> {
    let calls = demand_by_name(&function, 1).expect("a function that fits");
    let keys = calls.iter().filter_map(|call| match call {
        Call::Drelu { keys, .. } | Call::Relu { keys, .. } => Some(*keys),
        _ => None,
    });
    keys.collect()
}

/// Arguments of few bits are compared within a promise that holds the difference to every threshold,
/// if a comparison of the ring can use it; the results are the same.
pub fn promised_bits(s: &dyn Subject, format: Format, _n: usize) {
    let f = format.fraction();
    let span = Span { low: -3, high: 2 };
    let kinds = [
        FunctionKind::Sigmoid,
        FunctionKind::Tanh,
        FunctionKind::Erf,
        FunctionKind::Exp { high: 0 },
        FunctionKind::Reciprocal { span },
        FunctionKind::InverseSqrt { span },
        FunctionKind::SquareRoot { span },
        FunctionKind::Power { span },
    ];
    for kind in kinds {
        let function = Elementary::new(format, kind);
        // What is clipped is bounded without a promise: only after that are comparisons narrow.
        let all = keys(function);
        let clipped = all.iter().position(|&keys| keys != KeyBits::ALL);
        let comparisons = match kind {
            FunctionKind::Sigmoid | FunctionKind::Tanh | FunctionKind::Erf => 2,
            _ => 1,
        };
        assert!(clipped.is_none_or(|first| first == comparisons), "{all:?}");
        // Of magnitudes up to 8.
        let bits = f + 4;
        let within = function.within(bits);
        // The farthest that anything is clipped is 24 away from 0 with 26 fraction bits; pieces are of 6 or
        // more. Bicoptor shows whether the bits are enough.
        let kept = f + 3..=f + 5;
        for keys in keys(within) {
            assert!(kept.contains(&(keys.width - 1)), "{kind:?}: {keys:?}");
            match keys.is_all() {
                true => assert!(2 * (f + 4) + 2 > format.bits() - 2, "{kind:?}"),
                false => {
                    let KeyBits {
                        dropped,
                        kept: some,
                        ..
                    } = keys;
                    assert!(dropped == 0 && kept.contains(&some), "{kind:?}: {keys:?}");
                    assert!(2 * some + 2 <= format.bits());
                }
            }
        }
        // The ends of what so many bits hold are the farthest from a threshold.
        let end = 1i64 << (bits - 1);
        let x = [-7.9, -3.0, -0.4, 0.0, 0.2, 1.0, 3.9].map(|x| (x * format.one()) as i64);
        let ends = [-end, 1 - end, end - 1];
        let above = 4 << f;
        let has_result = |x: &i64| match kind {
            FunctionKind::Reciprocal { .. }
            | FunctionKind::InverseSqrt { .. }
            | FunctionKind::SquareRoot { .. } => *x < above,
            _ => true,
        };
        let x: Vec<i64> = x.into_iter().chain(ends).filter(has_result).collect();
        let [one, other] = [function, within].map(|function| {
            let calls = demand_by_name(&function, x.len()).expect("a function that fits");
            apply(s, &calls, &x, |machine, x| function.apply(machine, x))
        });
        let near = |a: &i64, b: &i64| {
            a.abs_diff(*b) as f64
                <= 2.0
                    * function
                        .tolerance(*a as f64 / format.one())
                        .expect("it fits")
        };
        assert!(
            one.iter().zip(&other).all(|(a, b)| near(a, b)),
            "{kind:?}: {one:?} {other:?}"
        );
    }
}

/// Functions over the widest spans take exactly the declared hops and bytes.
pub fn costs(s: &dyn Subject, format: Format, _n: usize) {
    for domain in domains(format, |low| -low) {
        let span = domain.span;
        for kind in [
            FunctionKind::Reciprocal { span },
            FunctionKind::InverseSqrt { span },
            FunctionKind::SquareRoot { span },
        ] {
            let function = Elementary::new(format, kind).with_argument(domain.argument);
            let Ok(calls) = demand_by_name(&function, 3) else {
                continue;
            };
            metered(s, &format!("{kind:?}"), &calls, |machine| {
                let x = machine.constant(&domain.ends().map(|x| x - 1).repeat(2)[..3]);
                function.apply(machine, &x).map(drop)
            });
        }
    }
}

fn metered(
    s: &dyn Subject,
    what: &str,
    calls: &[Call],
    program: impl Fn(&mut Erased) -> Result<(), tacit_protocols::Error> + Sync,
) {
    let ends = run(s, |machine| {
        let model = machine.cost_model();
        let online = calls.iter().map(|call| model.online(call));
        let declared = [
            model.offline(calls),
            online.fold(Cost::default(), |sum, cost| sum + &cost),
        ];
        machine.prepare(calls)?;
        program(machine)?;
        let meter = machine.party().meter();
        let phases = [Phase::Offline, Phase::Online];
        Ok((declared, phases.map(|phase| meter.total(phase))))
    });
    for phase in [0, 1] {
        let rounds = ends.iter().map(|end| end.1[phase].rounds).max();
        let metered = Cost {
            rounds: rounds.unwrap_or(0),
            bytes: ends.iter().map(|end| end.1[phase].bytes_sent).collect(),
        };
        assert_eq!(metered, ends[0].0[phase], "{what}, {phase}, {}", s.name());
    }
}
