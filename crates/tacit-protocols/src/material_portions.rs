//! The material of a program in portions: as much at a time as fits a memory, made where the program
//! comes to it.
//!
//! A portion is some stages of the program ([`crate::record::stages_of`]), whole. The machine counts the
//! stages as the program begins them ([`Machine::stage`]), so that material is made neither long before
//! it is needed nor all at once.

use std::sync::Arc;

use tacit_net::{Party, Phase};

use crate::machine::{Call, CostModel, Machine, Unverified};
use crate::message::Message;
use crate::record::{Stage, held_within};
use crate::{Error, lowered};

/// The portions of a program's material, in order. A program may be run with them many times.
#[derive(Clone, Default)]
pub struct MaterialPortions(Arc<[Portion]>);

/// Whole stages of a program, whose material is made at once.
#[derive(Clone)]
struct Portion {
    /// The number of the stage that the portion begins with.
    stage: usize,
    /// The calls that the portion is for, lowered to those that the machine sees.
    calls: Vec<Call>,
    /// Whether parties say nothing to each other to make it.
    local: bool,
}

impl MaterialPortions {
    /// Divides the calls of every stage into as few portions as a party can make in `most` bytes each; a
    /// stage that needs more is a portion by itself. Everything that waits is verified before a later
    /// portion is made.
    pub fn new<'a>(
        stages: impl IntoIterator<Item = &'a [Call]>,
        model: &dyn CostModel,
        most: u64,
    ) -> Result<Self, Error> {
        let mut portions: Vec<Portion> = Vec::new();
        let mut held = u64::MAX;
        for (stage, calls) in stages.into_iter().enumerate() {
            let bytes = workspace(calls, model)?;
            held = held.saturating_add(bytes);
            match portions.last_mut() {
                Some(portion) if held <= most => portion.calls.extend(calls),
                _ => {
                    let calls = calls.to_vec();
                    portions.push(Portion {
                        stage,
                        calls,
                        local: false,
                    });
                    held = bytes;
                }
            }
        }
        let last = portions.len().saturating_sub(1);
        for (i, portion) in portions.iter_mut().enumerate() {
            let verification = (i < last).then_some(Call::Verify(Unverified::default()));
            portion.calls.extend(verification);
            portion.calls = lowered(&portion.calls, model)?;
            let keys = model.keys(&[&portion.calls]);
            portion.local = keys.is_free() && model.offline(&portion.calls).is_free();
        }
        Ok(MaterialPortions(portions.into()))
    }

    /// About how many bytes each of so many parties holds at most while it runs these stages: its shares, and what
    /// the calls of a portion take beside.
    pub fn memory(
        &self,
        parties: usize,
        stages: &[Stage],
        model: &dyn CostModel,
    ) -> Result<Vec<u64>, Error> {
        let ends = self.0.iter().skip(1).map(|portion| portion.stage);
        let ends = ends.chain([stages.len()]);
        let mut most = vec![0; parties];
        for (portion, end) in self.0.iter().zip(ends) {
            let held = model.memory(&portion.calls);
            let shares = most_shares(&stages[portion.stage..end], model)?;
            for (party, most) in most.iter_mut().enumerate() {
                let shares = shares.saturating_mul(model.share_bytes(party));
                *most = held.saturating_add(shares).max(*most);
            }
        }
        Ok(most)
    }

    /// The number of the stage that each portion begins with.
    pub fn stages(&self) -> impl Iterator<Item = usize> {
        self.0.iter().map(|portion| portion.stage)
    }

    /// How many portions parties make together, and so wait for each other before and after.
    pub fn together(&self) -> usize {
        self.0.iter().filter(|portion| !portion.local).count()
    }

    /// The calls of every portion, lowered.
    pub fn calls(&self) -> impl Iterator<Item = &[Call]> {
        self.0.iter().map(|portion| &portion.calls[..])
    }
}

/// The most elements that shares have at once in one of these stages, those within functions among them.
fn most_shares(stages: &[Stage], model: &dyn CostModel) -> Result<u64, Error> {
    let mut most = 0;
    for stage in stages {
        let mut within = 0;
        for call in &stage.calls {
            within = held_within(call, model)?.max(within);
        }
        most = stage.held.saturating_add(within).max(most);
    }
    Ok(most)
}

/// The bytes of material that one party holds for these calls between the phases.
pub fn stored(calls: &[Call], model: &dyn CostModel) -> Result<u64, Error> {
    let calls = lowered(calls, model)?;
    let each = calls.iter().map(|call| model.stored(call));
    Ok(each.fold(0, u64::saturating_add))
}

/// About how many bytes one party holds while the material of these calls is made and they are
/// computed: the sum of what the protocol declares for each call.
pub fn workspace(calls: &[Call], model: &dyn CostModel) -> Result<u64, Error> {
    let calls = lowered(calls, model)?;
    let each = calls.iter().map(|call| model.workspace(call));
    Ok(each.fold(0, u64::saturating_add))
}

/// The portions of a running program that are still to be made.
#[derive(Default)]
pub struct Ahead {
    portions: MaterialPortions,
    /// The number of portions that are made.
    made: usize,
    /// The number of stages that have begun.
    begun: usize,
}

