//! The picture: mean divergence against bits of a weight.

use anyhow::Result;
use plotters::prelude::*;

use super::candidates::Kind;
use super::report::Report;

/// Pixels.
const SIZE: (u32, u32) = (1040, 640);

const fn colour(kind: Kind) -> RGBColor {
    match kind {
        Kind::Stored => BLACK,
        Kind::Blocks => RGBColor(31, 119, 180),
        Kind::FourBit => RGBColor(230, 110, 20),
    }
}

/// The height of names, in pixels.
const FONT: i32 = 13;

/// Of a point, in pixels.
const RADIUS: i32 = 4;

/// What lies below it is drawn there: weights that are the reference's own have no distance from it.
const LEAST: f64 = 1e-6;

/// Draws the rows.
pub(super) fn svg(report: &Report) -> Result<String> {
    let points: Vec<_> =
        report.rows.iter().map(|row| (row, (report.bits(row), row.divergence.mean.max(LEAST)))).collect();
    let along = |axis: fn((f64, f64)) -> f64| range(points.iter().map(move |&(_, point)| axis(point)));
    let (bits, divergences) = (along(|point| point.0), along(|point| point.1));
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        root.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&root)
            .caption(format!("{}: distance from bf16 against size", report.model), ("sans-serif", 17))
            .margin(12)
            .x_label_area_size(38)
            .y_label_area_size(74)
            // Room for the names, which stand to the right of their points if they can.
            .build_cartesian_2d(bits.0 - 0.3..bits.1 + 1.4, (divergences.0 / 2.0..divergences.1 * 2.0).log_scale())?;
        chart
            .configure_mesh()
            .x_desc("bits a weight")
            .y_desc("mean KL divergence, nats")
            .x_label_formatter(&|x| format!("{x:.1}"))
            .y_label_formatter(&|y| format!("{y:.0e}"))
            .light_line_style(TRANSPARENT)
            .draw()?;
        let places: Vec<_> = points.iter().map(|(_, point)| chart.backend_coord(point)).collect();
        let names: Vec<_> = points.iter().map(|(row, _)| row.name.as_str()).collect();
        for ((row, point), at) in points.iter().zip(beside(&places, &names)) {
            let colour = colour(row.kind);
            let name = Text::new(row.name.clone(), at, ("sans-serif", FONT).into_font().color(&colour));
            chart.draw_series([EmptyElement::at(*point) + Circle::new((0, 0), RADIUS, colour.filled()) + name])?;
        }
        root.present()?;
    }
    Ok(svg)
}

/// Where names are written, from their points, so that as few as can be cover another or a point.
fn beside(points: &[(i32, i32)], names: &[&str]) -> Vec<(i32, i32)> {
    let circles =
        points.iter().map(|&(x, y)| Area { x: x - RADIUS, y: y - RADIUS, width: 2 * RADIUS, height: 2 * RADIUS });
    let mut taken: Vec<Area> = circles.collect();
    let mut places = Vec::new();
    for (&(x, y), name) in points.iter().zip(names) {
        let width = name.chars().count() as i32 * FONT / 2;
        let middle = -FONT / 2;
        let sides = [2 * RADIUS, -2 * RADIUS - width];
        let tried = sides.into_iter().flat_map(|dx| [0, -6, 6, -12, 12].map(|dy| (dx, middle + dy)));
        let area = |(dx, dy): (i32, i32)| Area { x: x + dx, y: y + dy, width, height: FONT };
        let free = |&place: &(i32, i32)| !taken.iter().any(|other| area(place).meets(other));
        let place = tried.clone().find(free).unwrap_or((sides[0], middle));
        taken.push(area(place));
        places.push(place);
    }
    places
}

/// A part of the picture, in pixels from its left upper corner.
#[derive(Clone, Copy, Debug)]
struct Area {
    x: i32,
    y: i32,
    width: i32,
    height: i32,
}

impl Area {
    const fn meets(&self, other: &Self) -> bool {
        self.x < other.x + other.width
            && other.x < self.x + self.width
            && self.y < other.y + other.height
            && other.y < self.y + self.height
    }
}

/// The least and the largest of some numbers, 1 where there are none.
fn range(numbers: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    (numbers.clone().reduce(f64::min).unwrap_or(1.0), numbers.reduce(f64::max).unwrap_or(1.0))
}

#[cfg(test)]
mod tests {
    use super::super::report::tests::report;
    use super::*;

    #[test]
    fn the_picture_holds_a_point_a_row() {
        let svg = svg(&report()).expect("a picture");
        assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"), "{svg}");
        assert_eq!(svg.matches("<circle").count(), 3);
        for wanted in ["Q8_0", "w4a16 group 64", "int4", "bits a weight", "model.gguf"] {
            assert!(svg.contains(wanted), "{wanted}: {svg}");
        }
    }

    /// Two that are near each other, and a third one far away.
    #[test]
    fn names_are_beside_their_points_and_not_on_others() {
        let places = beside(&[(100, 100), (110, 103), (300, 300)], &["Q4_1", "w4a16 group 32", "int4"]);
        // The point of the second lies where the name of the first would be: that is written above it.
        assert_eq!(places, [(8, -18), (8, -6), (8, -6)]);
        // Between two columns of points there is room to the left alone.
        let column = (0..5).map(|i| (110, 60 + 20 * i));
        let points: Vec<_> = [(100, 100)].into_iter().chain(column).collect();
        assert_eq!(beside(&points, &["Q4_1", "", "", "", "", ""])[0], (-34, -6));
    }

    #[test]
    fn nothing_and_no_distance_are_pictures_too() {
        let mut report = report();
        report.rows.truncate(1);
        report.rows[0].divergence.mean = 0.0;
        assert!(svg(&report).expect("a picture").contains("Q8_0"));
        report.rows.clear();
        assert!(svg(&report).expect("a picture").starts_with("<svg "));
    }
}
