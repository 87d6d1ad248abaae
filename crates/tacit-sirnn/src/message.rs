//! The encodings of SiRnn's own messages.

use tacit_algebra::ot::pack::packed_len;
use tacit_protocols::message::Length;

/// Numbers of so many bits, one after the other; unused bits at the end are 0.
pub(crate) struct Numbers;

impl Length for Numbers {
    /// How many, and the bits of each.
    type Len = (usize, u32);
    fn bytes((n, bits): (usize, u32)) -> usize {
        packed_len(n, bits)
    }
}
