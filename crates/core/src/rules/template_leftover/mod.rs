use crate::inventory::leftovers::number;
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "template-leftover", group: NeverStarts;
    title: "a template left this in the value",
    summary: "a command, variable or ConfigMap with what a template prints by mistake",
    scopes: [
        Scope::trap(OpenKruise::Applies, ObjectCheck::Pod(check)),
        Scope::Inventory { kinds: SETS, evidence: Evidence::Manifest, check: among },
    ],
};

const NUMBER: &str = "is how a template prints a large number, and most programs want an integer";
const HELP: &str = "write {{ int64 … }} in the template, or the number as a string in its values";

fn check(spec: &PodSpec, subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let is_raw = |text: &str| text.contains("{{");
    let is_template =
        is_raw(subject.object.name()) || containers(spec).any(|it| is_raw(text(&it.image)));
    let mut report = |text: &str, path: &Path<'_>| {
        let (left, why, help) = if let Some(left) = number(text) {
            (left, NUMBER, HELP)
        } else if let Some(left) = printed(text) {
            (
                left,
                "is what a template prints without a value",
                "set the value, or give the template a default",
            )
        } else if let Some(left) = unrendered(text).filter(|_| !is_template) {
            (
                left,
                "is a template that nothing renders",
                "write the result; Helm renders no templates in its values",
            )
        } else {
            return;
        };
        found.report(path, Reason::Invalid, format!("{left:?} {why}"), help);
    };
    visit(spec, &POD_SPEC, &mut |container, path| {
        // Programs with templates of their own.
        let words = || list(&container.command).iter().chain(list(&container.args));
        if words()
            .any(|it| ["helm", "kubectl", "template", "tpl"].iter().any(|own| it.contains(own)))
        {
            return;
        }
        for (name, words) in [("command", &container.command), ("args", &container.args)] {
            for (i, word) in list(words).iter().enumerate() {
                report(word, &path.item(name, i));
            }
        }
        for (i, variable) in list(&container.env).iter().enumerate() {
            report(text(&variable.value), &path.item("env", i).child("value"));
        }
    });
}

/// Go: `badVerb`, fmt/print.go; `printValue`, text/template/exec.go.
fn printed(text: &str) -> Option<&str> {
    let verb = || {
        let start = text.find("%!")?;
        let rest = text.get(start..)?;
        let is_verb = |c: char| c.is_ascii_alphabetic();
        let rest = rest.get(2..)?.strip_prefix(is_verb)?;
        let end = rest.starts_with('(').then(|| rest.find(')'))??;
        text.get(start..start + end + 4)
    };
    let none = || text.find("<no value>").and_then(|at| text.get(at..at + 10));
    verb().or_else(none)
}

fn unrendered(text: &str) -> Option<&str> {
    let (start, _) = text.match_indices("{{").find(|(at, _)| {
        let inner = text.get(at + 2..).unwrap_or_default().trim_start_matches(['-', ' ']);
        [".Values.", ".Release.", "include "].iter().any(|it| inner.starts_with(it))
    })?;
    let rest = text.get(start..)?;
    rest.get(..rest.find("}}")? + 2)
}

fn among(query: &Query<'_>, found: &mut Findings) {
    let mut names = HashSet::new();
    for it in &query.details.configs {
        let objects = query.inventory().named(it.kind, query.item.namespace(), &it.name);
        let rare = objects.filter_map(|object| Some((object, object.rare()?)));
        let numbers =
            rare.flat_map(|(object, rare)| rare.numbers.iter().map(move |it| (object, it)));
        for (object, (key, left)) in numbers {
            let is_read = it.key.as_ref().is_none_or(|it| it == key);
            if is_read && names.insert((&it.name, key, left)) {
                let message = format!("{left:?} in {key} of {object} {NUMBER}");
                found.via(it.kind, it.field.clone(), Reason::Invalid, message, HELP);
            }
        }
    }
}
