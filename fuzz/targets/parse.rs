//! Lets coverage choose the inputs of `parse`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| planwright_fuzz::parse(bytes));
