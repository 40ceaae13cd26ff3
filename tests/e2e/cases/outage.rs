//! A webhook that is down.

use super::Case;

pub(super) const CASES: &[Case] = &[];
