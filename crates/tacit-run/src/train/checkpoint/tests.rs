//! Files of states: what comes back, what is refused.

use super::*;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("tacit-checkpoint-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&path);
        Folder(path)
    }

    fn keeper(&self, training: &str) -> Keeper {
        let options = CheckpointOptions {
            folder: self.0.clone(),
            keys: Some(self.0.join("keys")),
            every: 1,
        };
        Keeper::open(&options, 2, training.into()).expect("opens")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn position(done: usize) -> Position {
    Position {
        place: Place {
            training: "t".into(),
            run: "r".into(),
            session: "s".into(),
            party: 2,
            done,
        },
        epochs: Vec::new(),
    }
}

#[test]
fn the_newest_two_come_back() {
    let folder = Folder::new("newest");
    let keeper = folder.keeper("t");
    let shares = |done: usize| vec![vec![done as u8; 100], Vec::new(), vec![7; 3]];
    for done in [9, 10, 200] {
        keeper.save(&position(done), &shares(done)).expect("saves");
    }
    let found = folder.keeper("t").positions().expect("reads");
    assert_eq!(found, [position(200), position(10)]);
    let loaded = keeper.load(&position(10)).expect("reads");
    assert!(loaded.iter().map(|part| &**part).eq(&shares(10)));
    assert!(keeper.load(&position(9)).is_err());
}

#[test]
fn files_are_unreadable_and_changes_are_noticed() {
    let folder = Folder::new("changes");
    let keeper = folder.keeper("t");
    let secret = b"a share that nobody may read";
    keeper
        .save(&position(1), &[secret.to_vec()])
        .expect("saves");
    let path = keeper.path(1);
    let whole = fs::read(&path).expect("there");
    assert!(!whole.windows(secret.len()).any(|part| part == secret));
    for (at, why) in [
        (0, "no checkpoint"),
        (30, "no checkpoint"),
        (whole.len() - 60, "damaged"),
        (whole.len() - 1, "damaged"),
    ] {
        let mut changed = whole.clone();
        changed[at] ^= 1;
        fs::write(&path, &changed).expect("writes");
        let error = keeper.positions().expect_err("refused").to_string();
        assert!(
            error.contains(why) && error.contains("party2-00000001"),
            "{error}"
        );
    }
    for len in [0, 10, 20, 40, whole.len() - 1] {
        fs::write(&path, &whole[..len]).expect("writes");
        assert!(keeper.positions().is_err());
    }
    fs::write(&path, &whole).expect("writes");
    assert!(keeper.positions().is_ok());
    let error = folder.keeper("u").positions().expect_err("refused");
    assert!(error.to_string().contains("another training"), "{error}");
    fs::write(folder.0.join("keys/party2.key"), [1; 32]).expect("writes");
    let error = folder.keeper("t").positions().expect_err("refused");
    assert!(
        error.to_string().contains("the key is another's"),
        "{error}"
    );
}

/// Every party's files under one key: only the place tells them apart.
#[test]
fn a_file_counts_only_in_its_own_place() {
    let folder = Folder::new("places");
    let keeper = folder.keeper("t");
    let save = |keeper: &Keeper, position: &Position| {
        keeper.save(position, &[vec![1; 9]]).expect("saves");
        fs::read(keeper.path(position.place.done)).expect("there")
    };
    let [first, second] = [1, 2].map(|done| save(&keeper, &position(done)));
    let elsewhere = |change: &dyn Fn(&mut Place)| {
        let mut moved = position(2);
        change(&mut moved.place);
        keeper.seal(&moved, &[vec![2; 9]]).expect("is sealed")
    };
    let newest = keeper.path(2);
    for (file, why) in [
        (
            first.clone(),
            "of mini-batch 1, under the name of mini-batch 2",
        ),
        (
            elsewhere(&|place| place.party = 1),
            "of party 1, under the name of party 2",
        ),
        (
            elsewhere(&|place| place.training = "u".into()),
            "another training",
        ),
        (elsewhere(&|place| place.run = "q".into()), "another run"),
    ] {
        fs::write(&newest, &file).expect("writes");
        let error = keeper.positions().expect_err("refused").to_string();
        assert!(error.contains(why), "{error}");
    }
    // A place that is not its own does not open what is sealed with another.
    let (head, sealed) = (MAGIC.len() + 8, second.len() - first.len());
    assert_eq!(sealed, 0);
    let end = head + serde_json::to_vec(&position(2).place).expect("JSON").len();
    fs::write(&newest, [&second[..end], &first[end..]].concat()).expect("writes");
    assert_eq!(keeper.positions().expect("one is whole"), [position(1)]);
    let error = keeper.load(&position(2)).expect_err("refused").to_string();
    assert!(error.contains("damaged or changed"), "{error}");
    fs::write(&newest, &second).expect("writes");
    let found = keeper.positions().expect("reads");
    fs::write(&newest, elsewhere(&|place| place.session = "z".into())).expect("writes");
    let error = keeper.load(&found[0]).expect_err("refused").to_string();
    assert!(error.contains("exchanged while"), "{error}");
}

/// The newest is damaged: the one before counts, the damaged is left until the training is beyond it.
#[test]
fn a_damaged_file_does_not_count() {
    let folder = Folder::new("damaged");
    let keeper = folder.keeper("t");
    for done in [10, 20, 30] {
        keeper.save(&position(done), &[vec![1; 9]]).expect("saves");
    }
    let whole = fs::read(keeper.path(30)).expect("there");
    for at in [0, MAGIC.len() + 8 + 20, whole.len() - 1] {
        let mut changed = whole.clone();
        changed[at] ^= 1;
        fs::write(keeper.path(30), &changed).expect("writes");
        assert_eq!(keeper.positions().expect("one is whole"), [position(20)]);
    }
    assert!(keeper.path(30).exists());
    // What follows the older one is not removed in favour of what was given up.
    keeper.save(&position(25), &[vec![1; 9]]).expect("saves");
    assert!(!keeper.path(30).exists());
    let found = keeper.positions().expect("both are whole");
    assert_eq!(found, [position(25), position(20)]);
    for done in [25, 20] {
        fs::write(keeper.path(done), b"nothing").expect("writes");
    }
    let error = keeper.positions().expect_err("none is whole").to_string();
    assert!(
        error.contains("party2-00000025") && error.contains("no checkpoint"),
        "{error}"
    );
}

#[cfg(unix)]
#[test]
fn only_the_owner_may_read_keys_and_checkpoints() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new("modes");
    let (for_all, key) = (
        fs::Permissions::from_mode(0o644),
        folder.0.join("keys/party2.key"),
    );
    // What an earlier start has left does not lend a key its mode.
    fs::create_dir_all(folder.0.join("keys")).expect("made");
    fs::write(key.with_extension("partial"), "left").expect("written");
    let keeper = folder.keeper("t");
    keeper.save(&position(1), &[]).expect("saves");
    for path in [&keeper.path(1), &key] {
        let mode = fs::metadata(path).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", path.display());
    }
    fs::set_permissions(&key, for_all).expect("set");
    let error = super::key(&key).expect_err("read by others").to_string();
    assert!(error.contains("mode 644"), "{error}");
}

