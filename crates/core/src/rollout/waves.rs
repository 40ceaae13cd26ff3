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

    /// Returns whether no pod is available although some were.
    fn is_none_left(&self) -> bool;

    fn course(&mut self) -> &mut Course;
}

pub(super) fn run(controller: &mut impl Controller) {
    loop {
        controller.course().waves += 1;
        let before = controller.course().steps.len();
        // Pods do not become available within a wave.
        while controller.sync() {
            let (down, is_none_left) = (controller.down(), controller.is_none_left());
            let course = controller.course();
            course.takes_all_down |= is_none_left;
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
