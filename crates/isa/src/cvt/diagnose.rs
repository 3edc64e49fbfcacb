//! Reads spellings of `cvt`, and finds what is wrong with those that are no form.
//!
//! PTX ISA sections 9.7.10.24 and 9.7.10.25. No rule is written here: what is legal is read off the
//! table, by comparing the spelling with the forms that have its types.

use std::ops::Range;

use super::error::{FormError, Problem, ProblemKind};
use super::modifier::{Modifier, ModifierKind, Modifiers};
use super::table::{TABLE, Types};
use super::{CvtForm, Opcode};
use crate::Type;
use crate::nearest::nearest;

/// How many equally near forms an error names.
const MOST_NEAREST: usize = 4;

/// A dotted word of the spelling, without its dot.
struct Word<'a> {
    text: &'a str,
    span: Range<usize>,
}

/// Cuts a spelling at its dots. White space around it, and one dot before it, do not count.
fn words(spelling: &str) -> Vec<Word<'_>> {
    let text = spelling.trim();
    let mut at = spelling.len() - spelling.trim_start().len();
    let mut words = Vec::new();
    for part in text.split('.') {
        words.push(Word { text: part, span: at..at + part.len() });
        at += part.len() + 1;
    }
    if text.is_empty() || text.starts_with('.') {
        words.remove(0);
    }
    words
}

/// What a spelling says, as far as it could be understood; misspelt words count as what they look like.
struct Reading {
    opcode: Opcode,
    modifiers: Vec<(Modifier, Range<usize>)>,
    types: Vec<(Type, Range<usize>)>,
    problems: Vec<Problem>,
    /// Where the spelling ends.
    end: usize,
}

impl Reading {
    fn report(&mut self, kind: ProblemKind, span: Range<usize>, legal: Vec<String>) {
        self.problems.push(Problem { kind, span, legal });
    }

    fn set(&self) -> Modifiers {
        self.modifiers.iter().map(|(modifier, _)| *modifier).collect()
    }

    fn type_list(&self) -> Vec<Type> {
        self.types.iter().map(|(ty, _)| *ty).collect()
    }

    /// Where a modifier stands; for one that is missing, the destination type that calls for it.
    fn span_of(&self, modifier: Option<Modifier>) -> Range<usize> {
        let given = self.modifiers.iter().find(|(known, _)| Some(*known) == modifier);
        let ty = self.types.first();
        given.map(|(_, span)| span).or(ty.map(|(_, span)| span)).cloned().unwrap_or(0..0)
    }
}

/// Reads a spelling; see [`CvtForm::parse`].
pub(super) fn parse(spelling: &str) -> Result<CvtForm, FormError> {
    let mut reading = read(spelling);
    let types = reading.type_list();
    let found = Types::new(&types).and_then(|types| TABLE.find(reading.opcode, reading.set(), types));
    match found {
        Some(id) if reading.problems.is_empty() => return Ok(CvtForm(id)),
        Some(_) => {}
        None => {
            if check_types(&mut reading, &types) {
                check_modifiers(&mut reading, &types);
            }
        }
    }
    let nearest = nearest_forms(reading.opcode, reading.set(), &types);
    Err(FormError { problems: reading.problems, nearest })
}

/// The words that may stand in a spelling.
fn known_names() -> impl Iterator<Item = &'static str> {
    let types = Type::ALL.iter().copied().filter(|ty| takes(Opcode::Cvt, *ty) || takes(Opcode::CvtPack, *ty));
    Modifier::ALL.into_iter().map(Modifier::name).chain(types.map(Type::name))
}

fn read(spelling: &str) -> Reading {
    let mut reading = Reading {
        opcode: Opcode::Cvt,
        modifiers: Vec::new(),
        types: Vec::new(),
        problems: Vec::new(),
        end: spelling.trim_end().len(),
    };
    let words = words(spelling);
    let mut rest = words.as_slice();
    if let [first, after @ ..] = rest
        && first.text == Opcode::CVT
    {
        rest = after;
    }
    if let [first, after @ ..] = rest
        && first.text == Opcode::PACK
    {
        reading.opcode = Opcode::CvtPack;
        rest = after;
    }
    if words.is_empty() {
        reading.report(ProblemKind::Empty, 0..spelling.len(), Vec::new());
    }
    for word in rest {
        read_word(&mut reading, word);
    }
    reading
}

