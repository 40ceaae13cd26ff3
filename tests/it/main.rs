//! Tests of setguard from the outside. One binary, so that it is linked once.

mod schema;
mod yaml;
