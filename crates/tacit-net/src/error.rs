//! What can go wrong on a link, and what to do about it.

use std::time::Duration;

/// An error of the network floor. None of them carries a payload or a key.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NetError {
    /// A message to or from a party that does not exist, or to oneself.
    #[error("there is no link to party {party}: the parties are 0 to {}, and none is linked to itself", parties - 1)]
    NoSuchParty {
        /// The party asked for.
        party: usize,
        /// How many parties there are.
        parties: usize,
    },
    /// A peer died, closed its end, stalled beyond the time limit, or said that it stops.
    #[error("{}; this run cannot go on, start it again at every party", lost(*party, how, (step, layer), *waited, why))]
    PeerLost {
        /// The peer. Where several stopped because of one another, the first of them, as far as is
        /// known.
        party: usize,
        /// What became of it.
        how: Loss,
        /// The step of the protocol at which it was needed.
        step: &'static str,
        /// The layer that this party was in.
        layer: String,
        /// How long this party had been waiting.
        waited: Duration,
        /// What was seen of it: a closed connection, silence, or its own words.
        why: String,
    },
    /// The user interrupted this process.
    #[error("this party was interrupted")]
    Interrupted,
    /// A peer stopped because a check against cheating failed at it.
    #[error(
        "party {party} stopped the run while this one was at {}: its check '{check}' failed, so {} broke the protocol{}; this run cannot go on: before another one hold the errors of all parties beside each other, for honest parties name the same one",
        place(step, layer),
        either(suspects, *party),
        if suspects.is_empty() { " or this party did" } else { "" }
    )]
    Accused {
        /// The party that stopped.
        party: usize,
        /// The step of the protocol at which it was needed.
        step: &'static str,
        /// The layer that this party was in.
        layer: String,
        /// The check that failed, in its words.
        check: String,
        /// The parties of which it says that one broke the protocol, without this one.
        suspects: Vec<usize>,
    },
    /// A peer sent bytes that are not a frame of this run.
    #[error(
        "party {party} sent a bad frame while {} was expected: {fault}; either the link was tampered with or that party runs other software",
        place(step, layer)
    )]
    Frame {
        /// The peer that sent the frame.
        party: usize,
        /// The step that was expected.
        step: &'static str,
        /// The layer that this party was in.
        layer: String,
        /// What was wrong with the frame.
        fault: FrameFault,
    },
    /// A peer is at another step of the protocol.
    #[error(
        "party {party} is at step {theirs}, this party at {}: the two run different programs",
        place(ours, layer)
    )]
    Step {
        /// The peer that is at another step.
        party: usize,
        /// The step that was expected.
        ours: &'static str,
        /// The step that the message belongs to: its name if this party knows it, else its tag.
        theirs: String,
        /// The layer that this party was in.
        layer: String,
    },
    /// A message of the right step with the wrong size.
    #[error(
        "party {party} sent {got} bytes at {} where {expected} were expected: the two run different programs or sizes",
        place(step, layer)
    )]
    Length {
        /// The peer that sent the bytes.
        party: usize,
        /// The step of the protocol.
        step: &'static str,
        /// The layer that this party was in.
        layer: String,
        /// The bytes expected: a number, or a number and more.
        expected: String,
        /// The bytes received until this was clear.
        got: usize,
    },
    /// Two parties were started with different settings.
    #[error("parties {} and {} differ in '{item}': {} here at party {us}, {} there at party {party}; {}", us.min(party), us.max(party), ours, theirs, remedy(*teller))]
    Disagreement {
        /// The name of the item.
        item: String,
        /// This party's number.
        us: usize,
        /// The number of the party that differs.
        party: usize,
        /// The value at this party.
        ours: String,
        /// The value at the peer.
        theirs: String,
        /// Of what a party said to both, that party: it said different things, or the peer lies about it.
        teller: Option<usize>,
    },
    /// A setting that cannot be used.
    #[error("{what}: {why}")]
    Invalid {
        /// The setting that cannot be used, by its name.
        what: String,
        /// Why the setting cannot be used and what could.
        why: String,
    },
    /// A file that cannot be read or written.
    #[error("{path}: {why}")]
    File {
        /// The path of the file.
        path: String,
        /// What happened and what to do.
        why: String,
    },
    /// The address to listen at cannot be had.
    #[error(
        "cannot listen at {address}: {why}; choose another port or address, or stop the program that uses it"
    )]
    Listen {
        /// The address at which the party was to listen.
        address: String,
        /// The operating system's words.
        why: String,
    },
    /// A peer did not come within the time for connecting.
    #[error(
        "party {party} ({name}) at {address} did not come within {:.0} s{}; see that it is started, that its address is right and that no firewall is between",
        waited.as_secs_f64(),
        last.as_ref().map(|l| format!(" (last seen: {l})")).unwrap_or_default()
    )]
    Absent {
        /// The number of the peer that did not come.
        party: usize,
        /// The peer's name.
        name: String,
        /// The peer's address.
        address: String,
        /// How long the peer was waited for.
        waited: Duration,
        /// The last failure of a connection with it, if any.
        last: Option<String>,
    },
    /// A peer did not come in time. Either somebody came who could not prove to be it, or the peer
    /// did not believe who this party is.
    #[error(
        "party {party} ({name}) at {address} did not come within {:.0} s, but {why}",
        waited.as_secs_f64()
    )]
    Unproven {
        /// The peer.
        party: usize,
        /// The peer's name.
        name: String,
        /// The peer's address.
        address: String,
        /// How long the peer was waited for.
        waited: Duration,
        /// Who came, what was wrong, and what to do.
        why: String,
    },
    /// This party refused what claimed to be a peer.
    #[error("refused party {party} ({name}) at {address}: {why}")]
    Refused {
        /// The peer that the other end claimed, or was expected, to be.
        party: usize,
        /// The name of the refused party.
        name: String,
        /// The address of the other end.
        address: String,
        /// What was wrong and what to do.
        why: String,
    },
    /// A peer refused this party.
    #[error("party {party} ({name}) at {address} refused this party: {why}")]
    RefusedByPeer {
        /// The number of the peer that refused this party.
        party: usize,
        /// The peer's name.
        name: String,
        /// The peer's address.
        address: String,
        /// What the peer told and what to do.
        why: String,
    },
    /// The operating system refused something that every run needs.
    #[error("the system gave no {what} ({why}); free some of its resources or raise its limits")]
    System {
        /// What was asked for.
        what: String,
        /// The system's words.
        why: String,
    },
    /// The operating system gave no randomness.
    #[error(
        "the operating system's random generator failed ({0}); no link can be protected without it, so this party stops"
    )]
    Randomness(String),
}

