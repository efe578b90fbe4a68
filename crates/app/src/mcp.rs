//! The MCP server: what agents, and the programs in which people talk to them, may ask of planwright over standard input and
//! output. A model is on the other end of every connection, so nothing is approved here, and nothing decided that a person has
//! not confirmed outside of the model. Each role sees its own tools and no others.

mod executor;
mod human;
mod person;
mod planner;
mod session;
mod shared;
mod tool;
mod wire;

use std::sync::Arc;

use planwright_engine::system::process::Stop;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ErrorData, Implementation, InitializeResult, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities,
};
use rmcp::service::{RequestContext, ServerInitializeError};
use rmcp::{RoleServer, ServerHandler};
use tokio::sync::Semaphore;

use person::{PersonQuestion, PersonReply, Questions};
use session::{Drivers, McpSession};
use tool::{McpTool, ToolError, ToolOutcome, ToolReply, ToolRequest};
use wire::Wire;

/// How many calls are worked on at once; the others wait.
const CALLS_MAX: usize = 4;

/// Whom a server serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum McpRole {
    /// An agent that writes plans
    Planner,
    /// An agent that does one step of a plan
    Executor,
    /// A person, through the agent that they talk to
    Human,
}

impl McpRole {
    /// The word for it.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Planner => "planner",
            Self::Executor => "executor",
            Self::Human => "human",
        }
    }

    const fn tools(self) -> &'static [McpTool] {
        match self {
            Self::Planner => planner::TOOLS,
            Self::Executor => executor::TOOLS,
            Self::Human => human::TOOLS,
        }
    }

    const fn instructions(self) -> &'static str {
        match self {
            Self::Planner => planner::INSTRUCTIONS,
            Self::Executor => executor::INSTRUCTIONS,
            Self::Human => human::INSTRUCTIONS,
        }
    }
}

/// The tools of a role as clients see them: the result of `tools/list`.
pub(crate) fn definitions(role: McpRole) -> ListToolsResult {
    ListToolsResult::with_all_items(role.tools().iter().map(McpTool::definition).collect())
}

/// Serves one client until it hangs up. Standard output belongs to the protocol until then.
pub(crate) fn serve(role: McpRole) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    let drivers = Arc::<Drivers>::default();
    let server = Server {
        role,
        calls: Arc::new(Semaphore::new(CALLS_MAX)),
        questions: Questions::default(),
        drivers: Arc::clone(&drivers),
    };
    let served = runtime.block_on(async {
        let wire = Wire::new(tokio::io::stdin(), tokio::io::stdout());
        match rmcp::serve_server(server, wire).await {
            Ok(running) => running.waiting().await.map(drop).map_err(std::io::Error::other),
            // A client that leaves before it has begun wanted nothing.
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(std::io::Error::other(error)),
        }
    });
    drivers.end();
    // The thread that waits for standard input can't be told to end.
    runtime.shutdown_background();
    served
}

struct Server {
    role: McpRole,
    calls: Arc<Semaphore>,
    questions: Questions,
    drivers: Arc<Drivers>,
}

impl ServerHandler for Server {
    fn get_info(&self) -> InitializeResult {
        InitializeResult::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("planwright", env!("CARGO_PKG_VERSION")))
            .with_instructions(self.role.instructions())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(definitions(self.role))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let tool = self.tool(&request.name)?;
        let _turn = self.calls.acquire().await;
        let session = McpSession::with(context.client_info().map(|client| client.name), &self.drivers);
        let client = session.client.clone();
        let stop = Stop::new();
        let (given_up, told) = (context.ct.clone(), stop.clone());
        let watch = tokio::spawn(async move {
            given_up.cancelled().await;
            told.request();
        });
        let arguments = request.arguments.clone().unwrap_or_default();
        let outcome =
            worked(move || (tool.call)(&ToolRequest { session: &session, stop: &stop, arguments })).await;
        watch.abort();
        let PersonQuestion { question, act } = match outcome {
            Ok(ToolOutcome::Said(reply)) => return Ok(reply.result().into()),
            Ok(ToolOutcome::Ask(matter)) => *matter,
            Err(ToolError(text)) => return Ok(ToolReply::error(text).result().into()),
        };
        match self.questions.ask(&question, &request, &context).await {
            PersonReply::No(reply) => Ok(reply.result().into()),
            PersonReply::Asking(response) => Ok(*response),
            PersonReply::Yes => {
                let by = format!("{} over MCP ({})", planwright_engine::run::user(), client);
                let reply = worked(move || act(&by)).await;
                Ok(reply.unwrap_or_else(|ToolError(text)| ToolReply::error(text)).result().into())
            }
        }
    }
}

impl Server {
    fn tool(&self, name: &str) -> Result<&'static McpTool, ErrorData> {
        let tools = self.role.tools();
        tools.iter().find(|tool| tool.name == name).ok_or_else(|| {
            let names: Vec<&str> = tools.iter().map(|tool| tool.name).collect();
            let message =
                format!("the role {} has no tool `{name}`; it has {}", self.role.word(), names.join(", "));
            ErrorData::invalid_params(message, None)
        })
    }
}

/// Does what may take a while beside the protocol, which goes on meanwhile.
async fn worked<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(_) => Err(ToolError::new("planwright itself failed at this; `planwright doctor` may say why")),
    }
}
