//! SiRnn as a subject of conformance, and what only numbers with widths of their own are held to.

use tacit_conformance::mixed::*;
use tacit_conformance::views::{Look, Sharing, Words};
use tacit_conformance::{Subject, arithmetic, cost, places, views, wire};
use tacit_net::LinkModel;
use tacit_net::Party;
use tacit_protocols::Error;
use tacit_protocols::machine::Erased;
use tacit_protocols::machine::{Audience, BatchMatMul, Bilinear, Call, MatMul};
use tacit_protocols::math::{FunctionKind, Span};
use tacit_sirnn::{Options, PARTIES, Products, Sirnn, ot};

/// SiRnn over the ring of so many bits.
struct SirnnOver(Options);

fn sirnn_over(bits: u32) -> SirnnOver {
    SirnnOver(Options {
        bits,
        sign_bits: bits,
        kind: ot::OtExtension::default(),
        products: Products::default(),
        link: LinkModel::LOCAL,
    })
}

/// A subject that encrypts every product that can be.
fn encrypting_over(bits: u32) -> SirnnOver {
    SirnnOver(Options {
        products: Products::Rlwe,
        ..sirnn_over(bits).0
    })
}

impl Subject for SirnnOver {
    fn name(&self) -> String {
        format!("SiRnn, {:?}", self.0)
    }
    fn parties(&self) -> usize {
        PARTIES
    }
    fn modulus(&self) -> i128 {
        1 << self.0.bits
    }
    fn rounding(&self) -> (i64, i64) {
        (0, 0)
    }
    fn machine(&self, party: Party) -> Result<Erased<'_>, Error> {
        Sirnn::new(party, self.0).map(Erased::new)
    }
}

arithmetic!(|check| for bits in [8, 13, 16, 32, 64] {
    check(&sirnn_over(bits));
    check(&encrypting_over(bits));
});

const WIDE: Look = Look {
    sharing: Sharing::Two,
    words: Words::Wide,
    generators: |_| vec![],
    planes: false,
    slow: true,
};

views!(|check| check(&sirnn_over(8), WIDE));

#[test]
fn encrypted_products_hide() {
    views::products_hide(&encrypting_over(8), WIDE);
}

#[test]
fn what_is_sent_is_of_the_wire_version() {
    for kind in [
        ot::OtExtension::SoftSpoken { k: 2 },
        ot::OtExtension::SoftSpoken { k: 8 },
        ot::OtExtension::Silent,
    ] {
        let options = Options {
            bits: 64,
            sign_bits: 64,
            kind,
            products: Products::default(),
            link: LinkModel::LOCAL,
        };
        let name = format!("wire/sirnn-{}.txt", format!("{kind:?}").to_lowercase());
        let letters = |c: char| c.is_ascii_alphanumeric() || "-./".contains(c);
        let name: String = name.chars().filter(|c| letters(*c)).collect();
        let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests")
            .join(name);
        wire::held(&file, &wire::sent(&SirnnOver(options)));
    }
}

#[test]
fn functions() {
    views::functions_hide(&sirnn_over(32), Sharing::Two);
}

#[test]
fn many_values_are_ranked_in_groups() {
    places::many_values_are_ranked_in_groups(&sirnn_over(32));
}

#[test]
fn places_cost_what_is_declared() {
    places::costs(&sirnn_over(64), None);
    places::costs(&sirnn_over(64), Some(16));
}

#[test]
fn the_receiver_sees_the_same_whatever_the_values() {
    places::views(&sirnn_over(8));
}

#[test]
fn wide_spans_cost_what_the_specification_says() {
    cost::spans(&sirnn_over(64), "sirnn, 64 bits");
}

/// What encryption sends, of products of every shape.
#[test]
fn what_encryption_sends_is_of_the_wire_version() {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wire/sirnn-rlwe.txt");
    wire::held(&file, &wire::sent(&encrypting_over(64)));
}

