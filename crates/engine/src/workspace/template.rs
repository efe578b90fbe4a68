//! Plan templates: the built-in ones and those of the project. Finds and reads them; filling one in is core's
//! job.

use std::path::{Path, PathBuf};

use planwright_core::dialect::template::TEMPLATES;
use planwright_core::syntax::source::Source;

use crate::store::plan_count::parse;
use crate::store::plan_file;
use crate::workspace::project::Project;

/// The directory of a project's own templates, below its root.
pub const FOLDER: &str = ".planwright/templates";
const BYTES_MAX: u64 = 1 << 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateMatch {
    pub name: String,
    /// What it is for.
    pub summary: String,
    /// Its file; `None` if it is built in.
    pub path: Option<PathBuf>,
    pub text: String,
}

/// Every template, those of the project first. One of the project replaces a built-in one of the same name.
pub fn all(project: &Project) -> Vec<TemplateMatch> {
    // A project without the directory has none of its own; nothing else is lost.
    let entries = project.root.join(FOLDER).read_dir().ok();
    let paths = entries.into_iter().flatten().flatten().map(|entry| entry.path());
    let pages = paths.filter(|path| path.extension().is_some_and(|ending| ending == "md"));
    let mut all: Vec<TemplateMatch> = pages.filter_map(|path| of_file(&path).ok()).collect();
    all.sort_by(|one, other| one.name.cmp(&other.name));
    for template in TEMPLATES {
        if !all.iter().any(|own| own.name == template.name) {
            all.push(TemplateMatch {
                name: template.name.to_owned(),
                summary: template.summary.to_owned(),
                path: None,
                text: template.text.to_owned(),
            });
        }
    }
    all
}

/// The template that `name` means: a name, or a file. `Err(None)` if there is none.
pub fn find(project: &Project, name: &str) -> Result<TemplateMatch, Option<plan_file::Error>> {
    if let Some(found) = all(project).into_iter().find(|known| known.name == name) {
        return Ok(found);
    }
    let path = Path::new(name);
    match name.contains('/') || path.extension().is_some() {
        true => of_file(path).map_err(Some),
        false => Err(None),
    }
}

fn of_file(path: &Path) -> Result<TemplateMatch, plan_file::Error> {
    let read_error = |source: std::io::Error| match source.kind() == std::io::ErrorKind::NotFound {
        true => plan_file::Error::Missing { path: path.to_owned() },
        false => plan_file::Error::Read { path: path.to_owned(), source },
    };
    let text = plan_file::read_text(path, BYTES_MAX).map_err(read_error)?;
    let title = parse(&Source::new("template", text.as_str())).title;
    let title = title.map(|title| title.value).filter(|title| !title.contains("{{"));
    Ok(TemplateMatch {
        name: plan_file::name(path),
        summary: title.unwrap_or_else(|| "a template of this project".to_owned()),
        path: Some(path.to_owned()),
        text,
    })
}
