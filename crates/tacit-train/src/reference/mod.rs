//! Trains in float32, in the clear, as a private training does: what that one is compared with.

mod layers;

use crate::adam::CLIP;
use crate::layers::Mode;
use crate::{Adam, Coin, Loss, Network, Optimiser, Scores, Sgd};
use layers::Kept;

/// A network with its numbers in float32.
#[derive(Clone)]
pub struct Reference<'a> {
    network: &'a Network,
    loss: Loss,
    optimiser: Optimiser<'a>,
    /// The coin that decides which elements are dropped.
    pub coin: Coin,
    /// Items of a whole mini-batch, if some have fewer.
    pub whole: Option<usize>,
    /// The parameters, as [`Network::parameters`] lists them.
    pub parameters: Vec<Vec<f32>>,
    velocity: Vec<Vec<f32>>,
    squares: Vec<Vec<f32>>,
    steps: usize,
}

impl<'a> Reference<'a> {
    /// A training that starts from these parameters.
    pub fn new(
        network: &'a Network,
        loss: Loss,
        optimiser: impl Into<Optimiser<'a>>,
        parameters: Vec<Vec<f32>>,
    ) -> Self {
        let velocity: Vec<_> = parameters.iter().map(|p| vec![0.0; p.len()]).collect();
        Reference {
            network,
            loss,
            optimiser: optimiser.into(),
            coin: Coin::default(),
            whole: None,
            parameters,
            squares: velocity.clone(),
            velocity,
            steps: 0,
        }
    }

    /// One step on a mini-batch at `rate`, of SGD the learning rate over the number of items that its sums are over
    /// ([`crate::Training::rate`]). Returns the mean loss before it.
    pub fn step(&mut self, x: &[f32], target: &[f32], rate: f64) -> f64 {
        let batch = x.len() / self.network.inputs();
        let (z, kept) = self.forward(x, Mode::Train(self.coin, self.steps));
        self.steps += 1;
        let (dz, loss) = gradient(self.loss, &z, target, batch);
        let mut values: Vec<Option<Vec<f32>>> = vec![None; self.network.layers.len()];
        values.push(Some(dz));
        let mut end = self.parameters.len();
        let mut gradients = Vec::new();
        for (i, (layer, kept)) in self.network.layers.iter().zip(kept).enumerate().rev() {
            let start = end - layer.parameters().len();
            let reads = &self.network.reads[i];
            let dy = values[i + 1].take().unwrap_or_default();
            let own = &self.parameters[start..end];
            let wants = reads.iter().any(|value| *value > 0);
            let (made, own) = layers::backward(layer, kept, &dy, own, wants);
            gradients.push((start, own));
            for (value, dx) in reads.iter().zip(made) {
                match &mut values[*value] {
                    Some(sum) => sum.iter_mut().zip(dx).for_each(|(sum, v)| *sum += v),
                    none => *none = Some(dx),
                }
            }
            end = start;
        }
        for (start, made) in gradients {
            for (i, g) in (start..).zip(made) {
                match self.optimiser {
                    Optimiser::Sgd(sgd) => self.descend(sgd, i, &g, (rate, batch)),
                    Optimiser::Adam(adam) => self.adapt(adam, i, &g, (rate, batch)),
                }
            }
        }
        loss
    }

    /// The step of a parameter by stochastic gradient descent.
    fn descend(&mut self, sgd: &Sgd, i: usize, g: &[f32], (rate, batch): (f64, usize)) {
        let counted = sgd.counted([batch, self.whole.unwrap_or(batch)]);
        let part = (counted as f64 / batch as f64) as f32;
        let decay = (sgd.weight_decay * counted as f64) as f32;
        let moved = self.parameters[i].iter_mut().zip(&mut self.velocity[i]);
        for ((w, v), g) in moved.zip(g) {
            *v = sgd.momentum as f32 * *v + part * g + decay * *w;
            *w -= rate as f32 * *v;
        }
    }

