//! Calls to measure.

use std::sync::OnceLock;

use tacit_algebra::Prg;
use tacit_net::Phase;
use tacit_protocols::lowered;
use tacit_protocols::machine::{
    Audience, Bilinear, Call, Conv2d, Erased, Handle, KeyBits, Machine, MatMul, Operand, Unverified,
};
use tacit_protocols::material_portions::level;
use tacit_protocols::math::{Elementary, Format, FunctionKind};
use tacit_protocols::record::{calls_of, noted};
use tacit_run::speeds::CallKind;
use tacit_run::{Error, Instance, Metered};

/// The sizes of each kind: of one element hops alone are told.
const SIZES: [usize; 6] = [1, 1 << 8, 1 << 11, 1 << 14, 1 << 17, 1 << 20];
/// Elements of a window.
const WINDOW: usize = 4;
/// Bits of values whose signs are taken at less cost.
const FEW: u32 = 20;
/// Operands are that small, so that every ring and field holds all results.
const MAGNITUDE: u64 = 1 << 10;

/// A call to measure, with the bits that its product or truncation drops.
#[derive(Clone, Debug)]
pub(super) struct Probe {
    what: What,
    /// Bits that a product or a truncation drops.
    trunc: u32,
}

#[derive(Clone, Copy, Debug)]
enum What {
    Product(Bilinear),
    Truncate(usize),
    Drelu(usize, KeyBits),
    Relu(usize, KeyBits),
    Select(usize),
    Maxpool(usize, KeyBits),
    Function(usize, Elementary),
    Open(usize),
    Network(Layers),
}

/// A small network on so many items, layer after layer: a convolution, maxima of windows, ReLUs, a matrix
/// product.
#[derive(Clone, Copy, Debug)]
struct Layers {
    items: usize,
}

/// Windows on each side of a plane of the network's convolution.
const SIDE: usize = 12;

impl Layers {
    fn conv(self) -> Conv2d {
        Conv2d {
            batch: self.items,
            channels: 1,
            height: 28,
            width: 28,
            filters: 16,
            kernel: [5, 5],
            stride: [1, 1],
            pad: [0; 4],
            dilation: [1, 1],
            groups: 1,
        }
    }

    fn windows(self) -> usize {
        self.items * self.matrix().k
    }

    fn matrix(self) -> MatMul {
        MatMul {
            m: self.items,
            k: self.conv().filters * SIDE * SIDE,
            n: 64,
        }
    }
}

/// Bits that measured products and truncations drop: 8 up to 32 bits, else 16.
fn trunc(instance: &Instance) -> u32 {
    if instance.width <= 32 { 8 } else { 16 }
}

impl Probe {
    /// Every kind that a protocol has, with its sizes; those of signs over few bits and over all.
    pub fn kinds(instance: &Instance) -> Result<Vec<(CallKind, Vec<Probe>)>, Error> {
        let trunc = trunc(instance);
        let of = |what: &dyn Fn(usize) -> What| -> Vec<Probe> {
            let probe = |&n: &usize| Probe {
                what: what(n),
                trunc,
            };
            SIZES.iter().map(probe).collect()
        };
        let elementwise = |n| What::Product(Bilinear::Elementwise(n));
        let mut kinds = vec![
            (CallKind::Open, of(&What::Open)),
            (CallKind::Product, of(&elementwise)),
            (CallKind::Truncate, of(&What::Truncate)),
            (CallKind::Select, of(&What::Select)),
        ];
        for keys in [KeyBits::within(FEW), KeyBits::ALL] {
            kinds.extend([
                (CallKind::Drelu, of(&|n| What::Drelu(n, keys))),
                (CallKind::Relu, of(&|n| What::Relu(n, keys))),
                (
                    CallKind::Maxpool,
                    of(&|n| What::Maxpool(n.div_ceil(WINDOW), keys)),
                ),
            ]);
        }
        // What matrices take between two lies in their transfers, of which bytes tell.
        if instance.cost()?.mixed() {
            let matrix = |m| Bilinear::MatMul(MatMul { m, k: 64, n: 32 });
            kinds.push((
                CallKind::Matrix,
                of(&|n| What::Product(matrix(n.div_ceil(256)))),
            ));
            kinds.extend(Probe::encrypted(instance)?);
        }
        let format = Format::new(instance.width, trunc).map_err(Error::from)?;
        let sigmoid = Elementary::new(format, FunctionKind::Sigmoid);
        if instance.cost()?.native(&sigmoid) {
            kinds.push((CallKind::Function, of(&|n| What::Function(n, sigmoid))));
        }
        Ok(kinds)
    }

