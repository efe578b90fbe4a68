//! Lets coverage choose the inputs of `named`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| planwright_fuzz::named(bytes));
