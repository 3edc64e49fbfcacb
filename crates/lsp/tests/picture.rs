//! Draws docs/images/editor.svg from what the server answers: colours by its semantic tokens, its diagnostics, hints and
//! hover. `SOFTWARP_BLESS=1` draws it anew.

mod client;

use client::Client;
use serde_json::{Value, json};
use softwarp_testkit::{expected::assert_file, repository};

/// A character's width and a line's height.
const WIDTH: f32 = 8.4;
const HEIGHT: f32 = 20.0;
const LEFT: f32 = 56.0;
const TOP: f32 = 46.0;

const SOURCE: &str = ".version 8.0
.target sm_90
.address_size 64
.const .f32 scale = 0f3F000000;
.visible .entry saxpy(.param .u64 x, .param .u64 y)
{
    .reg .pred %p<2>;
    .reg .b32 %r<4>;
    .reg .f32 %f<4>;
    .reg .b64 %rd<4>;

    ld.param.u64 %rd1, [x];
    mov.u32 %r1, %tid.x;
    mad.wide.u32 %rd2, %r1, 4, %rd1;
    ld.global.f32 %f1, [%rd2];
    ld.const.f32 %f2, [scale];
    fma.rn.ftz.f32 %f3, %f1, %f2, %rd1;
    shfl.down.b32 %r2, %r1, 1, 31;
    st.global.f32 [%rd2], %f3;
    ret;
}
";

/// Where the cursor is: on the `fma`.
const CURSOR: (u32, u32) = (16, 6);

struct Drawing {
    svg: String,
}

impl Drawing {
    fn x(column: f32) -> f32 {
        LEFT + column * WIDTH
    }

    fn baseline(line: f32) -> f32 {
        TOP + line * HEIGHT + 15.0
    }

    fn text(&mut self, line: f32, column: f32, class: &str, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        let escaped = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let (x, y) = (Drawing::x(column), Drawing::baseline(line));
        self.svg += &format!(
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" xml:space=\"preserve\">{escaped}</text>\n"
        );
    }
}

fn number(value: &Value) -> u32 {
    u32::try_from(value.as_u64().expect("a number")).expect("a small one")
}

/// The text, coloured by tokens.
fn draw_text(drawing: &mut Drawing, tokens: &Value, legend: &Value) {
    let lines: Vec<&str> = SOURCE.lines().collect();
    for line in 0..lines.len() {
        drawing.text(line as f32, -5.0, "number", &format!("{:>3}", line + 1));
    }
    let data: Vec<u32> = tokens["data"].as_array().expect("tokens").iter().map(number).collect();
    // Where what is no token begins, in each line.
    let mut plain = vec![0; lines.len()];
    let (mut line, mut column) = (0, 0);
    for token in data.chunks(5) {
        column = if token[0] == 0 { column + token[1] as usize } else { token[1] as usize };
        line += token[0] as usize;
        let end = column + token[2] as usize;
        let kind = legend["tokenTypes"][token[3] as usize].as_str().expect("a kind");
        drawing.text(line as f32, plain[line] as f32, "plain", &lines[line][plain[line]..column]);
        drawing.text(line as f32, column as f32, kind, &lines[line][column..end]);
        plain[line] = end;
    }
    for (line, (text, start)) in lines.iter().zip(plain).enumerate() {
        drawing.text(line as f32, start as f32, "plain", &text[start..]);
    }
}

fn draw_diagnostics(drawing: &mut Drawing, diagnostics: &[Value]) {
    for one in diagnostics {
        let (start, end) = (&one["range"]["start"], &one["range"]["end"]);
        let line = number(&start["line"]) as f32;
        let (from, to) =
            (Drawing::x(number(&start["character"]) as f32), Drawing::x(number(&end["character"]) as f32));
        let y = Drawing::baseline(line) + 3.0;
        let mut path = format!("M{from:.1} {y:.1}");
        let mut x = from;
        while x < to {
            path += "q1 -3 2 0 t2 0";
            x += 4.0;
        }
        drawing.svg += &format!("<path class=\"squiggle\" d=\"{path}\"/>\n");
        let message = one["message"].as_str().expect("a message").lines().next().unwrap_or_default();
        let length = SOURCE.lines().nth(line as usize).map_or(0, str::len);
        let code = one["code"].as_str().expect("a code");
        // As much as fits.
        let room = 109 - length;
        let mut shown: String = format!("{code}: {message}").chars().take(room).collect();
        if shown.chars().count() == room {
            shown.push('…');
        }
        drawing.text(line, length as f32 + 2.0, "error", &shown);
    }
}

