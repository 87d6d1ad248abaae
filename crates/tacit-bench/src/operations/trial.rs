//! One party's runs of a case, chunk after chunk.

use std::ops::Range;

use tacit_net::Phase;
use tacit_protocols::lowered;
use tacit_protocols::machine::{Audience, Call, Erased, Handle, Machine};
use tacit_protocols::material_portions::level;
use tacit_run::{Error, Metered, Observer, Progress};

use super::case::{Case, Computed, Errors, Expected, Operands};
use super::chunks::Chunks;

/// One party's runs of a case.
pub(super) struct Trial<'a> {
    pub case: &'a Case,
    pub chunks: Chunks,
    /// The operands, at the party that shares them.
    pub operands: Option<&'a Operands>,
    /// The right results. Without them the results are kept.
    pub expected: Option<Expected<'a>>,
    pub repeat: usize,
    pub observe: Observer<'a>,
}

/// What a trial ends with.
pub(super) struct Ending {
    /// The offline and online cost at this party, of every chunk of every run.
    pub costs: Vec<[Metered; 2]>,
    /// The results of all runs, if there is nothing to hold them against.
    pub result: Vec<i64>,
    /// How far the results were from the right ones.
    pub errors: Errors,
}

impl Trial<'_> {
    /// Shares the operands, and runs chunk after chunk.
    pub fn run(mut self, machine: &mut Erased) -> Result<Ending, Error> {
        let operands = self.share(machine)?;
        let mut costs = Vec::new();
        let (mut result, mut errors) = (Vec::new(), Errors::default());
        for run in 0..self.repeat {
            for (number, chunk) in self.chunks.ranges().enumerate() {
                let first = self.case.result_start(chunk.start);
                let (cost, values) = self.chunk(machine, &operands, [run, number], chunk)?;
                costs.push(cost);
                match self.expected {
                    Some(right) => errors = errors.and(self.case.compare(&values, first, right)?),
                    None => result.extend(values),
                }
            }
        }
        Ok(Ending {
            costs,
            result,
            errors,
        })
    }

    /// Shares the operands whole, outside the figures.
    fn share(&self, machine: &mut Erased) -> Result<[Handle; 2], Error> {
        machine.party().set_phase(Phase::Setup);
        machine.party().set_layer("operands");
        let lens = self.case.lens().unwrap_or_default();
        let mut share = |which: usize| {
            let values = self.operands.map(|operands| operands[which].as_slice());
            machine.input(0, lens[which], values)
        };
        Ok([share(0)?, share(1)?])
    }

    /// Prepares, runs and opens a chunk, of which `at` is the run's number and its own.
    fn chunk(
        &mut self,
        machine: &mut Erased,
        operands: &[Handle; 2],
        at: [usize; 2],
        chunk: Range<usize>,
    ) -> Result<([Metered; 2], Vec<i64>), Error> {
        let case = self.case.of(chunk.len());
        let cut;
        let operands = match self.chunks.count() {
            1 => operands,
            _ => {
                cut = self.cut(machine, operands, &chunk);
                &cut
            }
        };
        self.tell("offline", at)?;
        level(machine.party())?;
        let before = Metered::phase(machine.party(), Phase::Offline);
        let calls = lowered(&case.calls()?, machine.cost_model())?;
        machine.prepare(&calls)?;
        let offline = Metered::phase(machine.party(), Phase::Offline).since(before);
        self.tell("online", at)?;
        level(machine.party())?;
        machine.party().set_phase(Phase::Online);
        machine.party().set_layer(case.op.name());
        let before = Metered::phase(machine.party(), Phase::Online);
        let computed = case.run(machine, operands)?;
        let online = Metered::phase(machine.party(), Phase::Online).since(before);
        let result = open(machine, computed, case.lens().unwrap_or_default()[2])?;
        Ok(([offline, online], result))
    }

    /// What a chunk needs of the operands. Local.
    fn cut(
        &self,
        machine: &mut Erased,
        operands: &[Handle; 2],
        chunk: &Range<usize>,
    ) -> [Handle; 2] {
        [0, 1].map(|which| {
            let parts: Vec<Handle> = (self.case.parts(which, chunk))
                .map(|part| machine.slice(&operands[which], part))
                .collect();
            machine.concat(&parts.iter().collect::<Vec<_>>())
        })
    }

    fn tell(&mut self, phase: &'static str, [run, chunk]: [usize; 2]) -> Result<(), Error> {
        let (chunks, repeat) = (self.chunks.count(), self.repeat);
        let of_several = |what: &str, number: usize, count: usize| match count {
            1 => String::new(),
            _ => format!(", {what} {} of {count}", number + 1),
        };
        let layer = [
            self.case.op.name(),
            &of_several("chunk", chunk, chunks),
            &of_several("run", run, repeat),
        ]
        .concat();
        let progress = Progress {
            phase,
            layer: &layer,
            index: 0,
            layers: 1,
            batch: run * chunks + chunk,
            batches: repeat * chunks,
            gauge: None,
        };
        match (self.observe)(progress) {
            true => Ok(()),
            false => Err(Error::Cancelled),
        }
    }
}

