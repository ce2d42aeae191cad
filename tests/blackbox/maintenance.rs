//! How the owner looks at the house itself: what is in order, what changed, how calls went, and what a
//! schedule would come to.

mod changed;
mod counted;
mod doctor;
mod preview;
