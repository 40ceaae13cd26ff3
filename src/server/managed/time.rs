/// Seconds since 1970.
pub(crate) type Time = i64;

/// A CA is valid from this many seconds before its creation, because clocks differ.
pub(crate) const BACKDATE: Time = 3600;
