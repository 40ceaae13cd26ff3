//! The action's scripts that plan a change and maintain a comment on the pull request.

use setguard_testing::http::Request;

use crate::plan::stateful_set;
use crate::prelude::*;

/// A request: method and path, authorization, and body.
type Asked = (String, String, Value);

/// The part of the GitHub API that the scripts use: list, create and update comments.
struct GitHub {
    url: String,
    requests: Arc<Mutex<Vec<Asked>>>,
}

impl GitHub {
    /// Starts a server with these comments; `status` answers writes.
    fn start(comments: Value, status: &'static str) -> Self {
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        let answers = move |stream| {
            answer(&stream, &comments, status, &seen);
            Ok(())
        };
        let url = format!("http://{}", http::listen(answers));
        GitHub { url, requests }
    }

    fn comment(&self, folder: &Folder, number: &str, token: &str) -> Ran {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join(".github/action/comment");
        let mut command = Command::new("bash");
        command.arg(script).envs([
            ("SETGUARD_COMMENT_FILE", folder.path("comment.md").to_str().unwrap()),
            ("SETGUARD_COMMENT_URL", &format!("{}/repos/o/r", self.url)),
            ("SETGUARD_COMMENT_NUMBER", number),
            ("SETGUARD_COMMENT_TOKEN", token),
        ]);
        command.output().unwrap().into()
    }

    fn requests(&self) -> Vec<Asked> {
        self.requests.lock().unwrap().clone()
    }
}

fn answer(mut stream: &TcpStream, comments: &Value, status: &str, seen: &Mutex<Vec<Asked>>) {
    let request = Request::read(&mut BufReader::new(stream)).unwrap().unwrap();
    let (method, uri) = request.line();
    let lists = method == "GET";
    let token = request.header("authorization").unwrap_or_default().to_owned();
    let body = serde_json::from_slice(&request.body).unwrap_or(Value::Null);
    seen.lock().unwrap().push((format!("{method} {uri}"), token, body));
    let (status, body) =
        if lists { ("200 OK", comments.to_string()) } else { (status, "{}".into()) };
    http::answer(&mut stream, status, http::LAST, body).unwrap();
}

const TEXT: &str = "<!-- setguard plan -->\n\"$(touch x)\" `é` \\ %0A\n";

fn written() -> Folder {
    Folder::new([("comment.md", TEXT)])
}

#[test]
fn a_pull_request_has_one_comment_that_is_kept_up_to_date() {
    let comment =
        |id: u8, kind: &str, body: &str| json!({"id": id, "user": {"type": kind}, "body": body});
    let others = [
        comment(1, "User", "<!-- setguard plan -->\nnot ours"),
        comment(2, "Bot", "quotes <!-- setguard plan -->"),
    ];
    let own = comment(3, "Bot", "<!-- setguard plan -->\nold");
    let named = comment(4, "Bot", "<!-- setguard plan prod -->\nof another job");
    for (comments, expected) in [
        (json!(others), "POST /repos/o/r/issues/7/comments"),
        (json!([named, others[0], others[1], own]), "PATCH /repos/o/r/issues/comments/3"),
    ] {
        let github = GitHub::start(comments, "200 OK");
        let ran = github.comment(&written(), "7", "secret");
        assert_eq!((ran.code, &*ran.stdout, &*ran.stderr), (0, "", ""), "{ran:?}");
        let requests = github.requests();
        let list = "GET /repos/o/r/issues/7/comments?per_page=100&page=1";
        let lines: Vec<_> = requests.iter().map(|it| it.0.as_str()).collect();
        assert_eq!(lines, [list, expected]);
        assert!(requests.iter().all(|it| it.1 == "Bearer secret"), "{requests:?}");
        assert_eq!(requests[1].2, json!({"body": TEXT}));
    }
}

#[test]
fn a_token_that_may_only_read_is_a_warning() {
    let github = GitHub::start(json!([]), "403 Forbidden");
    let ran = github.comment(&written(), "7", "secret").ends(0);
    assert!(ran.stdout.starts_with("::warning::"), "{ran:?}");
    for (number, token) in [("7/../8", "secret"), ("7", "")] {
        let github = GitHub::start(json!([]), "200 OK");
        let ran = github.comment(&written(), number, token);
        assert!(ran.code == 0 && ran.stdout.starts_with("::warning::"), "{ran:?}");
        assert_eq!(github.requests(), []);
    }
}

fn planned(before: &str, after: &str, args: &str) -> (Folder, Ran) {
    let folder = Folder::new([("deploy/a b.yaml", before)]);
    folder.commit();
    folder.write("deploy/a b.yaml", after);
    let ran = plan(&folder, "deploy/a b.yaml\n", args);
    (folder, ran)
}

fn plan(folder: &Folder, paths: &str, args: &str) -> Ran {
    plan_with(folder, paths, args, [("SETGUARD_ACTION_COMMENT_NAME", "")])
}

