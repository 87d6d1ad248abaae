//! Every option of every protocol, with each of its values, in all places that it has.

use serde_json::json;
use tacit_nn::plan::Order;
use toml::Table;

use super::*;
use crate::init::Setup;
use crate::protocol::text;
use crate::terms::Terms;
use crate::{CompileOptions, Report};

/// Every option of every protocol with a value, and whether that is the one that holds if none is given.
fn all() -> Vec<(&'static Protocol, &'static str, Value, bool)> {
    let mut found = Vec::new();
    for protocol in protocols() {
        for spec in (protocol.options)() {
            let named = spec.choices.iter().map(|&name| Value::from(name));
            let values = match spec.choices.is_empty() {
                true => vec![json!(1)],
                false => named.collect(),
            };
            let each = values.into_iter().enumerate();
            found.extend(each.map(|(i, value)| (protocol, spec.key, value, i == 0)));
        }
    }
    found
}

fn settings(protocol: &str, key: &str, value: &Value) -> Settings {
    let all = json!({"protocol": protocol, key: value});
    Settings::from_json(&all.to_string()).expect("known keys")
}

fn terms(settings: &Settings) -> Terms {
    Terms::new(settings, None, Order::default(), false).expect("valid")
}

/// The settings as a party's config file has them.
fn written(settings: &Settings, terms: &Terms) -> Settings {
    let setup = Setup {
        settings,
        options: &CompileOptions::default(),
        instance: terms.instance,
        roles: terms.roles,
        ports: (7100..).take(terms.instance.parties).collect(),
        connect_timeout: 1.0,
        model: "m.onnx".into(),
        samples: None,
        input: "x.npy".into(),
        output: "output.npy".into(),
    };
    let text = setup.config(0).expect("a config file");
    let mut table: Table = text.parse().expect("TOML");
    let run = table.remove("run").expect("a table");
    run.try_into().expect("settings")
}

#[test]
fn an_option_is_chosen_agreed_on_reported_and_written() {
    for (protocol, key, value, _) in all() {
        let what = format!("{} with {key} = {value}", protocol.name);
        let settings = settings(protocol.name, key, &value);
        let terms = terms(&settings);
        let chosen = terms.instance.options.values();
        assert!(chosen.contains(&(key, value.clone())), "{what}: {chosen:?}");
        let report = serde_json::to_value(Report::of_terms(&terms)).expect("JSON");
        if key != "security" {
            assert!(terms.items().contains(&(key, text(&value))), "{what}");
            assert_eq!(report[key], value, "{what}");
        }
        let config = written(&settings, &terms);
        assert_eq!(config.options.get(key), Some(&value), "{what}");
    }
}

#[test]
fn a_report_is_read_as_it_was_written() {
    let terms = terms(&settings("shamir", "comparison", &json!("rot")));
    let report = Report::of_terms(&terms);
    let read: Report = serde_json::from_str(&report.to_json()).expect("a report");
    assert_eq!(read.options, report.options);
    assert_eq!(read.to_json(), report.to_json());
}

#[test]
fn values_differ_in_what_is_agreed_on() {
    for (protocol, key, value, first) in all() {
        let items = terms(&settings(protocol.name, key, &value)).items();
        let without = terms(&settings(protocol.name, key, &Value::Null)).items();
        // The only number, a threshold of 1, is the default among the fewest parties.
        let same = first || value.is_number();
        assert_eq!(items == without, same, "{}: {key} = {value}", protocol.name);
    }
}

#[test]
fn an_option_is_explained_in_the_same_words_and_has_the_same_default_everywhere() {
    let mut known: Vec<OptionSpec> = Vec::new();
    for spec in protocols().iter().flat_map(|protocol| (protocol.options)()) {
        let sentence = spec.help.contains(". ") || spec.help.ends_with('.');
        assert!(spec.help.len() > 20 && !sentence, "{spec:?}");
        match known.iter().find(|known| known.key == spec.key) {
            Some(known) => {
                assert_eq!(known.help, spec.help);
                assert_eq!(known.choices.first(), spec.choices.first());
            }
            None => known.push(spec),
        }
    }
}
