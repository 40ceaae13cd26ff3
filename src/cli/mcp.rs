//! `setguard mcp`: check, plan, audit and explain for programs that speak the Model Context Protocol.

mod bound;
mod lines;
mod program;
mod tools;

use std::{process::ExitCode, sync::Arc};

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest,
        CustomResult, ErrorCode, Implementation, ListToolsResult, PaginatedRequestParams,
        ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
    },
    service::RequestContext,
};
use setguard_cluster::signals::Signals;
use tokio::sync::Semaphore;

pub(super) use self::program::end_with_server;
use self::{lines::Lines, program::Answer, tools::TOOLS};

use crate::cli::prelude::*;

/// In bytes of JSON. The protocol sends a result twice, as text with escapes too: 40 KB, or about 10,000 tokens.
const MOST: usize = 18_000;

/// More calls wait.
const MOST_CALLS: usize = 4;

/// Serve AI agents, over the Model Context Protocol
///
/// Speaks the protocol on standard input and output. The tools only read: check and plan read manifests, audit reads
/// the cluster of the kubeconfig, explain describes rules. Their results are the JSON of the commands with the same
/// names. A result of more than 18 KB has shorter lists, the worst findings first. It says how many entries are left
/// out, and a further call returns them.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
In the settings of the client, such as .mcp.json:
  {\"mcpServers\": {\"setguard\": {\"command\": \"setguard\", \"args\": [\"mcp\"]}}}")]
pub(super) struct McpArgs {
    /// The context of the kubeconfig for audits and live plans, whatever its current context is
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// Offers no tool that needs a cluster
    #[arg(long, conflicts_with = "context")]
    offline: bool,
    /// Lets the tools render charts and kustomizations, with the Helm, kustomize or kubectl of this machine. Their text
    /// may come from strangers; see `setguard check --help`
    #[arg(long)]
    render: bool,
}

pub(super) fn run(args: &McpArgs) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.context("cannot start the async runtime")?;
    let calls = Semaphore::new(MOST_CALLS);
    let server = Server { args: args.clone(), calls };
    // The runtime ends with this function, and ends the commands of its calls.
    runtime.block_on(async {
        let mut signals = Signals::new().context("cannot handle signals")?;
        let session = async {
            let service = rmcp::serve_server(server, Lines::of_stdio()?).await;
            let service = service.context("the client does not speak the protocol")?;
            service.waiting().await.context("the session broke off")?;
            Ok(Exit::Clean.into())
        };
        tokio::select! {
            ended = session => ended,
            stop = signals.next() => Ok(stop.exit_code().into()),
        }
    })
}

struct Server {
    args: McpArgs,
    calls: Semaphore,
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let tools = ServerCapabilities::builder().enable_tools().build();
        ServerConfig::new(tools)
            .with_server_info(Implementation::new("setguard", env!("CARGO_PKG_VERSION")))
            .with_instructions(
                "Before a DaemonSet or StatefulSet is applied: check says what would be refused or would not \
                 work, plan says which pods and claims the change replaces or deletes. If pods are missing or a \
                 rollout hangs: audit names the cause. No tool changes anything.",
            )
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let offered = TOOLS.iter().filter(|tool| !(self.args.offline && tool.asks_cluster));
        let tools = offered.map(|tool| {
            let schema = (tool.schema)().as_object().cloned().unwrap_or_default();
            let hints = ToolAnnotations::new()
                .read_only(true)
                .destructive(false)
                .idempotent(true)
                .open_world(tool.asks_cluster);
            Tool::new(tool.name, tool.description, Arc::new(schema)).with_annotations(hints)
        });
        Ok(ListToolsResult::with_all_items(tools.collect()))
    }

    /// A request that `rmcp` knows arrives here if its parameters are wrong.
    async fn on_custom_request(
        &self,
        CustomRequest { method, params, .. }: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if !matches!(&*method, "initialize" | "ping" | "tools/call" | "tools/list") {
            let message = format!("there is no method {method}");
            return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None));
        }
        let params = params.filter(|_| method == "tools/call");
        let call = params.map(serde_json::from_value::<CallToolRequestParams>);
        let why = call.and_then(Result::err).map(|error| format!(": {error}")).unwrap_or_default();
        Err(ErrorData::invalid_params(format!("the parameters of {method} are wrong{why}"), None))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default().into();
        let result = async {
            let _permit = self.calls.acquire().await;
            let Answer { mut value, is_complete, skip } =
                tools::call(&request.name, arguments, &self.args).await?;
            bound::worst_first(&mut value);
            Ok((bound::within(value, MOST, &skip)?, is_complete))
        };
        // Dropping the future of the call ends its command.
        let result = tokio::select! {
            result = result => result,
            () = context.ct.cancelled() => Err("the call was cancelled".to_owned()),
        };
        Ok(match result {
            Ok((value, true)) => CallToolResult::structured(value).into(),
            // An agent must not take a partial result for the whole.
            Ok((value, false)) => CallToolResult::structured_error(value).into(),
            Err(message) => CallToolResult::error(vec![ContentBlock::text(message)]).into(),
        })
    }
}
