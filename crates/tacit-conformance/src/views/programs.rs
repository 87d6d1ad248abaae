//! One program for every call of the machine, on rows of secrets: each row holds the same number in
//! every sample.

use tacit_protocols::record::noted;

use crate::demand;
use tacit_protocols::Error;
use tacit_protocols::lowered;
use tacit_protocols::machine::{
    BatchMatMul, Bilinear, Call, Conv2d, KeyBits, Machine, MatMul, Operand,
};
use tacit_protocols::machine::{Erased, Handle};
use tacit_protocols::math::{self, TopK};

/// Signs of numbers from -7 to 7, which every protocol takes over 5 bits and more.
const KEYS: KeyBits = KeyBits::of(0, 3);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// `add`, `sub`, `scale`, `gather`, `slice`, `concat`, `constant`.
    Linear,
    /// `save` and `load` of a product.
    Saved,
    Product,
    ProductTruncated,
    Public,
    PublicTruncated,
    MatMul,
    BatchMatMul,
    Conv,
    /// `mixed` calls over the ring: `product` and `resize`.
    Mixed,
    Reused,
    Known,
    Truncate,
    Drelu,
    Select,
    Relu,
    Maxpool,
    Compare,
    Argmax,
    TopTwo,
    MaxpoolWithDerivative,
    /// Signs without a promise, of values beyond what key bits could be over 8 bits.
    DreluExact,
    ReluExact,
    MaxpoolExact,
}

/// What is another computation without a promise where signs cost less with one.
pub const EXACT: [Program; 3] = [
    Program::DreluExact,
    Program::ReluExact,
    Program::MaxpoolExact,
];

/// Matrix products, of secrets and of weights that a party knows.
pub const PRODUCTS: [Program; 3] = [Program::MatMul, Program::Known, Program::Mixed];

pub const ALL: [Program; 21] = [
    Program::Linear,
    Program::Saved,
    Program::Product,
    Program::ProductTruncated,
    Program::Public,
    Program::PublicTruncated,
    Program::MatMul,
    Program::BatchMatMul,
    Program::Conv,
    Program::Mixed,
    Program::Reused,
    Program::Known,
    Program::Truncate,
    Program::Drelu,
    Program::Select,
    Program::Relu,
    Program::Maxpool,
    Program::Compare,
    Program::Argmax,
    Program::TopTwo,
    Program::MaxpoolWithDerivative,
];

/// A product of a row and a column for every sample.
fn pairs(n: usize) -> BatchMatMul {
    let each = MatMul { m: 1, k: 2, n: 1 };
    BatchMatMul { batch: n, each }
}

/// A depthwise convolution: every sample has a channel and weights of its own.
fn depthwise(n: usize) -> Conv2d {
    Conv2d {
        batch: 1,
        channels: n,
        height: 1,
        width: 2,
        filters: n,
        kernel: [1, 2],
        stride: [1, 1],
        pad: [0; 4],
        dilation: [1, 1],
        groups: n,
    }
}

impl Program {
    /// Secrets of which the first two have the same result.
    pub fn secrets(self) -> [&'static [i64]; 3] {
        match self {
            Program::Linear => [&[1, 4], &[2, 1], &[5, 0]],
            Program::Saved | Program::Product | Program::Known | Program::Reused => {
                [&[2, 6], &[3, 4], &[1, 5]]
            }
            Program::ProductTruncated | Program::Mixed => [&[1, 4], &[2, 2], &[0, 3]],
            Program::Public | Program::PublicTruncated | Program::Truncate => {
                [&[1, 3], &[4, 0], &[0, 0]]
            }
            Program::MatMul | Program::BatchMatMul | Program::Conv => {
                [&[1, 2, 3, 1], &[2, 1, 1, 3], &[0, 1, 1, 1]]
            }
            Program::Drelu => [&[3], &[4], &[-2]],
            Program::DreluExact => [&[3], &[90], &[-128]],
            Program::ReluExact => [&[-1], &[-100], &[77]],
            Program::MaxpoolExact => [&[50, -1, 0, 1], &[50, 20, -60, 49], &[0, 60, 1, 1]],
            Program::Select => [&[1, 5, 3], &[2, 6, 3], &[-1, 5, 3]],
            Program::Relu => [&[-1], &[-2], &[3]],
            Program::Maxpool | Program::MaxpoolWithDerivative => {
                [&[5, -1, 0, 1], &[5, 2, -2, 4], &[0, 3, 1, 1]]
            }
            Program::Argmax | Program::TopTwo => [&[1, 4, -2], &[3, 4, 0], &[4, 1, 3]],
            Program::Compare => [&[2, 1], &[5, 2], &[1, 2]],
        }
    }

