//! Where a report comes from: when it was made, by which parties, and of which plan.

use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use tacit_net::{Party, date};

use crate::PeerConfig;
use crate::record::Trace;

/// Where a report comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    /// The time at which the run ended, in UTC.
    pub date: String,
    /// The digest of the plan that the parties agreed on, once they had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// The run's name, the same at all parties; none where the parties were not apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The parties that met, by their numbers; none where the parties were not apart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub met: Vec<Met>,
}

/// One party of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Met {
    /// The name that this party's config has for it.
    pub name: String,
    /// The fingerprint of the certificate that it has shown.
    pub certificate: String,
}

/// The session that a party is in with others that are apart.
#[derive(Clone, Debug)]
pub(crate) struct Encounter {
    run: String,
    met: Vec<Met>,
}

impl Encounter {
    /// The session of a party, whose config names all parties; none in one process.
    pub fn of(party: &Party, peers: &[PeerConfig]) -> Option<Self> {
        let meeting = party.meeting()?;
        let met = peers.iter().zip(&meeting.certificates);
        let met = met.map(|(peer, certificate)| Met {
            name: peer.name.clone(),
            certificate: certificate.clone(),
        });
        Some(Encounter {
            run: meeting.name.clone(),
            met: met.collect(),
        })
    }

    /// This session, as its request of this number, from 1, is known.
    pub fn request(mut self, number: usize) -> Self {
        if number > 1 {
            self.run += &format!("-{number}");
        }
        self
    }
}

impl Provenance {
    /// What is known of a run that ends now.
    pub(crate) fn of(trace: &Trace) -> Self {
        let (run, met) = match &trace.encounter {
            Some(Encounter { run, met }) => (Some(run.clone()), met.clone()),
            None => (None, Vec::new()),
        };
        Provenance {
            date: date(SystemTime::now()),
            plan: trace.plan.clone(),
            run,
            met,
        }
    }
}
