//! Machines of support vectors.

use super::attributes::{counted, exactly, floats, ints};
use super::compare::{constant, not};
use super::linear::row;
use super::scores::{Labels, Post, label};
use crate::graph::{Function, Op, ValueId};
use crate::onnx::activation::exp_of;
use crate::onnx::builder::Builder;
use crate::onnx::call::{Call, Fault, Value, bad, unsupported};
use crate::onnx::compose::{ANY, Composer, value};
use crate::onnx::constant::bounded_len;
use crate::onnx::linear::transposed;
use crate::onnx::power::power;
use crate::onnx::reduce::sum;

/// For an item, the weighted sum of its likeness to every vector.
pub(super) fn regressor(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let (x, features) = row(call)?;
    Post::none(call)?;
    let rho = exactly(call, "rho", 1)?;
    let machine = match usize::try_from(call.int("n_supports", 0)) {
        Ok(0) => return unsupported("it has no support vectors: export it as a LinearRegressor"),
        Ok(count) => Machine::new(call, count, features)?,
        Err(_) => return bad("its 'n_supports' is negative"),
    };
    let weights = exactly(call, "coefficients", machine.count)?;
    let c = &mut Composer::new(call, builder);
    let id = machine.sums(c, x, weights, rho)?;
    if call.int("one_class", 0) == 0 {
        return Ok(value(id, vec![1]));
    }
    // 1 above 0, else -1.
    let mirrored = c.affine("mirrored", id, -1.0, 0.0)?;
    let outside = c.each("outside", Op::NonNegative, &[mirrored])?;
    let ones = constant(c, "ones", outside, 1.0)?;
    let once = c.each("once", Op::Sub, &[ones, outside])?;
    let id = c.each("inside", Op::Sub, &[once, outside])?;
    Ok(value(id, vec![1]))
}

/// The label and the scores of an item: of two classes both sides of one score, of more one score for every
/// pair of them.
pub(super) fn classifier(call: &Call, builder: &mut Builder) -> Result<Vec<Value>, Fault> {
    let (x, features) = row(call)?;
    if Post::of(call)? != Post::None {
        return unsupported("its post transform is not NONE");
    }
    let labels = Labels::of(call, "classlabels_ints", "classlabels_strings")?;
    let classes = labels.count;
    let sizes = sizes(call, classes)?;
    let machine = Machine::new(call, sizes.iter().sum(), features)?;
    let (weights, pairs) = by_pair(call, &machine, &sizes)?;
    let rho = exactly(call, "rho", pairs)?;
    let c = &mut Composer::new(call, builder);
    let (lost, scores) = match classes {
        2 => {
            let sides = [weights.iter().map(|w| -w).collect(), weights].concat();
            let both = transposed(&sides, [2, machine.count]);
            let id = machine.sums(c, x, both, vec![-rho[0], rho[0]])?;
            // The second side is that of the first class.
            let turned = c.spread("label", id, vec![2], |e| 1 - e)?;
            (turned, id)
        }
        _ => {
            let columns = transposed(&weights, [pairs, machine.count]);
            let id = machine.sums(c, x, columns, rho)?;
            (votes(c, id, classes)?, id)
        }
    };
    let shown = match floats(call, "prob_a")?[..] {
        [] => value(scores, builder.shape(scores)),
        _ => Value::Refused(
            "its probabilities come of an iteration over all pairs of classes, which is not supported: ask for the label, or train it without probabilities".into(),
        ),
    };
    Ok(vec![label(call, builder, lost, &labels)?, shown])
}

/// The support vectors of every class.
fn sizes(call: &Call, classes: usize) -> Result<Vec<usize>, Fault> {
    let given = ints(call, "vectors_per_class");
    if given.is_empty() {
        return unsupported("it has no support vectors: export it as a LinearClassifier");
    }
    if given.len() != classes {
        return counted("vectors_per_class", given.len(), classes);
    }
    let size = |&n: &i64| match usize::try_from(n) {
        Ok(n) if n <= 1 << 24 => Ok(n),
        _ => bad(format!("its 'vectors_per_class' holds {n}")),
    };
    given.iter().map(size).collect()
}

