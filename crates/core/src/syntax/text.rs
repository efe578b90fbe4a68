//! Texts that have to fit on one line, into a fence or into a file.

/// The words of a text, with one blank between them.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The text with a blank for every line break.
pub fn unbroken(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

/// A fence of backticks that no line of `code` can close.
pub fn fence(code: &str) -> String {
    let ticks = code.lines().map(|line| line.trim_start().bytes().take_while(|&byte| byte == b'`').count());
    "`".repeat(ticks.max().unwrap_or(0).max(2) + 1)
}

/// The text with LF line endings, from its first line on that is not blank, without byte order marks.
pub fn begun(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let mut rest = text.trim_start_matches('\u{feff}');
    while let Some((first, below)) = rest.split_once('\n') {
        if !first.trim_matches([' ', '\t']).is_empty() {
            break;
        }
        rest = below.trim_start_matches('\u{feff}');
    }
    rest.to_owned()
}
