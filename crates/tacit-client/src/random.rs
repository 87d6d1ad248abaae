//! Randomness of the system, which never runs dry in silence.

use crate::Refusal;

/// `n` bytes of the system's randomness, which nobody can guess. Fails where the system gives none.
pub fn bytes(n: usize) -> Result<Vec<u8>, Refusal> {
    let mut bytes = vec![0; n];
    getrandom::fill(&mut bytes).map_err(|e| Refusal::Randomness(e.to_string()))?;
    Ok(bytes)
}

/// `n` words of so many bytes each.
pub fn words(n: usize, width: usize) -> Result<Vec<u64>, Refusal> {
    let drawn = zeroize::Zeroizing::new(bytes(n * width)?);
    Ok(crate::ring::read(width, &drawn))
}
