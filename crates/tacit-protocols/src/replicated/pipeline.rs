//! Blocks of elements on their way through the steps of a program that are a hop apart.
//!
//! All blocks in step with each other take the fewest hops, and all memory at once; one after the other
//! they take the least memory. So a block begins a step when `ahead` more have begun the one before: of few
//! blocks all are in step, of many no party waits for what was not sent long before.

use std::collections::VecDeque;

use crate::Error;

/// Takes `blocks` blocks through `steps` steps, each `ahead` blocks behind the one before. `step` is told the
/// number of the block and of the step, and what the block has come to.
///
/// Hops: those of one block, and one more for every `ahead` blocks after the first ones.
pub(super) fn pipelined<B: Default>(
    [blocks, steps, ahead]: [usize; 3],
    mut step: impl FnMut(usize, usize, &mut B) -> Result<(), Error>,
) -> Result<(), Error> {
    let (mut under_way, mut ended) = (VecDeque::new(), 0);
    for i in 0..blocks + (steps - 1) * ahead {
        if i < blocks {
            under_way.push_back(B::default());
        }
        for s in 0..steps {
            let block = i.checked_sub(s * ahead).filter(|block| *block < blocks);
            if let Some(block) = block {
                step(block, s, &mut under_way[block - ended])?;
            }
        }
        if i >= (steps - 1) * ahead {
            under_way.pop_front();
            ended += 1;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every block takes every step once and in order, and no more are under way than can be.
    #[test]
    fn every_block_takes_every_step() {
        for (blocks, steps, ahead) in [(0, 3, 2), (1, 1, 1), (3, 3, 5), (7, 4, 2), (20, 3, 6)] {
            let mut taken = vec![0; blocks];
            let mut order = Vec::new();
            pipelined([blocks, steps, ahead], |block, step, so_far: &mut usize| {
                assert_eq!((taken[block], *so_far), (step, step));
                taken[block] += 1;
                *so_far += 1;
                order.push((block, step));
                Ok(())
            })
            .expect("no step fails");
            assert!(taken.iter().all(|t| *t == steps));
            for (at, (block, _)) in order.iter().enumerate() {
                let ended = order[..at].iter().filter(|(_, s)| s + 1 == steps).count();
                assert!(
                    block - ended <= (steps - 1) * ahead,
                    "{block} before {ended}"
                );
            }
        }
    }

    #[test]
    fn an_error_ends_it() {
        let failing = |block, step, _: &mut ()| match (block, step) {
            (1, 1) => Err(Error::Invalid("block 1".into())),
            (2.., 1) => panic!("a step after an error"),
            _ => Ok(()),
        };
        assert!(pipelined([4, 2, 1], failing).is_err());
    }
}
