//! Declared cost equals metered cost: hops and bytes of every call, offline and online.

use crate::*;
use tacit_net::Phase;
use tacit_protocols::Cost;
use tacit_protocols::lowered;
use tacit_protocols::machine::{BatchMatMul, Bilinear, CostModel, KeyBits, MatMul, Operand};
use tacit_protocols::math::{Format, FunctionKind, Span};

/// Makes one call of the given size on values that everybody knows, with the right operand that
/// was made reusable for it.
pub fn perform(machine: &mut Erased, call: &Call, reused: Option<Handle>) -> Result<(), Error> {
    let ring = machine.element_bits();
    let mut secret = |n: usize, bits: Option<u32>| {
        let x = machine.constant(&vec![1; n]);
        machine.resize(&x, 0, bits.unwrap_or(ring))
    };
    match *call {
        Call::Input { owner, n } => {
            let values = vec![3; n];
            let owns = machine.party().id() == owner;
            machine.input(owner, n, owns.then_some(&values)).map(drop)
        }
        Call::Reveal { n, to } => {
            let x = secret(n, None)?;
            machine.reveal(&x, to).map(drop)
        }
        Call::Reusable { n } => {
            let x = secret(n, None)?;
            machine.reusable(x).map(drop)
        }
        Call::Product {
            map, trunc, bits, ..
        } => {
            let x = secret(map.left(), bits.map(|bits| bits[0]))?;
            let y = match reused {
                Some(y) => y,
                None => secret(map.right(), bits.map(|bits| bits[1]))?,
            };
            let bits = bits.map(|[.., product, result]| [product, result]);
            let y = Operand::Secret(y);
            machine.linear(&x, &y, None, &map, trunc, bits).map(drop)
        }
        Call::Truncate { n, trunc, bits } => {
            let x = secret(n, bits.map(|bits| bits[0]))?;
            match bits {
                None => machine.truncate(&x, trunc),
                Some([_, bits]) => machine.resize(&x, trunc, bits),
            }
            .map(drop)
        }
        Call::Drelu { n, keys, bits } => {
            let x = secret(n, bits)?;
            machine.drelu(&x, keys).map(drop)
        }
        Call::Relu { n, keys, bits } => {
            let x = secret(n, bits)?;
            machine.relu(&x, keys).map(drop)
        }
        Call::Select { n, bits } => {
            let x = secret(n, bits)?;
            let bit = machine.drelu(&x, KeyBits::ALL)?;
            machine.party().set_layer("measured");
            machine.select(&bit, &x, &x).map(drop)
        }
        Call::Maxpool {
            windows,
            size,
            keys,
            bits,
        } => {
            let x = secret(windows * size, bits)?;
            machine.maxpool(&x, windows, size, keys).map(drop)
        }
        Call::Function { n, function } => {
            let x = secret(n, function.between.map(|[from, _]| from.bits))?;
            machine.function(&function, &x).map(drop)
        }
        Call::Verify { .. } => Ok(()),
    }
}

/// The right operand that a product reuses, made reusable before any material is made.
fn reusable(machine: &mut Erased, call: &Call) -> Result<Option<Handle>, Error> {
    let Call::Product {
        map,
        reused: Some(_),
        known_to,
        bits,
        ..
    } = call
    else {
        return Ok(None);
    };
    let bits = bits.map_or(machine.element_bits(), |bits| bits[1]);
    let n = map.right();
    machine.prepare(&[Call::Reusable { n }])?;
    machine.party().set_layer("before");
    let mut w = machine.constant(&vec![1; n]);
    if let Some(owner) = *known_to {
        let owns = machine.party().id() == owner;
        w = machine.input(owner, n, owns.then_some(&vec![1; n]))?;
        w = machine.resize(&w, 0, bits)?;
        w = machine.known(w, owner);
    }
    machine.reusable(w).map(Some)
}

/// The cost that the meters saw: hops of the slowest party, bytes of each.
pub fn combine(each: &[(u32, u64)]) -> Cost {
    Cost {
        rounds: each.iter().map(|c| c.0).max().unwrap_or(0),
        bytes: each.iter().map(|c| c.1).collect(),
    }
}

/// Holds the declared cost of a call against its metered cost, offline and online.
pub fn declared_equals_metered(s: &dyn Subject, call: Call) {
    // Selection needs a bit first, made in a layer of its own.
    let calls = match call {
        Call::Select { n, bits } => {
            let keys = KeyBits::ALL;
            vec![Call::Drelu { n, keys, bits }, call]
        }
        _ => vec![call],
    };
    let measured = run(s, |machine| {
        let declared = (
            machine.cost_model().offline(&calls),
            machine.cost_model().online(&call),
        );
        let reused = reusable(machine, &call)?;
        machine.prepare(&calls)?;
        machine.party().set_layer(if calls.len() > 1 {
            "before"
        } else {
            "measured"
        });
        perform(machine, &call, reused)?;
        let meter = machine.party().meter();
        let offline = meter.total(Phase::Offline);
        let layer = meter
            .layers(Phase::Online)
            .into_iter()
            .find(|(name, _)| name == "measured");
        let online = layer
            .map(|(_, traffic)| (traffic.rounds, traffic.bytes_sent))
            .unwrap_or((0, 0));
        Ok((declared, (offline.rounds, offline.bytes_sent), online))
    });
    let (offline, online) = measured[0].0.clone();
    let metered_offline = combine(&measured.iter().map(|m| m.1).collect::<Vec<_>>());
    let metered_online = combine(&measured.iter().map(|m| m.2).collect::<Vec<_>>());
    assert_eq!(metered_online, online, "online, {call:?}, {}", s.name());
    assert_eq!(metered_offline, offline, "offline, {call:?}, {}", s.name());
}

