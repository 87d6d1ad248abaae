//! The sizes of calls, by which their time is predicted.

use tacit_protocols::machine::{Bilinear, Call, CostModel};

use super::CallKind;

/// How many of each of the four things of [`Rates`](super::Rates) a product consists of, in their order.
pub fn multiplications(map: &Bilinear) -> [f64; 4] {
    let matrices = |batch: usize, [m, k, n]: [usize; 3]| {
        let matrix = (batch * k * n) as f64;
        [matrix, matrix * m as f64, 0.0, 0.0]
    };
    match map {
        Bilinear::Elementwise(_) => [0.0; 4],
        Bilinear::MatMul(s) => matrices(1, [s.m, s.k, s.n]),
        Bilinear::BatchMatMul(s) => matrices(s.batch, [s.each.m, s.each.k, s.each.n]),
        Bilinear::Conv2d(s) => {
            let taps = (s.weight_len() / s.filters.max(1)) as f64;
            let products = s.output_len() as f64 * taps;
            let patches = products / (s.filters / s.groups.max(1)).max(1) as f64;
            [0.0, 0.0, patches, products]
        }
    }
}

/// Elements of both operands of a matrix product or a convolution.
pub fn operands(map: &Bilinear) -> f64 {
    match map {
        Bilinear::Elementwise(_) => 0.0,
        map => (map.left() + map.right()) as f64,
    }
}

/// The sizes of a call, by which its time is predicted.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// The call's kind.
    pub kind: CallKind,
    /// Elements of the call.
    pub size: f64,
    /// Bytes of all the call's elements, of all parties.
    pub bytes: f64,
}

impl Part {
    /// The sizes of a call's online phase; `None` for calls that are counted with others.
    pub fn online(call: &Call, model: &dyn CostModel) -> Option<Self> {
        let bytes = total(&model.online(call).bytes);
        Part::of(call, model, bytes)
    }

    /// The sizes of a call's offline phase: bytes that are sent, and bytes that all parties store.
    pub fn offline(call: &Call, model: &dyn CostModel) -> Option<Self> {
        let sent = model.offline(std::slice::from_ref(call)).bytes;
        let stored = model.stored(call) * sent.len().max(1) as u64;
        Part::of(call, model, total(&sent) + stored as f64)
    }

    fn of(call: &Call, model: &dyn CostModel, bytes: f64) -> Option<Self> {
        let kind = CallKind::of(call, model)?;
        if matches!(call, Call::Reusable { .. }) && bytes == 0.0 {
            return None;
        }
        let size = match call {
            Call::Product { map, .. } if kind == CallKind::Product => map.outputs() as f64,
            Call::Product { .. } if kind == CallKind::Encrypted => model.encrypted(call)?,
            // Of transfers bytes alone tell.
            Call::Product { .. } | Call::Function { .. } => bytes,
            Call::Truncate { n, .. }
            | Call::Drelu { n, .. }
            | Call::Relu { n, .. }
            | Call::Select { n, .. }
            | Call::Input { n, .. }
            | Call::Reusable { n }
            | Call::Reveal { n, .. } => *n as f64,
            Call::Maxpool { windows, size, .. } => (windows * (size.saturating_sub(1))) as f64,
            Call::Verify { .. } => return None,
        };
        Some(Part { kind, size, bytes })
    }
}

/// Calls whose computing is told by one size each: the truncation of a product of encrypted numbers by itself.
fn apart<'a>(calls: &'a [Call], model: &'a dyn CostModel) -> impl Iterator<Item = Call> + 'a {
    calls.iter().flat_map(|call| {
        let mut product = *call;
        let truncation = match &mut product {
            Call::Product {
                map, trunc, bits, ..
            } if model.encrypted(call).is_some() => {
                let n = map.outputs();
                let trunc = std::mem::take(trunc);
                let from = bits.map(|[.., product, result]| [product, result]);
                if let Some([.., product, result]) = bits {
                    *result = *product;
                }
                (trunc > 0 || from.is_some()).then_some(Call::Truncate {
                    n,
                    trunc,
                    bits: from,
                })
            }
            _ => None,
        };
        [Some(product), truncation].into_iter().flatten()
    })
}

fn total(bytes: &[u64]) -> f64 {
    bytes.iter().sum::<u64>() as f64
}

/// The work of calls.
#[derive(Clone, Debug, Default)]
pub(crate) struct Work {
    pub(super) rounds: u32,
    pub(super) parts: Vec<Part>,
    pub(super) products: Vec<Bilinear>,
}

impl Work {
    /// The work of the online phase of these calls, which take `rounds` hops.
    pub fn online(calls: &[Call], model: &dyn CostModel, rounds: u32) -> Self {
        let product = |call: &Call| match call {
            Call::Product { map, .. } if !model.mixed() => Some(*map),
            _ => None,
        };
        Work {
            rounds,
            parts: apart(calls, model)
                .filter_map(|call| Part::online(&call, model))
                .collect(),
            products: calls.iter().filter_map(product).collect(),
        }
    }

    /// The work of the offline phase of these calls, which takes `rounds` hops.
    pub fn offline(calls: &[Call], model: &dyn CostModel, rounds: u32) -> Self {
        Work {
            rounds,
            parts: apart(calls, model)
                .filter_map(|call| Part::offline(&call, model))
                .collect(),
            products: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use tacit_net::LinkModel;
    use tacit_protocols::machine::{Conv2d, MatMul};
    use tacit_sirnn::{Options, Products, SirnnCost, ot};

    use super::*;

    #[test]
    fn products_are_counted() {
        let shape = MatMul { m: 3, k: 4, n: 5 };
        assert_eq!(
            multiplications(&Bilinear::MatMul(shape)),
            [20.0, 60.0, 0.0, 0.0]
        );
        let conv = Conv2d {
            batch: 2,
            channels: 4,
            height: 5,
            width: 5,
            filters: 6,
            kernel: [3, 3],
            stride: [1, 1],
            pad: [0; 4],
            dilation: [1, 1],
            groups: 2,
        };
        // 2 images of 9 places, each of which 6 filters of 18 weights.
        let counted = multiplications(&Bilinear::Conv2d(conv));
        assert_eq!(counted, [0.0, 0.0, 648.0, 1944.0]);
    }

    #[test]
    fn an_encrypted_product_and_its_truncation_are_apart() {
        let model = SirnnCost::new(Options {
            bits: 64,
            sign_bits: 64,
            kind: ot::OtExtension::default(),
            products: Products::Auto,
            link: LinkModel::LOCAL,
        });
        let of = |map: Bilinear, cut: u32, widths: Option<[u32; 4]>| {
            let mut call = Call::product(map, cut);
            if let Call::Product { bits, .. } = &mut call {
                *bits = widths;
            }
            call
        };
        let matrix = |m| Bilinear::MatMul(MatMul { m, k: 784, n: 128 });
        let apart = |call: Call| apart(&[call], &model).collect::<Vec<_>>();
        let large = matrix(16);
        let truncation = Call::Truncate {
            n: 16 * 128,
            trunc: 13,
            bits: Some([37, 24]),
        };
        let wide = of(large, 0, Some([18, 13, 37, 37]));
        assert_eq!(
            apart(of(large, 13, Some([18, 13, 37, 24]))),
            [wide, truncation]
        );
        assert_eq!(apart(of(large, 0, None)), [of(large, 0, None)]);
        let by_transfers = of(Bilinear::Elementwise(9), 13, None);
        assert_eq!(apart(by_transfers), [by_transfers]);
    }
}
