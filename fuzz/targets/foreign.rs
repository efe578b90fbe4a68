//! Lets coverage choose the inputs of `foreign`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| planwright_fuzz::foreign(bytes));
