use crate::cli::prelude::*;

/// How many entries of a list the caller already has, by the JSON pointer of the list.
pub(super) type Skip = BTreeMap<String, usize>;

/// Puts the worst findings and objects first, so that a cut leaves out the least severe, and adds totals.
pub(super) fn worst_first(value: &mut Value) {
    if let Some(Value::Array(findings)) = value.pointer_mut("/report/findings") {
        findings.sort_by_key(|it| match it["severity"].as_str() {
            Some("error") => 0,
            Some("warning") => 1,
            _ => 2,
        });
        let of = |key: &str| totals(findings.iter().map(|it| &it[key]));
        let (severities, rules) = (of("severity"), of("rule"));
        value["findingsBySeverity"] = severities;
        value["findingsByRule"] = rules;
    }
    if let Some(Value::Array(objects)) = value.pointer_mut("/plan/objects") {
        objects.sort_by_cached_key(gravity);
        let claims: usize = objects.iter().map(deleted_claims).sum();
        value["objectsByChange"] = totals(objects.iter().map(|it| &it["change"]));
        value["claimsDeleted"] = claims.into();
        if let (Some(1), Some(Value::Array(messages))) =
            (value["exitCode"].as_u64(), value.get_mut("messages"))
        {
            let refused = "error: the API server, or a limit of the policy, would refuse an object of the plan";
            messages.insert(0, refused.into());
        }
    }
}

fn totals<'a>(names: impl Iterator<Item = &'a Value>) -> Value {
    let mut totals = BTreeMap::<&str, u64>::new();
    names.filter_map(Value::as_str).for_each(|it| *totals.entry(it).or_default() += 1);
    json!(totals)
}

/// Returns the rank of an object of a plan, by how much a reader must not miss it.
fn gravity(object: &Value) -> u8 {
    let summary = &object["summary"];
    match object["change"].as_str() {
        Some("refused") => 0,
        _ if object["findings"].is_array() => 1,
        _ if deleted_claims(object) > 0 => 2,
        Some("delete") => 3,
        _ if summary["stopsAt"].is_string() => 4,
        _ if summary["atMostUnavailable"].as_u64() > Some(0) => 5,
        Some("none") => 7,
        _ => 6,
    }
}

fn deleted_claims(object: &Value) -> usize {
    let steps = object["steps"].as_array().into_iter().flatten();
    steps.filter_map(|it| it["claims"]["deleted"].as_array()).map(Vec::len).sum()
}

/// Leaves out the entries that the caller has, and cuts the longest lists until the value has at most `most` bytes as
/// JSON. Adds how many entries are missing, and the `skip` of the call that returns them. An unknown list in `skip` is
/// an error.
pub(super) fn within(mut value: Value, most: usize, skip: &Skip) -> Result<Value, String> {
    let is_list = |path: &String| value.pointer(path).is_some_and(Value::is_array);
    if let Some(path) = skip.keys().find(|it| !is_list(it)) {
        return Err(format!(
            "skip: the result has no list {path}; use `next` of the previous call"
        ));
    }
    // A list comes after the lists that contain it, and its pointer points into the complete value.
    for (path, count) in skip.iter().rev() {
        if let Some(Value::Array(list)) = value.pointer_mut(path) {
            list.drain(..list.len().min(*count));
        }
    }
    let mut left_out = BTreeMap::<String, usize>::new();
    loop {
        let size = value.to_string().len();
        if size <= most {
            break;
        }
        let lists = longest(&value);
        if lists.is_empty() {
            return Ok(json!({"leftOut": "the result is too large; ask for fewer objects"}));
        }
        for path in lists {
            // An earlier cut may have removed the list together with its parent.
            let Some(Value::Array(list)) = value.pointer_mut(&path) else { continue };
            let part = if size > 2 * most { 2 } else { 8 };
            let cut = list.len().div_ceil(part);
            list.truncate(list.len() - cut);
            *left_out.entry(path).or_default() += cut;
        }
    }
    left_out.retain(|path, _| value.pointer(path).is_some());
    if left_out.is_empty() {
        return Ok(value);
    }
    value["next"] = json!(next(&value, &left_out, skip));
    value["leftOut"] = json!(left_out);
    Ok(value)
}

