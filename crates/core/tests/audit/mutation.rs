//! What somebody could do who can write the record: with the hashes left as they were, and with all of them made to fit again.

use planwright_core::approval::ledger::LedgerEntry;
use planwright_core::audit::Kind;
use planwright_core::plan::identity::Identity;
use planwright_core::run::event::{Event, Judged, RunEvent, RunOutcome, StepEvent};
use planwright_core::run::judge::Observation;

use super::sample::{Case, Mutation, approved, blob, digest, receipt, second};

macro_rules! mutations {
    ($($name:literal, $act:expr, [$($kind:ident),*], $says:literal;)*) => {
        &[$(Mutation { name: $name, act: $act, kinds: &[$(Kind::$kind),*], says: $says }),*]
    };
}

/// Records changed, with the hashes left as they were.
pub(crate) const CHAINS: &[Mutation] = mutations![
    "an event is deleted", |case| drop(case.run().book.links.remove(3)), [Missing, IllegalEvent, UnprovenMark], "event 4 of run 1";
    "two events are deleted", |case| drop(case.run().book.links.drain(3..5)), [Missing, IllegalEvent, UnprovenMark], "event 4 of run 1";
    "the first event is deleted", |case| drop(case.run().book.links.remove(0)), [Missing, Changed, IllegalEvent, UnprovenMark], "event 1 of run 1";
    "the last event is deleted", |case| drop(case.run().book.links.pop()), [OtherHead, CutOff, UnprovenMark], "run 1";
    "all events are deleted", |case| case.run().book.links.clear(), [OtherHead, CutOff, UnprovenMark], "run 1";
    "the last event is deleted, and the head says so", |case| { case.run().book.links.pop(); let end = case.run().end(); case.run().book.head = Some(end); }, [CutOff, UnprovenMark], "the anchor file has record 10";
    "all events are deleted, and the head says so", |case| { case.run().book.links.clear(); let end = case.run().end(); case.run().book.head = Some(end); }, [CutOff, UnprovenMark], "the anchor file has record 10";
    "two events change places", |case| case.run().book.links.swap(2, 3), [Missing, Unlinked, IllegalEvent, UnprovenMark], "event 3 of run 1";
    "two events change texts", |case| { let text = case.run().book.links[2].text.clone(); let next = case.run().book.links[3].text.clone(); case.run().book.links[2].text = next; case.run().book.links[3].text = text; }, [Changed, IllegalEvent, UnprovenMark], "event 3 of run 1";
    "an event is doubled", |case| { let link = case.run().book.links[1].clone(); case.run().book.links.insert(1, link); }, [Unlinked, IllegalEvent, UnprovenMark], "event 2 of run 1";
    "a code is changed", |case| case.event(3, r#""exited":1"#, r#""exited":0"#), [Changed, WrongVerdict], "event 4 of run 1";
    "a verdict is changed", |case| case.event(3, r#"{"failed":{"code":1}}"#, r#""passed""#), [Changed, IllegalEvent, WrongVerdict, UnprovenMark], "step `make`";
    "a time is changed", |case| case.run().book.links[4].at_ms += 1, [Changed], "event 5 of run 1";
    "the time of the first event is changed", |case| case.run().book.links[0].at_ms += 1, [Changed], "event 1 of run 1";
    "the time of the run is changed", |case| case.run().created_at_ms += 1, [Changed], "run 1";
    "a hash is changed", |case| case.run().book.links[4].hash = blake3::hash(b"x"), [Changed, Unlinked], "event 5 of run 1";
    "a link back is changed", |case| case.run().book.links[4].prev = blake3::hash(b"x"), [Changed, Unlinked], "event 5 of run 1";
    "a number is changed", |case| case.run().book.links[4].seq = 40, [Missing, Changed, Unlinked], "event 5 of run 1";
    "a text is no text", |case| case.run().book.links[4].text = b"\xff\xfe".to_vec(), [Changed, Unreadable, IllegalEvent, UnprovenMark], "event 5 of run 1";
    "a text is no event", |case| case.event(4, "attempt.started", "attempt.dreamt"), [Changed, Unreadable, IllegalEvent, UnprovenMark], "event 5 of run 1";
    "the head is gone", |case| case.run().book.head = None, [OtherHead], "run 1";
    "the head is another", |case| case.run().book.head.as_mut().expect("one").hash = blake3::hash(b"x"), [OtherHead], "run 1";
    "the head is earlier", |case| case.run().book.head.as_mut().expect("one").seq = 3, [OtherHead], "run 1";
    "the run has another number", |case| case.run().book.number = 2, [Changed, Gone, NoRun, Unapproved], "event 1 of run 2";
    "the approved text is another", |case| case.run().text.push('\n'), [Unlinked], "event 1 of run 1";
    "an entry is deleted", |case| drop(case.ledger().links.remove(1)), [Missing], "entry 2 of the ledger";
    "the last entry is deleted", |case| drop(case.ledger().links.pop()), [OtherHead, CutOff], "the ledger";
    "the last entry is deleted, and the head says so", |case| { case.ledger().links.pop(); let end = case.ledger().end(blake3::hash(b"")); case.ledger().head = Some(end); }, [CutOff], "the anchor file has record 8";
    "an approval is deleted", |case| drop(case.ledger().links.remove(5)), [Missing, IllegalEntry, OtherApproval, TooFew], "entry 6 of the ledger";
    "two entries change places", |case| case.ledger().links.swap(4, 5), [Missing, Unlinked, OtherApproval], "entry 5 of the ledger";
    "an entry is doubled", |case| { let link = case.ledger().links[4].clone(); case.ledger().links.insert(5, link); }, [Unlinked, IllegalEntry], "entry 5 of the ledger";
    "a name in an approval is changed", |case| case.entry(4, "\"ada\"", "\"eve\""), [Changed, OtherApproval, WrongPerson], "entry 5 of the ledger";
    "a digest in an approval is changed", |case| case.entry(5, &digest(&second()), &"0".repeat(64)), [Changed, OtherApproval], "entry 6 of the ledger";
    "the feedback of a rejection is changed", |case| case.entry(1, "an empty file passes", "perfect"), [Changed], "entry 2 of the ledger";
    "the ledger has another number", |case| case.ledger().number = 9, [Changed], "entry 1 of the ledger";
    "the ledger is gone", |case| case.bundle.ledger = None, [Gone, Unapproved, OtherApproval], "the ledger of plans/it.md";
    "the run is gone", |case| drop(case.bundle.runs.pop()), [Gone, NoRun, UnprovenMark], "run 1";
];

/// Records changed by somebody who makes every hash fit again, and the heads that are kept elsewhere.
pub(crate) const MEANINGS: &[Mutation] = mutations![
    "a failure becomes a pass", |case| { case.event(3, r#"{"failed":{"code":1}}"#, r#""passed""#); case.run().book.links.drain(4..7); Case::renumber(&mut case.run().book); case.rehash(); }, [WrongVerdict], "step `make`, attempt 1";
    "a code is made to fit a forged pass", |case| { case.event(3, r#"{"failed":{"code":1}}"#, r#""passed""#); case.event(3, r#""expect":0"#, r#""expect":1"#); case.run().book.links.drain(4..7); Case::renumber(&mut case.run().book); case.rehash(); }, [OtherContract], "expects exit code 1";
    "a verdict is taken over from another plan", |case| { let old = digest(&second()); case.event(6, &old, &"1".repeat(64)); case.rehash(); }, [OtherDigest], "step `make`, attempt 2";
    "another command was run", |case| { case.event(6, &blob(b"test -s made && grep -q right made").0, &blob(b"true").0); case.rehash(); }, [OtherContract], "a different command";
    "a verdict for a step that a person confirms", |case| { case.event(7, "ask.opened", "ask.opened"); case.tell(7, &Event::Step { step: "sign".to_owned(), event: StepEvent::Judged { of: Judged::Claim, receipt: receipt(0, Vec::new()), broken_by: None } }); case.rehash(); }, [IllegalEvent, OtherContract, UnprovenMark], "sign";
    "the failed attempt never was", |case| { case.run().book.links.drain(1..4); Case::renumber(&mut case.run().book); case.rehash(); }, [IllegalEvent, UnprovenMark], "event 2 of run 1";
    "the confirmation never was", |case| { case.run().book.links.remove(8); Case::renumber(&mut case.run().book); case.rehash(); }, [UnprovenMark], "step `sign`";
    "the end never was", |case| { case.run().book.links.pop(); case.rehash(); }, [UnprovenMark], "the status";
    "the run failed", |case| { case.tell(9, &Event::Run(RunEvent::Finished { outcome: RunOutcome::Failed, why: "x".to_owned() })); case.rehash(); }, [UnprovenMark], "the status";
    "something happened after the end", |case| { let link = case.run().book.links[9].clone(); case.run().book.links.push(link); Case::renumber(&mut case.run().book); case.rehash(); }, [IllegalEvent, UnprovenMark], "event 11 of run 1";
    "a verdict stands twice", |case| { let link = case.run().book.links[6].clone(); case.run().book.links.insert(7, link); Case::renumber(&mut case.run().book); case.rehash(); }, [IllegalEvent, UnprovenMark], "event 8 of run 1";
    "a verdict without an attempt", |case| { case.run().book.links.drain(4..6); Case::renumber(&mut case.run().book); case.rehash(); }, [IllegalEvent, UnprovenMark], "event 5 of run 1";
    "the contract is weaker in the text that was run", |case| { case.run().text = case.run().text.replace("test -s made && grep -q right made", "true"); case.rehash(); }, [OtherPlan, UnprovenMark], "run 1";
    "the text is written in another dialect", |case| { "record".clone_into(&mut case.run().dialect); case.rehash(); }, [OtherPlan, UnprovenMark], "run 1";
    "the text is written in no dialect", |case| { "latin".clone_into(&mut case.run().dialect); case.rehash(); }, [OtherPlan, UnprovenMark], "run 1";
    "another plan was run than was approved", |case| { let first = case.bundle.runs[0].text.replace("test -s made && grep -q right made", "test -s made"); let (old, new) = (digest(&second()), digest(&first)); case.run().text = first; case.run().digest.clone_from(&new); for place in [0, 3, 6] { case.event(place, &old, &new); } for place in [3, 6] { case.event(place, &blob(b"test -s made && grep -q right made").0, &blob(b"test -s made").0); } case.rehash(); }, [OtherApproval, UnprovenMark], "approved ";
    "an agent approves", |case| { case.say(4, &approved(Identity::agent("codex"))); case.rehash(); }, [IllegalEntry, WrongPerson, OtherApproval, TooFew], "codex";
    "age approves", |case| { case.say(4, &approved(Identity::age())); case.rehash(); }, [IllegalEntry, WrongPerson, OtherApproval, TooFew], "age";
    "somebody else approves", |case| { case.say(4, &approved(Identity::person("eve"))); case.rehash(); }, [WrongPerson, OtherApproval], "eve may not";
    "a rule that there is not approves", |case| { case.say(4, &approved(Identity::policy("anything"))); case.rehash(); }, [WrongPerson, OtherApproval], "anything";
    "one approves twice", |case| { case.say(5, &approved(Identity::person("ada"))); case.rehash(); }, [IllegalEntry, OtherApproval, TooFew], "entry 6 of the ledger";
    "only one approves", |case| { case.ledger().links.remove(5); Case::renumber(case.ledger()); case.rehash(); }, [IllegalEntry, OtherApproval, TooFew], "1 of 2 required approvals";
    "fewer have to approve", |case| { for place in [4, 5] { case.entry(place, r#""needed":2"#, r#""needed":1"#); } case.rehash(); }, [WrongPerson, IllegalEntry, OtherApproval], "not alone";
    "nobody approves", |case| { case.ledger().links.drain(4..6); Case::renumber(case.ledger()); case.rehash(); }, [IllegalEntry, Unapproved, OtherApproval], "an approval by ada, mara";
    "the approval comes after the beginning", |case| { case.ledger().links.swap(5, 6); Case::renumber(case.ledger()); case.rehash(); }, [IllegalEntry, OtherApproval, TooFew], "run 1";
    "the approval had run out", |case| { for place in [4, 5] { case.entry(place, "5000000", "1005"); } case.rehash(); }, [Expired], "had expired";
    "the approval of another revision", |case| { case.entry(5, r#""revision":2"#, r#""revision":1"#); case.rehash(); }, [IllegalEntry, OtherApproval, TooFew], "r1 is not the newest";
    "the approval was taken back", |case| { case.say(3, &LedgerEntry::Undone { seq: 6, by: Identity::person("mara") }); case.rehash(); }, [IllegalEntry, OtherApproval, TooFew], "run 1";
    "the approval had lapsed", |case| { let mut link = case.ledger().links[5].clone(); link.text = serde_json::to_vec(&LedgerEntry::Lapsed { moved: vec!["src/app.py".to_owned()] }).expect("written"); case.ledger().links.insert(6, link); Case::renumber(case.ledger()); case.rehash(); }, [IllegalEntry, Unapproved, OtherApproval], "entry 8 of the ledger";
    "the plan was rejected in between", |case| { case.say(5, &LedgerEntry::Rejected { revision: 2, digest: digest(&second()), by: Identity::person("mara"), feedback: "no".to_owned() }); case.rehash(); }, [IllegalEntry, Unapproved, OtherApproval], "run 1";
    "a signature is another", |case| { case.entry(4, "\"good\"", "\"forged\""); case.rehash(); }, [BadSignature], "ada";
    "the run began elsewhere", |case| { case.event(0, "4f1c8aa0", "88d0e1f0"); case.rehash(); }, [Moved], "88d0e1f0";
    "the run says no base", |case| { case.event(0, "\"4f1c8aa0\"", "null"); case.rehash(); }, [Moved], "no commit";
    "the agents are others", |case| { case.event(0, r#""agents":{}"#, r#""agents":{"coder":["evil"]}"#); case.rehash(); }, [Moved], "agent commands";
    "a sealed file is another", |case| { case.event(0, &"aa".repeat(32), &"ab".repeat(32)); case.rehash(); }, [Moved], "tests/a.sh";
    "a sealed file is none any more", |case| { case.event(0, &format!("\"tests/a.sh\":\"{}\"", "aa".repeat(32)), ""); case.rehash(); }, [Moved], "tests/a.sh";
    "the run names another who approved", |case| { case.event(0, "ada, mara", "ada, eve"); case.rehash(); }, [OtherApproval], "ada, eve";
    "the run says nobody approved", |case| { case.event(0, "ada, mara", ""); case.rehash(); }, [OtherApproval], "the ledger has ada, mara";
    "a receipt names another who approved", |case| { case.event(6, r#""name":"mara""#, r#""name":"eve""#); case.rehash(); }, [OtherApproval], "an approval by eve";
    "a receipt names another entry", |case| { case.event(6, r#""seq":6"#, r#""seq":4"#); case.rehash(); }, [OtherApproval], "a different entry 4";
    "a receipt names an entry that there is not", |case| { case.event(6, r#""seq":6"#, r#""seq":60"#); case.rehash(); }, [OtherApproval], "which does not exist";
    "the ledger knows a run that there is not", |case| { case.entry(6, r#""run":1"#, r#""run":7"#); case.entry(7, r#""run":1"#, r#""run":7"#); case.rehash(); }, [NoRun, Unapproved], "run 7";
    "the text of a proposal is another", |case| { let hash = blob(second().as_bytes()).0; case.bundle.blobs.get_mut(&hash).expect("kept").content = Some(b"# nothing".to_vec()); }, [OtherPlan, OtherOutput], "the text of r2";
    "the text of a proposal is gone", |case| { let hash = blob(second().as_bytes()).0; case.bundle.blobs.remove(&hash); }, [NoOutput], "output";
    "what a contract printed is gone", |case| drop(case.bundle.blobs.remove(&blob(b"said\n").0)), [NoOutput], "not found, but a record";
    "what a contract printed is another", |case| case.bundle.blobs.get_mut(&blob(b"said\n").0).expect("kept").content = Some(b"paid\n".to_vec()), [OtherOutput], "hash mismatch";
    "what a contract printed has another length", |case| case.bundle.blobs.get_mut(&blob(b"said\n").0).expect("kept").bytes = 4, [OtherOutput], "hash mismatch";
    "what an agent was told is another", |case| case.bundle.blobs.get_mut(&blob(b"do it\n").0).expect("kept").content = Some(b"do that\n".to_vec()), [OtherOutput], "hash mismatch";
    "a time-out becomes a pass", |case| { let forged = Observation::TimedOut(60); case.event(6, r#"{"exited":0}"#, &serde_json::to_string(&forged).expect("written")); assert!(forged.failure(0).is_some()); case.rehash(); }, [WrongVerdict], "TimedOut";
    "a rejected plan is proposed unchanged", |case| { let first = case.ledger().links[0].text.clone(); case.ledger().links[2].text = first; case.rehash(); }, [IllegalEntry, Unapproved], "was rejected";
];

/// The plan file and the heads elsewhere.
pub(crate) const SURROUNDINGS: &[Mutation] = mutations![
    "a mark on a step that nobody ran", |case| case.file.push_str("\n### 3. ✅ More\n\n**id:** more\n**target:** shell\n\n**task:**\nDo.\n\n**contract:**\n```shell\ntrue\n```\n"), [UnprovenMark], "step `more`";
    "a mark on a step with another contract", |case| case.file = case.file.replace("grep -q right made", "true"), [UnprovenMark], "a different contract";
    "a mark on a step that became a person's", |case| case.file = case.file.replace("**contract:**\n```shell\ntest -s made && grep -q right made\n```", "**contract:** manual"), [UnprovenMark], "a different contract";
    "a mark on a person's step that got a contract", |case| case.file = case.file.replace("**contract:** manual", "**contract:**\n```shell\ntrue\n```"), [UnprovenMark], "step `sign`";
    "marks without any record", |case| { case.bundle.runs.clear(); case.bundle.ledger = None; case.kept.clear(); }, [UnprovenMark], "it has not been run";
    "an anchor has another hash", |case| case.kept[1].anchor.head.hash = blake3::hash(b"x"), [Rewritten], "the anchor file has";
    "an anchor knows more", |case| case.kept[1].anchor.head.seq += 1, [CutOff], "has record 11";
    "an anchor knows another time", |case| case.kept[1].anchor.at_ms += 1, [Rewritten], "does not have the time";
    "an anchor knows a run that there is not", |case| { let mut kept = case.kept[1].clone(); kept.anchor.book = planwright_core::audit::bundle::NamedHead::Run(5); case.kept.push(kept); }, [Gone], "run 5";
    "the ledger is written anew", |case| { let kept = case.kept.clone(); case.entry(1, "an empty file passes", "perfect"); case.rehash(); case.kept = kept; }, [Rewritten], "the ledger of plans/it.md";
    "the journal is written anew", |case| { let kept = case.kept.clone(); case.event(3, r#""milliseconds":7"#, r#""milliseconds":8"#); case.rehash(); case.kept = kept; }, [Rewritten], "run 1";
];

pub(crate) const FILES: &[Mutation] = mutations![
    "a letter of the header", |case| case.exported("planwright.receipts/1", "planwright.receipts/2"), [FileUnreadable, FileChanged, BadSignature], "it.jsonl:1";
    "the plan of the header", |case| case.exported("plans/it.md", "plans/at.md"), [FileChanged, BadSignature], "it.jsonl";
    "a line is taken out", |case| { let text = case.bundle.text().expect("written"); let line = text.lines().nth(4).expect("a line").to_owned() + "\n"; case.resealed(&line, ""); }, [Missing, IllegalEntry, Unapproved], "entry 3 of the ledger";
    "a line is doubled", |case| { let text = case.bundle.text().expect("written"); let line = text.lines().nth(4).expect("a line").to_owned() + "\n"; case.resealed(&line, &line.repeat(2)); }, [Unlinked], "entry 3 of the ledger";
    "the end is taken away", |case| { let text = case.bundle.text().expect("written"); let end = text.trim_end().rfind('\n').expect("lines") + 1; case.bytes = Some(text.as_bytes()[..end].to_vec()); }, [FileCut], "it.jsonl";
    "the last line break is taken away", |case| { let text = case.bundle.text().expect("written"); case.bytes = Some(text.trim_end().as_bytes().to_vec()); }, [FileCut], "it.jsonl";
    "the second half is taken away", |case| { let text = case.bundle.text().expect("written"); case.bytes = Some(text.as_bytes()[..text.len() / 2].to_vec()); }, [FileUnreadable, FileCut, OtherHead, CutOff, NoOutput, UnprovenMark], "it.jsonl";
    "nothing is left", |case| case.bytes = Some(Vec::new()), [FileCut, Gone, UnprovenMark], "it.jsonl";
    "a line stands behind the end", |case| { let text = case.bundle.text().expect("written"); let line = text.lines().nth(1).expect("a line").to_owned(); case.bytes = Some(format!("{text}{line}\n").into_bytes()); }, [FileUnreadable], "follows the end";
    "duplicate header", |case| { let text = case.bundle.text().expect("written"); let line = text.lines().next().expect("a line").to_owned() + "\n"; case.resealed(&line, &line.repeat(2)); }, [FileUnreadable], "duplicate header";
    "an unknown field", |case| case.resealed(r#"{"header":{"#, r#"{"header":{"more":1,"#), [FileUnreadable, BadSignature], "unknown field";
    "a field is missing", |case| case.resealed(r#""dialect":"native","created_at_ms""#, r#""created_at_ms""#), [FileUnreadable, Gone, NoRun, UnprovenMark], "missing field";
    "a blank in a record", |case| case.resealed(r#"{"event":"run.started","#, r#"{"event": "run.started","#), [Changed], "event 1 of run 1";
    "a forged code, resealed", |case| case.resealed(r#""observation":{"exited":1}"#, r#""observation":{"exited":0}"#), [Changed, WrongVerdict], "event 4 of run 1";
    "the approved text, resealed", |case| case.resealed(r#""text":"---\ntype: plan"#, r#""text":"---\ntype:  plan"#), [Unlinked], "event 1 of run 1";
    "the head of a run, resealed", |case| case.resealed(r#""head":{"seq":10"#, r#""head":{"seq":9"#), [OtherHead], "run 1";
    "what was printed, resealed", |case| case.resealed(r#""text":"said\n""#, r#""text":"paid\n""#), [OtherOutput], "output";
    "a hash is none", |case| case.resealed(r#""prev":""#, r#""prev":"zz"#), [FileUnreadable, Missing, IllegalEntry, Unapproved], "invalid hash";
];
