//! Reads functions from the text that `{:#}` prints.
//!
//! What is not in the text are tables for messages and tools: places in the source, names of variables, the registers of
//! debuggers and sanitizers. `docs/ir.md` has the grammar.

mod operation;

use crate::immediate::Immediate;
use crate::input::{Input, MOST_ROWS, ParseError, Parsed};
use crate::start::{FromLaunch, Given};
use crate::{Class, Function, Role, Slot, Special};
use softwarp_image::FunctionId;
use softwarp_syntax::Span;

/// The longest text of a function.
const MOST_BYTES: usize = 16 << 20;

impl Function {
    /// Reads a function as `{:#}` prints it. The tables that are not in the text are empty; the place of an operation in
    /// the text is its number. What is returned passes [`Function::verify`].
    ///
    /// ```
    /// let text = "rows: 3 of 32 bits, 0 of 64 bits, 0 predicates\nr0 = 0x5\nr1 = Tid(0)\n0: r2 = add.u32 r1, r0\n1: ret\n";
    /// let function = softwarp_ir::Function::parse(text).expect("a function");
    /// assert_eq!(format!("{function:#}"), text);
    /// let wrong = softwarp_ir::Function::parse("rows: 1 of 32 bits, 0 of 64 bits, 0 predicates\n0: r2 = copy.b32 r0\n");
    /// assert_eq!(wrong.expect_err("it has one row").to_string(), "line 2, column 4: r2 is none of 1 rows");
    /// ```
    pub fn parse(text: &str) -> Result<Function, ParseError> {
        let whole = |what: &str| ParseError { line: 1, column: 1, what: what.to_owned() };
        if text.len() > MOST_BYTES {
            return Err(whole("the text is too long"));
        }
        let mut reader = Reader::default();
        let mut function = Function::empty(FunctionId(0));
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.split("//").next().unwrap_or_default();
            let mut input = Input::new(line, number);
            if !input.is_at_end() {
                reader.line(&mut function, &mut input)?;
            }
        }
        reader.finish(&mut function)?;
        function.verify().map_err(|what| whole(&what))?;
        Ok(function)
    }
}

/// What is known beside the function while its lines are read.
#[derive(Default)]
struct Reader<'a> {
    has_rows: bool,
    /// Instructions of operations that are not one each.
    counts: Vec<(usize, u32)>,
    /// Operations that are not read.
    unread: Vec<usize>,
    /// Branches, with where they stand.
    branches: Vec<(usize, Input<'a>)>,
}

impl<'a> Reader<'a> {
    fn line(&mut self, function: &mut Function, input: &mut Input<'a>) -> Parsed<()> {
        let start = input.clone();
        match input.peek_word() {
            "rows" if self.has_rows => return Err(start.error("the rows are said twice")),
            "rows" => self.rows(function, input)?,
            _ if !self.has_rows => return Err(start.error("`rows:` was expected first")),
            "memory" => {
                input.expect_words("memory per thread :")?;
                function.local_bytes = input.number()?;
                input.expect_words("bytes local ,")?;
                function.parameter_bytes = input.number()?;
                input.expect_words("bytes of parameters")?;
            }
            "shared" => {
                input.expect_words("shared :")?;
                list(input, |input| {
                    let slot = row(function, input)?;
                    input.expect("=")?;
                    match slot.is_wide() {
                        true => function.shared_wide.push((slot.number(), input.number()?)),
                        false => function.shared_narrow.push((slot.number(), input.number()?)),
                    }
                    Ok(())
                })?;
            }
            "zeroed" => {
                input.expect_words("zeroed :")?;
                let mut zeroed = [Vec::new(), Vec::new()];
                if !input.eat_word("none") {
                    list(input, |input| {
                        let slot = row(function, input)?;
                        zeroed[usize::from(slot.is_wide())].push(slot.number());
                        Ok(())
                    })?;
                }
                function.start.zeroed = Some(zeroed);
            }
            "unread" => {
                input.expect_words("unread :")?;
                list(input, |input| {
                    self.unread.push(input.number()?);
                    Ok(())
                })?;
            }
            "from" => {
                input.expect_words("from launch :")?;
                list(input, |input| {
                    let op = input.number()?;
                    input.expect("=")?;
                    let row = row(function, input)?;
                    input.expect("of")?;
                    let register = input.slot()?;
                    function.forwarded.given.push(FromLaunch { op, row, register });
                    Ok(())
                })?;
            }
            "instructions" => {
                input.expect_words("instructions :")?;
                list(input, |input| {
                    let op = input.number()?;
                    input.expect("=")?;
                    self.counts.push((op, input.number()?));
                    Ok(())
                })?;
            }
            _ if is_value(input) => value(function, input)?,
            _ => self.operation(function, input)?,
        }
        input.end()
    }