/// For every pair of classes a row of the weights of all vectors, and how many pairs there are: a vector has
/// one weight for every class but its own.
fn by_pair(call: &Call, machine: &Machine, sizes: &[usize]) -> Result<(Vec<f32>, usize), Fault> {
    let (classes, count) = (sizes.len(), machine.count);
    let pairs = classes * (classes - 1) / 2;
    bounded_len(&[classes, count])?;
    bounded_len(&[pairs, count])?;
    let given = exactly(call, "coefficients", (classes - 1) * count)?;
    let starts: Vec<usize> = (0..classes).map(|i| sizes[..i].iter().sum()).collect();
    let mut weights = Vec::with_capacity(pairs * count);
    for first in 0..classes {
        for second in first + 1..classes {
            let mut row = vec![0.0; count];
            for (class, other) in [(first, second - 1), (second, first)] {
                let own = starts[class]..starts[class] + sizes[class];
                row[own.clone()].copy_from_slice(&given[other * count..][own]);
            }
            weights.extend(row);
        }
    }
    Ok((weights, pairs))
}

/// How many pairs every class wins: a score above 0 is the first one's.
fn votes(c: &mut Composer, scores: ValueId, classes: usize) -> Result<ValueId, Fault> {
    let mirrored = c.affine("mirrored", scores, -1.0, 0.0)?;
    let second = c.each("second wins", Op::NonNegative, &[mirrored])?;
    let first = not(c, second)?;
    let pairs: Vec<(usize, usize)> = (0..classes)
        .flat_map(|i| (i + 1..classes).map(move |j| (i, j)))
        .collect();
    let wins = vec![2 * pairs.len()];
    let both = c.node("wins", Op::Concat { outer: 1 }, &[first, second], wins)?;
    // Every class meets each other once, as the first or as the second of them.
    let mut index = Vec::new();
    for class in 0..classes {
        for (at, &(i, j)) in pairs.iter().enumerate() {
            if i == class {
                index.push(at as u32);
            } else if j == class {
                index.push((pairs.len() + at) as u32);
            }
        }
    }
    let op = Op::Rearrange { index, fill: 0.0 };
    let own = c.node("own wins", op, &[both], vec![classes, classes - 1])?;
    sum(c, own, classes, classes - 1)
}

/// What makes a likeness of products, and the vectors.
struct Machine {
    kernel: Kernel,
    /// The support vectors, row by row.
    vectors: Vec<f32>,
    count: usize,
    features: usize,
}

enum Kernel {
    Linear,
    /// `(gamma x v + term)^degree`
    Poly {
        gamma: f32,
        term: f32,
        degree: f32,
    },
    /// `exp(-gamma |x - v|^2)`
    Rbf {
        gamma: f32,
    },
    /// `tanh(gamma x v + term)`
    Sigmoid {
        gamma: f32,
        term: f32,
    },
}

impl Machine {
    fn new(call: &Call, count: usize, features: usize) -> Result<Self, Fault> {
        bounded_len(&[count, features])?;
        let vectors = exactly(call, "support_vectors", count * features)?;
        let parameters = floats(call, "kernel_params")?;
        let &[gamma, term, degree] = match &parameters[..] {
            [] => &[0.0, 0.0, 3.0],
            given => <&[f32; 3]>::try_from(given)
                .map_err(|_| Fault::Bad("its 'kernel_params' are not 3".into()))?,
        };
        let kernel = match call.text("kernel_type", "LINEAR").as_str() {
            "LINEAR" => Kernel::Linear,
            "POLY" if degree.fract() == 0.0 && (1.0..=16.0).contains(&degree) => Kernel::Poly {
                gamma,
                term,
                degree,
            },
            "POLY" => return unsupported(format!("its degree is {degree}; 1 to 16 are supported")),
            "RBF" if gamma >= 0.0 => Kernel::Rbf { gamma },
            "RBF" => return unsupported(format!("its gamma is {gamma}")),
            "SIGMOID" => Kernel::Sigmoid { gamma, term },
            other => return bad(format!("its kernel is '{other}'")),
        };
        match count {
            0 => bad("it has no support vectors"),
            _ => Ok(Machine {
                kernel,
                vectors,
                count,
                features,
            }),
        }
    }

