//! The webhook: a POST of the notice, signed with a shared secret. curl sends it, because it brings TLS,
//! certificates and proxy settings; its configuration goes through stdin, so that no other process sees it.
//! The secret itself never leaves this process.

use std::io::Read;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use ring::hmac;

use crate::system::process::{How, ProcessEnd};

pub(super) const PROGRAM: &str = "curl";
/// Time limits of connecting, and of the whole request.
const CONNECT_SECONDS: u64 = 5;
const TOTAL_SECONDS: u64 = 10;
/// A shorter secret could be guessed; a longer file is not a secret.
const SECRET_BYTES_MIN: usize = 16;
const SECRET_BYTES_MAX: u64 = 4096;
/// The local machine: nobody in between can read or change the request.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Webhook {
    pub(super) url: String,
    pub(super) secret_file: Option<PathBuf>,
}

impl Webhook {
    /// Says what is wrong with the settings.
    pub(super) fn check(&self, root: &Path) -> Result<(), String> {
        check_url(&self.url)?;
        self.secret(root).map(drop)
    }

    /// The command of curl and its configuration, which contains the whole request.
    pub(super) fn request(
        &self,
        root: &Path,
        (id, name): (&str, &str),
        line: &str,
        timestamp: u64,
    ) -> Result<(Vec<String>, Vec<u8>), String> {
        check_url(&self.url)?;
        let body = line.trim_end_matches('\n');
        let signature = signature(&self.secret(root)?, (id, timestamp), body);
        let headers = [
            "Content-Type: application/json".to_owned(),
            format!("User-Agent: planwright/{}", env!("CARGO_PKG_VERSION")),
            format!("Planwright-Event: {name}"),
            format!("Planwright-Id: {id}"),
            format!("Planwright-Timestamp: {timestamp}"),
            format!("Planwright-Signature: {signature}"),
            // Otherwise curl would wait for the server before sending a long body.
            "Expect:".to_owned(),
        ];
        let mut config = format!(
            "silent\ngloboff\nproto = \"=http,https\"\nconnect-timeout = {CONNECT_SECONDS}\nmax-time = {TOTAL_SECONDS}\n\
             output = \"/dev/null\"\nwrite-out = \"%{{http_code}}\"\nurl = {}\ndata-raw = {}\n",
            quoted(&self.url),
            quoted(body)
        );
        for header in headers {
            config.push_str(&format!("header = {}\n", quoted(&header)));
        }
        // The first option keeps curl from reading its own configuration file.
        let argv = [PROGRAM, "--disable", "--config", "-"].map(str::to_owned).to_vec();
        Ok((argv, config.into_bytes()))
    }

    /// Whether the server accepted it. Curl's messages are not passed on: the URL may be a secret, too.
    pub(super) fn taken(ended: &ProcessEnd) -> Result<(), String> {
        let code = ended.stdout.text();
        match &ended.how {
            How::Exited(0) if code.len() == 3 && code.starts_with('2') => Ok(()),
            How::Exited(0) => Err(format!("the server answered {}", code.trim())),
            How::Exited(6) => Err("unknown host".to_owned()),
            How::Exited(7) => Err("cannot reach the server".to_owned()),
            How::Exited(28) => Err(format!("the server timed out after {TOTAL_SECONDS} s")),
            How::Exited(35 | 51 | 58 | 60 | 77) => Err("the server's certificate is not trusted".to_owned()),
            How::Exited(code) => Err(format!("curl exited with {code}")),
            How::NotStarted(why) => Err(format!("cannot start curl: {why}")),
            How::Signalled(signal) => Err(format!("curl was killed by signal {signal}")),
            How::TimedOut | How::Stopped => Err("curl timed out".to_owned()),
        }
    }

