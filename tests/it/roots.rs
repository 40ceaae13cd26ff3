//! Attempts to hide a set behind a chart, a kustomization or a release: each fails the run that compares with the
//! commit before it.

use std::process::Command;

use crate::folder::Folder;

const GOOD: &str = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db, namespace: shop}\nspec:\n  \
     serviceName: db\n  selector: {matchLabels: {app: db}}\n  template:\n    metadata: {labels: {app: db}}\n    \
     spec: {containers: [{name: main, image: \"db:1\"}]}\n";
const CHART: &str = "apiVersion: v2\nname: db\nversion: 1.0.0\n";
const PLAIN: &str = "resources: [db.yaml]\n";
const PATCH: &str = "patches:\n- target: {kind: StatefulSet}\n  patch: '[{\"op\": \"replace\", \
     \"path\": \"/spec/template/metadata/labels\", \"value\": {\"app\": \"other\"}}]'\n";
const REPAIR: &str = "resources: [../deploy]\npatches:\n- target: {kind: StatefulSet}\n  patch: '[{\"op\": \
     \"replace\", \"path\": \"/spec/template/metadata/labels\", \"value\": {\"app\": \"db\"}}]'\n";
const FLUX: &str = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: db, namespace: \
     shop}\nspec:\n  chart: {spec: {chart: c, sourceRef: {kind: GitRepository, name: g}}}\n";
const ARGO: &str = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: db}\nspec:\n  \
     destination: {namespace: shop}\n  source:\n    path: c\n    helm:\n      releaseName: db\n";

const INFRASTRUCTURE: &str = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: a}\nspec:\n  \
     path: ./infra\n  patches: [{patch: '[]', target: {kind: ClusterIssuer}}]\n";
const LIBRARY: &str = "apiVersion: v2\nname: lib\nversion: 1.0.0\ntype: library\n";
const ENVIRONMENTS: &str = "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: envs}\nspec:\n  \
     generators: [{list: {elements: [{env: prod}]}}]\n  template:\n    spec:\n      source: {path: c, helm: \
     {valueFiles: [\"../envs/{{env}}.yaml\"]}}\n";

/// Returns an Application for a cluster.
fn to_cluster(name: &str, cluster: &str, service: &str) -> String {
    ARGO.replace("{name: db}", &format!("{{name: {name}}}")).replace(
        "{namespace: shop}",
        &format!("{{namespace: shop, server: \"https://{cluster}\"}}"),
    ) + &format!("      valuesObject: {{svc: {service}}}\n")
}

fn of_flux(name: &str, rest: &str) -> String {
    FLUX.replace("{name: db,", &format!("{{name: {name},")) + rest
}

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

