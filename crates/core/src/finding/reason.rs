//! The kinds of fault, in the API server's vocabulary.

/// Why a field is refused, as in `status.details.causes[].reason`. Kubernetes: `field.ErrorType` in apimachinery
/// `pkg/util/validation/field/errors.go`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// The value occurs more than once.
    Duplicate,
    /// The value is valid but not allowed here.
    Forbidden,
    /// Something failed unexpectedly.
    InternalError,
    /// The value is invalid.
    Invalid,
    /// The value names an object or field that does not exist.
    NotFound,
    /// The value is not one of the allowed values.
    NotSupported,
    /// A value is missing.
    Required,
    /// There are too few items.
    TooFew,
    /// The value is too long.
    TooLong,
    /// There are too many items.
    TooMany,
    /// The value has the wrong JSON type.
    TypeInvalid,
}

impl Reason {
    /// Returns the word in a cause.
    pub const fn as_str(self) -> &'static str {
        match self {
            Reason::Duplicate => "FieldValueDuplicate",
            Reason::Forbidden => "FieldValueForbidden",
            Reason::InternalError => "InternalError",
            Reason::Invalid => "FieldValueInvalid",
            Reason::NotFound => "FieldValueNotFound",
            Reason::NotSupported => "FieldValueNotSupported",
            Reason::Required => "FieldValueRequired",
            Reason::TooFew => "FieldValueTooFew",
            Reason::TooLong => "FieldValueTooLong",
            Reason::TooMany => "FieldValueTooMany",
            Reason::TypeInvalid => "FieldValueTypeInvalid",
        }
    }
}
