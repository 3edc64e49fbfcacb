//! Completion: opcodes, modifiers that are legal at that point, names in scope, targets; and signature help.

use crate::analysis::{Analysis, Document};
use crate::hover::special_meaning;
use crate::protocol::{
    CompletionItem, CompletionItemKind, CompletionItemLabelDetails, CompletionItemTag, CompletionParams,
    InsertTextFormat, LabelPart, Markdown, ParameterInformation, SignatureHelp, SignatureHelpParams,
    SignatureInformation, TextEdit,
};
use crate::words;
use crate::world::{Answer, World};
use softwarp_check::checked::{FuncId, Variable};
use softwarp_isa::instruction::{InstructionForm, Kind, Opcode, Value, Wanted, next_words, opcodes, resolve};
use softwarp_isa::{SpecialRegister, StateSpace, Target, Type, Version, manual};
use softwarp_syntax::cursor::{Cursor, Mnemonic, Writing, cursor};
use softwarp_syntax::{Span, tokens};
use std::collections::BTreeSet;

/// The words of declarations.
const SPACES: &[&str] = &["reg", "local", "shared", "param", "global", "const"];
/// What may stand at module scope.
const MODULE_WORDS: &[(&str, &str)] = &[
    ("version", "the PTX version of the module"),
    ("target", "the GPU that it is for"),
    ("address_size", "the bits of an address"),
    ("visible", "can be used by other modules"),
    ("extern", "defined in another module"),
    ("weak", "can be defined several times"),
    ("common", "can be declared several times"),
    ("entry", "a kernel"),
    ("func", "a function"),
    ("global", "a variable in global memory"),
    ("const", "a variable in constant memory"),
    ("shared", "a variable in shared memory"),
    ("file", "a file that the PTX was made from"),
    ("alias", "another name of a function"),
    ("pragma", "a hint to the assembler"),
    ("section", "debugging data"),
];
/// What may stand in a body.
const BODY_WORDS: &[(&str, &str)] = &[
    ("reg", "declares registers"),
    ("local", "a variable of the thread"),
    ("shared", "a variable of the CTA"),
    ("param", "an argument or return value of a call"),
    ("loc", "the source line of what follows"),
    ("pragma", "a hint to the assembler"),
    ("branchtargets", "the labels of a `brx.idx`"),
    ("calltargets", "the functions of an indirect call"),
    ("callprototype", "the parameters of an indirect call"),
];
/// What tunes a function.
const TUNING: &[(&str, &str)] = &[
    ("maxntid", "the most threads of a CTA"),
    ("reqntid", "the number of threads of a CTA"),
    ("minnctapersm", "the least CTAs on a multiprocessor"),
    ("maxnreg", "the most registers of a thread"),
    ("noreturn", "the function does not return"),
    ("explicitcluster", "launched with clusters"),
    ("reqnctapercluster", "the size of the cluster"),
    ("maxclusterrank", "the most CTAs of a cluster"),
];

/// Completes what is being written.
pub fn complete(world: &World, params: CompletionParams) -> Answer<Option<Vec<CompletionItem>>> {
    let (document, byte) = world.place(&params.at)?;
    let cursor = cursor(document.source(), byte);
    let completer = Completer { document, byte, snippets: world.snippets, prefix: cursor.prefix };
    let items = completer.items(&cursor);
    Ok((!items.is_empty()).then_some(items))
}

struct Completer<'d> {
    document: &'d Document,
    byte: u32,
    snippets: bool,
    prefix: Span,
}

