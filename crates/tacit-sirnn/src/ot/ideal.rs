//! A double for tests: OTs that party 0 deals, telling party 1 everything. Protects nothing.

use std::time::Duration;

use tacit_algebra::Prg;
use tacit_algebra::ot::Offsets;
use tacit_net::memory::mesh;
use tacit_net::{LinkModel, Party, Phase};
use tacit_protocols::message::Message;
use tacit_protocols::{Cost, Error};

use super::{Block, Demand, Made, RandomOt, Received};
use crate::Engine;

const DEAL: Message<[u8; 16]> = Message::new("ideal OT: everything");

/// The dealt OTs.
pub(crate) struct Ideal {
    id: usize,
    deltas: [Block; 2],
    prg: Prg,
}

impl Ideal {
    pub fn new(party: &mut Party) -> Result<Self, Error> {
        let mut seed = [0; 16];
        match party.id() {
            0 => {
                getrandom::fill(&mut seed).map_err(|e| Error::Randomness(e.to_string()))?;
                DEAL.send(party, 1, &seed)?;
            }
            _ => seed = DEAL.recv(party, 0, ())?,
        }
        let mut prg = Prg::new(seed);
        let deltas = blocks(&mut prg, 2);
        Ok(Ideal {
            id: party.id(),
            deltas: [deltas[0], deltas[1]],
            prg,
        })
    }
}

fn blocks(prg: &mut Prg, n: usize) -> Vec<Block> {
    let mut blocks = vec![0; n];
    prg.fill(bytemuck::cast_slice_mut(&mut blocks));
    blocks
}

impl RandomOt for Ideal {
    fn offsets(&self, index_bits: u32) -> Offsets {
        Offsets::combined(self.deltas[self.id], index_bits)
    }

    fn extend(&mut self, _party: &mut Party, send: &Demand, recv: &Demand) -> Result<Made, Error> {
        let mut all = [send, recv].map(Demand::index_bits);
        all.rotate_right(self.id);
        let [forward, reverse] = all.map(|n| (blocks(&mut self.prg, n), self.prg.bits(n)));
        let (sent, (mut blocks, choices)) = match self.id {
            0 => (forward.0, reverse),
            _ => (reverse.0, forward),
        };
        let delta = self.deltas[1 - self.id];
        for (block, choice) in blocks.iter_mut().zip(choices.expand()) {
            *block ^= Block::from(choice).wrapping_neg() & delta;
        }
        let mut made = Made::new();
        made.combine(send, recv, sent, Received { choices, blocks });
        Ok(made)
    }

    fn cost(&self, _ots: [Demand; 2]) -> Cost {
        Cost::default()
    }
}

/// Runs the program at both parties' engines over ideal OTs, `ots[i]` sent by party `i`.
pub(crate) fn run<T: Send>(
    parties: Vec<Party>,
    ots: [Demand; 2],
    program: impl Fn(&mut Engine) -> Result<T, Error> + Sync,
) -> Vec<T> {
    tacit_net::testing::run(parties, |mut party| {
        let ideal = Ideal::new(&mut party).expect("set-up");
        let mut engine = Engine::new(party, Box::new(ideal)).expect("set-up");
        engine.prepare(ots).expect("OTs");
        if let Some(party) = engine.party() {
            party.set_phase(Phase::Online);
            party.set_layer("test");
        }
        program(&mut engine).expect("runs")
    })
}

/// Runs the program at both parties, counts it, and holds the count against the meters.
pub(crate) fn counted<T: Send>(program: impl Fn(&mut Engine) -> Result<T, Error> + Sync) -> [T; 2] {
    let mut counting = Engine::counting();
    program(&mut counting).expect("counts");
    let declared = counting.tally();
    let parties = mesh(2, &LinkModel::LOCAL, Duration::from_secs(20));
    let out = run(parties, declared.ots, |engine| {
        let out = program(engine)?;
        let id = engine.id();
        let online = engine.party().expect("runs").meter().total(Phase::Online);
        Ok((out, online, id, engine.tally().ots))
    });
    let mut rounds = 0;
    for (_, online, id, ots) in &out {
        assert_eq!(*ots, declared.ots);
        rounds = rounds.max(online.rounds);
        let declared = declared.online.bytes.get(*id).copied().unwrap_or(0);
        assert_eq!(online.bytes_sent, declared, "party {id}");
    }
    assert_eq!(rounds, declared.online.rounds);
    let mut out = out.into_iter().map(|(out, ..)| out);
    [out.next().expect("party 0"), out.next().expect("party 1")]
}
