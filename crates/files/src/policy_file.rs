//! The policy file: the flags that name it, and the search for it in a repository.

pub mod args;
pub mod discover;
