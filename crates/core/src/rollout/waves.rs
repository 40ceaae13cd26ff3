//! The loop that both simulations share.

use super::Course;

/// A controller and its pods.
pub(super) trait Controller {
    /// Runs one round of the controller. Returns whether it did anything.
    fn sync(&mut self) -> bool;

    /// Prepares the next round of the same wave. Returns whether there is one.
    fn goes_on(&mut self) -> bool {
        true
    }

    /// Lets time pass until something changes. Returns whether anything did.
    fn advance(&mut self) -> bool;

    /// Returns how many pods are missing or unavailable.
    fn down(&self) -> usize;

    /// Returns the course so far.
    fn course(&mut self) -> &mut Course;
}

/// Runs a controller until nothing changes.
pub(super) fn run(controller: &mut impl Controller) {
    loop {
        controller.course().waves += 1;
        let before = controller.course().steps.len();
        // Pods do not become available within a wave.
        while controller.sync() {
            let down = controller.down();
            let course = controller.course();
            course.at_most_unavailable = course.at_most_unavailable.max(down);
            if !controller.goes_on() {
                break;
            }
        }
        let course = controller.course();
        if course.steps.len() == before {
            course.waves -= 1;
        }
        if !controller.advance() {
            break;
        }
    }
}
