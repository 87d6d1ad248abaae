//! Single operations, measured on random values and checked against clear text.

use tacit_algebra::Prg;
use tacit_net::{LinkModel, Phase, memory};
use tacit_nn::plan::Order;
use tacit_protocols::falcon::Truncation;
use tacit_protocols::machine::{Audience, Call, Conv2d, Machine, MatMul, Operand};

use crate::job::{Terms, level};
use crate::local::in_threads;
use crate::registry::{self, Instance, Program, Protocol};
use crate::report::{LayerReport, PhaseReport};
use crate::settings::Named;
use crate::totals::{Metered, combine, exchange};
use crate::{Error, Progress, Report, Settings};

/// The operations that [`bench()`] knows, each with what its size `n` means.
pub const OPERATIONS: [(&str, &str); 7] = [
    ("mult", "n products, truncated"),
    ("matmul", "the product of two n x n matrices, truncated"),
    (
        "conv",
        "n images through LeNet's second convolution (20 -> 50 channels, 5x5, of 12x12), truncated",
    ),
    ("trunc", "n truncations"),
    ("drelu", "n comparisons with 0"),
    ("relu", "n ReLUs"),
    ("maxpool", "n windows of 2x2"),
];

/// The most elements of a measured tensor.
const MAX_ELEMENTS: usize = 1 << 28;

/// What is measured.
#[derive(Clone, Debug)]
pub struct BenchOptions<'a> {
    /// One of [`OPERATIONS`].
    pub op: &'a str,
    /// Its size.
    pub n: usize,
    /// Bits of the ring: 32 or 64.
    pub ring: u32,
    /// Bits truncated; by default 12 in the 32-bit ring and 18 in the 64-bit ring.
    pub fraction_bits: Option<u32>,
    /// The number of runs.
    pub repeat: usize,
}

/// Measures one operation `repeat` times between parties in this process, each time with fresh
/// correlated randomness. The report has the median of the times; a wrong result is an error.
/// Sharing the operands and opening the result is not part of the figures.
pub fn bench(
    options: &BenchOptions,
    settings: &Settings,
    observe: &mut dyn FnMut(Progress) -> bool,
) -> Result<Report, Error> {
    let case = Case::new(options)?;
    let instance = Instance::new(settings.protocol, options.ring, settings.truncation)?;
    let operands = case.operands()?;
    let expected = case.in_the_clear(&operands)?;
    let parties = *settings.protocol.parties.start();
    let mesh = memory::mesh(parties, &settings.network.link, settings.timeout);
    let ends = in_threads(mesh, observe, |party, observe| {
        let trial = Trial {
            case: &case,
            operands: (party.id() == 0).then_some(&operands),
            expected: Some(&expected),
            truncation: Some(instance.truncation),
            repeat: options.repeat.max(1),
            observe,
        };
        registry::start(&instance, party, trial)
    })?;
    let terms = Terms {
        instance,
        order: Order::default(),
        public_model: false,
        network: settings.network.clone(),
        parties,
        roles: settings.roles(parties)?,
        batch: settings.batch,
        fraction_bits: None,
        inputs: None,
    };
    let large = ends.first().map_or(0, |end| end.large_errors);
    let runs = ends
        .into_iter()
        .next()
        .map(|end| end.runs)
        .unwrap_or_default();
    Ok(case.report(&terms, &runs, large))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    Mult,
    MatMul,
    Conv,
    Trunc,
    Drelu,
    Relu,
    Maxpool,
}

impl Named for Op {
    const WHAT: &'static str = "operation";

    fn known() -> impl Iterator<Item = (&'static str, Self)> {
        let ops = [
            Op::Mult,
            Op::MatMul,
            Op::Conv,
            Op::Trunc,
            Op::Drelu,
            Op::Relu,
            Op::Maxpool,
        ];
        ops.into_iter().map(|op| (op.name(), op))
    }

    fn name(self) -> &'static str {
        OPERATIONS[self as usize].0
    }
}

/// One operation with its size.
struct Case {
    op: Op,
    n: usize,
    ring: u32,
    /// Bits truncated, 0 for the operations without.
    trunc: u32,
}

/// The two operands; the second is empty for operations of one.
type Operands = [Vec<i64>; 2];

impl Case {
    fn new(options: &BenchOptions) -> Result<Self, Error> {
        let op = Op::parse(options.op)?;
        let truncates = matches!(op, Op::Mult | Op::MatMul | Op::Conv | Op::Trunc);
        let fraction = options
            .fraction_bits
            .unwrap_or(if options.ring == 32 { 12 } else { 18 });
        if !(1..options.ring.saturating_sub(2)).contains(&fraction) {
            let why = format!("{fraction} do not fit a ring of {} bits", options.ring);
            return Err(Error::setting("fraction bits", why));
        }
        let case = Case {
            op,
            n: options.n,
            ring: options.ring,
            trunc: if truncates { fraction } else { 0 },
        };
        let largest = case.lens().map(|lens| lens.into_iter().max().unwrap_or(0));
        match largest {
            Some(len) if len > 0 && len <= MAX_ELEMENTS => Ok(case),
            _ => Err(Error::setting(
                format!("size {} of '{}'", options.n, op.name()),
                format!("no tensor may be empty or have more than {MAX_ELEMENTS} elements"),
            )),
        }
    }

