mod build;
mod flaps;
mod healthy;
mod stuck;
