//! The documented chart commands work with the registry and with a checkout.

use std::{fs, path::Path};

#[test]
fn commands_with_the_chart_need_no_checkout() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let mut commands = 0;
    for entry in fs::read_dir(docs).unwrap() {
        let path = entry.unwrap().path();
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let page = path.file_name().unwrap().display();
        for line in text.lines() {
            let line = line.trim();
            let of = ["helm install setguard ", "helm upgrade setguard "];
            let Some(rest) = of.iter().find_map(|command| line.strip_prefix(command)) else {
                continue;
            };
            commands += 1;
            // Only for development in a checkout.
            if rest.starts_with("./charts/setguard ") {
                assert!(text.contains("from a checkout"), "{page}: {line}");
                continue;
            }
            let chart = rest.split(' ').next().unwrap();
            assert!(chart == "\"$chart\"" || chart.starts_with("oci://"), "{page}: {line}");
            if chart.starts_with('"') {
                for source in ["chart=", "oci://ghcr.io/setguard/charts/setguard"] {
                    assert!(text.contains(source), "{page} does not say what $chart is");
                }
            }
        }
    }
    assert!(commands > 4, "{commands}");
}
