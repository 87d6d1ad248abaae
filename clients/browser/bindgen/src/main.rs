//! `tacit-bindgen CORE.wasm FOLDER`: makes the core a module for the web, with script and types.

use std::env::args_os;
use std::error::Error;
use std::path::PathBuf;

use wasm_bindgen_cli_support::Bindgen;

fn main() -> Result<(), Box<dyn Error>> {
    let given: Vec<PathBuf> = args_os().skip(1).map(PathBuf::from).collect();
    let [core, folder] = given.as_slice() else {
        return Err("give a .wasm file and a folder".into());
    };
    Bindgen::new()
        .input_path(core)
        .web(true)?
        .typescript(true)
        .remove_name_section(true)
        .remove_producers_section(true)
        .omit_default_module_path(true)
        .generate(folder)?;
    Ok(())
}
