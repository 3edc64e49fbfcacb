//! Diagnostics for people: each with the lines it is about, as compilers show them.
//!
//! Only the lines that matter are handed to the renderer, and of long lines only the neighbourhood of what is
//! wrong: what is printed is bounded however the file is laid out.

use annotate_snippets::{
    Annotation, AnnotationKind, Element, Level, Renderer, Snippet, Title, normalize_untrusted_str,
};
use softwarp::diagnostic::{Diagnostic, Location, Severity, Span};
use softwarp::source::Source;

/// Places at most a given number of lines apart are shown in one piece.
const APART: u32 = 3;
/// How many bytes of a long line are shown, and how many of them before the place in question.
const WIDE: usize = 200;
const BEFORE: usize = 60;
/// How many bytes of a message are shown.
const LENGTH: usize = 2000;

/// A diagnostic about one file as text, with colours for a terminal if wanted.
pub fn text(source: &Source, diagnostic: &Diagnostic, colour: bool) -> String {
    text_as(source, diagnostic, diagnostic.severity(), colour)
}

/// As [`text`], with another severity than the code has.
pub fn text_as(source: &Source, diagnostic: &Diagnostic, severity: Severity, colour: bool) -> String {
    let primary = Mark::new(source, diagnostic.span(), None);
    let related =
        diagnostic.related.iter().map(|place| Mark::new(source, place.location.span, Some(&place.message)));
    let marks = std::iter::once(primary).chain(related).collect();
    report(diagnostic, severity, &[(source, marks)], colour)
}

/// A diagnostic about several files, which its units count. Those that are not there are left out.
pub fn linked(sources: &[Source], diagnostic: &Diagnostic, colour: bool) -> String {
    let primary = diagnostic.location.map(|location| (location, None));
    let related = diagnostic.related.iter().map(|place| (place.location, Some(place.message.as_str())));
    let files = by_file(sources, primary.into_iter().chain(related));
    report(diagnostic, diagnostic.severity(), &files, colour)
}

/// What is to be marked in each file, in the order in which the files come first.
fn by_file<'a>(
    sources: &'a [Source],
    places: impl Iterator<Item = (Location, Option<&'a str>)>,
) -> Vec<(&'a Source, Vec<Mark<'a>>)> {
    let mut files: Vec<(u32, &Source, Vec<Mark<'_>>)> = Vec::new();
    for (Location { unit, span }, reason) in places {
        let Some(source) = sources.get(unit as usize) else { continue };
        let mark = Mark::new(source, span, reason);
        match files.iter_mut().find(|(known, ..)| *known == unit) {
            Some((_, _, marks)) => marks.push(mark),
            None => files.push((unit, source, vec![mark])),
        }
    }
    files.into_iter().map(|(_, source, marks)| (source, marks)).collect()
}

/// Something that happened at places of some files, and has no code of its own: what stopped a launch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// What happened, in one line.
    pub message: String,
    /// Where, and what it has to do with it. The first is the place of the event.
    pub places: Vec<(Location, Option<String>)>,
    /// What else there is to know.
    pub notes: Vec<String>,
}

