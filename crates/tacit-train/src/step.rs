//! One mini-batch.

use tacit_protocols::machine::{Erased, Handle, Machine};
use tacit_protocols::record::{Stage, stages_of};

use crate::layers::{self, Mode, Saved};
use crate::{Coin, Error, FixedPoint, Loss, Network, Optimiser};

/// The calls that a program of this training makes, stage by stage: a layer's pass, the loss, an update.
pub fn calls_by_stage<T>(
    training: &Training,
    program: impl FnOnce(&mut Erased, State) -> Result<T, Error>,
) -> Result<Vec<Stage>, Error> {
    stages_of(training.fixed.bits, |recorder| {
        let mut each = || {
            let parameters = training.network.parameters().into_iter();
            let shares = parameters.map(|p| recorder.load(p.len, &[]));
            shares.collect::<Result<Vec<Handle>, _>>()
        };
        let state = State {
            parameters: each()?,
            velocity: each()?,
            squares: match training.optimiser.has_squares() {
                true => each()?,
                false => Vec::new(),
            },
            steps: 0,
        };
        program(recorder, state)
    })
}

/// What a training changes: one party's shares.
#[derive(Clone)]
pub struct State {
    /// The parameters, as [`Network::parameters`] lists them.
    pub parameters: Vec<Handle>,
    /// Each parameter's last step, or Adam's mean of its gradients. Only for parameters that gradients
    /// change; the others have entries without meaning.
    pub velocity: Vec<Handle>,
    /// The mean of the squares of gradients, where the optimiser follows them.
    pub squares: Vec<Handle>,
    /// Steps that are done.
    pub steps: usize,
}

/// The network and settings that a step uses beside the state.
#[derive(Clone, Copy)]
pub struct Training<'a> {
    /// The network that is trained.
    pub network: &'a Network,
    /// How numbers are written.
    pub fixed: FixedPoint,
    /// The loss that the training minimises.
    pub loss: Loss,
    /// The optimiser that changes the parameters.
    pub optimiser: Optimiser<'a>,
    /// The coin that decides which elements are dropped.
    pub coin: Coin,
    /// Items of a whole mini-batch; the last of an epoch may have fewer.
    pub whole: usize,
}

