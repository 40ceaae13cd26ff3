//! A plot with two logarithmic axes, as SVG.

use std::fmt::Write as _;

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 340.0;
/// Left, right, top, bottom.
const MARGINS: [f64; 4] = [70.0, 20.0, 40.0, 50.0];
const COLOURS: [&str; 3] = ["#1f6feb", "#d1242f", "#1a7f37"];

/// A line with its name.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) name: String,
    /// All positive.
    pub(crate) points: Vec<(f64, f64)>,
}

/// Draws lines, and for each a dashed one that grows as fast as x does, from its first point.
pub(crate) fn svg(title: &str, x: &str, y: &str, lines: &[Line]) -> String {
    let all: Vec<(f64, f64)> = lines.iter().flat_map(|line| line.points.clone()).collect();
    let [left, right, top, bottom] = MARGINS;
    let across = Axis::of(all.iter().map(|point| point.0), left, WIDTH - right);
    let up = Axis::of(all.iter().map(|point| point.1), HEIGHT - bottom, top);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n\
         <text x=\"{left}\" y=\"20\" font-size=\"14\">{title}</text>\n"
    );
    let (floor, middle) = (HEIGHT - bottom, (left + WIDTH - right) / 2.0);
    for (at, label) in across.ticks() {
        let _ = writeln!(
            out,
            "<path d=\"M{at:.1} {top}V{floor}\" stroke=\"#ddd\"/>\
             <text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>",
            floor + 15.0
        );
    }
    for (at, label) in up.ticks() {
        let _ = writeln!(
            out,
            "<path d=\"M{left} {at:.1}H{}\" stroke=\"#ddd\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
            WIDTH - right,
            left - 5.0,
            at + 4.0
        );
    }
    let _ = writeln!(
        out,
        "<text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">{x}</text>\
         <text x=\"{left}\" y=\"34\">{y}; dashed: proportional</text>",
        HEIGHT - 12.0
    );
    for (i, line) in lines.iter().enumerate() {
        draw(&mut out, line, i, [&across, &up]);
    }
    out.push_str("</svg>\n");
    out
}

/// Draws a line, its proportional one and its name.
fn draw(out: &mut String, line: &Line, i: usize, [across, up]: [&Axis; 2]) {
    let [left, _, top, _] = MARGINS;
    let colour = COLOURS[i % COLOURS.len()];
    let place = |(x, y): &(f64, f64)| format!("{:.1},{:.1}", across.at(*x), up.at(*y));
    let path: Vec<String> = line.points.iter().map(place).collect();
    let _ = writeln!(
        out,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
        path.join(" ")
    );
    for point in &line.points {
        let _ = writeln!(
            out,
            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\" fill=\"{colour}\"/>",
            across.at(point.0),
            up.at(point.1)
        );
    }
    if let (Some(first), Some(last)) = (line.points.first(), line.points.last()) {
        // Up to where it leaves the plot.
        let end = last.0.min(first.0 * up.high / first.1);
        let ends = [*first, (end, first.1 * end / first.0)].map(|point| place(&point));
        let _ = writeln!(
            out,
            "<polyline points=\"{}\" stroke=\"{colour}\" stroke-dasharray=\"3 4\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" fill=\"{colour}\">{}</text>",
            ends.join(" "),
            left + 8.0,
            top + 14.0 * (i as f64 + 1.0),
            line.name
        );
    }
}

/// A logarithmic axis between two powers of ten.
struct Axis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Axis {
    fn of(values: impl Iterator<Item = f64> + Clone, from: f64, to: f64) -> Self {
        let least = values.clone().fold(f64::INFINITY, f64::min).log10().floor();
        let most = values.fold(f64::NEG_INFINITY, f64::max).log10().ceil();
        Axis { low: 10f64.powf(least), high: 10f64.powf(most.max(least + 1.0)), from, to }
    }

    fn at(&self, value: f64) -> f64 {
        let share = (value / self.low).log10() / (self.high / self.low).log10();
        self.from + share * (self.to - self.from)
    }

    fn ticks(&self) -> Vec<(f64, String)> {
        let decades = (self.high / self.low).log10().round() as i32;
        let values = (0..=decades).map(|decade| self.low * 10f64.powi(decade));
        values.map(|value| (self.at(value), label(value))).collect()
    }
}

fn label(value: f64) -> String {
    match value {
        1e6.. => format!("{} M", value / 1e6),
        1e3.. => format!("{} k", value / 1e3),
        _ => format!("{value}"),
    }
}
