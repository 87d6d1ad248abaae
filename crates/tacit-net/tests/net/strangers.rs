//! Connections that say nothing, from one address and from many: the real parties still come in.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpStream};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SocketType, bind, connect, recv, socket};

use tacit_net::tcp::{Notice, TcpConfig};

use crate::common::{Joining, configs};

/// Opens a connection to `to` that comes from `from`, if there is somebody.
fn idle(from: Ipv4Addr, to: SocketAddr) -> Option<TcpStream> {
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
    bind(&socket, &SocketAddrV4::new(from, 0)).ok()?;
    // Nobody listens any more once all parties are there.
    connect(&socket, &to).ok()?;
    Some(TcpStream::from(socket))
}

/// Party 0 is there, and `count` connections that say nothing, each opened anew as soon as it is
/// closed; then party 1 comes.
fn among(test: &str, count: usize, from: impl Fn(usize) -> Ipv4Addr + Sync) {
    let mut configs = configs(test, 2);
    let address = configs[0].parties[0].address.parse().expect("an address");
    let real = configs.pop().expect("party 1");
    let acceptor = Joining::start(configs.pop().expect("party 0"));
    let (stop, full) = (AtomicBool::new(false), Barrier::new(2));
    let (came, (party, notices)) = thread::scope(|scope| {
        scope.spawn(|| {
            let mut all: Vec<_> = (0..count).map(|i| idle(from(i), address)).collect();
            full.wait();
            while !stop.load(Ordering::Relaxed) {
                for (i, stream) in all.iter_mut().enumerate() {
                    if stream.as_ref().is_none_or(closed) {
                        *stream = idle(from(i), address);
                    }
                }
            }
        });
        full.wait();
        let came = Joining::start(real).end().0.map(drop);
        let outcome = acceptor.end();
        stop.store(true, Ordering::Relaxed);
        (came, outcome)
    });
    came.expect("comes in");
    party.map(drop).expect("a run");
    // One line for each would drown the others.
    assert!(notices.len() < count / 2, "{} notices", notices.len());
}

/// Whether the other end has closed it.
fn closed(stream: &TcpStream) -> bool {
    let mut one = [0; 1];
    match recv(stream, &mut one, RecvFlags::PEEK | RecvFlags::DONTWAIT) {
        Ok((_, n)) => n == 0,
        Err(error) => error != Errno::AGAIN,
    }
}

#[test]
fn idle_connections_of_one_address_keep_nobody_out() {
    for count in [70, 500] {
        among(&format!("idle-{count}"), count, |_| Ipv4Addr::LOCALHOST);
    }
}

#[test]
fn idle_connections_of_many_addresses_keep_nobody_out() {
    among("idle-many", 400, |i| {
        Ipv4Addr::new(127, 0, (i / 200) as u8, 2 + (i % 200) as u8)
    });
}

#[test]
fn who_says_nothing_is_sent_away_after_two_seconds() {
    let config = configs("first-byte", 2).swap_remove(0);
    let address = config.parties[0].address.parse().expect("an address");
    let _waits = Joining::start(TcpConfig {
        connect_timeout: Duration::from_secs(10),
        ..config
    });
    let began = Instant::now();
    let silent = idle(Ipv4Addr::LOCALHOST, address).expect("it listens");
    while !closed(&silent) {
        assert!(began.elapsed() < Duration::from_secs(8), "it stays");
        thread::sleep(Duration::from_millis(10));
    }
    let stayed = began.elapsed();
    assert!(stayed > Duration::from_millis(1900), "{stayed:?}");
}

/// More than strangers may open from one address, and for longer than they would be let in.
#[test]
fn parties_that_have_proved_who_they_are_take_no_strangers_place() {
    let mut configs = configs("proved", 12);
    let last = configs.pop().expect("the last");
    let all: Vec<_> = configs.into_iter().map(Joining::start).collect();
    thread::sleep(Duration::from_millis(2500));
    Joining::start(last).end().0.map(drop).expect("comes in");
    for joining in all {
        let (outcome, notices) = joining.end();
        outcome.map(drop).expect("a run");
        let left = |notice: &Notice| matches!(notice, Notice::Left { .. } | Notice::Stray { .. });
        assert!(!notices.iter().any(left), "{notices:?}");
    }
}
