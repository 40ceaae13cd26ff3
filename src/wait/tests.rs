//! The decision over time, in worlds that stand still and worlds that change.

mod build;
mod healthy;
mod stuck;
