//! The commands that may be suggested: those that only read. An allowlist, because no list of harmful commands is
//! complete.

/// Programs that only read, whatever their arguments.
const LOOKERS: &[&str] = &[
    "grep",
    "rg",
    "pytest",
    "tox",
    "nox",
    "jest",
    "vitest",
    "mypy",
    "pyright",
    "shellcheck",
    "hadolint",
    "phpunit",
    "rspec",
    "ctest",
    "actionlint",
    "yamllint",
    "markdownlint",
    "tsc",
    "flake8",
    "pylint",
];

/// Programs with the subcommands that may follow them.
const WITH_VERB: &[(&str, &[&str])] = &[
    ("test", &["-f", "-e", "-d", "-s", "-x"]),
    ("cargo", &["test", "check", "clippy", "build", "nextest", "bench", "doc"]),
    ("go", &["test", "vet", "build"]),
    ("npm", &["test", "t"]),
    ("pnpm", &["test", "lint", "build", "typecheck"]),
    ("yarn", &["test", "lint", "build", "typecheck"]),
    ("bun", &["test"]),
    ("deno", &["test", "check", "lint"]),
    ("npx", &["jest", "vitest", "tsc", "eslint", "playwright"]),
    ("dotnet", &["test", "build"]),
    ("swift", &["test", "build"]),
    ("mvn", &["test", "verify"]),
    ("gradle", &["test", "check"]),
    ("./gradlew", &["test", "check"]),
    ("mix", &["test"]),
    ("zig", &["test", "build"]),
    ("terraform", &["validate"]),
    ("helm", &["lint"]),
    ("ruff", &["check"]),
    ("black", &["--check"]),
    ("eslint", &["."]),
    ("composer", &["test", "validate"]),
    ("jq", &["-e"]),
];

/// Programs that run a named project task; the name must be one that only reads.
const RUNNERS: &[&str] =
    &["make", "just", "task", "npm run", "pnpm run", "yarn run", "bun run", "bash", "sh"];
const LOOKS: &[&str] =
    &["test", "check", "lint", "build", "verify", "validate", "smoke", "e2e", "unit", "compile"];
/// Words in task names that imply more than reading.
const ACTS: &[&str] = &[
    "deploy", "publish", "release", "push", "clean", "install", "migrate", "reset", "fix", "delete", "drop",
    "seed", "watch", "upload",
];
/// Options that make a reading program write or wait.
const ACTING_OPTIONS: &[&str] = &[
    "--fix",
    "--write",
    "--watch",
    "-w",
    "-u",
    "--update-snapshot",
    "--updateSnapshot",
    "-c",
    "--command",
    "-exec",
    "-i",
    "--in-place",
    "--allow-dirty",
    "--no-run",
    "--passWithNoTests",
    "--help",
    "--version",
    "-h",
    "-V",
    "--exit-zero",
];

/// Whether a command only reads: every program in it is known to, and nothing in it leads elsewhere.
pub(super) fn is_harmless(command: &str) -> bool {
    // Substitutions, redirections, jobs and lists can run or write more than is visible.
    let is_plain = !command
        .contains([';', '`', '$', '<', '>', '(', ')', '{', '}', '\\', '\n', '\r', '#', '!', '~'])
        && !command.contains("||")
        && !command.replace("&&", "").contains('&');
    is_plain && command.split("&&").flat_map(|part| part.split('|')).all(is_looking)
}

fn is_looking(call: &str) -> bool {
    let words: Vec<&str> = call.split_whitespace().collect();
    let [program, rest @ ..] = words.as_slice() else { return false };
    if rest.iter().any(|word| ACTING_OPTIONS.contains(word)) {
        return false;
    }
    let verb = rest.first().copied().unwrap_or_default();
    if LOOKERS.contains(program) {
        return !rest.is_empty() || !["grep", "rg"].contains(program);
    }
    if matches!(*program, "python" | "python3") {
        return verb == "-m"
            && rest
                .get(1)
                .is_some_and(|module| ["pytest", "unittest", "mypy", "compileall"].contains(module));
    }
    if WITH_VERB.iter().any(|(known, verbs)| known == program && verbs.contains(&verb)) {
        return *program != "npx" || verb != "playwright" || rest.get(1) == Some(&"test");
    }
    let run = RUNNERS.iter().find_map(|runner| {
        let length = runner.split(' ').count();
        let is_it = words.len() > length && words[..length].join(" ") == **runner;
        is_it.then(|| &words[length..])
    });
    run.is_some_and(|names| {
        names.iter().filter(|name| !name.starts_with('-')).all(|name| {
            let name = name.to_lowercase();
            LOOKS.iter().any(|look| name.contains(look)) && !ACTS.iter().any(|act| name.contains(act))
        })
    })
}
