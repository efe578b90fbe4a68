# Short names for the commands of this repository. All of them work without just; `just` lists them.

# List the recipes.
default:
    @just --list

# Everything that must be green before a change lands.
check:
    scripts/check

# The part of check that a change needs after every edit: format, lints, tests.
quick:
    scripts/check --quick

# Unit and integration tests.
test:
    scripts/check --only test

# Clippy on every target; warnings are errors.
lint:
    cargo clippy --workspace --all-targets --locked -- -D warnings

# What takes hours: every point of the sweeps, new seeds, fuzzing.
long:
    scripts/check --long

# Format every file in place.
fmt:
    cargo fmt --all

# Bans, licences, sources and advisories of the dependencies.
deny:
    scripts/check --only deny

# Fuzz every target for some seconds: `just fuzz 60`.
fuzz seconds="10":
    scripts/fuzz --seconds {{ seconds }}

# Run the benchmarks.
bench:
    cargo bench --workspace --locked

# Verify the example plan. It has faults on purpose, so the program answers no (exit code 1), which is not an error here.
demo:
    cargo run --release -- verify examples/harbor/plans/auth-timeout.md || test $? -eq 1