    /// Products of encrypted numbers, where the settings have some, after a single product.
    fn encrypted(instance: &Instance) -> Result<Option<(CallKind, Vec<Probe>)>, Error> {
        let model = instance.cost()?;
        let exact = |m, k, n| Probe {
            what: What::Product(Bilinear::MatMul(MatMul { m, k, n })),
            trunc: 0,
        };
        let mut sizes = vec![exact(1, 1, 1)];
        for probe in [1, 16, 128].map(|m| exact(m, 256, 128)) {
            let [calls, _] = probe.calls(instance)?;
            if calls.iter().any(|call| model.encrypted(call).is_some()) {
                sizes.push(probe);
            }
        }
        Ok((sizes.len() > 1).then_some((CallKind::Encrypted, sizes)))
    }

    /// Pairs of products whose multiplications tell their rates: matrices, and convolutions.
    pub fn products(instance: &Instance) -> [[Probe; 2]; 2] {
        let trunc = trunc(instance);
        let probe = |map| Probe {
            what: What::Product(map),
            trunc,
        };
        let matrix = |m| Bilinear::MatMul(MatMul { m, k: 784, n: 128 });
        let conv = |batch, channels, filters, side| {
            Bilinear::Conv2d(Conv2d {
                batch,
                channels,
                height: side,
                width: side,
                filters,
                kernel: [5, 5],
                stride: [1, 1],
                pad: [0; 4],
                dilation: [1, 1],
                groups: 1,
            })
        };
        [
            [matrix(1), matrix(128)].map(probe),
            [conv(4, 1, 20, 28), conv(4, 20, 50, 12)].map(probe),
        ]
    }

    /// Calls of all kinds one after the other: a small network on `items` items.
    pub fn network(instance: &Instance, items: usize) -> Probe {
        let trunc = trunc(instance);
        let what = What::Network(Layers { items });
        Probe { what, trunc }
    }

