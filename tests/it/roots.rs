//! Attempts to hide a set behind a chart, a kustomization or a release: each fails the run that compares with the
//! commit before it.

use crate::prelude::*;

const GOOD: &str = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db, namespace: shop}\nspec:\n  \
     serviceName: db\n  selector: {matchLabels: {app: db}}\n  template:\n    metadata: {labels: {app: db}}\n    \
     spec: {containers: [{name: main, image: \"db:1\"}]}\n";
const CHART: &str = "apiVersion: v2\nname: db\nversion: 1.0.0\n";
const PLAIN: &str = "resources: [db.yaml]\n";
const PATCH: &str = "patches:\n- target: {kind: StatefulSet}\n  patch: '[{\"op\": \"replace\", \
     \"path\": \"/spec/template/metadata/labels\", \"value\": {\"app\": \"other\"}}]'\n";
const FLUX: &str = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: db, namespace: \
     shop}\nspec:\n  chart: {spec: {chart: c, sourceRef: {kind: GitRepository, name: g}}}\n";
const ARGO: &str = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: db}\nspec:\n  \
     destination: {namespace: shop}\n  source:\n    path: c\n    helm:\n      releaseName: db\n";

const MADE: &str = "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: made}\nspec:\n  generators: \
     [{list: {elements: [{env: prod}]}}]\n  template:\n    metadata: {name: 'made-{{env}}'}\n    spec:\n      \
     destination: {namespace: '{{env}}'}\n      source: {path: c, helm: {releaseName: db}}\n";
const INFRASTRUCTURE: &str = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: a}\nspec:\n  \
     path: ./infra\n  patches: [{patch: '[]', target: {kind: ClusterIssuer}}]\n";
const LIBRARY: &str = "apiVersion: v2\nname: lib\nversion: 1.0.0\ntype: library\n";
/// Returns a template that includes a set of the library.
fn included(service: &str) -> String {
    let set = GOOD.replace("serviceName: db", &format!("serviceName: {service}"));
    format!("{{{{- define \"lib.db\" -}}}}\n{set}{{{{- end -}}}}\n")
}

fn evil() -> String {
    GOOD.replace("labels: {app: db}", "labels: {app: other}")
}

fn utf_16(text: &str) -> Vec<u8> {
    [0xff, 0xfe].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect()
}

const BOTH: &[&str] = &["check", "plan", "check --render", "plan --render"];
const RAW: &[&str] = &["check", "plan"];
const RENDERED: &[&str] = &["check --render", "plan --render"];

/// The ways of a text. Each has a name, the commands that fail, and the files of the change.
fn ways(text: &str) -> impl Iterator<Item = (&str, &str, Vec<(&str, String)>)> {
    let words = [
        ("EVIL\n", evil()),
        ("ANOTHER\n", evil().replace("name: db,", "name: evil,")),
        ("FLUX\n", FLUX.to_owned()),
        ("ARGO\n", ARGO.to_owned()),
        ("LONG", "x".repeat(1 << 20)),
    ];
    text.trim_end().split("\n\n=== ").skip(1).map(move |way| {
        let mut parts = way.split("\n-- ");
        let (name, commands) = parts.next().unwrap().split_once(": ").unwrap();
        let files = parts.map(|file| {
            let (name, text) = file.split_once(" --").unwrap();
            let text = text.strip_prefix('\n').map_or(String::new(), |it| format!("{it}\n"));
            (name, words.iter().fold(text, |text, (word, full)| text.replace(word, full)))
        });
        (name, commands, files.collect())
    })
}

fn run(folder: &Folder, command: &str) -> Ran {
    let args = format!("{command} . --against-ref main");
    folder.setguard(&args.split(' ').collect::<Vec<_>>())
}

