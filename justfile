# `just` lists the recipes. just is optional: each recipe is one or two plain commands.

# List the recipes
default:
    @just --list

# Format the code
fmt:
    cargo fmt --all

# Type-check everything
check:
    cargo check --locked --all-targets

# Lint, warnings denied
clippy:
    cargo clippy --locked --all-targets -- -D warnings
    cargo clippy --locked --package paired-controller --package setguard-testing -- -D warnings

# Run the tests; arguments are passed to cargo, as in `just test --test it catalogue`
test *args:
    cargo test --locked {{ args }}

# Build the API documentation, warnings denied
doc:
    RUSTDOCFLAGS="-D warnings" cargo doc --locked --no-deps

# Build the page "Try it" of the site (needs Node)
page:
    .ci/page

# Package the extension for VS Code, and test it and the language server (needs Node)
editors:
    .ci/editors test

# Licences, duplicate and unwanted crates, sources (needs cargo-deny)
deny:
    cargo deny --offline --workspace check bans licenses sources

# Write the pages of the rules and all other files that are generated from the code
generate:
    UPDATE_GENERATED=1 cargo test --locked --test it generated

# Run the benchmarks
bench *args:
    cargo bench --locked {{ args }}

# Create a local CA and a serving certificate in certs/out; arguments are additional names, as in `just certs setguard.setguard.svc`
certs *names:
    certs/generate.sh {{ names }}

# Check the example manifests; arguments are passed to setguard, as in `just run explain name-too-long`
run *args="check examples/manifests":
    cargo run --locked -- {{ args }}

# Everything that CI runs
ci:
    .ci/run
