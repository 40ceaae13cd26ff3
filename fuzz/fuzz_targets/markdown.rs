//! In the comment on a pull request, no text of a manifest becomes markup.

#![no_main]

use libfuzzer_sys::fuzz_target;
use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag};
use serde_json::json;
use setguard_offline::browser::Inputs;

fuzz_target!(|texts: (&str, &str, &str)| {
    let (name, image, claim) = texts;
    let set = |image: &str, replicas: u32| {
        json!({
            "apiVersion": "apps/v1", "kind": "StatefulSet",
            "metadata": {"name": name, "namespace": "shop"},
            "spec": {
                "replicas": replicas,
                "serviceName": image,
                "selector": {"matchLabels": {"app": "a"}},
                "persistentVolumeClaimRetentionPolicy": {"whenScaled": "Delete"},
                "template": {
                    "metadata": {"labels": {"app": "a"}, "annotations": {"note": image}},
                    "spec": {"containers": [{"name": "main", "image": image}]},
                },
                "volumeClaimTemplates": [{
                    "metadata": {"name": claim},
                    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
                }],
            },
        })
        .to_string()
    };
    let inputs = json!({"before": set("a:1", 5), "neverReady": [name]}).to_string();
    let Ok(inputs) = Inputs::parse(&inputs) else { panic!("{inputs}") };
    let plan = inputs.markdown(&set(image, 3)).expect("a plan");
    let mut is_code = false;
    for event in Parser::new_ext(&plan, Options::all()) {
        match event {
            Event::Start(Tag::CodeBlock(_)) => is_code = true,
            Event::End(pulldown_cmark::TagEnd::CodeBlock) => is_code = false,
            Event::Text(_) if is_code => {}
            Event::Text(text) => assert!(!text.contains('@'), "{text} in {plan}"),
            Event::Html(html) | Event::InlineHtml(html) => {
                let tags =
                    html.replace("<details><summary>Steps</summary>", "").replace("</details>", "");
                assert_eq!(tags.trim(), "", "{plan}");
            }
            Event::Code(_) | Event::SoftBreak | Event::End(_) => {}
            Event::Start(Tag::Heading { level: HeadingLevel::H3, .. }) => {}
            Event::Start(
                Tag::Paragraph | Tag::List(_) | Tag::Item | Tag::Strong | Tag::HtmlBlock,
            ) => {}
            other => panic!("{other:?} in {plan}"),
        }
    }
});
