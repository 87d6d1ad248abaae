//! A training's state on disk: each party's shares in files of its own, encrypted with a key that it
//! holds, written whole or not at all.
//!
//! A file is a line that says what it is; its place: which training, run, session, party and
//! mini-batch the state is of (JSON, its length before it); a nonce; and what AES-256-GCM makes of the
//! epochs (JSON) and the shares, each with its length before it. The place is authenticated with them,
//! and a file counts only under the name that its place gives it. The two newest are kept: parties
//! that were stopped at different moments have one in common. A file that is damaged does not count;
//! one that is whole, but of another training, party or moment, is an error.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use serde::{Deserialize, Serialize};
use tacit_algebra::wipe;
use zeroize::Zeroizing;

use super::{CheckpointOptions, EpochReport};
use crate::Error;
use crate::secret::of_file;

const MAGIC: &[u8] = b"tacit checkpoint 2\n";
const KEY_BYTES: usize = 32;
const KEPT: usize = 2;

/// One tensor's shares, decrypted.
type Part = Zeroizing<Vec<u8>>;

/// The longest place that is read.
const MAX_PLACE: usize = 1 << 12;

/// The moment of a training that a party's state belongs to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Place {
    /// A digest of everything that the training depends on.
    pub training: String,
    /// Random, of the training's first start; of all parties together.
    pub run: String,
    /// Random, of the start that the state was written after: shares of two sessions do not belong
    /// together, though the mini-batch is the same.
    pub session: String,
    /// The number of the party that wrote the state.
    pub party: usize,
    /// Mini-batches that are done.
    pub done: usize,
}

/// Where a training is.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Position {
    pub place: Place,
    /// The epochs that are done.
    pub epochs: Vec<EpochReport>,
}

/// Why a file cannot be used.
enum Fault {
    /// The file is not whole, or was not written under this key.
    Damaged(Error),
    /// The file is another's: of another training.
    Foreign(Error),
}

impl Fault {
    fn error(self) -> Error {
        match self {
            Fault::Damaged(error) | Fault::Foreign(error) => error,
        }
    }
}

/// What writes and finds a party's checkpoints.
pub(super) struct Keeper {
    folder: PathBuf,
    party: usize,
    training: String,
    key: Zeroizing<Vec<u8>>,
    pub every: usize,
}

impl Keeper {
    /// The checkpoints of a party of a training; makes folder and key if they are not there.
    pub fn open(
        options: &CheckpointOptions,
        party: usize,
        training: String,
    ) -> Result<Self, Error> {
        let keys = options.keys.as_ref().unwrap_or(&options.folder);
        for folder in [&options.folder, keys] {
            fs::create_dir_all(folder).map_err(|e| Error::file(folder, e))?;
        }
        Ok(Keeper {
            folder: options.folder.clone(),
            party,
            training,
            key: key(&keys.join(format!("party{party}.key")))?,
            every: options.every,
        })
    }

    /// The digest of everything that the training depends on.
    pub fn training(&self) -> &str {
        &self.training
    }

    /// Where the whole files of this training are, the newest first. Files of which none is whole
    /// are an error: to begin anew would remove what may still be restored.
    pub fn positions(&self) -> Result<Vec<Position>, Error> {
        let (mut found, mut damaged): (Vec<Position>, _) = (Vec::new(), None);
        for (done, path) in self.files()? {
            let position = match self.read(done, &path) {
                Ok((position, _)) => position,
                Err(Fault::Damaged(error)) => {
                    tracing::warn!("{error}");
                    damaged.get_or_insert(error);
                    continue;
                }
                Err(Fault::Foreign(error)) => return Err(error),
            };
            let run = &position.place.run;
            if found.first().is_some_and(|newest| newest.place.run != *run) {
                let why = "it is of another run of this training than the newest file here. Restore this run's own, or give each run a folder";
                return Err(Error::file(&path, why));
            }
            found.push(position);
        }
        match (damaged, found.is_empty()) {
            (Some(error), true) => Err(error),
            _ => Ok(found),
        }
    }