fn before(is_of_charts: bool) -> Folder {
    let template = GOOD
        .replace("labels: {app: db}", "labels: {app: {{ .Values.lab }}}")
        .replace("serviceName: db", "serviceName: '{{ .Values.svc }}'");
    let charts = [
        ("c/Chart.yaml", CHART),
        ("c/values.yaml", "lab: db\nsvc: db\n"),
        ("c/templates/db.yaml", &template),
        ("c/.helmignore", "none\n"),
        ("rel/hr.yaml", FLUX),
        ("rel/app.yaml", ARGO),
    ];
    let vendored = evil().replace("name: db,", "name: vendored,");
    let plain = [("deploy/kustomization.yaml", PLAIN), ("deploy/testdata/set.yaml", &vendored)];
    let files = if is_of_charts { &charts[..] } else { &plain };
    Folder::new(files.iter().copied().chain([("deploy/db.yaml", GOOD)]))
}

fn has(tool: &str, arg: &str) -> bool {
    let ran = Command::new(tool).args(["version", arg]).output();
    let is_there = ran.is_ok_and(|it| it.status.success());
    if !is_there {
        println!("skipped: {tool} is not on the PATH");
    }
    is_there
}

#[test]
fn no_chart_and_no_kustomization_hides_a_change() {
    let renders = has("helm", "--short") && has("kubectl", "--client");
    let mut passed = Vec::new();
    let kustomizations = ways(include_str!("../fixtures/roots/kustomizations.txt"));
    let charts = ways(include_str!("../fixtures/roots/charts.txt"));
    let (_, _, releases) = ways(include_str!("../fixtures/roots/releases.txt")).next().unwrap();
    let ways = kustomizations.map(|it| (false, it)).chain(charts.map(|it| (true, it)));
    let mut seen = 0;
    for (is_of_charts, (way, commands, files)) in ways {
        seen += 1;
        let folder = before(is_of_charts);
        let top = |name: &str| name.split('/').next().map(str::to_owned);
        for (name, text) in &releases {
            if files.iter().any(|(it, _)| top(it) == top(name)) {
                folder.write(name, text);
            }
        }
        folder.commit();
        folder.git("checkout -q -b change");
        for (name, text) in files {
            folder.write(name, if way == "UTF-16" { utf_16(&text) } else { text.into_bytes() });
        }
        folder.git("add -A -f");
        folder.git("commit -q -m second");
        for command in commands.split(", ").filter(|it| renders || !it.contains("--render")) {
            let ran = run(&folder, command);
            if ran.code == 0 {
                passed.push(format!("{way}: {command}: {ran:#?}"));
            }
        }
        let status = ["status", "--porcelain", "--ignored"];
        let left = Ran::from(folder.command("git").args(status).output().unwrap());
        assert_eq!(left.stdout, "", "{way}: written");
    }
    assert_eq!(seen, 96);
    assert!(passed.is_empty(), "{} pass: {}", passed.len(), passed.join("\n"));
}