    /// The name of what is measured, for users.
    pub fn name(&self) -> &'static str {
        match self.what {
            What::Product(Bilinear::Conv2d(_)) => "convolutions",
            What::Product(Bilinear::Elementwise(_)) => "products",
            What::Product(_) => "matrix products",
            What::Truncate(_) => "truncations",
            What::Drelu(..) => "signs",
            What::Relu(..) => "ReLUs",
            What::Select(_) => "choices",
            What::Maxpool(..) => "maxima",
            What::Function(..) => "functions",
            What::Open(_) => "inputs and outputs",
            What::Network(_) => "a small network",
        }
    }

    /// The product, if it is one.
    pub fn map(&self) -> Option<Bilinear> {
        match self.what {
            What::Product(map) => Some(map),
            _ => None,
        }
    }

    /// Elements of both operands.
    fn lens(&self) -> [usize; 2] {
        match self.what {
            What::Product(map) => [map.left(), map.right()],
            What::Maxpool(windows, _) => [windows * WINDOW, 0],
            What::Drelu(n, _) | What::Relu(n, _) => [n, 0],
            What::Truncate(n) | What::Open(n) => [n, 0],
            What::Select(n) => [n, n],
            What::Function(n, _) => [n, 0],
            What::Network(layers) => {
                let conv = Bilinear::Conv2d(layers.conv());
                let matrix = Bilinear::MatMul(layers.matrix());
                [conv.left(), conv.right() + matrix.right()]
            }
        }
    }

    /// The measured calls, as the protocol is asked for them, and the verifications of these.
    pub fn calls(&self, instance: &Instance) -> Result<[Vec<Call>; 2], Error> {
        let model = instance.cost()?;
        let mut calls = lowered(&self.recorded(instance.width)?, &*model)?;
        let is_verification = |call: &Call| matches!(call, Call::Verify(_));
        calls.retain(|call| !is_verification(call) && self.is_measured(call));
        let mut checked = calls.clone();
        checked.push(Call::Verify(Unverified::default()));
        let mut verifications = lowered(&checked, &*model)?;
        verifications.retain(is_verification);
        Ok([calls, verifications])
    }

    /// Whether a call is what is measured, not what it takes to come there.
    fn is_measured(&self, call: &Call) -> bool {
        match self.what {
            What::Select(_) => matches!(call, Call::Select { .. }),
            _ => true,
        }
    }

    fn recorded(&self, width: u32) -> Result<Vec<Call>, Error> {
        calls_of(width, |machine| {
            let operands = self.lens().map(noted);
            let ready = self.ready(machine, &operands)?;
            self.run(machine, &operands, ready)
        })
    }

    /// What is not measured: bits to choose by.
    fn ready(
        &self,
        machine: &mut Erased,
        [x, y]: &[Handle; 2],
    ) -> Result<(Handle, Option<Handle>), Error> {
        match self.what {
            What::Product(Bilinear::Elementwise(_)) => Ok((y.clone(), None)),
            What::Product(_) | What::Network(_) => Ok((machine.known(y.clone(), 0), None)),
            What::Select(_) => Ok((y.clone(), Some(machine.drelu(x, KeyBits::ALL)?))),
            _ => Ok((y.clone(), None)),
        }
    }

    fn run(
        &self,
        machine: &mut Erased,
        [x, _]: &[Handle; 2],
        (y, bits): (Handle, Option<Handle>),
    ) -> Result<(), Error> {
        match (self.what, bits) {
            (What::Product(map), _) => {
                let weights = Operand::Secret(y);
                machine.linear(x, &weights, None, &map, self.trunc, None)?;
            }
            (What::Truncate(_), _) => drop(machine.truncate(x, self.trunc)?),
            (What::Drelu(_, keys), _) => drop(machine.drelu(x, keys)?),
            (What::Relu(_, keys), _) => drop(machine.relu(x, keys)?),
            (What::Select(_), Some(bits)) => drop(machine.select(&bits, x, &y)?),
            (What::Maxpool(n, keys), _) => drop(machine.maxpool(x, n, WINDOW, keys)?),
            (What::Network(layers), _) => self.layers(machine, layers, x, &y)?,
            (What::Function(_, function), _) => drop(machine.function(&function, x)?),
            _ => {
                machine.reveal(x, Audience::One(0))?;
            }
        }
        Ok(())
    }
}

impl Probe {
    /// Runs the small network.
    fn layers(
        &self,
        machine: &mut Erased,
        layers: Layers,
        x: &Handle,
        weights: &Handle,
    ) -> Result<(), Error> {
        let keys = KeyBits::within(FEW);
        let (conv, matrix, count) = (layers.conv(), layers.matrix(), layers.windows());
        let cut = Bilinear::Conv2d(conv).right();
        let filters = Operand::Secret(machine.slice(weights, 0..cut));
        let factors = machine.slice(weights, cut..cut + Bilinear::MatMul(matrix).right());
        let planes = machine.conv2d(x, &filters, None, &conv, self.trunc)?;
        let place = |e: usize| {
            let (corner, window) = (e / count, e % count);
            let (plane, at) = (window / (SIDE * SIDE), window % (SIDE * SIDE));
            let row = 2 * (at / SIDE) + corner / 2;
            (plane * 4 * SIDE * SIDE + row * 2 * SIDE + 2 * (at % SIDE) + corner % 2) as u32
        };
        let index = || (0..WINDOW * count).map(place).collect();
        let windows = machine.gather_by(&planes, WINDOW * count, index);
        let largest = machine.maxpool(&windows, count, WINDOW, keys)?;
        let positive = machine.relu(&largest, keys)?;
        let factors = Operand::Secret(factors);
        machine.matmul(&positive, &factors, None, matrix, self.trunc)?;
        Ok(())
    }
}

