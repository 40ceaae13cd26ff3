//! The decision over time, in worlds that stand still and worlds that change.

mod build;
mod flaps;
mod healthy;
mod stuck;
