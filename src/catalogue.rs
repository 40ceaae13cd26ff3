//! Every rule, by id.

pub mod markdown;
