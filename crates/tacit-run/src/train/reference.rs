//! Trains a network in float32, in the clear, as a private training of the same options would.

use serde::Serialize;
use tacit_train::{Network, Order, Reference};

use super::report::Quality;
use super::{Dataset, Task, TrainOptions};
use crate::log::logged;
use crate::{Error, Progress};

/// How good the network is after some mini-batches.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Moment {
    /// Mini-batches, from the beginning.
    pub batches: usize,
    /// How good the network is on the test data.
    #[serde(flatten)]
    pub quality: Quality,
}

/// Trains with the same options in the same order from the same start as a private training.
/// Returns how good the network is after every epoch, or after `every` so many mini-batches, if
/// there are test data; and the parameters.
pub fn train_reference(
    options: &TrainOptions,
    task: Task,
    every: Option<usize>,
    observe: &mut dyn FnMut(Progress) -> bool,
) -> Result<(Vec<Moment>, Vec<Vec<f32>>), Error> {
    let fixed = options.fixed(64)?;
    task.check(usize::MAX, options.loss, fixed)?;
    let network = task.network;
    let (train, test) = (
        Joined::new(network, task.train),
        Joined::new(network, task.test),
    );
    let training = options.training(network, fixed);
    let start = task
        .start
        .map_or_else(|| options.initial(network), <[_]>::to_vec);
    let mut reference = Reference::new(network, options.loss, options.optimiser(), start);
    reference.whole = Some(options.batch);
    let order = Order {
        seed: options.seed,
        items: train.items,
        batch: options.batch,
    };
    options.check_batches(network, &order)?;
    let every = every.unwrap_or(order.batches()).max(1);
    let (mut moments, last) = (Vec::new(), options.last(&order));
    let epochs = (0..options.epochs).flat_map(|epoch| {
        let batches = order.epoch(epoch).into_iter();
        batches.map(move |items| (epoch, items))
    });
    let observe = &mut logged(observe);
    for (done, (epoch, items)) in epochs.take(last).enumerate() {
        let progress = Progress {
            phase: "online",
            layer: "float32",
            index: 0,
            layers: 1,
            batch: done,
            batches: last,
            gauge: None,
        };
        if !observe(progress) {
            return Err(Error::Cancelled);
        }
        let (x, target) = train.pick(network, &items);
        reference.step(&x, &target, training.rate(epoch, items.len()));
        if (done + 1).is_multiple_of(every) && test.items > 0 {
            let scores = reference.scores(&test.x, &test.target);
            moments.push(Moment {
                batches: done + 1,
                quality: Quality::new(scores, test.items, network.outputs()),
            });
        }
    }
    Ok((moments, reference.parameters))
}

/// The data of all owners, in the order in which they are shared.
struct Joined {
    x: Vec<f32>,
    target: Vec<f32>,
    items: usize,
}

impl Joined {
    fn new(network: &Network, sets: &[Dataset]) -> Self {
        let mut sets = sets.to_vec();
        sets.sort_by_key(|set| set.owner);
        let x: Vec<f32> = sets.iter().flat_map(|set| set.x).copied().collect();
        Joined {
            items: x.len() / network.inputs(),
            target: sets.iter().flat_map(|set| set.target).copied().collect(),
            x,
        }
    }

    fn pick(&self, network: &Network, items: &[u32]) -> (Vec<f32>, Vec<f32>) {
        let rows = |values: &[f32], width: usize| -> Vec<f32> {
            let row = |i: &u32| &values[*i as usize * width..][..width];
            items.iter().flat_map(row).copied().collect()
        };
        (
            rows(&self.x, network.inputs()),
            rows(&self.target, network.outputs()),
        )
    }
}
