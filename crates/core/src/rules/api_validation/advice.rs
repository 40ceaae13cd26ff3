//! The remedies for the most frequent errors. The API server's message stays as it is; the remedy becomes the help,
//! with other fields that belong to the error.

use std::cell::OnceCell;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelectorRequirement;
use serde_json::Value as Json;

use super::{kruise, stateful_set, template};
use crate::rules::prelude::*;
use crate::{
    finding::{
        Related, Step,
        difference::{Difference, differences},
        shorten,
    },
    kubernetes::semantic::to_json,
    rules::schema::SCHEMA,
    validation::object_meta,
};

/// In words.
const LONGEST_TITLE: usize = 8;
/// In bytes.
const LONGEST_NAME: usize = 80;

/// Parts of messages about undecodable values, with their titles.
const UNDECODABLE: [(&str, &str); 4] = [
    ("quantities must match", "this is not a quantity"),
    ("not serve ", "the API server does not serve this version"),
    (" occurs twice: ", "this key occurs twice"),
    ("not YAML: ", "this is not YAML"),
];

const NAMED: usize = 3;

/// The end of the advice about an immutable field.
pub const KEEP: &str = "keep the old value";

const NO_SELECTOR: &str = "there is no spec.selector";

/// By convention, the best first.
const SELECTING: [&str; 4] = ["app.kubernetes.io/name", "app", "k8s-app", "name"];

pub(super) struct Advisor<'s, 'a> {
    pub(super) subject: &'s Subject<'a>,
    pub(super) template: OnceCell<Json>,
}

#[derive(Default)]
struct Advice {
    help: String,
    related: Vec<Related>,
    fix: Option<Fix>,
}

impl Advice {
    fn say(help: impl Into<String>) -> Self {
        Advice { help: help.into(), ..Advice::default() }
    }

    fn see(mut self, field: impl Into<Field>, label: impl Into<String>) -> Self {
        self.related.push(Related { field: field.into(), label: label.into().into() });
        self
    }
}

