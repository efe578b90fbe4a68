//! Has `ssh-keygen` sign a text: it handles passphrases, SSH agents, and keys that must be touched. It may
//! talk to the user at the terminal meanwhile.

use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::Error;
use super::bash_check::wait;

const PROGRAM: &str = "ssh-keygen";
/// How long a person may take to type a passphrase or touch a key.
const DEADLINE: Duration = Duration::from_mins(3);
/// How much output is read. A signature has a few hundred bytes.
const OUTPUT_BYTES_MAX: u64 = 1 << 16;

/// Signs a text with the key in a file; `None` if `ssh-keygen` failed, which it reported to the user itself.
pub fn sign_with_ssh(key: &Path, namespace: &str, text: &str) -> Result<Option<String>, Error> {
    let program = || PROGRAM.to_owned();
    let talk = |source| Error::Talk { program: program(), source };
    let mut command = Command::new(PROGRAM);
    command.args(["-Y", "sign", "-n", namespace, "-f"]).arg(key);
    // Its prompts go to the terminal; the prompt to touch a key goes to the error stream.
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    let mut child = command.spawn().map_err(|source| Error::Start { program: program(), source })?;
    let mut stdin = child.stdin.take().ok_or_else(|| talk(io::ErrorKind::BrokenPipe.into()))?;
    let stdout = child.stdout.take().ok_or_else(|| talk(io::ErrorKind::BrokenPipe.into()))?;
    std::thread::scope(|scope| {
        let writer = scope.spawn(move || stdin.write_all(text.as_bytes()));
        let reader = scope.spawn(move || {
            let mut said = String::new();
            stdout.take(OUTPUT_BYTES_MAX).read_to_string(&mut said).map(|_| said)
        });
        let is_signed = wait(&mut child, PROGRAM, DEADLINE)?.success();
        // It may give up before it has read the text: then there is no signature either.
        if let Ok(Err(error)) = writer.join()
            && error.kind() != io::ErrorKind::BrokenPipe
        {
            return Err(talk(error));
        }
        let said = reader.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into())).map_err(talk)?;
        Ok(is_signed.then_some(said))
    })
}
