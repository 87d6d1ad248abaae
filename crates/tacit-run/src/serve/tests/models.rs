//! Several models and versions in one config.

use serde_json::Value;

use super::*;

/// Loads the config of party 1 with further models behind its first.
fn with(parties: &Parties, more: &str) -> Result<ServeConfig, Error> {
    let path = parties.dir.join("party1").join("serve.toml");
    let text = fs::read_to_string(&path).expect("a config");
    let several = parties.dir.join("party1").join("several.toml");
    fs::write(&several, text + more).expect("written");
    ServeConfig::load(&several)
}

fn table(name: &str, version: &str, more: &str) -> String {
    format!("\n[[models]]\nname = \"{name}\"\nversion = \"{version}\"\n{more}\n")
}

#[test]
fn versions_stand_side_by_side() {
    let parties = Parties::prepared("versions", "falcon", same);
    let two = with(&parties, &table("model", "2", "")).expect("two versions");
    assert_eq!(two.find("model", Some("2")).expect("there"), 1);
    let error = two.find("model", None).expect_err("which").to_string();
    assert!(
        error.contains("model version 1, model version 2"),
        "{error}"
    );
    assert!(two.find("model", Some("3")).is_err());
    let twice = with(&parties, &table("model", "1", ""));
    let error = twice.expect_err("twice").to_string();
    assert!(
        error.contains("version 1 of 'model' stands there twice"),
        "{error}"
    );
}

/// A model whose place is given keeps its ports, whatever comes or goes before it.
#[test]
fn each_model_has_ports_of_its_own() {
    let parties = Parties::prepared("places", "falcon", same);
    let told = |more: &str| -> Vec<(u64, Value)> {
        let config = with(&parties, more).unwrap_or_else(|e| panic!("{e}"));
        let told: Value = serde_json::from_str(&config.to_json().expect("JSON")).expect("JSON");
        let models = told["models"].as_array().expect("a list").iter();
        let one = |m: &Value| (m["place"].as_u64().expect("a number"), m["whole"].clone());
        models.map(one).collect()
    };
    let three = told(&(table("a", "1", "") + &table("b", "1", "")));
    let places = |all: &[(u64, Value)]| all.iter().map(|(place, _)| *place).collect::<Vec<_>>();
    assert_eq!(places(&three), [0, 1, 2]);
    let two = told(&table("b", "1", "place = 2"));
    assert_eq!(places(&two), [0, 2]);
    // It is the table that it was; another plan makes another.
    assert_eq!(two[1].1, three[2].1);
    let other = told(&table("b", "1", "plan = { reveal = \"class\" }"));
    assert_ne!(other[1].1, three[2].1);
    for (more, why) in [
        ("place = 0", "'model' and 'a' have one place"),
        ("place = 70000", "no port left"),
        ("place = 18446744073709551615", "serve"),
    ] {
        let error = with(&parties, &table("a", "1", more))
            .expect_err(more)
            .to_string();
        assert!(error.contains(why), "{error}");
    }
}

/// A budget without an end would be one of a day, and what waits for longer than the others do is lost.
#[test]
fn times_that_are_none() {
    let parties = Parties::prepared("times", "falcon", same);
    for period in ["inf", "nan", "-1.0", "0.0", "1e10"] {
        let client = format!("\n[[clients]]\nname = \"lab\"\nqueries = 9\nperiod_s = {period}\n");
        let error = with(&parties, &client).expect_err(period).to_string();
        assert!(
            error.contains("clients.period_s") && error.contains("lab"),
            "{error}"
        );
    }
    let mut config = with(&parties, "").expect("read");
    config.service.wait_ms = 31_000.0;
    let error = config.check().expect_err("a quarter of 120 s").to_string();
    assert!(
        error.contains("service.wait_ms") && error.contains("120 s"),
        "{error}"
    );
    config.service.wait_ms = 30_000.0;
    assert!(config.check().is_ok());
}
