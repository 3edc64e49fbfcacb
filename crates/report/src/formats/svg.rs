//! A format drawn: its bit fields, and where its numbers lie.
//!
//! Floats lie on a scale that is linear about zero and logarithmic further out (the inverse hyperbolic
//! sine), so that subnormals and large numbers are both seen; powers of two on a logarithmic one, narrow
//! integers and fixed point on a linear one. Formats of up to 8 bits show every number, wider ones their
//! powers of two.

use super::describe::{Field, bias, fields, formula};
use crate::literal::display;
use crate::svg::{Area, Page, Svg, escape, point};
use softwarp::num::{Class, Format, Kind};

const WIDTH: f64 = 960.0;
const MARGIN: f64 = 48.0;
const AXIS: f64 = 270.0;
const HEIGHT: f64 = 376.0;
/// Labels nearer than this to another would overlap it.
const LABEL_ROOM: f64 = 12.0;

const STYLE: &str = "\
text{fill:#1f2933;font-family:system-ui,'DejaVu Sans',sans-serif}
.faint{fill:#627282}
.page{fill:#fcfcfa}
.mid{text-anchor:middle}
.bit{stroke:#1f2933;stroke-width:.8}
.axis{stroke:#1f2933;stroke-width:1.2}";

/// The colours of ticks.
const ZERO: &str = "#1f2933";
const POWER: &str = "#1d6fb8";
const NORMAL: &str = "#5b9bd5";
const SUBNORMAL: &str = "#c2410c";

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
    let mut svg = Svg::default();
    let spec = format.spec();
    svg.element("text").at(point(MARGIN, 44.0)).word("font-size", 22).markup(format_args!(
        "<tspan font-weight=\"600\">{}</tspan><tspan dx=\"14\" font-size=\"14\" class=\"faint\">{}</tspan>",
        spec.name,
        escape(spec.about)
    ));
    draw_fields(&mut svg, format);
    draw_line(&mut svg, format);
    svg.finish(Page { width: WIDTH, height: HEIGHT, style: STYLE, definitions: "" })
}

fn draw_fields(svg: &mut Svg, format: Format) {
    let bits = format.bits();
    let cell = ((WIDTH - 2.0 * MARGIN) / f64::from(bits)).min(44.0);
    let (top, height) = (84.0, 34.0);
    let mut x = MARGIN;
    let mut bit = bits;
    for Field { name, letter, bits: width } in fields(format) {
        let start = x;
        for _ in 0..width {
            bit -= 1;
            let area = Area { at: point(x, top), width: cell, height };
            svg.rect("bit", area).word("fill", colour(letter)).end();
            let middle = x + cell / 2.0;
            if cell >= 12.0 {
                let size = if cell >= 20.0 { 15.0 } else { 11.0 };
                svg.text(point(middle, top + 22.0), size, "mid", &letter.to_string());
            }
            if cell >= 18.0 || bit.is_multiple_of(8) || bit + 1 == bits {
                svg.text(point(middle, top - 6.0), 10.0, "mid faint", &bit.to_string());
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
            svg.text(point(start, top + height + 16.0), 11.0, "faint", &words);
        }
    }
    let value = format!("value = {}", formula(format));
    svg.text(point(MARGIN, top + height + 46.0), 13.0, "", &value);
}

fn draw_line(svg: &mut Svg, format: Format) {
    let scale = Scale::of(format);
    let (ticks, which) = ticks(format);
    let places = ticks.iter().map(|tick| scale.place(tick.value));
    let (low, high) = places.fold((f64::MAX, f64::MIN), |(low, high), x| (low.min(x), high.max(x)));
    let span = (high - low).max(1e-9);
    let x_of = |value: f64| MARGIN + (scale.place(value) - low) / span * (WIDTH - 2.0 * MARGIN);

    svg.text(point(MARGIN, AXIS - 60.0), 12.0, "faint", &format!("{which}; {}", scale.name()));
    svg.path("axis", format_args!("M{MARGIN} {AXIS}H{}", WIDTH - MARGIN));
    for tick in &ticks {
        let (colour, height) = match (tick.class, tick.power_of_two) {
            (Class::Zero, _) => (ZERO, 40.0),
            (Class::Subnormal, _) => (SUBNORMAL, 22.0),
            (_, true) => (POWER, 30.0),
            _ => (NORMAL, 18.0),
        };
        let path = format!("M{:.2} {AXIS}v-{height}", x_of(tick.value));
        svg.element("path").word("stroke", colour).word("d", path).end();
    }
    draw_labels(svg, format, &ticks, &x_of);
    let subnormals = ticks.iter().any(|tick| tick.class == Class::Subnormal);
    draw_legend(svg, format, subnormals);
}

fn draw_labels(svg: &mut Svg, format: Format, ticks: &[Tick], x_of: &dyn Fn(f64) -> f64) {
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
        svg.element("path").word("stroke", ZERO).word("d", format_args!("M{x:.2} {AXIS}v5")).end();
        let y = AXIS + 16.0;
        svg.element("text")
            .at(point(x, y))
            .word("font-size", 11)
            .word("text-anchor", "end")
            .word("transform", format_args!("rotate(-45 {x:.1} {y:.1})"))
            .text(&label);
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

fn draw_legend(svg: &mut Svg, format: Format, subnormals: bool) {
    let float = matches!(format.spec().kind, Kind::Float { .. });
    let mut entries = vec![(POWER, "powers of two")];
    if format.bits() <= 8 && format != Format::Ue8m0 {
        entries.push((NORMAL, if float { "other normal numbers" } else { "other numbers" }));
    }
    if subnormals {
        entries.push((SUBNORMAL, "subnormal numbers"));
    }
    let mut x = MARGIN;
    for (colour, name) in entries {
        let y = HEIGHT - 18.0;
        let area = Area { at: point(x, y - 10.0), width: 3.0, height: 12.0 };
        svg.element("rect").area(area).word("fill", colour).end();
        svg.text(point(x + 9.0, y), 11.0, "faint", name);
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
