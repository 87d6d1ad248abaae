//! A machine without data or peers that lists the calls of a program.

use std::ops::Range;
use std::time::Duration;

use tacit_net::{LinkModel, Party, memory};
use tacit_protocols::machine::{
    Audience, Bilinear, Call, Conv2d, CostModel, KeyBits, Machine, MatMul, Operand,
};
use tacit_protocols::math::Elementary;
use tacit_protocols::{Cost, Error};

/// The machine; its shares are numbers of elements.
pub struct Recorder {
    bits: u32,
    /// Stage by stage.
    stages: Vec<Vec<Call>>,
    party: Party,
}

/// Is told when a program begins another stage: a layer's pass, the loss, an update. What it does on
/// the machine comes before the stage's calls.
pub type Stage<'a, M> = &'a mut dyn FnMut(&mut M) -> Result<(), crate::Error>;

/// The calls that a program makes on a machine over `bits` bits, stage by stage.
pub fn stages_of<E: From<Error>>(
    bits: u32,
    program: impl FnOnce(&mut Recorder, Stage<Recorder>) -> Result<(), E>,
) -> Result<Vec<Vec<Call>>, E> {
    let alone = memory::mesh(1, &LinkModel::LOCAL, Duration::from_secs(1)).pop();
    let party = alone.ok_or_else(|| Error::Invalid("a mesh of one party is empty".into()))?;
    let mut recorder = Recorder {
        bits,
        stages: Vec::new(),
        party,
    };
    program(&mut recorder, &mut |recorder| {
        recorder.stages.push(Vec::new());
        Ok(())
    })?;
    Ok(recorder.stages)
}

/// Nothing costs anything, and functions stay what they are.
struct Free;

impl CostModel for Free {
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

impl Recorder {
    fn push(&mut self, call: Call) {
        match self.stages.last_mut() {
            Some(calls) => calls.push(call),
            None => self.stages.push(vec![call]),
        }
    }

    fn linear(&mut self, w: &Operand<usize>, map: Bilinear, trunc: u32) -> usize {
        match w {
            Operand::Secret(_) => self.push(Call::Product {
                map,
                fixed: None,
                known_to: None,
                trunc,
            }),
            Operand::Public(_) => self.drop_bits(map.outputs(), trunc),
        }
        map.outputs()
    }

    fn drop_bits(&mut self, n: usize, trunc: u32) {
        if trunc > 0 {
            self.push(Call::Truncate { n, trunc });
        }
    }
}

impl Machine for Recorder {
    type Share = usize;
    type Bits = usize;

    fn ring_bits(&self) -> u32 {
        self.bits
    }
    fn party(&mut self) -> &mut Party {
        &mut self.party
    }
    fn cost_model(&self) -> &dyn CostModel {
        &Free
    }
    fn prepare(&mut self, _calls: &[Call]) -> Result<(), Error> {
        Ok(())
    }
    fn settle(&mut self) -> Result<(), Error> {
        let (gates, entries) = (0, 0);
        self.push(Call::Verify { gates, entries });
        Ok(())
    }
    fn input(&mut self, owner: usize, n: usize, _: Option<&[i64]>) -> Result<usize, Error> {
        self.push(Call::Input { owner, n });
        Ok(n)
    }
    fn constant(&mut self, values: &[i64]) -> usize {
        values.len()
    }
    fn reveal(&mut self, x: &usize, to: Audience) -> Result<Option<Vec<i64>>, Error> {
        self.push(Call::Reveal { n: *x, to });
        Ok(None)
    }
    fn save(&self, _x: &usize) -> Vec<u8> {
        Vec::new()
    }
    fn load(&mut self, n: usize, _bytes: &[u8]) -> Result<usize, Error> {
        Ok(n)
    }
    fn len(&self, x: &usize) -> usize {
        *x
    }
    fn add(&mut self, x: &usize, y: &usize) -> usize {
        assert_eq!(x, y, "lengths of a sum");
        *x
    }
    fn sub(&mut self, x: &usize, y: &usize) -> usize {
        assert_eq!(x, y, "lengths of a difference");
        *x
    }
    fn scale(&mut self, x: &usize, _k: i64) -> usize {
        *x
    }
    fn gather(&mut self, _x: &usize, index: &[u32]) -> usize {
        index.len()
    }
    fn slice(&mut self, _x: &usize, range: Range<usize>) -> usize {
        range.len()
    }
    fn concat(&mut self, parts: &[&usize]) -> usize {
        parts.iter().map(|n| **n).sum()
    }
    fn mul(&mut self, x: &usize, y: &Operand<usize>, trunc: u32) -> Result<usize, Error> {
        Ok(self.linear(y, Bilinear::Elementwise(*x), trunc))
    }
    fn matmul(
        &mut self,
        _x: &usize,
        w: &Operand<usize>,
        _bias: Option<&Operand<usize>>,
        shape: MatMul,
        trunc: u32,
    ) -> Result<usize, Error> {
        Ok(self.linear(w, Bilinear::MatMul(shape), trunc))
    }
    fn conv2d(
        &mut self,
        _x: &usize,
        w: &Operand<usize>,
        _bias: Option<&Operand<usize>>,
        shape: &Conv2d,
        trunc: u32,
    ) -> Result<usize, Error> {
        Ok(self.linear(w, Bilinear::Conv2d(*shape), trunc))
    }
    fn truncate(&mut self, x: &usize, trunc: u32) -> Result<usize, Error> {
        self.drop_bits(*x, trunc);
        Ok(*x)
    }
    fn drelu(&mut self, x: &usize, keys: KeyBits) -> Result<usize, Error> {
        self.push(Call::Drelu { n: *x, keys });
        Ok(*x)
    }
    fn select(&mut self, bit: &usize, _x: &usize, _y: &usize) -> Result<usize, Error> {
        self.push(Call::Select { n: *bit });
        Ok(*bit)
    }
    fn relu(&mut self, x: &usize, keys: KeyBits) -> Result<usize, Error> {
        self.push(Call::Relu { n: *x, keys });
        Ok(*x)
    }
    fn maxpool(
        &mut self,
        _x: &usize,
        windows: usize,
        size: usize,
        keys: KeyBits,
    ) -> Result<usize, Error> {
        self.push(Call::Maxpool {
            windows,
            size,
            keys,
        });
        Ok(windows)
    }
    fn function(&mut self, function: &Elementary, x: &usize) -> Result<usize, Error> {
        let function = *function;
        self.push(Call::Function { n: *x, function });
        Ok(*x)
    }
}
