//! A format drawn: its bit fields, and where its numbers lie.
//!
//! Floats lie on a scale that is linear about zero and logarithmic further out (the inverse hyperbolic
//! sine), so that subnormals and large numbers are both seen; powers of two on a logarithmic one, narrow
//! integers and fixed point on a linear one. Formats of up to 8 bits show every number, wider ones their
//! powers of two.

use super::describe::{Field, bias, fields, formula};
use crate::literal::display;
use crate::xml::escape;
use softwarp::num::{Class, Format, Kind};
use std::fmt::Write;

const WIDTH: f64 = 960.0;
const MARGIN: f64 = 48.0;
const AXIS: f64 = 270.0;
const HEIGHT: f64 = 376.0;
/// Labels nearer than this to another would overlap it.
const LABEL_ROOM: f64 = 12.0;

const INK: &str = "#1f2933";
const FAINT: &str = "#627282";

/// How values become places on the line.
enum Scale {
    Linear,
    Log2,
    /// asinh(x / unit).
    Symmetric {
        unit: f64,
    },
}

impl Scale {
    fn of(format: Format) -> Scale {
        match format.spec().kind {
            Kind::Exponent { .. } => Scale::Log2,
            Kind::Float { .. } => {
                let least = format.min_normal().map_or(1.0, |code| format.decode(code));
                Scale::Symmetric { unit: least / 2.0 }
            }
            Kind::Int { .. } if format.bits() > 8 => Scale::Symmetric { unit: 1.0 },
            _ => Scale::Linear,
        }
    }

    fn place(&self, x: f64) -> f64 {
        match self {
            Scale::Linear => x,
            Scale::Log2 => x.log2(),
            Scale::Symmetric { unit } => {
                // asinh of so large a quotient that it may not be an f64.
                let magnitude = x.abs();
                let far = magnitude > unit * 1e8;
                let place =
                    if far { magnitude.ln() - unit.ln() + 2f64.ln() } else { (magnitude / unit).asinh() };
                place.copysign(x)
            }
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Scale::Linear => "linear scale",
            Scale::Log2 => "logarithmic scale",
            Scale::Symmetric { .. } => "scale linear about zero, logarithmic beyond",
        }
    }
}

struct Tick {
    value: f64,
    class: Class,
    power_of_two: bool,
}

fn is_power_of_two(x: f64) -> bool {
    x != 0.0 && (x.abs().log2().fract() == 0.0)
}

/// The numbers to draw, least first, and what they are.
fn ticks(format: Format) -> (Vec<Tick>, String) {
    let tick = |code| {
        let value = format.decode(code);
        Tick { value, class: format.classify(code), power_of_two: is_power_of_two(value) }
    };
    let finite = |tick: &Tick| tick.value.is_finite();
    if format.bits() <= 8 {
        let mut ticks: Vec<Tick> = format.codes().map(tick).filter(finite).collect();
        ticks.sort_by(|a, b| a.value.total_cmp(&b.value));
        ticks.dedup_by(|a, b| a.value == b.value);
        let count = ticks.len();
        return (ticks, format!("all {count} finite numbers"));
    }
    let (low, high) = (format.decode(format.min_finite()), format.decode(format.max_finite()));
    let least = format.decode(format.min_positive());
    let (first, last) = (least.log2().round() as i32, high.log2().floor() as i32);
    // More than some hundred and fifty on each side cannot be told apart.
    let step = ((last - first) / 150 + 1).max(1);
    let normal = format.min_normal().map_or(0.0, |code| format.decode(code));
    let class = |x: f64| if x.abs() < normal { Class::Subnormal } else { Class::Normal };
    let powers = (first..=last).filter(|power| power % step == 0).map(|power| 2f64.powi(power));
    let mut values: Vec<f64> = powers.collect();
    if low < 0.0 {
        values.extend(values.clone().iter().map(|x| -x));
    }
    values.sort_by(f64::total_cmp);
    let mut ticks: Vec<Tick> =
        values.into_iter().map(|value| Tick { value, class: class(value), power_of_two: true }).collect();
    ticks.push(Tick { value: 0.0, class: Class::Zero, power_of_two: false });
    for edge in [low, high] {
        ticks.push(Tick { value: edge, class: Class::Normal, power_of_two: false });
    }
    let every = if step == 1 { "every power of two".into() } else { format!("every power of 2^{step}") };
    (ticks, format!("{every} in range"))
}

fn colour(letter: char) -> &'static str {
    match letter {
        's' => "#f4b8a8",
        'e' => "#a9cff0",
        'm' | 'f' => "#bfe3b4",
        'i' => "#f3dfa0",
        _ => "#e3e7eb",
    }
}

