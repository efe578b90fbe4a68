//! Which module of a crate names which other one: `use` trees and paths in code, followed through aliases, `super`, globs
//! and re-exports. It resolves names, not types, and over-approximates: a name that may mean two modules means both.
//! Tests and programs (`main.rs`, `bin`) are left out.

use std::collections::{BTreeMap, BTreeSet};

use crate::rust;
use crate::tree::File;

/// A module from the root of its crate: `["store", "journal"]`, and nothing for `lib.rs`.
pub(crate) type Module = Vec<String>;

/// The maximum number of re-exports that one name is followed through.
const HOPS_MAX: usize = 12;

/// One place in the code that names a module.
#[derive(Debug)]
pub(crate) struct Mention {
    pub(crate) file: String,
    pub(crate) line: usize,
    pub(crate) from: Module,
    /// One of the modules that the path leads through or to. The root only if it defines what is named.
    pub(crate) to: Module,
    /// The path as it is written, groups spelled out.
    pub(crate) path: String,
}

/// The modules of one crate.
pub(crate) struct Crate {
    modules: BTreeMap<Module, Scope>,
    /// The modules that `lib.rs` declares, in its order.
    pub(crate) declared: Vec<String>,
}

/// What is written in one module.
#[derive(Default)]
struct Scope {
    file: String,
    /// Imported names with the paths that they stand for; more than one if functions import different things by one name.
    imports: BTreeMap<String, Vec<Vec<String>>>,
    globs: Vec<Vec<String>>,
    /// Every path, of an import or in code, with its line.
    paths: Vec<(usize, Vec<String>)>,
    declared: Vec<String>,
}

impl Crate {
    /// Reads `crates/<name>/src`.
    pub(crate) fn read<'a>(files: impl IntoIterator<Item = &'a File>, name: &str) -> Self {
        let root = format!("crates/{name}/src/");
        let mut modules = BTreeMap::new();
        for file in files.into_iter().filter(|file| file.is_source_of(name)) {
            let inside = file.path.strip_prefix(&root).unwrap_or(&file.path).trim_end_matches(".rs");
            let is_test = inside.ends_with("tests");
            if is_test || inside == "main" || inside.starts_with("bin/") {
                continue;
            }
            let module =
                if inside == "lib" { Vec::new() } else { inside.split('/').map(str::to_owned).collect() };
            Reader::new(file, &mut modules).read(&module);
        }
        let declared = modules.get(&Module::new()).map(|root| root.declared.clone()).unwrap_or_default();
        Self { modules, declared }
    }

    /// Every module that a module names, except itself. An imported name counts once, at its import; a longer path that
    /// starts with it counts only where it leads further than the import.
    pub(crate) fn mentions(&self) -> Vec<Mention> {
        let mut found = Vec::new();
        for (from, scope) in &self.modules {
            for (line, path) in &scope.paths {
                let is_imported = scope.imports.contains_key(&path[0]);
                let head = if is_imported { self.resolve(from, &path[..1]) } else { BTreeSet::new() };
                for to in self.resolve(from, path).into_iter().filter(|to| to != from && !head.contains(to)) {
                    found.push(Mention {
                        file: scope.file.clone(),
                        line: *line,
                        from: from.clone(),
                        to,
                        path: path.join("::"),
                    });
                }
            }
        }
        found
    }

    fn resolve(&self, module: &[String], path: &[String]) -> BTreeSet<Module> {
        let mut found = BTreeSet::new();
        self.follow(module, path, 0, &mut found);
        found
    }

    /// Adds what `path` means where it is written in `module`.
    fn follow(&self, module: &[String], path: &[String], hops: usize, found: &mut BTreeSet<Module>) {
        if hops > HOPS_MAX {
            return;
        }
        match path.first().map(String::as_str) {
            Some("crate") => self.walk(&[], &path[1..], hops, found),
            Some("self") => self.follow_or_walk(module, &path[1..], hops, found),
            Some("super") => {
                let above = module.split_last().map_or(module, |(_, above)| above);
                self.follow_or_walk(above, &path[1..], hops, found);
            }
            Some(_) => {
                // Any other name leads somewhere only if it is a child module, an import or provided by a glob.
                let is_known = self
                    .modules
                    .get(module)
                    .is_some_and(|scope| scope.imports.contains_key(&path[0]) || !scope.globs.is_empty());
                if is_known || self.modules.contains_key(&child(module, &path[0])) {
                    self.walk(module, path, hops, found);
                }
            }
            None => {}
        }
    }

    /// `super::super::x` goes up once more; after that only names follow.
    fn follow_or_walk(&self, module: &[String], path: &[String], hops: usize, found: &mut BTreeSet<Module>) {
        if path.first().is_some_and(|name| name == "super") {
            self.follow(module, path, hops, found);
        } else {
            self.walk(module, path, hops, found);
        }
    }

    /// Goes down from the module `here` by the names of `rest`.
    fn walk(&self, here: &[String], rest: &[String], hops: usize, found: &mut BTreeSet<Module>) {
        let Some(scope) = self.modules.get(here) else { return };
        if !here.is_empty() {
            found.insert(here.to_vec());
        }
        let Some((name, more)) = rest.split_first() else { return };
        let below = child(here, name);
        let is_module = self.modules.contains_key(&below);
        if is_module {
            self.walk(&below, more, hops, found);
        }
        let imports = scope.imports.get(name);
        for import in imports.into_iter().flatten() {
            let path: Vec<String> = import.iter().chain(more).cloned().collect();
            self.follow(here, &path, hops + 1, found);
        }
        if is_module || imports.is_some() {
            return;
        }
        let mut by_glob = BTreeSet::new();
        for glob in &scope.globs {
            let path: Vec<String> = glob.iter().chain(rest).cloned().collect();
            self.follow(here, &path, hops + 1, &mut by_glob);
        }
        // A name that no glob provides says nothing about the root.
        by_glob.remove(&Module::new());
        if here.is_empty() && by_glob.is_empty() {
            found.insert(Module::new());
        }
        found.append(&mut by_glob);
    }
}

