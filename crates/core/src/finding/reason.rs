//! The kinds of fault, in the API server's vocabulary.

words! {
    /// Why a field is refused, as in `status.details.causes[].reason`. Kubernetes: `field.ErrorType` in apimachinery
    /// `pkg/util/validation/field/errors.go`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Reason {
        /// The value occurs more than once.
        Duplicate => "FieldValueDuplicate",
        /// The value is valid but not allowed here.
        Forbidden => "FieldValueForbidden",
        /// Something failed unexpectedly.
        InternalError => "InternalError",
        /// The value is invalid.
        Invalid => "FieldValueInvalid",
        /// The value names an object or field that does not exist.
        NotFound => "FieldValueNotFound",
        /// The value is not one of the allowed values.
        NotSupported => "FieldValueNotSupported",
        /// A value is missing.
        Required => "FieldValueRequired",
        /// There are too few items.
        TooFew => "FieldValueTooFew",
        /// The value is too long.
        TooLong => "FieldValueTooLong",
        /// There are too many items.
        TooMany => "FieldValueTooMany",
        /// The value has the wrong JSON type.
        TypeInvalid => "FieldValueTypeInvalid",
    }
}
