//! Where a secret comes from: a file, a variable of the environment, or a command, such as one that asks
//! a service of keys. What it is is never in an error.

use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::Error;

/// The longest secret.
const MOST: u64 = 1 << 20;
/// How long a command may take.
const PATIENCE: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(5);

/// Where a secret comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "a path, { env = \"NAME\" } or { command = [\"program\", \"argument\"] }"
)]
pub enum Secret {
    /// A file that its owner alone may read.
    File(PathBuf),
    /// A variable of the environment.
    Env(OfEnv),
    /// What a command writes to its standard output.
    Command(OfCommand),
}

/// The variable that holds a secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OfEnv {
    env: String,
}

/// The command that tells a secret, without a shell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OfCommand {
    command: Vec<String>,
}

impl From<&str> for Secret {
    fn from(path: &str) -> Self {
        Secret::File(path.into())
    }
}

impl Secret {
    /// The file, if it is in one.
    pub fn path(&self) -> Option<&PathBuf> {
        match self {
            Secret::File(path) => Some(path),
            _ => None,
        }
    }

    /// The file, to be changed.
    pub(crate) fn path_mut(&mut self) -> Option<&mut PathBuf> {
        match self {
            Secret::File(path) => Some(path),
            _ => None,
        }
    }

    /// What errors call the place.
    pub(crate) fn place(&self) -> PathBuf {
        match self {
            Secret::File(path) => path.clone(),
            Secret::Env(OfEnv { env }) => format!("the variable {env}").into(),
            Secret::Command(OfCommand { command }) => {
                let program = command.first().map_or("", String::as_str);
                format!("the command {program}").into()
            }
        }
    }

    /// The secret; `setting` is what errors call it.
    pub fn read(&self, setting: &str) -> Result<Zeroizing<Vec<u8>>, Error> {
        let found = match self {
            Secret::File(path) => of_file(path)?,
            Secret::Env(OfEnv { env }) => {
                let found = std::env::var(env).map_err(|_| {
                    let why =
                        format!("the environment has no variable {env} of text; set it, or name another source");
                    Error::setting(setting, why)
                })?;
                Zeroizing::new(found.into_bytes())
            }
            Secret::Command(OfCommand { command }) => of_command(setting, command)?,
        };
        match found.is_empty() {
            false => Ok(found),
            true => {
                let why = format!("{} is empty", self.place().display());
                Err(Error::setting(setting, why))
            }
        }
    }
}

/// What a file holds that nobody else may read.
pub(crate) fn of_file(path: &Path) -> Result<Zeroizing<Vec<u8>>, Error> {
    let failed = |e: std::io::Error| Error::file(path, format!("it cannot be read ({e})"));
    // A pipe that nobody writes to would be opened for ever.
    let before = std::fs::metadata(path).map_err(failed)?;
    if !before.is_file() {
        let why = "it is no ordinary file; name one, or the command that tells this secret";
        return Err(Error::file(path, why));
    }
    let file = std::fs::File::open(path).map_err(failed)?;
    let mode = file.metadata().map_err(failed)?.permissions().mode();
    if mode & 0o077 != 0 {
        let why = format!(
            "this secret can be read by others (mode {:03o}); make it yours alone with chmod 600, and replace it if others may have read it",
            mode & 0o777
        );
        return Err(Error::file(path, why));
    }
    let mut found = Zeroizing::new(Vec::new());
    let read = file.take(MOST + 1).read_to_end(&mut found);
    read.map_err(failed)?;
    match found.len() as u64 > MOST {
        true => Err(Error::file(
            path,
            format!("it has more than {MOST} bytes, which no secret has"),
        )),
        false => Ok(found),
    }
}

