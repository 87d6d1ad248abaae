//! Throughput and latency of the links: `cargo bench -p tacit-net --bench links`.
//!
//! In memory a payload is moved, so that there throughput is the price of a message alone.

use std::path::Path;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use divan::Bencher;
use divan::counter::BytesCount;
use tacit_net::certs::{self, Identity};
use tacit_net::tcp::{self, Peer, TcpConfig};
use tacit_net::{LinkModel, Party, memory};

const PATIENT: Duration = Duration::from_secs(60);

fn main() {
    divan::main();
}

fn in_memory() -> (Party, Party) {
    let mut parties = memory::mesh(2, &LinkModel::LOCAL, PATIENT).into_iter();
    parties.next().zip(parties.next()).unwrap()
}

fn over_tls() -> (Party, Party) {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench");
    let identity = |name: &str| {
        let own = dir.join(name);
        if !own.exists() {
            certs::generate(&own, name, certs::DEFAULT_VALIDITY).unwrap();
        }
        Identity::load(&own).unwrap()
    };
    let listener = tcp::listen("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let parties: Vec<Peer> = ["zero", "one"]
        .map(|name| Peer {
            name: name.into(),
            address: address.clone(),
            certificate: Some(identity(name).certificate().clone()),
            also: Vec::new(),
        })
        .into();
    let join = |id: usize, name: &str, listener| {
        let config = TcpConfig {
            id,
            parties: parties.clone(),
            identity: identity(name),
            listener,
            model: LinkModel::LOCAL,
            timeout: PATIENT,
            connect_timeout: PATIENT,
            leave: Default::default(),
        };
        thread::spawn(move || tcp::connect(config, &mut |_| ()).unwrap())
    };
    let (zero, one) = (join(0, "zero", Some(listener)), join(1, "one", None));
    (zero.join().unwrap(), one.join().unwrap())
}

/// Party 1, which answers every message of `len` bytes with one of `back` bytes until party 0
/// is gone.
fn answering(mut party: Party, len: usize, back: usize) -> JoinHandle<()> {
    thread::spawn(move || {
        while party.recv(0, "there", len).is_ok() {
            if party.send(0, "back", vec![0; back]).is_err() {
                break;
            }
        }
    })
}

fn bench(bencher: Bencher, links: (Party, Party), len: usize, back: usize) {
    let (mut party, peer) = links;
    let peer = answering(peer, len, back);
    bencher
        .counter(BytesCount::new(len))
        .with_inputs(|| vec![1; len])
        .bench_local_values(|payload| {
            party.send(1, "there", payload).unwrap();
            party.recv(1, "back", back).unwrap()
        });
    drop(party);
    peer.join().unwrap();
}

const BULK: [usize; 3] = [64 << 10, 1 << 20, 16 << 20];
const SMALL: [usize; 2] = [8, 4096];

#[divan::bench(args = BULK)]
fn memory_throughput(bencher: Bencher, len: usize) {
    bench(bencher, in_memory(), len, 0);
}

#[divan::bench(args = SMALL)]
fn memory_ping_pong(bencher: Bencher, len: usize) {
    bench(bencher, in_memory(), len, len);
}

#[divan::bench(args = BULK)]
fn tls_throughput(bencher: Bencher, len: usize) {
    bench(bencher, over_tls(), len, 0);
}

#[divan::bench(args = SMALL)]
fn tls_ping_pong(bencher: Bencher, len: usize) {
    bench(bencher, over_tls(), len, len);
}