    fn conv(&self) -> Conv2d {
        Conv2d {
            batch: self.n,
            channels: 20,
            height: 12,
            width: 12,
            filters: 50,
            kernel: [5, 5],
            stride: [1, 1],
            pad: [0; 4],
            dilation: [1, 1],
            groups: 1,
        }
    }

    /// Elements of the operands and of the result; `None` if they overflow.
    fn lens(&self) -> Option<[usize; 3]> {
        let n = self.n;
        Some(match self.op {
            Op::Mult => [n, n, n],
            Op::MatMul => [n.checked_mul(n)?; 3],
            Op::Conv => [
                n.checked_mul(20 * 144)?,
                50 * 20 * 25,
                n.checked_mul(50 * 64)?,
            ],
            Op::Trunc | Op::Drelu | Op::Relu => [n, 0, n],
            Op::Maxpool => [n.checked_mul(4)?, 0, n],
        })
    }

    /// The magnitude of the operands: as large as the ring holds without a wrong result.
    fn magnitude(&self) -> u64 {
        let room = 1u64 << (self.ring - 2);
        let terms = match self.op {
            Op::Mult => 1,
            Op::MatMul => self.n,
            Op::Conv => 20 * 25,
            Op::Trunc | Op::Drelu | Op::Relu | Op::Maxpool => return room - 1,
        };
        (room / terms as u64).isqrt().max(1) - 1
    }

    fn operands(&self) -> Result<Operands, Error> {
        let mut seed = [0; 16];
        getrandom::fill(&mut seed)
            .map_err(|e| tacit_protocols::Error::Randomness(e.to_string()))?;
        let mut prg = Prg::new(seed);
        let magnitude = self.magnitude();
        let mut values = |len| -> Vec<i64> {
            let within = |v: u64| (v % (2 * magnitude + 1)) as i64 - magnitude as i64;
            prg.ring::<u64>(len).into_iter().map(within).collect()
        };
        let [x, y, _] = self.lens().unwrap_or_default();
        Ok([values(x), values(y)])
    }

    fn call(&self) -> Call {
        let (n, trunc) = (self.lens().unwrap_or_default()[2], self.trunc);
        match self.op {
            Op::Mult | Op::MatMul | Op::Conv => Call::Product { n, trunc },
            Op::Trunc => Call::Truncate { n, trunc },
            Op::Drelu => Call::Drelu { n },
            Op::Relu => Call::Relu { n },
            Op::Maxpool => Call::Maxpool {
                windows: n,
                size: 4,
            },
        }
    }

    /// Bits of the result stand for themselves until they are opened.
    fn run<M: Machine>(
        &self,
        machine: &mut M,
        operands: &[M::Share; 2],
    ) -> Result<Computed<M>, Error> {
        let [x, y] = operands;
        let second = || Operand::Secret(y.clone());
        let (n, trunc) = (self.n, self.trunc);
        Ok(Computed::Words(match self.op {
            Op::Mult => machine.mul(x, &second(), trunc)?,
            Op::MatMul => machine.matmul(x, &second(), None, MatMul { m: n, k: n, n }, trunc)?,
            Op::Conv => machine.conv2d(x, &second(), None, &self.conv(), trunc)?,
            Op::Trunc => machine.truncate(x, trunc)?,
            Op::Drelu => return Ok(Computed::Bits(machine.drelu(x)?)),
            Op::Relu => machine.relu(x)?,
            Op::Maxpool => machine.maxpool(x, n, 4)?,
        }))
    }

    fn in_the_clear(&self, operands: &Operands) -> Result<Vec<i64>, Error> {
        let instance = Instance::new(<&Protocol>::parse("clear")?, self.ring, Truncation::Exact)?;
        let trial = Trial {
            case: self,
            operands: Some(operands),
            expected: None,
            truncation: None,
            repeat: 1,
            observe: &mut |_| true,
        };
        let mut alone = memory::mesh(1, &LinkModel::LOCAL, std::time::Duration::from_secs(1));
        let party = alone
            .pop()
            .ok_or_else(|| Error::setting("parties", "there is none"))?;
        Ok(registry::start(&instance, party, trial)?.result)
    }

    /// The number of large errors that the truncation is known for; any other wrong result is an
    /// error.
    fn compare(
        &self,
        result: &[i64],
        expected: &[i64],
        truncation: Option<Truncation>,
    ) -> Result<usize, Error> {
        let rounding = u64::from(self.trunc > 0 && truncation != Some(Truncation::Exact));
        let large = 1u64 << (self.ring - self.trunc - 1);
        let mut large_errors = 0;
        for (index, (&got, &expected)) in result.iter().zip(expected).enumerate() {
            let error = got.abs_diff(expected);
            if self.trunc > 0 && truncation == Some(Truncation::Aby3) && error >= large {
                large_errors += 1;
            } else if error > rounding {
                let op = self.op.name().into();
                return Err(Error::WrongResult {
                    op,
                    index,
                    got,
                    expected,
                });
            }
        }
        Ok(large_errors)
    }