impl Ahead {
    pub(crate) fn of(portions: &MaterialPortions) -> Self {
        Ahead {
            portions: portions.clone(),
            ..Ahead::default()
        }
    }

    /// The program begins its next stage: whether material for it must be made, and which portion of it.
    fn due(&mut self) -> Option<Portion> {
        let stage = self.begun;
        self.begun += 1;
        let portion = self.portions.0.get(self.made)?;
        (portion.stage == stage).then(|| {
            self.made += 1;
            portion.clone()
        })
    }
}

/// Begins the next stage of a machine's program. See [`Machine::stage`].
///
/// What waits is verified before a portion is made, except before the first one if parties say nothing to make it.
pub(crate) fn begin_stage<M: Machine>(machine: &mut M) -> Result<(), Error> {
    let first = machine.ahead().made == 0;
    let Some(portion) = machine.ahead().due() else {
        return Ok(());
    };
    let layer = machine.party().meter().layer().to_string();
    // What waits belongs to the portion before, and to its phase.
    if !(first && portion.local) {
        machine.verify()?;
    }
    match portion.local {
        true => machine.prepare(&portion.calls)?,
        false => {
            level(machine.party())?;
            machine.prepare(&portion.calls)?;
            level(machine.party())?;
        }
    }
    machine.party().set_phase(Phase::Online);
    machine.party().set_layer(&layer);
    Ok(())
}

/// Waits until every party is here, so that no phase is charged for another's stragglers.
pub fn level(party: &mut Party) -> Result<(), Error> {
    const LEVEL: Message<[u8; 0]> = Message::new("level");
    party.set_phase(Phase::Setup);
    party.set_layer(LEVEL.step());
    let (us, parties) = (party.id(), party.parties());
    for peer in (0..parties).filter(|&peer| peer != us) {
        LEVEL.send(party, peer, &[])?;
    }
    for peer in (0..parties).filter(|&peer| peer != us) {
        LEVEL.recv(party, peer, ())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clear::ClearCost;
    use crate::cost::MAKING;

    /// Every ReLU stores as many bytes as it has elements.
    struct Bytes(ClearCost);

    impl CostModel for Bytes {
        fn online(&self, call: &Call) -> crate::Cost {
            self.0.online(call)
        }
        fn offline(&self, calls: &[Call]) -> crate::Cost {
            self.0.offline(calls)
        }
        fn stored(&self, call: &Call) -> u64 {
            match *call {
                Call::Relu { n, .. } => n as u64,
                _ => 0,
            }
        }
    }

    fn portions(sizes: &[usize], most: u64) -> MaterialPortions {
        let stages: Vec<[Call; 1]> = sizes.iter().map(|&n| [Call::relu(n)]).collect();
        let model = Bytes(ClearCost::new(3, 64));
        MaterialPortions::new(stages.iter().map(|stage| &stage[..]), &model, most)
            .expect("plain calls")
    }

    /// Stages are joined in as few portions as fit, in order; what is too large by itself is alone.
    #[test]
    fn stages_are_joined_as_far_as_they_fit() {
        for (sizes, most, starts) in [
            (&[4, 4, 4][..], 12, &[0][..]),
            (&[4, 4, 4], 11, &[0, 2]),
            (&[4, 4, 4], 3, &[0, 1, 2]),
            (&[1, 20, 1, 1], 10, &[0, 1, 2]),
            (&[], 10, &[]),
        ] {
            let found = portions(sizes, most);
            let found: Vec<usize> = found.0.iter().map(|portion| portion.stage).collect();
            assert_eq!(found, starts, "{sizes:?} within {most}");
        }
    }

    /// The shares of its fullest stage, and all of its material.
    #[test]
    fn memory_is_that_of_the_fullest_portion() {
        let stage = |n, held| Stage {
            name: String::new(),
            calls: vec![Call::relu(n)],
            held,
        };
        let stages = [stage(4, 10), stage(6, 5), stage(20, 1)];
        let model = Bytes(ClearCost::new(3, 64));
        let memory = |most| {
            let calls = stages.iter().map(|stage| &stage.calls[..]);
            let portions = MaterialPortions::new(calls, &model, most).expect("plain calls");
            portions.memory(1, &stages, &model).expect("plain calls")
        };
        let most = [10, 4, 30].map(|made| [MAKING * made + 80]);
        assert_eq!([10, 4, 1000].map(memory), most);
    }

    /// Parties that make nothing together before their first stage say nothing before it.
    #[test]
    fn nothing_is_said_where_nothing_is_made() {
        use crate::falcon::{Comparison, FalconCost, Options};
        let relu = [Call::relu(4)];
        let kept = |comparison| {
            let options = Options {
                comparison,
                ..Options::default()
            };
            let model = FalconCost::<u64>::new(options);
            let portions = MaterialPortions::new([&relu[..]], &model, u64::MAX);
            portions.expect("plain calls").0[0].local
        };
        assert!(kept(Comparison::Adder));
        assert!(!kept(Comparison::Falcon));
    }

    /// A portion is due at its first stage, once.
    #[test]
    fn a_portion_is_due_where_it_begins() {
        let mut ahead = Ahead::of(&portions(&[4, 4, 4], 8));
        let due: Vec<bool> = (0..4).map(|_| ahead.due().is_some()).collect();
        assert_eq!(due, [true, false, true, false]);
    }
}