    fn rows(&mut self, function: &mut Function, input: &mut Input<'_>) -> Parsed<()> {
        input.expect_words("rows :")?;
        let count = |input: &mut Input<'_>| {
            let start = input.clone();
            let count = input.number::<u32>()?;
            match count <= MOST_ROWS {
                true => Ok(count),
                false => Err(start.error(format!("a function has at most {MOST_ROWS} rows of a kind"))),
            }
        };
        function.narrow = count(input)?;
        input.expect_words("of 32 bits ,")?;
        function.wide = count(input)?;
        input.expect_words("of 64 bits ,")?;
        function.predicates = count(input)?;
        input.expect("predicates")?;
        self.has_rows = true;
        Ok(())
    }

    fn operation(&mut self, function: &mut Function, input: &mut Input<'a>) -> Parsed<()> {
        let at = function.ops.len();
        if input.rest().starts_with(|c: char| c.is_ascii_digit()) {
            let start = input.clone();
            if input.number::<usize>()? != at {
                return Err(start.error(format!("the number of the operation is {at}")));
            }
            input.expect(":")?;
        }
        input.rest();
        let start = input.clone();
        let mut op = operation::parse(input)?;
        let mut wrong = None;
        op.visit(|slot, _: Role| {
            if slot.number() >= rows(function, slot.class()) {
                wrong = Some(format!("{slot} is none of {} rows", rows(function, slot.class())));
            }
        });
        if let Some(wrong) = wrong {
            return Err(start.error(wrong));
        }
        if !op.targets().is_empty() {
            self.branches.push((at, start));
        }
        function.spans.push(Span::new(at as u32, at as u32 + 1));
        function.ops.push(op);
        Ok(())
    }

    /// Makes the tables beside the operations.
    fn finish(self, function: &mut Function) -> Parsed<()> {
        let whole = |what: String| ParseError { line: 1, column: 1, what };
        let count = function.ops.len();
        for (op, place) in &self.branches {
            if let Some(target) = function.ops[*op].targets().iter().find(|&&target| target as usize > count)
            {
                return Err(place.error(format!("there is no operation {target}")));
            }
        }
        let mut counts = vec![1u32; count];
        for (op, instructions) in self.counts {
            let place = counts.get_mut(op).ok_or_else(|| whole(format!("there is no operation {op}")))?;
            *place = instructions;
        }
        let mut sum = 0u32;
        function.instructions = vec![0];
        for instructions in counts {
            sum = sum.checked_add(instructions).ok_or_else(|| whole("too many instructions".to_owned()))?;
            function.instructions.push(sum);
        }
        if !self.unread.is_empty() {
            function.forwarded.unread = vec![false; count];
        }
        for op in self.unread {
            let place = function.forwarded.unread.get_mut(op);
            *place.ok_or_else(|| whole(format!("there is no operation {op}")))? = true;
        }
        let given = &function.forwarded.given;
        if !given.is_sorted_by_key(|one| one.op) || given.iter().any(|one| one.op as usize >= count) {
            return Err(whole("what comes from the launch is not in the order of the operations".to_owned()));
        }
        Ok(())
    }
}

/// How many rows of a kind there are.
fn rows(function: &Function, class: Class) -> u32 {
    match class {
        Class::Narrow => function.narrow,
        Class::Wide => function.wide,
        Class::Predicate => function.predicates,
    }
}

/// A row of words that there is.
fn row(function: &Function, input: &mut Input<'_>) -> Parsed<Slot> {
    let start = input.clone();
    let slot = input.slot()?;
    let count = rows(function, slot.class());
    match slot.class() {
        Class::Predicate => Err(start.error("a row of words was expected")),
        Class::Narrow | Class::Wide if slot.number() >= count => {
            Err(start.error(format!("{slot} is none of {count} rows")))
        }
        Class::Narrow | Class::Wide => Ok(slot),
    }
}

/// Items with commas between them.
fn list<'a>(input: &mut Input<'a>, mut item: impl FnMut(&mut Input<'a>) -> Parsed<()>) -> Parsed<()> {
    item(input)?;
    while input.eat(",") {
        item(input)?;
    }
    Ok(())
}

/// Whether a line says what a row holds: a number, a parameter or a special register.
fn is_value(input: &Input<'_>) -> bool {
    let mut ahead = input.clone();
    ahead.is_at_slot() && ahead.slot().is_ok() && ahead.eat("=") && {
        ahead.rest().starts_with(|c: char| c.is_ascii_digit() || c == '[' || c.is_ascii_uppercase())
    }
}

/// What a row holds before the first operation.
fn value(function: &mut Function, input: &mut Input<'_>) -> Parsed<()> {
    let slot = row(function, input)?;
    let number = slot.number();
    input.expect("=")?;
    if input.rest().starts_with(|c: char| c.is_ascii_digit()) {
        match slot.is_wide() {
            true => function.wide_constants.push((number, input.number()?)),
            false => function.narrow_constants.push((number, input.number()?)),
        }
        return Ok(());
    }
    if input.eat("[") {
        input.expect("param")?;
        let offset = input.number()?;
        input.expect("]")?;
        let given = if slot.is_wide() { Given::Wide(number, offset) } else { Given::Narrow(number, offset) };
        function.start.given.push(given);
        return Ok(());
    }
    let start = input.clone();
    let register = Special::parse(input)?;
    if slot.is_wide() {
        return Err(start.error("a special register is in a row of 32 bits"));
    }
    if let Special::Ctaid(axis) = register {
        function.start.of_cta.push((number, axis));
    } else {
        function.start.given.push(Given::Special(number, register));
    }
    Ok(())
}
