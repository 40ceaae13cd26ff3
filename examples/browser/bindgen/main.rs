//! Writes the JavaScript for a WebAssembly file: `setguard-bindgen FILE FOLDER`.

use std::env;

use anyhow::Context;
use wasm_bindgen_cli_support::Bindgen;

fn main() -> anyhow::Result<()> {
    let mut arguments = env::args_os().skip(1);
    let (file, folder) =
        arguments.next().zip(arguments.next()).context("usage: setguard-bindgen FILE FOLDER")?;
    Bindgen::new()
        .input_path(file)
        .web(true)?
        .typescript(false)
        .remove_name_section(true)
        .remove_producers_section(true)
        .out_name("engine")
        .generate(folder)
}
