//! What parties send, step by step, held to a file that names the wire version: parties of two versions that
//! do not send the same must refuse each other when they greet.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::sync::{Arc, Mutex};

use crate::*;
use tacit_net::WIRE_VERSION;
use tacit_net::testing::{Fate, mesh_with};
use tacit_protocols::machine::{Bilinear, KeyBits, MatMul, Operand};

/// Elements: some messages begin anew after 64.
const N: usize = 70;
const TRUNC: u32 = 5;

/// The steps and bytes of one link, in their order, with how often each came in a row.
type Link = Vec<(&'static str, usize, usize)>;

/// What every party sends to every other in a program of every kind of call, set-up included.
pub fn sent(subject: &dyn Subject) -> String {
    let links = Arc::new(Mutex::new(BTreeMap::<_, Link>::new()));
    let seen = links.clone();
    let mesh = mesh_with(subject.parties(), TIMEOUT, move |envelope| {
        let mut links = seen.lock().expect("no party panicked");
        let link = links.entry((envelope.from, envelope.to)).or_default();
        let now = (envelope.step, envelope.payload.len());
        match link.last_mut() {
            Some((step, bytes, times)) if (*step, *bytes) == now => *times += 1,
            _ => link.push((now.0, now.1, 1)),
        }
        Fate::Deliver
    });
    run_on(mesh, |party| {
        let mut machine = subject.machine(party).expect("keys are agreed");
        program(&mut machine).expect("the program runs");
    });
    let mut text = format!("{}\n", subject.name());
    for ((from, to), link) in links.lock().expect("no party panicked").iter() {
        for (step, bytes, times) in link {
            let _ = writeln!(text, "{from} to {to}: {step}: {bytes} bytes, {times} times");
        }
    }
    text
}

fn program(machine: &mut Erased) -> Result<(), Error> {
    let map = Bilinear::MatMul(MatMul { m: 7, k: 10, n: 2 });
    let (windows, size) = (N / 5, 5);
    machine.prepare(&[
        Call::product(map, TRUNC),
        Call::elementwise(N, 0),
        Call::truncate(N, TRUNC),
        Call::drelu(N),
        Call::select(N),
        Call::relu(N),
        Call::maxpool(windows, size),
    ])?;
    let last = machine.party().parties() - 1;
    let mut input = |owner: usize, n: usize| {
        let owns = machine.party().id() == owner;
        machine.input(owner, n, owns.then(|| vec![3; n]).as_deref())
    };
    let (x, y, w) = (input(0, N)?, input(last, N)?, input(last, map.right())?);
    let x = machine.take_in(x)?;
    let product = machine.linear(&x, &Operand::Secret(w), None, &map, TRUNC, None)?;
    let square = machine.mul(&x, &Operand::Secret(y.clone()), 0)?;
    let less = machine.truncate(&square, TRUNC)?;
    let sign = machine.drelu(&less, KeyBits::ALL)?;
    let chosen = machine.select(&sign, &x, &y)?;
    let positive = machine.relu(&chosen, KeyBits::ALL)?;
    let largest = machine.maxpool(&positive, windows, size, KeyBits::ALL)?;
    machine.reveal(&product, Audience::All)?;
    machine.reveal(&largest, Audience::One(0))?;
    Ok(())
}

/// Holds what is sent to the file, which begins with the wire version. Where it has changed, `VERSION` in
/// `crates/tacit-net/src/frame.rs` is to be raised; only then does `TACIT_WRITE_WIRE=1` write the file anew.
///
/// # Panics
/// If the file says something else.
pub fn held(file: &Path, sent: &str) {
    let now = format!("wire version {WIRE_VERSION}\n{sent}");
    let known = std::fs::read_to_string(file).unwrap_or_default();
    if known == now {
        return;
    }
    let raised = known.lines().next() != now.lines().next();
    if raised && std::env::var_os("TACIT_WRITE_WIRE").is_some() {
        std::fs::write(file, now).expect("the file can be written");
        return;
    }
    let lines = known.lines().zip(now.lines());
    let first = lines.into_iter().find(|(known, now)| known != now);
    panic!(
        "what parties send is not what {} says, first at {first:?}: raise VERSION in crates/tacit-net/src/frame.rs, \
         then run this test with TACIT_WRITE_WIRE=1",
        file.display()
    );
}
