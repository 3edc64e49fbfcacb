//! From linked modules to an image: an object for every variable, a function for every function, and a place
//! for each in its state space.

use crate::contents::Contents;
use crate::image::{
    BANK_BYTES, BANKS, Extent, Function, FunctionId, Image, Kind, Object, ObjectId, Relocation, Target,
    UnitNames,
};
use crate::link::Linked;
use crate::place::{Cursor, RedZones};
use crate::window::Windows;
use crate::{Unit, call_graph, codes};
use softwarp_check::checked::{self, Addressee, FuncId, VarId, Variable, VariableKind};
use softwarp_isa::{StateSpace, Target as Arch};
use softwarp_syntax::tree::Linkage;
use softwarp_syntax::{Diagnostic, Location};

/// What the assembler aligns an array without a size to, at least.
const OPEN_ALIGNMENT: u64 = 16;

/// Builds the image.
pub fn build(units: &[Unit<'_>], linked: &Linked, red_zones: bool) -> Result<Image, Vec<Diagnostic>> {
    let names = number(units, linked);
    let mut builder = Builder { units, linked, names, red_zones, findings: Vec::new() };
    let mut objects = builder.objects();
    let functions = builder.functions();
    let Some(first) = units.first() else { return Err(Vec::new()) };
    let statics = builder.place(&mut objects);
    if !linked.relocatable {
        apply_offsets(&mut objects);
    }
    let mut image = Image {
        header: first.checked.header,
        windows: Windows::for_target(first.checked.header.address_bits, first.checked.header.arch),
        objects,
        functions,
        global: statics.global.extent(),
        constant: statics.constant.map(|bank| bank.extent()),
        thread: statics.thread.extent(),
        texture: statics.texture.extent(),
        warnings: Vec::new(),
        red_zones,
        names: builder.names,
    };
    let mut findings = builder.findings;
    place_functions(&mut image, &mut findings);
    call_graph::resolve(units, linked, &mut image, &mut findings);
    if findings.is_empty() { Ok(image) } else { Err(findings) }
}

/// Gives every variable and function that defines itself a number, and every other one its definition's.
fn number(units: &[Unit<'_>], linked: &Linked) -> Vec<UnitNames> {
    let (mut objects, mut functions) = (0, 0);
    let next = |counter: &mut u32| std::mem::replace(counter, *counter + 1);
    let mut names: Vec<UnitNames> = Vec::with_capacity(units.len());
    for unit in 0..units.len() {
        let own = |&(owner, _): &(u32, u32)| owner as usize == unit;
        let at = |index: usize, home: &(u32, u32)| own(home) && home.1 as usize == index;
        let variables = linked.variables[unit].iter().enumerate();
        let objects = variables
            .map(|(index, home)| ObjectId(if at(index, home) { next(&mut objects) } else { u32::MAX }));
        let objects = objects.collect();
        let all = linked.functions[unit].iter().enumerate();
        let functions = all
            .map(|(index, home)| FunctionId(if at(index, home) { next(&mut functions) } else { u32::MAX }));
        names.push(UnitNames { objects, functions: functions.collect() });
    }
    for unit in 0..units.len() {
        for (index, &(owner, variable)) in linked.variables[unit].iter().enumerate() {
            names[unit].objects[index] = names[owner as usize].objects[variable as usize];
        }
        for (index, &(owner, function)) in linked.functions[unit].iter().enumerate() {
            names[unit].functions[index] = names[owner as usize].functions[function as usize];
        }
    }
    names
}

/// Memory that exists once.
#[derive(Default)]
struct Statics {
    global: Cursor,
    constant: [Cursor; BANKS],
    thread: Cursor,
    texture: Cursor,
}

struct Builder<'a> {
    units: &'a [Unit<'a>],
    linked: &'a Linked,
    names: Vec<UnitNames>,
    red_zones: bool,
    findings: Vec<Diagnostic>,
}

