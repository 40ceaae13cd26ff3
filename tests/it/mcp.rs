//! `setguard mcp`, driven like a client of the Model Context Protocol drives it.

#![expect(clippy::needless_pass_by_value, reason = "arguments are written in the call")]

use std::{
    collections::HashSet,
    io::Read,
    process::{ChildStdin, ChildStdout},
};

use setguard_testing::http::kubeconfig;

use crate::prelude::*;
use crate::{api_server::Cluster, json_schema, plan::stateful_set, wait::set};

const RULE: &str = "on-delete-ignores-rolling-update";

struct Client {
    folder: Folder,
    server: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    last: u64,
}

impl Client {
    fn start(folder: Folder, args: &[&str]) -> Self {
        let mut command: Command = folder.command(env!("CARGO_BIN_EXE_setguard"));
        command.arg("mcp").args(args).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut server = command.stderr(Stdio::piped()).spawn().unwrap();
        let (input, output) = (server.stdin.take(), BufReader::new(server.stdout.take().unwrap()));
        let mut client = Client { folder, server, input, output, last: 0 };
        let begun = client.respond(
            "initialize",
            json!({
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"},
            }),
        );
        assert_eq!(begun["result"]["serverInfo"]["name"], "setguard", "{begun}");
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input.as_mut().unwrap(), "{message}").unwrap();
    }

    fn respond(&mut self, method: &str, params: Value) -> Value {
        self.last += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}));
        let response = self.next();
        assert_eq!(response["id"], self.last, "{response}");
        response
    }

    fn next(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    fn tools(&mut self) -> Vec<Value> {
        let listed = self.respond("tools/list", json!({}));
        listed["result"]["tools"].as_array().unwrap().clone()
    }

    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.result(tool, arguments, false)
    }

    /// Calls a tool that returns a result despite unreadable input.
    fn part(&mut self, tool: &str, arguments: Value) -> Value {
        self.result(tool, arguments, true)
    }

    fn result(&mut self, tool: &str, arguments: Value, is_error: bool) -> Value {
        let response = self.respond("tools/call", json!({"name": tool, "arguments": arguments}));
        let result = &response["result"];
        assert_eq!(result["isError"], is_error, "{response}");
        let text = result["content"][0]["text"].as_str().unwrap();
        assert_eq!(serde_json::from_str::<Value>(text).unwrap(), result["structuredContent"]);
        result["structuredContent"].clone()
    }

    /// Calls a tool that fails, and returns the message.
    fn refusal(&mut self, tool: &str, arguments: Value) -> String {
        let response = self.respond("tools/call", json!({"name": tool, "arguments": arguments}));
        assert_eq!(response["result"]["isError"], true, "{response}");
        response["result"]["content"][0]["text"].as_str().unwrap().to_owned()
    }

    fn end(mut self) -> Option<i32> {
        self.input = None;
        self.server.wait().unwrap().code()
    }
}

#[test]
fn a_client_lists_the_tools_and_ends_the_session() {
    let mut client = Client::start(Folder::new([]), &[]);
    let tools = client.tools();
    let names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["check", "plan", "audit", "wait", "explain"]);
    for tool in &tools {
        assert_eq!(tool["annotations"]["readOnlyHint"], true, "{tool}");
        assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{tool}");
    }
    assert_eq!(client.end(), Some(0));

    let mut client = Client::start(Folder::new([]), &["--offline"]);
    assert_eq!(client.tools().len(), 3);
    for (tool, arguments) in [("audit", json!({})), ("plan", json!({"paths": ["."], "live": true}))]
    {
        let message = client.refusal(tool, arguments);
        assert_eq!(message, "this server asks no cluster (--offline)");
    }
    assert_eq!(client.end(), Some(0));
}

