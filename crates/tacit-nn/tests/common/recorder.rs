//! A clear-text machine that writes down every call it gets.

use std::ops::Range;
use std::time::Duration;

use tacit_net::{LinkModel, Party, memory};
use tacit_nn::Graph;
use tacit_nn::execute::{execute, reveal_output, share_input, share_weights};
use tacit_nn::plan::{Plan, Roles};
use tacit_protocols::clear::Clear;
use tacit_protocols::machine::*;
use tacit_protocols::math::Elementary;
use tacit_protocols::mixed::lowered;
use tacit_protocols::{Cost, Error};

/// Everything is owned and learnt by the one party of these tests.
pub const ROLES: Roles = Roles {
    model_owner: 0,
    data_owner: 0,
    receiver: Audience::All,
};

/// The clear-text machine over a 32- or 64-bit ring.
enum Ring {
    Narrow(Clear<u32>),
    Wide(Clear<u64>),
}

/// The output of `graph` in fixed point under `plan`; the calls made must be those planned.
pub fn run_fixed(plan: &Plan, graph: &Graph, x: &[f32]) -> Vec<f32> {
    let party = memory::mesh(1, &LinkModel::default(), Duration::from_secs(10)).remove(0);
    match if plan.ring_bits == 32 {
        Ring::Narrow(Clear::new(party))
    } else {
        Ring::Wide(Clear::new(party))
    } {
        Ring::Narrow(machine) => run_on(plan, graph, x, machine),
        Ring::Wide(machine) => run_on(plan, graph, x, machine),
    }
}

fn run_on<M: Machine>(plan: &Plan, graph: &Graph, x: &[f32], machine: M) -> Vec<f32> {
    let mut machine = Recorder {
        machine,
        calls: vec![],
    };
    let batch = x.len() / plan.input_len();
    let shape = [&[batch], plan.input_shape.as_slice()].concat();
    let encoded = plan.encode_input(x, &shape).expect("the input is in range");
    let weights = plan
        .encode_weights(graph)
        .expect("the weights are in range");
    let weights = share_weights(plan, &mut machine, &ROLES, Some(&weights)).expect("weights");
    assert_eq!(
        std::mem::take(&mut machine.calls),
        plan.weight_calls(&ROLES).calls
    );
    let input = share_input(plan, &mut machine, &ROLES, batch, Some(&encoded)).expect("input");
    let mut seen = Vec::new();
    let output = execute(plan, &mut machine, &weights, input, batch, &mut |p| {
        seen.push(p.layer.to_string());
        Ok(())
    })
    .expect("run");
    let revealed = reveal_output(plan, &mut machine, &ROLES, &output)
        .expect("output")
        .expect("revealed to all");
    let planned = plan.calls(batch, &ROLES).into_iter().flat_map(|l| l.calls);
    let planned: Vec<Call> = planned.collect();
    // What the clear-text machine makes of numbers with widths of their own.
    let planned = lowered(&planned, &AllFunctions).expect("known calls");
    let planned: Vec<Call> = planned.into_iter().map(unfixed).collect();
    assert_eq!(machine.calls, planned);
    assert!(seen.iter().eq(plan.layers.iter().map(|l| &l.name)));
    plan.finish(&revealed).expect("a whole batch")
}

/// The call without a fixed operand's number, which a share does not tell.
fn unfixed(call: Call) -> Call {
    match call {
        Call::Product { map, trunc, .. } => Call::Product {
            map,
            fixed: None,
            known_to: None,
            trunc,
        },
        call => call,
    }
}

/// A protocol that computes every function in a way of its own.
struct AllFunctions;

impl CostModel for AllFunctions {
    fn online(&self, _call: &Call) -> Cost {
        Cost::default()
    }
    fn offline(&self, _calls: &[Call]) -> Cost {
        Cost::default()
    }
    fn stored(&self, _call: &Call) -> u64 {
        0
    }
    fn native(&self, _function: &Elementary) -> bool {
        true
    }
}

struct Recorder<M> {
    machine: M,
    calls: Vec<Call>,
}

impl<M: Machine> Recorder<M> {
    fn note(&mut self, map: Bilinear, y: &Operand<M::Share>, trunc: u32) {
        let (n, fixed) = (map.outputs(), None);
        match (y, trunc) {
            (Operand::Secret(_), trunc) => self.calls.push(Call::Product {
                map,
                fixed,
                known_to: None,
                trunc,
            }),
            (Operand::Public(_), 0) => {}
            (Operand::Public(_), trunc) => self.calls.push(Call::Truncate { n, trunc }),
        }
    }
}

impl<M: Machine> Machine for Recorder<M> {
    type Share = M::Share;
    type Bits = M::Bits;

