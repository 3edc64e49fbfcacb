//! Text in columns.

/// The widest that a column gets. A longer cell moves the rest of its own line only, so that one long name does
/// not make every line as long.
const WIDEST: usize = 60;

/// Lines of cells, each column as wide as its widest cell, within reason; the last is not padded.
pub fn columns(rows: &[Vec<String>]) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    lines(rows, &(0..count).collect::<Vec<_>>(), |_| false, "")
}

/// Lines of some of the columns only. Some columns are aligned to the right, and the lines are indented.
pub fn lines<R: AsRef<[String]>>(
    rows: &[R],
    kept: &[usize],
    to_the_right: impl Fn(usize) -> bool,
    indent: &str,
) -> String {
    let length = |cell: &String| if cell.is_ascii() { cell.len() } else { cell.chars().count() };
    let mut widths = vec![0; kept.len()];
    for row in rows {
        for (width, &column) in widths.iter_mut().zip(kept) {
            *width = (*width).max(row.as_ref().get(column).map_or(0, length).min(WIDEST));
        }
    }
    let mut text = String::new();
    for row in rows {
        let begin = text.len();
        text.push_str(indent);
        // What pads a cell is written when the next one has something to say.
        let mut due = 0;
        for (&width, &column) in widths.iter().zip(kept) {
            let Some(cell) = row.as_ref().get(column) else { break };
            let padding = width.saturating_sub(length(cell));
            if to_the_right(column) {
                due += padding;
            }
            if !cell.is_empty() {
                text.extend(std::iter::repeat_n(' ', due));
                text.push_str(cell);
                due = 0;
            }
            if !to_the_right(column) {
                due += padding;
            }
            due += 2;
        }
        let end = text[begin..].trim_end().len();
        text.truncate(begin + end);
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_stand_below_one_another() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        assert_eq!(columns(&[row(["a", "→", "x"]), row(["bcd", "", ""])]), "a    →  x\nbcd\n");
    }

    #[test]
    fn one_long_cell_does_not_make_every_line_long() {
        let mut rows = vec![vec!["a".to_owned(), "b".to_owned()]; 1000];
        rows.push(vec!["c".repeat(100_000), "d".to_owned()]);
        let text = columns(&rows);
        assert!(text.len() < 200_000 && text.ends_with("c  d\n"), "{} bytes", text.len());
    }
}
