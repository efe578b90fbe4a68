//! The lines of the protocol: one JSON message each, on standard input and output. What is no message is answered with an error
//! and forgotten; nothing that comes in can end the server or make it keep more than one line.

use std::io;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorCode, ErrorData, GetMeta as _};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// The most bytes that a message may have. A plan of the usual limit fits, however it is escaped.
pub(super) const LINE_BYTES_MAX: usize = 8 << 20;
/// How many answers may wait for a client that does not read.
const ANSWERS_MAX: usize = 64;
/// How long the last answers may take to be written when the client is gone.
const FLUSH_MAX: Duration = Duration::from_secs(2);

pub(super) struct Wire<R> {
    input: BufReader<R>,
    /// What was read of a line that is not complete. `receive` may be given up at any time and goes on here.
    line: Vec<u8>,
    /// Whether the rest of a line that was too long is still to come.
    is_skipping: bool,
    /// Whether the client has begun; before that the library takes a notification for the end of everything.
    has_begun: bool,
    output: Option<mpsc::Sender<String>>,
    writer: Option<JoinHandle<()>>,
}

enum Line {
    Whole,
    TooLong,
    End,
}

impl<R: AsyncRead + Unpin + Send> Wire<R> {
    /// Talks over these streams.
    pub(super) fn new(input: R, output: impl AsyncWrite + Unpin + Send + 'static) -> Self {
        let (sender, answers) = mpsc::channel(ANSWERS_MAX);
        let writer = tokio::spawn(write(output, answers));
        Self {
            input: BufReader::new(input),
            line: Vec::new(),
            is_skipping: false,
            has_begun: false,
            output: Some(sender),
            writer: Some(writer),
        }
    }

    async fn read_line(&mut self) -> io::Result<Line> {
        loop {
            let available = self.input.fill_buf().await?;
            if available.is_empty() {
                return Ok(Line::End);
            }
            let end = available.iter().position(|&byte| byte == b'\n');
            let taken = end.map_or(available.len(), |end| end + 1);
            let is_too_long = self.line.len() + taken > LINE_BYTES_MAX;
            if !self.is_skipping && !is_too_long {
                self.line.extend_from_slice(&available[..taken]);
            }
            self.input.consume(taken);
            match (self.is_skipping, is_too_long, end.is_some()) {
                (false, false, true) => return Ok(Line::Whole),
                (false, false, false) | (true, _, false) => {}
                (true, _, true) => self.is_skipping = false,
                (false, true, is_over) => {
                    self.line.clear();
                    self.is_skipping = !is_over;
                    return Ok(Line::TooLong);
                }
            }
        }
    }

    /// Says that something was no message. Where the client does not even read, it is not told.
    fn complain(&self, error: ErrorData, id: Option<rmcp::model::RequestId>) {
        let message = TxJsonRpcMessage::<RoleServer>::error(error, id);
        if let (Some(output), Ok(line)) = (&self.output, serde_json::to_string(&message)) {
            output.try_send(line).ok();
        }
    }

    /// The message on the line, if it is one.
    fn message(&self, line: &[u8]) -> Option<ClientJsonRpcMessage> {
        let value: serde_json::Value = match serde_json::from_slice(line) {
            Ok(value) => value,
            Err(error) => {
                let message = format!("that is no JSON: {error}");
                self.complain(ErrorData::new(ErrorCode::PARSE_ERROR, message, None), None);
                return None;
            }
        };
        let id = serde_json::from_value(value["id"].clone()).ok();
        match serde_json::from_value(value) {
            Ok(message) => Some(message),
            Err(error) => {
                self.complain(ErrorData::invalid_request(format!("that is no message: {error}"), None), id);
                None
            }
        }
    }

    /// Whether a message can be passed on: until a client has begun, only requests can.
    fn can_pass(&mut self, message: &ClientJsonRpcMessage) -> bool {
        let ClientJsonRpcMessage::Request(request) = message else { return self.has_begun };
        let is_probe =
            matches!(request.request, ClientRequest::DiscoverRequest(_) | ClientRequest::PingRequest(_));
        self.has_begun |= matches!(request.request, ClientRequest::InitializeRequest(_))
            || (!is_probe && request.request.get_meta().protocol_version().is_some());
        true
    }
}

impl<R: AsyncRead + Unpin + Send> Transport<RoleServer> for Wire<R> {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let output = self.output.clone();
        let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
        async move {
            let line = serde_json::to_string(&item)?;
            output.ok_or_else(gone)?.send(line).await.map_err(|_| gone())
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            match self.read_line().await {
                Ok(Line::Whole) => {}
                Ok(Line::TooLong) => {
                    let message = format!("a message has {LINE_BYTES_MAX} bytes at most");
                    self.complain(ErrorData::invalid_request(message, None), None);
                    continue;
                }
                // What has no line end is no message: the client was cut off.
                Ok(Line::End) | Err(_) => return None,
            }
            let line = std::mem::take(&mut self.line);
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let message = self.message(&line);
            if let Some(message) = message.filter(|message| self.can_pass(message)) {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        drop(self.output.take());
        if let Some(writer) = self.writer.take() {
            // A client that no longer reads does not get the rest.
            tokio::time::timeout(FLUSH_MAX, writer).await.ok();
        }
        Ok(())
    }
}

/// Writes answers in the order in which they come. One task does it, so that no line is ever cut by another.
async fn write(mut output: impl AsyncWrite + Unpin, mut answers: mpsc::Receiver<String>) {
    while let Some(mut line) = answers.recv().await {
        line.push('\n');
        let written = output.write_all(line.as_bytes()).await;
        if written.is_err() || output.flush().await.is_err() {
            return;
        }
    }
}
