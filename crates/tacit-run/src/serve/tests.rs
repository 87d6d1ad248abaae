use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::client::Described;
use super::*;
use crate::ports::free_ports;
use crate::{Array, CompileOptions, Given, InitOptions, ServeConfig, Tensor, init};

mod approvals;
mod hostile;
mod models;
mod pools;
mod sessions;

const PATIENCE: Duration = Duration::from_secs(30);

impl Service {
    pub(super) fn tampered(&self, mut shares: Vec<(usize, Vec<u8>)>) -> Vec<(usize, Vec<u8>)> {
        if let Some(tamper) = self.tamper {
            shares.iter_mut().for_each(|(_, share)| tamper(share));
        }
        shares
    }

    /// Loses this party if it makes the material at which it is to be lost.
    pub(super) fn loses(&self, made: u64) {
        let at = &self.lost_at;
        let now = at.compare_exchange(made, 0, Ordering::Relaxed, Ordering::Relaxed);
        assert!(now.is_err(), "this party is lost");
    }
}

fn digits() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/digits/digits.onnx")
}

/// A port for peers and those behind it, for sessions beside it.
const PORTS: u16 = 4;

/// Services of all parties in folders of their own, with their lives on threads.
struct Parties {
    dir: PathBuf,
    services: Vec<Arc<Service>>,
    lives: Vec<JoinHandle<Result<(), Error>>>,
}