fn child(module: &[String], name: &str) -> Module {
    module.iter().cloned().chain([name.to_owned()]).collect()
}

/// A word or a sign of code, with its line. A raw name keeps its `r#`, so that it isn't taken for a keyword.
#[derive(Debug)]
struct Token {
    line: usize,
    text: String,
}

fn tokens(lines: &[rust::Line]) -> Vec<Token> {
    let mut found = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let mut rest = line.code.trim_start();
        while let Some(first) = rest.chars().next() {
            let is_raw = rest.starts_with("r#") && rest[2..].starts_with(rust::is_word);
            let start = if is_raw { 2 } else { usize::from(first == '\'') };
            let word = rest[start..].find(|c| !rust::is_word(c)).unwrap_or(rest.len() - start);
            let length = match start + word {
                0 if rest.starts_with("::") => 2,
                0 => first.len_utf8(),
                length => length,
            };
            // A lifetime is not a name, and neither is the quote that remains of a literal.
            if first != '\'' {
                found.push(Token { line: index + 1, text: rest[..length].to_owned() });
            }
            rest = rest[length..].trim_start();
        }
    }
    found
}

/// Reads the tokens of one file into scopes.
struct Reader<'a> {
    file: &'a File,
    modules: &'a mut BTreeMap<Module, Scope>,
    tokens: Vec<Token>,
    at: usize,
}

impl<'a> Reader<'a> {
    fn new(file: &'a File, modules: &'a mut BTreeMap<Module, Scope>) -> Self {
        let tokens = tokens(&rust::without_tests(rust::lines(&file.text)));
        Self { file, modules, tokens, at: 0 }
    }

    /// Reads until the end of the file, or to the brace that closes an inline module.
    fn read(&mut self, module: &Module) {
        let file = self.file.path.clone();
        self.scope(module).file = file;
        let mut depth = 0_usize;
        while self.at < self.tokens.len() {
            match self.text(0) {
                "{" => depth += 1,
                "}" if depth == 0 => return,
                "}" => depth -= 1,
                "pub" if self.text(1) == "(" => self.at += self.until(")"),
                "use" if self.text(1) != "<" => {
                    self.at += 1;
                    self.import(module, &[]);
                }
                "mod" => self.declaration(module),
                text if text.starts_with(is_name) && !self.is_member() => self.path(module),
                _ => {}
            }
            self.at += 1;
        }
    }

    fn scope(&mut self, module: &[String]) -> &mut Scope {
        self.modules.entry(module.to_vec()).or_default()
    }

    fn text(&self, ahead: usize) -> &str {
        self.tokens.get(self.at + ahead).map_or("", |token| &token.text)
    }

    fn line(&self) -> usize {
        self.tokens.get(self.at).map_or(0, |token| token.line)
    }

