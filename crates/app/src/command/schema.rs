//! `schema`: the JSON schema of what a command prints with `--json`.

use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde::Serialize;
use serde_json::Value;

use super::{edit, explain, fmt, help, list, new, show};
use crate::out::diagnostics::VerifyData;
use crate::out::{Answer, Envelope, ErrorEnvelope, Exit, Failure, Next, Out};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The name of a schema, such as verify or planwright.verify/1; the list of names where none is named
    name: Option<String>,
}

/// The data of the envelope.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Schemas {
    /// The names of all schemas.
    pub(crate) names: Vec<String>,
    /// The schema that was asked for.
    pub(crate) schema: Option<Value>,
}

/// Every schema: its name and how it is made. A command that prints an envelope has a line here.
const SCHEMAS: &[(&str, fn(SchemaGenerator) -> Value)] = &[
    ("completions", made::<Envelope<help::Page>>),
    ("edit", made::<Envelope<edit::Edited>>),
    ("error", made::<ErrorEnvelope>),
    ("explain", made::<Envelope<explain::Rules>>),
    ("fmt", made::<Envelope<fmt::Formatted>>),
    ("help", made::<Envelope<help::Page>>),
    ("list", made::<Envelope<list::Listing>>),
    ("man", made::<Envelope<help::Page>>),
    ("new", made::<Envelope<new::Created>>),
    ("schema", made::<Envelope<Schemas>>),
    ("show", made::<Envelope<show::Shown>>),
    ("verify", made::<Envelope<VerifyData>>),
];

fn made<T: JsonSchema>(generator: SchemaGenerator) -> Value {
    generator.into_root_schema_for::<T>().into()
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Answer, Failure> {
    let names: Vec<String> = SCHEMAS.iter().map(|(name, _)| format!("planwright.{name}/1")).collect();
    let Some(wanted) = &args.name else {
        for name in &names {
            out.line(name);
        }
        let next = Next::new(["planwright", "schema", "verify"]);
        return Ok(Answer::done("schema", &Schemas { names, schema: None }).next(next));
    };
    let short = wanted.trim_start_matches("planwright.").trim_end_matches("/1");
    let Some((_, make)) = SCHEMAS.iter().find(|(name, _)| *name == short) else {
        let failure = Failure::new(Exit::Usage, format!("there is no schema `{wanted}`"));
        return Err(failure.next(Next::new(["planwright", "schema"])));
    };
    let mut schema = make(SchemaSettings::draft2020_12().into_generator());
    if let Some(object) = schema.as_object_mut() {
        object.insert("title".to_owned(), format!("planwright.{short}/1").into());
    }
    let text = serde_json::to_string_pretty(&schema).unwrap_or_default();
    out.line(&text);
    Ok(Answer::done("schema", &Schemas { names, schema: Some(schema) }))
}