impl Parties {
    /// Parties of a protocol, whose configs `edit` changes.
    fn prepared(name: &str, protocol: &str, edit: impl Fn(usize, String) -> String) -> Self {
        Parties::serving(
            name,
            &format!(r#""protocol": "{protocol}""#),
            digits(),
            edit,
        )
    }

    /// Parties of a protocol and its options that serve a model.
    fn serving(
        name: &str,
        protocol: &str,
        model: PathBuf,
        edit: impl Fn(usize, String) -> String,
    ) -> Self {
        let dir = std::env::temp_dir().join(format!("tacit-serve-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        let options = InitOptions {
            model: Some(model),
            ..InitOptions::from_json(&format!(r#"{{{protocol}, "service": true, "port": 1}}"#))
                .expect("options")
        };
        init(&dir, &options).expect("folders");
        let mut folders: Vec<PathBuf> = fs::read_dir(&dir)
            .expect("the folder")
            .map(|entry| entry.expect("an entry").path())
            .collect();
        folders.sort();
        if protocol.contains("sirnn") {
            // The server is party 0.
            folders.reverse();
        }
        let ports = free_ports(folders.len(), PORTS).expect("ports");
        for (party, folder) in folders.iter().enumerate() {
            let path = folder.join("serve.toml");
            let mut text = fs::read_to_string(&path).expect("a config");
            for (peer, port) in ports.iter().enumerate() {
                let (from, to) = (16 * peer + 1, port);
                text = text.replace(
                    &format!("address = \"127.0.0.1:{from}\"\n"),
                    &format!("address = \"127.0.0.1:{to}\"\n"),
                );
            }
            fs::write(&path, edit(party, text)).expect("written");
        }
        let service = |folder: &PathBuf| {
            Service::new(&folder.join("serve.toml"), "model", None)
                .unwrap_or_else(|e| panic!("{e}"))
        };
        Parties {
            services: folders.iter().map(|f| Arc::new(service(f))).collect(),
            lives: Vec::new(),
            dir,
        }
    }

    fn started(name: &str, protocol: &str, edit: impl Fn(usize, String) -> String) -> Self {
        let mut parties = Parties::prepared(name, protocol, edit);
        parties.start();
        parties
    }

    /// Begins a life of all, and waits until they are ready.
    fn start(&mut self) {
        for service in &self.services {
            let service = service.clone();
            self.lives
                .push(thread::spawn(move || service.run(&mut |_| {})));
        }
        let until = Instant::now() + PATIENCE;
        while self.services.iter().any(|s| s.described().is_none()) {
            let states: Vec<_> = self.services.iter().map(|s| s.state()).collect();
            assert!(Instant::now() < until, "not ready: {states:?}");
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn sharing(&self) -> Sharing {
        let described = self.services[0].described().expect("ready");
        Sharing::new(&described).unwrap_or_else(|e| panic!("{e}"))
    }

    /// The name of the session that the parties have.
    fn session(&self) -> String {
        let told = self.services[0].described().expect("ready");
        let told: serde_json::Value = serde_json::from_slice(&told).expect("JSON");
        told["session"].as_str().expect("a name").to_owned()
    }

    /// Sends a request's bodies to the parties, the last first.
    fn submit(&self, id: Id, items: usize, bodies: &[Vec<u8>]) {
        for (party, body) in bodies.iter().enumerate().rev() {
            assert_eq!(self.give(party, "lab", id, items, body.clone()), Ok(()));
        }
    }

    /// Gives one party a client's request for the session that there is.
    fn give(
        &self,
        party: usize,
        client: &str,
        id: Id,
        items: usize,
        body: Vec<u8>,
    ) -> Result<(), Refused> {
        self.services[party].submit(client, (&self.session(), id), items, body)
    }

    /// What every party answers.
    fn answers(&self, id: &Id) -> Vec<Result<Vec<u8>, Refused>> {
        let answer = |s: &Arc<Service>| s.answer(id, PATIENCE).expect("in time");
        self.services.iter().map(answer).collect()
    }

    fn predicted(&self, id: u8, x: &Array) -> Vec<f32> {
        let sharing = self.sharing();
        let (items, bodies) = sharing.split(given(x)).expect("it fits");
        self.submit([id; 16], items, &bodies);
        self.joined(&sharing, id, items)
    }

    fn joined(&self, sharing: &Sharing, id: u8, items: usize) -> Vec<f32> {
        let answers: Result<Vec<_>, _> = self.answers(&[id; 16]).into_iter().collect();
        let answers = answers.expect("answered");
        let answers: Vec<&[u8]> = answers.iter().map(Vec::as_slice).collect();
        sharing.join(items, &answers).expect("they fit").0
    }

    /// Ends all, by the word of one.
    fn drain(mut self, by: usize) {
        self.services[by].drain();
        for life in self.lives.drain(..) {
            let ended = life.join().expect("no panic");
            assert!(ended.is_ok(), "{ended:?}");
        }
    }
}

impl Drop for Parties {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.dir);
    }
}

fn same(_: usize, text: String) -> String {
    text
}

fn malicious(_: usize, text: String) -> String {
    text.replace("security = \"semi-honest\"", "security = \"malicious\"")
}

/// `n` pictures of 8 x 8, unlike each other.
fn pictures(n: usize) -> Array {
    let model = Compiled::of_any(&digits(), &CompileOptions::default(), None).expect("compiles");
    let shape: Vec<usize> = model.input_shape();
    let len: usize = shape.iter().product();
    let pixel = |i: usize| ((i * 7919) % 17) as f32 / 16.0;
    (
        (0..n * len).map(pixel).collect(),
        [&[n], &shape[..]].concat(),
    )
}

fn given((values, shape): &Array) -> Given<'_> {
    Given::Rows(Tensor { values, shape })
}

fn assert_right(found: &[f32], x: &Array, what: &str) {
    let model = Compiled::of_any(&digits(), &CompileOptions::default(), None).expect("compiles");
    let right = model.reference(&x.0).expect("fits");
    assert_eq!(found.len(), right.len(), "{what}");
    for (found, right) in found.iter().zip(&right) {
        // Between two parties values have 16 bits by default.
        let most = if what == "sirnn" { 0.15 } else { 0.02 };
        assert!((found - right).abs() < most, "{what}: {found} for {right}");
    }
}

/// Two clients at once, of one and three items, then one more.
fn answers_clients(name: &str, protocol: &str, edit: impl Fn(usize, String) -> String) {
    let parties = Parties::started(name, protocol, edit);
    let sharing = parties.sharing();
    let (one, three) = (pictures(1), pictures(3));
    let (_, first) = sharing.split(given(&one)).expect("it fits");
    let (_, second) = sharing.split(given(&three)).expect("it fits");
    parties.submit([1; 16], 1, &first);
    parties.submit([2; 16], 3, &second);
    // All name the same certificates, those that were shown.
    let shown = |service: &Arc<Service>| -> serde_json::Value {
        let state: serde_json::Value = serde_json::from_str(&service.state()).expect("JSON");
        state["certificates"].clone()
    };
    let all: Vec<_> = parties.services.iter().map(shown).collect();
    assert!(all.windows(2).all(|pair| pair[0] == pair[1]), "{all:?}");
    assert_eq!(all[0].as_object().map(|shown| shown.len()), Some(all.len()));
    assert_right(&parties.joined(&sharing, 2, 3), &three, name);
    assert_right(&parties.joined(&sharing, 1, 1), &one, name);
    assert_right(&parties.predicted(3, &one), &one, name);
    parties.drain(1);
}

#[test]
fn falcon_answers_clients() {
    answers_clients("falcon", "falcon", same);
}

#[test]
fn malicious_falcon_answers_clients() {
    answers_clients("malicious", "falcon", malicious);
}

#[test]
fn bicoptor_answers_clients() {
    answers_clients("bicoptor", "bicoptor", same);
}

#[test]
fn replicated_bicoptor_answers_clients() {
    let rss = |_, text: String| text.replace("sharing = \"ubl\"", "sharing = \"rss\"");
    answers_clients("rss", "bicoptor", rss);
}

#[test]
fn shamir_answers_clients() {
    answers_clients("shamir", "shamir", same);
}

#[test]
fn sirnn_answers_clients() {
    answers_clients("sirnn", "sirnn", same);
}

/// A client learns the class alone where the plan says so.
#[test]
fn a_client_learns_what_the_plan_says() {
    let class = |_, text: String| text.replace("# plan = { reveal", "plan = { reveal");
    let parties = Parties::started("class", "falcon", class);
    let x = pictures(2);
    let found = parties.predicted(1, &x);
    let model = Compiled::of_any(&digits(), &CompileOptions::default(), None).expect("compiles");
    let right = model.reference(&x.0).expect("fits");
    let class = |scores: &[f32]| (0..10).max_by(|&a, &b| scores[a].total_cmp(&scores[b]));
    let right: Vec<f32> = (right.chunks(10))
        .filter_map(|scores| class(scores).map(|c| c as f32))
        .collect();
    assert_eq!(found, right);
    parties.drain(0);
}

/// A plan or a file that a party has not approved is not served, and all hear why.
#[test]
fn what_is_not_approved_is_refused() {
    for what in ["digest", "commitment"] {
        let line = format!("name = \"model\"\n{what} = \"0123\"");
        let pinned = |party, text: String| match party {
            1 => text.replace("name = \"model\"", &line),
            _ => text,
        };
        let parties = Parties::prepared(&format!("pinned-{what}"), "falcon", pinned);
        let lives: Vec<_> = (parties.services.iter().cloned())
            .map(|s| thread::spawn(move || s.run(&mut |_| {})))
            .collect();
        for (party, life) in lives.into_iter().enumerate() {
            let error = life.join().expect("no panic").expect_err("not approved");
            let words = error.to_string();
            let heard = words.contains(&format!("models.{what}: this party approves 0123"));
            assert!(heard, "party {party}: {error}");
            let state = parties.services[party].state();
            assert!(state.contains("\"failed\""), "{state}");
        }
    }
}

/// Parties of which the last computes on another share than it got of a request: nobody gives out an answer,
/// and every life ends.
fn cheated(name: &str, edit: impl Fn(usize, String) -> String) -> Parties {
    let mut parties = Parties::prepared(name, "falcon", edit);
    let cheater = Arc::get_mut(&mut parties.services[2]).expect("not started");
    cheater.tamper = Some(|share| share[0] ^= 1);
    parties.start();
    let (_, bodies) = (parties.sharing().split(given(&pictures(1)))).expect("it fits");
    parties.submit([1; 16], 1, &bodies);
    for (party, answer) in parties.answers(&[1; 16]).into_iter().enumerate() {
        let code = answer.expect_err("nothing given out").code;
        assert_eq!(code, "failed", "party {party}");
    }
    for life in parties.lives.drain(..) {
        assert!(life.join().expect("no panic").is_err());
    }
    parties
}

/// Under malicious security a party that computes on another share than it got is found out before
/// anything is given out; nobody begins again with it by itself.
#[test]
fn after_cheating_the_service_stands_still() {
    let parties = cheated("cheat", malicious);
    for honest in &parties.services[..2] {
        let state = honest.state();
        assert!(state.contains("\"quarantined\""), "{state}");
        assert!(state.contains("2"), "{state}");
        let error = honest.run(&mut |_| {}).expect_err("stands still");
        assert!(error.to_string().contains("stands still"), "{error}");
        assert_eq!(
            honest
                .submit("lab", ("", [2; 16]), 1, Vec::new())
                .expect_err("refused")
                .code,
            "quarantined"
        );
    }
}

/// A party whose session another has ended knows why while it waits for it, which may be in vain.
#[test]
fn what_ended_the_life_before_is_told_until_all_are_back() {
    let mut parties = Parties::prepared("before", "falcon", same);
    let lost = Arc::get_mut(&mut parties.services[2]).expect("not started");
    lost.tamper = Some(|_| panic!("this party is lost"));
    parties.start();
    let (_, bodies) = (parties.sharing().split(given(&pictures(1)))).expect("it fits");
    parties.submit([1; 16], 1, &bodies);
    for life in parties.lives.drain(..) {
        assert!(life.join().map_or(true, |ended| ended.is_err()));
    }
    let state = |service: &Service| -> serde_json::Value {
        serde_json::from_str(&service.state()).expect("JSON")
    };
    let service = &parties.services[0];
    let told = state(service);
    assert_eq!(told["state"], "failed", "{told}");
    assert!(
        told["before"].is_string() && told["before"] == told["why"],
        "{told}"
    );
    let live = {
        let service = service.clone();
        thread::spawn(move || service.run(&mut |_| {}))
    };
    while state(service)["state"] != "connecting" {
        thread::yield_now();
    }
    assert_eq!(state(service)["before"], told["before"]);
    service.leave();
    assert!(live.join().expect("no panic").is_ok());
}

/// After a life has ended another begins, with another name. What was shared for the first is not computed in the
/// second, and its answers are not given there, whose model may be another.
#[test]
fn a_service_lives_again() {
    let mut parties = Parties::started("again", "falcon", same);
    let x = pictures(1);
    let first = parties.session();
    let (_, bodies) = parties.sharing().split(given(&x)).expect("it fits");
    parties.submit([3; 16], 1, &bodies);
    assert!(parties.answers(&[3; 16]).iter().all(Result::is_ok));
    let before = parties.services[0].described();
    assert_right(&parties.predicted(1, &x), &x, "first");
    parties.services[1].drain();
    for life in parties.lives.drain(..) {
        assert!(life.join().expect("no panic").is_ok());
    }
    let code = parties.services[0]
        .submit("lab", ("", [9; 16]), 1, vec![])
        .expect_err("ended")
        .code;
    assert_eq!(code, "not-ready");
    parties.start();
    let after = parties.services[0].described();
    let read = |told: Option<Vec<u8>>| -> Described {
        serde_json::from_slice(&told.expect("ready")).expect("JSON")
    };
    let (before, after) = (read(before), read(after));
    assert_ne!(after.session, before.session);
    assert_eq!(after.commitment, before.commitment);
    let refused = |session: &str, id| {
        let submit = |(s, body): (&Arc<Service>, &Vec<u8>)| {
            s.submit("lab", (session, [id; 16]), 1, body.clone())
        };
        let all = parties.services.iter().zip(&bodies).map(submit);
        all.map(|taken| taken.expect_err("refused").code)
            .collect::<Vec<_>>()
    };
    assert_eq!(refused(&first, 4), ["other-session"; 3]);
    assert_eq!(refused(&after.session, 3), ["reused"; 3]);
    assert_right(&parties.predicted(2, &x), &x, "second");
    parties.drain(0);
}
