//! The `planwright` program.

fn main() {}
