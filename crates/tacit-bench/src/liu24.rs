//! The papers' tables of the cost of their building blocks, beside what real runs of ours meter.

use serde::Serialize;
use tacit_algebra::mersenne::{F31, F61, Field};
use tacit_net::{LinkModel, Party, Phase, memory};
use tacit_protocols::machine::{Call, Erased, Machine, Operand};
use tacit_protocols::shamir::{self, Comparison, Opening, Options, Shamir};
use tacit_run::{Error, Metered, Settings, in_threads};

/// Elements of every measured block: several of each king's pieces between a few parties.
const ELEMENTS: usize = 1 << 11;
/// Bits that a truncation drops.
const TRUNC: u32 = 12;

/// A building block with its cost on paper and as metered.
#[derive(Clone, Debug, Serialize)]
pub struct Block {
    /// Name of the building block, and the variant where there are several.
    pub name: String,
    /// What the paper counts: rounds and field elements per party.
    pub paper: Counts,
    /// What a run of it metered, for each number of parties: averages over the parties.
    pub metered: Vec<Counts>,
}

/// Rounds, and field elements that a party sends for one element of the result.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Counts {
    /// Openings one after the other in the online phase.
    pub rounds: u32,
    /// Elements sent online.
    pub online: f64,
    /// Elements sent offline.
    pub offline: f64,
}

/// A table of a paper.
#[derive(Clone, Debug, Serialize)]
pub struct PaperTable {
    /// What the table shows, as its heading.
    pub title: String,
    /// How to read it.
    pub note: String,
    /// The numbers of parties that were run.
    pub parties: Vec<usize>,
    /// Rows of the table, a building block each.
    pub blocks: Vec<Block>,
}

/// What is run for a row of the table.
#[derive(Clone, Copy)]
enum RowProgram {
    Call(fn(usize) -> Call, Comparison),
    PreMult,
    TwoLayer,
}

/// Table 1 of Liu et al., USENIX Security 2024, for the field of `2^field - 1` elements.
pub fn liu24(parties: &[usize], field: u32) -> Result<PaperTable, Error> {
    match field {
        31 => table::<F31>(parties),
        61 => table::<F61>(parties),
        other => Err(Error::setting(
            "field",
            format!("there is none of {other} bits; choose 31 or 61"),
        )),
    }
}

fn table<F: Field>(parties: &[usize]) -> Result<PaperTable, Error> {
    let mut blocks = Vec::new();
    for (name, paper, program) in rows(f64::from(F::BITS)) {
        let metered = parties
            .iter()
            .map(|&parties| meter::<F>(parties, program))
            .collect::<Result<_, _>>()?;
        blocks.push(Block {
            name: name.into(),
            paper,
            metered,
        });
    }
    Ok(PaperTable {
        title: format!(
            "Liu et al. 2024, Table 1, over 2^{} - 1: field elements that a party sends",
            F::BITS
        ),
        note: "the paper counts 2 for an opening and 1 for a random sharing, for any number of parties; the rest is metered, through kings. The paper's DReLU, ReLU and Maxpool are insecure".into(),
        parties: parties.to_vec(),
        blocks,
    })
}

/// The blocks with the paper's counts, for `l` bits.
fn rows(l: f64) -> Vec<(&'static str, Counts, RowProgram)> {
    let counts = |rounds, online, offline| Counts {
        rounds,
        online,
        offline,
    };
    let product = |n| Call::elementwise(n, TRUNC);
    let pool = |windows| Call::maxpool(windows, 4);
    let (relu, drelu) = (
        (6.0 + 2.0 * l, 2.0 + 10.0 * l),
        (4.0 + 2.0 * l, 1.0 + 10.0 * l),
    );
    let sign = |name: [&'static str; 2], paper: Counts, call: fn(usize) -> Call| {
        [
            (name[0], paper, RowProgram::Call(call, Comparison::Tree)),
            (name[1], paper, RowProgram::Call(call, Comparison::Rot)),
        ]
    };
    let mut rows = vec![
        (
            "Fixed-Mult",
            counts(1, 2.0, 3.0 * l),
            RowProgram::Call(product, Comparison::Tree),
        ),
        (
            "PreMult of l factors",
            counts(1, 2.0 * l, 7.0 * l),
            RowProgram::PreMult,
        ),
        ("2L-DN, m = 1", counts(1, 4.0, 2.0), RowProgram::TwoLayer),
    ];
    rows.extend(sign(
        ["DReLU, tree", "DReLU, rot"],
        counts(3, drelu.0, drelu.1),
        Call::drelu,
    ));
    rows.extend(sign(
        ["ReLU, tree", "ReLU, rot"],
        counts(3, relu.0, relu.1),
        Call::relu,
    ));
    rows.extend(sign(
        ["Maxpool of 4, tree", "Maxpool of 4, rot"],
        counts(6, 3.0 * relu.0, 3.0 * relu.1),
        pool,
    ));
    rows
}

