//! Parties from config files, joined by TLS: their agreement, their faults, their processes.

mod configs;

use std::path::{Path, PathBuf};
use std::thread;

use crate::common::{Folder, compiled, distance, edit, inputs, move_ports, quiet, write_network};
use tacit_run::{
    CompileOptions, Compiled, Error, InitOptions, Outcome, PartyConfig, Settings, Tensor, init,
    npy, run_local, run_party,
};

/// Three ready folders on free ports, with the network and `n` inputs.
pub fn organisations(name: &str, n: usize) -> (Folder, Vec<PathBuf>) {
    many(name, n, InitOptions::default(), 3)
}

/// Ready folders for `parties` by these options.
pub fn many(
    name: &str,
    n: usize,
    init_options: InitOptions,
    parties: usize,
) -> (Folder, Vec<PathBuf>) {
    let folder = Folder::new(name);
    let (x, shape) = inputs(n);
    let input = folder.path().join("x.npy");
    npy::write_floats(&input, &x, &shape).expect("the input is written");
    let options = InitOptions {
        model: Some(write_network(&folder)),
        input: Some(input),
        ..init_options
    };
    let said = init(folder.path(), &options).unwrap_or_else(|e| panic!("{e}"));
    assert!(
        said.iter().any(|line| line.contains("cert.pem")),
        "{said:?}"
    );
    let names: Vec<String> = match parties {
        2 => vec!["server".into(), "client".into()],
        n => (0..n).map(|p| format!("party{p}")).collect(),
    };
    let configs: Vec<_> = (names.iter())
        .map(|name| folder.path().join(name).join("party.toml"))
        .collect();
    move_ports(&configs);
    (folder, configs)
}

/// Runs each party in a thread.
pub fn run_all(configs: &[PathBuf]) -> Vec<Result<Outcome, Error>> {
    thread::scope(|scope| {
        let run = |path| run_party(&PartyConfig::load(path)?, &mut |_| (), &mut quiet);
        let threads: Vec<_> = configs
            .iter()
            .map(|path| scope.spawn(move || run(path)))
            .collect();
        threads
            .into_iter()
            .map(|t| t.join().expect("no panic"))
            .collect()
    })
}

pub fn errors(configs: &[PathBuf]) -> Vec<String> {
    let all = run_all(configs).into_iter();
    all.map(|end| end.expect_err("an error").to_string())
        .collect()
}

#[test]
fn three_organisations_predict() {
    let (folder, configs) = organisations("predict", 5);
    let labels = folder.path().join("party1/labels.npy");
    let header = "{'descr': '<i8', 'fortran_order': False, 'shape': (5,), }\n";
    let mut bytes = [
        b"\x93NUMPY\x01\x00",
        &(header.len() as u16).to_le_bytes()[..],
    ]
    .concat();
    bytes.extend(header.as_bytes());
    bytes.extend([0i64; 5].iter().flat_map(|v| v.to_le_bytes()));
    std::fs::write(labels, bytes).expect("labels");
    edit(&configs[1], "# labels", "labels");
    edit(&configs[2], "# inputs = 100", "inputs = 5");
    let ends: Vec<Outcome> = run_all(&configs)
        .into_iter()
        .map(|e| e.unwrap_or_else(|e| panic!("{e}")))
        .collect();
    let (x, _) = inputs(5);
    // As a party plans it: what is sent depends on the range of the inputs, which samples would tell.
    let model = Compiled::from_file(&write_network(&folder), &CompileOptions::default(), None);
    let model = model.expect("a plan");
    let expected = model.reference(&x).expect("the float32 model");
    let output = ends[1].output.as_ref().expect("the data owner's result");
    assert!(distance(output, &expected) < 2e-4);
    let (written, shape) =
        npy::read_floats(&folder.path().join("party1/output.npy")).expect("output");
    assert_eq!((&written, shape), (output, vec![5, 5]));
    assert!(ends[1].report.accuracy.is_some());
    for other in [0, 2] {
        assert!(ends[other].output.is_none() && ends[other].report.accuracy.is_none());
        assert_eq!(ends[other].report.online, ends[1].report.online);
    }
    // What was sent does not depend on what carries it.
    let local = run_local(
        &model,
        &Settings::default(),
        Tensor {
            values: &x,
            shape: &[5, 1, 8, 8],
        },
        &mut quiet,
    );
    let local = local.expect("a result").report;
    assert_eq!(local.online.rounds, ends[0].report.online.rounds);
    assert_eq!(local.online.bytes_sent, ends[0].report.online.bytes_sent);
    assert_eq!(local.offline.bytes_sent, ends[0].report.offline.bytes_sent);
}

