//! The webhook against a server of our own: what is sent, that it is signed, and where the secret is not.
#![expect(
    clippy::disallowed_methods,
    reason = "these tests stand outside of the program: they make its files and look at them"
)]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};

use serde_json::Value;

use crate::hook::USER;
use crate::sample::Sketch;
use crate::test_env::Place;

const GOOD: Sketch<'static> = ("a", "", "touch a.out", "test -e a.out");
const SECRET: &str = "whsec-0123456789abcdef0123456789";
const SECRET_FILE: &str = "../home/secret";

/// What a server was sent.
#[derive(Debug, Clone)]
struct Request {
    line: String,
    headers: Vec<(String, String)>,
    body: String,
}

impl Request {
    fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map_or("", |(_, value)| value.as_str())
    }

    /// What docs/how-to/get-notified.md tells a server to do.
    fn is_signed_with(&self, secret: &str) -> bool {
        let signed =
            format!("{}.{}.{}", self.header("Planwright-Id"), self.header("Planwright-Timestamp"), self.body);
        let mac = hmac_sha256::HMAC::mac(signed.as_bytes(), secret.as_bytes());
        let hex: String = mac.iter().map(|byte| format!("{byte:02x}")).collect();
        self.header("Planwright-Signature") == format!("v1={hex}")
    }
}

/// A server on this machine that gives these answers, and then that of the last one for ever.
fn serve(answers: &'static [u16]) -> (String, Receiver<Request>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/hook?x=[1]", listener.local_addr().expect("an address"));
    let (sender, requests) = channel();
    std::thread::spawn(move || {
        for (place, stream) in listener.incoming().enumerate() {
            let code = answers[place.min(answers.len() - 1)];
            if answer(stream.expect("a connection"), code, &sender).is_none() {
                return;
            }
        }
    });
    (url, requests)
}

fn answer(mut stream: TcpStream, code: u16, sender: &Sender<Request>) -> Option<()> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 4096];
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
        let count = stream.read(&mut chunk).ok()?;
        assert!(count > 0, "the request ends early");
        bytes.extend_from_slice(&chunk[..count]);
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let mut lines = head.lines();
    let line = lines.next().unwrap_or_default().to_owned();
    let headers = lines.filter_map(|line| line.split_once(':'));
    let headers: Vec<(String, String)> =
        headers.map(|(name, value)| (name.to_owned(), value.trim().to_owned())).collect();
    let mut request = Request { line, headers, body: String::new() };
    let length: usize = request.header("Content-Length").parse().expect("a length");
    let mut body = bytes.split_off(end);
    while body.len() < length {
        let count = stream.read(&mut chunk).ok()?;
        body.extend_from_slice(&chunk[..count]);
    }
    request.body = String::from_utf8(body).expect("text");
    let reply = format!(
        "HTTP/1.1 {code} Said\r\nContent-Length: 5\r\nConnection: close\r\nLocation: /elsewhere\r\n\r\nhello"
    );
    stream.write_all(reply.as_bytes()).ok()?;
    sender.send(request).ok()
}

/// A project whose user has a webhook, and a curl that notes how it was called.
fn place(url: &str) -> Place {
    let place = Place::with_plan(&[GOOD]);
    let spy = "#!/bin/sh\nprintf '%s\\n' \"$0\" \"$@\" >>\"$HOME/argv\"\n/usr/bin/env >>\"$HOME/env\"\nexec /usr/bin/curl \"$@\"\n";
    place.write("../bin/curl", spy).permit("../bin/curl", 0o755);
    place.write(SECRET_FILE, format!("{SECRET}\n")).permit(SECRET_FILE, 0o600);
    let secret = place.path(SECRET_FILE).canonicalize().expect("there");
    place.write(USER, format!("[hooks.webhook]\nurl = '{url}'\nsecret_file = '{}'\n", secret.display()));
    place
}

fn next(requests: &Receiver<Request>) -> Request {
    requests.recv_timeout(crate::test_env::DEADLINE).expect("a request")
}

