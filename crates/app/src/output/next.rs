//! The line with the next command to type.

use std::fmt::Write as _;

use planwright_engine::api::NextCommand;

/// The line that ends plain text, or nothing where there is nothing to type.
pub(super) fn line(next: &[NextCommand]) -> Option<String> {
    let (first, others) = next.split_first()?;
    let mut line = format!("next: {}", first.command);
    for other in others {
        let remark = other.remark.as_deref().unwrap_or("or");
        write!(line, "        {remark}: {}", other.command).expect("writing to a string cannot fail");
    }
    Some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_command_leads_and_the_others_say_when() {
        let next = [
            NextCommand::new(["planwright", "merge", "hello"]),
            NextCommand::new(["planwright", "show", "hello"]).remark("to look first"),
        ];
        assert_eq!(
            line(&next).as_deref(),
            Some("next: planwright merge hello        to look first: planwright show hello")
        );
        assert_eq!(line(&[]), None);
    }
}
