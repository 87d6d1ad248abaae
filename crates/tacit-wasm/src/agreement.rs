//! Whether all parties describe the same model. It is here and not in JavaScript, whose numbers are not
//! exact beyond `2^53`.

use serde_json::Value;

/// What all parties must say alike. The session comes last: it alone may differ for a while, when the
/// parties meet anew.
const ALIKE: [&str; 15] = [
    "name",
    "version",
    "protocol",
    "security",
    "parties",
    "digest",
    "commitment",
    "scheme",
    "inputs",
    "outputs",
    "reveal",
    "input_fraction",
    "output_fraction",
    "plan",
    "session",
];

/// Something that parties say differently.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The key of what is said differently, such as `plan`.
    pub key: &'static str,
    /// Who says otherwise than most, by their places; all of them where there are no most.
    pub who: Vec<usize>,
}

/// What a party says of a model, of the text of its `/v2/models/{model}`; `None` if it is none.
pub fn read(text: &str) -> Option<Value> {
    match serde_json::from_str(text).ok()? {
        Value::Object(mut all) => all.remove("parameters").filter(Value::is_object),
        _ => None,
    }
}

/// The first thing that is not said alike.
pub fn difference(told: &[Value]) -> Option<Difference> {
    let differs = |key: &'static str| {
        let values: Vec<Option<&Value>> = told.iter().map(|one| one.get(key)).collect();
        let alike = |value| values.iter().filter(|&other| *other == value).count();
        let counts: Vec<usize> = values.iter().map(|&value| alike(value)).collect();
        let most = counts.iter().copied().max().unwrap_or(0);
        let who = |limit| (0..told.len()).filter(|&i| counts[i] < limit).collect();
        if most == told.len() {
            return None;
        }
        // Of two groups as large as each other, neither is the odd one.
        let who: Vec<usize> = if 2 * most > told.len() {
            who(most)
        } else {
            who(usize::MAX)
        };
        Some(Difference { key, who })
    };
    ALIKE.into_iter().find_map(differs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(digest: &str, limit: &str, session: &str) -> Value {
        let text = format!(
            r#"{{"name": "m", "parameters": {{"digest": "{digest}", "plan": {{"limit": {limit}}}, "session": "{session}"}}}}"#
        );
        read(&text).expect("well formed")
    }

    fn difference_of(all: [[&str; 3]; 3]) -> Option<(&'static str, Vec<usize>)> {
        let all = all.map(|[digest, limit, session]| told(digest, limit, session));
        difference(&all).map(|found| (found.key, found.who))
    }

    #[test]
    fn who_differs_is_named() {
        let same = ["d", "1", "s"];
        assert_eq!(difference_of([same; 3]), None);
        for odd in 0..3 {
            let mut all = [same; 3];
            all[odd] = ["other", "1", "t"];
            assert_eq!(difference_of(all), Some(("digest", vec![odd])));
            all[odd] = ["d", "1", "t"];
            assert_eq!(difference_of(all), Some(("session", vec![odd])));
        }
        let apart = [["a", "1", "s"], ["b", "1", "s"], ["c", "1", "s"]];
        assert_eq!(difference_of(apart), Some(("digest", vec![0, 1, 2])));
    }

    /// JavaScript takes these two for one number.
    #[test]
    fn large_numbers_are_compared_exactly() {
        let all = ["9007199254740992", "9007199254740993", "9007199254740992"];
        let all = all.map(|limit| ["d", limit, "s"]);
        assert_eq!(difference_of(all), Some(("plan", vec![1])));
    }

    #[test]
    fn what_is_no_description_is_none() {
        for text in [
            "",
            "[]",
            "{}",
            r#"{"parameters": 1}"#,
            "{\"parameters\": {}",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
