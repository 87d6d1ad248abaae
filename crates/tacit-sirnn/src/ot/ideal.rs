//! A double for tests: OTs from a dealer that both parties are told of. Protects nothing.