/// What became of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The peer died, closed its end, or was silent for too long.
    Lost,
    /// The peer said that it stops, and why.
    Stopped,
    /// The peer was told to stop by its user.
    Interrupted,
}

fn lost(party: usize, how: &Loss, at: (&str, &str), waited: Duration, why: &str) -> String {
    match how {
        Loss::Lost => format!(
            "party {party} was lost at {} after {:.1} s: {why}",
            place(at.0, at.1),
            waited.as_secs_f64()
        ),
        Loss::Stopped => format!("party {party} stopped: {why}"),
        Loss::Interrupted => format!("party {party} was interrupted"),
    }
}

/// What to do about parties that differ.
fn remedy(teller: Option<usize>) -> String {
    match teller {
        None => "give both the same and start again".into(),
        Some(teller) => {
            format!("party {teller} told them different things, or one of the two says so falsely")
        }
    }
}

/// "step 'reshare' of layer 'conv1'".
fn place(step: &str, layer: &str) -> String {
    match layer == crate::NO_LAYER {
        true => format!("step '{step}'"),
        false => format!("step '{step}' of layer '{layer}'"),
    }
}

/// "party 1, or party 0 by saying so".
fn either(suspects: &[usize], accuser: usize) -> String {
    let mut all: Vec<String> = suspects.iter().map(|p| format!("party {p}")).collect();
    all.push(format!("party {accuser} by saying so"));
    all.join(", or ")
}

/// What was wrong with a frame.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameFault {
    /// The first bytes are not those of a frame.
    #[error("it does not begin like a frame")]
    Magic,
    /// The frame has another version of the format.
    #[error(
        "it has version {theirs} of the frame format, this party version {}",
        crate::frame::VERSION
    )]
    Version {
        /// The version of the frame.
        theirs: u16,
    },
    /// The header holds flags or sizes that no frame has.
    #[error("its header contradicts itself")]
    Header,
    /// The frame belongs to another run.
    #[error("it belongs to another run (foreign session)")]
    ForeignSession,
    /// The frame was seen before, or frames before it are missing.
    #[error(
        "its sequence number is {got} where {expected} comes next: it was replayed, or frames were lost"
    )]
    Sequence {
        /// The number that comes next.
        expected: u64,
        /// The number of the frame.
        got: u64,
    },
    /// The frame is longer than any frame may be.
    #[error(
        "it announces {len} bytes, more than the {} that a frame may have",
        crate::frame::MAX_PAYLOAD
    )]
    Oversized {
        /// The length in bytes that the frame announces.
        len: u32,
    },
    /// The link ended within the frame.
    #[error("it was cut off before its end")]
    Truncated,
}
