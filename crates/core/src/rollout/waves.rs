use super::Course;

pub(super) trait Controller {
    /// Returns whether the round did anything.
    fn sync(&mut self) -> bool;

    /// Returns whether the wave has one more round.
    fn goes_on(&mut self) -> bool {
        true
    }

    /// Lets time pass until something changes. Returns whether anything did.
    fn advance(&mut self) -> bool;

    fn down(&self) -> usize;

    fn course(&mut self) -> &mut Course;
}

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
