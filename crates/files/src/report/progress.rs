//! The progress of a long run, for users who wait.

#[cfg(not(target_family = "wasm"))]
mod bar;
#[cfg(target_family = "wasm")]
mod none;

#[cfg(not(target_family = "wasm"))]
pub use self::bar::Progress;
#[cfg(target_family = "wasm")]
pub use self::none::Progress;
