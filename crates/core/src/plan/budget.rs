//! Budgets, parsed from prose such as "max 200k tokens, $1.50, 20 minutes wall clock".

/// The limits of a plan. `None` means unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Budget {
    pub tokens: Option<u64>,
    /// Millionths of a dollar.
    pub micro_dollars: Option<u64>,
    /// Wall-clock time.
    pub seconds: Option<u64>,
}

impl Budget {
    /// Parses every amount in `text` with a known unit; the first of each kind counts.
    pub fn read(text: &str) -> Self {
        let mut budget = Self::default();
        for amount in amounts(text) {
            match amount {
                Amount::Tokens(tokens) => budget.tokens = budget.tokens.or(Some(tokens)),
                Amount::MicroDollars(money) => budget.micro_dollars = budget.micro_dollars.or(Some(money)),
                // "1 hour 30 minutes" is one duration.
                Amount::Seconds(seconds) => {
                    budget.seconds = Some(budget.seconds.unwrap_or(0).saturating_add(seconds));
                }
            }
        }
        budget
    }

    /// Parses amounts that a person adds: `+1.50`, `$1.50`, `50k tokens`, `10 min`. A bare number is money; zero and
    /// negative amounts are invalid.
    pub fn addition(text: &str) -> Option<Self> {
        let amount = text.trim().trim_start_matches('+').trim_start();
        let is_bare = amount.chars().all(|character| character.is_ascii_digit() || character == '.');
        let budget = Self::read(&if is_bare { format!("${amount}") } else { amount.to_owned() });
        let amounts = [budget.micro_dollars, budget.tokens, budget.seconds].map(Option::unwrap_or_default);
        (!amount.starts_with('-') && amounts != [0; 3]).then_some(budget)
    }

    pub fn is_unlimited(self) -> bool {
        self == Self::default()
    }
}

/// Parses a duration such as `10 min`, `90s` or `1 hour 30 minutes`; a bare number is seconds.
pub fn seconds(text: &str) -> Option<u64> {
    if let Ok(seconds) = text.trim().parse() {
        return Some(seconds);
    }
    let budget = Budget::read(text);
    let is_time = budget.tokens.is_none() && budget.micro_dollars.is_none();
    budget.seconds.filter(|_| is_time)
}

#[derive(Debug, PartialEq)]
enum Amount {
    Tokens(u64),
    MicroDollars(u64),
    Seconds(u64),
}

/// A number with its adjacent text.
struct Number<'a> {
    value: f64,
    is_money: bool,
    behind: &'a str,
}

fn amounts(text: &str) -> impl Iterator<Item = Amount> + '_ {
    let mut rest = text;
    let numbers = std::iter::from_fn(move || {
        let start = rest.find(|character: char| character.is_ascii_digit())?;
        let before = rest[..start].trim_end();
        let digits = rest[start..]
            .find(|character: char| !(character.is_ascii_digit() || ['.', ',', '_'].contains(&character)))
            .map_or(rest.len(), |length| start + length);
        let written = rest[start..digits].trim_end_matches(['.', ',']);
        let plain: String =
            written.chars().filter(|&character| character != ',' && character != '_').collect();
        let number = plain.parse::<f64>().ok();
        let is_money = before.ends_with(['$', '€']) || before.ends_with("US$");
        let behind = &rest[start + written.len()..];
        rest = &rest[digits..];
        Some(number.map(|value| Number { value, is_money, behind }))
    });
    numbers.flatten().filter_map(|number| amount(&number))
}

fn amount(number: &Number<'_>) -> Option<Amount> {
    let behind = number.behind.trim_start_matches([' ', '\t', '-']);
    let word_end = behind.find(|character: char| !character.is_alphabetic()).unwrap_or(behind.len());
    let (word, after) = behind.split_at(word_end);
    let (scale, unit) = match word {
        "k" | "K" => (1e3, next_word(after)),
        "M" | "mio" | "million" | "mil" => (1e6, next_word(after)),
        "m" if next_word(after).to_lowercase().starts_with("tok") => (1e6, next_word(after)),
        "ktok" | "ktokens" => (1e3, "tokens"),
        "Mtok" | "Mtokens" => (1e6, "tokens"),
        _ => (1.0, word),
    };
    if number.is_money {
        return Some(Amount::MicroDollars(whole(number.value * scale * 1e6)));
    }
    match unit.to_lowercase().as_str() {
        "tokens" | "token" | "tok" | "toks" => Some(Amount::Tokens(whole(number.value * scale))),
        "usd" | "dollar" | "dollars" | "eur" => Some(Amount::MicroDollars(whole(number.value * scale * 1e6))),
        "s" | "sec" | "secs" | "second" | "seconds" => Some(Amount::Seconds(whole(number.value))),
        "m" | "min" | "mins" | "minute" | "minutes" => Some(Amount::Seconds(whole(number.value * 60.0))),
        "h" | "hr" | "hrs" | "hour" | "hours" => Some(Amount::Seconds(whole(number.value * 3600.0))),
        "d" | "day" | "days" => Some(Amount::Seconds(whole(number.value * 86_400.0))),
        _ => None,
    }
}

fn next_word(text: &str) -> &str {
    let text = text.trim_start();
    &text[..text.find(|character: char| !character.is_alphabetic()).unwrap_or(text.len())]
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "amounts are never negative, and a float that is too large saturates"
)]
fn whole(value: f64) -> u64 {
    value.round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, tokens: Option<u64>, micro_dollars: Option<u64>, seconds: Option<u64>) {
        assert_eq!(Budget::read(text), Budget { tokens, micro_dollars, seconds }, "{text}");
    }

    // budgets in prose are read into numbers.
    #[test]
    fn amounts_are_read_out_of_prose() {
        check("max 200k tokens, $1.50, 20 minutes wall clock", Some(200_000), Some(1_500_000), Some(1200));
        check("max 300k tokens, $2.00, 30 minutes", Some(300_000), Some(2_000_000), Some(1800));
        check("max 1M tokens, $8.00, 60 minutes", Some(1_000_000), Some(8_000_000), Some(3600));
        check("$0, 1 minute", None, Some(0), Some(60));
        check("1,500,000 tokens and 2.5 USD", Some(1_500_000), Some(2_500_000), None);
        check("1 hour 30 minutes.", None, None, Some(5400));
        check("1.5 million tokens", Some(1_500_000), None, None);
        check("90s", None, None, Some(90));
        check("as little as possible", None, None, None);
        check("3 steps, 2 reviewers", None, None, None);
    }

    #[test]
    fn a_time_is_only_a_time() {
        assert_eq!(seconds("10 min"), Some(600));
        assert_eq!(seconds("90"), Some(90));
        assert_eq!(seconds("1h 30m"), Some(5400));
        assert_eq!(seconds("soon"), None);
        assert_eq!(seconds("$3"), None);
        assert_eq!(seconds("99999999999999999999999 days"), Some(u64::MAX));
    }
}