    /// The likeness to all vectors times `weights`, a column for every term.
    fn sums(
        &self,
        c: &mut Composer,
        x: ValueId,
        weights: Vec<f32>,
        terms: Vec<f32>,
    ) -> Result<ValueId, Fault> {
        let n = terms.len();
        if let Kernel::Linear = self.kernel {
            let joined = self.joined(&weights, n);
            return c.linear("scores", x, [self.features, n], joined.into(), terms.into());
        }
        let alike = self.alike(c, x)?;
        c.linear(
            "scores",
            alike,
            [self.count, n],
            weights.into(),
            terms.into(),
        )
    }

    /// The product of the vectors' columns with `weights`, `[features * n]`.
    fn joined(&self, weights: &[f32], n: usize) -> Vec<f32> {
        let mut joined = vec![0f64; self.features * n];
        for (vector, row) in self.vectors.chunks(self.features).zip(weights.chunks(n)) {
            for (&v, sums) in vector.iter().zip(joined.chunks_mut(n)) {
                let terms = row.iter().map(|&w| f64::from(v) * f64::from(w));
                sums.iter_mut()
                    .zip(terms)
                    .for_each(|(sum, term)| *sum += term);
            }
        }
        joined.into_iter().map(|v| v as f32).collect()
    }

    /// How alike an item is to every vector.
    fn alike(&self, c: &mut Composer, x: ValueId) -> Result<ValueId, Fault> {
        match self.kernel {
            Kernel::Linear => self.products(c, x, 1.0, 0.0),
            Kernel::Poly {
                gamma,
                term,
                degree,
            } => {
                let products = self.products(c, x, gamma, term)?;
                power(c, products, degree)
            }
            Kernel::Sigmoid { gamma, term } => {
                let products = self.products(c, x, gamma, term)?;
                c.function(Function::Tanh, products, ANY)
            }
            Kernel::Rbf { gamma } => self.nearness(c, x, gamma),
        }
    }

    /// `factor x v + term` for every vector: of numbers and vectors that are scaled alike.
    fn products(
        &self,
        c: &mut Composer,
        x: ValueId,
        factor: f32,
        term: f32,
    ) -> Result<ValueId, Fault> {
        let size = [self.features, self.count];
        let scale = scale_of(factor);
        let scaled = c.affine("scaled", x, scale, 0.0)?;
        let mut weights = transposed(&self.vectors, [self.count, self.features]);
        weights.iter_mut().for_each(|w| *w *= factor / scale);
        let terms = vec![term; self.count];
        c.linear("products", scaled, size, weights.into(), terms.into())
    }

    /// `exp(-gamma |x - v|^2)` for every vector: `|x|^2 - 2 x v + |v|^2` is the distance's square, of numbers
    /// and vectors that are scaled alike.
    fn nearness(&self, c: &mut Composer, x: ValueId, gamma: f32) -> Result<ValueId, Fault> {
        let scale = scale_of(gamma);
        let x = c.affine("scaled", x, scale, 0.0)?;
        let rest = gamma / (scale * scale);
        let square = c.each("square", Op::Mul, &[x, x])?;
        let own = sum(c, square, 1, self.features)?;
        let own = c.affine("own", own, -rest, 0.0)?;
        let own = c.spread("own of all", own, vec![self.count], |_| 0)?;
        let mut weights = transposed(&self.vectors, [self.count, self.features]);
        let factor = 2.0 * gamma / scale;
        weights.iter_mut().for_each(|w| *w *= factor);
        let norms = self.vectors.chunks(self.features).map(|vector| {
            let norm: f64 = vector.iter().map(|&v| f64::from(v) * f64::from(v)).sum();
            (-f64::from(gamma) * norm) as f32
        });
        let size = [self.features, self.count];
        let products = c.linear("products", x, size, weights.into(), norms.collect())?;
        let distance = c.each("distance", Op::Add, &[products, own])?;
        c.each("nearness", exp_of((f32::NEG_INFINITY, 0.0)), &[distance])
    }
}

/// The power of two next to the root of `gamma`. By it numbers and vectors are scaled before a product that
/// `gamma` scales down: columns of large numbers leave no bits to the weights of a product otherwise.
fn scale_of(gamma: f32) -> f32 {
    match gamma.abs().sqrt() {
        root if root > 0.0 && root < 1.0 => root.log2().round().exp2(),
        _ => 1.0,
    }
}