/// One party's runs of a probe.
pub(super) struct Timed<'a> {
    pub probe: &'a Probe,
    /// How many runs follow the first one at most.
    pub repeats: usize,
    /// How many runs follow the first one: the party says so that has ended it first.
    pub made: OnceLock<usize>,
}

/// Seconds from which a run needs no median of several.
const LONG: f64 = 0.15;
/// Seconds from which nothing is run again.
const VERY_LONG: f64 = 1.5;

impl Timed<'_> {
    /// The offline phase, the online phase, the verification after it and the keys made before, of one run that warms
    /// up and of those that count.
    pub fn run(&self, machine: &mut Erased) -> Result<Vec<[Metered; 4]>, Error> {
        let first = machine.party().id() == 0;
        let mut prg = Prg::new([7; 16]);
        let mut share = |machine: &mut Erased, n: usize| {
            machine.party().set_phase(Phase::Setup);
            let small = |v: u64| (v % MAGNITUDE) as i64;
            let values: Option<Vec<i64>> =
                first.then(|| prg.ring::<u64>(n).into_iter().map(small).collect());
            machine.input(0, n, values.as_deref())
        };
        let [x, y] = self.probe.lens();
        let operands = [share(machine, x)?, share(machine, y)?];
        let mut runs = vec![self.once(machine, &operands)?];
        // Keys, the last part, are made once.
        let took: f64 = runs[0][..3].iter().map(|part| part.seconds).sum();
        let repeats = *self.made.get_or_init(|| match took {
            ..LONG => self.repeats,
            ..VERY_LONG => self.repeats.min(1),
            _ => 0,
        });
        for _ in 0..repeats {
            runs.push(self.once(machine, &operands)?);
        }
        Ok(runs)
    }

    fn once(&self, machine: &mut Erased, operands: &[Handle; 2]) -> Result<[Metered; 4], Error> {
        level(machine.party())?;
        let phases = [Phase::Offline, Phase::Setup];
        let before = phases.map(|phase| Metered::phase(machine.party(), phase));
        let calls = self.probe.recorded(machine.element_bits())?;
        let calls = lowered(&calls, machine.cost_model())?;
        machine.prepare(&calls)?;
        let [offline, keys] =
            [0, 1].map(|i| Metered::phase(machine.party(), phases[i]).since(before[i]));
        machine.party().set_phase(Phase::Setup);
        let ready = self.probe.ready(machine, operands)?;
        machine.verify()?;
        let online = self.online(machine, |machine| self.probe.run(machine, operands, ready))?;
        let verification = self.online(machine, |machine| machine.verify())?;
        Ok([offline, online, verification, keys])
    }

    /// What a part of the online phase takes once all parties are there.
    fn online<E: Into<Error>>(
        &self,
        machine: &mut Erased,
        part: impl FnOnce(&mut Erased) -> Result<(), E>,
    ) -> Result<Metered, Error> {
        level(machine.party())?;
        machine.party().set_phase(Phase::Online);
        machine.party().set_layer(self.probe.name());
        let before = Metered::phase(machine.party(), Phase::Online);
        part(machine).map_err(Into::into)?;
        Ok(Metered::phase(machine.party(), Phase::Online).since(before))
    }
}