impl Completer<'_> {
    fn items(&self, cursor: &Cursor<'_>) -> Vec<CompletionItem> {
        match &cursor.writing {
            Writing::Opcode => self.opcodes(),
            Writing::Modifier(mnemonic) => self.modifiers(mnemonic),
            Writing::Directive { before, in_body } => self.directives(before, *in_body),
            Writing::Operand { mnemonic, index, in_address } => self.operands(mnemonic, *index, *in_address),
            Writing::Guard => self.registers(&|ty| ty == Type::Pred),
            Writing::Component(of) => self.components(of),
            Writing::Target => self.targets(),
            Writing::Version => {
                let versions: Vec<Version> = Version::all().collect();
                versions
                    .iter()
                    .rev()
                    .map(|version| self.word(&version.to_string(), CompletionItemKind::Value, ""))
                    .collect()
            }
            Writing::AddressSize => {
                ["64", "32"].iter().map(|size| self.word(size, CompletionItemKind::Value, "bits")).collect()
            }
            Writing::Nothing => Vec::new(),
        }
    }

    fn analysis(&self) -> &Analysis {
        self.document.analysis()
    }

    fn level(&self) -> (Version, Target) {
        let header = &self.analysis().checked.header;
        (header.version, header.target)
    }

    /// A word that takes the place of the one that is being written.
    fn word(&self, word: &str, kind: CompletionItemKind, detail: &str) -> CompletionItem {
        CompletionItem {
            label: word.to_owned(),
            label_details: None,
            kind,
            tags: None,
            detail: (!detail.is_empty()).then(|| detail.to_owned()),
            sort_text: None,
            insert_text_format: None,
            text_edit: TextEdit { range: self.document.text.range(self.prefix), new_text: word.to_owned() },
        }
    }

    fn opcodes(&self) -> Vec<CompletionItem> {
        let (version, target) = self.level();
        let all = opcodes().filter_map(Opcode::from_name);
        all.map(|opcode| {
            let next = next_words(opcode.name(), &[], version, target);
            let exists = next.complete || next.words.iter().any(|next| next.available);
            CompletionItem {
                sort_text: Some(format!("{}{}", if exists { "0" } else { "9" }, opcode.name())),
                tags: (!exists).then(|| vec![CompletionItemTag::Deprecated]),
                ..self.word(opcode.name(), CompletionItemKind::Keyword, manual::summary(opcode))
            }
        })
        .collect()
    }

    fn modifiers(&self, mnemonic: &Mnemonic<'_>) -> Vec<CompletionItem> {
        let (version, target) = self.level();
        let next = next_words(mnemonic.opcode, &mnemonic.words, version, target);
        let items = (0..).zip(next.words.iter().filter(|next| next.available));
        let items = items.map(|(number, next): (u32, _)| {
            let name = next.word.name();
            let words: Vec<&str> = mnemonic.words.iter().copied().chain([name]).collect();
            let form = resolve(mnemonic.opcode, &words).ok();
            let signature =
                form.as_ref().and_then(|form| Some(words::syntax(form, form.signatures.first()?)));
            let meaning = words::meaning(next.word).unwrap_or_default();
            CompletionItem {
                sort_text: Some(format!("{number:04}")),
                label_details: signature.map(|description| CompletionItemLabelDetails { description }),
                ..self.word(name, CompletionItemKind::EnumMember, meaning)
            }
        });
        items.collect()
    }

    fn directives(&self, before: &[&str], in_body: bool) -> Vec<CompletionItem> {
        let keyword = |(word, detail): &(&str, &str)| self.word(word, CompletionItemKind::Keyword, detail);
        let is_function = before.iter().any(|word| matches!(*word, ".entry" | ".func"));
        let in_parameters = is_function
            && before.iter().filter(|word| **word == "(").count()
                > before.iter().filter(|word| **word == ")").count();
        let declares =
            before.iter().any(|word| SPACES.iter().any(|space| word.strip_prefix('.') == Some(space)));
        match () {
            () if is_function && in_parameters && !declares => {
                vec![keyword(&("param", "a parameter")), keyword(&("reg", "a register"))]
            }
            () if is_function && !in_parameters => TUNING.iter().map(keyword).collect(),
            () if declares => self.types(before),
            () if in_body => BODY_WORDS.iter().map(keyword).collect(),
            () => MODULE_WORDS.iter().map(keyword).collect(),
        }
    }

    /// Types and what stands before them in declarations.
    fn types(&self, before: &[&str]) -> Vec<CompletionItem> {
        let in_register = before.contains(&".reg");
        let types = Type::ALL.iter().filter(|ty| ty.is_fundamental() && (in_register || **ty != Type::Pred));
        let mut items: Vec<CompletionItem> = types
            .map(|ty| self.word(ty.name(), CompletionItemKind::TypeParameter, &format!("{} bits", ty.bits())))
            .collect();
        let others = ["align", "v2", "v4", "ptr"];
        items.extend(
            others
                .iter()
                .filter(|_| !in_register)
                .map(|word| self.word(word, CompletionItemKind::Keyword, "")),
        );
        items
    }

    fn components(&self, of: &str) -> Vec<CompletionItem> {
        let has_four = SpecialRegister::from_name(of).is_some_and(|register| register.components == 4);
        let names: &[&str] = if has_four { &["x", "y", "z"] } else { &[] };
        names.iter().map(|name| self.word(name, CompletionItemKind::Field, "")).collect()
    }

    fn targets(&self) -> Vec<CompletionItem> {
        let mut all: Vec<Target> = Target::all().collect();
        all.sort_by_key(|target| std::cmp::Reverse(target.sm()));
        let (version, _) = self.level();
        let items = (0..).zip(all).map(|(number, target): (u32, Target)| CompletionItem {
            sort_text: Some(format!("{}{number:04}", if target.exists_in(version) { 0 } else { 9 })),
            ..self.word(
                target.name(),
                CompletionItemKind::EnumMember,
                &format!("since PTX {}", target.introduced()),
            )
        });
        let modes = ["texmode_unified", "texmode_independent", "debug", "map_f64_to_f32"];
        let modes = modes.iter().map(|mode| self.word(mode, CompletionItemKind::Keyword, ""));
        items.collect::<Vec<_>>().into_iter().chain(modes).collect()
    }

    fn operands(&self, mnemonic: &Mnemonic<'_>, index: usize, in_address: bool) -> Vec<CompletionItem> {
        let form = resolve(mnemonic.opcode, &mnemonic.words).ok();
        let wanted: Vec<&Wanted> = form
            .iter()
            .flat_map(|form| &form.signatures)
            .filter_map(|signature| signature.operands.get(index))
            .collect();
        if mnemonic.opcode == "call" {
            return self.functions();
        }
        if form.is_some() && wanted.is_empty() {
            return Vec::new();
        }
        if wanted.iter().any(|wanted| matches!(wanted.kind, Kind::Label)) {
            return self.labels();
        }
        let values: Vec<Value> = wanted.iter().flat_map(|wanted| values(&wanted.kind)).collect();
        let bits = self.analysis().checked.header.address_bits;
        let fits = |ty: Type| match () {
            () if in_address => ty.bits() == bits && ty != Type::Pred && !matches!(ty, Type::F64 | Type::F32),
            () => values.is_empty() || values.iter().any(|value| value.accepts(ty)),
        };
        let is_address = wanted.iter().any(|wanted| {
            !matches!(wanted.kind, Kind::Value(_) | Kind::Vector { .. } | Kind::Pair(..) | Kind::Immediate(_))
        });
        let mut items = Vec::new();
        if !is_address || in_address {
            items.extend(self.registers(&fits));
        }
        if in_address {
            items.extend(self.variables(form.as_deref()));
        }
        if values.iter().any(|value| value.forms.address) && !in_address {
            items.extend(self.variables(None));
        }
        let special = values.iter().find(|value| value.forms.special);
        if let (Some(value), false) = (special, in_address) {
            items.extend(self.special_registers(value.ty));
        }
        if is_address && !in_address {
            items.extend(wanted.first().map(|wanted| self.address(wanted)));
        }
        items
    }

    /// The brackets of an address.
    fn address(&self, wanted: &Wanted) -> CompletionItem {
        let word = wanted.in_words();
        let item = self.word(&word, CompletionItemKind::Snippet, &words::operand(wanted));
        match self.snippets {
            false => item,
            true => CompletionItem {
                insert_text_format: Some(InsertTextFormat::Snippet),
                text_edit: TextEdit {
                    range: self.document.text.range(self.prefix),
                    new_text: "[$0]".to_owned(),
                },
                ..item
            },
        }
    }

    /// The variables that can be named at the cursor: those of the function and of the module.
    fn in_scope(&self) -> impl Iterator<Item = &Variable> {
        let analysis = self.analysis();
        let inside = analysis.function_at(self.byte).map(|(item, _)| item);
        let function = inside
            .and_then(|item| analysis.checked.functions.iter().position(|function| function.item == item));
        let function = function.map(|function| FuncId(function as u32));
        let variables = analysis.checked.variables.iter();
        variables.filter(move |variable| variable.function.is_none() || variable.function == function)
    }

    /// The text of the function that the cursor is in, or all of it.
    fn function_text(&self) -> (Span, &str) {
        let source = self.document.source();
        let function = self.analysis().function_at(self.byte);
        let span = function.map_or(Span::new(0, source.len() as u32), |(_, function)| function.span);
        (span, span.text(source))
    }

    /// The words of the function that the cursor is in, but for the one that is being written. They are found by tokens,
    /// since an instruction that is not finished is not in the tree.
    fn words(&self) -> BTreeSet<&str> {
        let (span, text) = self.function_text();
        let words =
            tokens(text).filter(|word| word.end + span.start != self.byte).map(|word| word.text(text));
        words.filter(|word| word.ends_with(|last: char| last.is_ascii_digit())).collect()
    }

    /// Registers of types that fit: those that are used, and of each family the first that is not.
    fn registers(&self, fits: &dyn Fn(Type) -> bool) -> Vec<CompletionItem> {
        let analysis = self.analysis();
        let mut items = Vec::new();
        let words = self.words();
        for variable in self.in_scope() {
            let Some(ty) = variable.value_type().filter(|_| variable.space == StateSpace::Reg) else {
                continue;
            };
            if !fits(ty) {
                continue;
            }
            let name = analysis.name(variable.name);
            let detail = variable.described().trim_matches('`').to_owned();
            let Some(count) = variable.count else {
                items.push(self.word(name, CompletionItemKind::Variable, &detail));
                continue;
            };
            let numbers = words.iter().filter_map(|word| word.strip_prefix(name)?.parse::<u32>().ok());
            let used: BTreeSet<u32> = numbers.filter(|number| *number < count).collect();
            let free = (0..count).find(|number| *number > 0 && !used.contains(number));
            for number in used.iter().copied().chain(free) {
                let detail = if used.contains(&number) {
                    detail.clone()
                } else {
                    format!("{detail}, not used so far")
                };
                let item = self.word(&format!("{name}{number}"), CompletionItemKind::Variable, &detail);
                items.push(CompletionItem { sort_text: Some(format!("{name}{number:06}")), ..item });
            }
        }
        items
    }

    /// Variables in memory; of the space that an instruction names, if it does.
    fn variables(&self, form: Option<&InstructionForm>) -> Vec<CompletionItem> {
        let spaces: Vec<StateSpace> =
            form.iter().flat_map(|form| &form.spaces).filter_map(|space| space.of_variables()).collect();
        let analysis = self.analysis();
        let fits = |variable: &Variable| {
            variable.space != StateSpace::Reg && (spaces.is_empty() || spaces.contains(&variable.space))
        };
        self.in_scope()
            .filter(|variable| fits(variable))
            .map(|variable| {
                let detail = format!("{} {}", variable.space, variable.described().trim_matches('`'));
                self.word(analysis.name(variable.name), CompletionItemKind::Variable, &detail)
            })
            .collect()
    }

    fn special_registers(&self, ty: Type) -> Vec<CompletionItem> {
        let (version, target) = self.level();
        let exists = |register: &&SpecialRegister| {
            register.availability.iter().any(|one| one.targets.contain(target) && version >= one.since)
        };
        let all = SpecialRegister::all().filter(|register| register.readable_as(ty)).filter(exists);
        // Families, such as `%envreg<32>`, are for few.
        let all = all.filter(|register| !register.display_name().contains('<'));
        all.flat_map(|register| {
            let name = register.display_name();
            let meaning = special_meaning(&name);
            let parts: &[&str] = if register.components == 4 { &[".x", ".y", ".z"] } else { &[""] };
            let item =
                move |part: &&str| self.word(&format!("{name}{part}"), CompletionItemKind::Constant, meaning);
            parts.iter().map(item).collect::<Vec<_>>()
        })
        .collect()
    }

    /// The labels of the function: words before a colon that begin a statement. They too are found by tokens.
    fn labels(&self) -> Vec<CompletionItem> {
        let (span, text) = self.function_text();
        let mut items = Vec::new();
        let (mut before, mut word) = (Span::default(), Span::default());
        for token in tokens(text) {
            let new_line = text[before.end as usize..word.start as usize].contains('\n');
            let begins = new_line || matches!(before.text(text), ";" | "{" | "}");
            if token.text(text) == ":" && begins {
                let line = self.document.text.line(span.start + word.start) + 1;
                let item = self.word(word.text(text), CompletionItemKind::Reference, &format!("line {line}"));
                items.push(item);
            }
            (before, word) = (word, token);
        }
        items
    }

    fn functions(&self) -> Vec<CompletionItem> {
        let analysis = self.analysis();
        let callable = analysis.checked.functions.iter().filter(|function| !function.entry);
        callable
            .map(|function| {
                let head =
                    analysis.function(function.item).map(|tree| tree.head.text(self.document.source()));
                let head: Vec<&str> = head.unwrap_or_default().split_whitespace().collect();
                self.word(analysis.name(function.name), CompletionItemKind::Function, &head.join(" "))
            })
            .collect()
    }
}

