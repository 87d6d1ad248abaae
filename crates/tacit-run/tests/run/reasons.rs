//! What every other party hears when one cannot take part: why, from whom it is, and at once.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::thread;

use crate::common::{edit, inputs, quiet};
use crate::parties::{errors, organisations};
use tacit_run::{Error, PartyConfig, npy, refuse, run_party};

/// The parties but `party` hear that it stopped, and `why`; nobody else is named.
fn all_hear(errors: &[String], party: usize, why: &str) {
    for (other, error) in errors.iter().enumerate().filter(|(p, _)| *p != party) {
        let words = format!("party {party} stopped: it says \"{why}");
        assert!(error.starts_with(&words), "party {other}: {error}");
        for (innocent, _) in errors.iter().enumerate().filter(|(p, _)| *p != party) {
            let name = format!("party {innocent}");
            assert!(!error.contains(&name), "party {other}: {error}");
        }
    }
}

/// Each party as `tacit party` runs it; the errors of all.
fn refused(configs: &[PathBuf]) -> Vec<String> {
    let run = |path: &Path| -> Result<(), Error> {
        let config = PartyConfig::load(path).inspect_err(|e| refuse(path, e, &mut |_| ()))?;
        run_party(&config, &mut |_| (), &mut quiet).map(drop)
    };
    thread::scope(|scope| {
        let each = |path| scope.spawn(move || run(path));
        let threads: Vec<_> = configs.iter().map(|path| each(path)).collect();
        let ends = threads.into_iter().map(|t| t.join().expect("no panic"));
        ends.map(|end| end.expect_err("refused").to_string())
            .collect()
    })
}

#[test]
fn an_input_that_is_no_number_is_told_by_its_owner() {
    let (folder, configs) = organisations("told-nan", 5);
    let (mut x, shape) = inputs(5);
    x[3] = f32::NAN;
    npy::write_floats(&folder.path().join("x.npy"), &x, &shape).expect("the input is written");
    let errors = errors(&configs);
    assert!(errors[1].contains("NaN"), "{}", errors[1]);
    all_hear(&errors, 1, "");
    // Where it is stands in the owner's message alone.
    for other in [0, 2] {
        assert!(!errors[other].contains("element 3"), "{}", errors[other]);
    }
}

#[test]
fn a_file_that_is_not_there_is_told_before_all_links_stand() {
    for (party, key, file) in [(1, "input", "x.npy"), (0, "model", "network.onnx")] {
        let (folder, configs) = organisations(&format!("told-missing-{key}"), 5);
        let text = std::fs::read_to_string(&configs[party]).expect("a config");
        let line = text.lines().find(|line| line.starts_with(key));
        edit(
            &configs[party],
            line.expect("the key"),
            &format!("{key} = \"gone/{file}\""),
        );
        let errors = errors(&configs);
        assert!(
            errors[party].contains(&format!("gone/{file}")),
            "{}",
            errors[party]
        );
        let why = match key {
            "input" => "a file of its config cannot be read",
            _ => "its model's file cannot be used",
        };
        all_hear(&errors, party, why);
        assert!(!errors[2].contains("gone"), "{}", errors[2]);
        drop(folder);
    }
}

#[test]
fn a_model_that_is_refused_is_told() {
    let (folder, configs) = organisations("told-model", 5);
    let text = std::fs::read_to_string(&configs[0]).expect("a config");
    let line = text
        .lines()
        .find(|line| line.starts_with("model"))
        .expect("the key");
    let broken = folder.path().join("broken.onnx");
    std::fs::write(&broken, b"no model").expect("is written");
    edit(
        &configs[0],
        line,
        &format!("model = \"{}\"", broken.display()),
    );
    all_hear(&errors(&configs), 0, "its model's file cannot be used");
}

#[test]
fn a_config_that_is_refused_is_told() {
    for party in 0..3 {
        let (_folder, configs) = organisations(&format!("told-config-{party}"), 5);
        edit(&configs[party], "ring = 64", "rign = 64");
        let errors = refused(&configs);
        assert!(
            errors[party].contains("unknown field `rign`"),
            "{}",
            errors[party]
        );
        all_hear(&errors, party, "its config cannot be used");
    }
}

#[test]
fn a_port_that_is_taken_is_told_by_those_who_can_be_reached() {
    let (_folder, configs) = organisations("told-port", 5);
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("its address");
    let text = std::fs::read_to_string(&configs[1]).expect("a config");
    let line = text
        .lines()
        .find(|line| line.starts_with("# listen"))
        .expect("the key");
    edit(&configs[1], line, &format!("listen = \"{address}\""));
    let errors = errors(&configs);
    assert!(errors[1].starts_with("cannot listen at"), "{}", errors[1]);
    let direct = "party 1 stopped: it says \"cannot listen at";
    assert!(errors[0].starts_with(direct), "{}", errors[0]);
    // It cannot reach party 1, and so names who says it.
    assert!(
        errors[2]
            .starts_with("party 0 stopped: it says that party 1 stopped: it says \"cannot listen"),
        "{}",
        errors[2]
    );
}

/// Asserts that every party but `party` names it, whether it tells them or another one does.
fn all_name(errors: &[String], party: usize, whys: &[&str]) {
    for (other, error) in errors.iter().enumerate().filter(|(p, _)| *p != party) {
        let named = error.starts_with(&format!("party {party} "))
            || error.contains(&format!("it says that party {party} stopped"))
            // Of one that was refused before it could hear why.
            || error.contains(&format!("it says \"party {party} "));
        assert!(named, "party {other}: {error}");
        assert!(
            whys.iter().any(|why| error.contains(why)),
            "party {other}: {error}"
        );
    }
}

/// Whose certificate that is cannot be told by who lacks it, and hears it in the handshake or of another.
#[test]
fn a_certificate_of_another_that_cannot_be_read_is_told() {
    for (party, of) in [(0, 2), (1, 0), (1, 2), (2, 0)] {
        let (folder, configs) = organisations(&format!("told-certificate-{party}{of}"), 5);
        let file = format!("party{party}/party{of}.pem");
        std::fs::write(folder.path().join(&file), "no certificate").expect("is written");
        let errors = errors(&configs);
        assert!(errors[party].contains(&file), "{}", errors[party]);
        let whys = [
            "its key or a certificate cannot be used",
            "it does not know this party's certificate",
        ];
        all_name(&errors, party, &whys);
    }
}

#[test]
fn an_address_that_is_none_is_told() {
    for (party, of) in [(0, 2), (1, 1), (1, 0), (2, 0)] {
        let (_folder, configs) = organisations(&format!("told-address-{party}{of}"), 5);
        let text = std::fs::read_to_string(&configs[party]).expect("a config");
        let mut addresses = text.lines().filter(|line| line.starts_with("address"));
        let line = addresses.nth(of).expect("the party's address");
        edit(&configs[party], line, "address = \"127.0.0.1\"");
        let errors = refused(&configs);
        assert!(
            errors[party].contains("'127.0.0.1' is no address"),
            "{}",
            errors[party]
        );
        all_name(&errors, party, &["its config cannot be used"]);
    }
}

/// Of this party's own place nothing can be read but who it is.
#[test]
fn settings_of_its_own_that_cannot_be_read_are_told() {
    let (_folder, configs) = organisations("told-own", 5);
    edit(&configs[1], "# listen = ", "listen = 5  # ");
    edit(&configs[1], "connect_timeout = ", "connect_timeout = -");
    all_hear(&refused(&configs), 1, "its config cannot be used");
}
