//! What the owner of a model binds itself to: a hash of its file under a salt that it keeps.
//!
//! The others learn nothing of the file by it, since they lack the salt. An owner that serves another file
//! has another commitment, unless it lies; one that lies is found out by whoever it shows file and salt
//! later, an auditor or a court. Nothing here proves that the weights that were shared are those of the file:
//! under malicious security they are the same in all predictions of a life, whatever they are.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::Error;
use crate::secret::of_file;

const SALT: usize = 32;
const CONTEXT: &str = "tacit: an owner's commitment to a model's file";
/// The hexadecimal digits of a commitment.
pub(super) const DIGITS: usize = 64;

/// The commitment to a file under the salt in another, which is made if there is none.
pub(super) fn commitment(model: &Path, salt: &Path) -> Result<String, Error> {
    let mut file = blake3::Hasher::new();
    let read = File::open(model).and_then(|from| file.update_reader(from).map(drop));
    read.map_err(|e| Error::file(model, format!("it cannot be read ({e})")))?;
    let mut hasher = blake3::Hasher::new_derive_key(CONTEXT);
    hasher.update(&kept(salt)?);
    hasher.update(file.finalize().as_bytes());
    Ok(hasher.finalize().to_hex().to_string())
}

/// The salt of a file, which only its owner reads.
fn kept(path: &Path) -> Result<[u8; SALT], Error> {
    let failed = |e: std::io::Error| {
        Error::file(
            path,
            format!("the salt of the model's commitment cannot be kept there ({e})"),
        )
    };
    let mut salt = [0; SALT];
    match path.metadata() {
        Err(e) if e.kind() == ErrorKind::NotFound => {
            getrandom::fill(&mut salt)
                .map_err(|e| tacit_protocols::Error::Randomness(e.to_string()))?;
            place(path, &salt).map_err(failed)?;
        }
        Ok(_) => {
            salt = of_file(path)?.as_slice().try_into().map_err(|_| {
                let why = "it holds no salt of 32 bytes; a new one makes a new commitment, which the others \
                           must approve";
                Error::file(path, why)
            })?;
        }
        Err(e) => return Err(failed(e)),
    }
    Ok(salt)
}

/// Writes a file whole or not at all, and never over another: half a salt would be found at the next start.
fn place(path: &Path, salt: &[u8]) -> std::io::Result<()> {
    static MADE: AtomicUsize = AtomicUsize::new(0);
    let (process, number) = (std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{process}-{number}"));
    let beside = PathBuf::from(beside);
    // One that an earlier process has left there may be for others to read.
    let _ = std::fs::remove_file(&beside);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut new = options.open(&beside)?;
    if let Err(e) = new.write_all(salt).and_then(|()| new.sync_all()) {
        let _ = std::fs::remove_file(&beside);
        return Err(e);
    }
    match std::fs::hard_link(&beside, path) {
        // Some systems of files have no links.
        Err(e) if e.kind() != ErrorKind::AlreadyExists => std::fs::rename(&beside, path),
        placed => std::fs::remove_file(&beside).and(placed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commitment_is_of_file_and_salt() {
        let dir = std::env::temp_dir().join(format!("tacit-commit-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a folder");
        let write = |name: &str, text: &str| {
            let path = dir.join(name);
            std::fs::write(&path, text).expect("written");
            path
        };
        let (one, other) = (write("one", "weights"), write("other", "more weights"));
        let [a, b] = ["a.salt", "b.salt"].map(|name| dir.join(name));
        let of = |model: &Path, salt: &Path| commitment(model, salt).expect("kept");
        let first = of(&one, &a);
        assert_eq!(first.len(), DIGITS);
        assert_eq!(of(&one, &a), first);
        assert_ne!(of(&other, &a), first);
        assert_ne!(of(&one, &b), first);
        let short = write("c.salt", "short");
        for (mode, why) in [(0o644, "read by others (mode 644)"), (0o600, "32 bytes")] {
            let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
            std::fs::set_permissions(&short, mode).expect("set");
            let error = commitment(&one, &short).expect_err(why).to_string();
            assert!(error.contains(why), "{error}");
        }
        std::fs::remove_dir_all(&dir).expect("removed");
    }
}