/// An event as text, with colours for a terminal if wanted.
pub fn event(sources: &[Source], event: &Event, colour: bool) -> String {
    let places = event.places.iter().map(|(location, reason)| (*location, reason.as_deref()));
    let files = by_file(sources, places);
    let notes: Vec<(Level<'_>, &str)> = event.notes.iter().map(|note| (Level::NOTE, note.as_str())).collect();
    show(Level::ERROR.primary_title(cut(&event.message, 0, LENGTH)), &notes, &files, colour)
}

/// A diagnostic with what is to be marked in each file.
fn report(
    diagnostic: &Diagnostic,
    severity: Severity,
    files: &[(&Source, Vec<Mark<'_>>)],
    colour: bool,
) -> String {
    let level = match severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let help: Vec<(Level<'_>, &str)> =
        diagnostic.help.iter().map(|help| (Level::HELP, help.as_str())).collect();
    let title = level.primary_title(cut(&diagnostic.message, 0, LENGTH)).id(diagnostic.code.0);
    show(title, &help, files, colour)
}

/// A title, what is to be marked in each file, and words that follow.
fn show(
    title: Title<'_>,
    words: &[(Level<'_>, &str)],
    files: &[(&Source, Vec<Mark<'_>>)],
    colour: bool,
) -> String {
    let mut elements: Vec<Element<'_>> = Vec::new();
    let mut moved: Vec<(String, String)> = Vec::new();
    for (source, marks) in files {
        let excerpts = excerpts(source, marks);
        moved.extend(excerpts.iter().filter_map(|excerpt| excerpt.moved(source)));
        elements.extend(excerpts.into_iter().map(|excerpt| Element::from(excerpt.snippet(&source.name))));
    }
    for (level, text) in words {
        elements.push(level.clone().message(normalize_untrusted_str(cut(text, 0, LENGTH))).into());
    }
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    let mut text = renderer.render(&[title.elements(elements)]);
    for (shown, true_place) in moved {
        text = text.replacen(&shown, &true_place, 1);
    }
    text.push_str("\n\n");
    text
}

/// A place to mark: in the text of its line, the primary one or with a reason.
#[derive(Clone, Copy)]
struct Mark<'a> {
    line: u32,
    /// In the line: its bytes.
    from: usize,
    to: usize,
    reason: Option<&'a str>,
}

impl<'a> Mark<'a> {
    /// A span over several lines is marked in its first.
    fn new(source: &Source, span: Span, reason: Option<&'a str>) -> Mark<'a> {
        let line = source.position(span.start).line;
        let content = source.line(line);
        let inside = |byte: u32| byte.clamp(content.start, content.end.max(content.start)) - content.start;
        Mark {
            line,
            from: inside(span.start) as usize,
            to: inside(span.end.max(span.start)) as usize,
            reason,
        }
    }
}

/// Neighbouring lines, and what to mark in them.
struct Excerpt<'a> {
    first: u32,
    /// How many bytes of the first line are left out at its beginning.
    left_out: usize,
    text: String,
    marks: Vec<(std::ops::Range<usize>, Option<&'a str>)>,
}

impl<'a> Excerpt<'a> {
    /// Where a line is cut, the renderer counts columns from the cut: what it will say, and what is true.
    fn moved(&self, source: &Source) -> Option<(String, String)> {
        let (mark, _) = self.marks.first().filter(|_| self.left_out > 0)?;
        let place = |column: u32| format!("{}:{}:{column}", source.name, self.first);
        let shown = self.text[..mark.start].chars().count() as u32 + 1;
        let begin = source.line(self.first).start;
        Some((place(shown), place(source.position(begin + (self.left_out + mark.start) as u32).column)))
    }

    fn snippet(self, path: &'a str) -> Snippet<'a, Annotation<'a>> {
        let mark = |(range, reason): (std::ops::Range<usize>, Option<&'a str>)| match reason {
            None => AnnotationKind::Primary.span(range),
            Some(reason) => AnnotationKind::Context.span(range).label(cut(reason, 0, LENGTH)),
        };
        let marks: Vec<Annotation<'a>> = self.marks.into_iter().map(mark).collect();
        Snippet::source(self.text).line_start(self.first as usize).path(path).annotations(marks)
    }
}

/// The pieces of the source to show: first the one with the primary span.
fn excerpts<'a>(source: &Source, marks: &[Mark<'a>]) -> Vec<Excerpt<'a>> {
    let mut marks = marks.to_vec();
    marks.sort_by_key(|mark| (mark.line, mark.from));
    let long = |line: u32| source.line(line).text(&source.text).len() > WIDE;
    let apart = |a: &Mark<'_>, b: &Mark<'_>| b.line - a.line > APART || long(a.line) || long(b.line);
    let mut excerpts: Vec<Excerpt<'a>> =
        marks.chunk_by(|a, b| !apart(a, b)).map(|marks| excerpt(source, marks)).collect();
    excerpts.sort_by_key(|excerpt| excerpt.marks.iter().all(|(_, reason)| reason.is_some()));
    excerpts
}

/// The lines from the first mark to the last. A long line has one mark, and is cut around it.
fn excerpt<'a>(source: &Source, marks: &[Mark<'a>]) -> Excerpt<'a> {
    let (first, last) = (marks[0].line, marks[marks.len() - 1].line);
    let mut excerpt = Excerpt { first, left_out: 0, text: String::new(), marks: Vec::new() };
    for line in first..=last {
        let content = source.line(line).text(&source.text);
        let here = marks.iter().filter(|mark| mark.line == line);
        let from = if content.len() > WIDE {
            marks.iter().find(|mark| mark.line == line).map_or(0, |mark| mark.from.saturating_sub(BEFORE))
        } else {
            0
        };
        let shown = cut(content, from, WIDE);
        // Where the cut really begins: never inside a character.
        let from = shown.as_ptr() as usize - content.as_ptr() as usize;
        if line == first {
            excerpt.left_out = from;
        }
        let begin = excerpt.text.len();
        let place = |byte: usize| begin + floor(shown, byte.saturating_sub(from));
        excerpt.marks.extend(here.map(|mark| (place(mark.from)..place(mark.to), mark.reason)));
        excerpt.text.push_str(shown);
        excerpt.text.push('\n');
    }
    excerpt
}

/// At most `length` bytes from `from` on, whole characters only.
fn cut(text: &str, from: usize, length: usize) -> &str {
    let from = floor(text, from);
    &text[from..floor(text, from.saturating_add(length))]
}

/// The last place at or before `byte` where a character begins or the text ends.
fn floor(text: &str, byte: usize) -> usize {
    text.floor_char_boundary(byte)
}

#[cfg(test)]
mod tests {
    use super::*;
    use softwarp::syntax::Code;

    fn show(text: &str, span: Span, related: &[Span]) -> String {
        let source = Source::new("x.ptx", text.as_bytes().to_vec());
        let mut diagnostic =
            Diagnostic::new(Code("E0601"), span, "it does not fit").with_help("make it smaller");
        for &place in related {
            diagnostic = diagnostic.with_related(place, "because of this");
        }
        super::text(&source, &diagnostic, false)
    }

    #[test]
    fn neighbours_are_shown_in_one_piece() {
        let shown = show("one\ntwo\nthree\nfour", Span::new(8, 13), &[Span::new(0, 3)]);
        assert_eq!(
            shown,
            "\
error[E0601]: it does not fit
 --> x.ptx:3:1
  |
1 | one
  | --- because of this
2 | two
3 | three
  | ^^^^^
  |
  = help: make it smaller

"
        );
    }

    #[test]
    fn a_long_line_is_cut_and_its_columns_stay() {
        let text = format!("{}X{}", "é".repeat(5000), "a".repeat(5000));
        let shown = show(&text, Span::new(10_000, 10_001), &[]);
        assert!(
            shown.contains("--> x.ptx:1:5001\n") && shown.contains("éX") && shown.len() < 1000,
            "{shown}"
        );
    }

    #[test]
    fn every_place_can_be_shown() {
        let text = format!("é\r\n\t{}é{}\n\n日本", "a".repeat(500), "b".repeat(500));
        let places: Vec<u32> = (0..=text.len() as u32 + 2).collect();
        for &start in &places {
            for end in [start, start + 1, start + 700, u32::MAX, 0] {
                let shown = show(&text, Span::new(start, end), &[Span::new(end, start), Span::new(0, 1)]);
                assert!(shown.starts_with("error[E0601]") && shown.len() < 2000, "{start} {end}: {shown}");
            }
        }
    }

    fn show_between(texts: &[&str], places: &[(u32, Span)]) -> String {
        let name = |number: usize| format!("{}.ptx", ["a", "b", "c"][number]);
        let sources: Vec<Source> =
            (0..).zip(texts).map(|(i, text)| Source::new(name(i), text.as_bytes().to_vec())).collect();
        let location = |&(unit, span): &(u32, Span)| Location { unit, span };
        let mut diagnostic =
            Diagnostic::at(location(&places[0]), Code("E0804"), "`x` is there twice").with_help("choose");
        for place in &places[1..] {
            diagnostic = diagnostic.with_related_at(location(place), "also here");
        }
        linked(&sources, &diagnostic, false)
    }

    #[test]
    fn places_in_other_files_are_shown_with_their_names() {
        let texts = ["one\nx\n", "first\n  x and x\n"];
        let shown =
            show_between(&texts, &[(1, Span::new(8, 9)), (0, Span::new(4, 5)), (1, Span::new(14, 15))]);
        assert_eq!(
            shown,
            "\
error[E0804]: `x` is there twice
 --> b.ptx:2:3
  |
2 |   x and x
  |   ^     - also here
  |
 ::: a.ptx:2:1
  |
2 | x
  | - also here
  |
  = help: choose

"
        );
    }

    #[test]
    fn long_lines_of_other_files_are_cut_too_and_absent_files_left_out() {
        let long = format!("{}X{}", "a".repeat(5000), "b".repeat(5000));
        let places =
            [(0, Span::new(0, 1)), (1, Span::new(5000, 5001)), (2, Span::new(0, 1)), (9, Span::new(7, 8))];
        let shown = show_between(&["x", &long], &places);
        assert!(shown.contains("--> a.ptx:1:1\n") && shown.contains("::: b.ptx:1:5001\n"), "{shown}");
        assert!(shown.contains("aX") && shown.len() < 1500, "{shown}");
        let absent = show_between(&[], &places);
        assert!(absent.starts_with("error[E0804]: `x` is there twice\n"), "{absent}");
    }
}
