//! Where a training begins: with new weights, or from the newest checkpoint that all parties have.

use serde::Serialize;
use serde_json::Value;
use tacit_protocols::machine::{Erased, Handle, Machine};
use tacit_train::{Coin, FixedPoint, Network, State};
use zeroize::Zeroizing;

use super::TrainOptions;
use super::agree::Part;
use super::checkpoint::{Keeper, Place, Position};
use super::program::Job;
use crate::Error;
use crate::agreement::Agreement;
use crate::digest::{digest, hash};

/// Everything that a checkpoint belongs to: shares of another training are of no use.
#[derive(Serialize)]
pub(crate) struct Identity<'a> {
    pub protocol: &'static str,
    /// The protocol's options by their keys, and their values.
    pub choices: Vec<(&'static str, Value)>,
    pub parties: usize,
    pub fixed: FixedPoint,
    pub network: &'a Network,
    pub options: TrainOptions,
    /// The owners of the data, and how many items each brings.
    pub train: Vec<(usize, usize)>,
    /// The owners of the test data, and how many items each brings.
    pub test: Vec<(usize, usize)>,
}

impl Job<'_> {
    /// The checkpoints, if they are wanted. Parties of different trainings have none in common.
    pub(super) fn keeper(&self, machine: &mut Erased) -> Result<Option<Keeper>, Error> {
        let Some(options) = &self.options.checkpoint else {
            return Ok(None);
        };
        let lens = |parts: &[Part]| -> Vec<_> {
            parts.iter().map(|part| (part.owner, part.items)).collect()
        };
        // How long it lasts, and where its files are, may change.
        let same = TrainOptions {
            epochs: 0,
            checkpoint: None,
            material_mb: None,
            stop_after: None,
            ..self.options.clone()
        };
        let identity = Identity {
            protocol: self.instance.protocol.name,
            choices: self.instance.options.values(),
            parties: self.instance.parties,
            fixed: self.training.fixed,
            network: self.training.network,
            options: same,
            train: lens(&self.parts.train),
            test: lens(&self.parts.test),
        };
        let digest = digest("checkpoint", &identity)?;
        Keeper::open(options, machine.party().id(), digest).map(Some)
    }

    /// The state of the newest checkpoint that all parties have, or a new one; which it is they agree
    /// on.
    pub(super) fn begin(
        &mut self,
        machine: &mut Erased,
        keeper: Option<&Keeper>,
    ) -> Result<(State, Position), Error> {
        let found = keeper
            .map(Keeper::positions)
            .transpose()?
            .unwrap_or_default();
        let (position, resumed) = place(Agreement::new(machine.party()), &found)?;
        machine.party().set_layer("weights");
        self.training.coin = coin(&position.place.run);
        let state = match (&resumed, keeper) {
            (Some(resumed), Some(keeper)) => {
                self.restored(machine, &keeper.load(resumed)?, resumed.place.done)?
            }
            _ => self.fresh(machine)?,
        };
        let training = keeper.map(|k| k.training().into()).unwrap_or_default();
        let place = Place {
            training,
            ..position.place
        };
        Ok((state, Position { place, ..position }))
    }

    /// The starting weights, shared by the model's owner.
    fn fresh(&self, machine: &mut Erased) -> Result<State, Error> {
        let owns = machine.party().id() == self.receiver;
        let start = match (owns, self.start) {
            (true, Some(start)) => Some(start.to_vec()),
            (true, None) => Some(self.options.initial(self.training.network)),
            (false, _) => None,
        };
        let mut parameters = Vec::new();
        for (i, parameter) in self.training.network.parameters().iter().enumerate() {
            let own = start
                .as_ref()
                .map(|s| self.training.fixed.encode_all(&s[i]));
            let values = own.transpose().map_err(|beyond| {
                Error::setting("starting weights", format!("parameter {i} holds {beyond}"))
            })?;
            let share = machine.input(self.receiver, parameter.len, values.as_deref())?;
            parameters.push(share);
        }
        let lens: Vec<usize> = parameters.iter().map(|p| machine.len(p)).collect();
        let mut none = || -> Vec<Handle> {
            let zeros = lens.iter().map(|n| machine.constant(&vec![0; *n]));
            zeros.collect()
        };
        Ok(State {
            velocity: none(),
            squares: match self.training.optimiser.has_squares() {
                true => none(),
                false => Vec::new(),
            },
            parameters,
            steps: 0,
        })
    }

    fn restored(
        &self,
        machine: &mut Erased,
        shares: &[Zeroizing<Vec<u8>>],
        steps: usize,
    ) -> Result<State, Error> {
        let all = self.training.network.parameters();
        let squares = self.training.optimiser.has_squares();
        if shares.len() != (2 + usize::from(squares)) * all.len() {
            let why = "the checkpoint has another number of tensors than the network";
            return Err(Error::setting("checkpoint", why));
        }
        let (first, rest) = shares.split_at(all.len());
        let (second, third) = rest.split_at(all.len());
        let mut load = |bytes: &[Zeroizing<Vec<u8>>]| -> Result<Vec<Handle>, Error> {
            let pairs = all.iter().zip(bytes);
            pairs
                .map(|(p, bytes)| Ok(machine.load(p.len, bytes)?))
                .collect()
        };
        Ok(State {
            parameters: load(first)?,
            velocity: load(second)?,
            squares: load(third)?,
            steps,
        })
    }
}

