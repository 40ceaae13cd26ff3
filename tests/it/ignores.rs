//! Comments that exempt from warnings.

use crate::folder::{Folder, on_delete, rules};

const RULE: &str = "on-delete-ignores-rolling-update";

/// The severity of the finding in a manifest, why it is eased, and all remarks.
fn checked(text: &str, args: &str) -> (String, String, Vec<String>) {
    let folder = Folder::new([("a.yaml", text)]);
    let (_, report) = folder.json(format!("{args} a.yaml").trim());
    assert_eq!(rules(&report), [RULE], "{text}\n{report}");
    let finding = &report["findings"][0];
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let remarks = report["remarks"].as_array().into_iter().flatten();
    let remarks = remarks.map(|remark| text(&remark["message"])).collect();
    (text(&finding["severity"]), text(&finding["eased"]), remarks)
}

/// The manifest with a comment, written for `@`, instead of a text.
fn with(from: &str, to: &str) -> String {
    let text = on_delete("agent", "");
    assert!(text.contains(from));
    text.replacen(from, &to.replace('@', &format!("# setguard: ignore[{RULE}] by hand")), 1)
}

#[test]
fn a_comment_covers_its_line_or_the_next_and_what_is_nested_there() {
    let covering = [
        with("    rollingUpdate:\n", "    rollingUpdate: @\n"),
        with("    rollingUpdate:\n", "    @\n    rollingUpdate:\n"),
        with("    rollingUpdate:\n", "    @\n\n    # Another comment.\n    rollingUpdate:\n"),
        with("  updateStrategy:\n", "  @\n  updateStrategy:\n"),
        with("spec:\n", "spec:  @\n"),
        with("apiVersion", "@\napiVersion"),
        with("apiVersion: apps/v1", "apiVersion: apps/v1 @"),
        with("apiVersion", "\u{feff}@\n---\napiVersion"),
        with("apiVersion", "a: b\n---\n# Header\n@\n\napiVersion")
            .split_once("---\n")
            .unwrap()
            .1
            .into(),
        with("\n    rollingUpdate:", "\r\n    @\r\n    rollingUpdate:"),
        with(
            "    rollingUpdate:\n      maxUnavailable: 2\n",
            "    rollingUpdate: {maxUnavailable: 2} @\n",
        ),
    ];
    for text in covering {
        let line = text.lines().position(|line| line.contains("# setguard")).unwrap() + 1;
        let eased = format!("exempted by the comment in line {line}: by hand");
        assert_eq!(checked(&text, ""), ("note".to_owned(), eased, vec![]), "{text}");
    }
    let elsewhere = [
        with("    type: OnDelete\n", "    type: OnDelete @\n"),
        with("    rollingUpdate:\n", "    rollingUpdate:\n    @\n"),
        with("  selector:", "  @\n  selector:"),
        with("    type: OnDelete\n", "    @\n    type: OnDelete\n"),
    ];
    for text in elsewhere {
        let (severity, eased, remarks) = checked(&text, "");
        assert_eq!((severity.as_str(), eased.as_str()), ("warning", ""), "{text}");
        assert!(remarks[0].contains("finds nothing that this comment covers"), "{remarks:?}");
    }
}

#[test]
fn only_comments_are_comments() {
    let comment = format!("# setguard: ignore[{RULE}] by hand");
    let block = format!(
        "metadata:\n  name: agent\n  namespace: ops\n  annotations:\n    a: |\n      {comment}\n    b: '\n      {comment}'\n    c: a#setguard:ignore[{RULE}]\n"
    );
    let text =
        on_delete("agent", "").replacen("metadata: {name: agent, namespace: ops}\n", &block, 1);
    assert_eq!(checked(&text, ""), ("warning".to_owned(), String::new(), vec![]));
    // In the header of a block scalar there is one.
    let text = text.replacen("a: |\n", &format!("a: | {comment}\n"), 1);
    assert_eq!(checked(&text, "").2.len(), 1);
}

