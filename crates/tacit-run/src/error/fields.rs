//! What a program asks of an error instead of reading its words: a code, which
//! `docs/troubleshooting.md` explains under that name, and whom, which step and which layer it is about.

use tacit_client::Refusal;
use tacit_net::{Loss, NetError};
use tacit_nn::encode::EncodeError;
use tacit_nn::onnx::ImportError;
use tacit_nn::plan::PlanError;

use crate::Error;

/// The parts of an error beside its words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fields {
    /// The kind of error.
    pub code: &'static str,
    /// The party that it is about: that was lost, sent something wrong or is suspected first.
    pub party: Option<usize>,
    /// The step of the protocol.
    pub step: Option<String>,
    /// The layer of the model.
    pub layer: Option<String>,
    /// Where in what was given it is, of an error about that.
    pub given: Option<Place>,
}

/// A place in what was given to predict, as far as it is a single one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// `labels`, where it is in these.
    pub input: Option<&'static str>,
    /// The number of the item.
    pub item: Option<usize>,
    /// The place in the item, axis by axis.
    pub position: Option<Vec<usize>>,
}

impl Place {
    fn at(item: usize, position: &[usize]) -> Self {
        Place {
            input: None,
            item: Some(item),
            position: Some(position.to_vec()),
        }
    }
}

impl Fields {
    fn of(code: &'static str) -> Self {
        Fields {
            code,
            party: None,
            step: None,
            layer: None,
            given: None,
        }
    }

    fn in_input(self, place: Place) -> Self {
        let given = Some(place);
        Fields { given, ..self }
    }

    fn by(self, party: usize) -> Self {
        let party = Some(party);
        Fields { party, ..self }
    }

    fn at(self, step: &str, layer: &str) -> Self {
        let outside = layer.is_empty() || layer == tacit_net::NO_LAYER;
        Fields {
            step: Some(step.into()),
            layer: (!outside).then(|| layer.into()),
            ..self
        }
    }
}

impl Error {
    /// The error's parts. An error that ended a run early has those of its cause.
    pub fn fields(&self) -> Fields {
        match self {
            Error::Net(error) => of_net(error),
            Error::Protocol(error) => of_protocol(error),
            Error::Import(error) => Fields::of(import_code(error)),
            Error::Plan(error) => of_plan(error),
            Error::Encode(error) => of_encoding(error),
            Error::Shape(_) => Fields::of("batch-length"),
            Error::Client(refusal) => of_client(refusal),
            Error::PeerPlan { party, .. } => Fields::of("bad-peer-plan").by(*party),
            Error::Malformed { party, what } => {
                Fields::of("malformed-words").by(*party).at(what, "")
            }
            Error::Setting { .. } => Fields::of("setting"),
            Error::Labels { item, .. } => Fields::of("labels").in_input(Place {
                input: Some("labels"),
                item: *item,
                position: None,
            }),
            Error::File { .. } => Fields::of("file"),
            Error::Data(_) => Fields::of("data"),
            Error::Wrong(_) => Fields::of("wrong-result"),
            Error::Early { cause, .. } => cause.fields(),
            Error::Cancelled => Fields::of("cancelled"),
            Error::Panic { party, .. } => Fields::of("defect").by(*party),
            Error::Files(_) => Fields::of("several-files"),
            Error::Processes(_) => Fields::of("processes"),
        }
    }
}

fn of_net(error: &NetError) -> Fields {
    match error {
        NetError::NoSuchParty { party, .. } => Fields::of("no-such-party").by(*party),
        NetError::PeerLost {
            party,
            how,
            step,
            layer,
            ..
        } => {
            let code = match how {
                Loss::Lost => "peer-lost",
                Loss::Stopped => "peer-stopped",
                Loss::Interrupted => "peer-interrupted",
            };
            Fields::of(code).by(*party).at(step, layer)
        }
        NetError::Interrupted => Fields::of("interrupted"),
        NetError::Accused {
            party,
            step,
            layer,
            suspects,
            ..
        } => {
            let first = suspects.first().copied().unwrap_or(*party);
            Fields::of("accused").by(first).at(step, layer)
        }
        NetError::Frame {
            party, step, layer, ..
        } => Fields::of("bad-frame").by(*party).at(step, layer),
        NetError::Step {
            party, ours, layer, ..
        } => Fields::of("wrong-step").by(*party).at(ours, layer),
        NetError::Length {
            party, step, layer, ..
        } => Fields::of("wrong-length").by(*party).at(step, layer),
        NetError::Disagreement { party, .. } => Fields::of("disagreement").by(*party),
        NetError::Invalid { .. } => Fields::of("link-setting"),
        NetError::File { .. } => Fields::of("link-file"),
        NetError::Listen { .. } => Fields::of("cannot-listen"),
        NetError::Absent { party, .. } => Fields::of("peer-absent").by(*party),
        NetError::Unproven { party, .. } => Fields::of("peer-unproven").by(*party),
        NetError::Refused { party, .. } => Fields::of("peer-refused").by(*party),
        NetError::RefusedByPeer { party, .. } => Fields::of("refused-by-peer").by(*party),
        NetError::System { .. } => Fields::of("system-resources"),
        NetError::Randomness(_) => Fields::of("no-randomness"),
    }
}

