//! Keeps the support table of docs/conversions.md true: it is made from the form table and the recordings.
//!
//! `SOFTWARP_BLESS=1 cargo test --release -p softwarp-cli --test commands support_table` rewrites it.

use softwarp::isa::{CvtForm, Type};
use softwarp_testkit::{expected::assert_file, recording, repository};
use std::collections::{BTreeMap, BTreeSet};

const BEGIN: &str = "<!-- the table below is made by tests/support_table.rs -->\n";
const END: &str = "<!-- end of the table -->\n";

/// The forms that a golden file has rows of.
fn recorded(file: &str) -> BTreeSet<String> {
    let rows = recording::values(recording::golden("cli", file));
    rows.map(|row| row["form"].as_str().expect("a form").to_owned()).collect()
}

fn kind(of: Type) -> &'static str {
    if of.is_int() { "int" } else { of.name() }
}

/// What is known of the forms of one pair of types, as lists of modifiers.
#[derive(Default)]
struct Row {
    hardware: BTreeSet<String>,
    headers: BTreeSet<String>,
    documents: BTreeSet<String>,
}

impl Row {
    fn cell(&self, modifiers: &BTreeSet<String>) -> String {
        let lists = [self.hardware.len(), self.headers.len(), self.documents.len()];
        match modifiers.len() {
            0 => "–".to_owned(),
            n if n == lists.iter().sum::<usize>() => "all".to_owned(),
            n if n > 4 && lists.iter().all(|&other| other <= n) => format!("the other {n}"),
            _ => modifiers.iter().map(|m| format!("`{m}`")).collect::<Vec<_>>().join(" "),
        }
    }
}

fn table() -> String {
    let mut hardware = recorded("h200/sums.jsonl.gz");
    hardware.extend(recorded("h200/pack.jsonl.gz"));
    let headers = recorded("cuda-headers/sums.jsonl.gz");
    let mut rows: BTreeMap<(usize, String), (Row, [usize; 3])> = BTreeMap::new();
    let mut order: Vec<String> = Vec::new();
    for form in CvtForm::all() {
        let spelling = form.to_string();
        let name = if spelling.starts_with("cvt.pack") {
            "cvt.pack".to_owned()
        } else {
            format!("{}.{}", kind(form.dtype()), kind(form.atype()))
        };
        let place = order.iter().position(|known| *known == name).unwrap_or_else(|| {
            order.push(name.clone());
            order.len() - 1
        });
        let types: usize = form.types().iter().map(|of| of.name().len() + 1).sum();
        let modifiers = spelling[3..spelling.len() - types].to_owned();
        let modifiers = if modifiers.is_empty() { "none".to_owned() } else { modifiers };
        let (row, counts) = rows.entry((place, name)).or_default();
        let (list, count) = if hardware.contains(&spelling) {
            (&mut row.hardware, 0)
        } else if headers.contains(&spelling) {
            (&mut row.headers, 1)
        } else {
            (&mut row.documents, 2)
        };
        list.insert(modifiers);
        counts[count] += 1;
    }
    let total = |which: usize| rows.values().map(|(_, counts)| counts[which]).sum::<usize>();
    let mut text = format!(
        "| types | forms | verified on hardware ({}) | cross-checked ({}) | from documents only ({}) |\n|---|---|---|---|---|\n",
        total(0),
        total(1),
        total(2)
    );
    for ((_, name), (row, counts)) in &rows {
        let forms: usize = counts.iter().sum();
        let cells = [&row.hardware, &row.headers, &row.documents].map(|list| row.cell(list));
        text += &format!("| {name} | {forms} | {} |\n", cells.join(" | "));
    }
    text
}

#[test]
fn the_support_table_of_the_docs_is_true() {
    let file = repository("docs/conversions.md");
    let text = std::fs::read_to_string(&file).expect("docs/conversions.md");
    let (before, rest) = text.split_once(BEGIN).expect("the beginning of the table");
    let (_, after) = rest.split_once(END).expect("the end of the table");
    assert_file(&file, &format!("{before}{BEGIN}{}{END}{after}", table()));
}