#[test]
fn a_server_renders_only_if_it_was_started_so() {
    let faulty = on_delete("agent", "");
    let folder = || Folder::new([("deploy/a.yaml", faulty.as_str())]);
    let arguments = json!({"paths": ["deploy"], "render": true});
    let mut client = Client::start(folder(), &[]);
    for tool in ["check", "plan"] {
        let message = client.refusal(tool, arguments.clone());
        assert_eq!(message, "this server renders nothing; start it with --render");
    }
    assert_eq!(client.end(), Some(0));
    let mut client = Client::start(folder(), &["--render"]);
    let message = client.refusal("check", json!({"manifests": faulty, "render": true}));
    assert_eq!(message, "render needs paths");
    let result = client.call("check", arguments.clone());
    assert_eq!(result["report"]["findings"][0]["rule"], "on-delete-ignores-rolling-update");
    assert_eq!(client.call("plan", arguments)["plan"]["objects"][0]["change"], "create");
    let inventory = "apiVersion: v1\nkind: Node\nmetadata: {name: n, labels: {a: b}}\n";
    let arguments = json!({"manifests": faulty, "inventory": inventory});
    let result = client.call("check", arguments);
    assert_eq!(result["exitCode"], 0, "{result}");
    let message = client.refusal("check", json!({"manifests": faulty, "inventory": "a: ["}));
    assert!(message.contains("inventory"), "{message}");
    assert_eq!(client.end(), Some(0));
}

#[test]
fn check_returns_the_report_of_texts_and_of_files() {
    let faulty = on_delete("agent", "");
    let mut client = Client::start(Folder::new([("deploy/a.yaml", faulty.as_str())]), &[]);
    let by_text = client.call("check", json!({"manifests": faulty}));
    let by_path = client.call("check", json!({"paths": ["deploy"]}));
    for result in [&by_text, &by_path] {
        let report = json_schema::report(&result["report"].to_string());
        assert_eq!(rules(&report), [RULE], "{result}");
    }
    assert_eq!(by_path["messages"], json!([]), "{by_path}");
    for arguments in
        [json!({"manifests": faulty, "fix": true}), json!({"paths": ["."], "fix": true})]
    {
        let result = client.call("check", arguments);
        let diff = result["diff"].as_str().unwrap_or_else(|| panic!("{result}"));
        assert!(
            diff.lines().any(|it| it.starts_with('-') && it.contains("rollingUpdate")),
            "{diff}"
        );
    }
    assert_eq!(client.folder.read("deploy/a.yaml"), faulty);
    // An unreadable document doesn't prevent the check of the others.
    let result = client.part("check", json!({"manifests": format!("{faulty}---\na: [\n")}));
    assert_eq!(result["report"]["summary"]["unreadable"], 1, "{result}");
    assert!(rules(&result["report"]).contains(&RULE), "{result}");
    let before = faulty.replace("app: agent", "app: old");
    let result = client.call("check", json!({"manifests": faulty, "before": before}));
    assert!(rules(&result["report"]).contains(&"api-validation"), "{result}");

    // The repository's policy also applies to texts.
    client.folder.write(
        "setguard.yaml",
        format!("apiVersion: setguard.io/v1alpha1\nkind: Policy\nrules: {{{RULE}: off}}\n"),
    );
    for arguments in [json!({"manifests": faulty}), json!({"manifests": faulty, "before": before})]
    {
        let result = client.call("check", arguments);
        assert!(!rules(&result["report"]).contains(&RULE), "{result}");
    }
    std::fs::remove_file(client.folder.path("setguard.yaml")).unwrap();

    for (arguments, wanted) in [
        (json!({}), "give either manifests or paths"),
        (json!({"manifests": "", "paths": ["a"]}), "give either manifests or paths"),
        (json!({"paths": ["-"]}), "- isn't a path here"),
        (json!({"paths": ["deploy"], "before": "x"}), "before needs manifests"),
        (json!({"manifests": "", "againstRef": "main"}), "againstRef needs paths"),
        (json!({"manifests": 1}), "manifests: invalid type: integer `1`"),
        (json!({"paths": "a"}), "paths: invalid type: string \"a\""),
        (json!({"manifests": "", "skip": 5}), "skip: "),
        (json!({"paths": [""]}), "paths has an empty path"),
        (json!({"repair": true}), "the arguments: unknown field `repair`"),
        (json!({"manifests": "", "kubeVersion": "2.0"}), "2.0"),
        (json!({"paths": ["deploy"], "kubeVersion": "2.0"}), "'2.0' for 'kubeVersion'"),
        (json!({"paths": ["deploy"], "rules": ["nope"]}), "'nope' for 'rules'"),
        (json!({"paths": ["deploy"], "againstRef": "none"}), "againstRef"),
    ] {
        let message = client.refusal("check", arguments.clone());
        assert!(message.contains(wanted), "{arguments}: {message}");
        assert!(!message.contains("--"), "{arguments}: {message}");
    }
    // Messages name arguments instead of the temporary file and of standard input.
    for (tool, arguments, message) in [
        ("check", json!({"manifests": faulty, "before": "a: ["}), "error: before:1: not YAML"),
        ("plan", json!({"manifests": "", "before": faulty}), "error: manifests has no objects"),
    ] {
        let messages = client.part(tool, arguments)["messages"].to_string();
        assert!(messages.contains(message) && !messages.contains("stdin"), "{messages}");
    }
    // A path that looks like an option is still a path.
    let result = client.part("check", json!({"paths": ["--write-baseline=x", "deploy"]}));
    assert!(result["messages"][0].as_str().unwrap().contains("--write-baseline=x"), "{result}");
    assert!(!client.folder.path("x").exists());
    assert_eq!(client.end(), Some(0));
}

