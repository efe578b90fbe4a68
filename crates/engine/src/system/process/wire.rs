//! What planwright sends to a supervisor for one job: the order, the command's two outputs, its input. Owns
//! how these cross the socket, and starts nothing.

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;

use nix::cmsg_space;
use nix::sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, UnixAddr, recvmsg, sendmsg};
use nix::unistd::close;

use super::shim::ShimOrder;
use super::system;

const CHUNK_BYTES: usize = 1 << 14;

pub(super) struct WireJob {
    pub(super) order: ShimOrder,
    pub(super) outputs: [File; 2],
    pub(super) input: Vec<u8>,
    /// What arrived right after the input.
    pub(super) early: Vec<u8>,
}

/// Sends an order to a supervisor.
pub(super) fn send(
    mut stream: &UnixStream,
    order: &ShimOrder,
    outputs: &[io::PipeWriter; 2],
    input: &[u8],
) -> io::Result<()> {
    let mut line = serde_json::to_vec(order)?;
    line.push(b'\n');
    let passed = [outputs[0].as_raw_fd(), outputs[1].as_raw_fd()];
    let rights = [ControlMessage::ScmRights(&passed)];
    // A supervisor that is gone is an error here, not a signal that ends planwright.
    let flags = MsgFlags::MSG_NOSIGNAL;
    let sent = loop {
        match sendmsg::<UnixAddr>(stream.as_raw_fd(), &[IoSlice::new(&line)], &rights, flags, None) {
            Ok(count) => break count,
            Err(nix::errno::Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
    };
    stream.write_all(&line[sent..])?;
    stream.write_all(input)
}

impl WireJob {
    /// Waits for the next order; `None` when there are no more.
    pub(super) fn receive(harness: &mut UnixStream) -> io::Result<Option<Self>> {
        let mut bytes = Vec::new();
        let outputs = match first_chunk(harness, &mut bytes)? {
            None => return Ok(None),
            Some(passed) => open(&passed)?,
        };
        let mut chunk = [0; CHUNK_BYTES];
        let mut read_more = |bytes: &mut Vec<u8>| match harness.read(&mut chunk)? {
            0 => Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
            count => {
                bytes.extend_from_slice(&chunk[..count]);
                Ok(())
            }
        };
        let end = loop {
            match bytes.iter().position(|&byte| byte == b'\n') {
                Some(end) => break end,
                None => read_more(&mut bytes)?,
            }
        };
        let mut input = bytes.split_off(end + 1);
        let order: ShimOrder = serde_json::from_slice(&bytes)?;
        while input.len() < order.input_bytes {
            read_more(&mut input)?;
        }
        let early = input.split_off(order.input_bytes);
        Ok(Some(Self { order, outputs, input, early }))
    }
}

/// Reads the start of an order and its descriptors; `None` at the end of the stream.
fn first_chunk(harness: &UnixStream, bytes: &mut Vec<u8>) -> io::Result<Option<Vec<RawFd>>> {
    let mut space = cmsg_space!([RawFd; 2]);
    let mut chunk = [0; CHUNK_BYTES];
    let mut parts = [IoSliceMut::new(&mut chunk)];
    let descriptor = harness.as_raw_fd();
    let message = loop {
        match recvmsg::<UnixAddr>(descriptor, &mut parts, Some(&mut space), system::PASSED) {
            Err(nix::errno::Errno::EINTR) => {}
            received => break received?,
        }
    };
    if message.bytes == 0 {
        return Ok(None);
    }
    let mut passed = Vec::new();
    for control in message.cmsgs()? {
        if let ControlMessageOwned::ScmRights(descriptors) = control {
            passed.extend(descriptors);
        }
    }
    let count = message.bytes;
    bytes.extend_from_slice(&chunk[..count]);
    Ok(Some(passed))
}

/// Reopens what was passed. Only what this process opened itself is known to be its own to close.
fn open(passed: &[RawFd]) -> io::Result<[File; 2]> {
    let open = |place: usize| {
        let descriptor = passed.get(place).ok_or(io::ErrorKind::InvalidInput)?;
        File::options().write(true).open(format!("{}/{descriptor}", system::DESCRIPTORS))
    };
    let outputs = [open(0)?, open(1)?];
    for &descriptor in passed {
        close(descriptor)?;
    }
    Ok(outputs)
}
