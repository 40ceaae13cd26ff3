//! Terminal pictures of the program's real output: `docs/pictures/`.

use std::fmt::Write as _;

use crate::prelude::*;

const COLUMNS: usize = 100;
/// The size of a character, in pixels.
const WIDTH: f64 = 7.8;
const HEIGHT: f64 = 18.0;
const MARGIN: f64 = 16.0;

#[derive(Clone, Copy, Default, PartialEq)]
struct Style {
    bold: bool,
    /// 0 to 15, in ANSI order.
    color: Option<u8>,
}

impl Style {
    /// Applies a sequence `ESC [ … m`. Supports only the sequences that setguard uses.
    fn apply(&mut self, sequence: &str) {
        for code in sequence.split(';').map(|code| code.parse::<u8>().unwrap_or(0)) {
            match code {
                0 => *self = Style::default(),
                1 => self.bold = true,
                30..=37 => self.color = Some(code - 30),
                90..=97 => self.color = Some(code - 90 + 8),
                code => panic!("a picture has no style {code}"),
            }
        }
    }

    fn class(self) -> String {
        let bold = self.bold.then(|| "b".to_owned());
        let color = self.color.map(|color| format!("c{color}"));
        bold.into_iter().chain(color).collect::<Vec<_>>().join(" ")
    }
}

type Row = Vec<(Style, String)>;

fn rows(output: &str) -> Vec<Row> {
    let mut style = Style::default();
    let mut rows = Vec::new();
    for line in output.lines() {
        let mut row: Row = Vec::new();
        let mut column = 0;
        let mut chars = line.chars();
        while let Some(c) = chars.next() {
            if c == '\x1b' {
                let sequence: String = chars.by_ref().take_while(|c| *c != 'm').collect();
                style.apply(sequence.strip_prefix('[').unwrap());
                continue;
            }
            if column == COLUMNS {
                rows.push(std::mem::take(&mut row));
                column = 0;
            }
            column += 1;
            match row.last_mut().filter(|(last, _)| *last == style) {
                Some((_, text)) => text.push(c),
                None => row.push((style, c.to_string())),
            }
        }
        rows.push(row);
    }
    rows
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// The picture has its own dark background, to suit light and dark pages.
fn svg(title: &str, rows: &[Row]) -> String {
    let lengths = rows.iter().map(|row| row.iter().map(|(_, text)| text.chars().count()).sum());
    let columns: usize = lengths.clone().max().unwrap_or(0);
    let width = columns as f64 * WIDTH + 2.0 * MARGIN;
    let height = rows.len() as f64 * HEIGHT + 2.0 * MARGIN;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\">\n\
         <!-- Drawn by tests/it/pictures.rs from what the program prints. -->\n\
         <title>{}</title>\n\
         <style>\n\
         text {{ font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; fill: #d7dae0; white-space: pre }}\n\
         .b {{ font-weight: bold }}\n\
         .c1, .c9 {{ fill: #ff7b72 }} .c2, .c10 {{ fill: #7ee787 }} .c3, .c11 {{ fill: #e3b341 }}\n\
         .c4, .c12 {{ fill: #79c0ff }} .c5, .c13 {{ fill: #d2a8ff }} .c6, .c14 {{ fill: #56d4dd }}\n\
         </style>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#161b22\"/>\n",
        escape(title)
    );
    for ((row, length), number) in rows.iter().zip(lengths).zip(1_u32..) {
        if length == 0 {
            continue;
        }
        let y = f64::from(number) * HEIGHT + MARGIN - 5.0;
        let long = length as f64 * WIDTH;
        write!(
            out,
            "<text x=\"{MARGIN}\" y=\"{y}\" textLength=\"{long:.1}\" xml:space=\"preserve\">"
        )
        .unwrap();
        for (style, text) in row {
            match &*style.class() {
                "" => out += &escape(text),
                class => write!(out, "<tspan class=\"{class}\">{}</tspan>", escape(text)).unwrap(),
            }
        }
        out += "</text>\n";
    }
    out + "</svg>\n"
}

fn picture(folder: &Path, command: &str, more: &[(&str, &Path)]) -> String {
    let mut words = command.split(' ');
    assert_eq!(words.next(), Some("setguard"));
    let mut program = Command::new(env!("CARGO_BIN_EXE_setguard"));
    program.args(words).current_dir(folder);
    program
        .env_clear()
        .env("CLICOLOR_FORCE", "1")
        .env("COLUMNS", COLUMNS.to_string())
        .envs(more.iter().copied());
    let ran = Ran::from(program.output().unwrap());
    assert_eq!(ran.stderr, "", "{command}");
    let mut all = rows(&format!("$ {command}\n\n{}", ran.stdout.trim_end()));
    all[0][0].0.bold = true;
    svg(command, &all)
}

fn of_examples(folder: &str, command: &str) -> String {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    picture(&examples.join(folder), command, &[])
}

#[cfg(unix)]
fn audit() -> Option<String> {
    let api_server = ApiServer::start("36");
    for json in support::to_json(include_str!("../fixtures/pictures/cluster.yaml")) {
        let object: Value = serde_json::from_str(&json).unwrap();
        let kind = object["kind"].as_str().unwrap();
        api_server.apply(&format!("{}s", kind.to_lowercase()), &object);
    }
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = api_server.kubeconfig(folder.path());
    Some(picture(folder.path(), "setguard audit", &[("KUBECONFIG", &kubeconfig)]))
}

#[cfg(not(unix))]
fn audit() -> Option<String> {
    None
}

fn timeline() -> String {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/plan");
    let mut program = Command::new(env!("CARGO_BIN_EXE_setguard"));
    program.args(["plan", "after/", "--against", "before/", "--format", "svg"]);
    let ran = Ran::from(program.current_dir(examples).env_clear().output().unwrap());
    assert_eq!(ran.stderr, "");
    ran.stdout
}

pub(crate) fn all() -> Vec<(&'static str, String)> {
    let check = "setguard check refused-surge-alone.yaml trap-partition-covers-all.yaml";
    let plan = "setguard plan after/ --against before/";
    [
        ("docs/pictures/timeline.svg", timeline()),
        ("docs/pictures/check.svg", of_examples("manifests", check)),
        ("docs/pictures/plan.svg", of_examples("plan", plan)),
    ]
    .into_iter()
    .chain(audit().map(|drawn| ("docs/pictures/audit.svg", drawn)))
    .collect()
}

#[test]
fn a_screen_has_its_styles_and_breaks_long_lines() {
    let long = "x".repeat(COLUMNS);
    let text = format!("a\x1b[1m\x1b[91mb<\x1b[0mc\n{long}y\n");
    let rows = rows(&text);
    let red = Style { bold: true, color: Some(9) };
    let plain = Style::default();
    assert!(rows[0] == [(plain, "a".into()), (red, "b<".into()), (plain, "c".into())]);
    assert!(rows[1] == [(plain, long)] && rows[2] == [(plain, "y".into())]);
    let drawn = svg("<", &rows);
    assert!(drawn.contains("a<tspan class=\"b c9\">b&lt;</tspan>c</text>"), "{drawn}");
    assert!(roxmltree::Document::parse(&drawn).is_ok(), "{drawn}");
}

#[test]
fn each_picture_is_shown_somewhere() {
    let readme = support::read("README.md");
    for (path, text) in all() {
        assert!(readme.contains(&format!("]({path})")), "README.md does not show {path}");
        assert!(roxmltree::Document::parse(&text).is_ok(), "{path}");
    }
}