#[test]
fn plan_returns_what_a_change_does() {
    let retention = "  persistentVolumeClaimRetentionPolicy: {whenScaled: Delete}\n";
    let set = |replicas: u8| stateful_set("db", replicas, "db:1", retention);
    let files = [("old/db.yaml", set(5)), ("new/db.yaml", set(3))];
    let folder = Folder::new(files.each_ref().map(|(name, text)| (*name, text.as_str())));
    let mut client = Client::start(folder, &[]);
    let result = client.call("plan", json!({"manifests": set(3), "before": set(5)}));
    assert!(result["plan"].to_string().contains("data-db-4"), "{result}");
    let unplaced = set(3).replace(", namespace: shop", "");
    let result =
        client.call("plan", json!({"manifests": unplaced, "before": set(5), "namespace": "shop"}));
    assert!(result["plan"].to_string().contains("data-db-4"), "{result}");
    let result = client.call("plan", json!({"paths": ["new"], "neverReady": ["db-0"]}));
    assert!(result["plan"].to_string().contains("db-0"), "{result}");
    let arguments = json!({"paths": ["new"], "live": true, "againstRef": "main"});
    let message = client.refusal("plan", arguments);
    assert!(message.contains("one of before"), "{message}");
    let agent = |image: &str| on_delete("agent", "").replace("agent:1", image);
    let arguments = json!({"manifests": agent("a:2"), "before": agent("a:1")});
    let agents = client.call("plan", arguments.clone());
    assert!(!agents["plan"]["objects"][0]["notes"].to_string().contains("--"), "{agents}");
    let mut placed = arguments;
    placed["nodes"] = json!("{apiVersion: v1, kind: Node, metadata: {name: n1}}");
    let agents = client.call("plan", placed.clone());
    assert!(agents["plan"].to_string().contains("\"n1\""), "{agents}");
    let both = placed.as_object_mut().unwrap();
    both.insert("nodeNames".to_owned(), json!(["n2"]));
    assert!(client.refusal("plan", json!(both)).starts_with("give one of nodes, nodeNames"));
    both.remove("nodes");
    let agents = client.call("plan", json!(both));
    assert!(agents["plan"].to_string().contains("\"n2\""), "{agents}");
    let result = client.part("plan", json!({"paths": ["none"]}));
    assert!(result["messages"][0].as_str().unwrap().starts_with("error: none: "), "{result}");
    assert_eq!(client.end(), Some(0));
}

#[test]
fn explain_describes_rules_and_an_unknown_one_is_an_answer() {
    let mut client = Client::start(Folder::new([]), &[]);
    let result = client.call("explain", json!({"rule": RULE}));
    assert!(result["rule"]["bad"].as_str().unwrap().contains("kind: "), "{result}");
    let all = client.call("explain", json!({}));
    assert!(all["rules"][RULE].is_string() && all["leftOut"].is_null(), "{all}");
    let near = client.refusal("explain", json!({"rule": "partition-cover-all"}));
    assert!(near.ends_with("did you mean partition-covers-all?"), "{near}");
    assert!(client.refusal("delete", json!({})).contains("there is no tool"));
    assert_eq!(client.end(), Some(0));
}

