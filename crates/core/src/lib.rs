//! setguard's rules and everything that they need: pure functions from objects to findings.
//!
//! Nothing here reads a file, the environment or the clock; `clippy.toml` forbids it. Verdicts
//! depend only on arguments, so the webhook, `setguard check` and a page in a browser reach the
//! same ones.
//!
//! The modules form layers. A module imports only modules on the lines below its own:
//!
//! ```text
//! admission/    review in, response out
//! engine/       runs the rules: verdict, modes, exceptions, adjustments
//! policy/       the policy: modes, exceptions, limits, injection, the cluster
//! catalogue/    every rule by its id
//! inject/       tolerations and the node pin, for pods and templates
//! rules/        the rules, a folder for each
//! observed/     what a running cluster has: sets with their status, pods, claims, events
//! rollout/      what the controllers will do: a simulation of both
//! inventory/    many objects in little memory
//! validation/   what the API server refuses in metadata, pods and claims
//! object/       one object, read once and typed
//! kubernetes/   names, labels, selectors, quantities, tolerations, releases and gates
//! finding/      what was found, where, and by which rule
//! printable/    text that cannot steer a terminal
//! ```

/// Declares an enum, each variant with its word. After `all`, it also has the list of its variants.
#[macro_export]
macro_rules! words {
    (
        all $(#[$about:meta])* $vis:vis enum $name:ident {
            $($(#[$of:meta])* $variant:ident => $word:literal,)*
        }
    ) => {
        $crate::words! {
            $(#[$about])* $vis enum $name { $($(#[$of])* $variant => $word,)* }
        }

        impl $name {
            /// All variants, in this order.
            $vis const ALL: [$name; [$($word),*].len()] = [$($name::$variant),*];
        }
    };
    (
        $(#[$about:meta])* $vis:vis enum $name:ident {
            $($(#[$of:meta])* $variant:ident => $word:literal,)*
        }
    ) => {
        $(#[$about])*
        $vis enum $name {
            $($(#[$of])* $variant,)*
        }

        impl $name {
            /// Returns the word.
            $vis const fn as_str(self) -> &'static str {
                match self {
                    $($name::$variant => $word,)*
                }
            }
        }
    };
}

pub mod admission;
pub mod catalogue;
pub mod engine;
pub mod finding;
pub mod inject;
pub mod inventory;
pub mod kubernetes;
pub mod object;
pub mod observed;
pub mod policy;
pub mod printable;
pub mod rollout;
pub mod rules;
pub mod validation;
