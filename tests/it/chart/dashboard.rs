//! The dashboard: faults that Grafana doesn't report.

use super::chart;
use crate::json_schema::assert_valid;
use crate::prelude::*;

fn dashboard() -> Value {
    let text = fs::read_to_string(chart().join("files/dashboard.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn variables(text: &str) -> impl Iterator<Item = &str> {
    text.split('$').skip(1).map(|rest| {
        let rest = rest.strip_prefix('{').unwrap_or(rest);
        &rest[..rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len())]
    })
}

#[test]
fn panels_have_a_place_of_their_own_on_the_grid() {
    let dashboard = dashboard();
    let mut ids = BTreeSet::new();
    let mut taken = BTreeSet::new();
    for panel in dashboard["panels"].as_array().unwrap() {
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "{panel}: this id is another panel's");
        let side = |key: &str| panel["gridPos"][key].as_u64().unwrap();
        assert!(side("x") + side("w") <= 24, "{panel}: the grid has 24 columns");
        for x in side("x")..side("x") + side("w") {
            for y in side("y")..side("y") + side("h") {
                assert!(taken.insert((x, y)), "{panel}: overlaps another panel");
            }
        }
    }
    assert!(ids.len() > 10, "{ids:?}");
}

#[test]
fn each_panel_asks_the_chosen_data_source_and_says_what_it_shows() {
    let dashboard = dashboard();
    let list = dashboard["templating"]["list"].as_array().unwrap();
    let known: BTreeSet<&str> = list.iter().map(|it| it["name"].as_str().unwrap()).collect();
    // Grafana itself defines names with two underscores in front.
    let is_known = |name: &str| known.contains(name) || name.starts_with("__");
    let of_source = |it: &Value| {
        it["datasource"]["type"] == "prometheus" && it["datasource"]["uid"] == "${datasource}"
    };
    let mut titles = BTreeSet::new();
    for panel in dashboard["panels"].as_array().unwrap() {
        let title = panel["title"].as_str().unwrap();
        assert!(titles.insert(title), "two panels are called {title}");
        assert!(of_source(panel), "{title}");
        assert!(panel["description"].as_str().is_some_and(|it| it.len() > 10), "{title}");
        assert!(panel["fieldConfig"]["defaults"]["unit"].is_string(), "{title}: no unit");
        let targets = panel["targets"].as_array().unwrap();
        let names: BTreeSet<&str> =
            targets.iter().map(|it| it["refId"].as_str().unwrap()).collect();
        assert_eq!(names.len(), targets.len(), "{title}: two queries have one name");
        for target in targets {
            let query = target["expr"].as_str().unwrap();
            assert!(of_source(target), "{title}");
            // With several installations, each panel must show only the chosen one.
            assert_eq!(
                query.matches('{').count(),
                query.matches("{namespace=~\"$namespace\",job=~\"$job\"").count(),
                "{title}: {query}"
            );
            for name in variables(query) {
                assert!(is_known(name), "{title}: there is no ${name}");
            }
        }
    }
    for variable in list {
        for name in variables(&variable["query"].to_string()) {
            assert!(is_known(name), "there is no ${name}");
        }
    }
}

fn validate(schema: &Value, definition: &str, value: &Value, what: &str) {
    let mut schema = schema.clone();
    schema["$ref"] = json!(format!("#/definitions/{definition}"));
    assert_valid(value, schema, what);
}

fn all_optional(schema: &mut Value) {
    for definition in schema["definitions"].as_object_mut().unwrap().values_mut() {
        definition.as_object_mut().unwrap().remove("required");
    }
}

#[test]
fn grafana_knows_each_field_and_value() {
    let Some(folder) = env::var_os("GRAFANA_SCHEMAS") else {
        eprintln!("skipped: GRAFANA_SCHEMAS does not name Grafana's schemas (docs/testing.md)");
        return;
    };
    let schema = |name: &str| -> Value {
        let path = Path::new(&folder).join(format!("{name}.jsonschema.json"));
        let text = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        serde_json::from_slice(&text).unwrap()
    };
    let dashboard = dashboard();
    validate(&schema("dashboard"), "Dashboard", &dashboard, "the dashboard");
    let prometheus = schema("prometheus");
    for panel in dashboard["panels"].as_array().unwrap() {
        let title = panel["title"].as_str().unwrap();
        let mut of_kind = schema(panel["type"].as_str().unwrap());
        all_optional(&mut of_kind);
        if let Some(options) = panel.get("options") {
            validate(&of_kind, "Options", options, title);
        }
        if let Some(custom) = panel.pointer("/fieldConfig/defaults/custom") {
            validate(&of_kind, "FieldConfig", custom, title);
        }
        for query in panel["targets"].as_array().unwrap() {
            validate(&prometheus, "Dataquery", query, title);
        }
    }
}