#[test]
fn an_audit_without_a_cluster_says_why() {
    let mut client =
        Client::start(Folder::new([("config", "apiVersion: v1\nkind: Config\n")]), &[]);
    let message = client.refusal("audit", json!({"namespace": "shop"}));
    assert!(message.contains("error: "), "{message}");
    let message = client.refusal("audit", json!({"objects": ["db"]}));
    assert!(message.starts_with("error: invalid value 'db' for objects: "), "{message}");
    assert_eq!(client.end(), Some(0));
}

#[test]
fn a_wait_returns_what_it_saw_until_its_time_is_up() {
    let cluster = Cluster::of("wait", "37");
    cluster.has("statefulsets", &set("db", 3, 1));
    let config = std::fs::read_to_string(&cluster.kubeconfig).unwrap();
    let mut client = Client::start(Folder::new([(".kube/config", &*config)]), &[]);
    let wait = |seconds: u16| json!({"objects": ["sts/db"], "namespace": "shop", "timeoutSeconds": seconds});
    let result = client.call("wait", wait(1));
    assert_eq!(result["exitCode"], 3, "{result}");
    assert_eq!(result["events"][0]["object"]["name"], "db", "{result}");
    assert_eq!(result["events"].as_array().unwrap().last().unwrap()["type"], "end", "{result}");
    assert!(client.refusal("wait", wait(241)).contains("at most 240"));
    assert_eq!(client.end(), Some(0));
}

#[test]
fn a_large_result_has_shorter_lists_and_says_so() {
    let mut many: Vec<_> = (0..2_000).map(|i| on_delete(&format!("agent-{i}"), "")).collect();
    let denied = on_delete("last", "").replace("matchLabels: {", "matchLabels: {other: label, ");
    assert_ne!(denied, on_delete("last", ""));
    many.push(denied);
    let mut client = Client::start(Folder::new([]), &[]);
    let manifests = many.join("---\n");
    let result = client.call("check", json!({ "manifests": manifests }));
    let kept = rules(&result["report"]).len();
    assert!(kept > 10 && result.to_string().len() < 19_000, "{kept}");
    // A long list of warnings doesn't displace a denial, and a call can request the rest.
    assert_eq!(result["report"]["findings"][0]["severity"], "error");
    assert_eq!(result["findingsByRule"]["api-validation"], 1);
    assert_eq!(result["findingsBySeverity"], json!({"error": 1, "warning": 2_001}));
    let left_out = result["leftOut"]["/report/findings"].as_u64().unwrap();
    assert_eq!(kept as u64 + left_out, 2_002);
    let arguments = json!({"manifests": manifests, "skip": result["next"]});
    let further = client.call("check", arguments);
    let unknown = json!({"manifests": manifests, "skip": {"/nope": 1}});
    assert!(client.refusal("check", unknown).contains("no list /nope"));
    let names = |result: &Value| {
        let findings = result["report"]["findings"].as_array().unwrap();
        findings.iter().map(|it| it["object"].to_string()).collect::<HashSet<_>>()
    };
    assert!(names(&further).len() > 10 && names(&further).is_disjoint(&names(&result)));
    let result =
        client.call("check", json!({ "manifests": manifests, "rules": ["api-validation"] }));
    assert_eq!(rules(&result["report"]), ["api-validation"]);
    assert_eq!(client.end(), Some(0));
}

