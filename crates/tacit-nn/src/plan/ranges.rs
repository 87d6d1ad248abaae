//! How large every value of the model may become.

use rayon::prelude::*;
use tacit_algebra::isa::{Loop, run};

use crate::graph::{Affine, FILL, Function, Node, Op};
use crate::reference::Ranges;

/// What the planner assumes of the size of a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bound {
    /// The largest magnitude that the plan provides for.
    pub planned: f64,
    /// The magnitude that no input within the input's range can exceed.
    pub worst: f64,
    /// The smallest and the largest value that the plan provides for.
    pub within: Interval,
    /// The smallest and the largest value that an input within the input's range can lead to.
    pub worst_within: Interval,
}

impl Bound {
    /// A bound of which the plan provides for the worst case.
    pub(super) fn worst(worst: Interval) -> Self {
        Bound {
            planned: magnitude(worst),
            worst: magnitude(worst),
            within: worst,
            worst_within: worst,
        }
    }

    /// A bound that provides for `margin` times what typical inputs showed, away from 0 and towards it,
    /// and for what unlike inputs showed, but for no more than the worst case.
    pub(super) fn observed(
        typical: Interval,
        unlike: Interval,
        worst: Interval,
        margin: f64,
    ) -> Self {
        let low = if typical.0 < 0.0 {
            typical.0 * margin
        } else {
            typical.0 / margin
        };
        let high = if typical.1 > 0.0 {
            typical.1 * margin
        } else {
            typical.1 / margin
        };
        let seen = if unlike.0 > unlike.1 {
            (low, high)
        } else {
            hull((low, high), unlike)
        };
        let planned = (magnitude(typical) * margin).max(magnitude(seen));
        let (low, high) = seen;
        Bound {
            planned: planned.min(magnitude(worst)),
            worst: magnitude(worst),
            within: (low.clamp(worst.0, worst.1), high.clamp(worst.0, worst.1)),
            worst_within: worst,
        }
    }
}

impl Bound {
    /// Whether values go beyond what the plan provides for, by more than `slack` and a share of it.
    pub(super) fn is_passed(self, (low, high): Interval, slack: f64) -> bool {
        let slack = slack + self.planned / 8.0;
        low < self.within.0 - slack || high > self.within.1 + slack
    }

    /// The bound that provides for the values of this one and for `values`.
    pub(super) fn and(self, values: Interval) -> Self {
        Bound {
            planned: self.planned.max(magnitude(values)),
            worst: self.worst.max(magnitude(values)),
            within: hull(self.within, values),
            worst_within: hull(self.worst_within, values),
        }
    }

    /// The bound itself, or one that provides for the worst case if that is at most `times` times as large.
    pub(super) fn up_to_worst(self, times: f64) -> Self {
        match self.worst <= times * self.planned {
            true => Bound::worst(self.worst_within),
            false => self,
        }
    }
}

/// The smallest and the largest of some values.
pub(crate) type Interval = (f64, f64);

fn magnitude((low, high): Interval) -> f64 {
    low.abs().max(high.abs())
}

/// Less than the last place of any format.
const LEAST: f64 = 1.0 / (1u128 << 64) as f64;

/// The ends of intervals are no farther from 0, so that arithmetic with them gives no infinity or NaN.
pub(super) const FAR: f64 = 1e150;

pub(super) fn hull(a: Interval, b: Interval) -> Interval {
    (a.0.min(b.0), a.1.max(b.1))
}