fn read_word(reading: &mut Reading, word: &Word<'_>) {
    let span = word.span.clone();
    if let Some(modifier) = Modifier::from_name(word.text) {
        read_modifier(reading, modifier, span);
    } else if let Some(ty) = Type::from_name(word.text) {
        reading.types.push((ty, span));
    } else if word.text.is_empty() {
        reading.report(ProblemKind::StrayDot, span, Vec::new());
    } else if word.text == Opcode::PACK {
        reading.report(ProblemKind::MisplacedPack, span, Vec::new());
        reading.opcode = Opcode::CvtPack;
    } else {
        let meant = nearest(word.text, known_names());
        let legal = meant.iter().map(|name| (*name).to_owned()).collect();
        let kind = ProblemKind::UnknownName { name: word.text.to_owned(), nearest: meant };
        reading.report(kind, span.clone(), legal);
        match meant {
            Some(name) if Modifier::from_name(name).is_some() => {
                reading.modifiers.extend(Modifier::from_name(name).map(|modifier| (modifier, span)));
            }
            Some(name) => reading.types.extend(Type::from_name(name).map(|ty| (ty, span))),
            None => {}
        }
    }
}

fn read_modifier(reading: &mut Reading, modifier: Modifier, span: Range<usize>) {
    let excludes = |other: Modifier| match modifier.kind() {
        ModifierKind::Flag => false,
        ModifierKind::Scale => other.kind() == ModifierKind::Scale,
        ModifierKind::FloatRounding | ModifierKind::IntegerRounding => other.rounding().is_some(),
    };
    let earlier = reading.modifiers.iter().map(|(earlier, _)| *earlier);
    if earlier.clone().any(|earlier| earlier == modifier) {
        reading.report(ProblemKind::Duplicate { modifier }, span, Vec::new());
    } else if let Some(first) = earlier.clone().find(|earlier| excludes(*earlier)) {
        reading.report(ProblemKind::Conflict { first, second: modifier }, span, Vec::new());
    } else {
        reading.modifiers.push((modifier, span));
    }
}

/// Whether some form of the instruction has this type.
fn takes(opcode: Opcode, ty: Type) -> bool {
    CvtForm::all().any(|form| form.opcode() == opcode && form.types().contains(&ty))
}

fn names(types: impl IntoIterator<Item = Type>) -> Vec<String> {
    types.into_iter().map(|ty| ty.name().to_owned()).collect()
}

/// Reports types that are missing, too many or not convertible. Whether there are enough of them, and
/// not too many, to look at modifiers.
fn check_types(reading: &mut Reading, types: &[Type]) -> bool {
    let opcode = reading.opcode;
    let most = if opcode == Opcode::Cvt { 2 } else { 3 };
    for (ty, span) in reading.types.clone() {
        if opcode == Opcode::Cvt && !takes(opcode, ty) {
            let same_element = |other: &Type| {
                ty.packed().is_some_and(|p| other.packed().is_some_and(|o| o.element == p.element))
            };
            let instead = Type::ALL.iter().copied().filter(same_element).filter(|ty| takes(opcode, *ty));
            reading.report(ProblemKind::NotConverted { opcode, ty }, span, names(instead));
            return false;
        }
    }
    // With an unknown name about, a missing type is most likely that name.
    let explained = |problem: &Problem| {
        matches!(problem.kind, ProblemKind::Empty | ProblemKind::UnknownName { nearest: None, .. })
    };
    if types.len() < 2 {
        if !reading.problems.iter().any(explained) {
            let span = reading.end..reading.end;
            reading.report(ProblemKind::MissingType { found: types.len() }, span, Vec::new());
        }
        return false;
    }
    if let Some((ty, span)) = reading.types.get(most).cloned() {
        reading.report(ProblemKind::ExtraType { ty }, span, Vec::new());
        return false;
    }
    let same = |form: &CvtForm| form.opcode() == opcode && form.types() == types;
    if !CvtForm::all().any(|form| same(&form)) {
        let span = reading.types[0].1.start..reading.types[types.len() - 1].1.end;
        let kind = ProblemKind::NoConversion { opcode, types: types.to_vec() };
        reading.report(kind, span, legal_instead(opcode, types));
        return false;
    }
    true
}