/// The values of an operand.
fn values(kind: &Kind) -> Vec<Value> {
    match kind {
        Kind::Value(value) => vec![*value],
        Kind::Vector { element, .. } => vec![*element],
        Kind::Pair(first, second) => values(&first.kind).into_iter().chain(values(&second.kind)).collect(),
        _ => Vec::new(),
    }
}

/// The operand lists of the instruction that is being written.
pub fn signature_help(world: &World, params: SignatureHelpParams) -> Answer<Option<SignatureHelp>> {
    let (document, byte) = world.place(&params.at)?;
    let Writing::Operand { mnemonic, index, .. } = cursor(document.source(), byte).writing else {
        return Ok(None);
    };
    let Ok(form) = resolve(mnemonic.opcode, &mnemonic.words) else { return Ok(None) };
    let header = &document.analysis().checked.header;
    let signatures = form.signatures.iter().map(|signature| {
        let mut label = form.mnemonic();
        let mut parameters = Vec::new();
        for (number, wanted) in signature.operands.iter().enumerate() {
            label.push_str(if number == 0 { " " } else { ", " });
            let start = label.encode_utf16().count() as u32;
            label.push_str(&wanted.in_words());
            let end = label.encode_utf16().count() as u32;
            parameters.push(ParameterInformation {
                label: LabelPart(start, end),
                documentation: Markdown(words::operand(wanted)),
            });
        }
        let availability = words::availability(signature, header.version, header.target);
        SignatureInformation {
            label,
            documentation: Markdown(format!("{}\n\n{availability}", manual::summary(form.opcode))),
            parameters,
        }
    });
    let active = form.signatures.iter().position(|signature| signature.operands.len() > index).unwrap_or(0);
    Ok(Some(SignatureHelp {
        signatures: signatures.collect(),
        active_signature: active as u32,
        active_parameter: index as u32,
    }))
}
