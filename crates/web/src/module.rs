//! Modules: where variables are, the operations of kernels, and their parameters.

use crate::request::{Answer, Failure, read, shown};
use crate::text::{positions, range, refusal};
use serde::Deserialize;
use serde_json::{Value as Json, json};
use softwarp::check::{Options, resolve_references};
use softwarp::demangle::demangled;
use softwarp::image::{self, FunctionId, Image, Object, Unit, Windows, lay_out};
use softwarp::lower::{Lowering, lower};
use softwarp::source::{CheckedSource, Source};
use softwarp::syntax::tree::{Function, Instruction, Item, Operand, OperandKind, Statement, Symbol};
use softwarp::syntax::{Module, Severity};
use softwarp::vm::tuning::Tuning;
use softwarp_listing::layout::{View, json as layout_json, spell, svg as layout_svg};
use softwarp_listing::lowered::kernel_json;
use std::collections::{BTreeSet, HashMap};

#[derive(Deserialize)]
struct Asked {
    text: String,
    kernel: Option<String>,
    #[serde(default)]
    bases: bool,
}

/// A module without errors, laid out.
struct Laid {
    source: Source,
    tree: CheckedSource,
    image: Image,
}

fn laid(text: &str) -> Result<Laid, Failure> {
    let source = Source::new("module.ptx", text.as_bytes().to_vec());
    let tree = source.check(Options::default());
    if tree.diagnostics.iter().any(|one| one.severity() == Severity::Error) {
        return Err(refusal(text, &tree.diagnostics));
    }
    let unit = Unit { module: &tree.module, checked: &tree.checked };
    let image = lay_out(&[unit], image::Options { relocatable: false, red_zones: false });
    let image = image.map_err(|found| refusal(text, &found))?;
    Ok(Laid { source, tree, image })
}

/// Answers `layout`.
pub fn layout(request: &Json) -> Answer {
    let asked: Asked = read(request)?;
    let Laid { image, .. } = laid(&asked.text)?;
    let windows = asked.bases.then(|| Windows::for_target(image.header.address_bits, image.header.arch));
    let view = View { image: &image, files: &["module.ptx"], windows: windows.as_ref() };
    let mut bytes = Vec::new();
    layout_json::write(&view, &mut bytes).map_err(|error| Failure::new(error.to_string()))?;
    let layout: Json = serde_json::from_slice(&bytes).map_err(|error| Failure::new(error.to_string()))?;
    Ok(json!({"layout": layout, "svg": layout_svg::draw(&view)}))
}

/// The kernels of an image.
fn entries(image: &Image) -> impl Iterator<Item = (FunctionId, &image::Function)> {
    (0..).map(FunctionId).zip(&image.functions).filter(|(_, one)| one.entry && one.defined)
}

/// Answers `lower`.
pub fn lowered(request: &Json) -> Answer {
    let asked: Asked = read(request)?;
    let Laid { source, tree, image } = laid(&asked.text)?;
    let (checked, references, _) = resolve_references(&tree.module, &source.text, Options::default());
    let unit =
        Lowering { module: &tree.module, source: &source.text, checked: &checked, references: &references };
    let text = positions(&asked.text);
    let mut kernels = Vec::new();
    for (id, function) in entries(&image) {
        if asked.kernel.as_deref().is_some_and(|name| name != &*function.name) {
            continue;
        }
        let lowered = lower(&[unit], &image, id, softwarp::lower::Options::default());
        let sources = std::slice::from_ref(&source);
        let mut kernel = kernel_json(sources, &image, &function.name, &lowered);
        match &lowered {
            Ok(program) => {
                let rows = kernel["functions"].as_array_mut().into_iter().flatten();
                for (row, function) in rows.zip(&program.functions) {
                    let mut head = String::new();
                    let _ = function.print_head(&mut head);
                    row["head"] = head.lines().collect::<Vec<_>>().into();
                    // Lines count from 0 here.
                    for operation in row["operations"].as_array_mut().into_iter().flatten() {
                        operation["line"] =
                            operation["line"].as_u64().map(|line| line.saturating_sub(1)).into();
                    }
                }
            }
            Err(unsupported) => {
                let one = |one: &softwarp::lower::Unsupported| json!({"range": range(&text, one.span), "message": one.what});
                kernel["unsupported"] = unsupported.iter().map(one).collect();
            }
        }
        kernels.push(kernel);
    }
    if kernels.is_empty() {
        return Err(match &asked.kernel {
            Some(name) => Failure::new(format!("there is no kernel `{}`", shown(name))),
            None => Failure::new("the module has no kernel"),
        });
    }
    Ok(json!({ "kernels": kernels }))
}

