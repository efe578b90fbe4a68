//! Random names that nothing else uses, on this branch or any other.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::plan_file::Error;

const SOURCE: &str = "/dev/urandom";
const LETTERS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const COUNT: usize = 8;

/// Eight random letters and digits.
pub fn chance() -> Result<String, Error> {
    let mut bytes = [0; COUNT];
    let read = File::open(SOURCE).and_then(|mut file| file.read_exact(&mut bytes));
    read.map_err(|source| Error::Read { path: Path::new(SOURCE).to_owned(), source })?;
    Ok(bytes.iter().map(|byte| char::from(LETTERS[usize::from(*byte) % LETTERS.len()])).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    // P-02: two branches that make plans do not make the same one.
    #[test]
    fn no_two_are_the_same() {
        let mut names: Vec<String> = (0..1000).map(|_| chance().expect("chance")).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), 1000);
        assert!(names.iter().all(|name| name.len() == COUNT));
    }
}