    /// The shares of a position.
    pub fn load(&self, position: &Position) -> Result<Vec<Part>, Error> {
        let path = self.path(position.place.done);
        let (found, shares) = self
            .read(position.place.done, &path)
            .map_err(Fault::error)?;
        match found == *position {
            true => Ok(shares),
            false => Err(Error::file(&path, "it was exchanged while it was read")),
        }
    }

    /// Writes a state, and removes all but the newest two; those that are newer are of a way that
    /// was given up, since not every party had them whole.
    pub fn save(&self, position: &Position, shares: &[Vec<u8>]) -> Result<(), Error> {
        let path = self.path(position.place.done);
        let sealed = self.seal(position, shares).ok_or_else(|| {
            Error::file(
                &path,
                "it cannot be encrypted: more than 64 GiB, or no randomness",
            )
        })?;
        write_whole(&path, &sealed).map_err(|e| Error::file(&path, e))?;
        let now = position.place.done;
        let (newer, known): (Vec<_>, Vec<_>) =
            self.files()?.into_iter().partition(|(done, _)| *done > now);
        for (_, old) in newer.into_iter().chain(known.into_iter().skip(KEPT)) {
            fs::remove_file(&old).map_err(|e| Error::file(&old, e))?;
        }
        Ok(())
    }

    /// The file of a mini-batch.
    pub fn path(&self, done: usize) -> PathBuf {
        let name = format!("party{}-{done:08}.checkpoint", self.party);
        self.folder.join(name)
    }

