//! Randomness of the operating system.

use bytemuck::Pod;
use tacit_protocols::Error;
use zeroize::{Zeroize, Zeroizing};

/// `n` uniform values, wiped when they are dropped.
pub(crate) fn random<T: Pod + Zeroize>(n: usize) -> Result<Zeroizing<Vec<T>>, Error> {
    let mut values = Zeroizing::new(vec![T::zeroed(); n]);
    getrandom::fill(bytemuck::cast_slice_mut(&mut values))
        .map_err(|e| Error::Randomness(e.to_string()))?;
    Ok(values)
}