/// Draws a format.
pub fn draw(format: Format) -> String {
    let mut svg = String::new();
    let spec = format.spec();
    let _ = write!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" \
         height=\"{HEIGHT}\" font-family=\"system-ui, 'DejaVu Sans', sans-serif\" fill=\"{INK}\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#fcfcfa\"/>\n"
    );
    let _ = writeln!(
        svg,
        "<text x=\"{MARGIN}\" y=\"44\" font-size=\"22\"><tspan font-weight=\"600\">{}</tspan>\
         <tspan dx=\"14\" font-size=\"14\" fill=\"{FAINT}\">{}</tspan></text>",
        spec.name,
        escape(spec.about)
    );
    draw_fields(&mut svg, format);
    draw_line(&mut svg, format);
    svg.push_str("</svg>\n");
    svg
}

fn text(svg: &mut String, (x, y): (f64, f64), size: &str, anchor: &str, fill: &str, content: &str) {
    let _ = writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size}\" text-anchor=\"{anchor}\" fill=\"{fill}\">{content}</text>"
    );
}

fn draw_fields(svg: &mut String, format: Format) {
    let bits = format.bits();
    let cell = ((WIDTH - 2.0 * MARGIN) / f64::from(bits)).min(44.0);
    let (top, height) = (84.0, 34.0);
    let mut x = MARGIN;
    let mut bit = bits;
    for Field { name, letter, bits: width } in fields(format) {
        let start = x;
        for _ in 0..width {
            bit -= 1;
            let _ = writeln!(
                svg,
                "<rect x=\"{x:.2}\" y=\"{top}\" width=\"{cell:.2}\" height=\"{height}\" fill=\"{}\" \
                 stroke=\"{INK}\" stroke-width=\"0.8\"/>",
                colour(letter)
            );
            let middle = x + cell / 2.0;
            if cell >= 12.0 {
                let size = if cell >= 20.0 { "15" } else { "11" };
                text(svg, (middle, top + 22.0), size, "middle", INK, &letter.to_string());
            }
            if cell >= 18.0 || bit.is_multiple_of(8) || bit + 1 == bits {
                text(svg, (middle, top - 6.0), "10", "middle", FAINT, &bit.to_string());
            }
            x += cell;
        }
        let words = match bias(format).filter(|_| name == "exponent") {
            Some(bias) => format!("{name} {width}, bias {bias}"),
            None => format!("{name} {width}"),
        };
        // Nothing stands in the way of the last field's name; others give way to their neighbours.
        let room = if bit == 0 { WIDTH - MARGIN - start } else { x - start };
        let fitting = [words, name.to_owned()].into_iter().find(|words| room >= 6.4 * words.len() as f64);
        if let Some(words) = fitting {
            text(svg, (start, top + height + 16.0), "11", "start", FAINT, &escape(&words));
        }
    }
    text(
        svg,
        (MARGIN, top + height + 46.0),
        "13",
        "start",
        INK,
        &format!("value = {}", escape(&formula(format))),
    );
}

fn draw_line(svg: &mut String, format: Format) {
    let scale = Scale::of(format);
    let (ticks, which) = ticks(format);
    let places = ticks.iter().map(|tick| scale.place(tick.value));
    let (low, high) = places.fold((f64::MAX, f64::MIN), |(low, high), x| (low.min(x), high.max(x)));
    let span = (high - low).max(1e-9);
    let x_of = |value: f64| MARGIN + (scale.place(value) - low) / span * (WIDTH - 2.0 * MARGIN);

    text(svg, (MARGIN, AXIS - 60.0), "12", "start", FAINT, &format!("{which}; {}", scale.name()));
    let end = WIDTH - MARGIN;
    let _ = writeln!(
        svg,
        "<line x1=\"{MARGIN}\" y1=\"{AXIS}\" x2=\"{end}\" y2=\"{AXIS}\" stroke=\"{INK}\" stroke-width=\"1.2\"/>"
    );
    for tick in &ticks {
        let (colour, height) = match (tick.class, tick.power_of_two) {
            (Class::Zero, _) => (INK, 40.0),
            (Class::Subnormal, _) => ("#c2410c", 22.0),
            (_, true) => ("#1d6fb8", 30.0),
            _ => ("#5b9bd5", 18.0),
        };
        let x = x_of(tick.value);
        let _ = writeln!(
            svg,
            "<line x1=\"{x:.2}\" y1=\"{AXIS}\" x2=\"{x:.2}\" y2=\"{:.1}\" stroke=\"{colour}\" stroke-width=\"1\"/>",
            AXIS - height
        );
    }
    draw_labels(svg, format, &ticks, &x_of);
    let subnormals = ticks.iter().any(|tick| tick.class == Class::Subnormal);
    draw_legend(svg, format, subnormals);
}