pub(super) fn interval(node: &Node, inputs: &[Interval]) -> Interval {
    let x = inputs[0];
    match &node.op {
        Op::Conv(conv) => {
            let x = if conv.geometry.pad == [0; 4] {
                x
            } else {
                hull(x, (0.0, 0.0))
            };
            let filters = conv.weight.par_chunks(conv.geometry.taps());
            let sums = filters.map(|w| w.iter().copied().fold((0.0, 0.0), signed_sum));
            let sums: Vec<Interval> = sums.collect();
            products(x, sums.into_iter(), &conv.bias)
        }
        Op::Linear(linear) => {
            let mut sums = vec![[0.0; 2]; linear.n];
            // Threads take columns each, so that the sums are the same however many there are.
            sums.par_chunks_mut(COLUMNS)
                .enumerate()
                .for_each(|(at, sums)| {
                    for row in linear.weight.chunks(linear.n) {
                        run(SignedSums(sums, &row[at * COLUMNS..]));
                    }
                });
            let sums = sums
                .into_iter()
                .map(|[negative, positive]| (negative, positive));
            products(x, sums, &linear.bias)
        }
        Op::Lookup(lookup) => {
            let rows = lookup.table.iter().map(|&v| (f64::from(v), f64::from(v)));
            rows.reduce(hull).unwrap_or((0.0, 0.0))
        }
        Op::Affine(affine) => scaled(affine, x),
        Op::Add => (x.0 + inputs[1].0, x.1 + inputs[1].1),
        Op::Sub => (x.0 - inputs[1].1, x.1 - inputs[1].0),
        Op::Mul if node.inputs[0] == node.inputs[1] => {
            let squares = (x.0 * x.0, x.1 * x.1);
            let least = if x.0 < 0.0 && x.1 > 0.0 {
                0.0
            } else {
                squares.0.min(squares.1)
            };
            (least, squares.0.max(squares.1))
        }
        Op::Mul => product(x, inputs[1]),
        Op::MatMul(matrices) => {
            let (low, high) = product(x, inputs[1]);
            let terms = matrices.k as f64;
            (terms * low, terms * high)
        }
        Op::Function { function, domain } => image(*function, arguments(x, *domain)),
        Op::NonNegative => (0.0, 1.0),
        Op::Whole(whole) => (whole.of(x.0), whole.of(x.1)),
        Op::Relu => (x.0.max(0.0), x.1.max(0.0)),
        Op::Clip { low, high } => {
            let (low, high) = (
                low.map_or(f64::NEG_INFINITY, f64::from),
                high.map_or(f64::INFINITY, f64::from),
            );
            (x.0.clamp(low, high), x.1.clamp(low, high))
        }
        Op::MaxPool(_) => x,
        Op::AveragePool(pool) => {
            if pool.count_pad {
                hull(x, (0.0, 0.0))
            } else {
                x
            }
        }
        Op::SumPool(pool) => {
            let taps = (0..pool.out_len()).map(|e| pool.taps(e) as f64);
            let sum = |n: f64| (x.0 * n, x.1 * n);
            taps.map(sum).fold((f64::INFINITY, f64::NEG_INFINITY), hull)
        }
        Op::Rearrange { index, fill } if index.contains(&FILL) => {
            let fill = (f64::from(*fill), f64::from(*fill));
            match index.iter().all(|&i| i == FILL) {
                true => fill,
                false => hull(x, fill),
            }
        }
        Op::Rearrange { .. } => x,
        Op::Concat { .. } => inputs.iter().copied().fold(x, hull),
    }
}

/// What a product of two values is within.
fn product(x: Interval, y: Interval) -> Interval {
    let corners = [x.0 * y.0, x.0 * y.1, x.1 * y.0, x.1 * y.1];
    let ends = corners.into_iter().map(|v| (v, v));
    ends.fold((f64::INFINITY, f64::NEG_INFINITY), hull)
}

/// Arguments of a function within `x` that its domain allows.
pub(super) fn arguments(x: Interval, domain: (f32, f32)) -> Interval {
    let (low, high) = (f64::from(domain.0), f64::from(domain.1));
    (x.0.clamp(low, high), x.1.clamp(low, high))
}

/// What a function makes of arguments: all are monotonic.
fn image(function: Function, x: Interval) -> Interval {
    match function {
        // Beyond a pole there is no result; at one it is infinite.
        Function::InverseSqrt if x.0 >= 0.0 => (function.of(x.1), function.of(x.0)),
        Function::Reciprocal | Function::InverseSqrt => (
            function.of(x.1.max(0.0)).min(FAR),
            FAR.min(1.0 / x.0.max(0.0)),
        ),
        Function::SquareRoot => (function.of(x.0.max(0.0)), function.of(x.1.max(0.0))),
        // No number that a format holds has a logarithm further down.
        Function::Log => {
            let ends = [x.0, x.1].map(|x| function.of(x.max(LEAST)));
            (ends[0], ends[1])
        }
        // As computed they may not be so to the last place.
        _ => {
            let ends = (function.of(x.0), function.of(x.1));
            (ends.0.min(ends.1), ends.0.max(ends.1))
        }
    }
}

/// Columns of a matrix whose sums a thread makes at a time.
const COLUMNS: usize = 128;

/// Adds a row to the sums of every column's negative and positive weights.
struct SignedSums<'a>(&'a mut [[f64; 2]], &'a [f32]);

impl Loop for SignedSums<'_> {
    type Made = ();

    #[inline(always)]
    fn run(self) {
        for (sums, &w) in self.0.iter_mut().zip(self.1) {
            let w = f64::from(w);
            sums[0] += if w < 0.0 { w } else { 0.0 };
            sums[1] += if w > 0.0 { w } else { 0.0 };
        }
    }
}

/// The sums of the negative and of the positive weights.
fn signed_sum((negative, positive): Interval, w: f32) -> Interval {
    let w = f64::from(w);
    (negative + w.min(0.0), positive + w.max(0.0))
}

fn products(x: Interval, sums: impl Iterator<Item = Interval>, bias: &[f32]) -> Interval {
    let bias = |i: usize| f64::from(bias.get(i).copied().unwrap_or(0.0));
    let one = |(i, (negative, positive)): (usize, Interval)| {
        (
            positive * x.0 + negative * x.1 + bias(i),
            positive * x.1 + negative * x.0 + bias(i),
        )
    };
    sums.enumerate()
        .map(one)
        .fold((f64::INFINITY, f64::NEG_INFINITY), hull)
}

