//! Wiping what calls have left behind: a value that is moved leaves a copy, which no destructor sees.

use std::hint::black_box;

/// Bytes of the stack that are wiped: more than what the calls take that make keys.
const DEPTH: usize = 32 << 10;

/// Calls `make` and overwrites the stack that it took. What it returns is to hold secrets on the
/// heap, where moves leave no copies, and to wipe them when it is dropped.
pub fn after<T>(make: impl FnOnce() -> T) -> T {
    let made = call(make);
    stack();
    made
}

#[inline(never)]
fn call<T>(make: impl FnOnce() -> T) -> T {
    make()
}

/// Overwrites what calls that have returned left on the stack below this one.
#[inline(never)]
pub fn stack() {
    black_box(&mut [0_u64; DEPTH / size_of::<u64>()]);
}

/// Overwrites what calls that have returned left on the stacks of this thread and of those that
/// kernels run on. Waits until these threads are free.
pub fn stacks() {
    stack();
    rayon::broadcast(|_| stack());
}
