//! Config files: their errors, and those that `tacit init` writes.

use super::*;

#[test]
fn config_errors_name_the_file_and_the_key() {
    let (_folder, configs) = organisations("config", 1);
    let good = std::fs::read_to_string(&configs[0]).expect("the config file");
    for (from, to, why) in [
        ("ring = 64", "rign = 64", "unknown field `rign`"),
        (
            "\"falcon\"",
            "\"falkon\"",
            "it is not known; choose one of falcon, bicoptor, shamir, sirnn, clear",
        ),
        (
            "truncation = \"gap\"",
            "truncation = \"none\"",
            "gap, exact, aby3",
        ),
        ("ring = 64", "ring = 16", "ring of 16 bits"),
        (
            "ring = 64",
            "field = 61",
            "falcon computes in the 32-bit ring",
        ),
        (
            "[run]",
            "[run]\nparties = 3",
            "run.parties: the parties are those listed",
        ),
        (
            "[run]",
            "[run]\nthreshold = 1",
            "threshold: falcon has none",
        ),
        (
            "ring = 64",
            "key_bits = \"5.2\"",
            "key bits: falcon takes every sign exactly",
        ),
        (
            "ring = 64",
            "key_bits = \"5,2\"",
            "key bits '5,2': give full, auto",
        ),
        ("id = 0", "id = 3", "party.id: 3 is not a party"),
        ("[party]\n", "", "write [party] above id, key, certificate"),
        (
            "id = 0",
            "id = 1",
            "'model' belongs to party 0, the model_owner",
        ),
        (
            "model = ",
            "labels = ",
            "'model' is missing: party 0 is the model_owner",
        ),
        (
            "report = ",
            "labels = ",
            "'labels' belongs to party 1, the data_owner",
        ),
        (
            "timeout = 120.0         #",
            "timeout = 0  #",
            "no time limit",
        ),
        (
            "data_owner = 1",
            "data_owner = 9",
            "data_owner: 9 is not a party",
        ),
        (
            "network = \"local\"",
            "network = \"moon\"",
            "local, lan, wan",
        ),
        ("[[parties]]", "[[partys]]", "partys"),
        (
            "# listen = \"0.0.0.0:",
            "listen = \"0.0.0.0\" # ",
            "'0.0.0.0' is no address",
        ),
        (
            "address = \"127.",
            "address = \"localhost\" # \"",
            "'localhost' is no address: give a host and a port",
        ),
    ] {
        std::fs::write(&configs[0], good.replacen(from, to, 1)).expect("the config file");
        let error = PartyConfig::load(&configs[0]).expect_err(why).to_string();
        assert!(
            error.contains(why) && error.contains("party.toml"),
            "{to}: {error}"
        );
    }
    let absent = PartyConfig::load(Path::new("nowhere/party.toml")).expect_err("no file");
    assert!(
        absent.to_string().contains("nowhere/party.toml"),
        "{absent}"
    );
}

#[test]
fn init_takes_what_the_protocol_takes() {
    let folder = Folder::new("init-range");
    let made = |json: &str| init(folder.path(), &InitOptions::from_json(json).expect("valid"));
    for (json, why) in [
        (r#"{"parties": 4}"#, "falcon runs between 3 parties, not 4"),
        (
            r#"{"protocol": "clear", "parties": 17}"#,
            "clear runs between 1 to 16 parties, not 17",
        ),
        (r#"{"port": 65534}"#, "no ports for 3 parties"),
        (r#"{"port": 0}"#, "no ports for 3 parties"),
    ] {
        let error = made(json).expect_err("refused").to_string();
        assert!(error.contains(why), "{error}");
    }
    // Party 15 has the last port there is.
    let said = made(r#"{"protocol": "clear", "parties": 16, "port": 65520}"#);
    assert!(said.expect("folders")[0].contains("16 parties"));
    PartyConfig::load(&folder.path().join("party15/party.toml")).expect("a config file");
}

#[test]
fn init_overwrites_nothing() {
    let (folder, configs) = organisations("overwrite", 1);
    let before = std::fs::read(&configs[2]).expect("the config file");
    let error = init(folder.path(), &InitOptions::default()).expect_err("refused");
    assert!(
        error.to_string().contains("party0: it exists already"),
        "{error}"
    );
    assert_eq!(std::fs::read(&configs[2]).expect("the config file"), before);
}