/// Every call of about `n` elements, between three parties or more.
pub fn every_call(n: usize) -> Vec<Call> {
    vec![
        Call::Input { owner: 2, n },
        Call::Reveal {
            n,
            to: Audience::All,
        },
        Call::Reveal {
            n,
            to: Audience::One(1),
        },
        Call::elementwise(n, 0),
        Call::elementwise(n, 5),
        Call::Reusable { n },
        Call::product(Bilinear::MatMul(MatMul { m: 3, k: n, n: 2 }), 4),
        Call::product(
            Bilinear::BatchMatMul(BatchMatMul {
                batch: 3,
                each: MatMul { m: 2, k: n, n: 2 },
            }),
            4,
        ),
        Call::Product {
            map: Bilinear::MatMul(MatMul { m: 3, k: n, n: 2 }),
            reused: Some(0),
            known_to: Some(0),
            trunc: 4,
            bits: None,
        },
        Call::Product {
            map: Bilinear::Elementwise(n),
            reused: Some(0),
            known_to: None,
            trunc: 0,
            bits: None,
        },
        Call::truncate(n, 6),
        Call::drelu(n),
        Call::relu(n),
        Call::select(n),
        Call::maxpool(n, 5),
        Call::drelu(n).by(KeyBits::within(1)),
        Call::relu(n).by(KeyBits::within(5)),
        Call::maxpool(n, 3).by(KeyBits::within(3)),
    ]
}

/// Several batches: hops and bytes add up, wherever the parties stood when a batch began.
pub fn several_batches(subject: &dyn Subject, n: usize) {
    let calls = [
        Call::relu(n),
        Call::elementwise(n, 9),
        Call::relu(3),
        Call::maxpool(n / 8, 4),
        Call::truncate(n, 2),
    ];
    let measured = run(subject, |machine| {
        machine.prepare(&calls)?;
        let offline = machine.party().meter().total(Phase::Offline);
        Ok((
            machine.cost_model().offline(&calls),
            (offline.rounds, offline.bytes_sent),
        ))
    });
    let metered = combine(&measured.iter().map(|m| m.1).collect::<Vec<_>>());
    assert_eq!(metered, measured[0].0, "{}", subject.name());
}

const SPECIFICATION: &str = include_str!("../../../docs/spec/functions.md");

/// Arguments of a function whose cost is counted.
const N: usize = 1 << 12;

/// Hops, and bytes of the busiest party for an argument, with those of the offline phase.
fn cost(model: &dyn CostModel, format: Format, kind: FunctionKind) -> (u32, u64) {
    let function = Elementary::new(format, kind);
    let calls = lowered(&[Call::Function { n: N, function }], model).expect("a function that fits");
    let mut all = model.offline(&calls).bytes;
    let mut hops = 0;
    for call in &calls {
        let online = model.online(call);
        hops += online.rounds;
        all.iter_mut()
            .zip(online.bytes)
            .for_each(|(all, b)| *all += b);
    }
    let most = all.into_iter().max().unwrap_or(0);
    (hops, most.div_ceil(N as u64))
}

fn row(s: &dyn Subject, name: &str) -> String {
    let kinds: [fn(Span) -> FunctionKind; 3] = [
        |span| FunctionKind::Reciprocal { span },
        |span| FunctionKind::InverseSqrt { span },
        |span| FunctionKind::SquareRoot { span },
    ];
    let cells = run(s, |machine| {
        let format = Format::new(machine.element_bits(), 18)?;
        let model = machine.cost_model();
        let cell = |kind: fn(Span) -> FunctionKind| {
            let of = |high: i32| cost(model, format, kind(Span { low: -high, high }));
            let [(hops, bytes), (more_hops, more)] = [2, 12].map(of);
            let times = more as f64 / bytes as f64;
            format!("{hops}, {bytes} B; {more_hops}, {more} B ({times:.2})")
        };
        Ok(kinds.map(cell).join(" | "))
    });
    format!("| {name} | {} |", cells[0])
}

/// Holds what functions cost by the span of their arguments, from a quarter to 4 and from 2^-12 to 2^12,
/// against the specification, where the subject has this name.
pub fn spans(s: &dyn Subject, name: &str) {
    let row = row(s, name);
    assert!(
        SPECIFICATION.contains(&row),
        "docs/spec/functions.md lacks:\n{row}"
    );
}
