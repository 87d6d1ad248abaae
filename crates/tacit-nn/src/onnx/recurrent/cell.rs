//! What happens at a time step, for each kind of node.

use super::lengths::{Lengths, nothing};
use super::{Cell, CellKind, State};
use crate::graph::{Affine, Function, Op, ValueId, Weights};
use crate::onnx::call::{Fault, bad};
use crate::onnx::compose::{ANY, Composer};

impl Cell {
    /// What is shown after every time step, in the order of time, and the state after the last that is taken.
    pub(super) fn run(
        &self,
        compose: &mut Composer,
        (x, steps): (ValueId, usize),
        backward: bool,
        initial: Option<State>,
        lengths: &Lengths,
    ) -> Result<(Vec<ValueId>, State), Fault> {
        let base = compose.name.clone();
        let width = compose.builder.len(x) / steps;
        let rows = self.input.len() / width;
        let sizes = [width, rows];
        let (weight, bias) = (self.input.clone(), self.input_bias.clone());
        let products = compose.linear("inputs", x, sizes, weight, bias)?;
        let (mut shown, mut state) = (Vec::with_capacity(steps), initial);
        for step in 0..steps {
            let t = if backward { steps - 1 - step } else { step };
            compose.name = format!("{base}[{t}]");
            if lengths.is_over(t) {
                shown.push(nothing(compose, products, self.hidden)?);
                continue;
            }
            let gates = compose.part("input", products, t * rows..(t + 1) * rows)?;
            let new = match &self.kind {
                CellKind::Gru { .. } => self.gru(compose, gates, state)?,
                CellKind::Lstm => self.lstm(compose, gates, state)?,
                CellKind::Rnn(activation) => self.rnn(compose, gates, state, activation)?,
            };
            let (after, seen) = lengths.after(compose, t, new, state)?;
            state = Some(after);
            shown.push(seen);
        }
        if backward {
            shown.reverse();
        }
        compose.name = base;
        match state {
            Some(state) => Ok((shown, state)),
            None => bad("it has no time steps"),
        }
    }

    /// A product of the state with part `i` of the weights.
    fn product(&self, compose: &mut Composer, i: usize, x: ValueId) -> Result<ValueId, Fault> {
        let weight = self.state[i].clone();
        let bias = match i {
            0 => self.state_bias.clone(),
            _ => Weights::default(),
        };
        let n = weight.len() / self.hidden;
        compose.linear("state", x, [self.hidden, n], weight, bias)
    }

    /// `gates` and, unless the state is 0, its product.
    fn with_state(
        &self,
        compose: &mut Composer,
        gates: ValueId,
        before: Option<State>,
    ) -> Result<ValueId, Fault> {
        let Some(state) = before else {
            return Ok(gates);
        };
        let product = self.product(compose, 0, state.hidden)?;
        compose.each("gates", Op::Add, &[gates, product])
    }

    fn rnn(
        &self,
        compose: &mut Composer,
        gates: ValueId,
        before: Option<State>,
        activation: &Op,
    ) -> Result<State, Fault> {
        let gates = self.with_state(compose, gates, before)?;
        let hidden = compose.each("hidden", activation.clone(), &[gates])?;
        Ok(State { hidden, cell: None })
    }

    /// `c' = f c + i g`, `h' = o tanh(c')`. With peepholes `i` and `f` see `c`, and `o` sees `c'`.
    fn lstm(
        &self,
        compose: &mut Composer,
        gates: ValueId,
        before: Option<State>,
    ) -> Result<State, Fault> {
        let h = self.hidden;
        let gates = self.with_state(compose, gates, before)?;
        let old = before.and_then(|state| state.cell);
        let [first, last] = &self.peepholes;
        let (open, forget) = match (first.is_empty(), old) {
            (true, _) => (compose.part("gates", gates, 0..3 * h)?, 2 * h),
            (false, old) => {
                let place = |e: usize| if e < h { e } else { e + h };
                let two = compose.spread("first gates", gates, vec![2 * h], place)?;
                let seeing = old.map(|old| self.seeing(compose, two, old, first));
                (seeing.transpose()?.unwrap_or(two), h)
            }
        };
        let open = compose.function(Function::Sigmoid, open, ANY)?;
        let new = compose.part("candidate", gates, 3 * h..4 * h)?;
        let new = compose.function(Function::Tanh, new, ANY)?;
        let input = compose.part("input gate", open, 0..h)?;
        let mut cell = compose.each("taken in", Op::Mul, &[input, new])?;
        if let Some(old) = old {
            let forget = compose.part("forget gate", open, forget..forget + h)?;
            let kept = compose.each("kept", Op::Mul, &[forget, old])?;
            cell = compose.each("cell", Op::Add, &[kept, cell])?;
        }
        let output = match last.is_empty() {
            true => compose.part("output gate", open, h..2 * h)?,
            false => {
                let gate = compose.part("last gate", gates, h..2 * h)?;
                let gate = self.seeing(compose, gate, cell, last)?;
                compose.function(Function::Sigmoid, gate, ANY)?
            }
        };
        let shown = compose.function(Function::Tanh, cell, ANY)?;
        let hidden = compose.each("hidden", Op::Mul, &[output, shown])?;
        Ok(State {
            hidden,
            cell: Some(cell),
        })
    }

