//! Inputs by chance: those of a corpus, changed in a few places with pieces that mean something.

/// Pieces that mean something in a plan, in YAML, in bash or in a pattern.
const WORDS: &[&str] = &[
    "\n",
    "\r\n",
    "\t",
    "    ",
    "---\n",
    "### 2. ",
    "### N+1. ",
    "**task:**",
    "**contract:**\n",
    "**needs:** ",
    "```",
    "~~~",
    "```shell\n",
    "- ",
    "> ",
    "<!--",
    ": ",
    "&a ",
    "*a",
    "!t ",
    "|\n",
    "\"",
    "'",
    "#",
    "{",
    "}",
    "[",
    "]",
    ", ",
    "$(",
    "${",
    "))",
    "<<E\n",
    "&& ",
    "| tail",
    "\\",
    "**/",
    "*",
    "?",
    "✅ ",
    "\u{feff}",
    "\u{202e}",
    "\u{200d}",
    "\0",
    "`",
];
const INPUT_BYTES_MAX: usize = 8192;

/// Numbers by xorshift: never zero, and the same again from the same beginning.
pub struct Chance(u64);

impl Chance {
    /// Begins with any number.
    pub fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap_or(0) % limit.max(1)
    }

    /// One of the inputs, changed in a few places.
    pub fn mutant(&mut self, seeds: &[Vec<u8>]) -> Vec<u8> {
        let mut input = seeds[self.below(seeds.len())].clone();
        for _ in 0..=self.below(6) {
            let at = self.below(input.len() + 1);
            let end = (at + self.below(40)).min(input.len());
            match self.below(5) {
                0 => drop(input.drain(at..end)),
                1 => drop(input.splice(at..at, input[at..end].to_vec())),
                2 => drop(input.splice(at..at, WORDS[self.below(WORDS.len())].bytes())),
                3 => drop(input.splice(at..end, WORDS[self.below(WORDS.len())].bytes())),
                _ => {
                    let other = &seeds[self.below(seeds.len())];
                    let from = self.below(other.len() + 1);
                    let to = (from + self.below(200)).min(other.len());
                    input.splice(at..end, other[from..to].iter().copied());
                }
            }
        }
        input.truncate(INPUT_BYTES_MAX);
        input
    }
}
