//! Lets coverage choose the inputs of `patch`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| planwright_fuzz::patch(bytes));
