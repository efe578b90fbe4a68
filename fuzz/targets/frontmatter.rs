//! Lets coverage choose the inputs of `frontmatter`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| planwright_fuzz::frontmatter(bytes));