fn scaled(affine: &Affine, x: Interval) -> Interval {
    let one = |channel: usize| {
        let (scale, shift) = affine.numbers(channel);
        let (scale, shift) = (f64::from(scale), f64::from(shift));
        let ends = (x.0 * scale + shift, x.1 * scale + shift);
        hull((ends.0, ends.0), (ends.1, ends.1))
    };
    (0..affine.channels().max(1))
        .map(one)
        .fold((f64::INFINITY, f64::NEG_INFINITY), hull)
}

/// Ranges as intervals that arithmetic can take.
pub(super) fn without_end(seen: Ranges) -> Vec<Interval> {
    let wide = |(low, high): (f32, f32)| {
        let end = |v: f32| f64::from(v).clamp(-FAR, FAR);
        (end(low), end(high))
    };
    seen.into_iter().map(wide).collect()
}

/// A fixed sequence that looks random, so that every plan of one model is the same.
pub(crate) struct Random(pub u64);

impl Random {
    /// A number in `0.0..1.0`.
    pub(crate) fn uniform(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::super::graphs::{graph, node, pool};
    use super::super::worst::worst_case;
    use super::*;
    use crate::graph::{Conv, ConvGeometry, Graph, Pool};
    use crate::reference;

    /// Every layer reads the one before.
    fn chain(ops: Vec<(Op, Vec<usize>)>) -> Graph {
        let nodes = ops.into_iter().enumerate();
        let nodes = nodes.map(|(i, (op, shape))| node(op, &[i], &shape));
        graph(&[1, 2, 2], nodes.collect())
    }

    /// A padded convolution, a shift, a mean that counts the padding, and padding with 9.
    fn mixed() -> Graph {
        let geometry = ConvGeometry {
            channels: 1,
            height: 2,
            width: 2,
            filters: 2,
            kernel: [2, 2],
            stride: [1, 1],
            pad: [1, 0, 0, 0],
            dilation: [1, 1],
            groups: 1,
        };
        let weight = vec![1.0, -2.0, 0.5, 3.0, -1.0, -1.0, 2.0, -0.5];
        let padded = Pool {
            pad: [1, 0, 1, 0],
            out: [2, 1],
            count_pad: true,
            ..pool(2, [2, 1], [2, 1])
        };
        chain(vec![
            (
                Op::Conv(Conv {
                    geometry,
                    weight: weight.into(),
                    bias: vec![0.25, -4.0].into(),
                }),
                vec![2, 2, 1],
            ),
            (
                Op::Affine(Affine {
                    inner: 2,
                    scale: vec![-1.0, 0.5].into(),
                    shift: vec![].into(),
                }),
                vec![2, 2, 1],
            ),
            (Op::AveragePool(padded), vec![2, 2, 1]),
            (
                Op::Rearrange {
                    index: vec![0, FILL, 3],
                    fill: 9.0,
                },
                vec![3],
            ),
        ])
    }

    /// The largest magnitude of each value over the corners of the input, all within the worst
    /// case.
    fn corners(graph: &Graph) -> Vec<f64> {
        let worst: Vec<f64> = worst_case(graph, &vec![1.5; graph.row_len()])
            .into_iter()
            .map(magnitude)
            .collect();
        let mut largest = vec![0f64; worst.len()];
        for corner in 0..16 {
            let sign = |i: i32| if corner >> i & 1 == 1 { 1.5 } else { -1.5 };
            let x: Vec<f32> = (0..4).map(sign).collect();
            let (_, seen) = reference::ranges(graph, &x).expect("a fitting input");
            for (largest, seen) in largest.iter_mut().zip(without_end(seen)) {
                *largest = largest.max(magnitude(seen));
            }
        }
        for (id, (&seen, &bound)) in largest.iter().zip(&worst).enumerate() {
            assert!(seen <= bound, "value {id}: {seen} > {bound}");
        }
        largest
    }

    /// Arguments a little apart where a function hardly rises, and its computed values may fall.
    #[test]
    fn no_interval_of_a_function_ends_before_it_begins() {
        for function in Function::ALL {
            for i in 0..4000 {
                let x = f64::from(i) / 256.0 - 8.0;
                for step in [0.0, 1e-9, 1.0 / 256.0, 4.0] {
                    let (low, high) = image(function, (x, x + step));
                    assert!(low <= high, "{function:?} from {x} to {}", x + step);
                }
            }
        }
        let (low, high) = image(Function::Erf, (5.0, 8.0));
        assert!(low <= high && high <= 1.0, "{low} to {high}");
    }

    #[test]
    fn no_corner_of_the_input_exceeds_the_worst_case() {
        // A linear layer reaches its bound in a corner: the bound is not merely large.
        let largest = corners(&mixed());
        let worst = magnitude(worst_case(&mixed(), &[1.5; 4])[1]);
        assert_eq!((largest[1], worst), (10.75, 10.75));
        // Values away from 0, so that the zeros of the padding widen the range.
        let shift = Affine {
            inner: 4,
            scale: vec![].into(),
            shift: vec![5.0].into(),
        };
        let mut nodes: Vec<_> = mixed().nodes.into_iter().map(|n| (n.op, n.shape)).collect();
        nodes.insert(0, (Op::Affine(shift), vec![1, 2, 2]));
        corners(&chain(nodes));
    }
}
