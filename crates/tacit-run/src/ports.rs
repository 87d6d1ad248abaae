//! Ports of parties that all run on this machine.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::ops::Range;

use crate::Error;

/// Ports to choose from: below those that a system gives to outgoing connections, one of which could take a port
/// between its choice and its use.
const CHOICE: Range<u16> = 10_240..32_768;
/// How many places are tried.
const TRIES: usize = 1000;

/// The first ports of `blocks` blocks of `size` ports that were free a moment ago, no two alike.
///
/// # Errors
///
/// Where none is found, and where the system has no randomness.
pub(crate) fn free_ports(blocks: usize, size: u16) -> Result<Vec<u16>, Error> {
    let mut held = Vec::new();
    let mut why = "all are taken".to_string();
    for _ in 0..TRIES.saturating_add(blocks) {
        if held.len() == blocks {
            break;
        }
        let mut place = [0; 2];
        getrandom::fill(&mut place)
            .map_err(|e| tacit_protocols::Error::Randomness(e.to_string()))?;
        let first = CHOICE.start + u16::from_le_bytes(place) % (CHOICE.end - CHOICE.start - size);
        match hold(first, size) {
            Ok(block) => held.push((first, block)),
            Err(e) => why = e.to_string(),
        }
    }
    if held.len() < blocks {
        return Err(Error::setting(
            "127.0.0.1",
            format!("no ports are free ({why})"),
        ));
    }
    Ok(held.into_iter().map(|(first, _)| first).collect())
}

fn hold(first: u16, size: u16) -> io::Result<Vec<TcpListener>> {
    (first..first + size)
        .map(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{CHOICE, free_ports};

    #[test]
    fn ports_are_all_different_and_never_those_of_outgoing_connections() {
        let mut all: Vec<u16> = (free_ports(50, 4).expect("ports").iter())
            .flat_map(|first| *first..first + 4)
            .collect();
        assert!(all.iter().all(|port| CHOICE.contains(port)));
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 200);
    }
}