    /// The calls for `n` samples of the owner's secrets over so many bits.
    fn calls(self, n: usize, bits: u32, owner: usize) -> Vec<Call> {
        let product = |map, reused, trunc| Call::Product {
            map,
            reused,
            known_to: None,
            trunc,
            bits: None,
        };
        let elementwise = Bilinear::Elementwise(n);
        match self {
            Program::Linear | Program::Public => vec![],
            Program::Saved | Program::Product => vec![product(elementwise, None, 0)],
            Program::Known => vec![Call::Product {
                map: elementwise,
                reused: None,
                known_to: Some(owner),
                trunc: 0,
                bits: None,
            }],
            Program::ProductTruncated => vec![product(elementwise, None, 2)],
            Program::Mixed => vec![Call::Product {
                map: elementwise,
                reused: None,
                known_to: None,
                trunc: 2,
                bits: Some([bits; 4]),
            }],
            Program::PublicTruncated | Program::Truncate => vec![Call::truncate(n, 2)],
            Program::MatMul => vec![product(Bilinear::MatMul(row_by_row(n)), None, 0)],
            Program::BatchMatMul => vec![product(Bilinear::BatchMatMul(pairs(n)), None, 0)],
            Program::Conv => vec![product(Bilinear::Conv2d(depthwise(n)), None, 0)],
            Program::Reused => vec![product(elementwise, Some(0), 0)],
            Program::Drelu | Program::Compare => {
                vec![Call::drelu(n).by(KEYS), Call::select(n)]
            }
            Program::Select => vec![Call::drelu(n).by(KEYS), Call::select(n)],
            Program::DreluExact => vec![Call::drelu(n), Call::select(n)],
            Program::ReluExact => vec![Call::relu(n)],
            Program::MaxpoolExact => vec![Call::maxpool(n, 4)],
            Program::Relu => vec![Call::relu(n).by(KEYS)],
            Program::Maxpool => vec![Call::maxpool(n, 4).by(KEYS)],
            Program::Argmax => demand(bits, |m| top(n, 1).apply(m, &noted(3 * n))),
            Program::TopTwo => demand(bits, |m| top(n, 2).apply(m, &noted(3 * n))),
            Program::MaxpoolWithDerivative => demand(bits, |m| {
                math::maxpool_with_derivative(m, &noted(4 * n), n, 4, KEYS)
            }),
        }
    }

    /// Whether the result may be rounded one way or the other, though it is exact: under Shamir sharing, and
    /// where components are rounded one by one.
    pub fn rounds(self) -> bool {
        matches!(
            self,
            Program::ProductTruncated
                | Program::Mixed
                | Program::PublicTruncated
                | Program::Truncate
        )
    }