#[test]
fn an_ordinary_change_passes() {
    let renders = has("helm", "--short") && has("kubectl", "--client");
    let patched = format!("{PLAIN}{}", PATCH.replace("other", "db"));
    let of_sets = INFRASTRUCTURE.replace("./infra", "./y");
    // A patch of annotations hides the origin of an object.
    let annotated =
        ", {\"op\": \"add\", \"path\": \"/metadata/annotations\", \"value\": {\"a\": \"b\"}}]'";
    let repaired = patched.replace("]'", annotated);
    let variables =
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: v, namespace: flux}\ndata: {a: b}\n";
    let substituted = INFRASTRUCTURE.replace("./infra", "./y").replace(
        "patches: [{patch: '[]', target: {kind: ClusterIssuer}}]",
        "postBuild: {substituteFrom: [{kind: ConfigMap, name: v}]}",
    );
    let images = "resources: [db.yaml]\nnamespace: shop\nimages: [{name: db, newName: r.io/db, newTag: v1}]\n";
    let changes = [
        ("deploy/kustomization.yaml", images.replace("v1", "v2"), BOTH),
        ("deploy/cm.txt", "a: c\n".to_owned(), BOTH),
        ("x/README.md", "two\n".to_owned(), BOTH),
        // The name of the folder is a text in the kustomization.
        ("x/StatefulSet/main.txt", "two\n".to_owned(), BOTH),
        ("c/README.md", "two\n".to_owned(), BOTH),
        ("deploy/.argocd-source-x.yaml", "kustomize: {images: [\"db:2\"]}\n".to_owned(), RENDERED),
        (
            "c/.argocd-source-db.yaml",
            "helm: {parameters: [{name: x, value: z}]}\n".to_owned(),
            RENDERED,
        ),
        (
            "c/.argocd-source-made-prod.yaml",
            "helm: {parameters: [{name: x, value: z, forcestring: true}]}\n".to_owned(),
            RENDERED,
        ),
        ("config/app.yaml", "svc: z\n".to_owned(), RENDERED),
        ("c/values-x.yaml", "# two\nsvc: x\n".to_owned(), RENDERED),
        ("c/files/dashboard.json", "{\"svc\": 1, \"panels\": []}".to_owned(), RENDERED),
        ("z/kustomization.yaml", format!("# two\n{repaired}"), RENDERED),
        ("x/kustomization.yaml", patched.replace("resources", "\nresources"), RENDERED),
        ("flux.yaml", format!("{of_sets}  interval: 2m\n"), RENDERED),
        ("vars/cm.yaml", variables.replace("a: b", "a: b, c: d"), RENDERED),
        // A list of what counts leaves nothing out of the folders that Flux applies.
        (".sourceignore", "# only\n/*\n!/y\n!/infra\n".to_owned(), RENDERED),
        (
            "infra/issuer.yaml",
            "kind: ClusterIssuer\napiVersion: a/v1\nspec: {a: b}\n".to_owned(),
            RENDERED,
        ),
    ];
    for (name, text, commands) in changes {
        let folder = before(name.starts_with("c/"));
        folder.write("deploy/kustomization.yaml", images);
        folder.write("deploy/cm.txt", "a: b\n");
        folder.write("x/kustomization.yaml", &patched);
        folder.write("infra/issuer.yaml", "kind: ClusterIssuer\napiVersion: a/v1\n");
        folder.write("infra.yaml", INFRASTRUCTURE);
        folder.write("vars/cm.yaml", variables);
        folder.write("vars/flux.yaml", &substituted);
        folder.write("c/values-x.yaml", "svc: x\n");
        folder.write("made/set.yaml", MADE);
        if name.starts_with("z/") {
            folder.write("z/kustomization.yaml", &repaired);
            folder.write("z/db.yaml", evil().replace("name: db,", "name: z,"));
        }
        folder.write("flux.yaml", &of_sets);
        folder.write("y/db.yaml", GOOD.replace("name: db,", "name: plain,"));
        folder.write("x/db.yaml", GOOD.replace("name: db,", "name: x,"));
        folder.commit();
        folder.write(name, text);
        for command in commands.iter().filter(|it| renders || !it.contains("--render")) {
            let ran = run(&folder, command);
            assert_eq!(ran.code, 0, "{name}: {command}: {ran:#?}");
            let is_listed = ran.stdout.contains("not checked: ./x/kustomization.yaml");
            assert_eq!(is_listed, *command == "check", "{name}: {ran:#?}");
        }
    }
}

#[test]
fn an_object_that_applies_the_same_changes_nothing() {
    if !has("kubectl", "--client") {
        return;
    }
    let argo = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: y}\nspec:\n  \
                destination: {namespace: shop}\n  source: {path: y, SOURCE}\n";
    let flux = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: y, namespace: \
                flux}\nspec:\n  path: ./y\n  sourceRef: {SOURCE}\n";
    for (object, old, new) in [
        (argo, "repoURL: https://e/r", "targetRevision: HEAD, repoURL: https://e/r.git"),
        (flux, "kind: GitRepository, name: g", "name: g, namespace: flux, kind: GitRepository"),
        (argo, "kustomize: {images: [\"db:1\"]}", "kustomize: {images: [\"db:2\"]}"),
    ] {
        let folder = before(false);
        folder.write("y/kustomization.yaml", PLAIN);
        folder.write("y/db.yaml", GOOD.replace("name: db,", "name: y,"));
        folder.write("y.yaml", object.replace("SOURCE", old));
        folder.commit();
        folder.write("y.yaml", object.replace("SOURCE", new));
        for command in RENDERED {
            let ran = run(&folder, command);
            assert_eq!(ran.code, 0, "{new}: {command}: {ran:#?}");
            // The kustomization is rendered once.
            assert!(!format!("{ran:?}").contains("the same object"), "{new}: {command}: {ran:#?}");
        }
    }
}

