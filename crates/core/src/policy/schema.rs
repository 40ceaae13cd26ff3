//! The parts of the JSON Schema that the types of the policy file cannot express.
//!
//! The program accepts whatever the schema accepts, so an editor, or Helm, reports a mistake before setguard does. Only
//! feature gates differ: the program also accepts gates that no rule depends on.

use serde_json::{Value, json};

use crate::{
    catalogue,
    kubernetes::cluster::{self, Version},
};

/// Without the rules that a policy may not change.
pub(super) fn rule_ids() -> Value {
    let adjustable = catalogue::all().iter().filter(|rule| rule.meta.adjustable);
    json!({"enum": adjustable.map(|rule| rule.meta.id).collect::<Vec<_>>()})
}

pub(super) fn gates() -> Value {
    json!({"enum": cluster::gates().collect::<Vec<_>>()})
}

/// Matches a supported release, with any text after the minor version.
pub(super) fn release() -> String {
    let minors: Vec<_> = (Version::OLDEST.minor()..=Version::NEWEST.minor())
        .map(|minor| minor.to_string())
        .collect();
    format!(r"^v?1\.({})\+?(\.|$)", minors.join("|"))
}

/// Matches a day that exists.
pub(super) fn date() -> String {
    let days = "(0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)\
                |02-(0[1-9]|1[0-9]|2[0-8])";
    let leap = "[0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00";
    format!("^([0-9]{{4}}-({days})|({leap})-02-29)$")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_patterns_have_what_the_tables_have() {
        assert_eq!(release(), r"^v?1\.(33|34|35|36|37)\+?(\.|$)");
        let has =
            |list: &Value, name: &str| list["enum"].as_array().unwrap().contains(&json!(name));
        assert!(has(&rule_ids(), "partition-covers-all"));
        assert!(!has(&rule_ids(), "api-validation"), "its mode cannot be changed");
        assert!(has(&gates(), "StatefulSetRecreateStrategy"));
    }
}
