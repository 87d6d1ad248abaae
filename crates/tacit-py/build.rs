//! Links the extension module so that functions of equal code are there once.

use std::env::var;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let of = |name: &str| var(name).unwrap_or_default();
    let target = ["ARCH", "OS", "ENV"].map(|part| of(&format!("CARGO_CFG_TARGET_{part}")));
    // There rustc links by LLD, which other linkers do not share the option with.
    if target == ["x86_64", "linux", "gnu"] {
        println!("cargo:rustc-cdylib-link-arg=-Wl,--icf=all");
    }
}