/// What could stand where the types do: for `cvt` the destinations that the source has, for `cvt.pack`
/// its lists of types.
fn legal_instead(opcode: Opcode, types: &[Type]) -> Vec<String> {
    let mut legal: Vec<String> = CvtForm::all()
        .filter(|form| form.opcode() == opcode && (opcode == Opcode::CvtPack || form.atype() == types[1]))
        .map(|form| match opcode {
            Opcode::Cvt => form.dtype().name().to_owned(),
            Opcode::CvtPack => names(form.types().iter().copied()).join("."),
        })
        .collect();
    let mut seen = std::collections::HashSet::new();
    legal.retain(|name| seen.insert(name.clone()));
    legal
}

/// Compares the modifiers with those of the legal forms that have the same types.
fn check_modifiers(reading: &mut Reading, types: &[Type]) {
    let given = reading.set();
    let opcode = reading.opcode;
    let legal: Vec<Modifiers> = CvtForm::all()
        .filter(|form| form.opcode() == opcode && form.types() == types)
        .map(CvtForm::modifiers)
        .collect();
    let before = reading.problems.len();
    check_rounding(reading, given, &legal, types);
    check_flags(reading, given, &legal, types);
    if reading.problems.len() == before {
        check_combination(reading, given, &legal);
    }
}

fn check_rounding(reading: &mut Reading, given: Modifiers, legal: &[Modifiers], types: &[Type]) {
    let (to, from) = (types[0], types[1]);
    let rounding = given.rounding();
    if legal.iter().any(|set| set.rounding() == rounding) {
        return;
    }
    let roundings = Modifier::ALL.into_iter().filter(|m| m.rounding().is_some());
    let allowed: Vec<String> =
        roundings.filter(|m| legal.iter().any(|set| set.has(*m))).map(|m| m.name().to_owned()).collect();
    let kind = match rounding {
        None => ProblemKind::MissingRounding { to, from },
        Some(rounding) if allowed.is_empty() => ProblemKind::NeedlessRounding { rounding, to, from },
        Some(rounding) => ProblemKind::WrongRounding { rounding, to, from },
    };
    reading.report(kind, reading.span_of(rounding), allowed);
}

fn check_flags(reading: &mut Reading, given: Modifiers, legal: &[Modifiers], types: &[Type]) {
    let (to, from) = (types[0], types[1]);
    let opcode = reading.opcode;
    let flags = || Modifier::ALL.into_iter().filter(|m| m.rounding().is_none());
    let some = |m: Modifier| legal.iter().any(|set| set.has(m));
    let all = |m: Modifier| legal.iter().all(|set| set.has(m));
    for modifier in flags().filter(|m| given.has(*m) && !some(*m)) {
        let allowed = flags().filter(|m| some(*m)).map(|m| m.name().to_owned()).collect();
        let span = reading.span_of(Some(modifier));
        reading.report(ProblemKind::Illegal { modifier, to, from }, span, allowed);
    }
    for modifier in flags().filter(|m| !given.has(*m) && all(*m)) {
        let span = reading.span_of(None);
        reading.report(
            ProblemKind::Required { modifier, opcode, to },
            span,
            vec![modifier.name().to_owned()],
        );
    }
}