/// The key while it is used, what it seals and what it opens are gone with the keeper.
#[cfg(target_os = "linux")]
#[test]
fn keys_and_plain_text_are_wiped() {
    use tacit_net::testing::remains::Secrets;
    let folder = Folder::new("wiped");
    let mut secrets = Secrets::default();
    let keeper = folder.keeper("t");
    wipe::after(|| {
        let key = Zeroizing::new(fs::read(folder.0.join("keys/party2.key")).expect("there"));
        secrets.add(&key);
        let share = random_share();
        secrets.add(&share[100..164]);
        // A share's owner wipes it, not the keeper.
        keeper
            .save(&position(1), std::slice::from_ref(&*share))
            .expect("saves");
    });
    let loaded = keeper.load(&position(1)).expect("reads");
    let alive = secrets.remains();
    drop((keeper, loaded));
    let gone = secrets.remains();
    assert!(alive.iter().all(|count| *count > 0), "{alive:?}");
    assert_eq!(gone, [0, 0]);
}

/// What a share would be, wiped when it is dropped.
#[cfg(target_os = "linux")]
fn random_share() -> Zeroizing<Vec<u8>> {
    let mut share = Zeroizing::new(vec![0; 5000]);
    getrandom::fill(&mut share).expect("randomness");
    share
}
