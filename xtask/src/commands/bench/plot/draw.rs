//! The picture: prompt and generation, each against the length of the prompt and against threads.

use anyhow::{Context, Result};
use plotters::prelude::*;

use super::sweep::Point;

/// Pixels.
const SIZE: (u32, u32) = (1040, 760);

/// The length of the prompt at which threads are compared, if it was measured.
const USUAL_LENGTH: usize = 128;

/// The colours of the sides, in turn.
const COLOURS: [RGBColor; 2] = [RGBColor(31, 119, 180), RGBColor(230, 110, 20)];

/// A line of a panel.
struct Series {
    name: String,
    colour: RGBAColor,
    /// Ascending in x.
    points: Vec<(f64, f64)>,
}

/// A panel: tokens a second against something.
struct Panel {
    title: String,
    x_name: &'static str,
    /// The number that a place on the axis stands for.
    label: fn(f64) -> f64,
    series: Vec<Series>,
}

/// Draws the points.
pub(super) fn svg(points: &[Point]) -> Result<String> {
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        root.fill(&WHITE)?;
        for (area, panel) in root.split_evenly((2, 2)).iter().zip(panels(points)) {
            panel.draw(area).with_context(|| format!("cannot draw {}", panel.title))?;
        }
        root.present()?;
    }
    Ok(svg)
}

fn panels(points: &[Point]) -> Vec<Panel> {
    let mut lengths: Vec<_> = points.iter().map(|point| point.prompt_len).collect();
    lengths.sort_unstable();
    let usual = lengths.iter().copied().find(|length| *length == USUAL_LENGTH);
    let length = usual.or(lengths.get(lengths.len() / 2).copied()).unwrap_or_default();
    let mut panels = Vec::new();
    for (what, value) in
        [("prompt", (|point| point.prefill) as fn(&Point) -> f64), ("generation", |point| point.decode)]
    {
        panels.push(Panel {
            title: format!("{what} against the prompt's length"),
            x_name: "tokens of the prompt",
            label: |x| 2_f64.powf(x).round(),
            series: series(points, true, |point| Some(((point.prompt_len as f64).log2(), value(point)))),
        });
        panels.push(Panel {
            title: format!("{what} against threads, prompt of {length}"),
            x_name: "threads",
            label: |x| x,
            series: series(points, false, |point| {
                (point.prompt_len == length).then_some((point.threads as f64, value(point)))
            }),
        });
    }
    panels
}

/// A line for each side, and where `by_threads` for each number of threads, the fewer the paler.
fn series(points: &[Point], by_threads: bool, place: impl Fn(&Point) -> Option<(f64, f64)>) -> Vec<Series> {
    let most = points.iter().map(|point| point.threads).max().unwrap_or(1);
    let mut sides: Vec<&str> = Vec::new();
    let mut series: Vec<Series> = Vec::new();
    for point in points {
        let Some(place) = place(point) else { continue };
        let side = sides.iter().position(|side| *side == point.who).unwrap_or_else(|| {
            sides.push(&point.who);
            sides.len() - 1
        });
        let name = match (by_threads, point.threads) {
            (false, _) => point.who.clone(),
            (true, 1) => format!("{}, 1 thread", point.who),
            (true, threads) => format!("{}, {threads} threads", point.who),
        };
        let strength = if by_threads { 0.4 + 0.6 * point.threads as f64 / most as f64 } else { 1.0 };
        match series.iter_mut().find(|series| series.name == name) {
            Some(series) => series.points.push(place),
            None => {
                let colour = COLOURS[side % COLOURS.len()].mix(strength);
                series.push(Series { name, colour, points: vec![place] });
            }
        }
    }
    series.iter_mut().for_each(|series| series.points.sort_by(|a, b| a.0.total_cmp(&b.0)));
    series
}

