//! The functions of `math`, which open nothing but by the calls of the machine: of each, on every
//! protocol, all messages of the online phase have the same law for two secrets, and the opening of the
//! result tells no more than the result, to every party in turn.
//!
//! Bicoptor takes signs of 31 bits over 64: all that is compared here is smaller.

use std::collections::BTreeMap;

use super::openings::{Sharing, tells_no_more_than_the_result};
use super::record::{Roles, Seen, observe};
use crate::histograms::{LIMIT, apart};
use crate::*;
use tacit_protocols::lowered;
use tacit_protocols::math::*;

/// Samples of a run.
const FEW: usize = 96;
/// Fraction bits.
const FRACTION: u32 = 10;

const SPAN: Span = Span { low: -2, high: 4 };

#[derive(Clone, Copy, Debug)]
enum Computed {
    Named(FunctionKind),
    /// A function from numbers of 16 bits to numbers of 16 bits, which are made wide again.
    Between,
    Logarithm,
    Division,
    BatchNorm,
    LessThan,
}

const ALL: [Computed; 12] = [
    Computed::Named(FunctionKind::Sigmoid),
    Computed::Named(FunctionKind::Tanh),
    Computed::Named(FunctionKind::Erf),
    Computed::Named(FunctionKind::Exp { high: 0 }),
    Computed::Named(FunctionKind::Reciprocal { span: SPAN }),
    Computed::Named(FunctionKind::InverseSqrt { span: SPAN }),
    Computed::Named(FunctionKind::Power { span: SPAN }),
    Computed::Between,
    Computed::Logarithm,
    Computed::Division,
    Computed::BatchNorm,
    Computed::LessThan,
];

/// Every sample is an item and a channel of its own.
const CHANNELS: Channels = Channels {
    batch: 1,
    channels: FEW,
    plane: 1,
};

impl Computed {
    /// Two sets of secrets, a number for each row of samples.
    fn secrets(self) -> [Vec<f64>; 2] {
        match self {
            Computed::Named(FunctionKind::Exp { .. }) => [vec![-0.5], vec![-3.0]],
            Computed::Named(FunctionKind::Sigmoid | FunctionKind::Tanh | FunctionKind::Erf)
            | Computed::Between => [vec![0.75], vec![-2.5]],
            Computed::Named(_) | Computed::Logarithm => [vec![1.25], vec![7.5]],
            Computed::Division | Computed::LessThan => [vec![1.0, 1.5], vec![-2.0, 3.25]],
            Computed::BatchNorm => [
                vec![1.0, 0.5, 1.0, 1.0, 0.0],
                vec![-1.0, 0.75, 2.5, 0.5, 1.0],
            ],
        }
    }

    fn calls(self, format: Format) -> Result<Vec<Call>, Error> {
        let bits = format.bits();
        Ok(match self {
            Computed::Named(kind) => vec![Call::Function {
                n: FEW,
                function: Elementary::new(format, kind),
            }],
            Computed::Between => {
                let (n, function) = (FEW, between(format));
                let wide = Call::resize(n, NARROW.bits, 0, format.bits());
                vec![Call::Function { n, function }, wide]
            }
            Computed::Logarithm => demand_of(bits, &Logarithm::new(format, 4)?, FEW),
            Computed::Division => {
                let few = noted(FEW);
                demand(bits, |machine| division(format)?.apply(machine, &few, &few))
            }
            Computed::BatchNorm => demand_of_norm(bits, &batch_norm(format)?, CHANNELS),
            Computed::LessThan => vec![Call::drelu(FEW), Call::select(FEW)],
        })
    }

