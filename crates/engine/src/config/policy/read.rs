//! Parses a policy into what `planwright_core::policy` decides by. Reports every fault in one pass, with its
//! line and a suggestion; never ignores an unknown key, since a rule that is skipped would not be a rule.

use std::collections::{BTreeMap, BTreeSet};

use planwright_core::approval::policy::{
    Automatic, GROUP, Person, Policy, Requirement, ToolLists, When, is_plain,
};
use planwright_core::dialect::DIALECTS;
use planwright_core::run::opinion::Authority;
use planwright_core::syntax::glob::Glob;
use planwright_core::syntax::nearest;
use toml_edit::{Document, Item, TableLike, Value};

use crate::config::ConfigFault;

const TOP: &[&str] = &["signers", "auto", "approval", "groups", "people", "judge"];
const AUTOMATIC: &[&str] = &[
    "name",
    "paths",
    "tools",
    "agents",
    "commands",
    "proposers",
    "dollars",
    "tokens",
    "seconds",
    "steps_max",
    "dialects",
    "red",
];
const DEMAND: &[&str] = &["required_from", "needed", "planner_may_approve", "expires", "signed"];
const PERSON: &[&str] = &["principal", "key"];

/// The most rules, and the most entries of a list.
const RULES_MAX: usize = 256;
const LIST_MAX: usize = 256;
const TEXT_BYTES_MAX: usize = 1024;
/// Upper limits of values.
const NEEDED_MAX: u64 = 100;
const STEPS_MAX: u64 = 10_000;
const AMOUNT_MAX: u64 = 1_000_000_000_000;
const DOLLARS_MAX: f64 = 1_000_000.0;
const EXPIRES_SECONDS_MAX: u64 = 10 * 365 * 86_400;

/// A parsed policy, with the file of its signers.
#[derive(Debug, Clone, Default)]
pub(super) struct PolicyRead {
    pub(super) policy: Policy,
    pub(super) signers: Option<String>,
}

pub(super) fn read(text: &str) -> Result<PolicyRead, Vec<ConfigFault>> {
    let document = Document::parse(text).map_err(|error| {
        vec![ConfigFault { line: None, message: error.to_string().trim_end().to_owned(), key: None }]
    })?;
    let mut reader = Reader { text, faults: Vec::new() };
    let read = reader.top(&Table { path: String::new(), table: document.as_table() });
    reader.faults.sort_by_key(|fault| fault.line);
    if reader.faults.is_empty() { Ok(read) } else { Err(reader.faults) }
}

/// A table of the file, and its path.
struct Table<'t> {
    path: String,
    table: &'t dyn TableLike,
}

impl Table<'_> {
    fn key(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }
}

struct Reader<'t> {
    text: &'t str,
    faults: Vec<ConfigFault>,
}