/// Runs a block between so many parties, through kings, and meters it.
fn meter<F: Field>(parties: usize, program: RowProgram) -> Result<Counts, Error> {
    let comparison = match program {
        RowProgram::Call(_, comparison) => comparison,
        _ => Comparison::Tree,
    };
    let options = Options {
        comparison,
        opening: Opening::King,
        ..Options::new(parties, LinkModel::LOCAL)
    };
    let mesh = memory::mesh(parties, &LinkModel::LOCAL, Settings::default().timeout);
    let phases = in_threads(mesh, &mut |_| true, |party, _| {
        run::<F>(party, &options, program)
    })?;
    let average = |phase: usize| {
        let bytes: u64 = phases.iter().map(|phases| phases[phase].bytes).sum();
        bytes as f64 / (parties * ELEMENTS * F::BYTES) as f64
    };
    let hops = phases.iter().map(|phases| phases[1].rounds).max();
    Ok(Counts {
        rounds: hops.unwrap_or(0).div_ceil(2),
        online: average(1),
        offline: average(0),
    })
}

/// One party's part: the offline and the online cost.
fn run<F: Field>(
    party: Party,
    options: &Options,
    program: RowProgram,
) -> Result<[Metered; 2], Error> {
    let (n, l) = (ELEMENTS, F::BITS as usize);
    let phases =
        |party: &Party| [Phase::Offline, Phase::Online].map(|phase| Metered::phase(party, phase));
    if let RowProgram::Call(call, _) = program {
        let mut machine = shamir::machine(F::BITS, party, options)?;
        machine.party().set_phase(Phase::Offline);
        machine.prepare(&[call(n)])?;
        make(&mut machine, call(n))?;
        return Ok(phases(machine.party()));
    }
    let mut machine = Shamir::<F>::new(party, options)?;
    machine.party().set_phase(Phase::Offline);
    match program {
        RowProgram::Call(..) => {}
        RowProgram::PreMult => {
            let material = machine.prepare_pre_mult(l, n)?;
            machine.party().set_phase(Phase::Online);
            machine.pre_mult(&vec![F::ONE; l * n].into(), material)?;
        }
        RowProgram::TwoLayer => {
            let material = machine.prepare_two_layer(n)?;
            machine.party().set_phase(Phase::Online);
            let x = vec![F::ONE; n].into();
            machine.two_layer(&x, &x, &x, material)?;
        }
    }
    Ok(phases(machine.party()))
}

/// Makes a call on numbers that everyone knows: what is sent does not depend on them.
fn make(machine: &mut Erased, call: Call) -> Result<(), Error> {
    match call {
        Call::Product { map, trunc, .. } => {
            let x = machine.constant(&vec![1; map.outputs()]);
            machine.mul(&x, &Operand::Secret(x.clone()), trunc)?;
        }
        Call::Drelu { n, keys, .. } => {
            let x = machine.constant(&vec![1; n]);
            machine.drelu(&x, keys)?;
        }
        Call::Maxpool {
            windows,
            size,
            keys,
            ..
        } => {
            let x = machine.constant(&vec![1; windows * size]);
            machine.maxpool(&x, windows, size, keys)?;
        }
        Call::Relu { n, keys, .. } => {
            let x = machine.constant(&vec![1; n]);
            machine.relu(&x, keys)?;
        }
        _ => unreachable!("no row of the table makes another call"),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block<'a>(table: &'a PaperTable, name: &str) -> &'a Block {
        let found = table.blocks.iter().find(|block| block.name == name);
        found.unwrap_or_else(|| panic!("no {name}"))
    }

    /// The bounds of the project: in the paper's count an opening is 2 and a random sharing 1,
    /// which real runs stay below.
    #[test]
    fn secure_blocks_cost_what_is_promised() {
        let l = 31.0;
        let table = liu24(&[3, 7], 31).expect("the table is made");
        let bounds = [
            ("Fixed-Mult", 1, 2.0, 3.0 * l),
            ("PreMult of l factors", 1, 2.0 * l, 7.0 * l),
            ("2L-DN, m = 1", 1, 4.0, 2.0),
            ("ReLU, tree", 8, 2.0 * l + 4.0, 7.0 * l + 14.0),
            ("ReLU, rot", 4, 135.0, 14.0 * l),
        ];
        for (name, rounds, online, offline) in bounds {
            for metered in &block(&table, name).metered {
                assert_eq!(metered.rounds, rounds, "{name}");
                assert!(metered.online <= online, "{name}: {metered:?}");
                assert!(metered.offline <= offline, "{name}: {metered:?}");
            }
        }
    }
}
