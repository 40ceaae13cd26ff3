mod build;
mod changing;
mod flaps;
mod states;
