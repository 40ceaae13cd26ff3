use std::str::FromStr;

/// The ConfigMap that setguard patches with dryRun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    pub namespace: String,
    pub name: String,
}

impl FromStr for Target {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('/') {
            Some((namespace, name)) if !namespace.is_empty() && !name.is_empty() => {
                Ok(Target { namespace: namespace.to_owned(), name: name.to_owned() })
            }
            _ => Err("expected NAMESPACE/NAME"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_has_a_namespace_and_a_name() {
        let target = Target { namespace: "guards".to_owned(), name: "setguard-x".to_owned() };
        assert_eq!("guards/setguard-x".parse(), Ok(target));
        for text in ["", "guards", "/x", "guards/"] {
            assert!(text.parse::<Target>().is_err(), "{text}");
        }
    }
}
