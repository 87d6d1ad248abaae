//! Comparing what must be the same at every party before anything is computed.

use crate::link::printable;
use crate::{NetError, Party};

/// Bytes of a list of items; larger values are compared by a hash of the caller's.
const MAX_BYTES: usize = 64 << 10;
const STEP: &str = "agree";
const ABSENT: &str = "(nothing)";

/// Compares named values with every other party, in this order. The first difference is an error
/// at both parties that differ.
///
/// Names and values are shown to the others: nothing secret may be among them. Together they may
/// have 64 KiB.
pub fn agree(party: &mut Party, items: &[(&str, String)]) -> Result<(), NetError> {
    let (us, parties) = (party.id(), party.parties());
    let list = encode(items);
    if list.len() > MAX_BYTES {
        return Err(NetError::Invalid {
            what: "items to agree on".into(),
            why: format!(
                "they have {} bytes, more than {MAX_BYTES}; compare large ones by a hash",
                list.len()
            ),
        });
    }
    let others = (0..parties).filter(|&peer| peer != us);
    for peer in others.clone() {
        party.send(peer, STEP, list.clone())?;
    }
    // All lists are taken before any is judged: a party that leaves early would otherwise look
    // lost to those that still have a list for it.
    let mut lists = Vec::new();
    for peer in others {
        lists.push((peer, party.recv_at_most(peer, STEP, MAX_BYTES)?));
    }
    for (peer, list) in lists {
        let theirs = decode(&list).ok_or_else(|| NetError::Disagreement {
            item: "list of items".into(),
            us,
            party: peer,
            ours: "well-formed".into(),
            theirs: "malformed".into(),
            teller: None,
        })?;
        compare(us, items, peer, &theirs)?;
    }
    Ok(())
}

fn compare(
    us: usize,
    ours: &[(&str, String)],
    party: usize,
    theirs: &[(&[u8], &[u8])],
) -> Result<(), NetError> {
    let differ = |item: &[u8], ours: &str, theirs: &[u8]| {
        Err(NetError::Disagreement {
            item: printable(item),
            us,
            party,
            ours: ours.to_string(),
            theirs: printable(theirs),
            teller: None,
        })
    };
    for (name, value) in ours {
        match theirs.iter().find(|(theirs, _)| *theirs == name.as_bytes()) {
            Some((_, their)) if *their == value.as_bytes() => {}
            Some((name, their)) => return differ(name, value, their),
            None => return differ(name.as_bytes(), value, ABSENT.as_bytes()),
        }
    }
    for (name, their) in theirs {
        if !ours.iter().any(|(ours, _)| ours.as_bytes() == *name) {
            return differ(name, ABSENT, their);
        }
    }
    Ok(())
}

fn encode(items: &[(&str, String)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for text in items
        .iter()
        .flat_map(|(name, value)| [*name, value.as_str()])
    {
        bytes.extend_from_slice(&(text.len() as u64).to_le_bytes());
        bytes.extend_from_slice(text.as_bytes());
    }
    bytes
}

fn decode(mut bytes: &[u8]) -> Option<Vec<(&[u8], &[u8])>> {
    let mut items = Vec::new();
    while !bytes.is_empty() {
        items.push((text(&mut bytes)?, text(&mut bytes)?));
    }
    Some(items)
}

fn text<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (len, rest) = bytes.split_first_chunk::<8>()?;
    let len = usize::try_from(u64::from_le_bytes(*len)).ok()?;
    let (text, rest) = rest.split_at_checked(len)?;
    *bytes = rest;
    Some(text)
}
