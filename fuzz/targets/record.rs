//! Lets coverage choose the inputs of `record`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| planwright_fuzz::record(bytes));
