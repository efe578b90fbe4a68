//! The façade: what faces call. Everything below it is an implementation detail of the engine.

pub mod start;
