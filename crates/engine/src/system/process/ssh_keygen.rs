//! Has `ssh-keygen` sign a text: it handles passphrases, SSH agents, and keys that must be touched. It may
//! talk to the user at the terminal meanwhile.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::Error;
use super::exchange::Exchange;

const PROGRAM: &str = "ssh-keygen";
/// How long a person may take to type a passphrase or touch a key.
const DEADLINE: Duration = Duration::from_mins(3);
/// How much output is read. A signature has a few hundred bytes.
const OUTPUT_BYTES_MAX: usize = 1 << 16;

/// Signs a text with the key in a file; `None` if `ssh-keygen` failed, which it reported to the user itself.
pub fn sign_with_ssh(key: &Path, namespace: &str, text: &str) -> Result<Option<String>, Error> {
    let mut command = Command::new(PROGRAM);
    command.args(["-Y", "sign", "-n", namespace, "-f"]).arg(key);
    // Its prompts go to the terminal; the prompt to touch a key goes to the error stream.
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    let exchange = Exchange {
        program: PROGRAM,
        input: text.as_bytes(),
        stdout_bytes_max: OUTPUT_BYTES_MAX,
        stderr_bytes_max: 0,
        deadline: DEADLINE,
    };
    // It may give up before it has read the text: then there is no signature either.
    let said = exchange.with(&mut command)?;
    Ok(said.status.success().then(|| String::from_utf8_lossy(&said.stdout).into_owned()))
}