impl Reader<'_> {
    fn top(&mut self, top: &Table<'_>) -> PolicyRead {
        self.known(top, &[TOP]);
        let mut policy = Policy::default();
        for (name, person) in self.named(top, "people") {
            policy.people.insert(name, self.person(&person));
        }
        self.groups(top, &mut policy);
        for (place, rule) in self.tables(top, "auto").iter().enumerate() {
            let rule = self.automatic(rule, place);
            policy.automatic.push(rule);
        }
        if let Some(approval) = self.table(top, "approval") {
            self.known(&approval, &[DEMAND, &["when"]]);
            policy.demand = self.demand(&approval, &policy);
            for (place, when) in self.tables(&approval, "when").iter().enumerate() {
                let when = self.when(when, place, &policy);
                policy.when.push(when);
            }
        }
        self.unique(top, "auto", policy.automatic.iter().map(|rule| rule.name.as_str()));
        self.unique(top, "approval", policy.when.iter().map(|when| when.name.as_str()));
        let signers = "the name of a file next to the policy, or an absolute path";
        let signers = self.value(top, "signers", signers, |item| {
            let is_place =
                |text: &str| text.starts_with('/') || !text.contains('/') && text != ".." && text != ".";
            item.as_str().filter(|text| is_text(text) && is_place(text)).map(str::to_owned)
        });
        let judge = self.value(top, "judge", "\"advisory\" or \"gate\"", |item| match item.as_str()? {
            "advisory" => Some(Authority::Advisory),
            "gate" => Some(Authority::Gate),
            _ => None,
        });
        policy.judge = judge.unwrap_or_default();
        PolicyRead { policy, signers }
    }

    fn automatic(&mut self, table: &Table<'_>, place: usize) -> Automatic {
        self.known(table, &[AUTOMATIC]);
        let is_dialect = |name: &str| DIALECTS.iter().any(|dialect| dialect.name == name);
        let rule = Automatic {
            name: self.rule_name(table, place),
            paths: self.paths(table),
            tools: self.tools(table),
            agents: self.list(table, "agents", "a target", is_text),
            commands: self.commands(table),
            proposers: self.list(table, "proposers", "a name", is_text),
            micro_dollars: self.dollars(table),
            tokens: self.number(table, "tokens", 0, AMOUNT_MAX),
            seconds: self.number(table, "seconds", 0, AMOUNT_MAX),
            steps_max: self
                .number(table, "steps_max", 1, STEPS_MAX)
                .and_then(|most| u32::try_from(most).ok()),
            dialects: self.list(table, "dialects", "a dialect", is_dialect),
            is_red_required: self.value(table, "red", "\"required\"", |item| {
                item.as_str().filter(|&word| word == "required").map(|_| ())
            }) == Some(()),
        };
        if rule.is_empty() && table.table.iter().all(|(key, _)| key == "name") {
            self.fault_at(
                table,
                "name",
                format!("`{}` has no condition and would approve everything", table.path),
            );
        }
        rule
    }

    fn when(&mut self, table: &Table<'_>, place: usize, policy: &Policy) -> When {
        self.known(table, &[DEMAND, &["name", "paths", "tools", "dollars"]]);
        for (key, loose) in [("planner_may_approve", true), ("signed", false)] {
            if table.table.get(key).and_then(Item::as_bool) == Some(loose) {
                let message = format!("`{}` cannot loosen a requirement for every plan", table.key(key));
                self.fault_at(table, key, message);
            }
        }
        When {
            name: self.rule_name(table, place),
            paths: self.paths(table),
            tools: self.list(table, "tools", "a tool", is_text),
            micro_dollars: self.dollars(table),
            demand: self.demand(table, policy),
        }
    }

    fn demand(&mut self, table: &Table<'_>, policy: &Policy) -> Requirement {
        let from = self.list(table, "required_from", "a name or `group:NAME`", |party| {
            is_plain(party.strip_prefix(GROUP).unwrap_or(party))
        });
        for party in from.iter().flatten() {
            match party.strip_prefix(GROUP) {
                Some(group) => self.expect_known(table, "required_from", party, group, policy.groups.keys()),
                None if policy.people.is_empty() => {}
                None => self.expect_known(table, "required_from", party, party, policy.people.keys()),
            }
        }
        let needed = self.number(table, "needed", 1, NEEDED_MAX).and_then(|count| u32::try_from(count).ok());
        let people = from.as_ref().map(|from| policy.people_of(from).len());
        if let (Some(needed), Some(people)) = (needed, people)
            && (needed as usize) > people
        {
            let message = format!("`{}` is {needed}, but only {people} may approve", table.key("needed"));
            self.fault_at(table, "needed", message);
        }
        let expires = "a duration such as \"12h\" or \"7d\"";
        Requirement {
            from,
            needed,
            planner_may_approve: self.value(table, "planner_may_approve", "true or false", Item::as_bool),
            expires_seconds: self.value(table, "expires", expires, |item| seconds(item.as_str()?)),
            is_signed: self.value(table, "signed", "true or false", Item::as_bool),
        }
    }

    fn person(&mut self, table: &Table<'_>) -> Person {
        self.known(table, &[PERSON]);
        let fingerprint = |item: &Item| {
            let text = item.as_str()?;
            let hash = text.strip_prefix("SHA256:")?;
            (hash.len() == 43
                && hash.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/".contains(&byte)))
            .then(|| text.to_owned())
        };
        Person {
            principal: self.plain_text(table, "principal"),
            key: self.value(
                table,
                "key",
                "a fingerprint as `ssh-keygen -l` prints it: \"SHA256:…\"",
                fingerprint,
            ),
        }
    }

    fn groups(&mut self, top: &Table<'_>, policy: &mut Policy) {
        let Some(groups) = self.table(top, "groups") else { return };
        for (name, _) in groups.table.iter() {
            let key = groups.key(name);
            if !is_plain(name) {
                let message = format!("invalid group name `{key}`; use ASCII letters, digits and `._@+-`");
                self.fault_at(&groups, name, message);
            }
            let people = self.list(&groups, name, "the name of a person", is_plain).unwrap_or_default();
            for person in people.iter().filter(|_| !policy.people.is_empty()) {
                self.expect_known(&groups, name, person, person, policy.people.keys());
            }
            policy.groups.insert(name.to_owned(), people.into_iter().collect());
        }
    }

    /// Reports a name that the policy doesn't define; `party` is how the list spells it.
    fn expect_known<'n>(
        &mut self,
        table: &Table<'_>,
        key: &str,
        party: &str,
        name: &str,
        known: impl Iterator<Item = &'n String>,
    ) {
        let known: Vec<&str> = known.map(String::as_str).collect();
        if !known.contains(&name) {
            let near = nearest::nearest(name, known).map(|near| party.replace(name, near));
            let meant = nearest::did_you_mean(near);
            let message = format!("`{}` names `{party}`, who is not in the policy{meant}", table.key(key));
            self.fault_at(table, key, message);
        }
    }

    fn commands(&mut self, table: &Table<'_>) -> Option<BTreeMap<String, Vec<String>>> {
        let commands = self.table(table, "commands")?;
        let mut all = BTreeMap::new();
        for (target, _) in commands.table.iter() {
            let words = self.list(&commands, target, "a word", |word| word.len() <= TEXT_BYTES_MAX);
            all.insert(target.to_owned(), words.unwrap_or_default());
        }
        Some(all)
    }

    fn tools(&mut self, table: &Table<'_>) -> Option<ToolLists> {
        match table.table.get("tools").and_then(Item::as_str) {
            Some("any") => Some(ToolLists::Any),
            Some(_) | None => self.list(table, "tools", "a tool", is_text).map(ToolLists::These),
        }
    }

    fn paths(&mut self, table: &Table<'_>) -> Option<Vec<Glob>> {
        let patterns = self.list(table, "paths", "a path pattern", is_text)?;
        let mut globs = Vec::new();
        for pattern in patterns {
            match Glob::new(&pattern) {
                Ok(glob) => globs.push(glob),
                Err(error) => {
                    let message =
                        format!("`{}`: invalid path pattern `{pattern}`: {error}", table.key("paths"));
                    self.fault_at(table, "paths", message);
                }
            }
        }
        Some(globs)
    }

    fn dollars(&mut self, table: &Table<'_>) -> Option<u64> {
        let what = format!("an amount from 0 to {DOLLARS_MAX}");
        self.value(table, "dollars", &what, |item| {
            let amount = item.as_float().or_else(|| i32::try_from(item.as_integer()?).ok().map(f64::from))?;
            (0.0..=DOLLARS_MAX).contains(&amount).then(|| micro(amount))
        })
    }

    fn number(&mut self, table: &Table<'_>, key: &str, min: u64, max: u64) -> Option<u64> {
        self.value(table, key, &format!("a whole number from {min} to {max}"), |item| {
            u64::try_from(item.as_integer()?).ok().filter(|number| (min..=max).contains(number))
        })
    }

    fn plain_text(&mut self, table: &Table<'_>, key: &str) -> Option<String> {
        let read = |item: &Item| item.as_str().filter(|text| is_text(text)).map(str::to_owned);
        self.value(table, key, "a single-line string", read)
    }

    /// The name of a rule, which every decision cites.
    fn rule_name(&mut self, table: &Table<'_>, place: usize) -> String {
        let what = "a name of ASCII letters, digits and `._@+-`";
        let name = self.value(table, "name", what, |item| {
            item.as_str().filter(|name| is_plain(name)).map(str::to_owned)
        });
        if table.table.get("name").is_none() {
            self.fault(
                self.first_line(table),
                &table.path,
                format!("`{}` number {} has no name", table.path, place + 1),
            );
        }
        name.unwrap_or_default()
    }

    fn unique<'n>(&mut self, table: &Table<'_>, key: &str, names: impl Iterator<Item = &'n str>) {
        let mut seen = BTreeSet::new();
        for name in names.filter(|name| !name.is_empty()) {
            if !seen.insert(name) {
                self.fault_at(table, key, format!("duplicate rule name `{name}`"));
            }
        }
    }

    /// A non-empty list of valid, distinct strings.
    fn list(
        &mut self,
        table: &Table<'_>,
        key: &str,
        each: &str,
        is_right: impl Fn(&str) -> bool,
    ) -> Option<Vec<String>> {
        let what = "a non-empty list of strings";
        let read = |item: &Item| {
            let list = item.as_array().filter(|list| !list.is_empty() && list.len() <= LIST_MAX)?;
            list.iter().map(|text| text.as_str().map(str::to_owned)).collect::<Option<Vec<String>>>()
        };
        let list = self.value(table, key, what, read)?;
        for text in list.iter().filter(|text| !is_right(text)) {
            let message = format!("`{}`: `{}` is not {each}", table.key(key), text.escape_debug());
            self.fault_at(table, key, message);
        }
        Some(list)
    }

    /// The value of a key, if it is valid.
    fn value<T>(
        &mut self,
        table: &Table<'_>,
        key: &str,
        what: &str,
        read: impl Fn(&Item) -> Option<T>,
    ) -> Option<T> {
        let item = table.table.get(key)?;
        let value = read(item);
        if value.is_none() {
            let found = item.to_string();
            let message =
                format!("`{}` must be {what}, not `{}`", table.key(key), found.trim().escape_debug());
            self.fault_at(table, key, message);
        }
        value
    }

    fn table<'t>(&mut self, table: &Table<'t>, key: &str) -> Option<Table<'t>> {
        let item = table.table.get(key)?;
        let below = item.as_table_like().map(|below| Table { path: table.key(key), table: below });
        if below.is_none() {
            self.fault_at(table, key, format!("`{}` must be a table", table.key(key)));
        }
        below
    }

    /// The subtables of a table, by name.
    fn named<'t>(&mut self, table: &Table<'t>, key: &str) -> Vec<(String, Table<'t>)> {
        let Some(all) = self.table(table, key) else { return Vec::new() };
        let mut named = Vec::new();
        for (name, _) in all.table.iter() {
            if !is_plain(name) {
                let path = all.key(name);
                let message = format!("invalid name `{path}`; use ASCII letters, digits and `._@+-`");
                self.fault_at(&all, name, message);
            }
            named.extend(self.table(&all, name).map(|below| (name.to_owned(), below)));
        }
        named
    }

    /// An array of tables: `[[auto]]`.
    fn tables<'t>(&mut self, table: &Table<'t>, key: &str) -> Vec<Table<'t>> {
        let Some(item) = table.table.get(key) else { return Vec::new() };
        let path = table.key(key);
        let all: Option<Vec<&dyn TableLike>> = match item {
            Item::ArrayOfTables(tables) => Some(tables.iter().map(|table| table as &dyn TableLike).collect()),
            Item::Value(Value::Array(list)) => list
                .iter()
                .map(|table| table.as_inline_table().map(|table| table as &dyn TableLike))
                .collect(),
            Item::None | Item::Table(_) | Item::Value(_) => None,
        };
        match all {
            Some(all) if all.len() <= RULES_MAX => {
                all.into_iter().map(|table| Table { path: path.clone(), table }).collect()
            }
            Some(_) | None => {
                let message = format!("`{path}` must be a list of at most {RULES_MAX} tables: `[[{path}]]`");
                self.fault_at(table, key, message);
                Vec::new()
            }
        }
    }

    fn known(&mut self, table: &Table<'_>, keys: &[&[&str]]) {
        let known = || keys.iter().copied().flatten().copied();
        for (key, _) in table.table.iter().filter(|(key, _)| !known().any(|known| known == *key)) {
            let near = nearest::nearest(key, known()).map(|near| table.key(near));
            let message = format!("unknown key `{}`{}", table.key(key), nearest::did_you_mean(near));
            self.fault_at(table, key, message);
        }
    }

    fn fault_at(&mut self, table: &Table<'_>, key: &str, message: String) {
        self.fault(self.line(table, key), &table.key(key), message);
    }

    fn fault(&mut self, line: Option<usize>, key: &str, message: String) {
        self.faults.push(ConfigFault { line, message, key: Some(key.to_owned()) });
    }

    fn line(&self, table: &Table<'_>, key: &str) -> Option<usize> {
        let span = table.table.key(key).and_then(toml_edit::Key::span);
        // An array of tables has no key of its own: its first table has the position.
        let span = span.or_else(|| table.table.get(key).and_then(Item::span));
        span.map(|span| self.line_at(span.start))
    }

    fn first_line(&self, table: &Table<'_>) -> Option<usize> {
        let starts = table.table.iter().filter_map(|(key, _)| table.table.key(key)?.span());
        starts.map(|span| self.line_at(span.start)).min()
    }

    fn line_at(&self, start: usize) -> usize {
        self.text[..start.min(self.text.len())].matches('\n').count() + 1
    }
}

fn is_text(text: &str) -> bool {
    !text.trim().is_empty() && text.len() <= TEXT_BYTES_MAX && !text.chars().any(char::is_control)
}

/// A duration: a whole number and one of `s`, `m`, `h`, `d`, `w`. Never zero, and at most ten years.
fn seconds(text: &str) -> Option<u64> {
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let unit = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        "w" => 604_800,
        _ => return None,
    };
    let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
    let seconds = number.parse::<u64>().ok().filter(|_| is_number)?.checked_mul(unit)?;
    (1..=EXPIRES_SECONDS_MAX).contains(&seconds).then_some(seconds)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the amount is between nothing and a million"
)]
fn micro(dollars: f64) -> u64 {
    (dollars * 1e6).round() as u64
}

#[cfg(test)]
mod tests;
