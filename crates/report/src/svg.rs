//! Elements of an SVG drawing: an element is written attribute by attribute, numbers are rounded to a tenth, text is
//! escaped. Drawings stand alone: no scripts, no links.

use std::borrow::Cow;
use std::fmt::{Display, Write};

/// The style of text and of the page in light colours: the first lines of a style sheet.
#[macro_export]
macro_rules! light {
    () => {
        "\
text{fill:#1f2933;font-family:system-ui,'DejaVu Sans',sans-serif}
.m{font-family:ui-monospace,'DejaVu Sans Mono',monospace}
.faint{fill:#5d6b79}
.page{fill:#fdfdfb}
"
    };
}
pub use light;

/// The style of text and of the page in dark colours.
#[macro_export]
macro_rules! dark {
    () => {
        "\
text{fill:#e8edf2}
.faint{fill:#9fb0c0}
.page{fill:#15191e}
"
    };
}
pub use dark;

/// A point of a drawing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// From the left.
    pub x: f64,
    /// From the top.
    pub y: f64,
}

/// A point by its coordinates.
pub const fn point(x: f64, y: f64) -> Point {
    Point { x, y }
}

/// A rectangle of a drawing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Area {
    /// Its upper left corner.
    pub at: Point,
    /// Its width.
    pub width: f64,
    /// Its height.
    pub height: f64,
}

/// What elements are drawn on, and what they refer to.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// Its width.
    pub width: f64,
    /// Its height.
    pub height: f64,
    /// The style sheet. The background has the class `page`.
    pub style: &'a str,
    /// Patterns and markers, as markup.
    pub definitions: &'a str,
}

/// Elements one after another.
#[derive(Clone, Debug, Default)]
pub struct Svg {
    out: String,
}

impl Svg {
    /// The elements so far; none are left.
    pub fn take(&mut self) -> String {
        std::mem::take(&mut self.out)
    }

    /// Begins an element.
    pub fn element(&mut self, name: &'static str) -> Element<'_> {
        self.out.push('<');
        self.out.push_str(name);
        Element { out: &mut self.out, name }
    }

    /// A rectangle of a class.
    pub fn rect(&mut self, class: &str, area: Area) -> Element<'_> {
        self.element("rect").word("class", class).area(area)
    }

    /// A path of a class.
    pub fn path(&mut self, class: &str, data: impl Display) {
        self.element("path").word("class", class).word("d", data).end();
    }

    /// Text that begins at a point, or as its class says.
    pub fn text(&mut self, at: Point, size: f64, class: &str, content: &str) {
        self.element("text").at(at).word("font-size", size).word("class", class).text(content);
    }

    /// Elements that belong together, with a title that is shown for all of them.
    pub fn group(&mut self, title: &str, elements: impl FnOnce(&mut Svg)) {
        let _ = write!(self.out, "<g><title>{}</title>", escape(title));
        elements(self);
        self.out.push_str("</g>\n");
    }

    /// Markup as it is.
    pub fn markup(&mut self, markup: impl Display) {
        let _ = write!(self.out, "{markup}");
    }

    /// The whole drawing: these elements on a page.
    pub fn finish(self, page: Page<'_>) -> String {
        let Page { width, height, style, definitions } = page;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
             height=\"{height:.0}\">\n<style>{style}</style>\n{definitions}\
             <rect class=\"page\" width=\"100%\" height=\"100%\"/>\n{}</svg>\n",
            self.out
        )
    }
}

/// An element whose attributes are being written.
#[derive(Debug)]
#[must_use = "an element needs an end"]
pub struct Element<'s> {
    out: &'s mut String,
    name: &'static str,
}

impl Element<'_> {
    /// An attribute that is a word or needs no rounding. The caller escapes text that comes from outside.
    pub fn word(self, name: &str, value: impl Display) -> Self {
        let _ = write!(self.out, " {name}=\"{value}\"");
        self
    }

    /// An attribute that is a length.
    pub fn length(self, name: &str, value: f64) -> Self {
        self.word(name, format_args!("{value:.1}"))
    }

    /// The attributes `x` and `y`.
    pub fn at(self, at: Point) -> Self {
        self.length("x", at.x).length("y", at.y)
    }

    /// The attributes of a rectangle.
    pub fn area(self, area: Area) -> Self {
        self.at(area.at).length("width", area.width).length("height", area.height)
    }

    /// Ends an element without content.
    pub fn end(self) {
        self.out.push_str("/>\n");
    }

    /// Ends an element whose content is text.
    pub fn text(self, content: &str) {
        let _ = writeln!(self.out, ">{}</{}>", escape(content), self.name);
    }

    /// Ends an element whose content is markup.
    pub fn markup(self, content: impl Display) {
        let _ = writeln!(self.out, ">{content}</{}>", self.name);
    }
}

/// Text as it stands in an element or an attribute. What XML does not allow at all becomes `?`.
pub fn escape(text: &str) -> Cow<'_, str> {
    let plain = |c: char| !matches!(c, '&' | '<' | '>' | '"' | '\'') && allowed(c);
    if text.chars().all(plain) {
        return text.into();
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            _ => escaped.push(if allowed(c) { c } else { '?' }),
        }
    }
    escaped.into()
}

fn allowed(c: char) -> bool {
    !matches!(c, '\u{0}'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_a_meaning_is_escaped() {
        assert_eq!(escape("a<b & \"c\" 'd'>"), "a&lt;b &amp; &quot;c&quot; &#39;d&#39;&gt;");
        assert_eq!(escape("\u{1b}[0m\n"), "?[0m\n");
        assert!(matches!(escape("plain → text"), Cow::Borrowed(_)));
    }

    #[test]
    fn elements_have_their_attributes_in_order_and_their_text_escaped() {
        let mut svg = Svg::default();
        svg.rect("c", Area { at: point(1.0, 2.26), width: 3.0, height: 4.0 }).end();
        svg.group("a < b", |svg| svg.text(point(0.0, 0.0), 9.5, "m", "x & y"));
        assert_eq!(
            svg.take(),
            "<rect class=\"c\" x=\"1.0\" y=\"2.3\" width=\"3.0\" height=\"4.0\"/>\n\
             <g><title>a &lt; b</title><text x=\"0.0\" y=\"0.0\" font-size=\"9.5\" class=\"m\">x &amp; y</text>\n</g>\n"
        );
    }
}
