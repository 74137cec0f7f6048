//! The picture: mean divergence against bits of a weight.

use anyhow::Result;
use plotters::prelude::*;

use super::candidates::Kind;
use super::report::Report;

/// Pixels.
const SIZE: (u32, u32) = (860, 560);

const fn colour(kind: Kind) -> RGBColor {
    match kind {
        Kind::Stored => BLACK,
        Kind::Blocks => RGBColor(31, 119, 180),
        Kind::FourBit => RGBColor(230, 110, 20),
    }
}

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
            // Room for the names, which stand to the right of their points.
            .build_cartesian_2d(bits.0 - 0.3..bits.1 + 1.4, (divergences.0 / 2.0..divergences.1 * 2.0).log_scale())?;
        chart
            .configure_mesh()
            .x_desc("bits a weight")
            .y_desc("mean KL divergence, nats")
            .x_label_formatter(&|x| format!("{x:.1}"))
            .y_label_formatter(&|y| format!("{y:.0e}"))
            .light_line_style(TRANSPARENT)
            .draw()?;
        for (row, point) in points {
            let colour = colour(row.kind);
            let name = Text::new(row.name.clone(), (8, -6), ("sans-serif", 13).into_font().color(&colour));
            chart.draw_series([EmptyElement::at(point) + Circle::new((0, 0), 4, colour.filled()) + name])?;
        }
        root.present()?;
    }
    Ok(svg)
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
