//! The review of a plan: the direction of contracts, what else changed, and the object that every face shows.

#[path = "review/direction.rs"]
mod direction;
#[path = "review/model.rs"]
mod model;
