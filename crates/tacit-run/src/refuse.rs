//! A party whose config cannot be used still tells the others, as long as the config says who they are.

use std::path::{Path, PathBuf};

use toml::{Table, Value};

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
    member.refuse_in_words(&parties, &settings, (error, &told), on_notice);
}

/// Who the parties of a config file are, `party.toml`, `train.toml` or `serve.toml`, as JSON, whatever else
/// stands in it; paths are absolute.
pub fn members(path: &Path) -> Result<String, Error> {
    let failed = |why: &str| Error::file(path, why);
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|e| failed(&format!("it cannot be read ({e})")))?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let none = "it does not say who the parties are: it needs [party] with an id, and [[parties]]";
    let (member, parties, settings) = remains(&text, folder).ok_or_else(|| failed(none))?;
    let id = member.number(&parties, &settings)?;
    let all: Table = text.parse().map_err(|_| failed(none))?;
    let tables = all.get("parties").and_then(Value::as_array);
    let http = |place: usize| tables?.get(place)?.get("http")?.as_str();
    let parties: Vec<_> = (parties.iter().enumerate())
        .map(|(place, peer)| {
            serde_json::json!({"name": peer.name, "address": peer.address,
                "certificate": peer.certificate, "http": http(place)})
        })
        .collect();
    let whole = serde_json::json!({
        "id": id, "key": member.key, "certificate": member.certificate, "listen": member.listen,
        "parties": parties, "protocol": settings.protocol.name,
        "serves": all.contains_key("models"),
    });
    Ok(whole.to_string())
}

/// Who the parties are, of a config whose other parts may be anything: an address or a certificate of
/// one that cannot be read leaves the others.
fn remains(text: &str, folder: &Path) -> Option<(Member, Vec<PeerConfig>, Settings)> {
    let all: Table = text.parse().ok()?;
    let mut member = member(all.get("party")?.as_table()?)?;
    let mut parties: Vec<PeerConfig> = all.get("parties")?.as_array()?.iter().map(peer).collect();
    let certificates = parties.iter_mut().map(|peer| &mut peer.certificate);
    let paths = member.paths_mut();
    let absolute = |path: &mut PathBuf| *path = folder.join(&*path);
    paths.chain(certificates).for_each(absolute);
    let protocol = (all.get("run"))
        .and_then(|run| run.get("protocol")?.as_str())
        .and_then(|name| Protocol::of_name(name).ok());
    let default = Settings::default();
    let settings = Settings {
        protocol: protocol.unwrap_or(default.protocol),
        ..default
    };
    Some((member, parties, settings))
}

/// This party, with what can be read of it.
fn member(table: &Table) -> Option<Member> {
    let mut known = Table::new();
    known.insert("id".into(), table.get("id")?.clone());
    for key in ["key", "certificate", "listen", "connect_timeout"] {
        let mut with = known.clone();
        with.extend(table.get(key).map(|value| (key.to_string(), value.clone())));
        if with.clone().try_into::<Member>().is_ok() {
            known = with;
        }
    }
    known.try_into().ok()
}

/// One of the parties, with what can be read of it.
fn peer(table: &Value) -> PeerConfig {
    let text = |key: &str| table.get(key).and_then(Value::as_str).unwrap_or_default();
    PeerConfig {
        name: text("name").into(),
        address: text("address").into(),
        certificate: text("certificate").into(),
    }
}
