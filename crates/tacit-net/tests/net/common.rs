//! Parties over TCP in one process, with certificates of their own.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use tacit_net::certs::{self, Identity};
use tacit_net::tcp::{self, Notice, Peer, TcpConfig};
use tacit_net::{LinkModel, NetError, Party};

pub const PATIENT: Duration = Duration::from_secs(60);

/// An empty folder of the test's own.
pub fn folder(test: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).unwrap();
    dir
}

pub fn identity(dir: &Path, name: &str) -> Identity {
    let own = dir.join(name);
    if !own.exists() {
        certs::generate(&own, name, certs::DEFAULT_VALIDITY).unwrap();
    }
    Identity::load(&own).unwrap()
}

/// An address of this machine that no other test has. On one address a port that a party has left
/// can come to a party of another test, and who still dials it meets a stranger there.
pub fn host() -> String {
    static TAKEN: AtomicU32 = AtomicU32::new(0);
    let k = TAKEN.fetch_add(1, Ordering::Relaxed);
    match cfg!(target_os = "linux") {
        true => format!("127.1.{}.{}", k / 250, 1 + k % 250),
        false => "127.0.0.1".into(),
    }
}

/// The configurations of `n` parties that fit each other, each with its port open.
pub fn configs(test: &str, n: usize) -> Vec<TcpConfig> {
    let dir = folder(test);
    let identities = (0..n)
        .map(|p| identity(&dir, &format!("party{p}")))
        .collect();
    configs_of(identities)
}

pub fn configs_of(identities: Vec<Identity>) -> Vec<TcpConfig> {
    let open = format!("{}:0", host());
    let listeners: Vec<_> = identities
        .iter()
        .map(|_| tcp::listen(&open).unwrap())
        .collect();
    let parties: Vec<Peer> = identities
        .iter()
        .zip(&listeners)
        .enumerate()
        .map(|(p, (identity, listener))| Peer {
            name: format!("clinic-{p}"),
            address: listener.local_addr().unwrap().to_string(),
            certificate: Some(identity.certificate().clone()),
            also: Vec::new(),
        })
        .collect();
    let n = parties.len();
    identities
        .into_iter()
        .zip(listeners)
        .enumerate()
        .map(|(id, (identity, listener))| TcpConfig {
            id,
            parties: parties.clone(),
            identity,
            listener: (id + 1 < n).then_some(listener),
            model: LinkModel::LOCAL,
            timeout: PATIENT,
            connect_timeout: PATIENT,
            leave: Default::default(),
        })
        .collect()
}

/// A party on its way into a run.
pub struct Joining {
    thread: thread::JoinHandle<Result<Party, NetError>>,
    pub notices: Arc<Mutex<Vec<Notice>>>,
}

impl Joining {
    pub fn start(config: TcpConfig) -> Joining {
        let notices = Arc::new(Mutex::new(Vec::new()));
        let heard = notices.clone();
        let thread = thread::spawn(move || {
            tcp::connect(config, &mut |notice| {
                heard.lock().unwrap().push(notice.clone())
            })
        });
        Joining { thread, notices }
    }

    /// Waits until `count` connections have been turned away, or the party has stopped waiting
    /// for others; what was said of them.
    pub fn strays(&self, count: usize) -> String {
        loop {
            let ended = self.thread.is_finished();
            let notices = self.notices.lock().unwrap().clone();
            let strays = notices
                .iter()
                .filter(|notice| matches!(notice, Notice::Stray { .. }));
            let strays: Vec<_> = strays.map(ToString::to_string).collect();
            if ended || strays.len() >= count {
                return strays.join("\n");
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    pub fn end(self) -> (Result<Party, NetError>, Vec<Notice>) {
        let outcome = self.thread.join().unwrap();
        let notices = self.notices.lock().unwrap().clone();
        (outcome, notices)
    }
}

pub fn join_all(configs: Vec<TcpConfig>) -> Vec<Result<Party, NetError>> {
    let joining: Vec<_> = configs.into_iter().map(Joining::start).collect();
    joining.into_iter().map(|joining| joining.end().0).collect()
}

/// Every party tells every other its number.
pub fn all_to_all(party: &mut Party) {
    let (me, n) = (party.id(), party.parties());
    for peer in (0..n).filter(|&peer| peer != me) {
        party.send(peer, "number", vec![me as u8]).unwrap();
    }
    for peer in (0..n).filter(|&peer| peer != me) {
        assert_eq!(party.recv(peer, "number", 1).unwrap(), [peer as u8]);
    }
}

/// `n` parties connected over TCP.
pub fn mesh(test: &str, n: usize) -> Vec<Party> {
    join_all(configs(test, n))
        .into_iter()
        .map(Result::unwrap)
        .collect()
}

/// Why a party cannot join.
pub fn joins_alone(config: TcpConfig) -> NetError {
    Joining::start(config)
        .end()
        .0
        .map(|party| party.id())
        .unwrap_err()
}