/// An ApplicationSet with these generators, for this path.
fn generated(generators: &str, path: &str) -> String {
    format!(
        "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {{name: s}}\nspec:\n  generators: \
         [{generators}]\n  template: {{spec: {{source: {{path: '{path}'}}}}}}\n"
    )
}

#[test]
fn generators_decide_what_an_application_set_applies() {
    if !has("kubectl", "--client") {
        return;
    }
    let list = "list: {elements: [{env: prod}]}";
    let folders = "git: {directories: [{path: apps/p*}]}";
    let matrix = "matrix: {generators: [{list: {elements: [{env: ENV}]}}, {clusters: {}}]}";
    let matrix =
        |env: &str| generated(&format!("{{{}}}", matrix.replace("ENV", env)), "apps/{{env}}");
    let set = |generator: &str, path: &str| generated(&format!("{{{generator}}}"), path);
    for (old, new, code) in [
        (
            set(list, "apps/{{env}}"),
            set(
                "list: {elements: [{env: prod}], template: {spec: {source: {path: apps/dev}}}}",
                "apps/{{env}}",
            ),
            1,
        ),
        (set(folders, "{{path}}"), set(&folders.replace("p*", "d*"), "{{path}}"), 1),
        (
            set(folders, "{{path}}"),
            set(&folders.replace("git: {", "git: {revision: x, "), "{{path}}"),
            1,
        ),
        (
            set("clusters: {values: {env: prod}}", "apps/{{values.env}}"),
            set("clusters: {values: {env: dev}}", "apps/{{values.env}}"),
            1,
        ),
        (
            set("clusters: {}", "apps/{{labels.env}}"),
            set("clusters: {}", "apps/{{labels.tier}}"),
            1,
        ),
        (
            set("list: {elementsYaml: '[{env: prod}]'}", "apps/{{env}}"),
            set("list: {elementsYaml: '[{env: dev}]'}", "apps/{{env}}"),
            1,
        ),
        (matrix("prod"), matrix("dev"), 1),
        (set(list, "apps/{{env}}"), set(folders, "{{ .path.path }}"), 0),
        (
            set(list, "apps/{{env}}"),
            set("list: {elements: [{env: prod}, {env: dev}]}", "apps/{{ .env }}"),
            0,
        ),
        (matrix("prod"), matrix("prod}, {env: dev"), 0),
    ] {
        let folder = Folder::new([("set.yaml", old.as_str())]);
        for env in ["prod", "dev"] {
            folder.write(&format!("apps/{env}/db.yaml"), GOOD.replace("shop", env));
        }
        folder.commit();
        folder.write("set.yaml", &new);
        for command in RENDERED {
            let ran = run(&folder, command);
            let code = if code == 1 && command.starts_with("plan") { 2 } else { code };
            assert_eq!(ran.code, code, "{new}: {command}: {ran:#?}");
        }
    }
}