    /// This party's files with their numbers of mini-batches, the newest first.
    fn files(&self) -> Result<Vec<(usize, PathBuf)>, Error> {
        let prefix = format!("party{}-", self.party);
        let number = |path: &Path| -> Option<usize> {
            let name = path.file_name()?.to_str()?;
            let number = name.strip_prefix(&prefix)?.strip_suffix(".checkpoint")?;
            number.parse().ok()
        };
        let failed = |e: std::io::Error| Error::file(&self.folder, e);
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            files.extend(number(&path).map(|number| (number, path)));
        }
        files.sort_unstable_by(|a, b| b.cmp(a));
        Ok(files)
    }

    /// Uses the expanded key, which does not wipe itself: of the stack nothing stays.
    fn with_key<T>(&self, run: impl FnOnce(&LessSafeKey) -> T) -> T {
        wipe::after(|| {
            let key = UnboundKey::new(&AES_256_GCM, &self.key);
            run(&LessSafeKey::new(key.expect("it has 32 bytes")))
        })
    }

    fn seal(&self, position: &Position, shares: &[Vec<u8>]) -> Option<Vec<u8>> {
        let place = serde_json::to_vec(&position.place).ok()?;
        let head = [MAGIC, &(place.len() as u64).to_le_bytes(), &place].concat();
        let epochs = Zeroizing::new(serde_json::to_vec(&position.epochs).ok()?);
        let mut nonce = [0; NONCE_LEN];
        getrandom::fill(&mut nonce).ok()?;
        let parts = || std::iter::once(&*epochs).chain(shares);
        // Whole at once: what grows leaves copies behind.
        let len = parts()
            .map(|part| size_of::<u64>() + part.len())
            .sum::<usize>();
        let mut inner = Vec::with_capacity(len + AES_256_GCM.tag_len());
        for part in parts() {
            inner.extend_from_slice(&(part.len() as u64).to_le_bytes());
            inner.extend_from_slice(part);
        }
        let of = Nonce::assume_unique_for_key(nonce);
        self.with_key(|key| key.seal_in_place_append_tag(of, Aad::from(&head), &mut inner))
            .ok()?;
        Some([&head, &nonce[..], &inner].concat())
    }

    /// What the file of a mini-batch holds, which is of this party, training and mini-batch.
    fn read(&self, done: usize, path: &Path) -> Result<(Position, Vec<Part>), Fault> {
        let damaged = |why: &str| Fault::Damaged(Error::file(path, why));
        let bytes = fs::read(path).map_err(|e| damaged(&e.to_string()))?;
        let other = || damaged("it is no checkpoint of this version. Restore it, or remove it");
        let rest = bytes.strip_prefix(MAGIC).ok_or_else(other)?;
        let (place, rest) = part(rest)
            .filter(|(place, _)| place.len() <= MAX_PLACE)
            .ok_or_else(other)?;
        let (head, _) = bytes.split_at(bytes.len() - rest.len());
        let place: Place = serde_json::from_slice(place).map_err(|_| other())?;
        let (nonce, sealed) = rest.split_first_chunk().ok_or_else(other)?;
        let mut inner = Zeroizing::new(sealed.to_vec());
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let len = self.with_key(|key| {
            let opened = key.open_in_place(nonce, Aad::from(head), &mut inner);
            opened.map(|opened| opened.len())
        });
        let len = len.map_err(|_| {
            damaged("it was damaged or changed, or the key is another's. Restore it, or remove it")
        })?;
        // What is not authentic says nothing of whose it is.
        self.expect(&place, done)
            .map_err(|why| Fault::Foreign(Error::file(path, why)))?;
        let (mut opened, mut parts) = (&inner[..len], Vec::new());
        while !opened.is_empty() {
            let (next, rest) = part(opened).ok_or_else(other)?;
            parts.push(Zeroizing::new(next.to_vec()));
            opened = rest;
        }
        let shares = parts.split_off(1.min(parts.len()));
        let epochs = parts.first().ok_or_else(other)?;
        let epochs = serde_json::from_slice(epochs).map_err(|_| other())?;
        Ok((Position { place, epochs }, shares))
    }

    /// Refuses the state of another training, party or mini-batch.
    fn expect(&self, place: &Place, done: usize) -> Result<(), String> {
        let (us, is) = (self.party, place.party);
        if place.training != self.training {
            return Err("it is of another training: the protocol, the network, the data's sizes, the options or the parties differ. Give a folder of its own, or remove it".into());
        }
        if is != us {
            return Err(format!(
                "it is of party {is}, under the name of party {us}'s. Restore this party's own"
            ));
        }
        if place.done != done {
            return Err(format!(
                "it is of mini-batch {}, under the name of mini-batch {done}. Restore it, or remove it to go on from another",
                place.done
            ));
        }
        Ok(())
    }
}

/// A part with its length before it, and what follows.
fn part(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, rest) = bytes.split_first_chunk()?;
    rest.split_at_checked(usize::try_from(u64::from_le_bytes(*len)).ok()?)
}

/// The key of a file, made if there is none.
fn key(path: &Path) -> Result<Zeroizing<Vec<u8>>, Error> {
    let mut key = Zeroizing::new(vec![0; KEY_BYTES]);
    match fs::metadata(path) {
        Ok(_) => {
            let bytes = of_file(path)?;
            if bytes.len() != KEY_BYTES {
                let why = format!(
                    "a checkpoint key has {KEY_BYTES} bytes, not {}",
                    bytes.len()
                );
                return Err(Error::file(path, why));
            }
            key.copy_from_slice(&bytes);
        }
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            let failed = |e: getrandom::Error| tacit_protocols::Error::Randomness(e.to_string());
            getrandom::fill(&mut key).map_err(failed)?;
            write_whole(path, &key).map_err(|e| Error::file(path, e))?;
        }
        Err(e) => return Err(Error::file(path, e)),
    }
    Ok(key)
}

/// Writes a file that only its owner reads, so that there is the old one or the new one whole.
fn write_whole(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let partial = path.with_extension("partial");
    // One that was left there may be for others to read.
    let _ = fs::remove_file(&partial);
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&partial)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&partial, path)?;
    if let Some(folder) = path.parent() {
        fs::File::open(folder)?.sync_all()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
