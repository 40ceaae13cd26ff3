//! A review needs a bounded amount of memory, whatever its content.
//!
//! Each body goes to a real server, and the kernel reports the server's peak memory.

use setguard::object::size::{self, ObjectSize};
use setguard_testing::{
    lengthen::{self, Elements},
    numbers,
};

use crate::prelude::*;
use crate::{daemon::Tls, serve::daemon};

/// The maximum memory for one review with its body, in MiB.
const MAX: f64 = 32.0;
/// The longest body that the server accepts.
const MAX_BODY: usize = 8 << 20;

/// The memory that the server may keep after the previous review, in MiB.
const RESERVE: f64 = 2.0;

struct Server {
    daemon: Daemon,
    stream: Tls,
    /// The server's memory after one small review, in MiB.
    idle: f64,
}

impl Server {
    fn start() -> Self {
        let (daemon, client) = daemon(&[]);
        let stream = client.connect(daemon.webhook).unwrap();
        let mut server = Server { daemon, stream, idle: 0.0 };
        let [small, _] = lengthen::objects();
        assert_eq!(post(&mut server.stream, "/validate", &review(&small, None)).status, 200);
        server.idle = server.memory("VmRSS");
        server
    }

    fn memory(&self, line: &str) -> f64 {
        numbers::memory(self.daemon.id(), line).unwrap()
    }

    /// Sends a body, asserts the memory bound, and returns the status.
    fn send(&mut self, what: &str, path: &str, body: &str) -> u16 {
        assert!(body.len() <= MAX_BODY, "{what}: {} bytes", body.len());
        // The allocator keeps some freed memory. A new server has no such reserve.
        if self.memory("VmRSS") > self.idle + RESERVE {
            *self = Self::start();
        }
        // Resets the peak; see proc(5).
        fs::write(format!("/proc/{}/clear_refs", self.daemon.id()), "5").unwrap();
        let status = post(&mut self.stream, path, body).status;
        let took = self.memory("VmHWM") - self.idle;
        assert!(took <= MAX, "{what}: {took} MiB for a body of {} bytes", body.len());
        status
    }
}

fn review(object: &Value, old: Option<&Value>) -> String {
    let user = json!({"username": "system:kube-controller-manager"});
    crate::review::review(json!({"userInfo": user, "object": object, "oldObject": old}))
}

fn nearly_too_large(object: &Value, at: &str, elements: Elements) -> Value {
    let with = |length: usize| {
        let mut object = object.clone();
        lengthen::lengthen(object.pointer_mut(at).unwrap(), length, elements);
        object
    };
    let bytes = |length| ObjectSize::of(&with(length).to_string()).unwrap().bytes;
    let (short, long) = (bytes(500), bytes(1_000));
    // Slightly less, because the keys of a map become longer.
    with((size::MAX - short) / (long - short) * 500 * 19 / 20)
}

#[test]
fn the_largest_objects_that_are_read_take_a_bounded_amount_of_memory() {
    let mut server = Server::start();
    let mut seen = BTreeSet::new();
    for object in lengthen::objects() {
        let mut lists = Vec::new();
        lengthen::lists(&object, "", &mut lists);
        // Lists with the same name have elements of the same type.
        lists.retain(|at| seen.insert(at.rsplit('/').next().unwrap().to_owned()));
        for at in lists {
            let large = nearly_too_large(&object, &at, Elements::Empty);
            let json = large.to_string();
            assert!(size::too_large(&json).unwrap().is_none(), "{at}");
            let old = (2 * json.len() + 1_000 < MAX_BODY).then_some(&large);
            let body = review(&large, old);
            assert_eq!(server.send(&at, "/validate", &body), 200, "{at}");
        }
    }
}

#[test]
fn the_largest_bodies_take_a_bounded_amount_of_memory() {
    let mut server = Server::start();
    let [set, _] = lengthen::objects();
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "agent",
        "annotations": {"setguard.io/node": "worker-0"}}, "spec": {}});
    let envelope = review(&set, None).len() + 1_000;
    let filled = |item: &str, length: usize| {
        let items = item.repeat(length / item.len());
        format!("[{}]", items.trim_end_matches(','))
    };
    // Replaces null with a value that fills the body.
    let mut send = |object: &Value, at: &str, value: &str| {
        let mut object = object.clone();
        let place = at.rsplit_once('/').unwrap();
        object.pointer_mut(place.0).unwrap()[place.1] = json!("HERE");
        let body = review(&object, None).replace("\"HERE\"", value);
        let path = if object["kind"] == "Pod" { "/mutate" } else { "/validate" };
        let what = format!("{:.20} in {at} of a {}", value, object["kind"]);
        assert_eq!(server.send(&what, path, &body), 200, "{what}");
    };
    let all = MAX_BODY - envelope;
    for item in ["{},", "0,", "\"\",", "{\"a\":{}},"] {
        let list = filled(item, all);
        for at in ["/spec/template/spec/volumes", "/metadata/managedFields"] {
            send(&set, at, &list);
        }
        send(&pod, "/spec/tolerations", &list);
    }
    // The longest readable text, and one beyond that.
    for length in [size::MAX / 3 - 100_000, all] {
        for character in ["<", "\\u0001", "é"] {
            let text = format!("\"{}\"", character.repeat(length / character.len()));
            send(&set, "/spec/template/metadata/labels", &format!("{{\"app\":{text}}}"));
            send(&set, "/spec/template/spec/containers/0/image", &text);
        }
    }
}