#[test]
fn a_comment_has_no_more_power_than_the_annotation() {
    let text = with("    rollingUpdate:", "    rollingUpdate: @");
    let folder = Folder::new([
        ("a.yaml", text.as_str()),
        (
            "deny.yaml",
            &format!("apiVersion: setguard.io/v1alpha1\nkind: Policy\nrules: {{{RULE}: deny}}\n"),
        ),
        (
            "refused.yaml",
            &on_delete("agent", "      restartPolicy: Never # setguard: ignore[api-validation]\n"),
        ),
    ]);
    assert_eq!(folder.check("a.yaml --deny-warnings").code, 0);
    let (code, report) = folder.json("a.yaml --policy deny.yaml");
    assert_eq!((code, &report["findings"][0]["severity"]), (1, &"error".into()));
    let remark = report["remarks"][0]["message"].as_str().unwrap();
    assert!(remark.contains("cannot exempt from a denial"), "{remark}");
    // Nor from a denial that only warns because the object had the fault before.
    let (code, report) = folder.json("a.yaml --against a.yaml --policy deny.yaml");
    assert_eq!((code, &report["findings"][0]["severity"]), (0, &"warning".into()));
    let (code, report) = folder.json("refused.yaml");
    assert_eq!(code, 1, "{report}");
}

#[test]
fn no_ignores_shows_what_comments_and_annotations_hide() {
    let comment = with("    rollingUpdate:", "    rollingUpdate: @");
    assert_eq!(checked(&comment, "--no-ignores").0, "warning");
    let annotation = on_delete("agent", "").replacen(
        "namespace: ops",
        &format!("namespace: ops, annotations: {{setguard.io/ignore: {RULE}}}"),
        1,
    );
    assert_eq!(checked(&annotation, "").0, "note");
    assert_eq!(checked(&annotation, "--no-ignores").0, "warning");
}

#[test]
fn what_is_wrong_with_a_comment_is_said() {
    for (comment, said) in [
        (
            "ignore[on-delete-ignores-rolling-updates]",
            "did you mean on-delete-ignores-rolling-update?",
        ),
        ("ignore", "is not understood"),
        ("ignore[]", "is not understood"),
        ("disable-next-line", "is not understood"),
        ("ignore[surge-host-port, unkempt]", "there is no rule \"unkempt\""),
    ] {
        let text = on_delete("agent", "");
        let text = text.replacen(
            "    rollingUpdate:",
            &format!("    # setguard: {comment}\n    rollingUpdate:"),
            1,
        );
        let (severity, _, remarks) = checked(&text, "");
        assert_eq!(severity, "warning");
        assert!(
            remarks.iter().any(|it| it.contains(said) && it.starts_with("line 7: ")),
            "{remarks:?}"
        );
    }
    // In a document that is not evaluated, there is no remark that asks to remove the comment.
    let folder =
        Folder::new([("a.yaml", "# setguard: ignore[x]\napiVersion: v1\nkind: ConfigMap\n")]);
    assert_eq!(folder.check("a.yaml").stdout.matches("note").count(), 0);
}

#[test]
fn comments_exempt_from_findings_about_several_objects() {
    let set = |name: &str, comment: &str| {
        format!(
            "{comment}\napiVersion: apps/v1\nkind: StatefulSet\nmetadata: {{name: {name}, namespace: ops}}\n\
             spec:\n  replicas: 2\n  serviceName: none\n  selector: {{matchLabels: {{app: {name}}}}}\n  template:\n    \
             metadata: {{labels: {{app: {name}}}}}\n    spec: {{containers: [{{name: a, image: 'a:1', args: [--peer={name}-0.none]}}]}}\n"
        )
    };
    let ignore = "# setguard: ignore[service-missing, selector-overlap] made by an operator";
    let service =
        "apiVersion: v1\nkind: Service\nmetadata: {name: other, namespace: ops}\nspec: {}\n";
    let text = format!("{}---\n{}---\n{service}", set("a", ignore), set("b", ""));
    let folder = Folder::new([("a.yaml", text.as_str())]);
    let (_, report) = folder.json("a.yaml");
    let missing: Vec<_> = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|it| it["rule"] == "service-missing")
        .collect();
    assert_eq!(missing.len(), 2, "{report}");
    assert_eq!(report["remarks"].as_array().unwrap().len(), 1, "{report}");
    assert_eq!([&missing[0]["severity"], &missing[1]["severity"]], ["note", "warning"], "{report}");
}