#[test]
fn a_plan_that_is_cut_begins_with_what_is_refused_and_has_totals() {
    let set =
        |i: usize, image: &str| on_delete(&format!("agent-{i}"), "").replace("agent:1", image);
    let retention = "  persistentVolumeClaimRetentionPolicy: {whenScaled: Delete}\n";
    let all = |image: &str, label: &str, replicas: u8| {
        let mut all: Vec<_> = (0..120).map(|i| set(i, image)).collect();
        all.push(stateful_set("db", replicas, "db:1", retention));
        all.push(set(120, image).replace("app: agent-120", label));
        all.join("---\n")
    };
    let (before, after) = (all("agent:2", "app: old", 3), all("agent:3", "app: new", 2));
    let mut client = Client::start(Folder::new([]), &[]);
    let result = client.call("plan", json!({"manifests": after, "before": before}));
    assert_eq!(result["exitCode"], 1);
    assert!(result["messages"][0].as_str().unwrap().contains("would refuse"), "{result}");
    assert_eq!(result["objectsByChange"]["refused"], 1, "{}", result["objectsByChange"]);
    assert_eq!(result["claimsDeleted"], 1);
    let objects = result["plan"]["objects"].as_array().unwrap();
    let first: Vec<_> = objects.iter().take(2).map(|it| &it["object"]["name"]).collect();
    assert_eq!(first, ["agent-120", "db"]);
    let left_out = result["leftOut"]["/plan/objects"].as_u64().unwrap();
    assert_eq!(objects.len() as u64 + left_out, 122);
    let arguments = json!({"manifests": after, "before": before, "skip": result["next"]});
    let further = client.call("plan", arguments);
    assert_ne!(further["plan"]["objects"][0]["object"]["name"], "agent-120");
    let empty =
        client.call("plan", json!({"manifests": "", "before": set(1, "a:1"), "allowEmpty": true}));
    assert_eq!(empty["plan"]["objects"][0]["change"], "delete", "{empty}");
    assert_eq!(client.end(), Some(0));
}

#[test]
fn what_is_no_request_is_answered_and_the_session_goes_on() {
    let mut client = Client::start(Folder::new([]), &[]);
    let long = "#".repeat(17 << 20);
    let called = |id: &str, end: &str| {
        format!(r#"{{{id}"method":"tools/call","params":{{"name":"{long}"}}{end}}}"#)
    };
    for (line, code, id) in [
        (&b"garbage"[..], -32700, Value::Null),
        (b"{\"id\": 5", -32700, Value::Null),
        (b"\xff\xfe", -32700, Value::Null),
        (b"[]", -32600, Value::Null),
        (br#"{"jsonrpc":"2.0","id":"a"}"#, -32600, json!("a")),
        (br#"{"jsonrpc":"1.0","id":"a","method":"ping"}"#, -32600, json!("a")),
        (called("", r#","id":7"#).as_bytes(), -32600, json!(7)),
        (called(r#""id":7,"#, "").as_bytes(), -32600, json!(7)),
        (long.as_bytes(), -32600, Value::Null),
    ] {
        let input = client.input.as_mut().unwrap();
        input.write_all(&[b"\n", line, b"\r\n"].concat()).unwrap();
        let answer = client.next();
        assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(code), &id), "{answer}");
    }
    for (params, code) in
        [(json!({"arguments": {}}), -32602), (json!({"name": "explain", "arguments": [1]}), -32602)]
    {
        let answer = client.respond("tools/call", params);
        assert_eq!(answer["error"]["code"], code, "{answer}");
    }
    assert_eq!(client.respond("none", json!({}))["error"]["code"], -32601);
    assert_eq!(client.end(), Some(0));
}

#[cfg(unix)]
#[test]
fn the_commands_of_a_server_end_with_it() {
    for (signal, code) in [("-TERM", Some(128 + 15)), ("-KILL", None)] {
        let cluster = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = cluster.local_addr().unwrap();
        let config = kubeconfig(&format!("http://{address}"));
        let mut client = Client::start(Folder::new([(".kube/config", config.as_str())]), &[]);
        let call = json!({"name": "audit", "arguments": {}});
        client.send(&json!({"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": call}));
        // The cluster never answers, so the audit goes on.
        let (mut audit, _) = cluster.accept().unwrap();
        let mut start = [0; 5];
        audit.read_exact(&mut start).unwrap();
        assert_eq!(&start, b"GET /");
        let server = client.server.id().to_string();
        assert!(Command::new("kill").args([signal, &server]).status().unwrap().success());
        assert_eq!(client.end(), code);
        // The connection ends with the audit.
        let _ = audit.read_to_end(&mut Vec::new());
    }
}
