//! An image drawn as a map: every region a strip, every variable a box, with padding between them.
//!
//! Widths grow with the logarithm of sizes, so that a word is seen beside a gigabyte; what is larger than
//! `LARGE` bytes is drawn with a cut through it. The drawing stands alone: no scripts, no links, and colours
//! for light and dark.

use super::region::{Kind, Owner, Piece, Region, of_function, of_module, pieces};
use super::spell::shortened;
use super::{View, spell, value};
use softwarp::demangle::{demangled, last_part};
use softwarp::image::{Extent, Function, FunctionId, Object, ObjectId};
use softwarp::isa::types::Class;
use softwarp_report::svg::{Area, Page, Point, Svg, dark, escape, light, point};
use std::fmt::Write;

/// The most boxes that are drawn, in all and in one strip.
const BOXES: usize = 2000;
const STRIP: usize = 500;
/// The most members of a family that are drawn.
const MEMBERS: u32 = 16;
/// More bytes than this are drawn with a cut.
const LARGE: u64 = 64;

const WIDTH: f64 = 1160.0;
const MARGIN: f64 = 28.0;
const ROOM: f64 = WIDTH - 2.0 * MARGIN;
/// Of a box; below it are the ticks.
const HEIGHT: f64 = 48.0;
const TICKS: f64 = 22.0;
const TITLE: f64 = 22.0;
/// Of a line above a row of boxes that says whose they are.
const OWNER: f64 = 17.0;
/// Between strips that stand side by side.
const GAP: f64 = 36.0;

/// Widths of characters, nearly: all text in boxes has one width.
const NAME: f64 = 6.9;
const SMALL: f64 = 5.8;

/// What a box is filled with: its class in the style, and its name in the legend.
#[derive(Clone, Copy, PartialEq)]
enum Fill {
    Integer,
    Float,
    Bits,
    Address,
    Handle,
    Open,
    Padding,
}

const FILLS: [(Fill, &str, &str); 7] = [
    (Fill::Integer, "i", "integers"),
    (Fill::Float, "f", "floating point"),
    (Fill::Bits, "b", "bits"),
    (Fill::Address, "a", "addresses"),
    (Fill::Handle, "h", "handles"),
    (Fill::Open, "o", "size given elsewhere"),
    (Fill::Padding, "p", "padding"),
];

impl Fill {
    fn of(object: &Object) -> Fill {
        match object.value_type().map(|ty| ty.class()) {
            _ if object.open => Fill::Open,
            _ if !object.relocations.is_empty() || object.pointer.is_some() => Fill::Address,
            None => Fill::Handle,
            Some(Class::Signed | Class::Unsigned) => Fill::Integer,
            Some(Class::Float | Class::Fixed) => Fill::Float,
            Some(Class::Bits | Class::Pred) => Fill::Bits,
        }
    }

    fn class(self) -> &'static str {
        FILLS[self as usize].1
    }
}

