//! The kinds of truncation that users choose from, by which products are brought back to their
//! scale.

/// A kind of truncation; a protocol has some of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truncation {
    /// One-bit gap: never a large error.
    Gap,
    /// No error at all.
    Exact,
    /// ABY3's: a large error with probability `abs(x) / 2^l`.
    Aby3,
    /// SecureML's, without messages: a large error with probability `abs(x) / 2^l`.
    SecureMl,
}
