pub mod control_plane;
pub mod example;
pub mod kubectl;
pub mod process;
pub mod server;
pub mod sidecar;
pub mod webhook;