    /// The step of a parameter by Adam.
    fn adapt(&mut self, adam: &Adam, i: usize, g: &[f32], (rate, batch): (f64, usize)) {
        let (corrected, epsilon) = adam.correction(self.steps);
        let [first, second] = [adam.beta1, adam.beta2].map(|beta| (1.0 - beta) as f32);
        let means = self.velocity[i].iter_mut().zip(&mut self.squares[i]);
        for ((w, (m, v)), g) in self.parameters[i].iter_mut().zip(means).zip(g) {
            let g = g / batch as f32 + adam.weight_decay as f32 * *w;
            let g = g.clamp(-CLIP as f32, CLIP as f32);
            *m += first * (g - *m);
            *v += second * (g * g - *v);
            *w -= (rate * corrected) as f32 * *m / (*v + epsilon as f32).sqrt();
        }
    }

    /// The outputs of some items.
    pub fn predict(&self, x: &[f32]) -> Vec<f32> {
        self.clone().forward(x, Mode::Predict).0
    }

    /// How good the network is on some items; right is the class of the largest target.
    pub fn scores(&self, x: &[f32], target: &[f32]) -> Scores {
        let (item, classes) = (self.network.inputs(), self.network.outputs());
        let (mut hits, mut sum) = (0, 0.0);
        for (x, target) in x.chunks(item * 500).zip(target.chunks(classes * 500)) {
            let (z, batch) = (self.predict(x), x.len() / item);
            sum += gradient(self.loss, &z, target, batch).1 * batch as f64;
            for (z, target) in z.chunks(classes).zip(target.chunks(classes)) {
                hits += i64::from(largest(z) == largest(target));
            }
        }
        match self.loss {
            Loss::CrossEntropy => Scores {
                loss: sum,
                hits: Some(hits),
            },
            Loss::MeanSquaredError => Scores {
                loss: 2.0 * sum,
                hits: None,
            },
        }
    }

    fn forward(&mut self, x: &[f32], mode: Mode) -> (Vec<f32>, Vec<Kept>) {
        let (mut values, mut kept, mut start) = (vec![x.to_vec()], Vec::new(), 0);
        for (layer, reads) in self.network.layers.iter().zip(&self.network.reads) {
            let end = start + layer.parameters().len();
            let parameters = &mut self.parameters[start..end];
            let xs = reads.iter().map(|value| values[*value].clone()).collect();
            let (y, keep) = layers::forward(layer, xs, parameters, (mode, kept.len()));
            kept.push(keep);
            values.push(y);
            start = end;
        }
        (values.pop().unwrap_or_default(), kept)
    }
}

fn largest(values: &[f32]) -> usize {
    let larger = |best: usize, i: usize| if values[i] > values[best] { i } else { best };
    (0..values.len()).fold(0, larger)
}

/// The gradient of every item's loss, and the mean loss.
fn gradient(loss: Loss, z: &[f32], target: &[f32], batch: usize) -> (Vec<f32>, f64) {
    let classes = z.len() / batch;
    let (mut gradient, mut sum) = (Vec::with_capacity(z.len()), 0.0);
    for (z, target) in z.chunks(classes).zip(target.chunks(classes)) {
        match loss {
            Loss::CrossEntropy => {
                let most = z.iter().copied().fold(f32::MIN, f32::max);
                let e: Vec<f32> = z.iter().map(|v| (v - most).exp()).collect();
                let total: f32 = e.iter().sum();
                for (e, y) in e.iter().zip(target) {
                    gradient.push(e / total - y);
                    sum -= f64::from(*y) * f64::from((e / total).max(1e-30)).ln();
                }
            }
            Loss::MeanSquaredError => {
                for (z, y) in z.iter().zip(target) {
                    gradient.push(z - y);
                    sum += f64::from((z - y) * (z - y)) / 2.0;
                }
            }
        }
    }
    (gradient, sum / batch as f64)
}
