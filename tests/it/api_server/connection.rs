//! The requests of a client, one per connection.

mod lists;
mod watches;

use std::sync::{Condvar, MutexGuard};

use setguard_testing::http::Request;

use super::world::World;
use crate::prelude::*;

/// The groups of every API server.
const BUILT_IN: &str =
    "admissionregistration.k8s.io apps discovery.k8s.io policy scheduling.k8s.io storage.k8s.io";

/// The prefix of OpenKruise resources. Their objects have a type in lists too.
const KRUISE: &str = "kruise:";

pub(super) struct Connection {
    pub(super) shared: Arc<(Mutex<World>, Condvar)>,
}

struct Question {
    resource: String,
    namespace: Option<String>,
    query: BTreeMap<String, String>,
}

impl Connection {
    fn world(&self) -> MutexGuard<'_, World> {
        self.shared.0.lock().unwrap()
    }

    /// Waits while this holds, until the test is over.
    fn wait_while(&self, holds: impl Fn(&World) -> bool) -> MutexGuard<'_, World> {
        self.shared.1.wait_while(self.world(), |world| holds(world) && !world.over).unwrap()
    }

    pub(super) fn serve(&self, mut stream: TcpStream) {
        let request = Request::read(&mut BufReader::new(stream.try_clone().unwrap()));
        let Ok(Some(request)) = request else { return };
        let (method, uri) = request.line();
        let is_busy = {
            let mut world = self.world();
            world.requests.push(uri.to_owned());
            world.heads.push(request.head.clone());
            let is_busy = world.busy > 0;
            world.busy -= usize::from(is_busy);
            is_busy
        };
        if self.world().cut {
            return;
        }
        if is_busy {
            let body = status(429, "too many requests");
            let _ = answer_with(&mut stream, 429, "Retry-After: 1\r\n", &body);
            return;
        }
        if self.world().silent {
            // The client waits on an open connection.
            drop(self.wait_while(|_| true));
            return;
        }
        let (path, query) = uri.split_once('?').unwrap_or((uri, ""));
        {
            let mut world = self.world();
            if world.dies_at.is_some_and(|resource| path.ends_with(resource)) {
                world.dies_at = Some("");
                return;
            }
        }
        // The client may have disconnected.
        let _ = match path {
            "/version" => self.version(&mut stream),
            "/metrics" => self.metrics(&mut stream),
            _ if method == "GET" => self.resource(&mut stream, path, query),
            _ => self.write(&mut stream, method, path, &request.body),
        };
    }

    fn version(&self, stream: &mut TcpStream) -> std::io::Result<()> {
        let World { minor, patch, .. } = *self.world();
        let version =
            json!({"major": "1", "minor": minor, "gitVersion": format!("v1.{minor}.{patch}")});
        answer(stream, 200, &version.to_string())
    }

    fn metrics(&self, stream: &mut TcpStream) -> std::io::Result<()> {
        match self.world().metrics.clone() {
            Some(text) => answer(stream, 200, &text),
            None => answer(stream, 403, &status(403, "no metrics for you")),
        }
    }

    fn resource(&self, stream: &mut TcpStream, path: &str, query: &str) -> std::io::Result<()> {
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let query = pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        let parts: Vec<&str> = path.split('/').collect();
        if parts[1] == "apis" && BUILT_IN.split(' ').all(|it| it != parts[2]) {
            let resources = self.world().custom.get(&*parts[2..4].join("/")).copied();
            let list = resources.map(|name| json!({"resources": [{"name": name}]}).to_string());
            match list {
                None => return answer(stream, 404, &status(404, "no such group")),
                Some(list) if parts.len() == 4 => return answer(stream, 200, &list),
                Some(_) => {}
            }
        }
        let one = match parts[..] {
            [_, _, _, "namespaces", name] => Some(["namespaces", "", name]),
            ["", "apis", "apps", "v1", "namespaces", namespace, resource, name] => {
                Some([resource, namespace, name])
            }
            ["", "apis", "admissionregistration.k8s.io", "v1", resource, name] => {
                Some([resource, "", name])
            }
            _ => None,
        };
        if let Some(key) = one {
            if self.world().forbidden.contains(key[0]) {
                return answer(stream, 403, &status(403, "you may not"));
            }
            let key = key.map(str::to_owned).into();
            let found = self.world().objects.get(&key).cloned();
            return match found {
                Some(object) => answer(stream, 200, &object.to_string()),
                None => answer(stream, 404, &status(404, "no such object")),
            };
        }
        let place = parts.iter().position(|part| *part == "namespaces");
        let namespace = place.and_then(|at| parts.get(at + 1)).map(|it| (*it).to_owned());
        let prefix = if parts[2] == "apps.kruise.io" { KRUISE } else { "" };
        let resource = format!("{prefix}{}", parts.last().unwrap());
        let question = Question { resource, namespace, query };
        {
            let world = self.world();
            if world.forbidden.contains(&*question.resource) {
                return answer(stream, 403, &status(403, "you may not"));
            }
            if let Some(garbage) = world.garbage.clone() {
                drop(world);
                return answer(stream, 200, &garbage);
            }
        }
        if question.query.get("watch").is_some_and(|it| it == "true") {
            self.watch(stream, &question)
        } else {
            self.list(stream, &question)
        }
    }

    fn write(
        &self,
        stream: &mut TcpStream,
        method: &str,
        path: &str,
        body: &[u8],
    ) -> std::io::Result<()> {
        if method == "POST" {
            let warning = format!("Warning: 299 - \"{}\"\r\n", self.world().warning);
            return answer_with(stream, 201, &warning, &String::from_utf8_lossy(body));
        }
        let parts: Vec<&str> = path.split('/').collect();
        let [.., namespace, resource, name] = &parts[..] else { panic!("{path}") };
        let mut world = self.world();
        if world.forbidden.contains(resource) {
            return answer(stream, 403, &status(403, "you may not"));
        }
        match method {
            "PATCH" => {
                let patch: Value = serde_json::from_slice(body).unwrap();
                let key = ((*resource).to_owned(), (*namespace).to_owned(), (*name).to_owned());
                // A merge patch names no object.
                let mut object = match &patch["metadata"]["name"] {
                    Value::Null => world.objects[&key].clone(),
                    _ => Value::Null,
                };
                json_patch::merge(&mut object, &patch);
                world.apply(resource, &object);
            }
            "DELETE" => world.delete(resource, namespace, name),
            _ => panic!("{method} {path}"),
        }
        drop(world);
        answer(stream, 200, "{}")
    }
}

fn status(code: u16, message: &str) -> String {
    // The client recognizes an absent object by the reason.
    let reason = if code == 404 { "NotFound" } else { "" };
    let (kind, version, failed) = ("Status", "v1", "Failure");
    json!({ "kind": kind, "apiVersion": version, "status": failed, "code": code, "reason": reason, "message": message })
        .to_string()
}

fn answer(stream: &mut TcpStream, code: u16, body: &str) -> std::io::Result<()> {
    answer_with(stream, code, "", body)
}

fn answer_with(
    stream: &mut TcpStream,
    code: u16,
    headers: &str,
    body: &str,
) -> std::io::Result<()> {
    http::answer(stream, &format!("{code} x"), &format!("{headers}{}", http::LAST), body)
}
