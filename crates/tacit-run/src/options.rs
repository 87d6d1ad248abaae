//! Options as users give them, read so that an error names the option and speaks of nothing that
//! they did not write.

use std::path::Path;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::Error;

/// What the deserialiser calls things, and what users call them.
const PLAIN: [(&str, &str); 10] = [
    (
        "expected a nonzero usize",
        "expected a whole number of at least 1",
    ),
    ("expected usize", "expected a whole number"),
    ("expected u64", "expected a whole number"),
    ("expected u32", "expected a whole number"),
    ("expected u16", "expected a whole number below 65536"),
    ("expected i64", "expected a whole number"),
    ("expected f64", "expected a number"),
    ("expected f32", "expected a number"),
    ("expected a boolean", "expected true or false"),
    ("expected a sequence", "expected a list"),
];

/// Reads options from a JSON object; `what` they are together.
pub fn read<T: DeserializeOwned>(what: &str, text: &str) -> Result<T, Error> {
    let refused = |key: &str, e: serde_json::Error| {
        let why = plain(&e.to_string());
        if why.starts_with("unknown field") {
            return Error::setting(what, why);
        }
        // Some name themselves what they are about.
        match (why.strip_prefix(key), why.split_once(": ")) {
            (Some(_), Some((named, rest))) => Error::setting(named, rest),
            (Some(rest), None) => Error::setting(key, rest.trim_start()),
            (None, _) => Error::setting(key, why),
        }
    };
    let all: Map<String, Value> = serde_json::from_str(text).map_err(|e| refused(what, e))?;
    serde_json::from_value(all.clone().into()).map_err(|error| {
        let alone = |(key, value): (&String, &Value)| -> Option<Error> {
            let alone = Map::from_iter([(key.clone(), value.clone())]);
            let error = serde_json::from_value::<T>(alone.into()).err()?;
            let absent = error.to_string().starts_with("missing field");
            (!absent).then(|| refused(key, error))
        };
        all.iter()
            .find_map(alone)
            .unwrap_or_else(|| refused(what, error))
    })
}

/// What stands in the `[party]` table of a config and nowhere else.
const OF_PARTY: [&str; 6] = [
    "id",
    "key",
    "certificate",
    "listen",
    "connect_timeout",
    "record",
];

/// Reads a config file; errors name it, and that it is not there says `help`.
pub(crate) fn read_file<T: DeserializeOwned>(path: &Path, help: &str) -> Result<T, Error> {
    let text = std::fs::read_to_string(path)
        .map_err(|e| Error::file(path, format!("it cannot be read ({e}); {help}")))?;
    toml::from_str(&text).map_err(|e: toml::de::Error| {
        // Not the line itself: a password or a token may stand in it, and errors are logged.
        let before = e.span().and_then(|span| text.get(..span.start));
        let at = before.map_or(String::new(), |before| {
            let line = 1 + before.matches('\n').count();
            let column = 1 + before.chars().rev().take_while(|c| *c != '\n').count();
            format!("line {line}, column {column}: ")
        });
        let mut why = at + &plain(e.message());
        let unknown = |key| why.contains(&format!("unknown field `{key}`"));
        if why.contains("`party`") && OF_PARTY.into_iter().any(unknown) {
            let keys = OF_PARTY.join(", ");
            why +=
                &format!("; write [party] above {keys}, and below all other keys without a table");
        }
        Error::file(path, why)
    })
}

/// An error of a deserialiser in users' words, without a place in a text that they did not write.
pub(crate) fn plain(words: &str) -> String {
    let words = match words.rfind(" at line ") {
        Some(end) if words[end..].contains(" column ") && !words.contains('\n') => &words[..end],
        _ => words,
    };
    let named = |words: String, (rust, plain): &(&str, &str)| words.replace(rust, plain);
    PLAIN.iter().fold(words.to_owned(), named)
}

#[cfg(test)]
mod tests {
    use crate::{CompileOptions, Settings, TrainOptions};

    #[test]
    fn errors_name_the_option_in_plain_words() {
        let settings = |json| Settings::from_json(json).map(drop);
        let compile = |json| CompileOptions::from_json(json).map(drop);
        let train = |json| TrainOptions::from_json(json).map(drop);
        for (ended, expected) in [
            (
                settings(r#"{"batch": 0}"#),
                "batch: invalid value: integer `0`, expected a whole number of at least 1",
            ),
            (
                settings(r#"{"timeout": -1}"#),
                "timeout: -1 is no time limit; give seconds from 0.001 to 31622400",
            ),
            (
                settings(r#"{"parties": "three"}"#),
                "parties: invalid type: string \"three\", expected a whole number",
            ),
            (
                settings(r#"{"model_owner": 1.5}"#),
                "model_owner: a party's number, or its role in quotes",
            ),
            (
                compile(r#"{"ring": "wide"}"#),
                "ring: invalid type: string \"wide\", expected a whole number",
            ),
            (
                compile(r#"{"public_model": 1}"#),
                "public_model: invalid type: integer `1`, expected true or false",
            ),
            (
                train(r#"{"epochs": -1}"#),
                "epochs: invalid value: integer `-1`, expected a whole number",
            ),
            (
                train(r#"{"sgd": {"momentum": "much"}}"#),
                "sgd: invalid type: string \"much\", expected a number",
            ),
        ] {
            let error = ended.expect_err(expected).to_string();
            assert_eq!(error, expected);
        }
        let error = settings(r#"{"truncation": "no"}"#)
            .expect_err("refused")
            .to_string();
        assert_eq!(error.matches("truncation").count(), 1, "{error}");
        let error = settings(r#"{"bach": 1}"#).expect_err("refused").to_string();
        assert!(
            error.starts_with("settings: unknown field `bach`"),
            "{error}"
        );
    }

    /// A config's errors say where they are, and not what else stands in that line.
    #[test]
    fn lines_of_a_config_are_not_shown() {
        let path = std::env::temp_dir().join(format!("tacit-options-{}.toml", std::process::id()));
        for (text, at) in [
            (
                "[run]\nprotocol = \"falcon\"\ntraces = \"https://u:hunter2@h",
                "line 3",
            ),
            (
                "[run]\nsecret = { command = [\"hunter2\"], shell = 1 }\n",
                "line 1, column 1",
            ),
        ] {
            std::fs::write(&path, text).expect("written");
            let read = super::read_file::<std::collections::BTreeMap<String, Settings>>(&path, "");
            let error = read.map(drop).expect_err(text).to_string();
            assert!(error.contains(at) && !error.contains("hunter2"), "{error}");
        }
        std::fs::remove_file(&path).expect("removed");
    }
}
