//! Checks a module again after a change, as an editor does with every key: only the bodies whose text has changed.
//!
//! What a body means depends on its text and on what stands at module scope. So long as the latter is as it was, the
//! facts about a body whose text is as it was hold, with their places moved. Rules about the module as a whole are
//! judged each time, from the facts.

use crate::Options;
use crate::outline::{BodyFacts, Locals, Shared, Work, Worker, resolve_bodies};
use softwarp_syntax::{Diagnostic, Span};

/// Checks a text again and again.
#[derive(Default)]
pub struct Recheck {
    before: Option<Before>,
    judged: usize,
}

/// The last text, and what was found out about its bodies.
struct Before {
    source: String,
    options: Options,
    bodies: Vec<Kept>,
}

/// A body, and what it says.
struct Kept {
    span: Span,
    facts: BodyFacts,
    /// The functions that it refers to: which, whether it calls or names them, and whether it takes their address.
    marks: Vec<(usize, (bool, bool))>,
    several_results: bool,
    converts_constants: bool,
    /// How often a near name was looked for.
    searches: u32,
}

impl std::fmt::Debug for Recheck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recheck").field("judged", &self.judged).finish_non_exhaustive()
    }
}

impl Recheck {
    /// What is wrong with a text, in the order of the text: errors of the grammar too.
    pub fn check(&mut self, source: &str, options: Options) -> Vec<Diagnostic> {
        self.judged = 0;
        let before = self.before.take().filter(|before| same(before.options, options));
        let mut now = Vec::new();
        let outlined = resolve_bodies(source, options, Locals::Few, |shared| {
            now = self.judge(shared, before.as_ref())?;
            Some(put_together(shared, &now))
        });
        if let Some(outlined) = outlined {
            self.before = Some(Before { source: source.to_owned(), options, bodies: now });
            return outlined.diagnostics;
        }
        let parsed = softwarp_syntax::parse(source);
        let mut diagnostics = parsed.diagnostics;
        diagnostics.extend(crate::check(&parsed.module, source, options));
        diagnostics.sort_by_key(|diagnostic| diagnostic.span().start);
        diagnostics
    }

    /// How many bodies were judged by the last check that goes by bodies; 0 where the text was read as a whole.
    pub fn judged(&self) -> usize {
        self.judged
    }

    /// Judges the bodies that have changed.
    fn judge(&mut self, shared: &Shared<'_>, before: Option<&Before>) -> Option<Vec<Kept>> {
        let spans: Vec<Span> = shared.places.iter().map(|place| place.span).collect();
        let before = before.filter(|before| same_outside(before, shared.source, &spans));
        let moved = before.map(|before| Moved { before: &before.bodies, now: &spans });
        let mut worker = None;
        // How often the worker has looked for near names so far.
        let mut searched = 0;
        let mut now = Vec::with_capacity(spans.len());
        for (number, place) in shared.places.iter().enumerate() {
            let known = before.and_then(|before| {
                let kept = before.bodies.get(number)?;
                let is_same = kept.span.text(&before.source) == place.span.text(shared.source);
                is_same.then(|| kept.moved(place.span, moved.as_ref()))
            });
            if let Some(known) = known {
                now.push(known);
                continue;
            }
            let worker = worker.get_or_insert_with(|| Worker::new(shared));
            let mut work = Work { marks: vec![(false, false); shared.functions()], ..Work::default() };
            let facts = worker.body(shared, *place, &mut work)?;
            worker.take(&mut work);
            let marks = work.marks.into_iter().enumerate().filter(|(_, mark)| mark.0 || mark.1);
            now.push(Kept {
                span: place.span,
                facts,
                marks: marks.collect(),
                several_results: work.several_results,
                converts_constants: work.converts_constants,
                searches: work.searches.saturating_sub(searched),
            });
            searched = work.searches;
            self.judged += 1;
        }
        Some(now)
    }
}

fn same(a: Options, b: Options) -> bool {
    (a.arch, a.relocatable, a.strict) == (b.arch, b.relocatable, b.strict)
}

/// Whether what stands outside of bodies is as it was.
fn same_outside(before: &Before, source: &str, now: &[Span]) -> bool {
    fn outside(text: &str, bodies: impl Iterator<Item = Span> + Clone) -> impl Iterator<Item = &str> {
        let starts = std::iter::once(0).chain(bodies.clone().map(|span| span.end));
        let ends = bodies.map(|span| span.start).chain(std::iter::once(text.len() as u32));
        starts.zip(ends).map(move |(start, end)| Span::new(start, end).text(text))
    }
    before.bodies.len() == now.len()
        && outside(&before.source, before.bodies.iter().map(|kept| kept.span))
            .eq(outside(source, now.iter().copied()))
}

