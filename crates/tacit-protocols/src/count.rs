//! What calls cost, counted by the very protocol: every party runs it on shares that have a size alone,
//! sends nothing, and notes what it would send and wait for.

use tacit_net::{Party, Trace, longest_path};

use crate::cost::not_native;
use crate::machine::{Call, Machine, Operand};
use crate::{Cost, Error};

/// A machine that parties which only count can run, too.
pub trait Counts: Machine {
    /// A share of `n` elements without values: of `bits` bits each where tensors have widths of their own,
    /// and known to the party `known_to`, if to one.
    fn blank(&mut self, n: usize, bits: Option<u32>, known_to: Option<usize>) -> Self::Share;
    /// A share of `n` bits without values.
    fn blank_bits(&mut self, n: usize) -> Self::Bits;
}

/// The cost that the notes of `parties` counting parties add up to. Nothing if the program is refused: the
/// same calls are refused, with the reason, when they are prepared.
pub(crate) fn count(parties: usize, program: impl Fn(Party) -> Result<Trace, Error>) -> Cost {
    let traces = (0..parties).map(|id| program(Party::counting(id, parties)));
    let traces: Result<Vec<_>, Error> = traces.collect();
    traces.map_or(Cost::each(parties, 0, 0), |traces| {
        let (rounds, bytes) = longest_path(&traces);
        Cost { rounds, bytes }
    })
}

/// The online cost of one call.
pub(crate) fn online<M: Counts>(parties: usize, machine: impl Fn(Party) -> M, call: &Call) -> Cost {
    count(parties, |party| {
        let machine = &mut machine(party);
        let (call, reused) = reusable(machine, call)?;
        machine.prepare(&[call])?;
        machine.party().take_trace();
        play(machine, &call, reused)?;
        Ok(machine.party().take_trace())
    })
}

/// The call with its reusable operand, if it has one, as the first that is reusable.
fn reusable<M: Counts>(machine: &mut M, call: &Call) -> Result<(Call, Option<M::Share>), Error> {
    let mut call = *call;
    let Call::Product {
        map,
        reused: Some(at),
        known_to,
        bits,
        ..
    } = &mut call
    else {
        return Ok((call, None));
    };
    *at = 0;
    let w = machine.blank(map.right(), bits.map(|bits| bits[1]), *known_to);
    let w = machine.reusable(w)?;
    Ok((call, Some(w)))
}

/// Makes a call on shares without values; `reused` is the right operand that was made reusable for it, if any.
pub fn play<M: Counts>(
    machine: &mut M,
    call: &Call,
    reused: Option<M::Share>,
) -> Result<(), Error> {
    match *call {
        Call::Input { owner, n } => {
            machine.input(owner, n, None)?;
        }
        Call::Reveal { n, to } => {
            let x = machine.blank(n, None, None);
            machine.reveal(&x, to)?;
        }
        Call::Reusable { n } => {
            let x = machine.blank(n, None, None);
            machine.reusable(x)?;
        }
        Call::Product {
            map,
            known_to,
            trunc,
            bits,
            ..
        } => {
            let x = machine.blank(map.left(), bits.map(|bits| bits[0]), None);
            let right = bits.map(|bits| bits[1]);
            let w = reused.unwrap_or_else(|| machine.blank(map.right(), right, known_to));
            let bits = bits.map(|[.., product, result]| [product, result]);
            machine.linear(&x, &Operand::Secret(w), None, &map, trunc, bits)?;
        }
        Call::Truncate { n, trunc, bits } => {
            let x = machine.blank(n, bits.map(|bits| bits[0]), None);
            match bits {
                None => machine.truncate(&x, trunc)?,
                Some([_, bits]) => machine.resize(&x, trunc, bits)?,
            };
        }
        Call::Drelu { n, keys, bits } => {
            let x = machine.blank(n, bits, None);
            machine.drelu(&x, keys)?;
        }
        Call::Relu { n, keys, bits } => {
            let x = machine.blank(n, bits, None);
            machine.relu(&x, keys)?;
        }
        Call::Select { n, bits } => {
            let (choice, x) = (machine.blank_bits(n), machine.blank(n, bits, None));
            machine.select(&choice, &x, &x)?;
        }
        Call::Maxpool {
            windows,
            size,
            keys,
            bits,
        } => {
            let x = machine.blank(windows * size, bits, None);
            machine.maxpool(&x, windows, size, keys)?;
        }
        Call::Function { n, function } => {
            let x = machine.blank(n, function.between.map(|[from, _]| from.bits), None);
            let own = machine.native(&function, &x);
            own.unwrap_or_else(|| not_native(call))?;
        }
        Call::Verify { .. } => machine.verify()?,
    }
    Ok(())
}