/// Returns the `skip` of the call that returns the entries that this one leaves out.
fn next(value: &Value, left_out: &BTreeMap<String, usize>, skip: &Skip) -> Skip {
    let had = |place: &str| skip.get(place).copied().unwrap_or_default();
    let mut next = skip.clone();
    for path in left_out.keys() {
        let kept = value.pointer(path).and_then(Value::as_array).map_or(0, Vec::len);
        let place = complete(path, skip);
        // A single entry that is too large is left out for good.
        let now = had(&place) + kept.max(1);
        next.insert(place, now);
    }
    // First the missing parts of an entry, then further entries.
    let incomplete: Vec<_> = left_out.keys().map(|path| complete(path, skip)).collect();
    for (place, count) in &mut next {
        let inner = |it: &String| it.strip_prefix(&**place).is_some_and(|it| it.starts_with('/'));
        if incomplete.iter().any(inner) {
            *count = had(place);
        }
    }
    // The lists of an entry that is left out need no place.
    let outer = next.clone();
    next.retain(|place, _| {
        !outer.iter().any(|(list, count)| {
            let inside = place.strip_prefix(&**list).and_then(|it| it.strip_prefix('/'));
            let index = inside.and_then(|it| it.split('/').next()?.parse::<usize>().ok());
            index.is_some_and(|index| index < *count)
        })
    });
    next
}

/// Returns the pointer in the complete value for one in a value that lacks the first entries of some lists.
fn complete(path: &str, skip: &Skip) -> String {
    let mut whole = String::new();
    for part in path.split('/').skip(1) {
        let had = skip.get(&whole).copied().unwrap_or_default();
        let index = part.parse().ok().filter(|_| had > 0).map(|index: usize| index + had);
        whole.push('/');
        whole.push_str(&index.map_or_else(|| part.to_owned(), |index| index.to_string()));
    }
    whole
}

/// Returns the JSON pointers of the lists that take the most bytes, not counting the lists inside them.
fn longest(value: &Value) -> Vec<String> {
    let mut lists = Vec::new();
    collect(value, &mut String::new(), &mut lists);
    let most = lists.iter().map(|(size, _)| *size).max().unwrap_or_default();
    lists.retain(|(size, _)| 2 * size > most);
    lists.into_iter().map(|(_, path)| path).collect()
}

/// Returns the size of the value without its lists.
fn collect(value: &Value, path: &mut String, lists: &mut Vec<(usize, String)>) -> usize {
    let length = path.len();
    match value {
        Value::Array(items) => {
            let mut size = 0;
            for (i, item) in items.iter().enumerate() {
                path.push_str(&format!("/{i}"));
                size += collect(item, path, lists);
                path.truncate(length);
            }
            if !items.is_empty() {
                lists.push((size.max(items.len()), path.clone()));
            }
            0
        }
        Value::Object(members) => {
            let mut size = 0;
            for (key, member) in members {
                path.push('/');
                path.push_str(&key.replace('~', "~0").replace('/', "~1"));
                size += key.len() + collect(member, path, lists);
                path.truncate(length);
            }
            size
        }
        other => other.to_string().len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut_to(most: usize, value: Value) -> Value {
        within(value, most, &Skip::new()).unwrap()
    }

    #[test]
    fn further_calls_return_all_that_was_left_out() {
        let steps = |object: usize| {
            let steps = (0..(object % 3) * 150).map(|i| json!(format!("step {object}.{i}")));
            json!({"name": format!("object {object}"), "steps": steps.collect::<Vec<_>>()})
        };
        let objects: Vec<_> = (0..60).map(steps).collect();
        let messages: Vec<_> = (0..500).map(|i| json!(format!("message {i}"))).collect();
        let value = json!({"plan": {"objects": objects}, "messages": messages});
        let (mut skip, mut seen) = (Skip::new(), String::new());
        for calls in 0.. {
            assert!(calls < 200, "{skip:?}");
            let part = within(value.clone(), 2_000, &skip).unwrap();
            assert!(part.to_string().len() < 3_000, "{part}");
            seen.push_str(&part.to_string());
            let Ok(next) = serde_json::from_value::<Skip>(part["next"].clone()) else { break };
            assert_ne!(next, skip);
            skip = next;
        }
        let names = value["plan"]["objects"].as_array().unwrap();
        let steps = names.iter().flat_map(|it| it["steps"].as_array().unwrap());
        let all = names.iter().map(|it| &it["name"]).chain(steps).chain(&messages);
        let missing: Vec<_> = all.filter(|it| !seen.contains(&it.to_string())).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }

    #[test]
    fn lists_in_lists_are_cut_first_if_they_are_longer() {
        let steps: Vec<_> = (0..500).map(|i| format!("step {i}")).collect();
        let value = json!({"plan": {"objects": [{"steps": steps}, {"steps": ["one"]}]}});
        let cut = cut_to(1_000, value);
        assert_eq!(cut["plan"]["objects"].as_array().unwrap().len(), 2, "{cut}");
        assert!(cut["leftOut"]["/plan/objects/0/steps"].as_u64() > Some(400), "{cut}");
    }

    #[test]
    fn a_text_that_is_too_long_is_not_returned() {
        let cut = cut_to(1_000, json!({"text": "x".repeat(2_000)}));
        assert!(cut["leftOut"].is_string(), "{cut}");
    }
}
