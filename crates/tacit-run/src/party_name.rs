//! A party, as users name it.

use std::fmt::{self, Display, Formatter};

use serde::Deserialize;

use crate::{Error, Protocol};

/// A party by its number, or by its role where the protocol has names for them.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "a party's number, or its role in quotes")]
pub enum PartyName {
    /// A number, from 0.
    Number(usize),
    /// A role of the protocol, such as `server`.
    Role(String),
}

impl PartyName {
    /// The party's number among so many; `what` names the setting in errors.
    pub(crate) fn number(
        &self,
        what: &str,
        protocol: &Protocol,
        parties: usize,
    ) -> Result<usize, Error> {
        let found = match self {
            PartyName::Number(number) => Some(*number).filter(|&number| number < parties),
            PartyName::Role(role) => protocol.roles.iter().position(|known| known == role),
        };
        found.ok_or_else(|| {
            let known = match protocol.roles {
                [] => format!("they are 0 to {}", parties.saturating_sub(1)),
                roles => format!("those of {} are {}", protocol.name, numbered(roles)),
            };
            Error::setting(what, format!("{self} is not a party; {known}"))
        })
    }
}

/// `0 (server), 1 (client)`.
fn numbered(roles: &[&str]) -> String {
    let each = roles.iter().enumerate();
    let words: Vec<_> = each
        .map(|(party, role)| format!("{party} ({role})"))
        .collect();
    words.join(", ")
}

impl Display for PartyName {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        match self {
            PartyName::Number(number) => number.fmt(f),
            PartyName::Role(role) => write!(f, "'{}'", role.escape_debug()),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Settings;

    fn owner(protocol: &str, name: &str, parties: usize) -> Result<usize, String> {
        let json = format!(r#"{{"protocol": "{protocol}", "model_owner": {name}}}"#);
        let settings = Settings::from_json(&json).map_err(|e| e.to_string())?;
        let roles = settings.roles(parties).map_err(|e| e.to_string())?;
        Ok(roles.model_owner)
    }

    #[test]
    fn a_party_is_a_number_or_a_role() {
        assert_eq!(owner("sirnn", "1", 2), Ok(1));
        assert_eq!(owner("sirnn", r#""server""#, 2), Ok(0));
        assert_eq!(owner("sirnn", r#""client""#, 2), Ok(1));
        assert_eq!(owner("falcon", "2", 3), Ok(2));
    }

    #[test]
    fn who_is_no_party_is_told_who_is() {
        for (protocol, name, parties, why) in [
            (
                "sirnn",
                r#""sever""#,
                2,
                "'sever' is not a party; those of sirnn are 0 (server), 1 (client)",
            ),
            (
                "sirnn",
                "2",
                2,
                "2 is not a party; those of sirnn are 0 (server)",
            ),
            (
                "falcon",
                r#""server""#,
                3,
                "model_owner: 'server' is not a party; they are 0 to 2",
            ),
            (
                "falcon",
                "3",
                3,
                "model_owner: 3 is not a party; they are 0 to 2",
            ),
            ("falcon", "-1", 3, "a party's number, or its role in quotes"),
        ] {
            let error = owner(protocol, name, parties).expect_err(why);
            assert!(error.contains(why), "{error}");
        }
    }
}
