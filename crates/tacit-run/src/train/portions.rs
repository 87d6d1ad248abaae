//! The material of a program in portions: as much at a time as fits a usual memory. A portion is
//! some stages of the program; the first stage of each waits until its material is made.

use tacit_net::Phase;
use tacit_protocols::lowered;
use tacit_protocols::machine::{Call, CostModel, Machine};

use crate::Error;
use crate::job::level;

/// What a program demands.
pub(super) struct Portions(Vec<Portion>);

struct Portion {
    /// The stage that it begins with.
    stage: usize,
    /// As the machine sees them, with a checkpoint at the end.
    calls: Vec<Call>,
}

impl Portions {
    /// As few as a party can hold in `most` bytes, of the calls of every stage.
    pub fn new(stages: &[Vec<Call>], model: &dyn CostModel, most: u64) -> Result<Self, Error> {
        let mut portions: Vec<Portion> = Vec::new();
        let mut held = u64::MAX;
        for (stage, calls) in stages.iter().enumerate() {
            let calls = lowered(calls, model)?;
            let bytes: u64 = calls.iter().map(|call| model.stored(call)).sum();
            held = held.saturating_add(bytes);
            match portions.last_mut() {
                Some(portion) if held <= most => portion.calls.extend(calls),
                _ => {
                    portions.push(Portion { stage, calls });
                    held = bytes;
                }
            }
        }
        let (gates, entries) = (0, 0);
        for portion in &mut portions {
            portion.calls.push(Call::Verify { gates, entries });
            portion.calls = model.checked(std::mem::take(&mut portion.calls));
        }
        Ok(Portions(portions))
    }

    /// The calls of every portion.
    pub fn calls(&self) -> impl Iterator<Item = &[Call]> {
        self.0.iter().map(|portion| portion.calls.as_slice())
    }

    /// What a running program has before it.
    pub fn begin<'a>(&'a self, layer: &'a str) -> Ahead<'a> {
        let Portions(portions) = self;
        Ahead {
            portions,
            stage: 0,
            layer,
        }
    }
}

/// The portions that are not made yet.
pub(super) struct Ahead<'a> {
    portions: &'a [Portion],
    stage: usize,
    /// Under whose name the program is metered.
    layer: &'a str,
}

impl Ahead<'_> {
    /// The program begins its next stage: its material is made, and that of stages after it.
    pub fn stage<M: Machine>(&mut self, machine: &mut M) -> Result<(), tacit_protocols::Error> {
        let stage = self.stage;
        self.stage += 1;
        let Some((portion, ahead)) = self.portions.split_first() else {
            return Ok(());
        };
        if portion.stage != stage {
            return Ok(());
        }
        self.portions = ahead;
        // What waits belongs to the portion before, and to its phase.
        machine.settle()?;
        prepare(machine, &portion.calls)?;
        machine.party().set_layer(self.layer);
        Ok(())
    }
}

/// Makes the correlated randomness of calls; afterwards it is the online phase.
fn prepare<M: Machine>(machine: &mut M, calls: &[Call]) -> Result<(), tacit_protocols::Error> {
    level(machine.party())?;
    machine.prepare(calls)?;
    level(machine.party())?;
    machine.party().set_phase(Phase::Online);
    Ok(())
}