/// Opens a result to all, outside the figures.
fn open(machine: &mut Erased, computed: Computed, n: usize) -> Result<Vec<i64>, Error> {
    let words = match computed {
        Computed::Words(words) => words,
        Computed::Bits(bits) => {
            machine.prepare(&[Call::select(n)])?;
            let (zeros, ones) = (machine.constant(&vec![0; n]), machine.constant(&vec![1; n]));
            machine.select(&bits, &zeros, &ones)?
        }
    };
    machine.party().set_phase(Phase::Setup);
    machine.party().set_layer("result");
    let opened = machine.reveal(&words, Audience::All)?;
    Ok(opened.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use tacit_protocols::Cost;

    use super::*;
    use crate::{BenchOptions, OPERATIONS, bench};
    use tacit_run::{Instance, Settings};

    /// Rounds and bytes of each phase, as declared for these chunks one after the other.
    fn declared(case: &Case, chunks: Chunks, instance: &Instance) -> [Cost; 2] {
        let model = instance.cost().expect("a cost");
        let mut sum = [0; 2].map(|_| Cost::each(instance.parties, 0, 0));
        for chunk in chunks.ranges() {
            let calls =
                lowered(&case.of(chunk.len()).calls().expect("calls"), &*model).expect("calls");
            sum[0] += &model.offline(&calls);
            sum[1] += &model.in_a_row(&calls);
        }
        sum
    }

    /// The results are checked by the run itself.
    #[test]
    fn a_run_in_chunks_is_right_and_costs_what_they_declare() {
        for run in [
            "{}",
            r#"{"truncation": "exact"}"#,
            r#"{"security": "malicious"}"#,
            r#"{"comparison": "falcon"}"#,
            r#"{"protocol": "bicoptor"}"#,
            r#"{"protocol": "bicoptor", "sharing": "rss"}"#,
            r#"{"protocol": "shamir"}"#,
            r#"{"protocol": "sirnn"}"#,
            r#"{"protocol": "clear", "parties": 2}"#,
        ] {
            let settings = Settings::from_json(run).expect("settings");
            let instance = Instance::new(&settings, None).expect("an instance");
            let sirnn = instance.protocol.name == "sirnn";
            for (op, _) in OPERATIONS {
                // One is never cut, and SiRnn's convolutions of this size take minutes.
                if op == "matmul" || sirnn && op == "conv" {
                    continue;
                }
                let (n, chunk) = if op == "conv" { (3, 2) } else { (31, 9) };
                let options = BenchOptions {
                    op,
                    n,
                    chunk: Some(chunk),
                    repeat: 2,
                    ..BenchOptions::default()
                };
                let report = bench(&options, &settings, &mut |_| true);
                let report = report.unwrap_or_else(|e| panic!("{run}: {op}: {e}"));
                let case = Case::new(&options, instance.width).expect("a case");
                let costs = declared(&case, Chunks { n, size: chunk }, &instance);
                for (metered, cost) in [&report.offline, &report.online].into_iter().zip(costs) {
                    assert_eq!(metered.bytes_sent, cost.bytes, "{run}: {op}");
                    // Of several calls the longest path may be shorter than all of theirs.
                    let rounds = cost.rounds / 2..=cost.rounds;
                    assert!(rounds.contains(&metered.rounds), "{run}: {op}: {metered:?}");
                }
                assert_eq!(report.batch, chunk);
            }
        }
    }
}
