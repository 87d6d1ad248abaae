//! What each party metered, told to the others at the end of a run.

use serde::{Deserialize, Serialize};
use tacit_net::{Party, Phase};

use crate::Error;
use crate::report::PhaseReport;

const STEP: &str = "totals";
/// The most bytes by which another party's totals exceed twice our own.
const SLACK: usize = 4 << 20;

/// What one party's meters say of a run, by phases, layers and batches.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Totals {
    pub setup: Metered,
    pub offline: Metered,
    pub online: Metered,
    /// The layers of the online phase.
    pub layers: Vec<(String, Metered)>,
    /// Seconds of each batch, offline and online.
    pub batches: Vec<[f64; 2]>,
}

/// What a party has spent and sent.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metered {
    /// Wall time in seconds.
    pub seconds: f64,
    /// Hops on the longest path.
    pub rounds: u32,
    /// Payload bytes that were sent.
    pub bytes: u64,
}

impl Metered {
    fn of(traffic: &tacit_net::Traffic) -> Self {
        Metered {
            seconds: traffic.seconds,
            rounds: traffic.rounds,
            bytes: traffic.bytes_sent,
        }
    }

    /// The totals of a phase.
    pub fn phase(party: &Party, phase: Phase) -> Self {
        Self::of(&party.meter().total(phase))
    }

    /// What was metered since `before`.
    pub fn since(self, before: Metered) -> Self {
        Metered {
            seconds: self.seconds - before.seconds,
            rounds: self.rounds - before.rounds,
            bytes: self.bytes - before.bytes,
        }
    }
}

impl Totals {
    pub(crate) fn of(party: &Party, batches: Vec<[f64; 2]>) -> Self {
        let layers = party.meter().layers(Phase::Online);
        Totals {
            setup: Metered::phase(party, Phase::Setup),
            offline: Metered::phase(party, Phase::Offline),
            online: Metered::phase(party, Phase::Online),
            layers: layers
                .iter()
                .map(|(name, traffic)| (name.clone(), Metered::of(traffic)))
                .collect(),
            batches,
        }
    }
}

/// Tells the others this party's `own` totals; those of all parties, in order.
pub(crate) fn exchange<T: Serialize + for<'de> Deserialize<'de>>(
    party: &mut Party,
    own: T,
) -> Result<Vec<T>, Error> {
    party.set_phase(Phase::Setup);
    party.set_layer(STEP);
    let us = party.id();
    let malformed = |party| Error::Malformed { party, what: STEP };
    let bytes = serde_json::to_vec(&own).map_err(|_| malformed(us))?;
    for peer in (0..party.parties()).filter(|&peer| peer != us) {
        party.send(peer, STEP, bytes.clone())?;
    }
    let most = SLACK + 2 * bytes.len();
    let mut own = Some(own);
    let mut all = Vec::new();
    for peer in 0..party.parties() {
        all.push(match own.take_if(|_| peer == us) {
            Some(own) => own,
            None => {
                let theirs = party.recv_at_most(peer, STEP, most)?;
                serde_json::from_slice(&theirs).map_err(|_| malformed(peer))?
            }
        });
    }
    Ok(all)
}

/// What one phase cost all parties: the slowest party's time and the longest party's path.
impl FromIterator<Metered> for PhaseReport {
    fn from_iter<I: IntoIterator<Item = Metered>>(of_party: I) -> Self {
        let mut phase = PhaseReport::default();
        for metered in of_party {
            phase.seconds = phase.seconds.max(metered.seconds);
            phase.rounds = phase.rounds.max(metered.rounds);
            phase.bytes_sent.push(metered.bytes);
        }
        phase
    }
}