// P-17: a webhook is the same envelope, signed; the secret is nowhere to be seen.
#[test]
fn a_webhook_is_signed_and_its_secret_stays_where_it_is() {
    let (url, requests) = serve(&[200]);
    let place = place(&url);
    place.approve_and_run().expect(0, &[]);
    let request = next(&requests);
    let told = place.run(&["log", "--all", "--json"]).stdout;
    assert_eq!(told.lines().find(|line| line.contains("run.finished")), Some(request.body.as_str()));
    assert!(request.line.starts_with("POST /hook?x=[1] HTTP/"), "{request:?}");
    let data = &serde_json::from_str::<Value>(&request.body).expect("JSON")["data"];
    assert_eq!(request.header("Planwright-Id"), data["id"].as_str().expect("an id"));
    assert_eq!(request.header("Planwright-Event"), "run.finished");
    assert_eq!(request.header("Content-Type"), "application/json");
    assert!(request.is_signed_with(SECRET), "{request:?}");
    // The twins: another secret, another body, another time and another id are all found out.
    assert!(!request.is_signed_with("whsec-0123456789abcdef0123456780"));
    assert!(
        !Request { body: request.body.replace("done", "gone"), ..request.clone() }.is_signed_with(SECRET)
    );
    for name in ["Planwright-Id", "Planwright-Timestamp", "Planwright-Signature"] {
        let mut other = request.clone();
        other.headers.iter_mut().filter(|(known, _)| known == name).for_each(|(_, value)| value.push('0'));
        assert!(!other.is_signed_with(SECRET), "{name}");
    }
    let argv = place.read("../home/argv");
    assert!(argv.ends_with("--disable\n--config\n-\n") && !argv.contains("127.0.0.1"), "{argv}");
    assert!(!place.read("../home/env").contains(SECRET));
    let found = place.bash(&format!("grep -rlF '{SECRET}' \"$HOME\" ."));
    assert!(found.stdout.ends_with("home/secret\n") && found.stdout.lines().count() == 1, "{found:#?}");
    place.run(&["log", "--all", "--deliver"]).expect(0, &["webhook", "delivered 0"]);
}

// P-17: a server that is down for a moment is told again, and one that redirects is not followed.
#[test]
fn a_webhook_that_is_not_taken_is_sent_again() {
    let (url, requests) = serve(&[500, 302, 503, 200]);
    let place = place(&url);
    place.approve_and_run().expect(0, &[]);
    // The end of a run waits for no second try.
    let ran = place.run(&["log", "--all", "--deliver"]);
    ran.expect(0, &["webhook", "delivered 1"]);
    let all: Vec<Request> = (0..4).map(|_| next(&requests)).collect();
    assert!(
        all.iter().all(|request| request.is_signed_with(SECRET) && request.line.contains("/hook")),
        "{all:?}"
    );
    let ids: Vec<&str> = all.iter().map(|request| request.header("Planwright-Id")).collect();
    assert_eq!(ids, ["run/1/6"; 4], "the same one, by which the server can tell");
    assert!(requests.try_recv().is_err());
}

#[test]
fn a_webhook_that_others_could_read_or_forge_is_not_sent() {
    let (url, requests) = serve(&[200]);
    // What is changed in the settings of the user, and why nothing is sent then.
    let cases = [
        ("home/secret", "project/secret", "is inside the project"),
        ("home/secret", "home/short", "fewer than 16 bytes"),
        ("home/secret", "home/open", "chmod 600"),
        ("home/secret", "home/none", "cannot read"),
        ("home/secret", "home", "is not a regular file"),
        ("secret_file = '/", "secret_file = '", "is not an absolute path"),
        ("secret_file", "#", "hooks.webhook.secret_file is not set"),
        ("127.0.0.1", "example.org", "use https"),
        ("http://", "file://", "invalid hooks.webhook.url"),
    ];
    for (from, to, why) in cases {
        let place = place(&url);
        for (file, text, mode) in
            [("secret", SECRET, 0o600), ("../home/short", "short", 0o600), ("../home/open", SECRET, 0o644)]
        {
            place.write(file, text).permit(file, mode);
        }
        let settings = place.read(USER);
        assert!(settings.contains(from), "{settings}");
        place.write(USER, settings.replace(from, to));
        place.approve_and_run().expect(0, &[]);
        place.run(&["doctor"]).expect(0, &[why, "planwright config hooks.webhook.url"]);
        place.run(&["log", "--all", "--deliver"]).expect(1, &[why]);
        assert!(requests.try_recv().is_err(), "{why}: it was sent");
        // The twin: with the settings as they were, the same event is sent.
        place.write(USER, settings);
        place.run(&["log", "--all", "--deliver"]).expect(0, &["delivered 1"]);
        assert!(next(&requests).is_signed_with(SECRET), "{why}");
    }
}
