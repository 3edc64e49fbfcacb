//! Fits help texts to the terminal: what stands behind the options is written in lines of about 100 columns, and would
//! be wrapped a second time where the terminal has fewer.
//!
//! Lines that are not indented are paragraphs. An indented line is a row: a term, two or more blanks and a text, or a
//! text alone. Lines that are indented to the row's text, or farther than the row, go on with it. Examples, which begin
//! with a program's name, and lines behind one that ends in a backslash, stay as they are.

use std::env;

/// The widest that help is, and the narrowest that it is fitted to.
const WIDEST: usize = 100;
const NARROWEST: usize = 40;

/// A command whose help, and that of its commands, is fitted to the terminal.
pub fn fitted(command: clap::Command) -> clap::Command {
    let width = width();
    fit_command(command.term_width(width), width)
}

fn fit_command(command: clap::Command, width: usize) -> clap::Command {
    let text = command.get_after_help().map(|text| fit(&text.to_string(), width));
    let command = match text {
        Some(text) => command.after_help(text),
        None => command,
    };
    command.mut_subcommands(|inner| fit_command(inner, width))
}

/// The width of the terminal, or what `COLUMNS` says.
fn width() -> usize {
    let named = || env::var("COLUMNS").ok()?.parse().ok();
    let terminal = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    terminal.or_else(named).unwrap_or(WIDEST).clamp(NARROWEST, WIDEST)
}

/// A text in lines of a width.
fn fit(text: &str, width: usize) -> String {
    let mut rows: Vec<Row> = Vec::new();
    let mut kept = false;
    for line in text.lines() {
        let stays = std::mem::replace(&mut kept, line.ends_with('\\'));
        match rows.last_mut() {
            Some(row) if !stays && row.goes_on_with(line) => {
                row.text.push(' ');
                row.text.push_str(line.trim());
            }
            _ => rows.push(Row::of(line, stays || kept)),
        }
    }
    rows.iter().map(|row| row.wrapped(width)).collect::<Vec<_>>().join("\n")
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// Lines that belong together.
struct Row {
    indent: usize,
    /// The term with the blanks behind it; empty in paragraphs.
    term: String,
    text: String,
    /// It is no text to be wrapped.
    stays: bool,
}

impl Row {
    fn of(line: &str, stays: bool) -> Row {
        let indent = indent_of(line);
        let body = &line[indent..];
        let is_command =
            ["softwarp ", "nvcc ", "python", "cargo ", "gcc ", "{"].iter().any(|word| body.starts_with(word));
        let stays = stays || indent > 0 && is_command;
        let text_at = body.find("  ").filter(|_| indent > 0 && !stays).map(|at| {
            let rest = &body[at..];
            at + rest.len() - rest.trim_start().len()
        });
        let (term, text) = body.split_at(text_at.unwrap_or(0));
        Row { indent, term: term.to_owned(), text: text.to_owned(), stays }
    }

    /// Where the lines behind the first begin.
    fn hanging(&self) -> usize {
        match (self.indent, self.term.chars().count()) {
            (0, _) => 0,
            (indent, 0) => indent + 2,
            (indent, term) => indent + term,
        }
    }

    fn goes_on_with(&self, line: &str) -> bool {
        let indent = indent_of(line);
        if line.trim().is_empty() || self.text.is_empty() || self.stays {
            return false;
        }
        match self.indent {
            0 => indent == 0 && !self.text.ends_with(':'),
            own => indent > own,
        }
    }

    fn wrapped(&self, width: usize) -> String {
        let first = format!("{}{}", " ".repeat(self.indent), self.term);
        if self.stays || first.chars().count() + self.text.chars().count() <= width {
            return format!("{first}{}", self.text).trim_end().to_owned();
        }
        // A narrow terminal has the text of a row below its term.
        let hanging = if self.hanging() > width * 3 / 5 { self.indent + 4 } else { self.hanging() };
        let (mut lines, mut line) = (Vec::new(), first.clone());
        let mut begins = true;
        for word in self.text.split(' ').filter(|word| !word.is_empty()) {
            let length = line.chars().count() + word.chars().count() + usize::from(!begins);
            if length > width && !line.trim().is_empty() {
                lines.push(line.trim_end().to_owned());
                line = " ".repeat(hanging);
                begins = true;
            }
            if !begins {
                line.push(' ');
            }
            line.push_str(word);
            begins = false;
        }
        lines.push(line);
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_are_wrapped_once() {
        let text = "One two three four five six seven eight\nnine ten.\nEleven.\n\nNext:\n  softwarp run a b c d e f g h i j k l m";
        let wide = "One two three four five six seven eight nine ten. Eleven.\n\nNext:\n  softwarp run a b c d e f g h i j k l m";
        assert_eq!(fit(text, 100), wide);
        let narrow = "One two three four five\nsix seven eight nine ten.\nEleven.\n\nNext:\n  softwarp run a b c d e f g h i j k l m";
        assert_eq!(fit(text, 25), narrow);
    }

    #[test]
    fn rows_keep_their_columns() {
        let text = "Rows:\n  one    the first of all\n         of them\n  twenty the others\n  plain words that go on\n    and on";
        let narrow = "Rows:\n  one    the first of\n         all of them\n  twenty the others\n  plain words that go\n    on and on";
        assert_eq!(fit(text, 21), narrow);
        assert_eq!(fit("  softwarp run a \\\n      b", 10), "  softwarp run a \\\n      b");
    }

    #[test]
    fn no_help_has_a_row_that_is_wider_than_it_must_be() {
        for width in [60, 80, 100] {
            let mut commands = vec![fit_command(super::super::cli(), width)];
            while let Some(command) = commands.pop() {
                commands.extend(command.get_subcommands().cloned());
                let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
                let is_text = |line: &&str| {
                    let body = line.trim_start();
                    !body.starts_with("softwarp ")
                        && !body.starts_with(['{', '-', '\''])
                        && !body.starts_with("nvcc ")
                };
                for line in help.lines().filter(is_text) {
                    assert!(line.chars().count() <= width, "{} at {width}: {line}", command.get_name());
                }
            }
        }
    }
}
