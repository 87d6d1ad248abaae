//! The material of comparisons over the small field, which parties in memory put together again.

use tacit_algebra::Buffer;
use tacit_algebra::mersenne::{F5, Field};
use tacit_algebra::sliced::{Map, Sliced};

use super::super::Comparison;
use super::super::material::{Material, SmallTree};
use super::super::tests::{P, SIZES, assert_uniform, mesh, numbers, open, options, run};
use crate::machine::{Call, Machine};

/// What all parties share over the small field with a polynomial of `degree`, element by element; that it has
/// no greater one is checked.
fn open_small(shares: &[&Sliced], degree: usize) -> Vec<u64> {
    let points: Vec<u64> = (1..=degree as u64 + 1).collect();
    let gf = shares[0].gf();
    let at = |to: u64| {
        Map::lagrange(gf, &points, &[to])
            .apply(&shares[..=degree])
            .remove(0)
    };
    for (i, share) in shares.iter().enumerate().skip(degree + 1) {
        assert!(
            at(i as u64 + 1) == **share,
            "party {i} is not on the polynomial"
        );
    }
    let opened = at(0);
    let plane = |plane: usize| opened.planes().row_bits(plane).expand();
    let planes: Vec<Vec<u8>> = (0..opened.planes().rows()).map(plane).collect();
    let value = |planes: &[Vec<u8>]| -> Vec<u64> {
        let bits = |i: usize| {
            planes
                .iter()
                .enumerate()
                .map(move |(b, plane)| u64::from(plane[i]) << b)
        };
        (0..opened.cols()).map(|i| bits(i).sum()).collect()
    };
    planes.chunks(gf.bits()).flat_map(value).collect()
}

#[test]
fn material_of_the_tree_over_the_small_field_is_uniform() {
    let n = 1 << 15;
    for (parties, t) in SIZES {
        let options = options(parties, t, Comparison::Tree);
        let all = run::<F5, _>(mesh(parties), &options, |machine| {
            machine.prepare(&[Call::relu(n)])?;
            Ok(machine.store.pop_front().expect("material was made").1)
        });
        let trees: Vec<&SmallTree<F5>> = all
            .iter()
            .map(|material| match material {
                Material::SmallTree(tree) => tree,
                _ => unreachable!("a sign by the tree"),
            })
            .collect();
        let large = |of: &dyn Fn(&SmallTree<F5>) -> Buffer<F5>, degree: usize| -> Vec<u64> {
            let shares: Vec<Buffer<F5>> = trees.iter().map(|tree| of(tree)).collect();
            let shares: Vec<&[F5]> = shares.iter().map(|share| &share[..]).collect();
            open(&shares, degree).into_iter().map(F5::to_u64).collect()
        };
        let small = |of: &dyn Fn(&SmallTree<F5>) -> Sliced, degree: usize| {
            let shares: Vec<Sliced> = trees.iter().map(|tree| of(tree)).collect();
            open_small(&shares.iter().collect::<Vec<_>>(), degree)
        };
        // EdaBits: below p, so that p, all ones, is none of the kinds.
        let r = large(&|tree| tree.mask.numbers.clone(), t);
        assert_eq!(numbers(&small(&|tree| tree.mask.bits.clone(), t), n), r);
        assert_uniform("edaBits", r.iter().copied(), P);
        // DaBits; independent of each other and of the numbers.
        let b = large(&|tree| tree.bit.clone(), t);
        assert_eq!(small(&|tree| tree.small_bit.clone(), t), b);
        assert_uniform("both", (0..n).map(|i| r[i] * 2 + b[i]), 2 * P);
        assert_uniform("neighbours", (1..n).map(|i| b[i - 1] * 2 + b[i]), 4);
        // DoubleRand.
        let low = small(&|tree| tree.products.drawn().low.clone(), t);
        assert!(low == small(&|tree| tree.products.drawn().high.clone(), 2 * t));
        let kinds = 1 << trees[0].small_bit.gf().bits();
        assert_uniform("DoubleRand of bits", low.into_iter(), kinds);
        let low = large(&|tree| tree.double.low.clone(), t);
        assert!(low == large(&|tree| tree.double.high.clone(), 2 * t) && low.len() == n);
        assert_uniform("DoubleRand", low.into_iter(), P);
    }
}