/// The box of the hover, below the cursor's line.
fn draw_hover(drawing: &mut Drawing, hover: &str) {
    let lines: Vec<String> = hover
        .lines()
        .filter(|line| !line.starts_with("```"))
        .map(|line| {
            let link = line.split_once("](").map(|(name, _)| format!("{name}]"));
            link.unwrap_or_else(|| line.replace("**", "").replace('`', ""))
        })
        .collect();
    let widest = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0) as f32;
    let top = CURSOR.0 as f32 + 4.6;
    let (x, y) = (Drawing::x(4.0) - 8.0, TOP + top * HEIGHT - 4.0);
    let (width, height) = (widest * WIDTH + 16.0, lines.len() as f32 * HEIGHT + 8.0);
    drawing.svg += &format!(
        "<rect class=\"box\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"4\"/>\n"
    );
    for (number, line) in lines.iter().enumerate() {
        let class = match () {
            () if number == 0 => "strong",
            () if line.starts_with('[') => "function",
            () => "plain",
        };
        drawing.text(top + number as f32, 4.0, class, line);
    }
}

#[test]
fn the_picture_of_the_editor_is_what_the_server_answers() {
    let mut client = Client::new(softwarp_lsp::Options::default());
    let uri = "file:///saxpy.ptx";
    let ready = client.initialize(json!({}), None, Value::Null);
    let document = json!({"uri": uri, "languageId": "ptx", "version": 1, "text": SOURCE});
    client.notify("textDocument/didOpen", json!({"textDocument": document}));
    let published = client.until_diagnostics(uri).pop().expect("diagnostics");
    let diagnostics = published["params"]["diagnostics"].as_array().expect("a list").clone();
    assert_eq!(diagnostics.len(), 2, "{diagnostics:?}");
    let of = json!({"uri": uri});
    let mut answer = |method: &str, params: Value| {
        client.request(method, params).pop().expect("an answer")["result"].clone()
    };
    let tokens = answer("textDocument/semanticTokens/full", json!({"textDocument": of}));
    let position = json!({"line": CURSOR.0, "character": CURSOR.1});
    let hover = answer("textDocument/hover", json!({"textDocument": of, "position": position}));
    let whole = json!({"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}});
    let hints = answer("textDocument/inlayHint", json!({"textDocument": of, "range": whole}));
    let hover = hover["contents"]["value"].as_str().expect("text").to_owned();
    let lines = SOURCE.lines().count() as f32 + hover.lines().count() as f32;
    let (width, height) = (1010.0, TOP + lines * HEIGHT - 30.0);
    let mut drawing = Drawing { svg: String::new() };
    drawing.svg += &format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\">\n{STYLE}"
    );
    drawing.svg += &format!(
        "<title>PTX in an editor: highlighting, hints, two errors, and the hover of an instruction</title>\n<rect class=\"page\" width=\"{width}\" height=\"{height}\" rx=\"8\"/>\n"
    );
    drawing.svg += "<circle cx=\"20\" cy=\"20\" r=\"5\" class=\"dot\"/><circle cx=\"38\" cy=\"20\" r=\"5\" class=\"dot\"/><circle cx=\"56\" cy=\"20\" r=\"5\" class=\"dot\"/>\n<text class=\"tab\" x=\"84\" y=\"25\">saxpy.ptx</text>\n";
    draw_text(&mut drawing, &tokens, &ready["result"]["capabilities"]["semanticTokensProvider"]["legend"]);
    draw_diagnostics(&mut drawing, &diagnostics);
    // The types of registers stand at the ends of lines here, so that the text keeps its columns.
    for hint in hints.as_array().expect("hints") {
        let line = number(&hint["position"]["line"]) as usize;
        let length = SOURCE.lines().nth(line).map_or(0, str::len);
        if !diagnostics.iter().any(|one| number(&one["range"]["start"]["line"]) as usize == line) {
            drawing.text(line as f32, length as f32 + 1.0, "hint", hint["label"].as_str().expect("a label"));
        }
    }
    draw_hover(&mut drawing, &hover);
    drawing.svg += "</svg>\n";
    assert_file(repository("docs/images/editor.svg"), &drawing.svg);
}

const STYLE: &str = "<style>text{font:14px ui-monospace,'DejaVu Sans Mono',Menlo,monospace;fill:#1f2933}
.page{fill:#fdfdfb;stroke:#9aa5b1}.dot{fill:#c5cdd6}.tab{fill:#5d6b79}
.keyword{fill:#0b5cad}.type{fill:#00736b}.function{fill:#7a3fa0}.parameter{fill:#8a5a00}.label{fill:#7a3fa0}
.number{fill:#5d6b79}.string,.macro{fill:#a02c1a}.hint{fill:#6b7885;font-style:italic}
.error{fill:#b3261e;font-style:italic}.strong{font-weight:bold}.operator{fill:#1f2933}
.squiggle{fill:none;stroke:#b3261e;stroke-width:1.2}.box{fill:#f2f4f7;stroke:#9aa5b1}
@media (prefers-color-scheme:dark){text{fill:#e8edf2}.page{fill:#15191e}.dot{fill:#3a4450}.tab,.number{fill:#9fb0c0}
.keyword{fill:#7db8f5}.type{fill:#67d3c8}.function,.label{fill:#cfa6ec}.parameter{fill:#e6bd72}.string,.macro{fill:#f0a394}
.hint{fill:#9fb0c0}.error{fill:#ff8a80}.operator{fill:#e8edf2}.squiggle{stroke:#ff8a80}.box{fill:#222931;stroke:#5d6b79}}</style>
";
