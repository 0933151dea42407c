//! Plots as SVG and PNG, drawn without libraries or fonts of the system.

use std::error::Error;
use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::{FontStyle, register_font};

pub type Result<T> = std::result::Result<T, Box<dyn Error>>;

pub const FONT: &str = "sans-serif";
const PANEL: (u32, u32) = (760, 620);

/// Colours by index of a line in its panel; distinguishable with colour blindness (Okabe and Ito).
const COLORS: [RGBColor; 8] = [
    RGBColor(213, 94, 0),
    RGBColor(0, 114, 178),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
    RGBColor(100, 100, 100),
    RGBColor(0, 0, 0),
];

/// A picture that can be drawn as SVG and as PNG.
pub trait Picture {
    /// Size in pixels.
    fn size(&self) -> Result<(u32, u32)>;

    fn draw<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>) -> Result<()>
    where
        B::ErrorType: 'static;
}

/// Writes a picture to both files.
pub fn save(picture: &impl Picture, svg: &Path, png: &Path) -> Result<()> {
    register_font(FONT, FontStyle::Normal, epaint_default_fonts::UBUNTU_LIGHT)
        .map_err(|_| "the font does not load")?;
    let size = picture.size()?;
    picture.draw(&SVGBackend::new(svg, size).into_drawing_area())?;
    picture.draw(&BitMapBackend::new(png, size).into_drawing_area())
}

/// Panels side by side.
#[derive(Debug)]
pub struct Figure {
    pub title: String,
    pub panels: Vec<Panel>,
}

/// Lines over powers of two, both axes logarithmic.
#[derive(Debug)]
pub struct Panel {
    pub title: String,
    pub x_label: String,
    pub y_label: String,
    /// Lines with the same index have the same colour in every panel; lines without points are left
    /// out.
    pub lines: Vec<Line>,
}

#[derive(Debug)]
pub struct Line {
    pub name: String,
    /// True for the subject of the figure, false for its comparisons.
    pub own: bool,
    pub points: Vec<(f64, f64)>,
}

impl Figure {
    /// Writes both files.
    pub fn save(&self, svg: &Path, png: &Path) -> Result<()> {
        save(self, svg, png)
    }
}

impl Picture for Figure {
    fn size(&self) -> Result<(u32, u32)> {
        Ok((PANEL.0 * u32::try_from(self.panels.len())?, PANEL.1))
    }

    fn draw<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>) -> Result<()>
    where
        B::ErrorType: 'static,
    {
        area.fill(&WHITE)?;
        let area = area.titled(&self.title, (FONT, 20))?;
        let parts = area.split_evenly((1, self.panels.len()));
        for (panel, part) in self.panels.iter().zip(&parts) {
            panel.draw(part)?;
        }
        area.present()?;
        Ok(())
    }
}

impl Panel {
    fn draw<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>) -> Result<()>
    where
        B::ErrorType: 'static,
    {
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let range = |values: &mut dyn Iterator<Item = f64>| {
            values.fold((f64::INFINITY, 0.0f64), |(low, high), value| {
                (low.min(value), high.max(value))
            })
        };
        let (left, right) = range(&mut points().map(|point| point.0));
        let (low, high) = range(&mut points().map(|point| point.1));
        if left > right {
            return Err(format!("{}: there is nothing to draw", self.title).into());
        }
        // Some room on every side, and below the lines room for the legend.
        let x = (left / 1.2..right * 1.2).log_scale().base(2.0);
        let y = (low / 4.0..high * 1.5).log_scale();
        let mut chart = ChartBuilder::on(area)
            .caption(&self.title, (FONT, 18))
            .margin(12)
            .x_label_area_size(44)
            .y_label_area_size(72)
            .build_cartesian_2d(x, y)?;
        chart
            .configure_mesh()
            .label_style((FONT, 14))
            .light_line_style(TRANSPARENT)
            .x_desc(&self.x_label)
            .y_desc(&self.y_label)
            .x_label_formatter(&|bits| format!("2^{:.0}", bits.log2()))
            .y_label_formatter(&|value| short(*value))
            .draw()?;
        for (index, line) in self.lines.iter().enumerate() {
            if line.points.is_empty() {
                continue;
            }
            let color = COLORS[index % COLORS.len()];
            let style = color.stroke_width(if line.own { 3 } else { 1 });
            let marks = if line.own { 4 } else { 3 };
            chart
                .draw_series(LineSeries::new(line.points.iter().copied(), style).point_size(marks))?
                .label(&line.name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], style));
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::LowerRight)
            .label_font((FONT, 14))
            .background_style(WHITE.mix(0.85))
            .border_style(BLACK.mix(0.3))
            .draw()?;
        Ok(())
    }
}

/// Formats a number with the necessary decimal places.
fn short(value: f64) -> String {
    if value >= 1.0 { format!("{value:.0}") } else { format!("{value}") }
}