impl Builder<'_> {
    /// The objects, in the order of their numbers.
    fn objects(&mut self) -> Vec<Object> {
        let mut objects = Vec::new();
        for (unit, of) in self.units.iter().enumerate() {
            for (index, variable) in of.checked.variables.iter().enumerate() {
                if self.linked.variables[unit][index] == (unit as u32, index as u32) {
                    objects.push(self.object(unit as u32, VarId(index as u32), variable));
                }
            }
        }
        objects
    }

    fn object(&mut self, unit: u32, id: VarId, variable: &Variable) -> Object {
        let module = self.units[unit as usize].module;
        let size = variable.size().unwrap_or_else(|| {
            let name = module.name(variable.name);
            let message = format!("`{name}` has 2^63 bytes or more, which no memory has");
            let location = Location { unit, span: variable.span };
            self.findings.push(Diagnostic::at(location, codes::TOO_LARGE, message));
            0
        });
        let given = variable.initialiser.as_deref().filter(|_| variable.opaque().is_none());
        let contents = given.map(|given| Contents::new(size, &given.runs));
        let relocations = given.map_or(Vec::new(), |given| {
            given.addresses.iter().map(|address| self.relocation(unit, address)).collect()
        });
        let fields = variable.initialiser.as_deref().map_or(Vec::new(), |given| given.fields.clone());
        Object {
            name: module.name(variable.name).into(),
            unit,
            span: variable.span,
            space: variable.space,
            bank: variable.bank.unwrap_or(0),
            ty: variable.ty,
            vector: variable.vector,
            element: variable.element_bytes(),
            dimensions: variable.dimensions.clone(),
            open: variable.open,
            alignment: variable.alignment.max(self.linked.alignment(unit, id)).max(if variable.open {
                OPEN_ALIGNMENT
            } else {
                1
            }),
            size,
            count: variable.count,
            offset: None,
            contents,
            relocations,
            fields,
            linkage: variable.linkage,
            attributes: variable.attributes.clone(),
            pointer: variable.pointer,
            kind: variable.kind,
            function: variable.function.map(|id| self.names[unit as usize].functions[id.0 as usize]),
        }
    }

    fn relocation(&self, unit: u32, address: &checked::Address) -> Relocation {
        let of = self.units[unit as usize].checked;
        let names = &self.names[unit as usize];
        let (target, kind) = match address.of {
            Addressee::Function(id) => (Target::Function(names.functions[id.0 as usize]), Kind::Function),
            Addressee::Variable(id, member) => {
                // Before PTX 3.1 the plain name of a `.global` variable was its generic address, since then it is
                // the one in its own space (section 5.4.4): the same number.
                let generic = address.generic || of.variable(id).space != StateSpace::Const;
                let target = Target::Object(names.objects[id.0 as usize], member);
                (target, if generic { Kind::Generic } else { Kind::Offset })
            }
        };
        Relocation {
            offset: address.at,
            width: address.size,
            target,
            addend: address.offset,
            kind,
            byte: address.mask.map(|mask| (mask.trailing_zeros() / 8) as u8),
            applied: false,
        }
    }

    /// The functions, in the order of their numbers. Their memory is placed later.
    fn functions(&self) -> Vec<Function> {
        let mut functions = Vec::new();
        for (unit, of) in self.units.iter().enumerate() {
            let names = &self.names[unit];
            let objects = |ids: &[VarId]| ids.iter().map(|id| names.objects[id.0 as usize]).collect();
            for (index, function) in of.checked.functions.iter().enumerate() {
                if self.linked.functions[unit][index] != (unit as u32, index as u32) {
                    continue;
                }
                let mut calls: Vec<FunctionId> =
                    function.calls.iter().map(|id| names.functions[id.0 as usize]).collect();
                calls.sort_unstable();
                calls.dedup();
                functions.push(Function {
                    name: of.module.name(function.name).into(),
                    unit: unit as u32,
                    id: FuncId(index as u32),
                    span: function.span,
                    entry: function.entry,
                    defined: function.defined,
                    linkage: function.linkage,
                    attributes: function.attributes.clone(),
                    parameters: objects(&function.parameters),
                    parameter_extent: Extent::default(),
                    returns: objects(&function.returns),
                    return_extent: Extent::default(),
                    locals: objects(&function.locals),
                    frame: Extent::default(),
                    arguments: Extent::default(),
                    calls,
                    stack: 0,
                    recursion: 0,
                    recursive: false,
                    indirect: function.calls_indirectly,
                    shared: Extent::default(),
                    dynamic_shared: None,
                    shared_zones: 0,
                    shared_objects: Some(Vec::new()),
                });
            }
        }
        functions
    }

    /// Places what exists once: `.global`, `.const`, `.tex`, and `.local` at module scope. Where the order of the
    /// text leaves gaps so large that constants do not fit their bank, the strictest alignments come first.
    fn place(&mut self, objects: &mut [Object]) -> Statics {
        if self.red_zones {
            // Where constants do not fit their bank with red zones, they have none.
            for zones in [RedZones::between(16, 256), RedZones::NONE] {
                let (statics, findings) = self.place_in_order(objects.iter_mut(), Some(zones));
                if findings.is_empty() {
                    return statics;
                }
            }
        }
        let (statics, findings) = self.place_in_order(objects.iter_mut(), None);
        if !findings.iter().any(|finding| finding.code == codes::BANK_FULL) {
            self.findings.extend(findings);
            return statics;
        }
        let mut sorted: Vec<&mut Object> = objects.iter_mut().collect();
        let constant = |object: &Object| object.space == StateSpace::Const;
        sorted.sort_by_key(|object| std::cmp::Reverse(if constant(object) { object.alignment } else { 0 }));
        let (statics, findings) = self.place_in_order(sorted.into_iter(), None);
        self.findings.extend(findings);
        statics
    }

    /// Places them in an order, with red zones of this size between constants and others between other variables.
    fn place_in_order<'o>(
        &self,
        objects: impl Iterator<Item = &'o mut Object>,
        zones: Option<RedZones>,
    ) -> (Statics, Vec<Diagnostic>) {
        let mut statics = Statics::default();
        if let Some(zones) = zones {
            statics.global = statics.global.with(RedZones::between(256, 1 << 20));
            statics.thread = statics.thread.with(RedZones::between(16, 4096));
            statics.constant = statics.constant.map(|bank| bank.with(zones));
        }
        let mut findings = Vec::new();
        for object in objects {
            let (cursor, room) = match object.space {
                _ if object.linkage == Some(Linkage::Extern) && self.linked.is_elsewhere(object) => continue,
                StateSpace::Global => (&mut statics.global, u64::MAX),
                StateSpace::Tex => (&mut statics.texture, u64::MAX),
                StateSpace::Const => {
                    let Some(bank) = statics.constant.get_mut(usize::from(object.bank)) else { continue };
                    (bank, BANK_BYTES)
                }
                StateSpace::Local if object.kind == VariableKind::Module => (&mut statics.thread, u64::MAX),
                _ => continue,
            };
            // Arrays that the driver provides begin where their bank does, all of them.
            if object.space == StateSpace::Const && object.open {
                object.offset = Some(0);
                continue;
            }
            let before = cursor.extent().bytes;
            let fits = cursor.put(object).is_ok();
            let end = cursor.extent().bytes;
            if !fits || end > room && before <= room {
                findings.push(too_much(object, end));
            }
        }
        (statics, findings)
    }
}

