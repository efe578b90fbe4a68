//! Lets coverage choose the inputs of `proposal`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| planwright_fuzz::proposal(bytes));