#[test]
fn a_repository_can_have_the_objects_of_several_clusters() {
    if !has("kubectl", "--client") {
        return;
    }
    let flux = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: g, namespace: \
                flux}\nspec: {url: URL}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: v, namespace: \
                flux}\ndata: {NAME: URL}\n---\napiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: \
                Kustomization\nmetadata: {name: web, namespace: flux}\nspec: {path: ./apps/CLUSTER, sourceRef: {kind: \
                GitRepository, name: g}, postBuild: {substituteFrom: [{kind: ConfigMap, name: v}]}}\n";
    let of = |cluster: &str, url: &str| flux.replace("CLUSTER", cluster).replace("URL", url);
    for (file, cluster, url, code) in [
        ("clusters/stage/flux.yaml", "stage", "https://e/new", 0),
        ("clusters/stage/flux.yaml", "none", "https://e/stage", 0),
        ("clusters/prod/more/flux.yaml", "none", "https://e/new", 1),
        ("clusters/prod/flux.yaml", "prod", "https://e/new", 1),
    ] {
        let folder =
            Folder::new([("clusters/prod/flux.yaml", of("prod", "https://e/prod").as_str())]);
        folder.write(
            "apps/prod/db.yaml",
            GOOD.replace("name: main", "name: main, env: [{name: VAR, value: '${NAME}'}]"),
        );
        folder.commit();
        folder.write(file, of(cluster, url));
        let ran = run(&folder, "check --render");
        assert_eq!(ran.code, code, "{file}: {ran:#?}");
    }
}

#[test]
fn an_object_applies_files_that_a_kustomization_elsewhere_repairs() {
    if !has("kubectl", "--client") {
        return;
    }
    let repairs =
        PATCH.replace("other", "db").replace("patches", "resources: [sub/db.yaml]\npatches");
    let flux = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: \
                y}\nspec: {path: ./d/sub}\n";
    let argo = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: y}\nspec: {source: {path: \
                d/sub}}\n";
    for object in [flux, argo] {
        let folder = Folder::new([("d/sub/db.yaml", GOOD), ("d/kustomization.yaml", &repairs)]);
        folder.write("y.yaml", object);
        folder.commit();
        folder.write("d/sub/db.yaml", evil());
        let ran = run(&folder, "check --render");
        assert_eq!(ran.code, 1, "{object}: {ran:#?}");
        assert!(ran.stdout.contains("does not match"), "{object}: {ran:#?}");
    }
}

#[test]
fn default_values_beside_a_release_are_no_object() {
    if !has("helm", "--short") {
        return;
    }
    let pinned = format!("{ARGO}      valuesObject: {{svc: x}}\n");
    let folder = before(true);
    ["rel/app", "rel/hr", "deploy/db"]
        .iter()
        .for_each(|it| folder.write(&format!("{it}.yaml"), ""));
    folder.commit();
    for (name, text) in [("rel/app.yaml", &*pinned), ("c/values.yaml", "lab: db\nsvc: y\n")] {
        folder.write(name, text);
        for command in RENDERED {
            let ran = run(&folder, command);
            assert_eq!(ran.code, 0, "{name}: {command}: {ran:#?}");
        }
        folder.git("add -A");
        folder.git("commit -q -m more");
    }
    folder.write("rel/app.yaml", pinned.replace("svc: x", "svc: y"));
    RENDERED.iter().for_each(|it| assert_eq!(run(&folder, it).code, 1, "{it}"));
}

#[test]
fn an_exception_for_a_chart_covers_no_release_elsewhere() {
    if !has("helm", "--short") {
        return;
    }
    let folder = before(true);
    folder.write(
        "c/templates/db.yaml",
        GOOD.replace("    spec: {", "    spec: {terminationGracePeriodSeconds: {{ .Values.g }}, "),
    );
    folder.write("c/values.yaml", "g: 30\n");
    let rules = "[{rules: [grace-period-zero], files: [/c, /rel/hr.yaml], reason: r}]";
    folder.write(
        "setguard.yaml",
        policy(&format!("rules: {{grace-period-zero: deny}}\nexceptions: {rules}\n")),
    );
    folder.commit();
    for (name, before, code) in [("rel/app.yaml", ARGO, 1), ("rel/hr.yaml", FLUX, 0)] {
        let values = if code == 1 { "      valuesObject: {g: 0}\n" } else { "  values: {g: 0}\n" };
        folder.write(name, format!("{before}{values}"));
        let ran = run(&folder, "check --render");
        assert_eq!(ran.code, code, "{name}: {ran:#?}");
        folder.git("add -A");
        folder.git("commit -q -m more");
        // Files from before the change fail nothing.
        folder.write("README.md", name);
        assert_eq!(run(&folder, "check --render").code, 0, "{name}");
    }
}

