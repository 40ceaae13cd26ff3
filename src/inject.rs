//! What is put into pods.

use crate::rule::Meta;

/// What the rules of injection say of themselves.
pub static METAS: &[Meta] = &[];