impl<'s, 'a> Advisor<'s, 'a> {
    pub(super) fn advise(&self, finding: &mut Finding) {
        if finding.help.is_some() {
            return;
        }
        finding.written = self.written(&finding.field);
        if let Some(Advice { help, related, fix }) = self.advice(finding) {
            finding.fix = fix;
            finding.help = Some(help.into()).filter(|it: &Cow<'_, str>| !it.is_empty());
            finding.related = related;
        }
    }

    fn advice(&self, finding: &Finding) -> Option<Advice> {
        let (message, kind) = (finding.message.as_str(), self.subject.object.kind());
        let name = match finding.field.steps().last()? {
            Step::Child(name) | Step::Key(name) => name,
            Step::Index(_) => "",
        };
        let meant = match finding.reason {
            Reason::Invalid | Reason::NotSupported => meant(message),
            _ => None,
        };
        if let Some(meant) = meant {
            return Some(Advice::say(format!("did you mean `{meant}`?")));
        }
        match (finding.reason, name) {
            (Reason::Invalid, "labels") if message.ends_with(template::MISMATCH) => self.mismatch(),
            (Reason::Required, "selector") => Some(self.no_selector()),
            (Reason::NotSupported, "restartPolicy") if message.ends_with("values: \"Always\"") => {
                Some(Advice::say(format!(
                    "remove restartPolicy: the containers of a {kind} are always restarted; a program that ends \
                     belongs in a Job or a CronJob"
                )))
            }
            (Reason::Invalid, "partition") if kind == WorkloadKind::StatefulSet => {
                Some(Advice::say(
                    "write 0 to update all pods, or N to keep the old template in the pods with ordinals below N",
                ))
            }
            (Reason::Invalid, "maxSurge")
                if message.ends_with("when maxUnavailable is non-zero") =>
            {
                let help = "set maxUnavailable: 0 (the default is 1) to start each new pod before the old one ends, \
                            or remove maxSurge";
                let other = ROLLING_UPDATE.child("maxUnavailable");
                Some(Advice::say(help).see(&other, "not zero"))
            }
            (Reason::Invalid, "rollingUpdate") if message.ends_with("'RollingUpdate'") => {
                Some(Advice::say("remove rollingUpdate, or set type: RollingUpdate"))
            }
            (Reason::Required, "maxUnavailable") => {
                let help = "set maxUnavailable: 1 to end each old pod before the new one starts, or maxSurge: 1 for \
                            the opposite";
                Some(Advice::say(help).see(&ROLLING_UPDATE.child("maxSurge"), "zero too"))
            }
            (Reason::Invalid, "maxUnavailable") if message.ends_with("cannot be 0") => {
                Some(Advice::say("set it to at least 1: with 0, no pod could ever be replaced"))
            }
            (Reason::Invalid, "requests") => above_limit(message, &finding.field),
            (Reason::Invalid, _) if message.contains("a lowercase RFC 1123") => {
                let name = as_name(message.split('"').nth(1)?, message.contains("1123 label"))?;
                Some(Advice::say(format!("did you mean `{name}`?")))
            }
            (Reason::Required, _) => missing(&finding.field, name, kind).map(Advice::say),
            (Reason::Duplicate, "name") => self.first_of_duplicates(finding.place()),
            (Reason::NotFound, "name") if is_mount(&finding.field) => Some(self.no_volume(message)),
            _ if message.ends_with(object_meta::IMMUTABLE) => self.immutable(&finding.field),
            (Reason::Forbidden, "spec")
                if [stateful_set::IMMUTABLE, kruise::IMMUTABLE]
                    .iter()
                    .any(|it| message.ends_with(it)) =>
            {
                self.immutable(&finding.field)
            }
            _ => None,
        }
    }

    fn labels(&self) -> BTreeMap<&str, &str> {
        let metadata = self.subject.object.template().metadata.as_ref();
        let labels = metadata.and_then(|it| it.labels.as_ref());
        labels.into_iter().flatten().map(|(key, value)| (key.as_str(), value.as_str())).collect()
    }

    fn mismatch(&self) -> Option<Advice> {
        let labels = self.labels();
        let Some(selector) = self.subject.object.selector() else {
            let advice = self.no_selector();
            return Some(Advice { help: format!("{NO_SELECTOR}; {}", advice.help), ..advice });
        };
        let wanted = || selector.match_labels.iter().flatten();
        let (mut advice, mut texts) = (Advice::default(), Vec::new());
        for (key, value) in wanted() {
            let (in_selector, in_labels) = (SELECTOR.child("matchLabels"), &TEMPLATE_LABELS);
            let has = labels.get(key.as_str()).copied();
            if has == Some(value) {
                continue;
            }
            let is_free = |it: &&str| !wanted().any(|(key, _)| key == it);
            let near = nearest_of(key, labels.keys().copied().filter(is_free));
            advice = advice.see(&in_selector.key(key), format!("selects `{key}: {value}`"));
            texts.push(match (has, near) {
                (Some(has), _) => {
                    advice = advice.see(&in_labels.key(key), format!("not `{value}`"));
                    format!("the selector requires `{key}: {value}`, and the template has `{key}: {has}`")
                }
                (None, Some(near)) => {
                    let near_label = in_labels.key(near);
                    advice = advice.see(&near_label, format!("did you mean `{key}`?"));
                    advice.fix = Some(Fix::rename(near_label.to_field(), key));
                    format!("the selector requires the label `{key}`, and the template has `{near}`; did you mean `{key}`?")
                }
                (None, None) => format!("add the label `{key}: {value}` to the template"),
            });
        }
        let expressions = SELECTOR.child("matchExpressions");
        let all = selector.match_expressions.iter().flatten().enumerate();
        for (i, requirement) in all {
            let alone = LabelSelector {
                match_expressions: Some(vec![requirement.clone()]),
                match_labels: None,
            };
            if !selector::matches(&alone, |key| labels.get(key).copied()) {
                let LabelSelectorRequirement { key, operator, values } = requirement;
                let values = values.as_deref().unwrap_or_default().join(", ");
                let has = labels
                    .get(key.as_str())
                    .map_or("no such label".to_owned(), |it| format!("`{it}`"));
                let wanted = format!("{key} {operator} {values}");
                let wanted = wanted.trim_end();
                advice = advice.see(&expressions.index(i), format!("selects `{wanted}`"));
                texts.push(format!("the selector requires `{wanted}`, and the template has {has}"));
            }
        }
        texts.truncate(NAMED);
        advice.related.truncate(2 * NAMED);
        Some(Advice { help: texts.join("; "), ..advice })
    }

    fn no_selector(&self) -> Advice {
        let labels = self.labels();
        let common = SELECTING.into_iter().find_map(|key| labels.get_key_value(key));
        let Some((key, value)) = common.or_else(|| labels.first_key_value()) else {
            return Advice::say("add a selector, and labels that it selects to the template");
        };
        Advice::say(format!(
            "add `selector: {{matchLabels: {{{key}: {value}}}}}`; it can never be changed later"
        ))
        .see(&TEMPLATE_LABELS, "the labels to select")
    }

    /// For the API server, a claim template is a volume before the others, instead of a volume with its name.
    fn written(&self, field: &Field) -> Option<Field> {
        let inside = field.strip_prefix(&VOLUMES.to_field())?;
        let Step::Index(index) = inside.steps().next()? else { return None };
        let claims = self.subject.object.stateful_set()?.volume_claim_templates.iter().flatten();
        let mut names: Vec<_> =
            claims.map(|it| it.metadata.name.as_deref().unwrap_or_default()).collect();
        names.sort_unstable();
        names.dedup();
        let Some(after) = index.checked_sub(names.len()) else {
            return Some(CLAIM_TEMPLATES.index(index).child("metadata").child("name").to_field());
        };
        let volumes = self.subject.object.template().spec.as_ref()?.volumes.iter().flatten();
        let mut own =
            volumes.enumerate().filter(|(_, it)| names.binary_search(&it.name.as_str()).is_err());
        let at = VOLUMES.index(own.nth(after)?.0).to_field();
        Some(Field::of(at.steps().chain(inside.steps().skip(1))))
    }

    fn first_of_duplicates(&self, field: &Field) -> Option<Advice> {
        let steps: Vec<Step<'_>> = field.steps().collect();
        let at = steps.iter().rposition(|it| matches!(it, Step::Index(_)))?;
        let (Some(Step::Index(index)), Some(after)) = (steps.get(at), steps.get(at + 1..)) else {
            return None;
        };
        let object = self
            .template
            .get_or_init(|| json!({"spec": {"template": to_json(self.subject.object.template())}}));
        let name = object.pointer(&field.pointer())?;
        let list = Field::of(steps.iter().take(at).copied());
        let element = |i| list.steps().chain([Step::Index(i)]).chain(after.iter().copied());
        let mut earlier = (0..*index).map(|i| Field::of(element(i)));
        let first = earlier.find(|it| object.pointer(&it.pointer()) == Some(name));
        let advice = Advice::say("give each its own name, or remove one of them");
        Some(first.into_iter().fold(advice, |advice, it| advice.see(it, "the first one")))
    }

    fn no_volume(&self, message: &str) -> Advice {
        let object = &self.subject.object;
        let name = message.split('"').nth(1).unwrap_or_default();
        let volumes = object.template().spec.iter().flat_map(|it| it.volumes.iter().flatten());
        let volumes = volumes.enumerate().map(|(i, Volume { name, .. })| {
            (name.as_str(), VOLUMES.index(i).child("name").to_field())
        });
        let claims = object.stateful_set().and_then(|it| it.volume_claim_templates.as_deref());
        let claims = claims.unwrap_or_default().iter().enumerate().filter_map(|(i, claim)| {
            let at = CLAIM_TEMPLATES.index(i);
            Some((claim.metadata.name.as_deref()?, at.child("metadata").child("name").to_field()))
        });
        // A volume with this name is invalid itself.
        let all: Vec<_> = volumes.chain(claims).filter(|it| it.0 != name).collect();
        if let Some(near) = nearest_of(name, all.iter().map(|(name, _)| *name)) {
            let place = all.iter().find(|(name, _)| *name == near).map(|(_, field)| field.clone());
            let advice = Advice::say(format!("did you mean `{near}`?"));
            return place
                .into_iter()
                .fold(advice, |advice, it| advice.see(it, "the volume with a similar name"));
        }
        let or_claim = match object.kind() {
            WorkloadKind::StatefulSet => ", or to spec.volumeClaimTemplates",
            WorkloadKind::DaemonSet => "",
        };
        Advice::say(format!(
            "add a volume `{name}` to spec.template.spec.volumes{or_claim}, or remove the mount"
        ))
    }

    fn immutable(&self, field: &Field) -> Option<Advice> {
        let old = self.subject.old()?;
        let (before, now) = (fixed(old), fixed(&self.subject.object));
        let mut found = Vec::new();
        differences(&before, &now, &SPEC.to_field().to_string(), &mut found);
        let at = field.to_string();
        found.retain(|it| it.path.starts_with(&at));
        let more = found.len().saturating_sub(NAMED);
        let texts: Vec<String> = found.iter().take(NAMED).map(changed).collect();
        let more = if more > 0 { format!("; and {more} more") } else { String::new() };
        let is_other = ![SPEC.to_field(), SELECTOR.to_field()].contains(field);
        let or = match is_other && before.get("selector") != now.get("selector") {
            true => ", or do as with the selector",
            false => "",
        };
        (!texts.is_empty()).then(|| Advice::say(format!("{}{more}; {KEEP}{or}", texts.join("; "))))
    }
}

/// Returns the supported value that was probably meant: in other letters, misspelled, or with its initials, such as RWX.
fn meant(message: &str) -> Option<&str> {
    let value = message.split('"').nth(1)?;
    let lists = ["supported values: ", "must be '"];
    let supported = lists.iter().find_map(|list| message.split_once(list))?.1;
    let all: Vec<&str> =
        supported.split(['"', '\'', ',', ' ']).filter(|it| !it.is_empty()).collect();
    let initials = |it: &str| it.chars().filter(char::is_ascii_uppercase).collect::<String>();
    let is_meant = |it: &&&str| {
        it.eq_ignore_ascii_case(value)
            || (value.len() > 2 && initials(it).replace('M', "X") == value)
    };
    all.iter().find(is_meant).copied().or_else(|| nearest_of(value, all.iter().copied()))
}

/// Returns a valid name that resembles an invalid one.
fn as_name(text: &str, is_label: bool) -> Option<String> {
    let plain = |c: char| match c.to_ascii_lowercase() {
        '.' if !is_label => '.',
        c if c.is_ascii_alphanumeric() => c,
        _ => '-',
    };
    let is_separator = |c| ['-', '_', '.', ' ', '/', ':'].contains(&c);
    let is_usual = text.chars().all(|c| c.is_ascii_alphanumeric() || is_separator(c));
    let name: String = text.trim_matches(is_separator).chars().map(plain).collect();
    (is_usual && !name.is_empty() && !name.contains("..")).then_some(name)
}

fn above_limit(message: &str, field: &Field) -> Option<Advice> {
    let (value, rest) = message.strip_prefix("Invalid value: \"")?.split_once('"')?;
    let (name, _) =
        rest.strip_prefix(": must be less than or equal to ")?.split_once(" limit of ")?;
    let mut steps: Vec<_> = field.steps().collect();
    steps.pop();
    steps.extend([Step::Child("limits"), Step::Key(name)]);
    let help = format!("raise the limit to {value}, or lower the request");
    Some(Advice::say(help).see(Field::of(steps), "the limit"))
}

fn fixed<T>(object: &Object<'_, T>) -> Json {
    let set = object.stateful_set();
    json!({
        "selector": object.selector(),
        "volumeClaimTemplates": set.map(|it| &it.volume_claim_templates),
        "serviceName": set.map(|it| it.service_name.as_deref().unwrap_or_default()),
        "podManagementPolicy": set.map(|it| &it.pod_management_policy),
    })
}

fn changed(Difference { path, old, new }: &Difference) -> String {
    let text = |value: &Option<String>| {
        value.clone().filter(|it| !it.is_empty()).unwrap_or("nothing".to_owned())
    };
    format!("`{path}` changes from {} to {}", text(old), text(new))
}

/// Returns the headline of a finding: field and kind of fault for an error of the API server, otherwise the rule's
/// title.
pub fn title(finding: &Finding) -> Cow<'static, str> {
    let Finding { rule, field, reason, message, help, .. } = finding;
    let is_short =
        message.split_whitespace().count() <= LONGEST_TITLE && message.len() <= LONGEST_NAME;
    if *rule == SCHEMA && is_short {
        return message.clone().into();
    }
    if *rule == SCHEMA {
        let known = UNDECODABLE.iter().find(|(part, _)| message.contains(part));
        return known.map_or(rule.title, |it| it.1).into();
    }
    if !super::quotes_api_server(rule) {
        return rule.title.into();
    }
    if message.ends_with(template::MISMATCH) {
        let has_none = help.as_ref().is_some_and(|it| it.starts_with(NO_SELECTOR));
        return match has_none {
            true => "a missing selector matches no labels".into(),
            false => "the selector does not match the template's labels".into(),
        };
    }
    if *reason == Reason::NotFound && is_mount(field) {
        return "no volume has this name".into();
    }
    if *reason == Reason::Required && message.contains("when maxSurge is 0") {
        return "`maxUnavailable` and `maxSurge` are both 0".into();
    }
    let mut name = String::new();
    for step in field.steps().collect::<Vec<_>>().into_iter().rev() {
        match step {
            Step::Index(index) => name.insert_str(0, &format!("[{index}]")),
            Step::Key(key) => name.insert_str(0, &format!("[{key}]")),
            Step::Child(child) => {
                name.insert_str(0, child);
                break;
            }
        }
    }
    let name = shorten(&name, LONGEST_NAME);
    if message.ends_with(object_meta::IMMUTABLE) {
        return format!("`{name}` cannot be changed").into();
    }
    let fault = match reason {
        Reason::Required if name == "resources[storage]" => {
            return "the claim requests no storage".into();
        }
        Reason::Duplicate => "is used twice",
        Reason::Forbidden if *field == SPEC.to_field() => {
            return "an immutable field changes".into();
        }
        Reason::Forbidden => "is not allowed here",
        Reason::Invalid => "has an invalid value",
        Reason::NotFound => "is not found",
        Reason::NotSupported => "has an unsupported value",
        Reason::Required => "is missing",
        Reason::TooFew => "has too few items",
        Reason::TooLong => "is too long",
        Reason::TooMany => "has too many items",
        Reason::TypeInvalid => "has the wrong type",
        Reason::InternalError => return rule.title.into(),
    };
    format!("`{name}` {fault}").into()
}