/// Answers `kernels`.
pub fn kernels(request: &Json) -> Answer {
    let asked: Asked = read(request)?;
    let Laid { tree, image, .. } = laid(&asked.text)?;
    let text = positions(&asked.text);
    let mut kernels = Vec::new();
    for (_, function) in entries(&image) {
        let item = tree.checked.function(function.id).item;
        let Some(Item::Function(body)) = tree.module.items.get(item as usize) else { continue };
        let uses = Pointers::of(&tree.module, body);
        let tuning = Tuning::of(&tree.module, body);
        let parameters = function.parameters.iter().map(|id| parameter(image.object(*id), &uses));
        kernels.push(json!({
            "name": &*function.name,
            "demangled": demangled(&function.name, true),
            "range": range(&text, function.span),
            "parameters": parameters.collect::<Vec<_>>(),
            "requiredBlock": tuning.block,
            "maxThreads": tuning.most_threads,
            "staticShared": function.shared.bytes,
            "dynamicShared": function.dynamic_shared.is_some(),
        }));
    }
    Ok(kernels.into())
}

fn parameter(object: &Object, uses: &Pointers) -> Json {
    let found = uses.found.get(&*object.name);
    json!({
        "name": &*object.name,
        "type": spell::declared_type(object).replace([' ', '.'], ""),
        "bytes": object.size,
        "align": object.alignment,
        "pointer": object.pointer.is_some() || found.is_some(),
        "element": found.and_then(Option::as_deref),
    })
}

/// Parameters through which a kernel accesses memory, as far as a look at its registers shows, with the type that it accesses
/// first.
#[derive(Default)]
struct Pointers {
    found: HashMap<String, Option<String>>,
    /// Which parameters a register may come from.
    from: HashMap<Symbol, BTreeSet<String>>,
}

impl Pointers {
    fn of(module: &Module, function: &Function) -> Pointers {
        let mut pointers = Pointers::default();
        let statements = function.body.as_ref().map_or(&[][..], |body| &body.statements);
        // A loop may use a register above the line that writes it.
        for _ in 0..2 {
            for statement in statements {
                if let Statement::Instruction(instruction) = statement {
                    pointers.instruction(module, instruction);
                }
            }
        }
        pointers
    }

    fn instruction(&mut self, module: &Module, instruction: &Instruction) {
        let mnemonic = module.mnemonic(instruction.mnemonic);
        let opcode = module.name(mnemonic.opcode);
        let words: Vec<&str> = mnemonic.modifiers.iter().map(|word| module.name(*word)).collect();
        let operands = instruction.operands.of(&module.operands);
        let is_parameter = words.first().is_some_and(|word| word.starts_with("param"));
        match opcode {
            "ld" if is_parameter => {
                let [to, address, ..] = operands else { return };
                let Some(base) = base(module, address) else { return };
                let name = module.name(base).to_owned();
                for register in registers(module, to) {
                    self.from.entry(register).or_default().insert(name.clone());
                }
            }
            "mov" | "cvta" | "add" | "sub" | "mad" | "selp" => {
                let [to, sources @ ..] = operands else { return };
                // Of a product and a sum, the address is the summand.
                let sources = if opcode == "mad" { sources.get(2..).unwrap_or_default() } else { sources };
                let all: BTreeSet<String> = sources
                    .iter()
                    .flat_map(|source| registers(module, source))
                    .filter_map(|register| self.from.get(&register))
                    .flatten()
                    .cloned()
                    .collect();
                for register in registers(module, to) {
                    self.from.entry(register).or_default().extend(all.iter().cloned());
                }
            }
            _ => {
                let element =
                    words.last().copied().filter(|word| softwarp_report::names::find(word).is_some());
                let addresses =
                    operands.iter().filter(|operand| matches!(operand.kind, OperandKind::Address(_)));
                for register in addresses.filter_map(|address| base(module, address)) {
                    for name in self.from.get(&register).into_iter().flatten() {
                        let known = self.found.entry(name.clone()).or_default();
                        *known = known.take().or_else(|| element.map(str::to_owned));
                    }
                }
            }
        }
    }
}

/// The register or name that an address begins with.
fn base(module: &Module, operand: &Operand) -> Option<Symbol> {
    match operand.kind {
        OperandKind::Name(symbol) => Some(symbol),
        OperandKind::Address(parts) | OperandKind::Offset(parts, _) => {
            base(module, parts.of(&module.operands).first()?)
        }
        _ => None,
    }
}

/// The names in an operand.
fn registers(module: &Module, operand: &Operand) -> Vec<Symbol> {
    match operand.kind {
        OperandKind::Name(symbol) => vec![symbol],
        kind => {
            let parts = kind.parts().map_or(&[][..], |parts| parts.of(&module.operands));
            parts.iter().flat_map(|part| registers(module, part)).collect()
        }
    }
}