type Files = Vec<(&'static str, Vec<u8>)>;

fn files<const N: usize>(files: [(&'static str, &str); N]) -> Files {
    files.into_iter().map(|(name, text)| (name, text.as_bytes().to_vec())).collect()
}

/// The commands that fail. Those without `--render` list what they do not build.
const BOTH: &[&str] = &["check .", "plan .", "check --render .", "plan --render ."];
const RAW: &[&str] = &["check .", "plan ."];
const RENDERED: &[&str] = &["check --render .", "plan --render ."];
const CHECKED: &[&str] = &["check --render ."];

/// The file before the change is a plain kustomization beside a good set.
fn kustomizations() -> Vec<(&'static str, Files, &'static [&'static str])> {
    let all = |text: &str| files([("deploy/kustomization.yaml", text)]);
    let with = |rest: &str| all(&format!("{PLAIN}{rest}"));
    let evil = evil();
    let txt = |text| {
        files([
            ("deploy/kustomization.yaml", text),
            ("deploy/evil.txt", &evil.replace("db,", "evil,")),
        ])
    };
    vec![
        ("a patch", with(PATCH), BOTH),
        ("a key in another case", with(&PATCH.replace("patches", "pATCHES")), BOTH),
        ("a key twice", with(&format!("{PATCH}Patches: []\n")), RAW),
        ("a second document", with(&format!("{PATCH}---\n{PLAIN}")), BOTH),
        ("UTF-16", vec![("deploy/kustomization.yaml", utf_16(&format!("{PLAIN}{PATCH}")))], BOTH),
        ("no YAML", with("\tx: y\n"), BOTH),
        ("two files", files([("deploy/kustomization.yml", PLAIN)]), BOTH),
        ("an unknown key", with("patchez: []\nx: y\n"), BOTH),
        ("another extension", txt("resources: [db.yaml, evil.txt]\n"), BOTH),
        ("a resource in another case", txt("Resources: [db.yaml, evil.txt]\n"), BOTH),
        ("a URL", all("resources: [db.yaml, \"https://127.0.0.1:1/evil.yaml\"]\n"), BOTH),
        ("a resource that is not there", all("resources: [db.yaml, none.yaml]\n"), BOTH),
        (
            "a folder without kustomization",
            files([("deploy/kustomization.yaml", "resources: [db.yaml, ../x]\n"), ("x/a.txt", "")]),
            BOTH,
        ),
        (
            "a long prefix",
            with(&format!("namePrefix: {}-\n", "x".repeat(60))),
            &["check .", "plan .", "check --render ."],
        ),
        ("an invalid namespace", with("namespace: Bad_NS\n"), BOTH),
        ("a resource that is not read", all("resources: [db.yaml, testdata/set.yaml]\n"), BOTH),
        ("annotations", with("commonAnnotations: {\"Bad Key!\": x}\n"), BOTH),
        (
            "an image",
            with("images: [{name: db, newName: \" x\"}]\n"),
            &["check .", "plan .", "check --render ."],
        ),
        ("another image", with("images: [{name: db, newName: postgres}]\n"), RAW),
        ("it takes itself", with(&format!("{PATCH}---\nresources: [.]\n")), BOTH),
        ("it takes only itself", all("resources: [., db.yaml]\n"), RENDERED),
        (
            "a cycle",
            files([
                ("deploy/kustomization.yaml", "resources: [db.yaml, ../x]\n"),
                ("x/kustomization.yaml", "resources: [../deploy]\n"),
                ("deploy/db.yaml", &evil),
            ]),
            RENDERED,
        ),
        (
            "taken by a second document",
            files([
                ("x/kustomization.yaml", "resources: [cm.yaml]\n---\nresources: [../deploy]\n"),
                ("x/cm.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"),
                ("deploy/db.yaml", &evil),
            ]),
            RENDERED,
        ),
        (
            "taken by one that repairs it",
            files([("x/kustomization.yaml", REPAIR), ("deploy/db.yaml", &evil)]),
            RENDERED,
        ),
        (
            "taken by an unused component",
            files([
                ("x/kustomization.yaml", "kind: Component\nresources: [../deploy]\n"),
                ("deploy/db.yaml", &evil),
            ]),
            RENDERED,
        ),
        (
            "a second root",
            files([
                ("x/kustomization.yaml", PLAIN),
                ("x/db.yaml", &GOOD.replace("serviceName: db", "serviceName: other")),
            ]),
            BOTH,
        ),
        (
            "a patch of nothing",
            files([
                (
                    "deploy/kustomization.yaml",
                    "resources: [db.yaml]\npatches: [{path: evil.yaml, target: {kind: Nothing}}]\n",
                ),
                ("deploy/evil.yaml", &evil.replace("name: db,", "name: evil,")),
            ]),
            RENDERED,
        ),
    ]
}

fn charts() -> Vec<(&'static str, Files, &'static [&'static str])> {
    let evil = evil();
    let flux = |rest: &str| files([("rel/hr.yaml", &format!("{FLUX}{rest}"))]);
    let argo = |rest: &str| files([("rel/app.yaml", &format!("{ARGO}{rest}"))]);
    let post = "  postRenderers: [{kustomize: {patches: []}}]\n";
    let wrong = "      valuesObject: {lab: other}\n";
    vec![
        ("a template", files([("c/templates/db.yaml", &evil)]), BOTH),
        (
            "a template in Markdown",
            files([("c/templates/evil.md", &evil.replace("name: db,", "name: evil,"))]),
            BOTH,
        ),
        ("a value", files([("c/values.yaml", "lab: other\n")]), BOTH),
        (
            "a library around it",
            files([
                ("Chart.yaml", &format!("{CHART}type: library\n")),
                ("charts/db/Chart.yaml", CHART),
                ("charts/db/templates/db.yaml", &evil),
            ]),
            RENDERED,
        ),
        (
            "a chart above it",
            files([("Chart.yaml", CHART), ("c/templates/db.yaml", &evil)]),
            RENDERED,
        ),
        (
            "a chart that leaves it out",
            files([
                ("Chart.yaml", CHART),
                (".helmignore", "charts/\n"),
                ("charts/db/Chart.yaml", CHART),
                ("charts/db/templates/db.yaml", &evil),
            ]),
            RENDERED,
        ),
        (
            "a file that is no template",
            files([(".helmignore", ""), ("c/evilvalues.yaml", &evil)]),
            RENDERED,
        ),
        ("values of a release", flux("  values: {lab: other}\n"), RENDERED),
        ("a post-renderer", flux(post), RENDERED),
        (
            "a release in a new object",
            files([(
                "rel/hr.yaml",
                &format!("{FLUX}  releaseName: db\n  values: {{svc: x}}\n")
                    .replace("{name: db,", "{name: b,"),
            )]),
            CHECKED,
        ),
        (
            "a release under a new name",
            files([(
                "rel/app.yaml",
                &format!("{ARGO}      valuesObject: {{svc: x}}\n")
                    .replace("Name: db", "Name: other"),
            )]),
            RENDERED,
        ),
        (
            "an escape",
            files([(
                "rel/hr.yaml",
                &format!("{FLUX}  values: {{lab: other}}\n")
                    .replace("helm.toolkit.fluxcd.io/v2", "\"helm.toolkit.fluxcd\\x2eio/v2\""),
            )]),
            RENDERED,
        ),
        (
            "a long file",
            files([(
                "rel/hr.yaml",
                &format!("{FLUX}  values: {{lab: other}}\n# {}\n", "x".repeat(1 << 20)),
            )]),
            RENDERED,
        ),
        (
            "a list of resources",
            files([
                ("rel/hr.yaml", &format!("{FLUX}  values: {{lab: other}}\n")),
                ("rel/kustomization.yaml", "resources: [hr.yaml]\n"),
            ]),
            RENDERED,
        ),
        ("a value of Argo CD", argo(wrong), RENDERED),
        ("null", argo(&format!("{wrong}      kubeVersion: null\n")), RENDERED),
        ("a file of parameters", argo("      fileParameters: [{name: lab, path: x}]\n"), RENDERED),
        ("a plugin", argo("    plugin: {name: x}\n"), RENDERED),
        ("a number", argo("      parameters: [{name: lab, value: 1}]\n"), RENDERED),
        (
            "the release of another cluster",
            files([("clusters/us.yaml", &to_cluster("us-east", "us", "eu"))]),
            RENDERED,
        ),
        (
            "a patch of a release",
            files([(
                "flux/patch.yaml",
                &of_flux("p", "  values: {svc: x}\n").replace(
                    "  chart: {spec: {chart: c, sourceRef: {kind: GitRepository, name: g}}}\n",
                    "",
                ),
            )]),
            RENDERED,
        ),
        (
            "a chart of releases",
            files([("apps/templates/app.yaml", &templated().replace("svc: db", "svc: x"))]),
            RENDERED,
        ),
        ("a chart by reference", files([("flux/by.yaml", &by_reference("x"))]), RENDERED),
        (
            "a packed chart",
            files([
                ("rel/p.yaml", &of_flux("packed", "").replace("chart: c,", "chart: c.tgz,")),
                ("c.tgz", ""),
            ]),
            RENDERED,
        ),
        (
            "a vendored chart",
            files([("vendored/app.yaml", &ARGO.replace("path: c", "path: vendored/vendor/v"))]),
            RENDERED,
        ),
        (
            "an upgrade",
            files([(
                "c/templates/db.yaml",
                &GOOD.replace(
                    "serviceName: db",
                    "serviceName: {{ if .Release.IsUpgrade }}x{{ else }}db{{ end }}",
                ),
            )]),
            RENDERED,
        ),
        ("values for a placeholder", files([("envs/prod.yaml", "svc: x\n")]), RENDERED),
        ("values for a pattern", files([("globs/v/prod.yaml", "svc: x\n")]), RENDERED),
        ("values in a generated ConfigMap", files([("from/v.yaml", "svc: x\n")]), RENDERED),
    ]
}

fn templated() -> String {
    to_cluster("templated", "{{ .Values.cluster }}", "db")
}

fn by_reference(service: &str) -> String {
    of_flux("by", &format!("  values: {{svc: {service}}}\n")).replace(
        "chart: {spec: {chart: c, sourceRef: {kind: GitRepository, name: g}}}",
        "chartRef: {kind: HelmChart, name: ref}",
    )
}

/// More releases of the chart, each folder only for a change of its own.
fn releases() -> Files {
    files([
        ("clusters/eu.yaml", &to_cluster("eu", "eu", "eu")),
        ("clusters/us.yaml", &to_cluster("us", "us", "us")),
        ("flux/p.yaml", &of_flux("p", "  values: {svc: db}\n")),
        ("flux/patch.yaml", &of_flux("p", "")),
        ("flux/kustomization.yaml", "resources: [p.yaml]\npatches: [{path: patch.yaml}]\n"),
        ("flux/by.yaml", &by_reference("db")),
        (
            "flux/ref.yaml",
            "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmChart\nmetadata: {name: ref, namespace: shop}\nspec: {chart: ./c, sourceRef: {kind: GitRepository, name: g}}\n",
        ),
        ("apps/Chart.yaml", CHART),
        ("apps/values.yaml", "cluster: x\n"),
        ("apps/templates/app.yaml", &templated()),
        ("vendored/vendor/v/Chart.yaml", CHART),
        ("envs/set.yaml", ENVIRONMENTS),
        ("envs/prod.yaml", "svc: db\n"),
        (
            "globs/app.yaml",
            &format!(
                "{ARGO}      ignoreMissingValueFiles: true\n      valueFiles: [\"../globs/v/*.yaml\"]\n"
            ),
        ),
        ("globs/v/prod.yaml", "svc: db\n"),
        ("from/hr.yaml", &of_flux("from", "  valuesFrom: [{kind: ConfigMap, name: v}]\n")),
        (
            "from/kustomization.yaml",
            "resources: [hr.yaml]\nconfigMapGenerator: [{name: v, files: [values.yaml=v.yaml]}]\n",
        ),
        ("from/v.yaml", "svc: db\n"),
    ])
}

fn before(is_of_charts: bool) -> Folder {
    let template = GOOD
        .replace("labels: {app: db}", "labels: {app: {{ .Values.lab }}}")
        .replace("serviceName: db", "serviceName: '{{ .Values.svc }}'");
    let charts = [
        ("c/Chart.yaml", CHART),
        ("c/values.yaml", "lab: db\nsvc: db\n"),
        ("c/templates/db.yaml", &template),
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
    let kustomizations = kustomizations().into_iter().map(|it| (false, it));
    let charts = charts().into_iter().map(|it| (true, it));
    for (is_of_charts, (way, files, commands)) in kustomizations.chain(charts) {
        let folder = before(is_of_charts);
        let top = |name: &str| name.split('/').next().map(str::to_owned);
        for (name, text) in releases() {
            if files.iter().any(|(it, _)| top(it) == top(name)) {
                folder.write(name, text);
            }
        }
        folder.commit();
        folder.git("checkout -q -b change");
        for (name, bytes) in &files {
            folder.write(name, bytes);
        }
        folder.git("add -A -f");
        folder.git("commit -q -m second");
        for command in commands.iter().filter(|it| renders || !it.contains("--render")) {
            let args = format!("{command} --against-ref main");
            let ran = folder.setguard(&args.split(' ').collect::<Vec<_>>());
            if ran.code == 0 {
                passed.push(format!("{way}: {args}: {ran:#?}"));
            }
        }
    }
    assert!(passed.is_empty(), "{} pass: {}", passed.len(), passed.join("\n"));
}

#[test]
fn an_ordinary_change_passes() {
    let renders = has("helm", "--short") && has("kubectl", "--client");
    let patched = format!("{PLAIN}{}", PATCH.replace("other", "db"));
    let images = "resources: [db.yaml]\nnamespace: shop\nimages: [{name: db, newName: r.io/db, newTag: v1}]\n";
    let changes = [
        ("deploy/kustomization.yaml", images.replace("v1", "v2"), BOTH),
        ("deploy/cm.txt", "a: c\n".to_owned(), BOTH),
        ("x/README.md", "two\n".to_owned(), BOTH),
        // The name of the folder is a text in the kustomization.
        ("x/StatefulSet/main.txt", "two\n".to_owned(), BOTH),
        ("c/README.md", "two\n".to_owned(), BOTH),
        ("x/kustomization.yaml", patched.replace("resources", "\nresources"), RENDERED),
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
        folder.write("x/db.yaml", GOOD.replace("name: db,", "name: x,"));
        folder.commit();
        folder.write(name, text);
        for command in commands.iter().filter(|it| renders || !it.contains("--render")) {
            let args = format!("{command} --against-ref main");
            let ran = folder.setguard(&args.split(' ').collect::<Vec<_>>());
            assert_eq!(ran.code, 0, "{name}: {args}: {ran:#?}");
            let is_listed = ran.stdout.contains("not checked: ./x/kustomization.yaml");
            assert_eq!(is_listed, *command == "check .", "{name}: {ran:#?}");
        }
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
            let args = format!("{command} --against-ref main");
            let ran = folder.setguard(&args.split(' ').collect::<Vec<_>>());
            let code = if command.starts_with("plan") { 2 } else { 1 };
            assert_eq!(ran.code, code, "{name}: {args}: {ran:#?}");
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
        let args = format!("{command} --against-ref main");
        let ran = folder.setguard(&args.split(' ').collect::<Vec<_>>());
        assert!(format!("{ran:?}").contains("field is immutable"), "{args}: {ran:#?}");
    }
}

/// git ignores archives, so the copy of the commit has none.
#[test]
fn a_change_of_a_dependency_is_compared() {
    if !has("helm", "--short") {
        return;
    }
    let build = "set -e; for it in d l; do rm -rf $it/charts; mkdir $it/charts; helm package lib -d $it/charts; done";
    for (way, script) in [
        (
            "a chart in the repository",
            "sed -i s/serviceName:.db/serviceName:\\ x/ lib/templates/_db.yaml",
        ),
        (
            "a comment in the lock",
            "echo '# a' >> l/Chart.lock; sed -i s/serviceName:.db/serviceName:\\ x/ l/templates/db.yaml",
        ),
        (
            "another version",
            "sed -i s/1.0.0/2.0.0/ lib/Chart.yaml l/Chart.lock l/Chart.yaml; rm -r d",
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
        let script = format!("{script}; mkdir -p d; {build}");
        let ran = folder.command("sh").args(["-c", &script]).output().unwrap();
        assert!(ran.status.success(), "{way}: {ran:?}");
        for command in RENDERED {
            let args = format!("{command} --against-ref main");
            let ran = folder.setguard(&args.split(' ').collect::<Vec<_>>());
            let said = format!("{ran:?}");
            let is_compared =
                said.contains("field is immutable") || said.contains("at the commit, helm");
            assert!(ran.code > 0 && is_compared, "{way}: {args}: {ran:#?}");
        }
    }
}