impl Panel {
    fn draw(&self, area: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>) -> Result<()> {
        let all = || self.series.iter().flat_map(|series| &series.points);
        let mut ticks: Vec<i32> = all().map(|point| steps(point.0)).collect();
        ticks.sort_unstable();
        ticks.dedup();
        let (Some(&first), Some(&last)) = (ticks.first(), ticks.last()) else { return Ok(()) };
        let most = all().map(|point| point.1).fold(0.0, f64::max);
        // Names of the lines have room above them.
        let room = 1.15 + 0.1 * self.series.len() as f64;
        let top = if most > 0.0 { room * most } else { 1.0 };

        let margin = steps(0.3);
        let x = (first - margin..last + margin).with_key_points(ticks);
        let mut chart = ChartBuilder::on(area)
            .caption(&self.title, ("sans-serif", 17))
            .margin(12)
            .x_label_area_size(38)
            .y_label_area_size(58)
            .build_cartesian_2d(x, 0.0..top)?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .x_desc(self.x_name)
            .y_desc("tokens/s")
            .x_label_formatter(&|x| (self.label)(f64::from(*x) / STEPS).to_string())
            .y_label_formatter(&|y| y.to_string())
            .light_line_style(TRANSPARENT)
            .draw()?;
        for Series { name, colour, points } in &self.series {
            let style = colour.stroke_width(2);
            chart
                .draw_series(LineSeries::new(points.iter().map(|&(x, y)| (steps(x), y)), style))?
                .label(name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], style));
            chart.draw_series(points.iter().map(|&(x, y)| Circle::new((steps(x), y), 3, colour.filled())))?;
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .background_style(WHITE.mix(0.8))
            .border_style(BLACK.mix(0.3))
            .draw()?;
        Ok(())
    }
}

/// Steps of the axis to 1: it has ticks where there are points, as only axes of whole numbers have in this library.
const STEPS: f64 = 1000.0;

fn steps(x: f64) -> i32 {
    (STEPS * x).round() as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points() -> Vec<Point> {
        let mut points = Vec::new();
        for threads in [1, 2] {
            for prompt_len in [16, 128] {
                for (who, faster) in [("keepq", 2.0), ("llama.cpp 0.5.0", 1.0)] {
                    let prefill = faster * threads as f64 * (100.0 + prompt_len as f64);
                    points.push(Point { who: who.into(), threads, prompt_len, prefill, decode: prefill / 8.0 });
                }
            }
        }
        points
    }

    #[test]
    fn each_panel_has_a_line_a_side() {
        let panels = panels(&points());
        assert_eq!(panels.len(), 4);
        let names = |panel: &Panel| panel.series.iter().map(|series| series.name.clone()).collect::<Vec<_>>();
        assert_eq!(
            names(&panels[0]),
            ["keepq, 1 thread", "llama.cpp 0.5.0, 1 thread", "keepq, 2 threads", "llama.cpp 0.5.0, 2 threads"]
        );
        assert_eq!(names(&panels[1]), ["keepq", "llama.cpp 0.5.0"]);
        assert_eq!(panels[0].series[0].points, [(4.0, 232.0), (7.0, 456.0)]);
        assert_eq!(panels[1].series[1].points, [(1.0, 228.0), (2.0, 456.0)]);
        assert_eq!(panels[3].series[1].points, [(1.0, 28.5), (2.0, 57.0)]);
        assert_eq!((panels[0].label)(7.0), 128.0);
    }

    #[test]
    fn the_picture_holds_its_names_and_numbers() {
        let svg = svg(&points()).expect("a picture");
        assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"), "{svg}");
        for wanted in
            ["keepq, 2 threads", "llama.cpp 0.5.0", "tokens of the prompt", "tokens/s", "\n128\n", "prompt of 128"]
        {
            assert!(svg.contains(wanted), "{wanted}: {svg}");
        }
    }

    #[test]
    fn one_point_is_a_picture_too() {
        assert!(svg(&points()[..1]).expect("a picture").contains("keepq"));
        assert!(svg(&[]).expect("a picture").starts_with("<svg "));
    }
}