/// Each modifier is legal by itself: finds two that exclude each other, or one that needs another.
fn check_combination(reading: &mut Reading, given: Modifiers, legal: &[Modifiers]) {
    for first in given.iter() {
        for second in given.iter().filter(|second| *second > first) {
            if !legal.iter().any(|set| set.has(first) && set.has(second)) {
                let span = reading.span_of(Some(second));
                reading.report(ProblemKind::Conflict { first, second }, span, Vec::new());
                return;
            }
        }
    }
    let singles = given.iter().map(|one| vec![one]);
    let pairs = given
        .iter()
        .flat_map(|one| given.iter().filter(move |two| *two > one).map(move |two| vec![one, two]));
    for modifiers in singles.chain(pairs) {
        let with = |set: &&Modifiers| modifiers.iter().all(|modifier| set.has(*modifier));
        let always = |other: &Modifier| legal.iter().filter(with).all(|set| set.has(*other));
        if let Some(other) = Modifier::ALL.into_iter().find(|other| !given.has(*other) && always(other)) {
            let span = reading.span_of(modifiers.last().copied());
            let legal = vec![other.name().to_owned()];
            reading.report(ProblemKind::Needs { modifiers, other }, span, legal);
            return;
        }
    }
    let spans = reading.modifiers.iter().map(|(_, span)| span);
    let start = spans.clone().map(|span| span.start).min().unwrap_or(0);
    let end = spans.map(|span| span.end).max().unwrap_or(0);
    reading.report(ProblemKind::Combination, start..end, Vec::new());
}

/// The legal forms nearest to what was understood: other modifiers first, other types only if need be.
fn nearest_forms(opcode: Opcode, modifiers: Modifiers, types: &[Type]) -> Vec<CvtForm> {
    if types.len() < 2 {
        return Vec::new();
    }
    let mut nearest = Vec::new();
    let mut least = u32::MAX;
    for form in CvtForm::all().filter(|form| form.opcode() == opcode) {
        let cost = type_cost(form.types(), types);
        if cost > least {
            continue;
        }
        let cost = cost + modifier_cost(form.modifiers(), modifiers);
        if cost < least {
            least = cost;
            nearest.clear();
        }
        if cost == least && nearest.len() < MOST_NEAREST {
            nearest.push(form);
        }
    }
    nearest
}

/// To add or exchange a modifier is nearer than to take one away: what was written was wanted.
fn modifier_cost(legal: Modifiers, given: Modifiers) -> u32 {
    let rounding = match (legal.rounding(), given.rounding()) {
        (legal, given) if legal == given => 0,
        (Some(legal), Some(given)) if legal.rounding() == given.rounding() => 1,
        _ => 2,
    };
    let scale = |set: Modifiers| set.iter().find(|modifier| modifier.kind() == ModifierKind::Scale);
    let scales = match (scale(legal), scale(given)) {
        (legal, given) if legal == given => 0,
        (None, Some(_)) => 3,
        _ => 2,
    };
    let flag = |modifier: Modifier| match (legal.has(modifier), given.has(modifier)) {
        _ if modifier.kind() != ModifierKind::Flag => 0,
        (true, false) => 2,
        (false, true) => 3,
        _ => 0,
    };
    rounding + scales + Modifier::ALL.into_iter().map(flag).sum::<u32>()
}

/// Types weigh more than any modifiers, for to change one is to ask for something else; and the source
/// weighs more than the destination, for it is what one has.
fn type_cost(legal: &[Type], given: &[Type]) -> u32 {
    let weights = [1, 2, 1];
    let pairs = legal.iter().zip(given).zip(weights);
    let pairs: u32 = pairs.map(|((legal, given), weight)| weight * one_type_cost(*legal, *given)).sum();
    pairs + 60 * legal.len().abs_diff(given.len()) as u32
}

fn one_type_cost(legal: Type, given: Type) -> u32 {
    let element = |ty: Type| ty.packed().map(|packed| packed.element);
    match () {
        () if legal == given => 0,
        () if element(legal) == element(given) => 50,
        () if legal.class() == given.class() && legal.lanes() == given.lanes() => 90,
        () if legal.class() == given.class() => 100,
        () => 200,
    }
}
