//! The words by which the others are told of a party's error: why there is no run, and nothing of
//! its data, its model or its machine.

use tacit_net::{NetError, Party};
use tacit_nn::encode::EncodeError;

use crate::Error;

/// What else is to be known stands in the party's own message.
const OWN: &str = "its own message says more";

impl Error {
    /// Why this party stops, in words that the others may read.
    pub(crate) fn told(&self) -> String {
        match self {
            Error::Net(NetError::File { .. }) => {
                format!("its key or a certificate cannot be used; {OWN}")
            }
            Error::Encode(EncodeError::Value { value, limit, .. }) => {
                let what = match (value.is_nan(), value.is_infinite()) {
                    (true, _) => "NaN".into(),
                    (_, true) => "an infinite number".into(),
                    _ => format!("a number beyond the plan's {limit}"),
                };
                format!("its input holds {what}; {OWN}")
            }
            Error::Encode(EncodeError::Kind { .. }) => {
                format!("its input holds a number that the model's input does not take; {OWN}")
            }
            Error::Encode(EncodeError::Weight { .. }) => {
                format!("a weight of its model does not fit the plan; {OWN}")
            }
            Error::File { why, .. } if why.starts_with("it cannot be read") => {
                format!("a file of its config cannot be read; {OWN}")
            }
            Error::File { .. } => format!("a file of its config cannot be used; {OWN}"),
            Error::Setting { what, .. } if is_material(what) => {
                format!("its {what} cannot be used; {OWN}")
            }
            Error::Labels { .. } => format!("its labels cannot be used; {OWN}"),
            Error::Import(_) => format!("its model's file cannot be used; {OWN}"),
            Error::Plan(_) => format!("its model cannot be planned; {OWN}"),
            Error::Data(_) => format!("its data cannot be read; {OWN}"),
            Error::Panic { .. } => format!("a defect of its program; {OWN}"),
            Error::Early { cause, .. } => cause.told(),
            Error::Files(_) => format!("files of it cannot be written; {OWN}"),
            // These name no file of this party.
            Error::Net(_)
            | Error::Protocol(_)
            | Error::Encode(_)
            | Error::Shape(_)
            | Error::Client(_)
            | Error::PeerPlan { .. }
            | Error::Malformed { .. }
            | Error::Setting { .. }
            | Error::Wrong(_)
            | Error::Cancelled
            | Error::Processes(_) => self.to_string(),
        }
    }

    /// Tells the others of a party that stops with this error; what was said before stays.
    pub(crate) fn tell(&self, party: &mut Party) {
        match self {
            Error::Cancelled | Error::Net(NetError::Interrupted) => drop(party.interrupted()),
            error => party.give_up(&error.told()),
        }
    }
}

/// The settings whose errors show values.
fn is_material(what: &str) -> bool {
    let material = [
        "training data",
        "test data",
        "starting weights",
        "labels",
        "input",
        "samples",
    ];
    material.contains(&what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_the_data_is_told() {
        for (error, words) in [
            (
                Error::Encode(EncodeError::Value {
                    input: "the input".into(),
                    item: 31,
                    position: vec![31],
                    value: 77.5,
                    limit: 8.0,
                }),
                "its input holds a number beyond the plan's 8",
            ),
            (
                Error::Encode(EncodeError::Kind {
                    input: "the input 'ids'".into(),
                    item: 31,
                    position: vec![31],
                    value: 77.5,
                    takes: "whole numbers from 0 to 9".into(),
                }),
                "its input holds a number that the model's input does not take",
            ),
            (
                Error::setting("training data", "item 31 of party 0: its feature 1 is 77.5"),
                "its training data cannot be used",
            ),
            (
                Error::Labels {
                    item: Some(31),
                    why: "item 31 has the class 31".into(),
                },
                "its labels cannot be used",
            ),
            (
                Error::setting("labels", "label 31 is class 77.5"),
                "its labels cannot be used",
            ),
            (
                Error::file("/home/31/77.5.npy".as_ref(), "it cannot be read (gone)"),
                "a file of its config cannot be read",
            ),
            (
                Error::file("/home/x.npy".as_ref(), "item 31 is 77.5"),
                "a file of its config cannot be used",
            ),
            (
                Error::Files(vec![Error::file("/home/31/77.5.npy".as_ref(), "no room")]),
                "files of it cannot be written",
            ),
        ] {
            let told = error.told();
            assert!(told.starts_with(words), "{told}");
            assert!(!told.contains("31") && !told.contains("77.5"), "{told}");
        }
    }
}
