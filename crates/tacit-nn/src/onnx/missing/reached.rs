//! Which missing numbers reach an output by a way on which a file makes NaN of them.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::marks::{Settled, each_of};
use crate::graph::{FILL, Op, ValueId};
use crate::onnx::builder::Builder;

/// Which missing numbers each element of a value would be made of.
#[derive(Clone)]
enum Reached {
    Nothing,
    /// Each element of one at most.
    Each(Rc<Vec<u32>>),
    /// Each element of all of them, as far as is known.
    All(Rc<BTreeSet<u32>>),
}

impl Reached {
    /// All numbers that the elements are made of for which `but` is not true.
    fn all(&self, but: impl Fn(usize) -> bool) -> Rc<BTreeSet<u32>> {
        match self {
            Reached::Nothing => Rc::default(),
            Reached::Each(places) => {
                let own = places.iter().enumerate();
                let own = own.filter(|&(e, &place)| place != FILL && !but(e));
                Rc::new(own.map(|(_, &place)| place).collect())
            }
            Reached::All(places) => places.clone(),
        }
    }

    fn of_all(sets: impl Iterator<Item = Rc<BTreeSet<u32>>>) -> Reached {
        let mut joined: Rc<BTreeSet<u32>> = Rc::default();
        for set in sets {
            if !set.is_subset(&joined) {
                match joined.is_empty() {
                    true => joined = set,
                    false => Rc::make_mut(&mut joined).extend(set.iter()),
                }
            }
        }
        match joined.is_empty() {
            true => Reached::Nothing,
            false => Reached::All(joined),
        }
    }
}

/// The numbers that reach an output, or what was said not to be missing, by a way that leaves them NaN if they are missing.
pub(super) fn exposed(builder: &Builder, output: ValueId) -> BTreeSet<u32> {
    let marked = &builder.absent.places;
    let row = (0..builder.len(0) as u32).map(|place| match marked.contains_key(&place) {
        true => place,
        false => FILL,
    });
    let mut reached = vec![Reached::Each(Rc::new(row.collect()))];
    for id in 1..=builder.nodes.len() {
        let made = match builder.absent.settled.get(&id) {
            Some(settled) => of_settled(settled, &reached),
            None => of_node(builder, id, &reached),
        };
        reached.push(made);
    }
    let mut found = reached[output].all(|_| false).as_ref().clone();
    for (id, known) in &builder.absent.denied {
        found.extend(reached[*id].all(|e| known[e]).iter());
    }
    found
}

fn of_settled(settled: &Settled, reached: &[Reached]) -> Reached {
    let done = &settled.done;
    match &reached[settled.of] {
        Reached::Each(places) if settled.each => {
            let open = places.iter().zip(done);
            let open = open.map(|(&place, &done)| if done { FILL } else { place });
            Reached::Each(Rc::new(open.collect()))
        }
        _ if !done.contains(&false) => Reached::Nothing,
        of => Reached::of_all(std::iter::once(of.all(|e| done[e]))),
    }
}

fn of_node(builder: &Builder, id: ValueId, reached: &[Reached]) -> Reached {
    let node = &builder.nodes[id - 1];
    let of: Vec<&Reached> = node.inputs.iter().map(|&id| &reached[id]).collect();
    let len = builder.len(id);
    match (&node.op, &of[..]) {
        // Tokens are never missing.
        (Op::Lookup(_), _) => Reached::Nothing,
        (_, of) if node.is_fill() || of.iter().all(|r| matches!(r, Reached::Nothing)) => {
            Reached::Nothing
        }
        (Op::Affine(_), [one]) => (*one).clone(),
        (Op::Rearrange { index, .. }, [Reached::Each(places)]) => {
            let moved = index.iter().map(|&from| places.get(from as usize).copied());
            let moved: Vec<u32> = moved.map(|place| place.unwrap_or(FILL)).collect();
            match moved.iter().all(|&place| place == FILL) {
                true => Reached::Nothing,
                false => Reached::Each(Rc::new(moved)),
            }
        }
        (Op::Concat { outer }, of) if !of.iter().any(|r| matches!(r, Reached::All(_))) => {
            let sizes = node.inputs.iter().map(|&id| builder.len(id) / outer);
            let mut places = vec![FILL; len];
            each_of(&sizes.collect::<Vec<_>>(), *outer, |to, part, from| {
                if let Reached::Each(own) = of[part] {
                    places[to] = own[from];
                }
            });
            Reached::Each(Rc::new(places))
        }
        (_, of) => Reached::of_all(of.iter().map(|reached| reached.all(|_| false))),
    }
}