/// All that bodies say, as one thread would have found it.
fn put_together(shared: &Shared<'_>, bodies: &[Kept]) -> Work {
    let mut work = Work { marks: vec![(false, false); shared.functions()], ..Work::default() };
    for (number, kept) in bodies.iter().enumerate() {
        for &(function, (referenced, address_taken)) in &kept.marks {
            if let Some(mark) = work.marks.get_mut(function) {
                *mark = (mark.0 | referenced, mark.1 | address_taken);
            }
        }
        work.several_results |= kept.several_results;
        work.converts_constants |= kept.converts_constants;
        work.searches = work.searches.saturating_add(kept.searches);
        work.bodies.push((number, kept.facts.clone()));
    }
    work
}

/// Where places went when bodies changed their lengths.
struct Moved<'m> {
    before: &'m [Kept],
    now: &'m [Span],
}

impl Moved<'_> {
    /// The new place of one outside of bodies or in a body that has not changed.
    fn span(&self, span: Span) -> Span {
        let number = self.before.partition_point(|kept| kept.span.end <= span.start);
        let inside = self.before.get(number).filter(|kept| kept.span.start <= span.start);
        let (old, new) = match (inside, number.checked_sub(1)) {
            (Some(kept), _) => (kept.span.start, self.now[number].start),
            (None, Some(last)) => (self.before[last].span.end, self.now[last].end),
            (None, None) => (0, 0),
        };
        Span::new(span.start - old + new, (span.end - old).wrapping_add(new))
    }
}

impl Kept {
    /// The same body elsewhere.
    fn moved(&self, span: Span, moved: Option<&Moved<'_>>) -> Kept {
        let mut facts = self.facts.clone();
        if let Some(moved) = moved {
            for diagnostic in &mut facts.diagnostics {
                let related = diagnostic.related.iter_mut().map(|related| &mut related.location.span);
                let primary = diagnostic.location.iter_mut().map(|location| &mut location.span);
                let edits = diagnostic.fix.iter_mut().flat_map(|fix| &mut fix.edits);
                related
                    .chain(primary)
                    .chain(edits.map(|edit| &mut edit.span))
                    .for_each(|span| *span = moved.span(*span));
            }
            facts.locals.iter_mut().for_each(|local| local.span = moved.span(local.span));
            facts.cta_groups = facts.cta_groups.map(|place| place.map(|span| moved.span(span)));
        }
        Kept { span, facts, marks: self.marks.clone(), ..*self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = ".version 8.0\n.target sm_90\n.address_size 64\n.global .u32 g;\n";

    fn body(name: &str, text: &str) -> String {
        format!(".visible .entry {name}()\n{{\n.reg .b32 %r<4>;\n.reg .b64 %d<4>;\n{text}\nret;\n}}\n")
    }

    fn whole(source: &str) -> Vec<Diagnostic> {
        let parsed = softwarp_syntax::parse(source);
        assert_eq!(parsed.diagnostics, []);
        crate::check(&parsed.module, source, Options::default())
    }

    #[test]
    fn only_changed_bodies_are_judged_and_the_result_is_the_same() {
        let texts = [
            "mov.u32 %r1, %r2;",
            "add.f64 %r1, %r2, %r3;",
            "mov.u32 %r1, 1; // longer than before",
            "",
            "ld.global.u32 %d1, [g+2];",
        ];
        let mut recheck = Recheck::default();
        let mut judged = Vec::new();
        for first in texts {
            for third in texts {
                let parts = [
                    body("a", first),
                    body("b", "add.f32 %d1, %d2, 1;\nst.global.u8 [g], %r9;"),
                    body("c", third),
                ];
                let source = format!("{HEAD}{}", parts.concat());
                assert_eq!(recheck.check(&source, Options::default()), whole(&source), "{source}");
                judged.push(recheck.judged());
            }
        }
        assert_eq!(judged[..3], [3, 1, 1]);
        assert!(judged.iter().skip(1).all(|&judged| judged <= 2), "{judged:?}");
    }

    #[test]
    fn a_change_at_module_scope_is_seen_by_all_bodies() {
        let mut recheck = Recheck::default();
        let source = format!("{HEAD}{}{}", body("a", "ld.global.u32 %r1, [g];"), body("b", ""));
        assert_eq!(recheck.check(&source, Options::default()), []);
        let changed = source.replace("u32 g;", "u32 h;");
        let diagnostics = recheck.check(&changed, Options::default());
        assert_eq!(diagnostics.len(), 1);
        assert_eq!(diagnostics, whole(&changed));
        assert_eq!(recheck.check(&source, Options::default()), []);
    }

    #[test]
    fn errors_of_the_grammar_are_found_too() {
        let mut recheck = Recheck::default();
        let source = format!("{HEAD}{}", body("a", "mov.u32 %r1 %r2;"));
        assert!(!recheck.check(&source, Options::default()).is_empty());
        assert_eq!(recheck.judged(), 0);
        let mended = source.replace("%r1 %r2", "%r1, %r2");
        assert_eq!(recheck.check(&mended, Options::default()), []);
        assert_eq!(recheck.judged(), 1);
    }
}