fn draw_labels(svg: &mut String, format: Format, ticks: &[Tick], x_of: &dyn Fn(f64) -> f64) {
    let value = |code: u64| (format.decode(code), limit_label(format, code));
    let negated = |(x, label): (f64, String)| (-x, format!("-{label}"));
    let two_sided = format.decode(format.min_finite()) < 0.0;
    // The most telling first: later ones take what room is left.
    let mut wanted = vec![value(format.max_finite()), value(format.min_finite())];
    if ticks.iter().any(|tick| tick.value == 0.0) {
        wanted.push((0.0, "0".into()));
    }
    let normal = format.min_normal().map(value);
    let mut both = vec![(1.0, "1".to_owned())];
    both.extend(normal);
    let mut powers: Vec<f64> =
        ticks.iter().filter(|tick| tick.power_of_two && tick.value > 0.0).map(|tick| tick.value).collect();
    // Coarse powers before fine ones.
    let coarseness = |x: &f64| std::cmp::Reverse((x.log2() as i64).trailing_zeros());
    powers.sort_by_key(coarseness);
    both.extend(powers.into_iter().map(|x| (x, power_label(x))));
    for label in both {
        if two_sided {
            wanted.push(negated(label.clone()));
        }
        wanted.push(label);
    }
    let inside = ticks.iter().fold((f64::MAX, f64::MIN), |(l, h), t| (l.min(t.value), h.max(t.value)));
    let mut taken: Vec<f64> = Vec::new();
    for (value, label) in wanted {
        if value < inside.0 || value > inside.1 {
            continue;
        }
        let x = x_of(value);
        // Labels hang down at an angle, so that they may stand close.
        if taken.iter().any(|other| (other - x).abs() < LABEL_ROOM + 4.0) {
            continue;
        }
        taken.push(x);
        let y = AXIS + 16.0;
        let _ = writeln!(
            svg,
            "<line x1=\"{x:.2}\" y1=\"{AXIS}\" x2=\"{x:.2}\" y2=\"{:.1}\" stroke=\"{INK}\"/>\
             <text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"11\" text-anchor=\"end\" \
             transform=\"rotate(-45 {x:.1} {y:.1})\">{}</text>",
            AXIS + 5.0,
            escape(&label)
        );
    }
}

/// The label of a limit: its value, shortened if it is long.
fn limit_label(format: Format, code: u64) -> String {
    let exact = display(format, code);
    match format.spec().kind {
        Kind::Exponent { .. } => power_label(format.decode(code)),
        _ if exact.len() <= 9 => exact,
        _ => format!("{:.2e}", format.decode(code)),
    }
}

/// The label of a power of two.
fn power_label(x: f64) -> String {
    let power = x.log2() as i32;
    if (-3..=10).contains(&power) {
        return crate::literal::display_f64(x);
    }
    let raised = |c: char| match c.to_digit(10) {
        Some(digit) => ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'][digit as usize % 10],
        None => '⁻',
    };
    format!("2{}", power.to_string().chars().map(raised).collect::<String>())
}

fn draw_legend(svg: &mut String, format: Format, subnormals: bool) {
    let float = matches!(format.spec().kind, Kind::Float { .. });
    let mut entries = vec![("#1d6fb8", "powers of two")];
    if format.bits() <= 8 && format != Format::Ue8m0 {
        entries.push(("#5b9bd5", if float { "other normal numbers" } else { "other numbers" }));
    }
    if subnormals {
        entries.push(("#c2410c", "subnormal numbers"));
    }
    let mut x = MARGIN;
    for (colour, name) in entries {
        let y = HEIGHT - 18.0;
        let _ = writeln!(
            svg,
            "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"3\" height=\"12\" fill=\"{colour}\"/>",
            y - 10.0
        );
        text(svg, (x + 9.0, y), "11", "start", FAINT, name);
        x += 24.0 + 7.0 * name.len() as f64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_can_be_drawn() {
        for format in Format::ALL {
            let svg = draw(format);
            assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"), "{format}");
            assert!(!svg.contains("NaN\"") && !svg.contains("inf\""), "{format}");
            assert!(svg.len() < 400_000, "{format}: {}", svg.len());
        }
    }

    #[test]
    fn the_scale_keeps_the_order() {
        for format in Format::ALL.into_iter().filter(|format| format.bits() <= 16) {
            let scale = Scale::of(format);
            let mut values: Vec<f64> =
                format.codes().map(|code| format.decode(code)).filter(|x| x.is_finite()).collect();
            values.sort_by(f64::total_cmp);
            assert!(values.windows(2).all(|pair| scale.place(pair[0]) <= scale.place(pair[1])), "{format}");
        }
    }
}