/// Puts the offsets of constants into the bytes of a whole program: nothing will move them any more.
fn apply_offsets(objects: &mut [Object]) {
    let address = |object: &Object| Some(object.offset? + u64::from(object.bank) * BANK_BYTES);
    let addresses: Vec<Option<u64>> = objects.iter().map(address).collect();
    let strides: Vec<u64> = objects.iter().map(Object::stride).collect();
    for object in objects {
        let Some(contents) = &mut object.contents else { continue };
        for relocation in object.relocations.iter_mut().filter(|relocation| relocation.kind == Kind::Offset) {
            let Target::Object(id, member) = relocation.target else { continue };
            let Some(address) = addresses[id.0 as usize] else { continue };
            let member = strides[id.0 as usize].wrapping_mul(u64::from(member.unwrap_or(0)));
            let value = address.wrapping_add(member).wrapping_add_signed(relocation.addend);
            relocation.put(value, contents);
            relocation.applied = true;
        }
    }
}

/// The diagnostic that a state space is full.
fn too_much(object: &Object, end: u64) -> Diagnostic {
    let (name, space) = (&object.name, object.space);
    let (code, message) = match space {
        StateSpace::Const => (
            codes::BANK_FULL,
            format!(
                "`{name}` ends {end} bytes into bank {} of `.const`, where the next begins at {BANK_BYTES}",
                object.bank
            ),
        ),
        _ => (codes::TOO_LARGE, format!("with `{name}`, `{space}` has 2^63 bytes or more")),
    };
    Diagnostic::at(Location { unit: object.unit, span: object.span }, code, message)
}

/// Places what belongs to functions, except `.shared`: parameters, return values, frames and arguments.
fn place_functions(image: &mut Image, findings: &mut Vec<Diagnostic>) {
    let arch = image.header.arch;
    let frames = image.red_zones.then_some(RedZones::between(16, 4096));
    for function in &mut image.functions {
        let mut put = |ids: &[ObjectId], space: StateSpace, origin: u64| {
            let mut cursor = Cursor::starting_at(origin);
            let any = || ids.iter().any(|id| image.objects[id.0 as usize].space == space);
            if let Some(zones) = frames.filter(|_| space == StateSpace::Local)
                && any()
            {
                // The frame of a callee lies below.
                cursor = cursor.with(zones);
                cursor.lead();
            }
            for id in ids {
                let object = &mut image.objects[id.0 as usize];
                if object.space == space && cursor.put(object).is_err() {
                    findings.push(too_much(object, u64::MAX));
                }
            }
            cursor.extent()
        };
        function.parameter_extent = put(&function.parameters, StateSpace::Param, 0);
        if function.entry && counts_from_bank(arch, function.parameter_extent.bytes) {
            function.parameter_extent =
                put(&function.parameters, StateSpace::Param, arch.properties().parameter_start);
        }
        function.return_extent = put(&function.returns, StateSpace::Param, 0);
        function.arguments = put(&function.locals, StateSpace::Param, 0);
        function.frame = put(&function.locals, StateSpace::Local, 0);
    }
}

/// Whether the alignment of a kernel's parameters is that of their places in the constant bank which they are
/// passed in, so that the first need not have offset 0; else it counts from the first. So the assembler does on
/// these targets, up to the bytes that all of them have for parameters.
fn counts_from_bank(arch: Arch, bytes: u64) -> bool {
    const ALWAYS: u64 = 4352;
    arch.sm() == 90 || arch.sm() < 90 && bytes <= ALWAYS
}
