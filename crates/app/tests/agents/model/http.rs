//! As much of HTTP as agents need: one request, one answer, and the connection is closed.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

/// Larger than any conversation of these tests.
const BODY_BYTES_MAX: u64 = 64 << 20;

/// What a client sent.
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) body: Vec<u8>,
}

pub(crate) struct Response {
    status: u16,
    headers: Vec<(&'static str, String)>,
    /// Each is flushed by itself, so that streams are streams.
    pieces: Vec<String>,
}

impl Response {
    pub(crate) fn json(status: u16, value: &Value) -> Self {
        let headers = vec![("content-type", "application/json".to_owned())];
        Self { status, headers, pieces: vec![value.to_string()] }
    }

    /// An error as the interfaces of models spell it.
    pub(crate) fn failure(status: u16, retry_after: Option<u64>) -> Self {
        let kind = match status {
            429 => "rate_limit_error",
            401 | 403 => "authentication_error",
            400..500 => "invalid_request_error",
            _ => "api_error",
        };
        let again =
            retry_after.map(|seconds| format!(", try again in {seconds} seconds")).unwrap_or_default();
        let message = format!("the script says {status}{again}");
        let error = json!({"type": kind, "code": status, "message": message});
        let mut response = Self::json(status, &json!({"type": "error", "error": error}));
        response.headers.extend(retry_after.map(|seconds| ("retry-after", seconds.to_string())));
        response
    }

    pub(crate) fn stream(pieces: Vec<String>) -> Self {
        let headers =
            vec![("content-type", "text/event-stream".to_owned()), ("cache-control", "no-cache".to_owned())];
        Self { status: 200, headers, pieces }
    }
}

pub(crate) fn read(stream: &TcpStream) -> io::Result<Request> {
    let mut reader = BufReader::new(stream);
    let first = line(&mut reader)?;
    let mut words = first.split_whitespace();
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (mut length, mut is_chunked) = (0, false);
    loop {
        let header = line(&mut reader)?.to_ascii_lowercase();
        match header.split_once(':').map(|(name, value)| (name, value.trim())) {
            None => break,
            Some(("content-length", value)) => length = value.parse().map_err(io::Error::other)?,
            Some(("transfer-encoding", "chunked")) => is_chunked = true,
            Some(("expect", "100-continue")) => {
                (&mut &*stream).write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
            }
            Some(_) => {}
        }
    }
    let mut body = Vec::new();
    if is_chunked {
        loop {
            let size = line(&mut reader)?;
            let size = u64::from_str_radix(size.split(';').next().unwrap_or_default(), 16);
            let size = size.map_err(io::Error::other)?.min(BODY_BYTES_MAX);
            reader.by_ref().take(size).read_to_end(&mut body)?;
            line(&mut reader)?;
            if size == 0 {
                break;
            }
        }
    } else {
        reader.take(BODY_BYTES_MAX.min(length)).read_to_end(&mut body)?;
    }
    let path = target.split('?').next().unwrap_or_default().to_owned();
    Ok(Request { method: method.to_owned(), path, body })
}

/// A line without its end; nothing at the end of the stream.
fn line(reader: &mut impl BufRead) -> io::Result<String> {
    let mut text = String::new();
    reader.read_line(&mut text)?;
    Ok(text.trim_end().to_owned())
}

pub(crate) fn write(mut stream: &TcpStream, request: &Request, response: &Response) -> io::Result<()> {
    let mut head = format!("HTTP/1.1 {} Scripted\r\nconnection: close\r\n", response.status);
    for (name, value) in &response.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    if let [whole] = &response.pieces[..] {
        head.push_str(&format!("content-length: {}\r\n", whole.len()));
    }
    stream.write_all(format!("{head}\r\n").as_bytes())?;
    if request.method != "HEAD" {
        for piece in &response.pieces {
            stream.write_all(piece.as_bytes())?;
            stream.flush()?;
        }
    }
    stream.shutdown(std::net::Shutdown::Write)
}
