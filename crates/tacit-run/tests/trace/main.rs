//! What runs log at the most verbose level: steps, and nothing of what is secret. A binary of its
//! own, since a process has one subscriber.

#[path = "../run/common.rs"]
#[allow(dead_code, reason = "other tests share it")]
mod common;

use std::io;
use std::sync::{Arc, Mutex};

use common::{compiled, inputs, noise, quiet};
use tacit_run::{CompileOptions, Settings, Tensor, run_local};
use tracing_subscriber::filter::LevelFilter;

/// Everything that was logged.
#[derive(Clone, Default)]
struct Trace(Arc<Mutex<Vec<u8>>>);

impl io::Write for Trace {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What of a trace may be a secret: a number of more than 6 digits, decimal or hexadecimal, one with
/// a point, or a list. Shares, seeds, keys and encoded numbers are no shorter, real inputs and weights
/// have a point; what a run may tell of itself is.
fn suspicious(trace: &str) -> Option<&str> {
    let word = |c: char| !(c.is_ascii_alphanumeric() || c == '.' || c == '_');
    let secret = |token: &&str| {
        let hex = token.trim_start_matches("0x");
        let digits = hex.len() > 6 && hex.bytes().all(|b| b.is_ascii_hexdigit());
        let long = digits && hex.bytes().any(|b| b.is_ascii_digit());
        let number = token.trim_end_matches('.');
        // A version has two points.
        let point =
            number.matches('.').count() == 1 && number.starts_with(|c: char| c.is_ascii_digit());
        long || point
    };
    let list = trace.find('[').map(|at| &trace[at..=at]);
    list.or_else(|| trace.split(word).find(secret))
}

#[test]
fn a_run_logs_its_steps_and_no_secret() {
    let trace = Trace::default();
    let writer = trace.clone();
    tracing_subscriber::fmt()
        .with_max_level(LevelFilter::TRACE)
        .with_ansi(false)
        .without_time()
        .with_writer(move || writer.clone())
        .init();
    let (x, shape) = inputs(3);
    let input = Tensor {
        values: &x,
        shape: &shape,
    };
    for run in [
        r#"{"protocol": "falcon"}"#,
        r#"{"protocol": "falcon", "security": "malicious"}"#,
        r#"{"protocol": "bicoptor"}"#,
        r#"{"protocol": "bicoptor", "sharing": "rss"}"#,
        r#"{"protocol": "shamir"}"#,
        r#"{"protocol": "sirnn"}"#,
        r#"{"protocol": "clear"}"#,
    ] {
        trace.0.lock().expect("no panic").clear();
        let settings = Settings::from_json(run).expect("valid");
        let model = compiled(&CompileOptions::default());
        let outcome = run_local(&model, &settings, input, &mut quiet).expect("predicts");
        let logged = String::from_utf8(trace.0.lock().expect("no panic").clone());
        let logged = logged.expect("text");
        for words in ["setup", "offline", "online", "conv1", "fc", "batch"] {
            assert!(logged.contains(words), "{run}: no {words} in\n{logged}");
        }
        assert_eq!(suspicious(&logged), None, "{run}:\n{logged}");
        let secrets = x.iter().chain(outcome.output.iter().flatten());
        for value in secrets.chain(&noise(1, 27)) {
            let encoded = (f64::from(*value) * f64::from(1 << 18)).round() as i64;
            let bits = [value.to_bits().into(), encoded as u64];
            let texts = [value.to_string(), encoded.to_string()];
            let hex = bits.map(|bits: u64| format!("{bits:x}"));
            for text in texts.iter().chain(&hex).filter(|text| text.len() > 4) {
                assert!(!logged.contains(text.as_str()), "{run}: {text}");
            }
        }
    }
    // What would be found.
    for secret in [
        "share 12345678901234",
        "share 0x9f86d081884c7d65",
        "seed a3f19c77",
        "x = 0.523",
        "the seed [1, 2, 3]",
        "conv1, -1.25e-3",
    ] {
        assert!(suspicious(secret).is_some(), "{secret}");
    }
    assert_eq!(suspicious("online conv1 50 %, 3 of 128, batch 64."), None);
}

/// What holds inputs, outputs or weights shows its sizes, wherever it is printed.
#[test]
fn inputs_and_outputs_are_not_printed() {
    let (x, shape) = inputs(2);
    let input = Tensor {
        values: &x,
        shape: &shape,
    };
    let model = compiled(&CompileOptions::default());
    let outcome = run_local(&model, &Settings::default(), input, &mut quiet).expect("predicts");
    let output = outcome.output.clone().expect("the data owner's");
    let printed = format!("{input:?} {outcome:?} {model:?}");
    for value in x.iter().chain(&output).chain(&noise(1, 27)) {
        let text = value.to_string();
        assert!(!printed.contains(&text), "{text} in {printed}");
    }
}