#[test]
fn seven_organisations_predict() {
    let options = InitOptions::from_json(r#"{"protocol": "clear", "parties": 7}"#);
    let (_folder, configs) = many("seven", 2, options.expect("valid"), 7);
    let ends: Vec<Outcome> = run_all(&configs)
        .into_iter()
        .map(|e| e.unwrap_or_else(|e| panic!("{e}")))
        .collect();
    let (x, _) = inputs(2);
    let model = compiled(&CompileOptions::default());
    let expected = model.reference(&x).expect("the float32 model");
    for (party, end) in ends.iter().enumerate() {
        assert_eq!(end.report.parties, 7);
        assert_eq!(end.output.is_some(), party == 1);
        let (online, first) = (&end.report.online, &ends[0].report.online);
        assert_eq!(online.rounds, first.rounds);
        assert_eq!(online.bytes_sent, first.bytes_sent);
    }
    let output = ends[1].output.as_ref().expect("the data owner's result");
    assert!(distance(output, &expected) < 2e-4);
}

#[test]
fn differences_are_refused_with_both_values() {
    for (party, from, to, item, ours, theirs) in [
        (2, "ring = 64", "ring = 32", "'ring'", "64", "32"),
        (
            1,
            "truncation = \"gap\"",
            "truncation = \"exact\"",
            "'truncation'",
            "gap",
            "exact",
        ),
        (0, "# batch = 128", "batch = 4", "'batch'", "default", "4"),
        (
            1,
            "public_model = false",
            "public_model = true",
            "'public_model'",
            "false",
            "true",
        ),
        (
            2,
            "data_owner = 1",
            "data_owner = 0",
            "'data_owner'",
            "1",
            "0",
        ),
        (
            2,
            "network = \"local\"",
            "network = \"lan\"",
            "'network'",
            "local",
            "lan",
        ),
    ] {
        let (_folder, configs) =
            organisations(&format!("differ-{party}-{}", item.len() + to.len()), 5);
        edit(&configs[party], from, to);
        for error in errors(&configs) {
            for word in [item, ours, theirs, "differ in"] {
                assert!(error.contains(word), "no {word}: {error}");
            }
        }
    }
}

/// A party that insists on another number than there is says so at home and to the others.
#[test]
fn what_a_party_insists_on_and_is_not_ends_the_run() {
    for (party, from, to, item, actual, wish) in [
        (2, "# inputs = 100", "inputs = 7", "number of inputs", 5, 7),
        (
            1,
            "# fraction_bits = 18",
            "fraction_bits = 9",
            "fraction bits",
            18,
            9,
        ),
    ] {
        let (_folder, configs) = organisations(&format!("insists-on-{wish}"), 5);
        edit(&configs[party], from, to);
        for (other, error) in errors(&configs).iter().enumerate() {
            let words = match other == party {
                true => {
                    format!("{item}: this party's config insists on {wish}, and there are {actual}")
                }
                false => format!(
                    "differ in '{item}': {actual} here at party {other}, {actual} (only {wish} is allowed there) there"
                ),
            };
            assert!(error.contains(&words), "no '{words}' in {error}");
        }
    }
    // At the data's owner before anything is agreed on.
    let (_folder, configs) = organisations("insists-at-home", 5);
    edit(&configs[1], "# inputs = 100", "inputs = 4");
    for error in errors(&configs) {
        assert!(error.contains("insists on 4, and there are 5"), "{error}");
    }
}

#[test]
fn a_party_that_fails_is_named_at_the_others() {
    let (folder, configs) = organisations("fails", 5);
    let (mut x, shape) = inputs(5);
    x[3] = 1e9;
    npy::write_floats(&folder.path().join("x.npy"), &x, &shape).expect("the input is written");
    let errors = errors(&configs);
    assert!(
        errors[1].contains("item 0, position [0, 0, 3], of the input is 1000000000"),
        "{}",
        errors[1]
    );
    for other in [0, 2] {
        assert!(
            errors[other].contains("party 1 stopped: it says \"its input holds a number beyond"),
            "{}",
            errors[other]
        );
    }
}

/// A number that is none is named: at its owner by its place, at the others by its owner.
#[test]
fn a_number_that_is_none_is_named() {
    let (folder, configs) = organisations("nan", 5);
    let (mut x, shape) = inputs(5);
    x[64 + 9] = f32::NAN;
    npy::write_floats(&folder.path().join("x.npy"), &x, &shape).expect("the input is written");
    let errors = errors(&configs);
    let place = "item 1, position [0, 1, 1], of the input is NaN; the model does not say";
    assert!(errors[1].contains(place), "{}", errors[1]);
    for other in [0, 2] {
        assert!(
            errors[other].starts_with("party 1 stopped"),
            "{}",
            errors[other]
        );
        assert!(!errors[other].contains("item 1"), "{}", errors[other]);
    }
}

/// Outputs are tried before anything is computed: the others hear of it.
#[test]
fn outputs_are_tried_before_connecting() {
    let (_folder, configs) = organisations("outputs", 2);
    let whole = std::fs::read_to_string(&configs[1]).expect("the config file");
    for (from, to, why) in [
        ("\"output.npy\"", "\"no/output.npy\"", "is not there"),
        ("\"output.npy\"", "\"../x.npy\"", "one of the inputs"),
        ("\"output.npy\"", "\"key.pem\"", "one of the inputs"),
        (
            "\"report.json\"",
            "\"output.npy\"",
            "two outputs have this name",
        ),
        ("\"report.json\"", "\".\"", "it is a folder"),
    ] {
        edit(&configs[1], from, to);
        let errors = errors(&configs);
        assert!(errors[1].contains(why), "{}", errors[1]);
        assert!(errors[0].starts_with("party 1 stopped"), "{}", errors[0]);
        std::fs::write(&configs[1], &whole).expect("the config file");
    }
}

/// The disk of the data's owner is full: its answers are in another file, the others end well.
#[cfg(target_os = "linux")]
#[test]
fn answers_are_never_lost() {
    let (_folder, configs) = organisations("full", 2);
    edit(&configs[1], "\"output.npy\"", "\"/dev/full\"");
    let ends = run_all(&configs);
    assert!(ends[0].is_ok() && ends[2].is_ok());
    let error = ends[1]
        .as_ref()
        .expect_err("it cannot be written")
        .to_string();
    assert!(
        error.starts_with("/dev/full: it cannot be written (No space left"),
        "{error}"
    );
    let (_, kept) = error.split_once("its content is in ").expect("a file");
    let (kept, _) = kept.split_once(", which").expect("a file");
    let (output, shape) = npy::read_floats(Path::new(kept)).expect("the answers");
    std::fs::remove_file(kept).expect("there");
    let (x, _) = inputs(2);
    let model = compiled(&CompileOptions::default());
    assert_eq!(shape, [2, 5]);
    assert!(distance(&output, &model.reference(&x).expect("float32")) < 2e-4);
    let report = std::fs::read_to_string(configs[1].with_file_name("report.json"));
    assert!(!report.expect("a report").contains("\"error\""));
}

/// All parties end at once, before anything is shared, and the data's owner says why.
#[test]
fn labels_that_are_no_classes_are_refused() {
    let (folder, configs) = organisations("labels", 2);
    let header = "{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }\n";
    let length = (header.len() as u16).to_le_bytes();
    let mut bytes = [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes()].concat();
    bytes.extend([4i64, 5].iter().flat_map(|v| v.to_le_bytes()));
    std::fs::write(folder.path().join("party1/labels.npy"), bytes).expect("labels");
    edit(&configs[1], "# labels", "labels");
    let errors = errors(&configs);
    let why = "labels: item 1 has the class 5, and the model has 5: 0 to 4";
    assert!(errors[1].contains(why), "{}", errors[1]);
    assert!(!folder.path().join("party1/output.npy").exists());
    for other in [0, 2] {
        let told = &errors[other];
        assert!(
            told.contains("its labels cannot be used") && !told.contains("class"),
            "{told}"
        );
    }
}