/// Every width and kind of transfer, and lengths whose cost is extrapolated.
#[test]
fn declared_equals_metered_between_two_parties() {
    for (bits, sign_bits, kind) in [
        (16, 16, ot::OtExtension::SoftSpoken { k: 1 }),
        (32, 11, ot::OtExtension::default()),
        (64, 32, ot::OtExtension::SoftSpoken { k: 8 }),
        (37, 37, ot::OtExtension::Silent),
    ] {
        let calls = [1, 7, 64, 129, 1500, 5003]
            .into_iter()
            .flat_map(cost::every_call);
        let between_two = |call: &Call| match call {
            Call::Input { owner: party, .. }
            | Call::Reveal {
                to: Audience::One(party),
                ..
            } => *party < 2,
            _ => true,
        };
        for call in calls.filter(between_two) {
            let options = Options {
                bits,
                sign_bits,
                kind,
                products: Products::default(),
                link: LinkModel::LOCAL,
            };
            cost::declared_equals_metered(&SirnnOver(options), call);
        }
    }
    let products = |call: &Call| matches!(call, Call::Product { .. });
    for bits in [16, 64] {
        for call in cost::every_call(129).into_iter().filter(products) {
            cost::declared_equals_metered(&encrypting_over(bits), call);
        }
    }
}

#[test]
fn resizing_between_two_parties_is_exact() {
    for (from, trunc, bits) in [
        (2, 0, 64),
        (8, 0, 9),
        (16, 0, 37),
        (16, 5, 8),
        (16, 3, 13),
        (29, 13, 16),
        (40, 12, 64),
        (64, 17, 20),
        (10, 2, 30),
    ] {
        let x = small(from.min(40), 67, 3);
        // What is left may not fit the fewer bits: then it wraps.
        let wrap = |v: i64| (v << (64 - bits)) >> (64 - bits);
        let expected: Vec<i64> = x.iter().map(|v| wrap(v >> trunc)).collect();
        assert_eq!(
            resized(&sirnn_over(64), &x, (from, trunc, bits)),
            expected,
            "{from} >> {trunc} in {bits}"
        );
    }
}

#[test]
fn products_of_different_widths() {
    products_of_different_widths_are_exact(&sirnn_over(64));
    products_of_different_widths_are_exact(&encrypting_over(64));
}

#[test]
fn functions_between_widths() {
    functions_between_widths_are_near(&sirnn_over(64));
}

#[test]
fn exponentials_between_widths() {
    exponentials_end_at_their_bound(&sirnn_over(64));
}

#[test]
fn declared_equals_metered_of_every_width() {
    let shape = MatMul { m: 2, k: 3, n: 4 };
    let span = Span { low: -3, high: 3 };
    for n in [1, 129, 1500] {
        let product = |map, known_to, reused| Call::Product {
            map,
            reused,
            known_to,
            trunc: 9,
            bits: Some([16, 12, 30, 16]),
        };
        let functions = [
            FunctionKind::Sigmoid,
            FunctionKind::Tanh,
            FunctionKind::Exp { high: 0 },
            FunctionKind::Exp { high: -2 },
            FunctionKind::Reciprocal { span },
            FunctionKind::InverseSqrt { span },
        ]
        .map(|kind| between(kind, ARGUMENT, RESULT));
        let bounded = between(FunctionKind::Exp { high: 0 }, ARGUMENT, RESULT).bounded();
        let functions = functions.into_iter().chain([bounded]);
        let functions = functions.map(|function| Call::Function { n, function });
        let mut calls = vec![
            Call::resize(n, 16, 0, 30),
            Call::resize(n, 30, 14, 16),
            Call::resize(n, 12, 4, 20),
            product(Bilinear::Elementwise(n), None, None),
            product(Bilinear::MatMul(shape), None, None),
            product(Bilinear::MatMul(shape), Some(0), Some(0)),
            product(
                Bilinear::BatchMatMul(BatchMatMul {
                    batch: 3,
                    each: shape,
                }),
                None,
                None,
            ),
            Call::drelu(n).of_bits(16),
            Call::select(n).of_bits(5),
            Call::relu(n).of_bits(16),
            Call::maxpool(n, 4).of_bits(11),
        ];
        calls.extend(functions);
        for call in calls {
            cost::declared_equals_metered(&sirnn_over(64), call);
            if matches!(call, Call::Product { .. }) {
                cost::declared_equals_metered(&encrypting_over(64), call);
            }
        }
    }
}
