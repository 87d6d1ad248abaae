//! A party whose config cannot be used still tells the others, as long as the config says who they are.

use std::path::{Path, PathBuf};

use toml::{Table, Value};

use crate::settings::Named;
use crate::{Error, Member, PeerConfig, Protocol, Settings};

/// Tells the parties of a config file, `party.toml` or `train.toml`, why this one cannot run: those
/// that come within some seconds. Does nothing where the file does not say who they are or where this
/// party's key is.
pub fn refuse(path: &Path, error: &Error, on_notice: &mut dyn FnMut(&str)) {
    let Some((member, parties, settings)) = std::fs::read_to_string(path)
        .ok()
        .and_then(|text| remains(&text, path.parent()?))
    else {
        return;
    };
    // Of a config that cannot be used the error shows lines.
    let told = match error {
        Error::File { path: of, .. } if Path::new(of) == path => {
            "its config cannot be used; its own message says more".to_string()
        }
        error => error.told(),
    };
    member.refuse(&parties, &settings, (error, &told), on_notice);
}

/// Who the parties are, of a config whose other parts may be anything.
fn remains(text: &str, folder: &Path) -> Option<(Member, Vec<PeerConfig>, Settings)> {
    let all: Table = text.parse().ok()?;
    let own = match all.get("party") {
        Some(Value::Table(party)) => party,
        _ => &all,
    };
    let known = ["id", "key", "certificate", "listen", "connect_timeout"];
    let own: Table = (own.iter())
        .filter(|(key, _)| known.contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    let mut member: Member = own.try_into().ok()?;
    let mut parties: Vec<PeerConfig> = all.get("parties")?.clone().try_into().ok()?;
    let certificates = parties.iter_mut().map(|peer| &mut peer.certificate);
    let paths = [&mut member.key, &mut member.certificate].into_iter();
    let absolute = |path: &mut PathBuf| *path = folder.join(&*path);
    paths.chain(certificates).for_each(absolute);
    let protocol = (all.get("run"))
        .and_then(|run| run.get("protocol")?.as_str())
        .and_then(|name| <&Protocol>::parse(name).ok());
    let default = Settings::default();
    let settings = Settings {
        protocol: protocol.unwrap_or(default.protocol),
        ..default
    };
    Some((member, parties, settings))
}
