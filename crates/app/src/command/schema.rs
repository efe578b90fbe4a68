//! `schema`: the JSON schema of what a command prints with `--json`.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde::Serialize;
use serde_json::Value;

use super::SCHEMAS;
use crate::output::{Exit, Failure, NextCommand, Out, Response};

/// Commands whose output has a schema of another name.
const RENAMED: &[(&str, &str)] =
    &[("revise", "reopen"), ("shelve", "stage"), ("unshelve", "activate"), ("resolve-active-plan", "active")];

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Schema, such as verify or planwright.verify/1 [default: list all]
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

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let names: Vec<String> = SCHEMAS.iter().map(|(name, _)| format!("planwright.{name}/1")).collect();
    let Some(wanted) = &args.name else {
        for name in &names {
            out.line(name);
        }
        let next = NextCommand::new(["planwright", "schema", "verify"]);
        return Ok(Response::done("schema", &Schemas { names, schema: None }).next(next));
    };
    let short = wanted.trim_start_matches("planwright.").trim_end_matches("/1");
    let short = RENAMED.iter().find(|(command, _)| *command == short).map_or(short, |(_, schema)| schema);
    let Some((_, make)) = SCHEMAS.iter().find(|(name, _)| *name == short) else {
        let failure = Failure::new(Exit::Usage, format!("unknown schema `{wanted}`"));
        return Err(failure.next(NextCommand::new(["planwright", "schema"])));
    };
    let mut schema = make(SchemaSettings::draft2020_12().for_serialize().into_generator());
    if let Some(object) = schema.as_object_mut() {
        object.insert("title".to_owned(), format!("planwright.{short}/1").into());
    }
    let text = serde_json::to_string_pretty(&schema).unwrap_or_default();
    out.line(&text);
    Ok(Response::done("schema", &Schemas { names, schema: Some(schema) }))
}
