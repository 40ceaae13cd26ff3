#!/usr/bin/env python3
"""Measures the precision of `setguard check`: how many of its warnings on real repositories are true, and of use.

    benches/data/precision.py [--setguard PROGRAM] [--write] FOLDER...

Each FOLDER is a clone named OWNER+NAME. `check` runs from its root, with the flags of the action. Warnings are compared with the labels
in labels.jsonl, which people have written: true, useless (true, and nothing to do about it) or false. Those without a label are
printed; --write adds them to the file with the label "?", to be replaced by hand. The labels contain no text of the manifests.

The exit code is 1 if a warning has no label.
"""

import argparse
import collections
import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
LABELS = HERE / "labels.jsonl"
ANSWERS = ("true", "useless", "false")
KEYS = ("repository", "path", "object", "rule")


def warnings(program, folder):
    """The warnings of a repository, and the number of objects that were checked."""
    run = subprocess.run(
        [program, "check", ".", "--format", "json", "--allow-empty", "--no-config"],
        cwd=folder, capture_output=True, text=True, check=False)
    try:
        report = json.loads(run.stdout)
    except json.JSONDecodeError:
        sys.exit(f"{folder}: {run.stderr}")
    found = []
    for finding in report["findings"]:
        if finding["severity"] == "warning":
            path = finding["file"].removeprefix("./")
            name = finding["object"]["name"]
            found.append((folder.name.replace("+", "/"), path, name, finding["rule"]))
    return found, report["summary"]["objects"]


def commit(folder):
    run = subprocess.run(["git", "rev-parse", "HEAD"], cwd=folder, capture_output=True, text=True, check=False)
    return run.stdout.strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--setguard", default="target/release/setguard", type=Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    args = parser.parse_args()
    program = args.setguard.resolve()

    entries = [json.loads(line) for line in LABELS.read_text().splitlines()]
    labels = {tuple(entry[key] for key in KEYS): entry for entry in entries}
    counts = collections.defaultdict(collections.Counter)
    distinct = collections.defaultdict(collections.Counter)
    seen, missing, objects = set(), [], 0
    for folder in args.folders:
        found, checked = warnings(program, folder)
        objects += checked
        for warning in found:
            label = labels.get(warning, {}).get("label", "?")
            counts[warning[3]][label] += 1
            # Many repositories have a file for each of their releases.
            once = (warning[0], warning[2], warning[3])
            if once not in seen:
                seen.add(once)
                distinct[warning[3]][label] += 1
            if label not in ANSWERS:
                missing.append((warning, folder))

    print(f"{len(args.folders)} repositories, {objects} objects\n")
    print(f"{'rule':32}{'true':>8}{'useless':>9}{'false':>7}{'?':>5}   without repetitions")
    total, total_distinct = collections.Counter(), collections.Counter()
    for rule in sorted(counts):
        one, other = counts[rule], distinct[rule]
        total.update(one)
        total_distinct.update(other)
        print(f"{rule:32}{one['true']:8}{one['useless']:9}{one['false']:7}{one['?']:5}   "
              f"{other['true']} true, {other['useless']} useless, {other['false']} false")
    for title, sums in (("all", total), ("all, without repetitions", total_distinct)):
        labelled = sum(sums[answer] for answer in ANSWERS)
        if labelled:
            print(f"{title}: {sums['true']} of {labelled} true and of use ({100 * sums['true'] / labelled:.0f} %), "
                  f"{sums['false']} false")

    for warning, _ in missing:
        print("no label:", *warning)
    if args.write and missing:
        with LABELS.open("a") as file:
            for warning, folder in missing:
                if warning not in labels:
                    entry = dict(zip(KEYS, warning), commit=commit(folder), label="?", why="")
                    file.write(json.dumps(entry) + "\n")
    sys.exit(bool(missing))


if __name__ == "__main__":
    main()