    /// Prepares, says so, and computes the result, of `n` samples or of rows of as many.
    pub fn run(
        self,
        m: &mut Erased,
        x: &Handle,
        n: usize,
        owner: usize,
        prepared: &dyn Fn(),
    ) -> Result<Handle, Error> {
        let calls = |m: &Erased| lowered(&self.calls(n, m.element_bits(), owner), m.cost_model());
        let row = |m: &mut Erased, i: usize| m.slice(x, i * n..(i + 1) * n);
        if self == Program::Reused {
            let [a, b] = [row(m, 0), row(m, 1)];
            let b = m.reusable(b)?;
            let calls = calls(m)?;
            m.prepare(&calls)?;
            prepared();
            return m.mul(&a, &Operand::Secret(b), 0);
        }
        let calls = calls(m)?;
        m.prepare(&calls)?;
        prepared();
        let sign = |m: &mut Erased, bit: &Handle| {
            let [zero, one] = [0, 1].map(|v| m.constant(&vec![v; n]));
            m.select(bit, &zero, &one)
        };
        match self {
            Program::Linear => linear(m, x, n),
            Program::Saved => {
                let [a, b] = [row(m, 0), row(m, 1)];
                let z = m.mul(&a, &Operand::Secret(b), 0)?;
                let bytes = m.save(&z);
                m.load(n, &bytes)
            }
            Program::Product | Program::ProductTruncated => {
                let [a, b] = [row(m, 0), row(m, 1)];
                let trunc = if self == Program::Product { 0 } else { 2 };
                m.mul(&a, &Operand::Secret(b), trunc)
            }
            Program::Known => {
                let [a, b] = [row(m, 0), row(m, 1)];
                let b = m.known(b, owner);
                m.mul(&a, &Operand::Secret(b), 0)
            }
            Program::Mixed => {
                let [a, b] = [row(m, 0), row(m, 1)];
                let (map, bits) = (Bilinear::Elementwise(n), m.element_bits());
                m.linear(&a, &Operand::Secret(b), None, &map, 2, Some([bits; 2]))
            }
            Program::Public | Program::PublicTruncated | Program::Truncate => {
                let [a, b] = [row(m, 0), row(m, 1)];
                let sum = m.add(&a, &b);
                match self {
                    Program::Public => m.mul(&sum, &Operand::Public(vec![3; n].into()), 0),
                    Program::PublicTruncated => m.mul(&sum, &Operand::Public(vec![1; n].into()), 2),
                    _ => m.truncate(&sum, 2),
                }
            }
            Program::MatMul => {
                let index: Vec<u32> = (0..2 * n).map(|i| (i % 2 * n + i / 2) as u32).collect();
                let a = m.gather(x, &index);
                let w = m.gather(x, &[2 * n as u32, 3 * n as u32]);
                m.matmul(&a, &Operand::Secret(w), None, row_by_row(n), 0)
            }
            Program::BatchMatMul | Program::Conv => {
                let index = |first: usize| -> Vec<u32> {
                    let at = |i: usize| ((first + i % 2) * n + i / 2) as u32;
                    (0..2 * n).map(at).collect()
                };
                let [a, w] = [0, 2].map(|first| m.gather(x, &index(first)));
                let map = match self {
                    Program::Conv => Bilinear::Conv2d(depthwise(n)),
                    _ => Bilinear::BatchMatMul(pairs(n)),
                };
                m.linear(&a, &Operand::Secret(w), None, &map, 0, None)
            }
            Program::Drelu => {
                let bit = m.drelu(x, KEYS)?;
                sign(m, &bit)
            }
            Program::DreluExact => {
                let bit = m.drelu(x, KeyBits::ALL)?;
                sign(m, &bit)
            }
            Program::ReluExact => m.relu(x, KeyBits::ALL),
            Program::MaxpoolExact => m.maxpool(x, n, 4, KeyBits::ALL),
            Program::Compare => {
                let [a, b] = [row(m, 0), row(m, 1)];
                let difference = m.sub(&a, &b);
                let bit = m.drelu(&difference, KEYS)?;
                sign(m, &bit)
            }
            Program::Select => {
                let [a, b, c] = [row(m, 0), row(m, 1), row(m, 2)];
                let bit = m.drelu(&a, KEYS)?;
                m.select(&bit, &b, &c)
            }
            Program::Relu => m.relu(x, KEYS),
            Program::Maxpool => m.maxpool(x, n, 4, KEYS),
            Program::Argmax => places(m, x, top(n, 1)),
            Program::TopTwo => places(m, x, top(n, 2)),
            Program::MaxpoolWithDerivative => {
                let [largest, places] = math::maxpool_with_derivative(m, x, n, 4, KEYS)?;
                Ok(m.concat(&[&largest, &places]))
            }
            Program::Reused => unreachable!("it makes its weights reusable before it prepares"),
        }
    }
}

/// A row of two numbers for each sample, by one column of weights.
fn row_by_row(n: usize) -> MatMul {
    MatMul { m: n, k: 2, n: 1 }
}

/// `3 a + b - 2`.
fn linear(m: &mut Erased, x: &Handle, n: usize) -> Result<Handle, Error> {
    let [a, b] = [0, 1].map(|i| m.slice(x, i * n..(i + 1) * n));
    let [three, two] = [m.scale(&a, 3), m.constant(&vec![2; n])];
    let sum = m.add(&three, &b);
    let sum = m.sub(&sum, &two);
    let both = m.concat(&[&a, &sum]);
    let index: Vec<u32> = (n as u32..2 * n as u32).collect();
    Ok(m.gather(&both, &index))
}

/// The search for the places of the `k` largest of three.
fn top(n: usize, k: usize) -> TopK {
    TopK {
        windows: n,
        size: 3,
        k,
        keys: KEYS,
        bits: None,
    }
}

fn places(m: &mut Erased, x: &Handle, top: TopK) -> Result<Handle, Error> {
    let window = |i: usize| (0..top.size).map(move |j| (j * top.windows + i) as u32);
    let windows: Vec<u32> = (0..top.windows).flat_map(window).collect();
    let windows = m.gather(x, &windows);
    top.apply(m, &windows)
}