    fn report(&self, terms: &Terms, runs: &[[PhaseReport; 2]], large_errors: usize) -> Report {
        let median = |phase: usize| {
            let mut runs: Vec<&PhaseReport> = runs.iter().map(|run| &run[phase]).collect();
            runs.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
            runs.get(runs.len() / 2)
                .copied()
                .cloned()
                .unwrap_or_default()
        };
        let (offline, online) = (median(0), median(1));
        let (name, what) = OPERATIONS[self.op as usize];
        let layer = LayerReport {
            name: name.into(),
            op: what.into(),
            shape: vec![self.lens().unwrap_or_default()[2]],
            seconds: online.seconds,
            rounds: online.rounds,
            bytes: online.bytes_sent.iter().copied().max().unwrap_or(0),
        };
        let warning = || format!("{large_errors} results have the large error of this truncation");
        Report {
            fraction_bits: self.trunc,
            images: runs.len(),
            batch: self.n,
            offline,
            online,
            layers: vec![layer],
            warnings: (large_errors > 0).then(warning).into_iter().collect(),
            ..Report::empty(terms)
        }
    }
}

enum Computed<M: Machine> {
    Words(M::Share),
    Bits(M::Bits),
}

/// One party's runs of a case.
struct Trial<'a> {
    case: &'a Case,
    operands: Option<&'a Operands>,
    expected: Option<&'a [i64]>,
    /// `None` where results must be exact.
    truncation: Option<Truncation>,
    repeat: usize,
    observe: &'a mut dyn FnMut(Progress) -> bool,
}

/// What a trial ends with.
struct Ending {
    /// The offline and online cost of every run.
    runs: Vec<[PhaseReport; 2]>,
    result: Vec<i64>,
    large_errors: usize,
}

impl Program for Trial<'_> {
    type Output = Ending;

    fn run<M: Machine>(self, machine: &mut M) -> Result<Ending, Error> {
        let case = self.case;
        machine.party().set_phase(Phase::Setup);
        machine.party().set_layer("operands");
        let share = |machine: &mut M, which: usize| {
            let n = case.lens().unwrap_or_default()[which];
            machine.input(0, n, self.operands.map(|o| o[which].as_slice()))
        };
        let operands = [share(machine, 0)?, share(machine, 1)?];
        let mut own: Vec<[Metered; 2]> = Vec::new();
        let (mut result, mut large_errors) = (Vec::new(), 0);
        let expected_len = case.lens().unwrap_or_default()[2];
        for batch in 0..self.repeat {
            let progress = Progress {
                phase: "online",
                layer: case.op.name(),
                index: 0,
                layers: 1,
                batch,
                batches: self.repeat,
            };
            if !(self.observe)(progress) {
                return Err(Error::Cancelled);
            }
            level(machine.party())?;
            let before = Metered::phase(machine.party(), Phase::Offline);
            machine.prepare(&[case.call()])?;
            let offline = Metered::phase(machine.party(), Phase::Offline).since(before);
            level(machine.party())?;
            machine.party().set_phase(Phase::Online);
            machine.party().set_layer(case.op.name());
            let before = Metered::phase(machine.party(), Phase::Online);
            let computed = case.run(machine, &operands)?;
            let online = Metered::phase(machine.party(), Phase::Online).since(before);
            own.push([offline, online]);
            result = open(machine, computed, expected_len)?;
            if let Some(expected) = self.expected {
                large_errors += case.compare(&result, expected, self.truncation)?;
            }
        }
        let all = exchange(machine.party(), own)?;
        let run = |i: usize, phase: usize| {
            combine(
                all.iter()
                    .map(|runs| runs.get(i).map(|run| run[phase]).unwrap_or_default()),
            )
        };
        Ok(Ending {
            runs: (0..self.repeat).map(|i| [run(i, 0), run(i, 1)]).collect(),
            result,
            large_errors,
        })
    }
}

/// Opens a result to all, outside the figures.
fn open<M: Machine>(machine: &mut M, computed: Computed<M>, n: usize) -> Result<Vec<i64>, Error> {
    let words = match computed {
        Computed::Words(words) => words,
        Computed::Bits(bits) => {
            machine.prepare(&[Call::Select { n }])?;
            let (zeros, ones) = (machine.constant(&vec![0; n]), machine.constant(&vec![1; n]));
            machine.select(&bits, &zeros, &ones)?
        }
    };
    machine.party().set_phase(Phase::Setup);
    machine.party().set_layer("result");
    let opened = machine.reveal(&words, Audience::All)?;
    Ok(opened.unwrap_or_default())
}
