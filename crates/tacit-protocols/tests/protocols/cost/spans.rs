//! What functions cost by the span of their arguments, as the specification states it.

use super::*;
use tacit_algebra::mersenne::F61;
use tacit_protocols::lowered;
use tacit_protocols::math::{Elementary, Format, Kind, Span};
use tacit_protocols::shamir::{Comparison, Opening};

const SPECIFICATION: &str = include_str!("../../../../../docs/spec/functions.md");

/// Of so many arguments.
const N: usize = 1 << 12;

/// Hops, and bytes of the busiest party for an argument, with those of the offline phase.
fn cost(model: &dyn CostModel, format: Format, kind: Kind) -> (u32, u64) {
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

fn row<S: Subject>(s: &S, name: &str) -> String {
    let kinds: [fn(Span) -> Kind; 3] = [
        |span| Kind::Reciprocal { span },
        |span| Kind::InverseSqrt { span },
        |span| Kind::SquareRoot { span },
    ];
    let cells = run(s, |machine| {
        let format = Format::new(machine.ring_bits(), 18)?;
        let model = machine.cost_model();
        let cell = |kind: fn(Span) -> Kind| {
            let of = |high: i32| cost(model, format, kind(Span { low: -high, high }));
            let [(hops, bytes), (more_hops, more)] = [2, 12].map(of);
            let times = more as f64 / bytes as f64;
            format!("{hops}, {bytes} B; {more_hops}, {more} B ({times:.2})")
        };
        Ok(kinds.map(cell).join(" | "))
    });
    format!("| {name} | {} |", cells[0])
}

/// Arguments from a quarter to 4, and from 2^-12 to 2^12.
#[test]
fn a_wide_span_costs_what_the_specification_says() {
    let rows = [
        row(&falcon_over::<u64>(), "falcon, 64 bits"),
        row(&ubl_over::<u64>(Truncation::Gap), "bicoptor ubl, 64 bits"),
        row(&rss_over::<u64>(Truncation::Gap), "bicoptor rss, 64 bits"),
        row(
            &shamir_over::<F61>(3, Comparison::Tree, Opening::King),
            "shamir, 61 bits",
        ),
        row(&sirnn_over(64), "sirnn, 64 bits"),
    ];
    let missing: Vec<&String> = rows
        .iter()
        .filter(|row| !SPECIFICATION.contains(&row[..]))
        .collect();
    assert!(
        missing.is_empty(),
        "docs/spec/functions.md lacks:\n{rows:#?}"
    );
}
