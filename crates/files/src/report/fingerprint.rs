//! Identifies a finding from one run to the next, even if its line has moved.

use std::{collections::HashMap, fmt::Write};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use sha2::{Digest, Sha256};

use super::diagnostic::Diagnostic;
use crate::manifests::id::ObjectId;
use crate::report::prelude::*;

/// The characters to escape in object names and file paths, so that no name can look like a different one.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'.').remove(b'-').remove(b'_');
const ESCAPED_IN_PATHS: &AsciiSet = &ESCAPED.remove(b'/');

/// The identity of a finding: its rule, its object and its field, but no line and no message. Several findings of one
/// rule in one field of an object are numbered in the order of discovery.
///
/// `Display` writes a fingerprint as one line of printable ASCII, with three or four words: `surge-host-port
/// apps/DaemonSet/kube-system/agent spec.updateStrategy #2`. The first of several findings has no number. An object
/// with a generated name includes its file: `apps/DaemonSet/default/agent-*@deploy/agent.yaml`; a document that cannot
/// be read has only its file. A finding without a field has the field `-`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fingerprint(String);

impl Fingerprint {
    /// Returns the fingerprint of a finding. `file` is the path from the root of the repository, or empty.
    pub fn of(file: &str, object: Option<&ObjectId>, diagnostic: &Diagnostic) -> Self {
        let mut text = Fingerprint::first(file, object, diagnostic);
        if diagnostic.occurrence > 0 {
            let _ = write!(text, " #{}", diagnostic.occurrence + 1);
        }
        Fingerprint(text)
    }

    fn first(file: &str, object: Option<&ObjectId>, diagnostic: &Diagnostic) -> String {
        let mut text = format!("{} {} ", diagnostic.rule.id, Fingerprint::object(file, object));
        if diagnostic.field.is_empty() {
            text.push('-');
        }
        for c in diagnostic.field.chars() {
            match c {
                // A key may be any text, even one that looks like the end of the line.
                '!'..='~' if c != '%' => text.push(c),
                c => text.extend(utf8_percent_encode(c.encode_utf8(&mut [0; 4]), NON_ALPHANUMERIC)),
            }
        }
        text
    }

    /// Returns the word for the object, or for the file of a document that cannot be read.
    pub fn object(file: &str, object: Option<&ObjectId>) -> String {
        let mut text = String::new();
        let path = utf8_percent_encode(file, ESCAPED_IN_PATHS);
        match object {
            Some(object) => {
                let group = object.api_version.split_once('/').map_or("", |(group, _)| group);
                let parts = [group, &object.kind, &object.namespace, &object.name];
                for (i, part) in parts.into_iter().enumerate() {
                    text.push_str(if i > 0 { "/" } else { "" });
                    text.extend(utf8_percent_encode(part, ESCAPED));
                }
                if object.is_generated {
                    let _ = write!(text, "*@{path}");
                }
            }
            None => text.extend(path),
        }
        text
    }

    /// Returns the SHA-256 of the text, for formats that need an opaque word.
    pub(crate) fn digest(&self) -> String {
        digest(&self.0)
    }
}