/// What a command writes. What it says of errors is not shown: it could have the secret in it.
fn of_command(setting: &str, command: &[String]) -> Result<Zeroizing<Vec<u8>>, Error> {
    let failed = |why: String| {
        let program = command.first().map_or("", String::as_str);
        let why = format!(
            "the command {program} {why}; run it by hand, as this user, to see what it says"
        );
        Error::setting(setting, why)
    };
    let Some((program, arguments)) = command.split_first() else {
        return Err(Error::setting(setting, "the command is empty"));
    };
    let spawned = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut child = spawned.map_err(|e| failed(format!("cannot be run ({e})")))?;
    let (told, heard) = channel();
    let from = child.stdout.take();
    thread::spawn(move || {
        let mut found = Zeroizing::new(Vec::new());
        let read = from.map(|from| from.take(MOST + 1).read_to_end(&mut found));
        // Nobody waits any more for what comes too late.
        let _ = told.send(read.map(|read| read.map(|_| found)));
    });
    let until = Instant::now() + PATIENCE;
    let read = heard.recv_timeout(PATIENCE);
    if !ended(&mut child, until) || read.is_err() {
        let _ = child.kill();
        let _ = child.wait();
        return Err(failed(format!(
            "did not end within {} s",
            PATIENCE.as_secs()
        )));
    }
    let status = child.wait().map_err(|e| failed(e.to_string()))?;
    match read {
        Ok(Some(Ok(found))) if found.len() as u64 > MOST => {
            Err(failed(format!("wrote more than {MOST} bytes")))
        }
        _ if !status.success() => Err(failed(format!("failed ({status})"))),
        Ok(Some(Ok(found))) => Ok(found),
        _ => Err(failed("wrote nothing that can be read".into())),
    }
}

/// Whether a process ends in time.
fn ended(child: &mut Child, until: Instant) -> bool {
    loop {
        match child.try_wait() {
            Ok(None) if Instant::now() < until => thread::sleep(POLL),
            Ok(found) => return found.is_some(),
            Err(_) => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<Zeroizing<Vec<u8>>, Error> {
        let secret: Secret = serde_json::from_str(json).expect("a source");
        secret.read("party.key")
    }

    #[test]
    fn a_secret_comes_from_a_command_or_the_environment() {
        let found = read(r#"{"command": ["printf", "a secret"]}"#).expect("told");
        assert_eq!(&found[..], b"a secret");
        let found = read(r#"{"env": "CARGO_MANIFEST_DIR"}"#).expect("set");
        assert_eq!(&found[..], env!("CARGO_MANIFEST_DIR").as_bytes());
    }

    #[test]
    fn what_fails_names_the_setting_and_shows_nothing() {
        for (json, why) in [
            (
                r#"{"env": "TACIT_IS_NOT_SET"}"#,
                "no variable TACIT_IS_NOT_SET",
            ),
            (r#"{"command": []}"#, "empty"),
            (r#"{"command": ["true"]}"#, "is empty"),
            (r#"{"command": ["/is/not/there"]}"#, "cannot be run"),
            (
                r#"{"command": ["sh", "-c", "echo hidden; echo hidden >&2; exit 3"]}"#,
                "exit status: 3",
            ),
            (
                r#"{"command": ["head", "-c", "2000000", "/dev/zero"]}"#,
                "more than",
            ),
        ] {
            let error = read(json).expect_err(json).to_string();
            assert!(error.starts_with("party.key"), "{error}");
            assert!(error.contains(why) && !error.contains("hidden"), "{error}");
        }
    }

    /// What is too long is not cut, and a pipe is not waited for.
    #[test]
    fn files_that_hold_no_secret_are_refused() {
        let dir = std::env::temp_dir().join(format!("tacit-secret-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a folder");
        let (long, pipe) = (dir.join("long"), dir.join("pipe"));
        std::fs::write(&long, vec![b'x'; MOST as usize + 1]).expect("written");
        let own = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(&long, own).expect("its owner's");
        let made = Command::new("mkfifo").arg("-m600").arg(&pipe).status();
        assert!(made.expect("mkfifo").success());
        for (path, why) in [
            (&long, "more than"),
            (&pipe, "no ordinary file"),
            (&dir, "no ordinary file"),
        ] {
            let error = Secret::File(path.clone()).read("party.key");
            let error = error.expect_err("no secret").to_string();
            assert!(error.contains(why), "{error}");
        }
        std::fs::write(&long, vec![b'x'; MOST as usize]).expect("written");
        assert!(Secret::File(long).read("party.key").is_ok());
        let _ = std::fs::remove_dir_all(&dir);
    }

    #[test]
    fn other_sources_are_refused() {
        for json in [r#"{"env": "A", "command": []}"#, r#"{"vault": "x"}"#, "3"] {
            let error = serde_json::from_str::<Secret>(json).expect_err(json);
            assert!(error.to_string().contains("{ command ="), "{error}");
        }
    }
}