/// Agrees with the others on where the training begins, of the positions that this party has: where it
/// is from now on, and the position that it goes on from if it does.
pub(super) fn place(
    mut agreement: Agreement,
    found: &[Position],
) -> Result<(Position, Option<Position>), Error> {
    let us = agreement.us();
    let key = |p: &Position| (p.place.run.clone(), p.place.session.clone(), p.place.done);
    let own: Vec<_> = found.iter().map(key).collect();
    let all = agreement.exchanged("checkpoints", &own)?;
    let common = found
        .iter()
        .find(|p| all.iter().all(|other| other.contains(&key(p))));
    if common.is_none() && all.iter().any(|positions| !positions.is_empty()) {
        let why = "the parties have no checkpoint of one moment in common; give a folder that all others' fit, or empty folders to begin anew";
        return Err(Error::setting("checkpoint", why));
    }
    let (promised, parts) = drawn(&mut agreement)?;
    let session = hash(parts.concat().as_bytes());
    let run = common.map_or(&session, |p| &p.place.run).clone();
    let done = common.map_or(0, |p| p.place.done);
    let from = common.map_or("(none)".into(), |p| p.place.session.clone());
    agreement.conclude(&[
        ("mini-batches that are done", done.to_string()),
        ("run of the training", run.clone()),
        ("session that it goes on from", from),
        ("session", session.clone()),
    ])?;
    check_promises(&promised, &parts)?;
    let place = Place {
        training: String::new(),
        run,
        session,
        party: us,
        done,
    };
    let epochs = common.map_or(Vec::new(), |p| p.epochs.clone());
    Ok((Position { place, epochs }, common.cloned()))
}

/// A name that all parties draw together: each says what its part hashes to before it hears another's,
/// so that none can choose one that was there before, or what a training drops.
///
/// What each promised and its part, which all know alike once they have agreed.
fn drawn(agreement: &mut Agreement) -> Result<(Vec<String>, Vec<String>), Error> {
    let mut random = [0u8; 32];
    let failed = |e: getrandom::Error| tacit_protocols::Error::Randomness(e.to_string());
    getrandom::fill(&mut random).map_err(failed)?;
    // Its hash, so that nobody sees the system's random numbers themselves.
    let part = hash(&random);
    let promised = agreement.exchanged("session's promise", &hash(part.as_bytes()))?;
    let parts = agreement.exchanged("session", &part)?;
    Ok((promised, parts))
}

/// Refuses parts of which one is not what its party promised.
fn check_promises(promised: &[String], parts: &[String]) -> Result<(), Error> {
    let kept = |(part, promised): (&String, &String)| hash(part.as_bytes()) == *promised;
    match parts.iter().zip(promised).position(|both| !kept(both)) {
        None => Ok(()),
        Some(party) => {
            let why = format!("party {party} has another part than it promised");
            Err(Error::setting("session", why))
        }
    }
}

/// What a run's dropped elements are drawn from: the same after every start.
fn coin(run: &str) -> Coin {
    blake3::derive_key("tacit training: which elements are dropped", run.as_bytes())
}

/// Writes this party's shares.
pub(super) fn keep(
    machine: &mut Erased,
    keeper: &Keeper,
    state: &State,
    position: &Position,
) -> Result<(), Error> {
    let all = state.parameters.iter().chain(&state.velocity);
    let all = all.chain(&state.squares);
    let shares: Vec<Vec<u8>> = all.map(|share| machine.save(share)).collect();
    keeper.save(position, &shares)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_that_was_not_promised_is_named() {
        let parts = ["a", "b", "c"].map(String::from);
        let mut promised = parts.clone().map(|part| hash(part.as_bytes()));
        assert!(check_promises(&promised, &parts).is_ok());
        promised.swap(1, 2);
        let said = check_promises(&promised, &parts).expect_err("refused");
        assert!(said.to_string().contains("party 1"), "{said}");
    }
}