impl Training<'_> {
    /// The ranges of the parameters of every layer.
    fn ranges(&self) -> Vec<std::ops::Range<usize>> {
        let all = self.network.parameters();
        let of = |layer| {
            let start = all.partition_point(|p| p.layer < layer);
            start..all.partition_point(|p| p.layer <= layer)
        };
        (0..self.network.layers.len()).map(of).collect()
    }

    fn forward(
        &self,
        machine: &mut Erased,
        parameters: &mut [Handle],
        (x, batch): (Handle, usize),
        mode: Mode,
    ) -> Result<(Handle, Vec<Saved>), Error> {
        let mut left = self.network.uses();
        let mut values = vec![Some(x)];
        let mut tape = Vec::with_capacity(self.network.layers.len());
        let layers = self.network.layers.iter().zip(&self.network.reads);
        for ((layer, reads), range) in layers.zip(self.ranges()) {
            machine.stage()?;
            let xs = reads.iter().filter_map(|value| {
                left[*value] -= 1;
                // The last reader takes it, so that no value is kept for nothing.
                match left[*value] {
                    0 => values[*value].take(),
                    _ => values[*value].clone(),
                }
            });
            let xs = (xs.collect(), batch);
            let parameters = &mut parameters[range];
            let at = (mode, tape.len());
            let (y, saved) = layers::forward(machine, layer, self.fixed, xs, parameters, at)?;
            tape.push(saved);
            values.push(Some(y));
        }
        let last = values.pop().flatten();
        let last = last.ok_or_else(|| Error::network("layers", "there are none"))?;
        Ok((last, tape))
    }

    /// The gradients of all parameters, in their order; nothing for those that are not learnt.
    fn backward(
        &self,
        machine: &mut Erased,
        parameters: &[Handle],
        tape: Vec<Saved>,
        (dy, batch): (Handle, usize),
    ) -> Result<Vec<Option<Handle>>, Error> {
        let mut gradients: Vec<Option<Handle>> = parameters.iter().map(|_| None).collect();
        let mut values: Vec<Option<Handle>> = vec![None; self.network.layers.len()];
        values.push(Some(dy));
        for (i, saved) in tape.into_iter().enumerate().rev() {
            let Some(dy) = values[i + 1].take() else {
                continue;
            };
            let (reads, range) = (&self.network.reads[i], self.ranges()[i].clone());
            let wants = reads.iter().any(|value| *value > 0);
            machine.stage()?;
            let own = &parameters[range.clone()];
            let layer = &self.network.layers[i];
            let given = (saved, dy, batch);
            let made = layers::backward(machine, layer, self.fixed, given, own, wants)?;
            for (gradient, made) in gradients[range].iter_mut().zip(made.1) {
                *gradient = Some(made);
            }
            for (value, dx) in reads.iter().zip(made.0).filter(|(value, _)| **value > 0) {
                values[*value] = Some(match values[*value].take() {
                    Some(sum) => machine.add(&sum, &dx),
                    None => dx,
                });
            }
        }
        Ok(gradients)
    }

    /// The rate of an epoch that is really used in a mini-batch of so many items: of SGD over the number of items that
    /// its sums are over.
    pub fn rate(&self, epoch: usize, batch: usize) -> f64 {
        self.optimiser.rate(self.fixed, epoch, [batch, self.whole])
    }

    /// One step on `batch` items `x` with their targets, of an epoch from 0.
    pub fn step(
        &self,
        machine: &mut Erased,
        state: &mut State,
        (x, target): (Handle, &Handle),
        (epoch, batch): (usize, usize),
    ) -> Result<(), Error> {
        let parameters = &mut state.parameters;
        let mode = Mode::Train(self.coin, state.steps);
        let (z, tape) = self.forward(machine, parameters, (x, batch), mode)?;
        machine.stage()?;
        let sizes = [batch, self.network.outputs()];
        let dz = self.loss.gradient(machine, self.fixed, &z, target, sizes)?;
        let gradients = self.backward(machine, &state.parameters, tape, (dz, batch))?;
        state.steps += 1;
        let at = (epoch, [batch, self.whole], state.steps);
        let mut squares = state.squares.iter_mut();
        let moved = state.parameters.iter_mut().zip(&mut state.velocity);
        for ((weight, velocity), gradient) in moved.zip(gradients) {
            let square = squares.next();
            if let Some(g) = gradient {
                machine.stage()?;
                let moved = (weight, velocity, square);
                self.optimiser.update(machine, self.fixed, moved, &g, at)?;
            }
        }
        Ok(machine.verify()?)
    }

    /// The network's outputs for `batch` items.
    pub fn predict(
        &self,
        machine: &mut Erased,
        state: &State,
        x: Handle,
        batch: usize,
    ) -> Result<Handle, Error> {
        let mut parameters = state.parameters.clone();
        let (z, _) = self.forward(machine, &mut parameters, (x, batch), Mode::Predict)?;
        Ok(z)
    }

    /// How good the network is on `batch` items: sums that may be added to those of other batches,
    /// and that [`crate::Scores`] reads when they are opened.
    pub fn evaluate(
        &self,
        machine: &mut Erased,
        state: &State,
        (x, target): (Handle, &Handle),
        batch: usize,
    ) -> Result<Handle, Error> {
        let z = self.predict(machine, state, x, batch)?;
        machine.stage()?;
        let sizes = [batch, self.network.outputs()];
        let sums = self.loss.scores(machine, self.fixed, &z, target, sizes)?;
        machine.verify()?;
        Ok(sums)
    }
}
