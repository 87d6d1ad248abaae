//! Key bits as users write them: `full`, `auto`, or as many before as after the point, `5.2`.

use tacit_nn::plan::{DEFAULT_KEY_BITS_LOSS, KeyBitsChoice};

use crate::Error;

/// Reads a choice; all bits if there is none. `loss` is for `auto` alone.
pub fn choice(text: Option<&str>, loss: Option<f64>) -> Result<KeyBitsChoice, Error> {
    let choice = match text {
        None | Some("full") => KeyBitsChoice::Full,
        Some("auto") => KeyBitsChoice::Auto {
            loss: loss.unwrap_or(DEFAULT_KEY_BITS_LOSS),
        },
        Some(text) => fixed(text).ok_or_else(|| {
            let why = "give full, auto, or the bits before and after the point, such as 5.2";
            Error::setting(format!("key bits '{}'", text.escape_debug()), why)
        })?,
    };
    if loss.is_some() && !matches!(choice, KeyBitsChoice::Auto { .. }) {
        let why = "it is for key bits that are found by themselves; ask for auto, or leave it out";
        return Err(Error::setting("key_bits_loss", why));
    }
    Ok(choice)
}

fn fixed(text: &str) -> Option<KeyBitsChoice> {
    let (integer, fraction) = text.split_once('.')?;
    let bits = |digits: &str| match digits.bytes().all(|b| b.is_ascii_digit()) {
        true => digits.parse().ok(),
        false => None,
    };
    Some(KeyBitsChoice::Fixed {
        integer: bits(integer)?,
        fraction: bits(fraction)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_read() {
        let read = |text, loss| choice(text, loss).expect("valid");
        assert_eq!(read(None, None), KeyBitsChoice::Full);
        assert_eq!(read(Some("full"), None), KeyBitsChoice::Full);
        let fixed = KeyBitsChoice::Fixed {
            integer: 5,
            fraction: 12,
        };
        assert_eq!(read(Some("5.12"), None), fixed);
        let auto = |loss| KeyBitsChoice::Auto { loss };
        assert_eq!(read(Some("auto"), None), auto(0.005));
        assert_eq!(read(Some("auto"), Some(0.02)), auto(0.02));
    }

    #[test]
    fn what_is_no_choice_is_refused() {
        for text in [
            "",
            "5",
            "5.",
            ".2",
            "5.2.1",
            "+5.2",
            "5.-2",
            "all",
            "5,2",
            "99999999999.1",
        ] {
            let error = choice(Some(text), None).expect_err(text).to_string();
            assert!(error.contains("such as 5.2"), "{error}");
        }
        for text in [None, Some("full"), Some("5.2")] {
            let error = choice(text, Some(0.1)).expect_err("no auto").to_string();
            assert!(error.starts_with("key_bits_loss: "), "{error}");
        }
    }
}