const STYLE: &str = concat!(
    light!(),
    "\
.line{stroke:#9aa5b1;fill:none}
.cut{fill:#fdfdfb;stroke:#7b8794}
rect.i,rect.f,rect.b,rect.a,rect.h,rect.o,rect.p{stroke:#7b8794;stroke-width:.8}
.i{fill:#cfe4f8}.f{fill:#cdeccd}.b{fill:#f6e6b4}.a{fill:#f8cfc4}.h{fill:#e0d4f5}.o{fill:#fdfdfb}.p{fill:url(#hatch)}
rect.o{stroke-dasharray:4 3}
@media (prefers-color-scheme:dark){
",
    dark!(),
    "\
.line{stroke:#5d6b79}
.cut{fill:#15191e;stroke:#9aa5b1}
rect.i,rect.f,rect.b,rect.a,rect.h,rect.o,rect.p{stroke:#8b98a5}
.i{fill:#1f4568}.f{fill:#22512b}.b{fill:#5a4a14}.a{fill:#6b2f22}.h{fill:#463469}.o{fill:#15191e}.p{fill:url(#hatch)}
}"
);

/// What padding is filled with.
const DEFINITIONS: &str = "\
<defs><pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">\
<path class=\"line\" d=\"M0 0V6\" stroke-width=\"1.6\"/></pattern></defs>\n";

/// Draws an image.
pub fn draw(view: &View<'_>) -> String {
    let mut map = Map {
        svg: Svg::default(),
        y: 112.0,
        left: BOXES,
        left_out: 0,
        used: [false; FILLS.len()],
        cuts: false,
    };
    for region in of_module(view.image) {
        let note = region_note(view, &region);
        map.strips(view, vec![(note, region)]);
    }
    for (id, function) in (0..).map(FunctionId).zip(&view.image.functions) {
        let regions = of_function(view.image, id);
        if regions.is_empty() {
            continue;
        }
        if map.left > 0 {
            map.heading(&function_title(function), &function.name);
        }
        let note = |region: Region| (region_note(view, &region), region);
        map.strips(view, regions.into_iter().map(note).collect());
    }
    map.finish(view)
}

fn function_title(function: &Function) -> String {
    let sort = if function.entry { "kernel" } else { "function" };
    let name = demangled(&function.name, true).unwrap_or_else(|| function.name.to_string());
    let mut title = format!("{sort} {}", shortened(&name, 80));
    if function.stack > 0 {
        let _ = write!(title, ", stack of {}", size(function.stack));
    }
    if function.shared.bytes > 0 {
        let _ = write!(title, ", {} of .shared", size(function.shared.bytes));
    }
    if let Some(at) = function.dynamic_shared {
        let _ = write!(title, ", arrays without size from {at:#x}");
    }
    title
}

/// Whose variables of `.shared` stand in a row, and the whole name of the kernel.
fn owner_words(view: &View<'_>, owner: Owner) -> (String, String) {
    match owner {
        Owner::Several => ("of several kernels".into(), String::new()),
        Owner::Nobody => ("of no kernel".into(), String::new()),
        Owner::Kernel(id) => {
            let name = view.image.function(id).name.to_string();
            let shown = demangled(&name, true).unwrap_or_else(|| name.clone());
            (format!("of kernel {}", shortened(&shown, 80)), name)
        }
    }
}

/// What stands beside the title of a region.
fn region_note(view: &View<'_>, region: &Region) -> String {
    let Extent { bytes, alignment } = region.extent;
    let mut note = format!("{}, align {alignment}", size(bytes));
    if region.kind == Kind::Shared && view.image.kernels().nth(1).is_some() {
        note.push_str("; each kernel has a shared memory of its own, from 0x0");
    }
    note
}

/// "40 bytes", "1.5 GiB"
fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 10 << 10 {
        return if bytes == 1 { "1 byte".into() } else { format!("{bytes} bytes") };
    }
    let unit = (bytes.ilog2() / 10) as usize;
    let number = format!("{:.1}", bytes as f64 / (1u64 << (10 * unit)) as f64);
    format!("{} {}", number.strip_suffix(".0").unwrap_or(&number), UNITS[unit - 1])
}

/// A text for a box or its title. It stands in both however long it is in the module.
fn brief(text: impl AsRef<str>) -> String {
    shortened(text.as_ref(), 200)
}

/// How wide a box is: more for more bytes, and enough for a name that is not long.
fn width(bytes: u64, name: usize) -> f64 {
    let logarithm = |bytes: u64| ((bytes + 1) as f64).log2();
    let small = 16.0 + 20.0 * logarithm(bytes.min(LARGE));
    let large = 9.0 * (logarithm(bytes.max(LARGE)) - logarithm(LARGE));
    (small + large).max((name.min(18) as f64 * NAME) + 16.0)
}

/// A box: what it is, how wide, and what it says.
struct Cell {
    fill: Fill,
    at: Option<u64>,
    bytes: u64,
    width: f64,
    lines: [String; 3],
    title: String,
}

impl Cell {
    fn new(view: &View<'_>, piece: &Piece) -> Cell {
        match *piece {
            Piece::Padding { at, bytes } => Cell {
                fill: Fill::Padding,
                at: Some(at),
                bytes,
                width: 10.0 + 5.0 * (bytes as f64 + 1.0).log2().min(12.0),
                lines: Default::default(),
                title: format!("padding at {at:#x}: {bytes} bytes"),
            },
            Piece::Rest { id, count, at, bytes } => {
                let object = view.image.object(id);
                let name = format!("… {count} more");
                let title = format!(
                    "{count} more of {}<{}>: {bytes} bytes",
                    brief(&object.name),
                    object.count.unwrap_or(0)
                );
                let (fill, width) = (Fill::of(object), width(bytes, name.chars().count()));
                Cell {
                    fill,
                    at,
                    bytes,
                    width,
                    lines: [name, spell::declared_type(object), String::new()],
                    title,
                }
            }
            Piece::Variable { id, member, at } => Cell::of_variable(view, id, member, at),
        }
    }

    fn of_variable(view: &View<'_>, id: ObjectId, member: Option<u32>, at: Option<u64>) -> Cell {
        let object = view.image.object(id);
        let (name, ty) = (spell::name(object, member), brief(spell::declared_type(object)));
        let held = view.contents(id).map(|contents| brief(value::values(view, id, &contents)));
        let last = held.or(object.pointer.map(spell::pointer)).unwrap_or_default();
        let shown = if last.is_empty() && object.size > LARGE { size(object.size) } else { last.clone() };
        let mut title = format!("{} {ty} {}", object.space, brief(&name));
        if let Some(plain) = demangled(&object.name, true) {
            let _ = write!(title, "\n{}", brief(plain));
        }
        if let Some(function) = object.function {
            let _ = write!(title, "\nin {}", brief(&view.image.function(function).name));
        }
        let place = at.map_or("defined elsewhere".into(), |at| format!("at {at:#x}"));
        let size = if object.open { "size given elsewhere".into() } else { format!("{} bytes", object.size) };
        let _ = write!(title, "\n{place}, {size}, align {}", object.alignment);
        if let Some(address) = view.address(id, member) {
            let _ = write!(title, "\naddress {address:#x}");
        }
        if !last.is_empty() {
            let _ = write!(title, "\n{last}");
        }
        // Compilers begin the names of parameters with the function's, which is long and no news.
        let owner = object.function.map_or("", |id| &view.image.function(id).name);
        let rest = name.strip_prefix(owner).filter(|rest| !owner.is_empty() && !rest.is_empty());
        let name = brief(match rest {
            Some(rest) => rest.trim_start_matches('_').to_owned(),
            None => last_part(&name),
        });
        let width = width(object.size, name.chars().count());
        Cell { fill: Fill::of(object), at, bytes: object.size, width, lines: [name, ty, shown], title }
    }
}

/// Boxes in rows that have room for them.
fn wrapped(cells: impl Iterator<Item = Cell>) -> Vec<Vec<Cell>> {
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    let mut filled = ROOM;
    for mut cell in cells {
        cell.width = cell.width.min(ROOM);
        if filled + cell.width > ROOM || rows.is_empty() {
            rows.push(Vec::new());
            filled = 0.0;
        }
        filled += cell.width;
        if let Some(row) = rows.last_mut() {
            row.push(cell);
        }
    }
    rows
}

/// A mark below a strip.
struct Tick {
    x: f64,
    at: u64,
    /// Of padding, or of the end: its number is the first to go.
    minor: bool,
}

impl Tick {
    fn label(&self) -> String {
        format!("{:#x}", self.at)
    }

    /// Where its number ends, and another may begin.
    fn end(&self) -> f64 {
        self.x + self.label().len() as f64 * SMALL + 6.0
    }
}

/// A row of boxes, with a line above it that says whose they are, and what that line stands for.
struct Row {
    owner: Option<(String, String)>,
    cells: Vec<Cell>,
}

impl Row {
    fn height(&self) -> f64 {
        HEIGHT + TICKS + if self.owner.is_some() { OWNER } else { 0.0 }
    }
}

/// A strip: its title, a note beside it, and its rows of boxes.
struct Strip {
    title: String,
    note: String,
    rows: Vec<Row>,
}

impl Strip {
    fn width(&self) -> f64 {
        let row = |row: &Row| row.cells.iter().map(|cell| cell.width).sum::<f64>();
        let title = self.title.chars().count() as f64 * 7.6 + self.note.chars().count() as f64 * 6.2 + 12.0;
        self.rows.iter().map(row).fold(title, f64::max)
    }

    fn height(&self) -> f64 {
        TITLE + self.rows.iter().map(Row::height).sum::<f64>()
    }
}

/// The drawing, down to where it has come.
struct Map {
    svg: Svg,
    y: f64,
    /// How many boxes may still be drawn, and how many could not.
    left: usize,
    left_out: usize,
    /// The fills that occur, for the legend.
    used: [bool; FILLS.len()],
    cuts: bool,
}

impl Map {
    /// A heading, with the whole name of what it is about where the heading has another.
    fn heading(&mut self, content: &str, name: &str) {
        let (y, end) = (self.y, WIDTH - MARGIN);
        self.svg.path("line", format_args!("M{MARGIN} {y:.1}H{end}"));
        self.titled(point(MARGIN, y + 24.0), 15.0, "", content, name);
        self.y += 36.0;
    }

    /// Text with a title that has the whole name, unless the text has it.
    fn titled(&mut self, at: Point, size: f64, class: &str, content: &str, name: &str) {
        if content.contains(name) {
            return self.svg.text(at, size, class, content);
        }
        let text = self.svg.element("text").at(at).word("font-size", size).word("class", class);
        text.markup(format_args!("<title>{}</title>{}", escape(&brief(name)), escape(content)));
    }

    /// Draws regions, side by side where there is room.
    fn strips(&mut self, view: &View<'_>, regions: Vec<(String, Region)>) {
        let (mut x, mut below) = (MARGIN, 0.0);
        for (note, region) in regions {
            let Some(strip) = self.strip(view, note, &region) else { continue };
            if x > MARGIN && x + strip.width() > WIDTH - MARGIN {
                self.y += below;
                (x, below) = (MARGIN, 0.0);
            }
            self.draw_strip(x, &strip);
            x += strip.width() + GAP;
            below = f64::max(below, strip.height() + 14.0);
        }
        self.y += below;
    }

    /// The boxes of a region, as many as may still be drawn.
    fn strip(&mut self, view: &View<'_>, mut note: String, region: &Region) -> Option<Strip> {
        let mut rows: Vec<Row> = Vec::new();
        let mut last_owner = None;
        let mut left = self.left.min(STRIP);
        let listed = region.objects.len().min(left);
        let mut left_out = region.objects.len() - listed;
        for lane in region.lanes(view.image, listed) {
            let all = pieces(view.image, &lane.objects, MEMBERS);
            let drawn = all.len().min(left);
            left -= drawn;
            self.left -= drawn;
            left_out += all.len() - drawn;
            let boxes = wrapped(all[..drawn].iter().map(|piece| Cell::new(view, piece)));
            let first = rows.len();
            rows.extend(boxes.into_iter().map(|cells| Row { owner: None, cells }));
            if let (Some(owner), Some(row)) = (lane.owner, rows.get_mut(first))
                && last_owner.replace(owner) != Some(owner)
            {
                row.owner = Some(owner_words(view, owner));
            }
        }
        self.left_out += left_out;
        if left_out > 0 {
            let _ = write!(note, "; {left_out} more are not drawn");
        }
        (!rows.is_empty()).then_some(Strip { title: region.kind.title(), note, rows })
    }

    fn draw_strip(&mut self, x: f64, strip: &Strip) {
        let baseline = self.y + 13.0;
        let (title, note) = (escape(&strip.title), escape(&strip.note));
        let text =
            self.svg.element("text").at(point(x, baseline)).word("font-size", 13).word("font-weight", 600);
        text.markup(format_args!(
            "{title}<tspan dx=\"8\" font-size=\"11.5\" font-weight=\"400\" class=\"faint\">{note}</tspan>"
        ));
        let mut y = self.y + TITLE;
        for row in &strip.rows {
            if let Some((words, name)) = &row.owner {
                self.titled(point(x, y + 11.0), 11.0, "", words, name);
                y += OWNER;
            }
            let mut right = x;
            let mut ticks: Vec<Tick> = Vec::new();
            for cell in &row.cells {
                self.cell(right, y, cell);
                ticks.extend(cell.at.map(|at| Tick { x: right, at, minor: cell.fill == Fill::Padding }));
                right += cell.width;
            }
            if let Some((at, bytes)) = row.cells.last().and_then(|cell| Some((cell.at?, cell.bytes))) {
                ticks.push(Tick { x: right, at: at.saturating_add(bytes), minor: true });
            }
            self.ticks(y + HEIGHT, &ticks);
            y += HEIGHT + TICKS;
        }
    }

    fn cell(&mut self, x: f64, y: f64, cell: &Cell) {
        self.used[cell.fill as usize] = true;
        let cut = cell.bytes > LARGE && cell.fill != Fill::Padding;
        self.cuts |= cut;
        self.svg.group(&cell.title, |svg| {
            let area = Area { at: point(x, y), width: cell.width, height: HEIGHT };
            svg.rect(cell.fill.class(), area).word("rx", 2).end();
            if cut {
                svg.element("path")
                    .word("class", "cut")
                    .word("stroke-width", ".8")
                    .word("d", zigzag(x + cell.width - 18.0, y))
                    .end();
            }
            let room = cell.width - if cut { 26.0 } else { 10.0 };
            let lines =
                [(17.0, 11.5, NAME, "m"), (30.5, 9.5, SMALL, "m faint"), (42.5, 9.5, SMALL, "m faint")];
            for (line, (down, size, character, class)) in cell.lines.iter().zip(lines) {
                let fitting = shortened(line, (room / character) as usize);
                if !fitting.is_empty() {
                    svg.text(point(x + 6.0, y + down), size, class, &fitting);
                }
            }
        });
    }

    /// Marks at offsets, with their numbers where there is room: first those of variables.
    fn ticks(&mut self, y: f64, ticks: &[Tick]) {
        let mut labelled: Vec<&Tick> = Vec::new();
        for minor in [false, true] {
            for tick in ticks.iter().filter(|tick| tick.minor == minor) {
                // Only the neighbours can be in the way.
                let place = labelled.partition_point(|other| other.x < tick.x);
                let left = place.checked_sub(1).is_none_or(|left| labelled[left].end() <= tick.x);
                let right = labelled.get(place).is_none_or(|right| tick.end() <= right.x);
                if left && right {
                    labelled.insert(place, tick);
                }
            }
        }
        for tick in ticks {
            self.svg.path("line", format_args!("M{:.1} {y:.1}v5", tick.x));
        }
        for tick in labelled {
            self.svg.text(point(tick.x - 1.0, y + 14.0), 9.5, "m faint", &tick.label());
        }
    }

    /// The whole drawing, now that its height is known.
    fn finish(mut self, view: &View<'_>) -> String {
        let body = self.svg.take();
        let name = shortened(&view.files.join(" + "), 90);
        let header = &view.image.header;
        self.svg.text(point(MARGIN, 44.0), 20.0, "", &name);
        let about =
            format!("PTX {}, {}, addresses of {} bits", header.version, header.target, header.address_bits);
        self.svg.text(point(MARGIN, 64.0), 12.0, "faint", &about);
        self.legend();
        let mut height = self.y + 16.0;
        if self.left_out > 0 {
            let words = format!("{} boxes are not drawn; the tables list them all", self.left_out);
            self.svg.text(point(MARGIN, self.y + 12.0), 12.0, "faint", &words);
            height += 16.0;
        }
        self.svg.markup(body);
        self.svg.finish(Page { width: WIDTH, height, style: STYLE, definitions: DEFINITIONS })
    }

    fn legend(&mut self) {
        let (mut x, y) = (MARGIN, 90.0);
        for (fill, class, name) in FILLS {
            if !self.used[fill as usize] {
                continue;
            }
            let top = y - 10.0;
            let area = Area { at: point(x, top), width: 16.0, height: 12.0 };
            self.svg.rect(class, area).word("rx", 2).end();
            self.svg.text(point(x + 22.0, y), 11.5, "faint", name);
            x += 40.0 + 6.4 * name.len() as f64;
        }
        if self.cuts {
            self.svg.path("line", format_args!("M{x:.1} {:.1}l4 3l-4 3l4 3l-4 3", y - 10.0));
            let words = format!("more than {LARGE} bytes: cut short");
            self.svg.text(point(x + 12.0, y), 11.5, "faint", &words);
        }
    }
}

/// The path of a cut through a box.
fn zigzag(x: f64, y: f64) -> String {
    let step = HEIGHT / 6.0;
    let (mut down, mut up) = (String::new(), String::new());
    for tooth in 0..6 {
        let side = if tooth % 2 == 0 { 4.0 } else { -4.0 };
        let _ = write!(down, "l{side} {step}");
        let _ = write!(up, "l{side} -{step}");
    }
    format!("M{x:.1} {y:.1}{down}h5{up}z")
}
