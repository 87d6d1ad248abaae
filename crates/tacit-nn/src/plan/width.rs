//! The rings and prime fields that a plan computes in, told apart by their bits.

/// The widths that plans are made for: the rings of 32 and 64 bits, and the prime fields of
/// `2^31 - 1` and `2^61 - 1` elements.
pub const WIDTHS: [u32; 4] = [31, 32, 61, 64];

/// Whether `bits` stands for the prime field of `2^bits - 1` elements.
pub fn is_field(bits: u32) -> bool {
    [31, 61].contains(&bits)
}

/// The name of the ring or field of `bits` bits: `64-bit ring`, `61-bit field`.
pub fn numbers(bits: u32) -> String {
    format!(
        "{bits}-bit {}",
        if is_field(bits) { "field" } else { "ring" }
    )
}

/// What the widest numbers of the same kind are called.
pub(crate) fn widest(bits: u32) -> String {
    numbers(if is_field(bits) { 61 } else { 64 })
}

/// Whether numbers of so many bits have room to spare at a good precision.
pub(super) fn is_wide(bits: u32) -> bool {
    bits > 32
}