#[test]
fn what_a_root_is_made_of_counts_as_the_root() {
    for (name, text) in [
        ("deploy/p.yaml", "- {op: add, path: /metadata/labels, value: {a: c}}\n"),
        ("base/db.yaml", &GOOD.replace("db:1", "db:2")),
        ("c/values.yaml", "lab: other\n"),
        ("c/files/x.txt", "a"),
        ("c/conf/lab.md", "a"),
        ("t/x.txt", "a"),
        ("tr/x.yaml", "a: b\n"),
        ("p.json", "[]"),
    ] {
        let folder = before(name.starts_with("c/"));
        folder.write("deploy/p.yaml", "- {op: add, path: /metadata/labels, value: {a: b}}\n");
        folder.write(
            "deploy/kustomization.yaml",
            "resources: [../base]\npatches: [{path: p.yaml, target: {kind: StatefulSet}}, {path: ../p.json}]\n",
        );
        folder.write("base/kustomization.yaml", PLAIN);
        folder.write("base/db.yaml", GOOD);
        folder.write("p.json", "[{}]");
        folder.write("t/kustomization.yaml", "transformers: [x.yaml, ../tr]\n");
        folder.write("tr/kustomization.yaml", "resources: [x.yaml]\n");
        folder.write("tr/x.yaml", "a: a\n");
        folder.write("c/templates/_lab.tpl", "{{ .Files.Get \"conf/lab.md\" }}");
        folder.commit();
        folder.write(name, text);
        for command in RAW {
            let ran = run(&folder, command);
            let code = if command.starts_with("plan") { 2 } else { 1 };
            assert_eq!(ran.code, code, "{name}: {command}: {ran:#?}");
            let said = format!("{}{}", ran.stdout, ran.stderr);
            assert!(said.contains("this change edits"), "{name}: {said}");
        }
    }
}

#[test]
fn a_chart_without_usable_defaults_continues_under_another_name() {
    if !has("helm", "--short") {
        return;
    }
    let template =
        GOOD.replace("serviceName: db", "serviceName: {{ required \"svc\" .Values.svc }}");
    let folder = Folder::new([
        ("c/Chart.yaml", CHART),
        ("c/templates/db.yaml", &template),
        ("c/ci/a-values.yaml", "svc: a\n"),
    ]);
    folder.commit();
    folder.git("mv c/ci/a-values.yaml c/ci/b-values.yaml");
    folder.write("c/ci/b-values.yaml", "svc: b\n");
    for command in RENDERED {
        let ran = run(&folder, command);
        assert!(format!("{ran:?}").contains("field is immutable"), "{command}: {ran:#?}");
    }
}

