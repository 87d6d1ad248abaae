//! What the parties say to one another before anything secret moves. Every party keeps what it heard
//! from every other, and all compare it with all: a party that tells two others different things is
//! found out before anybody acts on what it said.

use serde::{Deserialize, Serialize};
use tacit_net::{NetError, Party, agree};

use crate::Error;
use crate::digest::hash;

/// The most bytes by which what another party says exceeds twice our own words.
const SLACK: usize = 4 << 20;

/// The words of all parties until they agree on them.
pub(crate) struct Agreement<'p> {
    party: &'p mut Party,
    /// Who said what under which step, with the hash of the words.
    heard: Vec<(usize, String, String)>,
    /// A mutant that does not compare what it heard, to show that the tests bite.
    #[cfg(test)]
    pub(crate) forgets: bool,
    /// A liar that announces to the last party what this makes of its words.
    #[cfg(test)]
    pub(crate) lies: Option<Lie>,
}

/// What a liar makes of its words.
#[cfg(test)]
pub(crate) type Lie = fn(&[u8]) -> Vec<u8>;

impl<'p> Agreement<'p> {
    pub fn new(party: &'p mut Party) -> Self {
        Agreement {
            party,
            heard: Vec::new(),
            #[cfg(test)]
            forgets: false,
            #[cfg(test)]
            lies: None,
        }
    }

    /// This party's number.
    pub fn us(&self) -> usize {
        self.party.id()
    }

    /// What `owner` says to all others, in at most so many bytes; it passes its own words.
    pub fn announced(
        &mut self,
        owner: usize,
        step: &'static str,
        own: Option<Vec<u8>>,
        most: usize,
    ) -> Result<Vec<u8>, Error> {
        let words = match own {
            #[cfg(test)]
            Some(words) if self.lies.is_some() => {
                let last = self.party.parties() - 1;
                let told = self.lies.map_or(words.clone(), |lie| lie(&words));
                for peer in (0..=last).filter(|&peer| peer != owner) {
                    let words = if peer == last { &told } else { &words };
                    self.party.send(peer, step, words.clone())?;
                }
                words
            }
            Some(words) => {
                self.tell(step, &words)?;
                words
            }
            None => self.party.recv_at_most(owner, step, most)?,
        };
        self.keep(owner, step, &words);
        Ok(words)
    }

    /// What every party says to all others, in their order.
    pub fn exchanged<T: Serialize + for<'de> Deserialize<'de>>(
        &mut self,
        step: &'static str,
        own: &T,
    ) -> Result<Vec<T>, Error> {
        let malformed = |party| Error::Malformed { party, what: step };
        let us = self.us();
        let own = serde_json::to_vec(own).map_err(|_| malformed(us))?;
        let most = SLACK + 2 * own.len();
        self.exchanged_within(step, own, most)
    }

    /// What every party says to all others, in their order: `own` words, and of another at most `most` bytes.
    pub fn exchanged_within<T: for<'de> Deserialize<'de>>(
        &mut self,
        step: &'static str,
        own: Vec<u8>,
        most: usize,
    ) -> Result<Vec<T>, Error> {
        let malformed = |party| Error::Malformed { party, what: step };
        let us = self.us();
        self.tell(step, &own)?;
        let mut all = Vec::new();
        for peer in 0..self.party.parties() {
            let words = match peer == us {
                true => own.clone(),
                false => self.party.recv_at_most(peer, step, most)?,
            };
            self.keep(peer, step, &words);
            all.push(serde_json::from_slice(&words).map_err(|_| malformed(peer))?);
        }
        Ok(all)
    }

    /// Compares with every other party what each has by itself, before anything is said.
    pub fn compare(&mut self, items: &[(&str, String)]) -> Result<(), Error> {
        for (item, value) in items {
            tracing::trace!("party {} has {item} {value}", self.us());
        }
        Ok(agree(self.party, items)?)
    }

    /// Compares with every other party these items and then all that was said: the first difference
    /// is an error at both parties that differ.
    pub fn conclude(self, items: &[(&str, String)]) -> Result<(), Error> {
        #[cfg(test)]
        if self.forgets {
            return Ok(());
        }
        let heard = self.heard.iter();
        let heard = heard.map(|(_, name, hash)| (name.as_str(), hash.clone()));
        let all: Vec<_> = items.iter().cloned().chain(heard).collect();
        let mut agreed = agree(self.party, &all);
        if let Err(NetError::Disagreement { item, teller, .. }) = &mut agreed {
            let told = self.heard.iter().find(|(_, name, _)| name == item);
            *teller = told.map(|(from, ..)| *from);
        }
        Ok(agreed?)
    }

    fn tell(&mut self, step: &'static str, words: &[u8]) -> Result<(), Error> {
        let us = self.us();
        for peer in (0..self.party.parties()).filter(|&peer| peer != us) {
            self.party.send(peer, step, words.to_vec())?;
        }
        Ok(())
    }

    fn keep(&mut self, from: usize, step: &'static str, words: &[u8]) {
        let name = format!("the '{step}' that party {from} told");
        self.heard.push((from, name, hash(words)));
    }
}

/// What a party insists on, held against what there is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Insists {
    /// The item, as the parties agree on it.
    pub item: &'static str,
    pub wish: Option<u64>,
    pub actual: u64,
}

impl Insists {
    /// The item as all must have it: the number that is used. A party that insists on another says
    /// so, and thereby agrees with nobody.
    pub fn agreed(&self) -> (&'static str, String) {
        let words = match self.refused() {
            None => self.actual.to_string(),
            Some(wish) => format!("{} (only {wish} is allowed there)", self.actual),
        };
        (self.item, words)
    }

    /// An error at a party that insists on another number.
    pub fn check(&self) -> Result<(), Error> {
        match self.refused() {
            None => Ok(()),
            Some(wish) => Err(Error::setting(
                self.item,
                format!(
                    "this party's config insists on {wish}, and there are {}; change one of them",
                    self.actual
                ),
            )),
        }
    }

    fn refused(&self) -> Option<u64> {
        self.wish.filter(|&wish| wish != self.actual)
    }
}

#[cfg(test)]
pub(crate) mod tests;