    /// Gates and what they see of a cell through peepholes.
    fn seeing(
        &self,
        compose: &mut Composer,
        gates: ValueId,
        cell: ValueId,
        peepholes: &Weights,
    ) -> Result<ValueId, Fault> {
        let n = peepholes.len();
        let of_all = compose.spread("cell of gates", cell, vec![n], |e| e % self.hidden)?;
        let through = Op::Affine(Affine {
            inner: 1,
            scale: peepholes.clone(),
            shift: Weights::default(),
        });
        let seen = compose.each("peepholes", through, &[of_all])?;
        compose.each("seeing", Op::Add, &[gates, seen])
    }

    /// `h' = n + z (h - n)`, of a state of 0 `n - z n`.
    fn gru(
        &self,
        compose: &mut Composer,
        gates: ValueId,
        before: Option<State>,
    ) -> Result<State, Fault> {
        let h = self.hidden;
        let mut open = compose.part("gates", gates, 0..2 * h)?;
        let fresh = compose.part("candidate", gates, 2 * h..3 * h)?;
        let product = before
            .map(|state| self.product(compose, 0, state.hidden))
            .transpose()?;
        if let Some(product) = product {
            let product = compose.part("state gates", product, 0..2 * h)?;
            open = compose.each("open", Op::Add, &[open, product])?;
        }
        let open = compose.function(Function::Sigmoid, open, ANY)?;
        let [update, reset] = ["update", "reset"];
        let reset = compose.part(reset, open, h..2 * h)?;
        let reset = self.reset(compose, reset, product, before)?;
        let new = match reset {
            Some(reset) => compose.each("fresh", Op::Add, &[fresh, reset])?,
            None => fresh,
        };
        let new = compose.function(Function::Tanh, new, ANY)?;
        let update = compose.part(update, open, 0..h)?;
        let hidden = match before {
            Some(state) => {
                let change = compose.each("change", Op::Sub, &[state.hidden, new])?;
                let kept = compose.each("kept", Op::Mul, &[update, change])?;
                compose.each("hidden", Op::Add, &[new, kept])?
            }
            None => {
                let lost = compose.each("lost", Op::Mul, &[update, new])?;
                compose.each("hidden", Op::Sub, &[new, lost])?
            }
        };
        Ok(State { hidden, cell: None })
    }

    /// What a GRU's state adds to the candidate, behind the reset gate; `None` for 0.
    fn reset(
        &self,
        compose: &mut Composer,
        gate: ValueId,
        product: Option<ValueId>,
        before: Option<State>,
    ) -> Result<Option<ValueId>, Fault> {
        let h = self.hidden;
        let reset_after = matches!(self.kind, CellKind::Gru { reset_after: true });
        match (before, product) {
            (Some(_), Some(product)) if reset_after => {
                let product = compose.part("state candidate", product, 2 * h..3 * h)?;
                compose
                    .each("reset state", Op::Mul, &[gate, product])
                    .map(Some)
            }
            (Some(state), _) => {
                let state = compose.each("reset state", Op::Mul, &[gate, state.hidden])?;
                self.product(compose, 1, state).map(Some)
            }
            (None, _) if self.state_bias.is_empty() => Ok(None),
            (None, _) => {
                // The product with a state of 0 is its bias.
                let scale = self.state_bias[2 * h..].into();
                let shift = Weights::default();
                let op = Op::Affine(Affine {
                    inner: 1,
                    scale,
                    shift,
                });
                compose.each("reset bias", op, &[gate]).map(Some)
            }
        }
    }
}