    fn until(&self, sign: &str) -> usize {
        self.tokens[self.at..].iter().position(|token| token.text == sign).unwrap_or(0)
    }

    /// Whether the name here belongs to the token before it: `value.name` or `<T as Trait>::name`, not `..name`.
    fn is_member(&self) -> bool {
        let before = |back: usize| self.at.checked_sub(back).map_or("", |at| self.tokens[at].text.as_str());
        before(1) == "::" || (before(1) == "." && before(2) != ".")
    }

    /// `mod name;` or `mod name { … }`; ends at the token after it.
    fn declaration(&mut self, module: &Module) {
        let name = plain(self.text(1)).to_owned();
        self.at += 2;
        if self.text(0) == "{" {
            self.at += 1;
            self.read(&child(module, &name));
        } else {
            self.scope(module).declared.push(name);
        }
    }

    /// A path in code; ends at its last name.
    fn path(&mut self, module: &Module) {
        let line = self.line();
        let mut path = vec![plain(self.text(0)).to_owned()];
        while self.text(1) == "::" && self.text(2).starts_with(is_name) {
            self.at += 2;
            path.push(plain(self.text(0)).to_owned());
        }
        let scope = self.scope(module);
        // A single name is local or imported, unless a glob provides it.
        if path.len() > 1 || !scope.globs.is_empty() {
            scope.paths.push((line, path));
        }
    }

    /// One tree of an import below `prefix`; ends after it.
    fn import(&mut self, module: &Module, prefix: &[String]) {
        let mut path = prefix.to_vec();
        let line = self.line();
        loop {
            match self.text(0).to_owned().as_str() {
                "{" => {
                    self.at += 1;
                    while !matches!(self.text(0), "}" | ";" | "") {
                        self.import(module, &path);
                        if self.text(0) == "," {
                            self.at += 1;
                        }
                    }
                    self.at += 1;
                    return;
                }
                "*" => {
                    let scope = self.scope(module);
                    scope.globs.push(path.clone());
                    scope.paths.push((line, path));
                    self.at += 1;
                    return;
                }
                "::" | "$" => self.at += 1,
                name if name.starts_with(is_name) && name != "as" => {
                    // `x::{self}` is `x`.
                    if name != "self" || path.is_empty() {
                        path.push(plain(name).to_owned());
                    }
                    self.at += 1;
                }
                _ => break,
            }
        }
        let mut alias = path.last().cloned();
        if self.text(0) == "as" {
            alias = Some(plain(self.text(1)).to_owned());
            self.at += 2;
        }
        if let Some(alias) = alias {
            let scope = self.scope(module);
            scope.imports.entry(alias).or_default().push(path.clone());
            scope.paths.push((line, path));
        }
    }
}

fn is_name(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

/// A name without the mark of a raw one.
fn plain(name: &str) -> &str {
    name.strip_prefix("r#").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::{Crate, tokens};
    use crate::rust;
    use crate::tree::File;

    #[test]
    fn lifetimes_and_literals_are_not_names() {
        let lines = rust::lines("fn a<'b>(c: &'b r#use::D) -> [char; 2] { ['x', '\\''] } // e");
        let words: Vec<String> = tokens(&lines).into_iter().map(|token| token.text).collect();
        assert_eq!(words.join(" "), "fn a < > ( c : & r#use :: D ) - > [ char ; 2 ] { [ , ] }");
    }

    #[test]
    fn a_name_is_followed_to_where_it_is_defined() {
        let files = [
            File::new("crates/x/src/lib.rs", "pub mod low;\npub mod high;\npub use high::Thing;\n"),
            File::new(
                "crates/x/src/low.rs",
                "mod part {\n    use super::super::Thing as Other;\n    fn a(b: Other) {}\n}\n",
            ),
            File::new("crates/x/src/high.rs", "pub mod deep;\npub use deep::Thing;\n"),
            File::new("crates/x/src/high/deep.rs", "pub struct Thing;\n"),
        ];
        let found: Vec<String> = Crate::read(&files, "x")
            .mentions()
            .into_iter()
            .filter(|mention| mention.from[..] == ["low", "part"])
            .map(|mention| format!("{}:{} {}", mention.file, mention.line, mention.to.join("::")))
            .collect();
        assert_eq!(found, ["crates/x/src/low.rs:2 high", "crates/x/src/low.rs:2 high::deep"]);
    }
}