/// git ignores archives, so the copy of the commit has none.
#[test]
fn a_change_of_a_dependency_is_compared() {
    if !has("helm", "--short") {
        return;
    }
    let build = "set -e; for it in d l; do rm -rf $it/charts; mkdir $it/charts; helm package lib -d $it/charts; done";
    for (way, script, after) in [
        (
            "a chart in the repository",
            "sed -i s/serviceName:.db/serviceName:\\ x/ lib/templates/_db.yaml",
            "",
        ),
        (
            "a comment in the lock",
            "echo '# a' >> l/Chart.lock; sed -i s/serviceName:.db/serviceName:\\ x/ l/templates/db.yaml",
            "",
        ),
        (
            "another version",
            "sed -i s/1.0.0/2.0.0/ lib/Chart.yaml l/Chart.lock l/Chart.yaml; rm -r d",
            "",
        ),
        (
            "a new archive",
            "cp d/templates/db.yaml l/templates; rm -r d; \
             git -c user.name=a -c user.email=a@example.com commit -q -a -m base; \
             sed -i s/serviceName:.db/serviceName:\\ x/ lib/templates/_db.yaml",
            "git checkout -q lib; git add -f l/charts",
        ),
        (
            "a set beside the definitions of resources",
            "mkdir lib/crds; sed s/serviceName:.db/serviceName:\\ x/ l/templates/db.yaml > lib/crds/db.yaml",
            "rm -r lib/crds",
        ),
    ] {
        let repository = |it: &str| {
            format!("dependencies: [{{name: lib, version: 1.0.0, repository: \"{it}\"}}]\n")
        };
        let folder = Folder::new([
            (".gitignore", "*.tgz\n"),
            ("lib/Chart.yaml", LIBRARY),
            ("lib/templates/_db.yaml", &included("db")),
            ("d/Chart.yaml", &format!("{CHART}{}", repository("file://../lib"))),
            ("d/templates/db.yaml", "{{ include \"lib.db\" . }}\n"),
            ("l/Chart.yaml", &format!("{CHART}{}", repository("https://example.com"))),
            ("l/Chart.lock", &repository("https://example.com")),
            ("l/templates/db.yaml", GOOD),
        ]);
        folder.commit();
        let script = format!("{script}; mkdir -p d; {build}; {after}");
        let ran = folder.command("sh").args(["-c", &script]).output().unwrap();
        assert!(ran.status.success(), "{way}: {ran:?}");
        for command in RENDERED {
            let ran = run(&folder, command);
            let said = format!("{ran:?}");
            let is_compared =
                said.contains("field is immutable") || said.contains("at the commit, helm");
            assert!(ran.code > 0 && is_compared, "{way}: {command}: {ran:#?}");
        }
    }
}

/// A program that renders must not write into the work tree, whatever a chart says.
#[cfg(unix)]
#[test]
fn dependencies_are_copied_only_into_the_copy_of_a_commit() {
    if !has("helm", "--short") {
        return;
    }
    let needs = "dependencies: [{name: lib, version: 1.0.0, repository: \"file://../lib\"}]\n";
    let folder = Folder::new([
        ("lib/Chart.yaml", LIBRARY),
        ("lib/templates/_db.yaml", &included("db")),
        ("plain/Chart.yaml", &format!("{CHART}{needs}")),
        ("linked/Chart.yaml", &format!("{CHART}{needs}")),
        ("out/README.md", "a"),
    ]);
    std::os::unix::fs::symlink("../out", folder.path("linked/charts")).unwrap();
    folder.commit();
    for command in RENDERED {
        run(&folder, command).ends(2).reports("missing in charts/ directory: lib");
        let status = ["status", "--porcelain", "--ignored"];
        let left = Ran::from(folder.command("git").args(status).output().unwrap());
        assert_eq!(left.stdout, "", "{command}");
    }
}

/// A release must not show files outside the repository.
#[test]
fn overrides_outside_of_the_repository_are_not_read() {
    if !has("helm", "--short") {
        return;
    }
    let folder = before(true);
    let above = folder.path("").parent().unwrap().to_owned();
    let secret = tempfile::Builder::new().suffix(".yaml").tempfile_in(above).unwrap();
    std::fs::write(&secret, "helm: {valuesObject: {svc: SECRET}}\n").unwrap();
    let name = secret.path().file_stem().unwrap().to_str().unwrap();
    let application = ARGO.replace("name: db}", &format!("name: x/../../../{name}}}"));
    folder.write("rel/app.yaml", &application);
    folder.write("c/.argocd-source-x/README.md", "a");
    folder.commit();
    for command in ["check --render .", "plan --render ."] {
        let ran = folder.setguard(&command.split(' ').collect::<Vec<_>>());
        assert!(ran.stdout.to_lowercase().contains("set"), "{ran:#?}");
        assert!(!format!("{ran:?}").contains("SECRET"), "{ran:#?}");
    }
}
