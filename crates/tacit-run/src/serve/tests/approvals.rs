//! What a party approves, by a file that is written while it runs.

use serde_json::Value;

use super::*;

/// Party 1 keeps approvals in a file.
fn with_file(party: usize, text: String) -> String {
    match party {
        1 => text.replace("# approved =", "approved ="),
        _ => text,
    }
}

fn fails(parties: &Parties) -> Vec<String> {
    let lives: Vec<_> = (parties.services.iter().cloned())
        .map(|s| thread::spawn(move || s.run(&mut |_| {})))
        .collect();
    let ended = lives.into_iter().map(|life| life.join().expect("no panic"));
    ended
        .map(|life| life.expect_err("refused").to_string())
        .collect()
}

#[test]
fn what_is_approved_while_it_runs_is_served() {
    let mut parties = Parties::prepared("approvals", "falcon", with_file);
    for error in fails(&parties) {
        assert!(
            error.contains("has not approved version 1 of 'model'"),
            "{error}"
        );
    }
    let offers: Vec<Vec<u8>> = (parties.services.iter())
        .map(|s| s.offered().expect("made").expect("heard"))
        .collect();
    // Its owner makes it of its file, another has heard it.
    assert_eq!(offers[0], offers[1]);

    let folder = parties.dir.join("party1");
    let write = |offer: &Value| {
        let all = serde_json::json!({"models": [offer]}).to_string();
        fs::write(folder.join("approved.json"), all).expect("written");
    };
    let good: Value = serde_json::from_slice(&offers[1]).expect("JSON");
    for (key, value) in [("digest", "01"), ("commitment", "23"), ("version", "9")] {
        let mut other = good.clone();
        other[key] = value.into();
        write(&other);
        for error in fails(&parties) {
            assert!(error.contains("approve"), "{key}: {error}");
        }
    }
    fs::write(folder.join("approved.json"), "{").expect("written");
    assert!(fails(&parties)[1].contains("no file of approvals"));
    // Of two approvals of a version the last counts, as `tacit approve` has it.
    let mut other = good.clone();
    other["digest"] = "01".into();
    for (models, served) in [([&good, &other], false), ([&other, &good], true)] {
        let all = serde_json::json!({"models": models}).to_string();
        fs::write(folder.join("approved.json"), all).expect("written");
        if !served {
            assert!(fails(&parties)[1].contains("this party approves 01"));
        }
    }
    parties.start();
}

#[test]
fn an_offer_is_what_would_be_served() {
    let parties = Parties::prepared("offers", "falcon", with_file);
    let offer = parties.services[0]
        .offered()
        .expect("made")
        .expect("its own");
    assert_eq!(parties.services[1].offered().expect("nothing wrong"), None);
    let config = ServeConfig::load(&parties.dir.join("party1").join("serve.toml")).expect("read");
    assert!(config.check_offer("model", None, &offer).is_ok());
    assert!(config.check_offer("other", None, &offer).is_err());
    assert!(config.check_offer("model", None, b"{}").is_err());
    let good: Value = serde_json::from_slice(&offer).expect("JSON");
    for (key, value) in [
        ("digest", "01"),
        ("protocol", "shamir"),
        ("security", "malicious, 1 of 3 corrupt"),
        ("reveal", "class"),
        ("version", "9"),
    ] {
        let mut other = good.clone();
        other[key] = value.into();
        let error = config.check_offer("model", None, other.to_string().as_bytes());
        let error = error.expect_err(key).to_string();
        assert!(error.contains(&format!("its {key} is not")), "{error}");
    }
    // What the config names decides, in the command as in the service.
    let path = parties.dir.join("party1").join("serve.toml");
    let text = fs::read_to_string(&path).expect("a config");
    let named = text.replace("name = \"model\"", "name = \"model\"\ncommitment = \"01\"");
    fs::write(&path, named).expect("written");
    let error = ServeConfig::load(&path).and_then(|named| named.check_offer("model", None, &offer));
    let error = error.expect_err("another").to_string();
    assert!(
        error.contains("models.commitment: this party approves 01"),
        "{error}"
    );
    // A plan that reveals less than it did has another digest.
    let mut other = good.clone();
    other["plan"]["fraction_bits"] = 3.into();
    assert!(
        config
            .check_offer("model", None, other.to_string().as_bytes())
            .is_err()
    );
}
