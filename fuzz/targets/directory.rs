//! Lets coverage choose the inputs of `directory`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| planwright_fuzz::directory(bytes));