fn plan_with(folder: &Folder, paths: &str, args: &str, more: [(&str, &str); 1]) -> Ran {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join(".github/action/plan");
    let mut command = folder.command("bash");
    command.arg(script).envs([
        ("SETGUARD_ACTION_BINARY", env!("CARGO_BIN_EXE_setguard")),
        ("SETGUARD_ACTION_PATHS", paths),
        ("SETGUARD_ACTION_PLAN_ARGS", args),
        ("RUNNER_TEMP", folder.0.path().to_str().unwrap()),
        ("GITHUB_OUTPUT", folder.path("output").to_str().unwrap()),
        ("GITHUB_STEP_SUMMARY", folder.path("summary").to_str().unwrap()),
    ]);
    command.envs(more).output().unwrap().into()
}

fn comment(folder: &Folder) -> String {
    let output = folder.read("output");
    let path = output.lines().find_map(|it| it.strip_prefix("comment=")).unwrap();
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn a_plan_is_a_summary_and_a_comment() {
    let (before, after) = (stateful_set("db", 3, "db:1", ""), stateful_set("db", 3, "db:2", ""));
    let (folder, ran) = planned(&before, &after, "--against-ref=HEAD\n");
    assert_eq!((ran.code, &*ran.stdout, &*ran.stderr), (0, "", ""), "{ran:?}");
    let (comment, summary) = (comment(&folder), folder.read("summary"));
    let head = "<!-- setguard plan -->\n## What the controllers will do\n\n";
    assert_eq!(comment, format!("{head}{summary}"));
    assert!(summary.starts_with("- **Pods down**: `StatefulSet shop/db`"), "{summary}");
    let plan_file = folder.read("output").lines().next().unwrap().replace("plan=", "");
    assert_eq!(std::fs::read_to_string(plan_file).unwrap(), summary);
    // Unreadable input is at the top.
    std::fs::remove_file(folder.path("output")).unwrap();
    assert_eq!(plan(&folder, "nope\n", "").code, 2);
    let missing = self::comment(&folder);
    assert!(missing.contains("- **Error**: `nope: cannot be read: No such file"), "{missing}");
    // After a wrong argument, the comment stays unchanged.
    let (folder, ran) = planned(&before, &after, "--wrong\n");
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(!folder.path("output").exists());
}

#[test]
fn a_comment_can_have_a_name() {
    let folder = Folder::new([("db.yaml", &*stateful_set("db", 1, "db:1", ""))]);
    let name = [("SETGUARD_ACTION_COMMENT_NAME", "prod eu-1")];
    assert_eq!(plan_with(&folder, "db.yaml", "", name).code, 0);
    let head = "<!-- setguard plan prod eu-1 -->\n## What the controllers will do: prod eu-1\n";
    assert!(comment(&folder).starts_with(head), "{}", comment(&folder));
    let name = [("SETGUARD_ACTION_COMMENT_NAME", "a -->")];
    plan_with(&folder, "db.yaml", "", name).ends(2).prints("::error::comment-name: ");
}

#[test]
fn a_comment_that_is_too_long_leaves_out_whole_objects() {
    let sets = |image: &str| {
        let set =
            |i| stateful_set(&format!("db-{i}"), 30, image, "  podManagementPolicy: Parallel\n");
        (0..150).map(set).collect::<String>()
    };
    let (folder, ran) = planned(&sets("db:1"), &sets("db:2"), "--against-ref=HEAD\n");
    assert_eq!(ran.code, 0, "{ran:?}");
    let comment = comment(&folder);
    let count = |what: &str| comment.matches(what).count();
    assert!(comment.len() < 65_000, "{}", comment.len());
    assert_eq!((count("<details>"), count("```")), (count("</details>"), 2 * count("```text")));
    assert!((50..150).contains(&count("\n### `")), "{comment}");
    assert!(comment.ends_with("the summary of the run has the rest.\n"), "{comment}");
}

#[test]
fn a_change_that_deletes_all_objects_is_planned() {
    let set = stateful_set("db", 3, "db:1", "");
    let folder = Folder::new([("deploy/db.yaml", &*set), ("README.md", "")]);
    folder.commit();
    let deleted = |what: &str, paths: &str| {
        let _ = std::fs::remove_file(folder.path("output"));
        let ran = plan(&folder, paths, "--against-ref=HEAD\n");
        assert_eq!((ran.code, &*ran.stderr), (0, ""), "{what}: {ran:?}");
        let comment = comment(&folder);
        assert!(comment.contains("all pods are deleted"), "{what}: {comment}");
        assert_eq!(folder.check(&format!("{paths} --against-ref HEAD --allow-empty")).code, 0);
    };
    std::fs::remove_file(folder.path("deploy/db.yaml")).unwrap();
    deleted("the folder is empty", "deploy");
    folder.setguard(&["plan", "deploy", "--against-ref", "HEAD"]).ends(0);
    std::fs::remove_dir(folder.path("deploy")).unwrap();
    deleted("the folder is deleted", "deploy");
    deleted("the file is deleted", "deploy/db.yaml");
    folder.setguard(&["plan", "other", "--against-ref", "HEAD"]).ends(2);
    folder.setguard(&["check", "other", "--against-ref", "HEAD", "--allow-empty"]).ends(2);

    // A repository without objects.
    folder.git("commit -q -a -m delete");
    let ran = plan(&folder, ".", "--against-ref=HEAD\n");
    assert_eq!((ran.code, &*ran.stderr), (0, ""), "{ran:?}");
    folder.setguard(&["plan", ".", "--against-ref", "HEAD"]).ends(2);
}