/// Returns the SHA-256 of a text in hexadecimal.
pub fn digest(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Numbers the findings of a run that would otherwise have the same fingerprint.
#[derive(Debug, Default)]
pub struct Occurrences {
    /// By a hash of the fingerprint.
    seen: HashMap<[u8; 16], Numbers>,
}

#[derive(Debug, Default)]
struct Numbers {
    next: usize,
    /// The first number in each folder, and the next one of each of its variants.
    first: HashMap<String, usize>,
    next_of: HashMap<String, usize>,
}

impl Occurrences {
    /// Sets the number of a finding. Findings must come in the same order in every run.
    pub fn number(&mut self, file: &str, object: Option<&ObjectId>, diagnostic: &mut Diagnostic) {
        self.number_in(("", ""), file, object, diagnostic);
    }

    /// Sets the number of a finding in a variant of a folder, such as a chart with some values. Variants of one folder
    /// have the same findings, so they have the same numbers.
    pub fn number_in(
        &mut self,
        (folder, variant): (&str, &str),
        file: &str,
        object: Option<&ObjectId>,
        diagnostic: &mut Diagnostic,
    ) {
        let text = Fingerprint::first(file, object, diagnostic);
        let mut key = [0; 16];
        key.iter_mut().zip(Sha256::digest(text.as_bytes())).for_each(|(to, from)| *to = from);
        let Numbers { next, first, next_of } = self.seen.entry(key).or_default();
        let first = first.entry(folder.to_owned()).or_insert(*next);
        let next_of = next_of.entry(variant.to_owned()).or_insert(*first);
        diagnostic.occurrence = *next_of;
        *next_of += 1;
        *next = (*next).max(*next_of);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::diagnostic::Strictness;
    use kube_yaml::Mark;
    use setguard_core::{
        engine::verdict::Violation,
        finding::{Finding, Mode, Path, Reason, SOME_RULE},
    };

    fn finding(field: &str) -> Diagnostic {
        let finding =
            Finding::new(&SOME_RULE, Path::new(field).to_field(), Reason::Invalid, String::new());
        let violation = Violation::new(finding, Mode::Deny);
        Diagnostic::of(violation, Mark::default(), Strictness::default())
    }

    fn id(api_version: &str, name: &str) -> ObjectId {
        ObjectId {
            api_version: api_version.to_owned(),
            kind: "DaemonSet".to_owned(),
            namespace: "default".to_owned(),
            name: name.to_owned(),
            is_generated: false,
        }
    }

    fn text(object: Option<&ObjectId>, field: &str) -> String {
        Fingerprint::of("deploy/a b.yaml", object, &finding(field)).to_string()
    }

    #[test]
    fn it_is_one_readable_line() {
        let agent = id("apps/v1", "agent");
        let wanted =
            "some-rule apps/DaemonSet/default/agent spec.template.spec.containers[0].image";
        assert_eq!(text(Some(&agent), "spec.template.spec.containers[0].image"), wanted);
        let beta = id("apps/v1beta1", "agent");
        assert_eq!(text(Some(&agent), "spec"), text(Some(&beta), "spec"));
        assert_eq!(text(None, ""), "some-rule deploy/a%20b.yaml -");
        let generated = ObjectId { is_generated: true, ..id("v1", "agent-") };
        let wanted = "some-rule /DaemonSet/default/agent-*@deploy/a%20b.yaml spec";
        assert_eq!(text(Some(&generated), "spec"), wanted);
    }

    #[test]
    fn nothing_in_an_object_can_imitate_another() {
        let (odd, even) = (id("apps/v1", "a/b c\n*@é"), id("apps/v1", "agent"));
        let wanted = "some-rule apps/DaemonSet/default/a%2Fb%20c%0A%2A%40%C3%A9 spec";
        assert_eq!(text(Some(&odd), "spec"), wanted);
        assert_eq!(text(Some(&even), "labels[a #2]").split(' ').count(), 3);
        assert_ne!(text(Some(&even), "labels[a%20]"), text(Some(&even), "labels[a ]"));
    }

    #[test]
    fn findings_in_one_field_are_numbered() {
        let agent = id("apps/v1", "agent");
        let mut occurrences = Occurrences::default();
        let mut next = |field| {
            let mut finding = finding(field);
            occurrences.number("", Some(&agent), &mut finding);
            Fingerprint::of("", Some(&agent), &finding)
        };
        let (first, other, second) = (next("spec.a"), next("spec.b"), next("spec.a"));
        assert!(first.to_string().ends_with(" spec.a"));
        assert!(other.to_string().ends_with(" spec.b"));
        assert!(second.to_string().ends_with(" spec.a #2"));
        assert_ne!(first.digest(), second.digest());
        // The digest is the output of `printf 'some-rule apps/DaemonSet/default/agent spec.a' |
        // sha256sum`.
        let wanted = "5c15229df7ac4c1cb062999605a9ec9ad7b5289d188902c8be591070db0e8fe8";
        assert_eq!(first.digest(), wanted);
    }
}
