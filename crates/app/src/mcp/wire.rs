//! Line protocol: one JSON message per line on standard input and output. Input never buffers more than one line, and
//! output lines are never interleaved.

use std::io::{self, BufRead, Write};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::thread;
use std::time::Duration;

use serde_json::Value;

/// The most bytes that a message may have. A plan of the usual limit fits, however it is escaped.
pub(super) const LINE_BYTES_MAX: usize = 8 << 20;
/// How many answers may wait for a client that does not read.
const ANSWERS_MAX: usize = 64;
/// How long the last answers may take to be written when the client is gone.
const FLUSH_MAX: Duration = Duration::from_secs(2);

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    Whole(Vec<u8>),
    TooLong,
}

/// Reads the next line; `None` once the client is gone. What has no line end is no message: the client was cut off.
pub(super) fn read_line(input: &mut impl BufRead) -> Option<Line> {
    let mut line = Vec::new();
    let mut is_too_long = false;
    loop {
        let available = match input.fill_buf() {
            Ok([]) => return None,
            Ok(available) => available,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return None,
        };
        let end = available.iter().position(|&byte| byte == b'\n');
        let taken = end.map_or(available.len(), |end| end + 1);
        is_too_long |= line.len() + taken > LINE_BYTES_MAX;
        if is_too_long {
            line = Vec::new();
        } else {
            line.extend_from_slice(&available[..taken]);
        }
        input.consume(taken);
        match (end, is_too_long) {
            (None, _) => {}
            (Some(_), true) => return Some(Line::TooLong),
            (Some(_), false) => return Some(Line::Whole(line)),
        }
    }
}

/// Where messages go out, in the order in which they are sent.
#[derive(Debug, Clone)]
pub(super) struct Output(SyncSender<String>);

/// Ends when all output is written or the reader is gone.
pub(super) struct Written(Receiver<()>);

impl Output {
    /// Writes to this stream from now on. One thread does it, so that no line is ever cut by another.
    pub(super) fn to(mut stream: impl Write + Send + 'static) -> io::Result<(Self, Written)> {
        let (sender, lines) = mpsc::sync_channel::<String>(ANSWERS_MAX);
        let (is_open, written) = mpsc::sync_channel(0);
        let write = move || {
            for mut line in lines {
                line.push('\n');
                if stream.write_all(line.as_bytes()).and_then(|()| stream.flush()).is_err() {
                    break;
                }
            }
            drop(is_open);
        };
        thread::Builder::new().name("output".to_owned()).spawn(write)?;
        Ok((Self(sender), Written(written)))
    }

    /// Sends a message once there is room for it. A client that is gone does not get it.
    pub(super) fn send(&self, message: &Value) {
        self.0.send(message.to_string()).ok();
    }

    /// Sends a message if the queue has room.
    pub(super) fn offer(&self, message: &Value) {
        self.0.try_send(message.to_string()).ok();
    }
}

impl Written {
    /// Waits for the end of the writing, for a while: a client that no longer reads does not get the rest.
    pub(super) fn wait(self) {
        match self.0.recv_timeout(FLUSH_MAX) {
            Ok(()) | Err(RecvTimeoutError::Disconnected | RecvTimeoutError::Timeout) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::{LINE_BYTES_MAX, Line, read_line};

    #[test]
    fn a_line_that_is_too_long_is_dropped_and_the_next_one_is_read() {
        let mut bytes = vec![b'a'; LINE_BYTES_MAX];
        bytes.extend(b"\n{}\n\ncut off");
        let mut input = BufReader::with_capacity(1000, &bytes[..]);
        assert_eq!(read_line(&mut input), Some(Line::TooLong));
        assert_eq!(read_line(&mut input), Some(Line::Whole(b"{}\n".to_vec())));
        assert_eq!(read_line(&mut input), Some(Line::Whole(b"\n".to_vec())));
        assert_eq!(read_line(&mut input), None);
    }
}
