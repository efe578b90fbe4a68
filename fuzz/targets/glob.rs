//! Lets coverage choose the inputs of `glob`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| planwright_fuzz::glob(bytes));
