//! Time, as certificates tell it.

/// Seconds since 1970.
pub(crate) type Time = i64;

/// Certificates are valid from so long before they are made: clocks differ.
pub(crate) const BACKDATE: Time = 3600;