    fn ring_bits(&self) -> u32 {
        self.machine.ring_bits()
    }
    fn party(&mut self) -> &mut Party {
        self.machine.party()
    }
    fn cost_model(&self) -> &dyn CostModel {
        self.machine.cost_model()
    }
    fn prepare(&mut self, calls: &[Call]) -> Result<(), Error> {
        self.machine.prepare(calls)
    }
    fn input(&mut self, owner: usize, n: usize, values: Option<&[i64]>) -> Result<M::Share, Error> {
        self.calls.push(Call::Input { owner, n });
        self.machine.input(owner, n, values)
    }
    fn constant(&mut self, values: &[i64]) -> M::Share {
        self.machine.constant(values)
    }
    fn reveal(&mut self, x: &M::Share, to: Audience) -> Result<Option<Vec<i64>>, Error> {
        self.calls.push(Call::Reveal {
            n: self.machine.len(x),
            to,
        });
        self.machine.reveal(x, to)
    }
    fn save(&self, x: &M::Share) -> Vec<u8> {
        self.machine.save(x)
    }
    fn load(&mut self, n: usize, bytes: &[u8]) -> Result<M::Share, Error> {
        self.machine.load(n, bytes)
    }
    fn fix(&mut self, x: M::Share) -> Result<M::Share, Error> {
        let n = self.machine.len(&x);
        self.calls.push(Call::Fix { n });
        self.machine.fix(x)
    }
    fn len(&self, x: &M::Share) -> usize {
        self.machine.len(x)
    }
    fn add(&mut self, x: &M::Share, y: &M::Share) -> M::Share {
        self.machine.add(x, y)
    }
    fn sub(&mut self, x: &M::Share, y: &M::Share) -> M::Share {
        self.machine.sub(x, y)
    }
    fn scale(&mut self, x: &M::Share, k: i64) -> M::Share {
        self.machine.scale(x, k)
    }
    fn gather(&mut self, x: &M::Share, index: &[u32]) -> M::Share {
        self.machine.gather(x, index)
    }
    fn slice(&mut self, x: &M::Share, range: Range<usize>) -> M::Share {
        self.machine.slice(x, range)
    }
    fn concat(&mut self, parts: &[&M::Share]) -> M::Share {
        self.machine.concat(parts)
    }
    fn mul(&mut self, x: &M::Share, y: &Operand<M::Share>, trunc: u32) -> Result<M::Share, Error> {
        let z = self.machine.mul(x, y, trunc)?;
        self.note(Bilinear::Elementwise(self.machine.len(x)), y, trunc);
        Ok(z)
    }
    fn matmul(
        &mut self,
        x: &M::Share,
        w: &Operand<M::Share>,
        bias: Option<&Operand<M::Share>>,
        shape: MatMul,
        trunc: u32,
    ) -> Result<M::Share, Error> {
        let z = self.machine.matmul(x, w, bias, shape, trunc)?;
        self.note(Bilinear::MatMul(shape), w, trunc);
        Ok(z)
    }
    fn conv2d(
        &mut self,
        x: &M::Share,
        w: &Operand<M::Share>,
        bias: Option<&Operand<M::Share>>,
        shape: &Conv2d,
        trunc: u32,
    ) -> Result<M::Share, Error> {
        let z = self.machine.conv2d(x, w, bias, shape, trunc)?;
        self.note(Bilinear::Conv2d(*shape), w, trunc);
        Ok(z)
    }
    fn truncate(&mut self, x: &M::Share, trunc: u32) -> Result<M::Share, Error> {
        self.calls.push(Call::Truncate {
            n: self.machine.len(x),
            trunc,
        });
        self.machine.truncate(x, trunc)
    }
    fn drelu(&mut self, x: &M::Share, keys: KeyBits) -> Result<M::Bits, Error> {
        let n = self.machine.len(x);
        self.calls.push(Call::Drelu { n, keys });
        self.machine.drelu(x, keys)
    }
    fn select(&mut self, bit: &M::Bits, x: &M::Share, y: &M::Share) -> Result<M::Share, Error> {
        self.calls.push(Call::Select {
            n: self.machine.len(x),
        });
        self.machine.select(bit, x, y)
    }
    fn relu(&mut self, x: &M::Share, keys: KeyBits) -> Result<M::Share, Error> {
        let n = self.machine.len(x);
        self.calls.push(Call::Relu { n, keys });
        self.machine.relu(x, keys)
    }
    fn function(&mut self, function: &Elementary, x: &M::Share) -> Result<M::Share, Error> {
        let (n, function) = (self.machine.len(x), *function);
        self.calls.push(Call::Function { n, function });
        self.machine.function(&function, x)
    }
    fn maxpool(
        &mut self,
        x: &M::Share,
        windows: usize,
        size: usize,
        keys: KeyBits,
    ) -> Result<M::Share, Error> {
        self.calls.push(Call::Maxpool {
            windows,
            size,
            keys,
        });
        self.machine.maxpool(x, windows, size, keys)
    }
}
