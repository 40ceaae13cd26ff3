use setguard_core::kubernetes::{names, resource::WorkloadKind};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) kind: WorkloadKind,
    pub(crate) name: String,
    /// Only a manifest names one.
    pub(crate) namespace: Option<String>,
}

pub(crate) fn named(text: &str) -> Result<Named, String> {
    let (kind, name) = text.split_once('/').ok_or("not KIND/NAME, such as statefulset/db")?;
    let kind = match kind.to_ascii_lowercase().trim_end_matches(".apps") {
        "statefulset" | "statefulsets" | "sts" => WorkloadKind::StatefulSet,
        "daemonset" | "daemonsets" | "ds" => WorkloadKind::DaemonSet,
        _ => return Err("the kind must be statefulset or daemonset".to_owned()),
    };
    if !names::dns1123_subdomain(name).is_empty() {
        return Err(format!("{name:?} is not the name of a set"));
    }
    Ok(Named { kind, name: name.to_owned(), namespace: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_the_names_of_kubectl() {
        for text in ["statefulset/db", "sts/db", "StatefulSets.apps/db", "statefulsets/db"] {
            let Named { kind, name, .. } = named(text).unwrap();
            assert_eq!((kind, &*name), (WorkloadKind::StatefulSet, "db"), "{text}");
        }
        assert_eq!(named("ds/a.b").map(|it| it.kind), Ok(WorkloadKind::DaemonSet));
        for text in ["db", "deployment/db", "sts/", "sts/a/b", "sts/../x", "sts/..", "sts/A"] {
            assert!(named(text).is_err(), "{text}");
        }
    }
}
