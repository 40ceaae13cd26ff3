//! setguard for a page in a browser: the functions of `setguard_offline::browser`, for JavaScript.
//!
//! `inputs` is the JSON of `setguard_offline::browser::Inputs`. A function that fails throws a string.

use setguard_offline::browser::{self, Inputs};
use wasm_bindgen::prelude::wasm_bindgen;

/// Checks manifests. Throws if an input is invalid.
#[wasm_bindgen]
pub fn check(manifests: &str, inputs: &str) -> Result<String, String> {
    Inputs::parse(inputs)?.check(manifests)
}

/// Returns the manifests after all safe fixes. Throws if an input is invalid.
#[wasm_bindgen]
pub fn fix(manifests: &str, inputs: &str) -> Result<String, String> {
    Inputs::parse(inputs)?.fix(manifests)
}

/// Plans the change to the manifests. Throws if an input is invalid.
#[wasm_bindgen]
pub fn plan(manifests: &str, inputs: &str) -> Result<String, String> {
    Inputs::parse(inputs)?.plan(manifests)
}

/// Returns a rule in JSON, or nothing if the id is unknown.
#[wasm_bindgen]
pub fn explain(rule: &str) -> Option<String> {
    browser::explain(rule)
}

/// Returns the supported Kubernetes releases, newest first.
#[wasm_bindgen]
pub fn releases() -> Vec<String> {
    browser::releases()
}