    /// The secret: the trimmed text of its file.
    fn secret(&self, root: &Path) -> Result<Vec<u8>, String> {
        let path = self.secret_file.as_deref();
        let path =
            path.ok_or("hooks.webhook.secret_file is not set; planwright sends nothing without a signature")?;
        let shown = path.display();
        let failed = |error: std::io::Error| format!("cannot read {shown}: {error}");
        if !path.is_absolute() {
            return Err(format!("{shown} is not an absolute path"));
        }
        let real = path.canonicalize().map_err(failed)?;
        if root.canonicalize().is_ok_and(|root| real.starts_with(root)) {
            return Err(format!("{shown} is inside the project, where agents can read and change it"));
        }
        // Opening a pipe in its place would block forever.
        let flags = nix::fcntl::OFlag::O_NONBLOCK.bits();
        let file = std::fs::OpenOptions::new().read(true).custom_flags(flags).open(&real).map_err(failed)?;
        // Checked on the open file: the name may lead to another one by now.
        let data = file.metadata().map_err(failed)?;
        if !data.is_file() {
            return Err(format!("{shown} is not a regular file"));
        }
        if data.permissions().mode() & 0o077 != 0 {
            return Err(format!("{shown} is accessible to others; run chmod 600"));
        }
        let mut text = Vec::new();
        file.take(SECRET_BYTES_MAX + 1).read_to_end(&mut text).map_err(failed)?;
        let secret = text.trim_ascii();
        match secret.len() {
            length if length < SECRET_BYTES_MIN => {
                Err(format!("{shown} has fewer than {SECRET_BYTES_MIN} bytes"))
            }
            length if length as u64 > SECRET_BYTES_MAX => Err(format!("{shown} is too long for a secret")),
            _ => Ok(secret.to_vec()),
        }
    }
}

/// Refuses an invalid URL, or one that is not encrypted.
fn check_url(url: &str) -> Result<(), String> {
    let is_plain = url.chars().all(|sign| sign.is_ascii_graphic() && !"\"\\<>^`{|}".contains(sign));
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let Some(rest) = rest.filter(|rest| is_plain && !rest.is_empty()) else {
        return Err("invalid hooks.webhook.url; it must start with https://".to_owned());
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let is_here = |host: &&str| {
        let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
        let rest = authority.strip_prefix(*host);
        rest.is_some_and(|rest| rest.is_empty() || rest.strip_prefix(':').is_some_and(is_port))
    };
    match url.starts_with("https://") || LOOPBACK.iter().any(is_here) {
        true => Ok(()),
        false => Err("hooks.webhook.url is not encrypted; use https".to_owned()),
    }
}

/// What the server verifies: `v1=` and the HMAC-SHA256 of `ID.TIMESTAMP.BODY` in hex.
fn signature(secret: &[u8], (id, timestamp): (&str, u64), body: &str) -> String {
    let signed = format!("{id}.{timestamp}.{body}");
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
    let mac = hmac::sign(&key, signed.as_bytes());
    mac.as_ref().iter().fold("v1=".to_owned(), |text, byte| format!("{text}{byte:02x}"))
}

/// A value in curl's configuration.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for sign in text.chars() {
        match sign {
            '"' | '\\' => quoted.extend(['\\', sign]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            _ => quoted.push(sign),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    // The vectors of RFC 4231 for the function, through the text that is signed.
    #[test]
    fn the_signature_is_hmac_sha256_of_id_time_and_body() {
        let known = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        let mac = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, b"Jefe"), b"what do ya want for nothing?");
        assert_eq!(mac.as_ref().iter().map(|byte| format!("{byte:02x}")).collect::<String>(), known);
        let base = signature(b"secret", ("run/1/2", 3), "{}");
        assert!(base.starts_with("v1=") && base.len() == 3 + 64, "{base}");
        let others = [
            signature(b"Secret", ("run/1/2", 3), "{}"),
            signature(b"secret", ("run/1/3", 3), "{}"),
            signature(b"secret", ("run/1/2", 4), "{}"),
            signature(b"secret", ("run/1/2", 3), "{ }"),
        ];
        assert!(others.iter().all(|other| *other != base));
    }

    #[test]
    fn only_addresses_that_nobody_on_the_way_can_read_are_taken() {
        for url in
            ["https://example.org/x?y=1", "http://localhost:8080/", "http://127.0.0.1:1", "http://[::1]/x"]
        {
            assert_eq!(check_url(url), Ok(()), "{url}");
        }
        let refused = [
            "http://example.org/",
            "http://localhost.example.org/",
            "http://127.0.0.1.example.org",
            "http://127.0.0.1@example.org/",
            "http://localhost:80@example.org/",
            "ftp://localhost/",
            "file:///etc/passwd",
            "https://",
            "https://example.org/\"\noutput = /etc/x",
            "https://example.org/a b",
            "example.org",
        ];
        for url in refused {
            assert!(check_url(url).is_err(), "{url}");
        }
    }

    #[test]
    fn nothing_that_is_sent_can_become_another_option() {
        assert_eq!(quoted("a\"b\\c\nurl = x\t\r"), "\"a\\\"b\\\\c\\nurl = x\\t\\r\"");
    }
}
