//! Lets coverage choose the inputs of `shell`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| planwright_fuzz::shell(bytes));
