//! A stream that is long enough to be checked in parts.

use crate::folder::{Folder, on_delete};

/// Documents with findings, alone and about each other, with a comment that exempts one, and an unreadable document. A
/// comment of this length precedes each.
fn stream(padding: usize) -> String {
    let padding = "-".repeat(padding);
    let comment = "# setguard: ignore[host-port-conflict] they never run at the same time\n";
    let pods = "      hostNetwork: true\n";
    let mut documents: Vec<_> = (0..12)
        .map(|i| {
            let own = if i == 7 { comment } else { "" };
            let set = on_delete(&format!("agent-{i}"), pods);
            let set = set.replace("port: 80,", &format!("port: {},", 80 + i % 2));
            let ports = format!("        ports: [{{containerPort: {}}}]\n", 80 + i % 2);
            format!("# {padding}\n{own}{set}{ports}")
        })
        .collect();
    // Comments above the first `---` belong to the first document.
    documents.insert(0, format!("# {padding}\n{comment}"));
    documents.insert(9, format!("# {padding}\na: [\n"));
    documents.join("---\n")
}

#[test]
fn a_long_stream_has_the_findings_of_a_short_one() {
    let of = |padding| Folder::new([("sets.yaml", stream(padding).as_str())]).check("sets.yaml");
    let (short, long) = (of(10), of(400_000));
    assert_eq!(short.code, 2, "{short:?}");
    assert_eq!((&long.stdout, &long.stderr), (&short.stdout, &short.stderr));
    for text in ["warning[host-port-conflict]", "12 sets", "1 document not readable"] {
        assert!(short.stdout.contains(text), "{short:?}");
    }
}
