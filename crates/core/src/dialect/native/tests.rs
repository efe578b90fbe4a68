//! Tests of the native dialect.
