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
use crate::{Error, lowered};

/// The portions of a program's material, in order. A program may be run with them many times.
#[derive(Clone, Default)]
pub struct Portions(Arc<[Portion]>);

#[derive(Clone)]
struct Portion {
    /// The number of the stage that the portion begins with.
    stage: usize,
    /// The calls that the portion is for, lowered to those that the machine sees.
    calls: Vec<Call>,
}

impl Portions {
    /// Divides the calls of every stage into as few portions as a party can make in `most` bytes each; a
    /// stage that needs more is a portion by itself. Everything that waits is verified before a portion
    /// is made.
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
                    portions.push(Portion { stage, calls });
                    held = bytes;
                }
            }
        }
        let last = portions.len().saturating_sub(1);
        for (i, portion) in portions.iter_mut().enumerate() {
            let settled = (i < last).then_some(Call::Verify(Unverified::default()));
            portion.calls.extend(settled);
            portion.calls = lowered(&portion.calls, model)?;
        }
        Ok(Portions(portions.into()))
    }

    /// The calls of every portion, lowered.
    pub fn calls(&self) -> impl Iterator<Item = &[Call]> {
        self.0.iter().map(|portion| &portion.calls[..])
    }
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
    portions: Portions,
    /// The number of portions that are made.
    made: usize,
    /// The number of stages that have begun.
    begun: usize,
}

impl Ahead {
    pub(crate) fn of(portions: &Portions) -> Self {
        Ahead {
            portions: portions.clone(),
            ..Ahead::default()
        }
    }

    /// The program begins its next stage: whether material for it must be made, and of which calls.
    fn due(&mut self) -> Option<Vec<Call>> {
        let stage = self.begun;
        self.begun += 1;
        let portion = self.portions.0.get(self.made)?;
        (portion.stage == stage).then(|| {
            self.made += 1;
            portion.calls.clone()
        })
    }
}

/// Begins the next stage of a machine's program. See [`Machine::stage`].
pub(crate) fn begin_stage<M: Machine>(machine: &mut M) -> Result<(), Error> {
    let Some(calls) = machine.ahead().due() else {
        return Ok(());
    };
    let layer = machine.party().meter().layer().to_string();
    // What waits belongs to the portion before, and to its phase.
    machine.settle()?;
    level(machine.party())?;
    machine.prepare(&calls)?;
    level(machine.party())?;
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

    fn portions(sizes: &[usize], most: u64) -> Portions {
        let stages: Vec<[Call; 1]> = sizes.iter().map(|&n| [Call::relu(n)]).collect();
        let model = Bytes(ClearCost::new(3, 64));
        Portions::new(stages.iter().map(|stage| &stage[..]), &model, most).expect("plain calls")
    }

    /// In as few as fit, in order; what is too large by itself is alone.
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

    /// A portion is due at its first stage, once.
    #[test]
    fn a_portion_is_due_where_it_begins() {
        let mut ahead = Ahead::of(&portions(&[4, 4, 4], 8));
        let due: Vec<bool> = (0..4).map(|_| ahead.due().is_some()).collect();
        assert_eq!(due, [true, false, true, false]);
    }
}