fn is_mount(field: &Field) -> bool {
    field.steps().any(|it| matches!(it, Step::Child("volumeMounts" | "volumeDevices")))
}

/// The name of the object, a container or a volume.
fn is_label(field: &Field) -> bool {
    let named = ["metadata", "containers", "initContainers", "volumes"];
    let owner = field.steps().filter_map(|it| match it {
        Step::Child(name) => Some(name),
        Step::Index(_) | Step::Key(_) => None,
    });
    let owner: Vec<_> = owner.collect();
    owner.iter().rev().nth(1).is_some_and(|it| named.contains(it))
}

fn missing(field: &Field, name: &str, kind: WorkloadKind) -> Option<String> {
    Some(match name {
        "name" if is_label(field) => "add a name: lower-case letters, digits and `-`".to_owned(),
        "image" => {
            "add the image that the container runs, such as `image: registry.example/app:1.2`"
                .to_owned()
        }
        "storage" => {
            "add the size of the volume: `resources: {requests: {storage: 10Gi}}`".to_owned()
        }
        "accessModes" => {
            "add `accessModes: [ReadWriteOnce]`, or the modes that the storage has".to_owned()
        }
        "containerPort" => "add the number of the port, such as `containerPort: 8080`".to_owned(),
        "key" => "add the key of the ConfigMap or Secret".to_owned(),
        "mountPath" => "add the path of the volume in the container".to_owned(),
        "containers" => format!(
            "add a container with `name` and `image`: the pods of a {kind} have at least one"
        ),
        _ => return None,
    })
}