fn of_protocol(error: &tacit_protocols::Error) -> Fields {
    use tacit_protocols::Error as E;
    match error {
        E::Net(error) => of_net(error),
        E::Randomness(_) => Fields::of("protocol-no-randomness"),
        E::Peer { party, step, .. } => Fields::of("protocol-broken").by(*party).at(step, ""),
        E::Cheating { checked, step, .. } => Fields::of("cheating").by(*checked).at(step, ""),
        E::NotPrepared { .. } => Fields::of("not-prepared"),
        E::Invalid(_) => Fields::of("call-out-of-range"),
    }
}

fn of_client(refusal: &Refusal) -> Fields {
    match refusal {
        Refusal::Scheme(_) => Fields::of("unknown-sharing"),
        Refusal::Randomness(_) => Fields::of("client-no-randomness"),
        Refusal::Range { .. } => Fields::of("number-too-large"),
        Refusal::Length { party, .. } => Fields::of("answer-length").by(*party),
        Refusal::Contradiction { one, .. } => Fields::of("contradictory-answers").by(*one),
        Refusal::Model(_) => Fields::of("unknown-model"),
        Refusal::Input(_) => Fields::of("client-input"),
        Refusal::Class { .. } => Fields::of("client-class"),
        Refusal::Parties { .. } => Fields::of("number-of-answers"),
    }
}

fn import_code(error: &ImportError) -> &'static str {
    match error {
        ImportError::Io { .. } => "model-unreadable",
        ImportError::File { .. } => "not-onnx",
        ImportError::Tensor { .. } => "bad-tensor",
        ImportError::Node { .. } => "bad-node",
        ImportError::Unsupported(_) => "unsupported-node",
        ImportError::Dimension { .. } => "no-such-dimension",
        ImportError::Output { .. } => "bad-output",
        ImportError::Input { .. } => "bad-input",
    }
}

fn of_plan(error: &PlanError) -> Fields {
    Fields::of(match error {
        PlanError::Range { .. } => "out-of-ring",
        PlanError::Function { .. } => "function-domain",
        PlanError::Reveal { .. } => "cannot-reveal",
        PlanError::Option(_) => "plan-option",
        PlanError::Samples(_) => "samples-shape",
    })
}

fn of_encoding(error: &EncodeError) -> Fields {
    match error {
        EncodeError::Shape { .. } => Fields::of("input-shape").in_input(Place::default()),
        EncodeError::Length { .. } => Fields::of("input-length").in_input(Place::default()),
        EncodeError::Value { item, position, .. } => {
            Fields::of("input-value").in_input(Place::at(*item, position))
        }
        EncodeError::Kind { item, position, .. } => {
            Fields::of("input-kind").in_input(Place::at(*item, position))
        }
        EncodeError::Weight { layer, .. } => Fields {
            layer: Some(layer.clone()),
            ..Fields::of("weight-too-large")
        },
        EncodeError::Model(_) => Fields::of("other-model"),
        EncodeError::Class { .. } => Fields::of("no-such-class"),
        EncodeError::Result { .. } => Fields::of("result-length"),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn an_error_has_its_parts() {
        let lost = |layer: &str| NetError::PeerLost {
            party: 2,
            how: Loss::Lost,
            step: "rss reshare",
            layer: layer.into(),
            waited: Duration::ZERO,
            why: "closed".into(),
        };
        let early = Error::Early {
            cause: Box::new(Error::Net(lost("conv1"))),
            given: String::new(),
        };
        let fields = early.fields();
        assert_eq!((fields.code, fields.party), ("peer-lost", Some(2)));
        assert_eq!(fields.step.as_deref(), Some("rss reshare"));
        assert_eq!(fields.layer.as_deref(), Some("conv1"));
        let outside = Error::Net(lost(tacit_net::NO_LAYER)).fields();
        assert_eq!(outside.layer, None);
        let setting = Error::setting("batch", "is 0").fields();
        assert_eq!(setting, Fields::of("setting"));
    }
}