    /// Prepares, says so, and computes.
    fn run(self, m: &mut Erased, x: &Handle, prepared: &dyn Fn()) -> Result<Handle, Error> {
        let format = Format::new(m.element_bits(), FRACTION)?;
        let calls = lowered(&self.calls(format)?, m.cost_model())?;
        m.prepare(&calls)?;
        prepared();
        let row = |m: &mut Erased, i: usize| m.slice(x, i * FEW..(i + 1) * FEW);
        match self {
            Computed::Named(kind) => m.function(&Elementary::new(format, kind), x),
            Computed::Between => {
                let x = m.resize(x, 0, NARROW.bits)?;
                let y = m.function(&between(format), &x)?;
                m.resize(&y, 0, format.bits())
            }
            Computed::Logarithm => Logarithm::new(format, 4)?.apply(m, x),
            Computed::Division => {
                let [x, y] = [row(m, 0), row(m, 1)];
                division(format)?.apply(m, &x, &y)
            }
            Computed::BatchNorm => {
                let statistics = Statistics {
                    mean: row(m, 1),
                    variance: row(m, 2),
                    gamma: row(m, 3),
                    beta: row(m, 4),
                };
                let x = row(m, 0);
                batch_norm(format)?.apply(m, &x, CHANNELS, &statistics)
            }
            Computed::LessThan => {
                let [x, y] = [row(m, 0), row(m, 1)];
                let bit = compare(m, &x, &y)?;
                let [zero, one] = [0, 1].map(|v| m.constant(&[v; FEW]));
                m.select(&bit, &zero, &one)
            }
        }
    }
}

const NARROW: Number = Number {
    bits: 16,
    fraction: FRACTION,
};

fn between(format: Format) -> Elementary {
    Elementary::new(format, FunctionKind::Sigmoid).between(NARROW, NARROW)
}

fn division(format: Format) -> Result<Division, Error> {
    Division::new(format, SPAN, 4)
}

fn batch_norm(format: Format) -> Result<BatchNorm, Error> {
    BatchNorm::new(format, 0.0, SPAN, 4)
}

/// How often each byte was sent at each step, by sender and receiver.
fn bytes(seen: &Seen, parties: usize) -> BTreeMap<(usize, usize, &'static str), Vec<u64>> {
    let mut counts = BTreeMap::new();
    for to in 0..parties {
        for message in seen.recorder.view(to) {
            // What the parties make keys of, and hashes of what was sent.
            if ["key ", "verify", "copy"]
                .iter()
                .any(|s| message.step.contains(s))
            {
                continue;
            }
            let of = (message.from, to, message.step);
            let counts = counts.entry(of).or_insert_with(|| vec![0; 256]);
            message
                .payload
                .iter()
                .for_each(|b| counts[usize::from(*b)] += 1);
        }
    }
    counts
}

/// Holds what every party sees of two secrets of every function against each other.
pub fn functions_hide(subject: &dyn Subject, sharing: Sharing) {
    let parties = subject.parties();
    for (turn, computed) in ALL.into_iter().enumerate() {
        for receiver in 0..parties {
            let roles = Roles {
                owner: (receiver + 1 + turn % (parties - 1)) % parties,
                to: Audience::One(receiver),
                joint: turn.is_multiple_of(2),
                mutant: false,
            };
            let runs = computed.secrets().map(|secrets| {
                let fixed = |x: &f64| (x * f64::from(1 << FRACTION)) as i64;
                let values: Vec<i64> = secrets.iter().flat_map(|x| vec![fixed(x); FEW]).collect();
                let seen = observe(subject, roles, &values, |m, x, prepared| {
                    computed.run(m, x, prepared)
                });
                tells_no_more_than_the_result(subject, sharing, roles, &seen);
                bytes(&seen, parties)
            });
            let [a, b] = &runs;
            let sizes = |counts: &BTreeMap<_, Vec<u64>>| -> Vec<u64> {
                counts.values().map(|c| c.iter().sum()).collect()
            };
            assert!(
                a.keys().eq(b.keys()) && sizes(a) == sizes(b),
                "other messages flow"
            );
            for (of, counts) in a {
                let off = apart(counts, &b[of]);
                assert!(
                    off < LIMIT,
                    "{off} in {of:?} of {computed:?}, {roles:?}, {}",
                    subject.name()
                );
            }
        }
    }
}
