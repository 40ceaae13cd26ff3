//! Lists: paged, endless, or expired between pages.

use super::{super::world::World, Connection, KRUISE, Question, answer};
use crate::prelude::*;

impl Connection {
    pub(super) fn list(&self, stream: &mut TcpStream, question: &Question) -> std::io::Result<()> {
        {
            let mut world = self.world();
            world.listing.0 += 1;
            world.listing.1 = world.listing.1.max(world.listing.0);
        }
        let endless = self.world().endless.filter(|(resource, _)| *resource == question.resource);
        if let Some((resource, same)) = endless {
            self.world().listing.0 -= 1;
            return answer(stream, 200, &endless_page(resource, same, &question.query));
        }
        let first: usize = question.query.get("continue").map_or(0, |it| it.parse().unwrap());
        let hold = |world: &World| world.hold_lists || (world.hold_pages && first > 0);
        if first > 0 && self.world().gone.0 > 0 {
            let mut world = self.world();
            world.gone.0 -= 1;
            world.listing.0 -= 1;
            let token = if world.gone.1 { first.to_string() } else { String::new() };
            let gone = json!({"kind": "Status", "code": 410, "message": "too old",
                "metadata": {"continue": token}});
            drop(world);
            return answer(stream, 410, &gone.to_string());
        }
        let page = {
            let world = self.wait_while(hold);
            let all = world.of(&question.resource, question.namespace.as_deref());
            let limit: usize = question.query.get("limit").map_or(1000, |it| it.parse().unwrap());
            let items = all.iter().skip(first).take(limit);
            let is_custom = question.resource.starts_with(KRUISE);
            let items: Vec<Value> =
                items.map(|it| if is_custom { (*it).clone() } else { bare(it) }).collect();
            let next =
                if first + limit < all.len() { (first + limit).to_string() } else { String::new() };
            let version = world.version.to_string();
            json!({"kind": "List", "metadata": {"resourceVersion": version, "continue": next}, "items": items})
        };
        // The client may begin its next list as soon as it has read the answer.
        self.world().listing.0 -= 1;
        answer(stream, 200, &page.to_string())
    }
}

/// A page of an endless list, with objects that no other page has.
fn endless_page(resource: &str, same: bool, query: &BTreeMap<String, String>) -> String {
    let first: usize = query.get("continue").map_or(0, |it| it.parse().unwrap());
    let limit: usize = query.get("limit").map_or(1000, |it| it.parse().unwrap());
    let item = |i: usize| json!({"metadata": {"name": format!("{resource}-{i}"), "namespace": "shop"}, "spec": {}});
    let items: Vec<Value> = (first..first + limit).map(item).collect();
    let next = if same { 1 } else { first + limit };
    json!({"kind": "List", "metadata": {"resourceVersion": "100", "continue": next.to_string()},
        "items": items})
    .to_string()
}

/// Lists omit the type of an object.
fn bare(object: &Value) -> Value {
    let mut bare = object.clone();
    bare.as_object_mut().unwrap().retain(|key, _| key != "kind" && key != "apiVersion");
    bare
}
